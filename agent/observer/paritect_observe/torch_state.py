"""What was loaded and saved: state dicts and files."""
import os

from . import describe, patch, process, record, thin
from .torch_model import members
from .torch_steps import STEPS

NAMES_MAX = 50
FILES_MAX = 1000


class State(object):
    def __init__(self):
        self.reset()

    def reset(self):
        self.files = thin.Once(FILES_MAX)
        self.count = 0

    def module_loaded(self, token, result, args, kwargs):
        module, given = args[0], patch.argument(args, kwargs, 1, "state_dict")
        missing = names(result, "missing_keys")
        unexpected = names(result, "unexpected_keys")
        self.tell("module", module, given, missing=missing, unexpected=unexpected,
                  strict=describe.value(patch.argument(args, kwargs, 2, "strict", True)))

    def module_failed(self, token, error, args, kwargs):
        self.tell("module", args[0], patch.argument(args, kwargs, 1, "state_dict"), failed=type(error).__name__,
                  strict=describe.value(patch.argument(args, kwargs, 2, "strict", True)))

    def other_loaded(self, what):
        def look(token, result, args, kwargs):
            self.tell(what, args[0], patch.argument(args, kwargs, 1, "state_dict"))
        return look

    def tell(self, what, owner, given, missing=None, unexpected=None, strict=None, failed=None):
        self.count += 1
        if self.count > FILES_MAX:
            return
        keys = list(dict.keys(given)) if describe.is_kind(given, dict) else None
        expected = fitting = None
        if what == "module":
            own = {name for kind in ("_parameters", "_buffers") for name, _ in members(owner, kind)}
            expected = len(own)
            fitting = len(own.intersection(keys)) if keys is not None else None
        record.write("load_state_dict", what=what, strict=strict, given=len(keys) if keys is not None else None,
                     expected=expected, fitting=fitting, missing=(missing or [])[:NAMES_MAX],
                     missing_total=None if missing is None else len(missing), unexpected=(unexpected or [])[:NAMES_MAX],
                     unexpected_total=None if unexpected is None else len(unexpected), at=STEPS.all_steps,
                     failed=failed,
                     where=describe.where(), **{"class": describe.dotted(type(owner))})

    def loaded(self, call):
        def look(token, result, args, kwargs):
            self.tell_file("load", call, args[0] if args else kwargs.get("f") or kwargs.get("filename"), result,
                           kwargs.get("weights_only"))
        return look

    def saved(self, token, result, args, kwargs):
        self.tell_file("save", "torch.save", patch.argument(args, kwargs, 1, "f"),
                       patch.argument(args, kwargs, 0, "obj"))

    def tell_file(self, kind, call, file, content, weights_only=None):
        path = path_of(file)
        self.count += 1
        if self.count > FILES_MAX:
            return
        keys = [describe.text(name) for name in list(dict.keys(content))[:NAMES_MAX] if type(name) is str] \
            if describe.is_kind(content, dict) else None
        record.write(kind, call=call, file=path, weights_only=describe.value(weights_only), keys=keys,
                     at=STEPS.all_steps,
                     where=describe.where())


def path_of(file):
    """Of a name or an open file; None: it is in memory."""
    if type(file) is not str:
        try:
            file = os.fspath(file)
        except TypeError:
            file = getattr(file, "name", None) if type(file).__module__ in ("_io", "io", "tempfile") else None
    if type(file) is bytes:
        file = file.decode("utf-8", "replace")
    return describe.text(os.path.abspath(file)) if type(file) is str else None


def names(result, field):
    found = getattr(result, field, None) if type(result).__name__ == "_IncompatibleKeys" else None
    return [describe.text(name) for name in found if type(name) is str] if found is not None else None


STATE = State()


def install():
    patch.around("torch.nn.modules.module:Module.load_state_dict", after=STATE.module_loaded,
                 failed=STATE.module_failed)
    patch.around("torch.optim.optimizer:Optimizer.load_state_dict", after=STATE.other_loaded("optimizer"))
    patch.around("torch.optim.lr_scheduler:LRScheduler.load_state_dict", after=STATE.other_loaded("scheduler"),
                 instead=("torch.optim.lr_scheduler:_LRScheduler.load_state_dict",))
    patch.around("torch.amp.grad_scaler:GradScaler.load_state_dict", after=STATE.other_loaded("scaler"),
                 instead=("torch.cuda.amp.grad_scaler:GradScaler.load_state_dict",))
    patch.around("torch.serialization:load", after=STATE.loaded("torch.load"), also=("torch:load",))
    patch.around("torch.serialization:save", after=STATE.saved, also=("torch:save",))
    process.at_fork(STATE.reset)
