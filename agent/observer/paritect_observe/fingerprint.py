"""Fingerprints of torch's tensors."""
import zlib

import torch

from . import describe, sums
from .sums import (DATA, DIFFERENCE, GRADIENTS, HISTOGRAM, STATISTICS_ALONE, VALUES, WEIGHTS, hex_of,  # noqa: F401
                   load, signs)


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


def about(tensor):
    return {"shape": list(tensor.shape), "dtype": describe.dtype(tensor.dtype), "device": str(tensor.device)}


def fields(tensor, wanted, small=False, before=None):
    """The fields of a fingerprint. `tensor` and `before` as host() gives them."""
    return sums.fields(describe.dtype(tensor.dtype), tensor.data_ptr(), tensor.numel(), wanted, small,
                       None if before is None else before.data_ptr())


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
    return sums.digest(tensor.data_ptr(), tensor.numel() * tensor.element_size())


def sampled(tensor):
    """Elements of a host tensor at the places where signs are sampled."""
    return sums.sampled(describe.dtype(tensor.dtype), tensor.data_ptr(), tensor.numel())


def chosen(named, budget_bytes):
    """Of [(name, tensor)] those that a budget allows, by a hash of the name: the same ones on every rank and side."""
    size = sum(tensor.numel() * tensor.element_size() for _, tensor in named)
    every = -(-size // budget_bytes)
    if every <= 1:
        return named
    return [one for one in named if zlib.crc32((one[0] or "").encode("utf-8", "replace")) % every == 0]
