class Dataset:
    def __init__(self, children=None, **plain):
        self.children = [] if children is None else [children]
        self.__dict__.update(plain)

    def shuffle(self, buffer_size):
        return ShuffleDataset(self, buffer_size=buffer_size)

    def batch(self, batch_size, drop_remainder=False):
        return BatchDataset(self, batch_size=batch_size, drop_remainder=drop_remainder)

    def create_dict_iterator(self, num_epochs=-1, output_numpy=False):
        return iter([{"data": i} for i in range(4)])

    def create_tuple_iterator(self, columns=None):
        return iter([(i,) for i in range(4)])


class ShuffleDataset(Dataset):
    pass


class BatchDataset(Dataset):
    pass


class GeneratorDataset(Dataset):
    pass
