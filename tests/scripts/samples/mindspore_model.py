import mindspore as ms
import mindspore.dataset as ds
import mindspore.dataset.vision as vision
from mindspore import nn
from mindspore.communication import get_group_size, get_rank, init


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 16, 3, has_bias=False)
        self.norm = nn.BatchNorm2d(16, momentum=0.9)
        self.drop = nn.Dropout(p=0.1)
        self.fc = nn.Dense(16, 10)

    def construct(self, x):
        return self.fc(self.drop(self.norm(self.conv(x)).mean((2, 3))))


def dataset(path, rank, size, training):
    data = ds.ImageFolderDataset(path, shuffle=training, num_shards=size, shard_id=rank)
    steps = [vision.Decode(), vision.Resize(256), vision.CenterCrop(224), vision.Normalize([0.5 * 255], [0.2 * 255]), vision.HWC2CHW()]
    return data.map(steps, "image").batch(32, drop_remainder=training)


def main():
    ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend")
    init()
    ms.set_auto_parallel_context(parallel_mode=ms.ParallelMode.DATA_PARALLEL, gradients_mean=True)
    ms.set_seed(1)
    net = Net()
    optimizer = nn.Momentum(net.trainable_params(), 0.1, 0.9)
    manager = ms.amp.DynamicLossScaleManager()
    model = ms.Model(net, nn.CrossEntropyLoss(), optimizer, metrics={"acc"}, amp_level="O2", loss_scale_manager=manager)
    model.train(3, dataset("/data/train", get_rank(), get_group_size(), True))
    print(model.eval(dataset("/data/val", get_rank(), get_group_size(), False)))


if __name__ == "__main__":
    main()
