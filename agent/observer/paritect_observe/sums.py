"""Fingerprints of elements in memory by libparitect-observe.so (../fingerprint_library.h has the same types)."""
import base64
import ctypes
import os

DIGEST, VALUES, ROUNDED, SKETCH, HISTOGRAM, STATISTICS_ALONE = 1, 2, 4, 8, 16, 32
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
                ("histogram_bins", ctypes.c_uint64), ("bins", ctypes.c_uint32 * 4096),
                ("counts", ctypes.c_uint64 * 4096)]


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


def hex_of(pair):
    return "%016x%016x" % (pair[0], pair[1])


def b64(data):
    return base64.b64encode(data).decode("ascii")


def fields(word, address, elements, wanted, small=False, before=None):
    """The fields of a fingerprint of `elements` elements of the type `word` at an address; with `before`, the address
    of as many, of the differences."""
    library = load()
    if library is None:
        return {"problem": "no library"}
    if library.paritect_fingerprint(word.encode(), address, before, elements, wanted, ctypes.byref(_result)):
        return {"problem": "type"}
    out = {}
    if wanted & DIGEST and before is None:
        out["xxh3"] = hex_of(_result.xxh3)
    if wanted & VALUES:
        out["values"] = hex_of(_result.values)
    if not wanted & (VALUES | STATISTICS_ALONE) or small and elements < SMALL:
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


def digest(address, size):
    """XXH3-128 of bytes as (high, low)."""
    result = (ctypes.c_uint64 * 2)()
    load().paritect_digest(address, size, result)
    return result[0], result[1]


def sampled(word, address, elements):
    """Elements at the places where signs are sampled, as numbers."""
    values = (ctypes.c_double * PLACES_MAX)()
    library = load()
    count = library.paritect_sampled(word.encode(), address, elements, values) if library is not None else 0
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
