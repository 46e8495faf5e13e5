"""Models: which module is the outermost one that the program calls, what it is made of, in which mode it runs."""
import sys
import threading
import weakref

import torch

from . import describe, fingerprint, guard, patch, process, record
from .torch_operators import Operators

ROOTS_MAX = 16
PHASES_MAX = 200
OTHER_MAX = 50
ATTRIBUTES_MAX = 24
TENSORS_BUDGET_BYTES = 4 << 30
FED_TRAINING_MAX, FED_OTHER_MAX = 4, 2
ARGUMENT_TENSORS_MAX = 32
GLOBAL_HOOK_FORWARDS = 3  # training forwards after which a root that is not known yet is no longer looked for

CALL = guard.site("Module.__call__")


# What a step asks again and again is asked by the shortest way: at a model of some size the caches are cold each time.
get_ident = threading.get_ident
is_tracing = getattr(torch._C, "_is_tracing", None) or (lambda: torch._C._get_tracing_state() is not None)


def nobody():
    return None

Module = torch.nn.Module


class Phase(object):
    """A run of forwards in one mode."""

    def __init__(self, number, root, mode, at, other):
        self.number = number
        self.fields = {"root": root, "phase": number, "training": mode[0], "grad": mode[1], "inference": mode[2],
                       "at": at,
                       "other": other[:OTHER_MAX], "other_total": len(other)}
        self.forwards = 0
        self.rows = 0

    def tell(self, is_open):
        fields = dict(self.fields, forwards=self.forwards, rows=self.rows)
        if is_open:
            fields["open"] = True
        record.write("phase", **fields)


class Root(object):
    """A module that the program calls, with what is inside it."""

    def __init__(self, number, module):
        self.id = number
        self.module = weakref.ref(module)
        self.inner = nobody  # of a wrapper: the module within, which programs call by itself to evaluate
        self.mode = None
        self.phase = None
        self.phases = 0
        self.training_forwards = 0
        self.other_forwards = 0
        self.trains_in_evaluation = False
        # Of DistributedDataParallel, which no_sync() changes.
        self.may_not_synchronise = "require_backward_grad_sync" in describe.attributes(module)

    def parameters(self):
        """[(name, parameter)]; each once."""
        return members(self.module(), "_parameters")

    def buffers(self):
        return members(self.module(), "_buffers")


def members(module, kind):
    """[(name, tensor)] of a module and those inside it, each tensor once, as named_parameters names them."""
    seen, out = set(), []
    for prefix, inner in submodules(module):
        for name, tensor in describe.attributes(inner).get(kind, {}).items():
            if tensor is not None and id(tensor) not in seen:
                seen.add(id(tensor))
                out.append((prefix + "." + name if prefix else name, tensor))
    return out


def submodules(module):
    """[(name, module)] in definition order, each once; what a program overrides of this in its classes is not run."""
    if module is None:
        return []
    if issubclass(type(module), torch.jit.ScriptModule):
        return list(module.named_modules())
    out, seen, todo = [], set(), [("", module)]
    while todo:
        name, one = todo.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        out.append((name, one))
        inner = [(name + "." + child if name else child, inside)
                 for child, inside in describe.attributes(one).get("_modules", {}).items() if inside is not None]
        todo.extend(reversed(inner))
    return out


def has_parameters(module):
    return any(describe.attributes(inner).get("_parameters") for _, inner in submodules(module))


def simple_attributes(module):
    """Numbers and switches of a module (p, eps, momentum, kernel_size, ...), and which optional parameters it has."""
    out = {}
    own = describe.attributes(module)
    for name, value in own.items():
        plain = type(value) in (bool, int, float, str) or \
            type(value) is tuple and all(type(one) in (int, float) for one in value)
        if plain and name != "training" and not name.startswith("_") and len(out) < ATTRIBUTES_MAX:
            out[name] = describe.value(value)
    for name, parameter in own.get("_parameters", {}).items():
        if name == "bias":
            out["bias"] = parameter is not None
    return out


class Models(object):
    def __init__(self):
        self.roots = []
        self.by_id = {}
        self.inside = {}  # id of a module below a root: that root
        self.names = {}   # id of a parameter: (name, root id); of the root that trains
        self.above = []   # roots whose forward runs, in the main thread
        self.overridden = set()
        self.hook = None
        self.on_first_training = []  # called with the root, before its first training forward
        self.on_training_forward = []  # called with the root at each outermost one
        self.updates = lambda: 0     # updates done by all optimizers
        self.trained = False         # a root was in training mode, with gradients
        self.may_train = None        # until then: the root whose forward in evaluation mode made gradients last
        self.main_thread = threading.main_thread().ident

    # --- finding roots ---

    def look_for_roots(self):
        self.hook = torch.nn.modules.module.register_module_forward_pre_hook(self.before_any)

    def stop_looking(self):
        if self.hook is not None:
            self.hook.remove()
            self.hook = None

    def before_any(self, module, _):
        guard.guarded(CALL, self.first_call, module, sys._getframe(1))

    def first_call(self, module, frame):
        """The class of an outermost module gets its override here; this first call itself is seen only by this hook."""
        if self.above or skips() or not self.new_root(module):
            return
        self.override(type(module))
        names = frame.f_locals
        args = names.get("args", names.get("input", ()))
        root = self.by_id[id(module)]
        root.first_call = True
        self.begin_forward(root, module, args if type(args) is tuple else (args,), names.get("kwargs") or {})

    def new_root(self, module):
        known = self.by_id.get(id(module))
        if known is not None and known.module() is module:
            return False
        owner = self.inside.get(id(module))
        if owner is not None and owner.module() is not None:
            return False
        if not has_parameters(module):
            return False
        if len(self.roots) >= ROOTS_MAX:
            record.bounded("roots", ROOTS_MAX)
            return False
        root = Root(len(self.roots), module)
        self.roots.append(root)
        self.by_id[id(module)] = root
        for _, inner in submodules(module):
            self.inside[id(inner)] = root
        within = describe.attributes(module).get("_modules", {}).get("module")
        if within is not None:
            root.inner = weakref.ref(within)
            self.by_id[id(within)] = root
            self.override(type(within))
        self.tell_structure(root, module)
        return True

    def override(self, kind):
        """The class's __call__ looks before and after. Not the instance's: instances are pickled and copied."""
        if kind in self.overridden or "__call__" in kind.__dict__ and issubclass(kind, torch.jit.ScriptModule):
            return
        self.overridden.add(kind)
        own = kind.__dict__.get("__call__")
        is_compiling = patch.compiling or patch.never
        models = self

        def __call__(self, *args, **kwargs):
            call = super(kind, self).__call__ if own is None else own.__get__(self, kind)
            if models.above or is_compiling():  # within another forward: many modules may share the root's class
                return call(*args, **kwargs)
            root = guard.guarded(CALL, models.enter, self, args, kwargs)
            if root is None:
                return call(*args, **kwargs)
            try:
                return call(*args, **kwargs)
            finally:
                models.leave(root)

        kind.__call__ = __call__

    def enter(self, module, args, kwargs):
        """The root whose forward begins; None: this is a call within one, or of no model."""
        if self.above or skips():
            return None
        root = self.by_id.get(id(module))
        if root is None or root.module() is not module and root.inner() is not module:
            if not self.new_root(module):
                return None
            root = self.by_id[id(module)]
        self.begin_forward(root, module, args, kwargs)
        self.above.append(root)
        return root

    def leave(self, root):
        above = self.above
        while above and above.pop() is not root:
            pass
        if OPERATORS.root is not None:
            guard.guarded(CALL, OPERATORS.finish, root)

    # --- what is told ---

    def tell_structure(self, root, module):
        parameters = root.parameters()
        inner = describe.attributes(module).get("_modules", {}).get("module")
        sizes = [size(p) for _, p in parameters]
        record.write("root", id=root.id, name=describe.dotted(type(module)).rpartition(".")[2],
                     **{"class": describe.dotted(type(module)),
                        "module": describe.dotted(type(inner)) if inner is not None
                        else None, "elements": sum(sizes), "at": self.updates(),
                        "trainable": sum(n for n, (_, p) in zip(sizes, parameters) if p.requires_grad)})
        modules = submodules(module)
        record.write_list("modules", ([name, describe.dotted(type(one)), describe.attributes(one).get("training"),
                                       simple_attributes(one)] for name, one in modules), 200, root=root.id,
                          total=len(modules))
        record.write_list("parameters", ([name, shape(p), describe.dtype(p.dtype), p.requires_grad, str(p.device)]
                                         for name, p in parameters), 400, root=root.id, total=len(parameters))
        buffers = root.buffers()
        unkept = {name_below(prefix, name) for prefix, one in modules
                  for name in describe.attributes(one).get("_non_persistent_buffers_set", ())}
        record.write_list("buffers", ([name, shape(b), describe.dtype(b.dtype), name not in unkept, str(b.device)]
                                      for name, b in buffers), 400, root=root.id, total=len(buffers))

    def begin_forward(self, root, module, args, kwargs):
        grad = torch.is_grad_enabled()
        mode = (bool(module.training), grad, not grad and is_inference())  # inference runs without gradients
        trains = grad and (mode[0] or root.trains_in_evaluation)
        if trains and root.training_forwards == 0:
            self.first_training(root)
        if mode != root.mode:
            self.change_phase(root, module, mode)
        if root.phase is not None:
            root.phase.forwards += 1
            root.phase.rows += rows(args, kwargs)
            if root.phase.forwards == 1:
                root.phase.tell(True)
        n, most = (root.training_forwards, FED_TRAINING_MAX) if trains else (root.other_forwards, FED_OTHER_MAX)
        if n < most:
            self.tell_fed(root, trains, n, args, kwargs)
        if not trains:
            root.other_forwards += 1
            if grad and not self.trained:
                self.may_train = root
            return
        for look in self.on_training_forward:
            look(root)
        root.training_forwards += 1
        if self.hook is not None and root.training_forwards > GLOBAL_HOOK_FORWARDS:
            self.stop_looking()

    def first_training(self, root):
        self.tell_beginning(root)
        if process.full():
            OPERATORS.begin(root, submodules(root.module()), self.updates())

    def tell_beginning(self, root):
        self.trained, self.may_train = True, None
        for name, parameter in root.parameters():
            self.names[id(parameter)] = (name, root.id)
        for look in self.on_first_training:
            look(root)
        if process.full():
            self.tell_weights(root, 0, fingerprint.WEIGHTS | fingerprint.HISTOGRAM)

    def trains_in_evaluation(self):
        """A backward begins, and nothing ran in training mode before it: what ran last is trained as it is, its weights
        still those that its forward took."""
        root, self.may_train = self.may_train, None
        if root.module() is not None and any(p.requires_grad for _, p in root.parameters()):
            root.trains_in_evaluation = True
            root.training_forwards = 1
            self.tell_beginning(root)

    def tell_weights(self, root, at, wanted, only=None, **more):
        """`only`: ids of the parameters to tell; None: all."""
        for role, named in (("parameter", root.parameters()), ("buffer", root.buffers())):
            if only is not None and role == "parameter":
                named = [one for one in named if id(one[1]) in only]
            chosen = fingerprint.chosen(named, TENSORS_BUDGET_BYTES)
            sampled = {} if len(chosen) == len(named) else {"sampled": [len(chosen), len(named)]}
            record.write_list("weights", (dict(fingerprint.of(t, wanted), name=name, requires_grad=t.requires_grad)
                                          for name, t in chosen), 50, root=root.id, at=at, role=role,
                                          stage="after-wrap",
                              total=len(chosen), **dict(sampled, **more))

    def change_phase(self, root, module, mode):
        self.end_phase(root)
        root.mode = mode
        root.phases += 1
        root.phase = None
        if root.phases <= PHASES_MAX:
            other = [[name, describe.dotted(type(one)), describe.attributes(one).get("training")]
                     for name, one in submodules(module) if bool(describe.attributes(one).get("training")) != mode[0]]
            root.phase = Phase(root.phases - 1, root.id, mode, self.updates(), other)

    @staticmethod
    def end_phase(root):
        if root.phase is not None:
            root.phase.tell(False)

    def tell_fed(self, root, trains, n, args, kwargs):
        tensors = [describe_argument(path, tensor) for path, tensor in tensors_of(args, kwargs)]
        record.write("fed", root=root.id, n=n, training=trains, at=self.updates(), tensors=tensors)

    def end(self):
        for root in self.roots:
            self.end_phase(root)
            root.phase = None


def describe_argument(path, tensor):
    if process.full():
        return dict(fingerprint.of(tensor, fingerprint.DATA, small=True), path=path)
    return dict(fingerprint.about(tensor), path=path)


def name_below(prefix, name):
    return prefix + "." + name if prefix else name


def shape(tensor):
    try:
        return list(tensor.shape)
    except RuntimeError:
        return None  # a lazy parameter that has none yet


def size(tensor):
    try:
        return tensor.numel()
    except (RuntimeError, ValueError):
        return 0


def is_inference():
    return bool(getattr(torch, "is_inference_mode_enabled", bool)())


def skips():
    """Other threads than the main one (replicas of DataParallel), tracing, capturing."""
    return get_ident() != MODELS.main_thread or is_tracing()


def tensors_of(args, kwargs):
    """[(path, tensor)] among arguments, in nested containers of Python's own and those derived of them."""
    out, todo = [], [("", dict(kwargs), 5), ("", list(args), 5)]
    while todo and len(out) < ARGUMENT_TENSORS_MAX:
        path, thing, depth = todo.pop()
        if issubclass(type(thing), torch.Tensor):
            out.append((path, thing))
        elif depth > 0 and issubclass(type(thing), dict):
            todo.extend((path + "." + str(name) if path else str(name), dict.__getitem__(thing, name), depth - 1)
                        for name in reversed(list(dict.keys(thing))[:64]) if type(name) in (str, int))
        elif depth > 0 and issubclass(type(thing), (list, tuple)):
            todo.extend((path + "." + str(i) if path else str(i), list.__getitem__(thing, i) if isinstance(thing, list)
                         else tuple.__getitem__(thing, i), depth - 1) for i in reversed(range(min(len(thing), 64))))
        elif depth > 0 and type(describe.attributes(thing).get("data")) is dict:  # a batch of a tokenizer
            todo.append((path, describe.attributes(thing)["data"], depth - 1))
    return out


def rows(args, kwargs):
    """Of the first tensor that has any."""
    if args and issubclass(type(args[0]), torch.Tensor):
        try:
            return args[0].size(0)
        except IndexError:
            pass  # a scalar
    for one in kwargs.values():
        if issubclass(type(one), torch.Tensor) and one.dim() > 0:
            return one.shape[0]
    for _, tensor in tensors_of(args, kwargs):
        if tensor.dim() > 0:
            return tensor.shape[0]
    return 0


MODELS = Models()
OPERATORS = Operators()


def reset():
    """In a forked child."""
    old = MODELS
    old.roots, old.by_id, old.inside, old.names, old.above = [], {}, {}, {}, []
    old.main_thread = threading.main_thread().ident
    old.trained, old.may_train = False, None
    if old.hook is None:
        old.look_for_roots()


def install():
    MODELS.look_for_roots()
    for path in ("torch.nn.parallel.distributed:DistributedDataParallel",
                 "torch.nn.parallel.data_parallel:DataParallel"):
        found = patch.find(path)
        if found is not None:
            MODELS.override(found[2])
    process.at_end(MODELS.end)
    process.at_fork(reset)
