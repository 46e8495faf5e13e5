"""Loss scaling: configuration, and of each step the scale and whether the update was applied."""
import weakref

from . import describe, guard, patch, process, record, thin
from .deferred import Deferred, Queue
from .torch_steps import STEPS, unscales_inside

SCALERS_MAX = 8
SKIPS_MAX = 20000
SETTINGS = (("enabled", "_enabled"), ("init_scale", "_init_scale"), ("growth_factor", "_growth_factor"),
            ("backoff_factor", "_backoff_factor"), ("growth_interval", "_growth_interval"))
METHODS = ("step", "update", "scale")


class Known(object):
    def __init__(self, number, scaler):
        self.id = number
        self.scaler = weakref.ref(scaler)
        self.updates = 0
        self.stepped = {}     # optimizer id: applied, since the last update
        self.settings = self.where = None
        self.last = None      # (reference to the scale's tensor, its version, the number) after the last update


class Scalers(object):
    def __init__(self):
        self.reset()
        self.patched = set()

    def reset(self):
        self.known = {}
        self.count = 0  # an address is used again by the next one
        self.skips = 0
        self.queue = Queue(self.write)

    def made(self, _, result, args, kwargs):
        scaler = args[0]
        self.watch(type(scaler))
        if id(scaler) in self.known and self.known[id(scaler)].scaler() is scaler or len(self.known) >= SCALERS_MAX:
            return
        known = self.known[id(scaler)] = Known(self.count, scaler)
        self.count += 1
        self.tell(known, scaler)

    def tell(self, known, scaler):
        """When it is made and, since classes of other back ends and users set themselves up after their base, at its
        first update where that changed something."""
        own = describe.attributes(scaler)
        settings = {name: describe.value(own.get(attribute)) for name, attribute in SETTINGS}
        dynamic = own.get("_dynamic", own.get("dynamic"))
        if dynamic is None and settings["growth_factor"] is not None:
            dynamic = settings["growth_factor"] != 1 or settings["backoff_factor"] != 1
        settings["dynamic"] = dynamic
        if settings != known.settings:
            known.where = known.where or describe.where()
            known.settings = settings
            record.write("scaler", id=known.id, where=known.where,
                         **dict(settings, **{"class": describe.dotted(type(scaler))}))

    def watch(self, kind):
        """Methods of each class in the order of resolution: those of torch_npu and FSDP do not call their base's."""
        for owner in kind.__mro__:
            for name in METHODS:
                if owner is object or name not in owner.__dict__ or (owner, name) in self.patched:
                    continue
                self.patched.add((owner, name))
                before, after = getattr(self, "before_" + name), getattr(self, "after_" + name)
                site = guard.site("GradScaler." + name)
                patch.put(owner, name, patch.looking(site, owner.__dict__[name], before, after, None))

    def of(self, args):
        known = self.known.get(id(args[0]))
        return known if known is not None and known.scaler() is args[0] else None

    @staticmethod
    def scale_tensor(scaler):
        own = describe.attributes(scaler)
        return own.get("_scale") if own.get("_scale") is not None else own.get("_init_scale")

    def scale_of(self, known, scaler):
        """The scale now; not copied again while nobody wrote to it."""
        tensor = self.scale_tensor(scaler)
        if not hasattr(tensor, "_version"):
            return Deferred(tensor)
        last = known.last
        if last is None or last[0]() is not tensor or last[1] != tensor._version:
            known.last = last = (weakref.ref(tensor), tensor._version, Deferred(tensor))
        return last[2]

    # --- scaler.scale(loss): the loss before it ---

    def before_scale(self, args, kwargs):
        return None

    def after_scale(self, _, result, args, kwargs):
        if not STEPS.near:
            return
        known = self.of(args)
        if known is None or len(args) < 2 or result is args[1] or not hasattr(result, "numel"):
            return
        STEPS.unscaled.clear()  # one loss at a time: nothing is kept alive
        STEPS.unscaled[id(result)] = (weakref.ref(result), args[1].detach())

    # --- scaler.step(optimizer) ---

    def before_step(self, args, kwargs):
        known = self.of(args)
        if known is None or not describe.attributes(args[0]).get("_enabled", True):
            return None
        optimizer = patch.argument(args, kwargs, 1, "optimizer")
        one = STEPS.known.get(id(optimizer))
        return known, optimizer, one.steps if one is not None else None

    def after_step(self, token, result, args, kwargs):
        if token is None:
            return
        known, optimizer, before = token
        one = STEPS.known.get(id(optimizer))
        if one is None or before is None:
            applied = None
        elif unscales_inside(optimizer):
            applied = None  # decided inside the optimizer: only a falling scale tells
        else:
            applied = one.steps > before
        known.stepped[one.id if one is not None else None] = applied
        if applied is False:
            STEPS.skipped()

    # --- scaler.update() ---

    def before_update(self, args, kwargs):
        known = self.of(args)
        if known is None:
            return None
        if known.updates == 0:
            self.tell(known, args[0])
        if not describe.attributes(args[0]).get("_enabled", True):
            return None
        return known, self.scale_of(known, args[0])

    def after_update(self, token, result, args, kwargs):
        if token is None:
            return
        known, before = token
        after = self.scale_of(known, args[0])
        known.updates += 1
        stepped, known.stepped = known.stepped, {}
        for optimizer, applied in (stepped or {None: None}).items():
            self.queue.add({"scaler": known.id, "n": known.updates, "before": before,
                            "after": after, "applied": applied, "optimizer": optimizer,
                            "at": STEPS.all_steps})

    def write(self, fields):
        skipped = fields["applied"] is False
        changed = fields["before"] != fields["after"]
        self.skips += skipped
        if thin.step(fields["n"]) or (skipped or changed) and (self.skips < SKIPS_MAX or thin.power(self.skips)):
            record.write("scale", **fields)

    def scale_now(self, optimizer):
        """The scale by which losses of this step were multiplied, where one scaler is in use and its scale is known."""
        scalers = [one.scaler() for one in self.known.values()]
        used = [one for one in scalers if one is not None and describe.attributes(one).get("_enabled")]
        return Deferred(self.scale_tensor(used[0])) if len(used) == 1 else None

    def end(self):
        self.queue.flush(last=True)


SCALERS = Scalers()


def install():
    patch.around("torch.amp.grad_scaler:GradScaler.__init__", after=SCALERS.made,
                 instead=("torch.cuda.amp.grad_scaler:GradScaler.__init__",))
    STEPS.scale_now = SCALERS.scale_now
    process.at_end(SCALERS.end)
    process.at_fork(SCALERS.reset)
    process.end_field("skipped", lambda: SCALERS.skips)
