"""Everything that is put into torch, once its import is through."""
import sys

from . import describe, patch, record

_installed = False


def install(torch):
    global _installed
    if _installed or patch.find("torch:nn.Module") is None:
        return
    _installed = True
    describe.framework_at(getattr(torch, "__file__", None))
    compiler = getattr(torch, "compiler", None)
    patch.compiling = getattr(compiler, "is_compiling", None) or \
        getattr(sys.modules.get("torch._dynamo"), "is_compiling", None)
    from . import (generators, torch_data, torch_distributed, torch_model, torch_scaler, torch_settings, torch_state,
                   torch_steps)
    for part in (torch_model, torch_steps, torch_scaler, torch_data, torch_settings, torch_state, torch_distributed,
                 generators):
        try:
            part.install()
        except Exception as fault:
            patch.missing.append("%s (%s)" % (part.__name__.rpartition(".")[2], type(fault).__name__))
    record.introduce(lambda: framework_fields(torch))


def framework_fields(torch):
    version = getattr(torch, "version", None)
    details = {name: describe.value(getattr(version, key, None))
               for name, key in (("git", "git_version"), ("cuda", "cuda"), ("hip", "hip"), ("debug", "debug"))}
    return {"name": "torch", "version": describe.value(str(torch.__version__)), "tried": True,
            "file": describe.text(torch.__file__ or ""), "patched": patch.count, "missing": patch.missing,
            "details": {name: one for name, one in details.items() if one is not None}}
