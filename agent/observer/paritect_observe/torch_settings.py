"""Switches of the framework, seeds, autocast, casts by hand, compilation."""
import os
import sys

import torch

from . import describe, patch, process, record, thin
from .generators import GENERATORS
from .torch_model import MODELS, submodules
from .torch_steps import STEPS

FLAGS = (
    ("cuda.matmul.allow_tf32", "torch.backends.cuda.matmul", "allow_tf32"),
    ("cuda.matmul.fp32_precision", "torch.backends.cuda.matmul", "fp32_precision"),
    ("cuda.matmul.allow_fp16_reduced_precision_reduction", "torch.backends.cuda.matmul",
     "allow_fp16_reduced_precision_reduction"),
    ("cuda.matmul.allow_bf16_reduced_precision_reduction", "torch.backends.cuda.matmul",
     "allow_bf16_reduced_precision_reduction"),
    ("cudnn.allow_tf32", "torch.backends.cudnn", "allow_tf32"),
    ("cudnn.enabled", "torch.backends.cudnn", "enabled"),
    ("cudnn.deterministic", "torch.backends.cudnn", "deterministic"),
    ("cudnn.benchmark", "torch.backends.cudnn", "benchmark"),
)
CALLS = (
    ("float32_matmul_precision", "torch", "get_float32_matmul_precision"),
    ("deterministic_algorithms", "torch", "are_deterministic_algorithms_enabled"),
    ("deterministic_warn_only", "torch", "is_deterministic_algorithms_warn_only_enabled"),
    ("default_dtype", "torch", "get_default_dtype"),
    ("sdp.flash", "torch.backends.cuda", "flash_sdp_enabled"),
    ("sdp.mem_efficient", "torch.backends.cuda", "mem_efficient_sdp_enabled"),
    ("sdp.math", "torch.backends.cuda", "math_sdp_enabled"),
    ("num_threads", "torch", "get_num_threads"),
    ("num_interop_threads", "torch", "get_num_interop_threads"),
)
NPU_OPTIONS = ("ACL_PRECISION_MODE", "ALLOW_MATMUL_HF32", "ALLOW_CONV_HF32", "CUBE_MATH_TYPE", "ALLOW_INTERNAL_FORMAT",
               "MM_BMM_ND_ENABLE", "ACL_OP_SELECT_IMPL_MODE", "jitCompile")
UNREADABLE = "unreadable"
AUTOCASTS_MAX, CASTS_MAX, COMPILES_MAX = 32, 64, 16
FLAGS_PERIOD = 50


def flags(root=None):
    import warnings
    out = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, path, attribute in FLAGS:
            owner = dotted_module(path)
            if owner is not None:
                read(out, name, lambda: getattr(owner, attribute))
        for name, path, function in CALLS:
            found = getattr(dotted_module(path), function, None)
            if found is not None:
                read(out, name, found)
        out.update(device_flags(root))
    return out


def dotted_module(path):
    owner = torch
    for part in path.split(".")[1:]:
        owner = getattr(owner, part, None)
    return owner


def read(out, name, get):
    """Getters that raise have a value of their own; a name that this version lacks has none."""
    try:
        out[name] = describe.value(get())
    except (AttributeError, AssertionError):
        pass  # how versions say that they do not know a name
    except Exception:
        out[name] = UNREADABLE


def device_flags(root):
    """What can be read without initialising a device."""
    out = {}
    if root is not None:
        first = next(iter(root.parameters()), None)
        out["device"] = first[1].device.type if first else None
    npu = sys.modules.get("torch_npu")
    out["npu_available"] = npu is not None
    if torch.cuda.is_initialized():
        out["cuda_available"] = True
    if npu is None or not getattr(getattr(torch, "npu", None), "is_initialized", bool)():
        return out
    option = getattr(getattr(npu, "_C", None), "_npu_getOption", None)
    for name in NPU_OPTIONS if option is not None else ():
        read(out, "npu.option." + name, lambda: as_text(option(name)))
    layout = getattr(getattr(npu, "npu", None), "get_mm_bmm_format_nd", None)
    if layout is not None:
        read(out, "npu.mm_bmm_nd", layout)
    out["npu.transfer_to_npu"] = "torch_npu.contrib.transfer_to_npu" in sys.modules
    return out


def as_text(value):
    return value.decode("ascii", "replace") if type(value) is bytes else value


class Settings(object):
    def __init__(self):
        self.reset()

    def reset(self):
        self.told_flags = None
        self.autocasts = thin.Once(AUTOCASTS_MAX)
        self.casts = thin.Once(CASTS_MAX)
        self.compiles = thin.Once(COMPILES_MAX)

    # --- switches and seeds ---

    def first_training(self, root):
        self.tell_flags(root)
        process.tell_rank()
        cuda = torch.cuda.initial_seed() if torch.cuda.is_initialized() else None
        npu = getattr(torch, "npu", None)
        npu_seed = npu.initial_seed() if npu is not None and getattr(npu, "is_initialized", bool)() else None
        record.write("seeds", torch=torch.initial_seed(), cuda_seed=cuda, npu_seed=npu_seed,
                     pythonhashseed=os.environ.get("PYTHONHASHSEED"), **GENERATORS.first_training())

    def tell_flags(self, root=None):
        now = flags(root)
        if self.told_flags is not None:
            now.setdefault("device", self.told_flags.get("device"))
        if now != self.told_flags:
            self.told_flags = now
            record.write("flags", flags=now)

    def on_step(self, known, optimizer):
        GENERATORS.on_step(STEPS.all_steps)
        if STEPS.all_steps % FLAGS_PERIOD == 0:
            self.tell_flags()

    # --- autocast ---

    def entered(self, _, result, args, kwargs):
        own = describe.attributes(args[0])
        device, enabled = own.get("device") or own.get("device_type"), own.get("_enabled")
        kind = own.get("fast_dtype")
        inside = MODELS.above[-1].id if MODELS.above else None
        if self.autocasts.first((device, kind, enabled, inside)):
            record.write("autocast", device=device, dtype=describe.dtype(kind) if kind is not None else None,
                         enabled=bool(enabled), cache=own.get("_cache_enabled"), root=inside, where=describe.where())

    # --- casts of modules by hand ---

    def before_cast(self, args, kwargs):
        return {p.dtype for _, p in floating(args[0])}

    def after_cast(self, call):
        def look(kinds, result, args, kwargs):
            module = args[0]
            named = floating(module)
            now = {p.dtype for _, p in named}
            where = describe.where()
            if now == kinds or kinds is None or not self.casts.first((call, where, str(now))):
                return
            norms = {id(p) for _, one in submodules(module) if "norm" in type(one).__name__.lower()
                     for p in describe.attributes(one).get("_parameters", {}).values()}
            root = MODELS.by_id.get(id(module)) or MODELS.inside.get(id(module))
            target = sorted(now - kinds or now, key=str)
            record.write("cast", call=call, dtype=describe.dtype(target[0]), elements=sum(p.numel() for _, p in named),
                         trainable=sum(p.numel() for _, p in named if p.requires_grad),
                         norms=sum(p.numel() for _, p in named if id(p) in norms),
                         root=root.id if root is not None else None, at=STEPS.all_steps, where=where,
                         **{"class": describe.dotted(type(module))})
        return look

    # --- compilation ---

    def compiled(self, call):
        def look(args, kwargs):
            MODELS.stop_looking()
            thing = args[0] if args else None
            where = describe.where()
            if self.compiles.first((call, where)):
                kind = describe.dotted(thing if isinstance(thing, type) or hasattr(thing, "__code__") else type(thing))
                record.write("compile", call=call, backend=describe.value(kwargs.get("backend")),
                             mode=describe.value(kwargs.get("mode")), fullgraph=describe.value(kwargs.get("fullgraph")),
                             where=where, **{"class": kind})
        return look


def floating(module):
    from .torch_model import members
    return [(name, p) for name, p in members(module, "_parameters") if p.is_floating_point()]


SETTINGS = Settings()


def install():
    patch.around("torch.amp.autocast_mode:autocast.__enter__", after=SETTINGS.entered,
                 instead=("torch.autocast_mode:autocast.__enter__", "torch.cuda.amp.autocast_mode:autocast.__enter__"))
    for call in ("half", "bfloat16", "float", "double", "to"):
        patch.around("torch.nn.modules.module:Module." + call, before=SETTINGS.before_cast,
                     after=SETTINGS.after_cast(call))
    if hasattr(torch, "compile"):
        patch.around("torch:compile", before=SETTINGS.compiled("torch.compile"))
    patch.around("torch.jit._script:script", before=SETTINGS.compiled("torch.jit.script"), also=("torch.jit:script",))
    patch.around("torch.jit._trace:trace", before=SETTINGS.compiled("torch.jit.trace"), also=("torch.jit:trace",))
    MODELS.on_first_training.append(SETTINGS.first_training)
    STEPS.on_step.append(SETTINGS.on_step)
    process.at_fork(SETTINGS.reset)
