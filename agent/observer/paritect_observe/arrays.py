"""Fingerprints of arrays that a framework gives as numpy's: MindSpore's parameters, Keras' weights."""
from . import describe, process, sums


def of(array, wanted, small=False):
    word = describe.dtype(array.dtype)
    out = {"shape": list(array.shape), "dtype": word, "device": "cpu"}
    if not process.full():
        return out
    plain = array if array.flags["C_CONTIGUOUS"] else array.copy(order="C")
    out.update(sums.fields(word, plain.ctypes.data, int(plain.size), wanted, small))
    return out
