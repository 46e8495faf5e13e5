"""What goes wrong in a run that its log can tell: one function a kind, from a healthy run to the faulty one.

To add one: a function Run, place -> Run with a decorator that says which fields a dialect must print, what must fail
and with which kind. Levels beyond a limit are faults; a level at or below it is a change that must pass.
"""
import dataclasses
import random

import curves

FAULTS = {}
EVERY_SIDE = ("migrated", "baseline", "both")
EITHER_SIDE = ("migrated", "baseline")
MIGRATED = ("migrated",)
CURVE = ("training.flow.loss-curve", "convergence.scenario")
CURVE_KINDS = ("loss_differs", "loss_lower", "constant_ratio", "scenario_no_convergence", "scenario_curve")


@dataclasses.dataclass
class Fault:
    name: str
    put: object  # Run, place -> Run
    needs: frozenset
    checks: object  # side -> checks, first the one that must not pass
    kinds: tuple
    places: tuple
    sides: tuple
    healthy: bool  # at or below a limit: the first check must not fail and nothing else may
    per_rank: bool  # also on one rank of several that each print
    on_nan: tuple  # the kinds where the dialect leaves out what is no number


def fault(
    name,
    needs,
    checks,
    kinds,
    places=("first", "middle", "last"),
    sides=EVERY_SIDE,
    healthy=False,
    per_rank=False,
    on_nan=(),
):
    def register(put):
        of_side = checks if callable(checks) else lambda side: checks
        FAULTS[name] = Fault(
            name, put, frozenset(needs.split()), of_side, kinds, places, sides, healthy, per_rank, on_nan
        )
        return put

    return register


def spot(run, place):
    return {"first": 0, "middle": len(run.steps) // 2, "last": len(run.steps) - 1, "": 0}[place]


def stretch(run, place, length):
    """Indices of `length` records around a place."""
    start = max(0, min(spot(run, place), len(run.steps) - length))
    return range(start, start + length)


@fault("nan_loss", "loss", CURVE, ("nan_loss", "nan_suspected"), per_rank=True, on_nan=("loss_missing", "nan_loss"))
def nan_loss(run, place):
    run.steps[spot(run, place)].loss = curves.NAN
    return run


@fault(
    "nan_loss_from_there",
    "loss",
    CURVE,
    ("nan_loss", "nan_suspected"),
    places=("first", "middle"),
    on_nan=("loss_missing", "nan_loss", "no_steps_in_log"),
)
def nan_loss_from_there(run, place):
    for s in run.steps[spot(run, place) :]:
        s.loss, s.grad_norm = curves.NAN, curves.NAN
    return run


@fault("inf_loss", "loss", CURVE, ("nan_loss", "nan_suspected"))
def inf_loss(run, place):
    run.steps[spot(run, place)].loss = curves.INF
    return run


@fault("zeros", "loss", CURVE, ("nan_suspected",), places=("middle", "last"))
def zeros(run, place):
    for i in stretch(run, place, 5):
        run.steps[i].loss = 0.0
    return run


# A norm that is no number is excused by a skipped step only, and these logs tell of none.
NORM = (
    "training.flow.loss-curve",
    "migrated.loss-scale.overflow-rate",
    "migrated.loss-scale.enabled",
    "migrated.loss-scale.skipped-step",
    "baseline.mixed-precision.overflow-rate",
)
NORM_KINDS = ("nan_grad_norm", "overflow_undetected", "overflow_applied")


@fault("nan_grad_norm", "loss grad_norm", NORM, NORM_KINDS, per_rank=True)
def nan_grad_norm(run, place):
    run.steps[spot(run, place)].grad_norm = curves.NAN
    return run


@fault("inf_grad_norm", "loss grad_norm", NORM, NORM_KINDS)
def inf_grad_norm(run, place):
    run.steps[spot(run, place)].grad_norm = curves.INF
    return run


@fault("loss_missing", "loss", CURVE, ("loss_missing",))
def loss_missing(run, place):
    run.steps[spot(run, place)].loss = None
    return run


def ratio_fault(name, factor):
    @fault(name, "loss", CURVE, ("constant_ratio",), places=("",), sides=EITHER_SIDE)
    def constant_ratio(run, _):
        for s in run.steps:
            s.loss *= factor
        return run

    return constant_ratio


ratio_fault("constant_ratio_8", 8)
ratio_fault("constant_ratio_quarter", 0.25)
ratio_fault("constant_ratio_1.04", 1.04)


def leave(run, place, share):
    """The curve rises above the other from a place on, gently at first; at the end over twelve records."""
    count = len(run.steps)
    start = {"first": 1, "middle": count // 2, "last": count - 12}[place]
    for i in range(start, count):
        run.steps[i].loss *= 1 + share * min(1, (i - start + 1) / 4)
    return run


# At the end a warning is enough by the checklist: it is judged where the whole run is beyond the limit.
@fault("curve_leaves_far", "loss", CURVE, CURVE_KINDS, sides=EITHER_SIDE)
def curve_leaves_far(run, place):
    return leave(run, place, 0.6)


@fault("curve_leaves", "loss", CURVE, CURVE_KINDS, places=("first", "middle"), sides=EITHER_SIDE)
def curve_leaves(run, place):
    return leave(run, place, 0.06)


@fault("curve_lower", "loss", CURVE, CURVE_KINDS, places=("first", "middle"), sides=EITHER_SIDE)
def curve_lower(run, place):
    return leave(run, place, -0.08)


@fault("flat", "loss", CURVE, CURVE_KINDS + ("loss_stands_still",), places=("",), sides=MIGRATED)
def flat(run, _):
    own = random.Random("flat")
    for s in run.steps[1:]:
        s.loss = run.steps[0].loss * (1 + 0.01 * own.gauss(0, 1))
    return run


@fault("within_limit", "loss", CURVE, (), places=("first", "middle", "last"), sides=EITHER_SIDE, healthy=True)
def within_limit(run, place):
    return leave(run, place, 0.004)


@fault("one_spike", "loss", CURVE, (), places=("middle",), sides=EITHER_SIDE, healthy=True)
def one_spike(run, place):
    run.steps[spot(run, place)].loss *= 1.5
    return run


LR = ("model.hyperparameters.learning-rate-curve", "model.hyperparameters.learning-rate")


@fault(
    "learning_rate_doubled",
    "lr loss",
    LR,
    ("learning_rate_differs", "lr_curve_differs"),
    places=("",),
    sides=EITHER_SIDE,
)
def learning_rate_doubled(run, _):
    for s in run.steps:
        s.lr *= 2
    return run


@fault(
    "learning_rate_1.05", "lr loss", LR, ("learning_rate_differs", "lr_curve_differs"), places=("",), sides=EITHER_SIDE
)
def learning_rate_a_little(run, _):
    for s in run.steps:
        s.lr *= 1.05
    return run


@fault("schedule_faster", "lr loss", LR, ("schedule_faster",), places=("",), sides=EITHER_SIDE)
def schedule_faster(run, _):
    for s in run.steps:
        s.lr = curves.cosine(min(s.step * 4, run.total))
    return run


@fault("schedule_differs", "lr loss", LR, ("schedule_differs", "lr_curve_differs"), places=("",), sides=EITHER_SIDE)
def schedule_differs(run, _):
    for s in run.steps:
        s.lr = curves.linear(s.step)
    return run


@fault(
    "warmup_differs",
    "lr loss",
    LR,
    ("warmup_differs", "lr_curve_differs", "schedule_differs"),
    places=("",),
    sides=EITHER_SIDE,
)
def warmup_differs(run, _):
    for s in run.steps:
        s.lr = curves.cosine(s.step, warm_up=40)
    return run


@fault(
    "learning_rate_leaves",
    "lr loss",
    LR,
    ("lr_curve_differs", "schedule_differs", "learning_rate_differs"),
    places=("middle", "last"),
    sides=EITHER_SIDE,
)
def learning_rate_leaves(run, place):
    for s in run.steps[max(0, min(spot(run, place), len(run.steps) - 12)) :]:
        s.lr *= 0.3
    return run


def overflow_checks(side):
    return ("baseline.mixed-precision.overflow-rate",) if side == "baseline" else ("migrated.loss-scale.overflow-rate",)


def delay_schedule(run):
    """A schedule counts updates: a step that was skipped does not move it."""
    rates = [s.lr for s in run.steps]
    made = 0
    for s in run.steps:
        s.lr = rates[made]
        made += 0 if s.skipped else 1
    return run


def skip(run, indices):
    """Steps whose update was not made: the scale is halved and grows back after eight good steps."""
    down = 0
    good = 0
    for i, s in enumerate(run.steps):
        if i in indices:
            s.skipped, down, good = 1, down + 1, 0
        else:
            good += 1
            if down and good % 8 == 0:
                down -= 1
        s.scale /= 2**down
    return delay_schedule(run)


@fault("overflow_rate", "skips loss", overflow_checks, ("overflow_rate_exceeded",))
def overflow_rate(run, place):
    middle = spot(run, place)
    start = max(1, min(middle, len(run.steps) - 11))
    return skip(run, {start, start + 10})


@fault("overflow_rate_far", "skips loss", overflow_checks, ("overflow_rate_exceeded",), places=("",))
def overflow_rate_far(run, _):
    return skip(run, set(range(5, len(run.steps), 12)))


@fault("overflow_rate_at_limit", "skips loss", overflow_checks, (), places=("middle", "last"), healthy=True)
def overflow_rate_at_limit(run, place):
    return skip(run, {min(spot(run, place), len(run.steps) - 2)})


TREND = ("migrated.loss-scale.trend", "migrated.loss-scale.overflow-rate", "migrated.loss-scale.enabled")


@fault("scale_at_floor", "scale skips loss", TREND, ("scale_at_floor",), places=("first", "middle"), sides=MIGRATED)
def scale_at_floor(run, place):
    scale = curves.SCALE
    for i, s in enumerate(run.steps):
        if i > spot(run, place):
            s.skipped = 1 if scale > 1 or i % 4 == 0 else 0
            scale = max(1.0, scale / 2)
        s.scale = scale
    return delay_schedule(run)


@fault(
    "scale_falls",
    "scale loss",
    TREND,
    ("scale_at_floor", "scale_falls_without_end", "loss_scale_below_one"),
    places=("middle",),
    sides=MIGRATED,
)
def scale_falls(run, place):
    for i, s in enumerate(run.steps):
        s.scale = curves.SCALE / 2 ** max(0, (i - spot(run, place)) // 2)
    return run


@fault(
    "scale_below_one",
    "scale loss",
    TREND,
    ("loss_scale_below_one", "scale_at_floor", "scale_falls_without_end"),
    places=("first", "middle"),
    sides=MIGRATED,
)
def scale_below_one(run, place):
    for s in run.steps[spot(run, place) :]:
        s.scale = 0.125
    return run


STATE = ("training.flow.state",)


def scaled_norms(run, factor):
    own = random.Random("norms")
    for i, s in enumerate(run.steps):
        s.grad_norm *= factor(i) * (1 + 0.03 * own.gauss(0, 1))
    return run


@fault("gradients_not_cleared", "grad_norm loss", STATE, ("gradients_not_cleared",), places=("",), sides=EITHER_SIDE)
def gradients_not_cleared(run, _):
    return scaled_norms(run, lambda i: i + 1)


@fault(
    "gradients_not_cleared_in_window",
    "grad_norm loss",
    STATE,
    ("gradients_not_cleared",),
    places=("",),
    sides=EITHER_SIDE,
)
def gradients_not_cleared_in_window(run, _):
    return scaled_norms(run, lambda i: i % 4 + 1)


@fault(
    "constant_gradient_ratio_quarter",
    "grad_norm loss",
    STATE,
    ("constant_gradient_ratio",),
    places=("",),
    sides=EITHER_SIDE,
)
def constant_gradient_ratio(run, _):
    return scaled_norms(run, lambda i: 0.25)


@fault(
    "constant_gradient_ratio_1.2",
    "grad_norm loss",
    STATE,
    ("constant_gradient_ratio",),
    places=("",),
    sides=EITHER_SIDE,
)
def constant_gradient_ratio_near(run, _):
    return scaled_norms(run, lambda i: 1.2)


@fault("gradient_ratio_within", "grad_norm loss", STATE, (), places=("",), sides=EITHER_SIDE, healthy=True)
def gradient_ratio_within(run, _):
    return scaled_norms(run, lambda i: 1.05)


@fault("data_position_lost", "samples loss", STATE, ("data_position_lost",), places=("middle",))
def data_position_lost(run, place):
    """Samples start from nothing where the job was started again: the same data a second time."""
    at = spot(run, place)
    lost = run.steps[at].samples
    for s in run.steps[at:]:
        s.samples -= lost - curves.BATCH
    return run


def applies(fault_, dialect):
    """Whether the dialect prints what the fault needs, on every line that it needs it on."""
    if fault_.name == "loss_missing" and dialect.name in (
        "columns",
        "deepspeed",
        "lightning-csv",
        "mllog",
        "tf-estimator",
        "nanogpt",
        "mindspore-lossmonitor",
        "pytorch-examples",
        "yolo",
    ):
        return False  # no line is left, or none that must carry the loss
    return fault_.needs <= dialect.fields


def kinds_in(fault_, dialect):
    return fault_.on_nan if dialect.on_nan == "omit" and fault_.on_nan else fault_.kinds
