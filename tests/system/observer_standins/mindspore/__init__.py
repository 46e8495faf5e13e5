"""A stand-in: the names, signatures and attributes of MindSpore that the observer looks at, with arithmetic of numpy."""
import numpy

__version__ = "2.3.0"


def set_context(**kwargs):
    return kwargs


class Tensor:
    def __init__(self, value):
        self.value = numpy.asarray(value)

    def asnumpy(self):
        return self.value


class Parameter(Tensor):
    def __init__(self, value, name):
        super().__init__(value)
        self.name = name
        self.requires_grad = True

    @property
    def shape(self):
        return self.value.shape

    @property
    def dtype(self):
        return self.value.dtype


class DynamicLossScaleManager:
    def __init__(self, init_loss_scale=2 ** 24, scale_factor=2, scale_window=2000):
        self.loss_scale, self.scale_factor, self.scale_window = init_loss_scale, scale_factor, scale_window


class FixedLossScaleManager:
    def __init__(self, loss_scale=128.0, drop_overflow_update=True):
        self._loss_scale = loss_scale


class Model:
    def __init__(self, network, loss_fn=None, optimizer=None, amp_level="O0"):
        self.network = network


from . import amp, dataset, nn  # noqa: E402,F401
