"""A stand-in: the names, signatures and attributes of TensorFlow and Keras that the observer looks at."""
import types

import numpy

__version__ = "2.13.0"


class Dataset:
    def shuffle(self, buffer_size, seed=None, reshuffle_each_iteration=None):
        return self

    def batch(self, batch_size, drop_remainder=False):
        return self

    def map(self, map_func, num_parallel_calls=None):
        return self


class Session:
    def __init__(self, target="", graph=None, config=None):
        self.config = config


class Weight:
    def __init__(self, name, value):
        self.name, self.value, self.trainable = name, value, True
        self.shape, self.dtype = value.shape, value.dtype

    def numpy(self):
        return self.value


class Layer:
    def __init__(self, name, **settings):
        self.name, self.settings = name, settings

    def get_config(self):
        return dict(self.settings, name=self.name)


class Adam:
    def __init__(self, learning_rate=0.001):
        self.learning_rate = learning_rate

    def get_config(self):
        return {"learning_rate": self.learning_rate, "epsilon": 1e-07}


class LossScaleOptimizer:
    def __init__(self, inner_optimizer, dynamic=True, initial_scale=None, dynamic_growth_steps=None):
        self.inner_optimizer, self.dynamic = inner_optimizer, dynamic


class CallbackList:
    def on_train_batch_end(self, batch, logs=None):
        return None


class Model:
    def __init__(self):
        self.layers = [Layer("dense", units=3), Layer("dropout", rate=0.3)]
        self.weights = [Weight("dense/kernel:0", numpy.full((4, 8), 0.25, numpy.float32))]

    def compile(self, optimizer="rmsprop", loss=None):
        self.optimizer = optimizer

    def fit(self, x=None, batch_size=None, epochs=1, shuffle=True):
        callbacks = CallbackList()
        for batch in range(3):
            callbacks.on_train_batch_end(batch, {"loss": 1.0 / (batch + 1)})
        return self


data = types.SimpleNamespace(Dataset=Dataset)
compat = types.SimpleNamespace(v1=types.SimpleNamespace(Session=Session))
keras = types.SimpleNamespace(
    Model=Model, optimizers=types.SimpleNamespace(Adam=Adam), callbacks=types.SimpleNamespace(CallbackList=CallbackList),
    mixed_precision=types.SimpleNamespace(set_global_policy=lambda policy: None, LossScaleOptimizer=LossScaleOptimizer))
