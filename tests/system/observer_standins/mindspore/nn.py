import numpy

from . import Parameter, Tensor


class Cell:
    def __init__(self):
        self.training = True

    def cells_and_names(self):
        yield "", self
        for name, one in vars(self).items():
            if isinstance(one, Cell):
                for inner, cell in one.cells_and_names():
                    yield (name + "." + inner).rstrip("."), cell

    def parameters_and_names(self):
        for prefix, cell in self.cells_and_names():
            for name, one in vars(cell).items():
                if isinstance(one, Parameter):
                    yield (prefix + "." + name).lstrip("."), one

    def __call__(self, *args):
        return self.construct(*args)


class Dense(Cell):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.in_channels, self.out_channels, self.has_bias = inputs, outputs, True
        self.weight = Parameter(numpy.full((outputs, inputs), 0.5, numpy.float32), "weight")
        self.bias = Parameter(numpy.zeros(outputs, numpy.float32), "bias")

    def construct(self, x):
        return x @ self.weight.value.T + self.bias.value


class Optimizer(Cell):
    def __init__(self, learning_rate, parameters, weight_decay=0.0):
        super().__init__()
        self.learning_rate, self.parameters, self.weight_decay = learning_rate, list(parameters), weight_decay


class Momentum(Optimizer):
    pass


class TrainOneStepCell(Cell):
    def __init__(self, network, optimizer):
        super().__init__()
        self.network, self.optimizer = network, optimizer

    def __call__(self, x):
        loss = float(numpy.square(self.network(x)).mean())
        for parameter in self.optimizer.parameters:
            parameter.value = parameter.value * numpy.float32(0.9)
        return Tensor(loss)


class TrainOneStepWithLossScaleCell(TrainOneStepCell):
    def __call__(self, x):
        return TrainOneStepCell.__call__(self, x), Tensor(numpy.bool_(False)), Tensor(numpy.float32(1024))
