"""Optimizers: groups by name, each step with what led to it, gradients and updates of the first steps."""
import functools
import struct
import time
import weakref

import torch

from . import describe, fingerprint, guard, patch, process, record, thin, torch_distributed
from .deferred import Deferred, Queue
from .torch_model import MODELS, OPERATORS, TENSORS_BUDGET_BYTES

OPTIMIZERS_MAX = 8
SCHEDULERS_MAX = 16
FIRST_STEPS = 2
COPIES_BYTES_MAX = 512 << 20
LOOKED_GRADIENTS = 8
LOSSES_MAX = 64
LR_JUMP = 0.2

LOOKS_PERIOD = 50
THROTTLE_STEPS, THROTTLE_SHARE, THROTTLED_PERIOD = 100, 0.01, 100

STEP = guard.site("Optimizer.step")
CLOSURE = guard.site("Optimizer.step closure")


class Known(object):
    """An optimizer of the program."""

    def __init__(self, number, optimizer):
        self.id = number
        self.optimizer = weakref.ref(optimizer)
        self.steps = 0
        self.depth = 0
        self.told_lr = None
        self.told_backwards = None
        self.kept = []  # KeptGradient of the last step

    def changed(self, step, since):
        """Whether a rate jumped, or the accumulation is another one."""
        if self.told_backwards not in (None, since.backwards):
            return True
        for group, told in zip(step.optimizer.param_groups, self.told_lr or ()):
            rate = group.get("lr")
            if type(rate) in (int, float) and told is not None and abs(rate - told) > LR_JUMP * abs(told):
                return True
        return False


class KeptGradient(object):
    """A gradient that a step took, until the next one: was it cleared in between?"""

    def __init__(self, parameter):
        self.parameter = weakref.ref(parameter)
        self.kept, self.looked = True, False
        self.accumulated()

    def accumulated(self):
        gradient = getattr(self.parameter(), "grad", None)
        self.gradient = None if gradient is None else (weakref.ref(gradient), gradient._version)

    def look(self):
        self.looked = True
        gradient = getattr(self.parameter(), "grad", None)
        if gradient is None or self.gradient is None or gradient is not self.gradient[0]() or \
                gradient._version != self.gradient[1]:
            self.kept = False


def gradients_to_watch(optimizer):
    out = []
    for group in optimizer.param_groups:
        for p in group["params"]:
            if p.grad is not None:
                out.append(KeptGradient(p))
            if len(out) >= LOOKED_GRADIENTS:
                return out
    return out


class Since(object):
    """What happened since the last step."""

    def __init__(self):
        self.forwards = 0
        self.backwards = 0
        self.zeroed = 0
        self.sync_off = 0
        self.clip = None
        self.clips = 0
        self.losses = []
        self.loss_count = 0


class Steps(object):
    def __init__(self):
        self.reset()
        self.unscaled = {}   # id of a scaled loss: (reference to it, the loss itself)
        self.scale_now = lambda optimizer: None  # set by torch_scaler
        self.on_step = []    # called with (known, optimizer) after each that is told, and every LOOKS_PERIOD-th

    def reset(self):
        self.known = {}
        self.order = []
        self.schedulers = []
        self.since = Since()
        self.queue = Queue(lambda fields: record.write("step", **finished(fields)))
        self.collectives = None
        self.throttled = False
        self.period_begin = None
        self.all_steps = 0
        self.near = True  # the next step is one that is told: what leads to it is read
        self.patched = getattr(self, "patched", set())
        self.watched = False  # some gradient of a last step is

    # --- optimizers and schedulers ---

    def made(self, _, result, args, kwargs):
        optimizer = args[0]
        self.know(optimizer)
        self.watch(type(optimizer))

    def know(self, optimizer):
        known = self.known.get(id(optimizer))
        if known is not None and known.optimizer() is optimizer:
            return known
        if len(self.order) >= OPTIMIZERS_MAX:
            record.bounded("optimizers", OPTIMIZERS_MAX)
            return None
        known = Known(len(self.order), optimizer)
        self.order.append(known)
        self.known[id(optimizer)] = known
        record.write("optimizer", id=known.id, defaults=describe.named_values(
            describe.attributes(optimizer).get("defaults", {})), where=describe.where(), wraps=None,
            **{"class": describe.dotted(type(optimizer))})
        return known

    def watch(self, kind):
        """Replaces `step` on the class that defines it: on an instance it would be pickled, and schedulers take it
        apart."""
        owner = next((one for one in kind.__mro__ if "step" in one.__dict__), None)
        if owner is None or owner in self.patched or getattr(owner.__dict__["step"], "_paritect_observed", False):
            return
        self.patched.add(owner)
        owner.step = stepping(owner.__dict__["step"], self)

    def scheduler_made(self, _, result, args, kwargs):
        scheduler = args[0]
        if any(one() is scheduler for one in self.schedulers):
            return
        if len(self.schedulers) >= SCHEDULERS_MAX:
            record.bounded("schedulers", SCHEDULERS_MAX)
            return
        own = describe.attributes(scheduler)
        known = self.known.get(id(own.get("optimizer")))
        self.schedulers.append(weakref.ref(scheduler))
        record.write("scheduler", id=len(self.schedulers) - 1, optimizer=known.id if known else None,
                     base_lrs=describe.value(own.get("base_lrs")), where=describe.where(),
                     attributes=describe.named_values(own, 2, but=("optimizer", "base_lrs")),
                     **{"class": describe.dotted(type(scheduler))})

    def scheduler_places(self):
        out = []
        for i, one in enumerate(self.schedulers):
            own = describe.attributes(one())
            if own:
                out.append([i, describe.value(own.get("last_epoch")), describe.value(own.get("_step_count"))])
        return out

    # --- between steps ---

    def forward(self, root):
        if self.near and self.collectives is None:  # a step that is told is counted from here
            self.collectives = torch_distributed.collectives()
        self.since.forwards += 1
        if root.may_not_synchronise and \
                describe.attributes(root.module()).get("require_backward_grad_sync") is False:
            self.since.sync_off += 1

    def before_backward(self, args, kwargs):
        loss = args[0]
        if MODELS.may_train is not None:
            MODELS.trains_in_evaluation()
            self.since.forwards += 1
        if self.watched:
            self.look_at_kept()
        self.since.backwards += 1
        held = self.unscaled.pop(id(loss), None) if self.unscaled else None
        if held is not None and held[0]() is loss:
            loss = held[1]
        if len(args) + len(kwargs) == 1 or loss.numel() == 1:  # without a gradient only a scalar may
            self.since.loss_count += 1
            if not self.near:
                return
            if len(self.since.losses) < LOSSES_MAX:
                self.since.losses.append(Deferred(loss))
            else:
                self.since.losses[-1] = Deferred(loss)

    def clipped(self, by, result, args, kwargs):
        self.since.clips += 1
        limit = patch.argument(args, kwargs, 1, "max_norm" if by == "norm" else "clip_value")
        self.since.clip = {"by": by, "limit": describe.value(limit),
                           "norm_type": describe.value(patch.argument(args, kwargs, 2, "norm_type", 2.0))}
        self.since.norm = Deferred(result) if by == "norm" and self.near else None

    def look_at_kept(self):
        """When a backward begins: are the gradients of an optimizer's last step still there? Those of another one may
        come to them meanwhile (a generator's go through the discriminator), and they are cleared before its own."""
        for known in self.order:
            for one in known.kept:
                one.look()

    def looks_after_backward(self):
        return self.watched or OPERATORS.nodes

    def after_backward(self, token, result, args, kwargs):
        OPERATORS.backward_done()
        if self.watched:
            for known in self.order:
                for one in known.kept:
                    if one.kept:
                        one.accumulated()

    def tell_kept(self, known):
        """At the next step of the optimizer, if there was a backward."""
        seen = [one for one in known.kept if one.looked]
        if seen:
            record.write("kept", optimizer=known.id, n=known.steps - 1, looked=len(seen),
                         kept=sum(one.kept for one in seen))
        known.kept = []

    # --- a step ---

    def before(self, optimizer, has_closure):
        """The token of a step that is told; None: none, or one within another of the same optimizer."""
        known = self.know(optimizer)
        if known is None:
            return None
        known.depth += 1
        if known.depth > 1:
            return known, None
        step = Step(known, optimizer)
        if self.near and not has_closure:  # no other step has anything to tell of its gradients
            step.gradients_are_there(self.since)
        return known, step

    def after(self, token, optimizer):
        known, step = token
        known.depth -= 1
        if step is None:
            return
        known.steps += 1
        self.all_steps += 1
        since, self.since = self.since, Since()
        due = self.is_due(known.steps)
        if step.before:
            step.tell_update()
        self.tell_step(known, step, since, due)
        self.near = self.is_due(known.steps + 1) if len(self.order) == 1 else \
            any([self.is_due(one.steps + 1) for one in self.order])
        if due or self.watched:
            self.tell_kept(known)
            if due:
                known.kept = gradients_to_watch(optimizer)
            self.watched = any([one.kept for one in self.order])
        if due or self.all_steps % LOOKS_PERIOD == 0 or known.steps % LOOKS_PERIOD == 0:
            for look in self.on_step:
                look(known, optimizer)
        if self.all_steps % THROTTLE_STEPS == 0:
            self.govern()

    def skipped(self):
        """A scaler left the step out: what led to it leads to no other."""
        self.since = Since()

    def failed(self, token):
        token[0].depth -= 1

    def is_due(self, n):
        """Whether the n-th step of an optimizer is told whatever happens in it."""
        return thin.step(n) and not (self.throttled and n % THROTTLED_PERIOD)

    def tell_step(self, known, step, since, expected):
        """A step that is told for a change in it was not expected: what is read before it is then not known."""
        if not expected and (self.throttled or not known.changed(step, since)):
            self.collectives = None
            return
        counted = torch_distributed.collectives() if self.near else None
        collectives = None if counted is None or self.collectives is None else counted - self.collectives
        self.collectives = counted
        if not step.numbers:
            step.read_rates()
        known.told_lr, known.told_backwards = step.numbers, since.backwards
        losses = since.losses or [None]
        self.queue.add({"optimizer": known.id, "n": known.steps, "lr": step.lr, "weight_decay": step.weight_decay,
                        "forwards": since.forwards, "backwards": since.backwards, "zeroed": since.zeroed,
                        "clip": since.clip, "clips": since.clips, "norm": getattr(since, "norm", None),
                        "loss": losses[-1], "loss_first": losses[0], "losses": since.loss_count,
                        "collectives": collectives, "sync_off": since.sync_off, "schedulers": self.scheduler_places(),
                        "scale": step.scale, "grad_norm": step.grad_norm,
                        **{"loss.%d" % i: one for i, one in enumerate(since.losses)}})

    def govern(self):
        """Hooks that take more than a hundredth of the time of a hundred steps go quiet."""
        now, spent = time.perf_counter(), guard.spent_seconds
        if self.period_begin is not None and not self.throttled:
            share = (spent - self.period_begin[1]) / max(now - self.period_begin[0], 1e-9)
            if share > THROTTLE_SHARE:
                self.throttled = True
                record.write("throttled", share=round(share, 4))
        self.period_begin = (now, spent)

    def end(self):
        self.queue.flush(last=True)


def finished(fields):
    """A step as it is written: clipping in one, losses summed up."""
    losses = [fields.pop(name) for name in [one for one in fields if one.startswith("loss.")]]
    known = [one for one in losses if one is not None]
    clip, norm, clips = fields.pop("clip"), fields.pop("norm"), fields.pop("clips")
    if clip is not None:
        fields["clip"] = dict(clip, norm=norm, calls=clips)
    else:
        fields["clip"] = None
    fields["loss_sum"] = sum(known) if known and len(known) == len(losses) == fields["losses"] else None
    return fields


class Step(object):
    """One step while it runs."""

    def __init__(self, known, optimizer):
        self.known = known
        self.optimizer = optimizer
        self.lr, self.weight_decay, self.numbers = [], [], []
        self.scale = STEPS.scale_now(optimizer) if STEPS.near else None
        self.grad_norm = None
        self.before = []
        if STEPS.near:
            self.read_rates()

    def read_rates(self):
        groups = self.optimizer.param_groups
        self.lr = [describe.value(group.get("lr")) for group in groups]
        self.weight_decay = [describe.value(group.get("weight_decay")) for group in groups]
        self.numbers = [lr if type(lr) in (int, float) else None for lr in self.lr]

    def named(self):
        """[(name, parameter)] of what it updates."""
        out = []
        for g, group in enumerate(self.optimizer.param_groups):
            for i, p in enumerate(group["params"]):
                name = MODELS.names.get(id(p), (None,))[0]
                out.append((name or "group%d.%d" % (g, i), p))
        return out

    def gradients_are_there(self, since):
        n = self.known.steps + 1
        if n == 1:
            self.tell_groups()
        if not process.full():
            return
        if n <= FIRST_STEPS:
            self.tell_gradients(n, since)
            self.keep_before()
        elif n >= 100 and thin.power(n) and since.clip is None:
            self.grad_norm = norm_of([p.grad for _, p in self.named() if p.grad is not None])

    def tell_groups(self):
        for g, group in enumerate(self.optimizer.param_groups):
            params = group["params"]
            rows = [[MODELS.names.get(id(p), (None, None))[0], p.numel(), describe.dtype(p.dtype), p.requires_grad,
                     MODELS.names.get(id(p), (None, None))[1]] for p in params]
            for begin in range(0, max(len(rows), 1), 400):
                record.write("group", optimizer=self.known.id, group=g, at=self.known.steps, total=len(rows),
                             options=describe.named_values(group, 2, but=("params",)),
                             params=rows[begin:begin + 400], **{"from": begin})

    def tell_gradients(self, n, since):
        named = fingerprint.chosen([(name, p.grad if p.grad is not None else p) for name, p in self.named()],
                                   TENSORS_BUDGET_BYTES)
        gradients = {id(p) for _, p in self.named() if p.grad is None}
        entries, squares = [], 0.0
        for name, tensor in named:
            if id(tensor) in gradients:
                entries.append({"name": name, "none": True})
                continue
            entry = gradient_entry(name, tensor)
            squares += entry.get("sum_of_squares", 0.0)
            entries.append(entry)
        self.grad_norm = squares ** 0.5
        scale = None if self.scale is not None and unscales_inside(self.optimizer) else 1.0
        record.write_list("grads", entries, 50, optimizer=self.known.id, n=n, stage="before-step", scale=scale,
                          clip_factor=clip_factor(since), total=len(entries),
                          **sampled_of(entries, self.named()))

    def keep_before(self):
        left = COPIES_BYTES_MAX
        named = [one for one in self.named() if one[1].requires_grad]
        chosen = fingerprint.chosen(named, TENSORS_BUDGET_BYTES)
        self.sampled = sampled_of(chosen, named)
        for name, p in chosen:
            plain = fingerprint.host(p)
            left -= plain.numel() * plain.element_size()
            places = fingerprint.sampled(plain)
            self.before.append((name, weakref.ref(p), plain.clone() if left >= 0 else None, places))

    def tell_update(self):
        if not self.before:
            return
        entries = [update_entry(*one) for one in self.before if one[1]() is not None]
        self.before = []
        record.write_list("update", entries, 50, optimizer=self.known.id, n=self.known.steps, total=len(entries),
                          **self.sampled)


def sampled_of(chosen, named):
    """The field that tells that only some tensors were taken."""
    return {} if len(chosen) == len(named) else {"sampled": [len(chosen), len(named)]}


def unscales_inside(optimizer):
    """Fused optimizers take gradients as the scaler left them."""
    return bool(getattr(type(optimizer), "_step_supports_amp_scaling", False) or
                describe.attributes(optimizer).get("_step_supports_amp_scaling"))


def gradient_entry(name, gradient):
    out = dict(fingerprint.of(gradient, fingerprint.GRADIENTS), name=name)
    if "problem" not in out:
        out["signs"] = fingerprint.signs(fingerprint.sampled(fingerprint.host(gradient)))
    return out


def update_entry(name, parameter, before, places):
    p = parameter()
    plain = fingerprint.host(p)
    out = {"name": name, "elements": plain.numel(), "shape": list(p.shape), "dtype": describe.dtype(p.dtype)}
    changes = [b - a for a, b in zip(places, fingerprint.sampled(plain))]
    out["signs"] = fingerprint.signs(changes)
    if before is None:
        out["sampled"] = len(changes)
        out["changed"] = sum(1 for change in changes if change != 0)
        return out
    out.update(fingerprint.fields(plain, fingerprint.DIFFERENCE, before=before))
    out["changed"] = plain.numel() - out.get("zero", 0)
    return out


def clip_factor(since):
    """By what clipping by norm multiplied the gradients, where that is known now; 1: no clipping."""
    if since.clip is None:
        return 1.0
    norm = getattr(since, "norm", None)
    limit = since.clip["limit"]
    if norm is None or not norm.ready() or norm.number is None or type(limit) not in (int, float):
        return None
    return min(1.0, limit / (norm.number + 1e-6))


def norm_of(gradients):
    squares = 0.0
    for gradient in gradients:
        if gradient.device.type != "cpu":
            return None
        found = fingerprint.fields(fingerprint.host(gradient), fingerprint.STATISTICS_ALONE)
        squares += found.get("sum_of_squares", 0.0)
    return squares ** 0.5


def stepping(original, steps):
    """`step` of a class that looks before and after; a closure is where gradients come to be."""
    is_compiling = patch.compiling or patch.never

    @functools.wraps(original)
    def step(self, *args, **kwargs):
        if is_compiling():
            return original(self, *args, **kwargs)
        closure = args[0] if args else kwargs.get("closure")
        token = guard.guarded(STEP, steps.before, self, closure is not None)
        if token is None:
            return original(self, *args, **kwargs)
        if closure is not None and token[1] is not None:
            seen = seeing(closure, token[1], steps)
            args, kwargs = ((seen,) + args[1:], kwargs) if args else (args, dict(kwargs, closure=seen))
        try:
            result = original(self, *args, **kwargs)
        except BaseException:
            guard.guarded(STEP, steps.failed, token)
            raise
        guard.guarded(STEP, steps.after, token, self)
        return result

    step._paritect_observed = True
    return step


def seeing(closure, step, steps):
    """The closure, which tells that it has run for the first time."""
    told = []

    def run(*args, **kwargs):
        result = closure(*args, **kwargs)
        if not told:
            told.append(True)
            guard.guarded(CLOSURE, step.gradients_are_there, steps.since)
        return result

    try:
        return functools.update_wrapper(run, closure)
    except Exception:
        return run


STEPS = Steps()


def tell_first_weights(known, optimizer):
    """After the first steps: weights that the optimizer moves, buffers; and digests of replicas, now and then."""
    n = known.steps
    ids = {id(p) for group in optimizer.param_groups for p in group["params"]} if n <= FIRST_STEPS else None
    if not process.full():
        return
    if n <= FIRST_STEPS:
        for root in training_roots():
            MODELS.tell_weights(root, n, fingerprint.WEIGHTS, only=ids, optimizer=known.id)
    if thin.replica(n) and known is STEPS.order[0]:
        for root in training_roots():
            tell_replica(root, n)


def training_roots():
    return [root for root in MODELS.roots if root.training_forwards and root.module() is not None]


def tell_replica(root, n):
    for role, named in (("parameter", root.parameters()), ("buffer", root.buffers())):
        if not named:
            continue
        digests = [fingerprint.digest(fingerprint.host(t)) for _, t in sorted(named, key=first)]
        parts = b"".join(struct.pack(">QQ", *one) for one in digests)
        whole = torch.frombuffer(bytearray(parts), dtype=torch.uint8) if hasattr(torch, "frombuffer") else \
            torch.tensor(list(parts), dtype=torch.uint8)
        record.write("replica", root=root.id, at=n, role=role, tensors=len(named),
                     digest=fingerprint.hex_of(fingerprint.digest(whole)))


def first(pair):
    return pair[0]


def count_zeroed():
    STEPS.since.zeroed += 1


def install():
    patch.around("torch.optim.optimizer:Optimizer.__init__", after=STEPS.made)
    patch.counting("torch.optim.optimizer:Optimizer.zero_grad", count_zeroed)
    patch.counting("torch.nn.modules.module:Module.zero_grad", count_zeroed)
    patch.around("torch.optim.lr_scheduler:LRScheduler.__init__", after=STEPS.scheduler_made,
                 instead=("torch.optim.lr_scheduler:_LRScheduler.__init__",))
    patch.around("torch.optim.lr_scheduler:ReduceLROnPlateau.__init__", after=STEPS.scheduler_made)
    patch.around("torch:Tensor.backward", before=STEPS.before_backward, after=STEPS.after_backward,
                 wanted=STEPS.looks_after_backward)
    for name, by in (("clip_grad_norm_", "norm"), ("clip_grad_value_", "value")):
        patch.around("torch.nn.utils.clip_grad:" + name, before=lambda args, kwargs, by=by: by, after=STEPS.clipped,
                     also=("torch.nn.utils:" + name,))
    MODELS.on_training_forward.append(STEPS.forward)
    MODELS.updates = lambda: STEPS.all_steps
    STEPS.on_step.append(tell_first_weights)
    process.at_end(STEPS.end)
    process.at_fork(STEPS.reset)
    process.end_field("steps", lambda: STEPS.all_steps)
