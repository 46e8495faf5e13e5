"""Fingerprints of tensors by libparitect-observe.so (../fingerprint_library.h has the same types)."""
import base64
import ctypes
import os
import zlib

import torch

from . import describe

DIGEST, VALUES, ROUNDED, SKETCH, HISTOGRAM = 1, 2, 4, 8, 16
WEIGHTS = DIGEST | VALUES | ROUNDED | SKETCH
GRADIENTS = DIGEST | VALUES | SKETCH
DIFFERENCE = VALUES | SKETCH
DATA = DIGEST | VALUES
SMALL = 16          # fewer elements of data: the digest alone
PLACES_MAX = 4096
LIBRARY_VERSION = 1


class Fingerprint(ctypes.Structure):
    _fields_ = [("xxh3", ctypes.c_uint64 * 2), ("values", ctypes.c_uint64 * 2), ("values_as_bf16", ctypes.c_uint64 * 2),
                ("values_as_fp16", ctypes.c_uint64 * 2), ("min", ctypes.c_double), ("max", ctypes.c_double),
                ("sum", ctypes.c_double), ("sum_of_squares", ctypes.c_double), ("sum_of_fourths", ctypes.c_double),
                ("finite", ctypes.c_uint64), ("nan", ctypes.c_uint64), ("positive_infinity", ctypes.c_uint64),
                ("negative_infinity", ctypes.c_uint64), ("zero", ctypes.c_uint64), ("negative_zero", ctypes.c_uint64),
                ("subnormal", ctypes.c_uint64), ("sketch_places", ctypes.c_uint64), ("sketch", ctypes.c_double * 128),
                ("histogram_bins", ctypes.c_uint64), ("bins", ctypes.c_uint32 * 4096), ("counts", ctypes.c_uint64 * 4096)]


STATISTICS = ("min", "max", "sum", "sum_of_squares", "sum_of_fourths", "finite")
COUNTS = ("nan", "positive_infinity", "negative_infinity", "zero", "negative_zero", "subnormal")

_library = None
_result = Fingerprint()


def load():
    """The library; None: it is not here or cannot be loaded, then tensors have no fingerprints."""
    global _library
    if _library is None:
        path = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "libparitect-observe.so")
        try:
            library = ctypes.CDLL(path)
            address, number = ctypes.c_void_p, ctypes.c_uint64
            library.paritect_fingerprint.argtypes = [ctypes.c_char_p, address, address, number, ctypes.c_uint32,
                                                     ctypes.POINTER(Fingerprint)]
            library.paritect_sampled.argtypes = [ctypes.c_char_p, address, number, address]
            library.paritect_sampled.restype = ctypes.c_int64
            library.paritect_digest.argtypes = [address, number, address]
            _library = library if library.paritect_observe_version() == LIBRARY_VERSION else False
        except (OSError, AttributeError):
            _library = False
    return _library or None


def host(tensor):
    """The elements in host memory in C order. Not contiguous on the device, which would cost memory there."""
    with torch.no_grad():
        plain = tensor.detach()
        if hasattr(plain, "to_local"):
            plain = plain.to_local()
        if plain.layout is not torch.strided or plain.is_quantized:
            raise TypeError("not strided")
        plain = plain.cpu()
        if plain.is_conj() if hasattr(plain, "is_conj") else False:
            plain = plain.resolve_conj()
        if plain.is_neg() if hasattr(plain, "is_neg") else False:
            plain = plain.resolve_neg()
        return plain.contiguous()


def hex_of(pair):
    return "%016x%016x" % (pair[0], pair[1])


def b64(data):
    return base64.b64encode(data).decode("ascii")


def about(tensor):
    return {"shape": list(tensor.shape), "dtype": describe.dtype(tensor.dtype), "device": str(tensor.device)}


def fields(tensor, wanted, small=False, before=None):
    """The fields of a fingerprint. `tensor` and `before` as host() gives them."""
    library = load()
    if library is None:
        return {"problem": "no library"}
    word = describe.dtype(tensor.dtype)
    refused = library.paritect_fingerprint(word.encode(), tensor.data_ptr(), None if before is None else before.data_ptr(),
                                           tensor.numel(), wanted, ctypes.byref(_result))
    if refused:
        return {"problem": "type"}
    out = {}
    if wanted & DIGEST and before is None:
        out["xxh3"] = hex_of(_result.xxh3)
    if not wanted & VALUES:
        return out
    out["values"] = hex_of(_result.values)
    if small and tensor.numel() < SMALL:
        return out
    for name in STATISTICS:
        out[name] = getattr(_result, name)
    for name in COUNTS:
        if getattr(_result, name):
            out[name] = getattr(_result, name)
    if wanted & ROUNDED and word == "F32" and before is None:
        out["values_as_bf16"] = hex_of(_result.values_as_bf16)
        out["values_as_fp16"] = hex_of(_result.values_as_fp16)
    if _result.sketch_places:
        out["sketch"] = b64(bytes(_result.sketch)[:8 * _result.sketch_places])
    if _result.histogram_bins:
        bins = _result.histogram_bins
        out["histogram"] = {"bins": list(_result.bins[:bins]), "counts": list(_result.counts[:bins])}
    return out


def of(tensor, wanted, small=False):
    """What is known of a tensor, with its fingerprint. `small`: of few elements the digest alone."""
    out = about(tensor)
    try:
        out.update(fields(host(tensor), wanted, small))
    except (TypeError, RuntimeError, NotImplementedError, ValueError) as error:
        out["problem"] = type(error).__name__
    return out


def digest(tensor):
    """XXH3-128 of a host tensor's bytes as (high, low)."""
    result = (ctypes.c_uint64 * 2)()
    load().paritect_digest(tensor.data_ptr(), tensor.numel() * tensor.element_size(), result)
    return result[0], result[1]


def sampled(tensor):
    """Elements of a host tensor at the places where signs are sampled."""
    values = (ctypes.c_double * PLACES_MAX)()
    count = load().paritect_sampled(describe.dtype(tensor.dtype).encode(), tensor.data_ptr(), tensor.numel(), values)
    return values[:max(count, 0)]


def signs(values):
    """Two bits a value, lowest first: 0 zero or no number, 1 above, 2 below."""
    out = bytearray((len(values) + 3) // 4)
    for i, value in enumerate(values):
        if value > 0:
            out[i >> 2] |= 1 << (i & 3) * 2
        elif value < 0:
            out[i >> 2] |= 2 << (i & 3) * 2
    return b64(bytes(out))


def chosen(named, budget_bytes):
    """Of [(name, tensor)] those that a budget allows, by a hash of the name: the same ones on every rank and side."""
    size = sum(tensor.numel() * tensor.element_size() for _, tensor in named)
    every = -(-size // budget_bytes)
    if every <= 1:
        return named
    return [one for one in named if zlib.crc32((one[0] or "").encode("utf-8", "replace")) % every == 0]
