"""A training run as numbers: a realistic curve, without a word of how a framework prints it."""
import copy
import dataclasses
import math
import random

STEPS = 200
WARM_UP = 20
BASE_LR = 1e-4
BATCH = 256
SCALE = 65536.0
NAN = float("nan")
INF = float("inf")


@dataclasses.dataclass
class Step:
    step: int
    loss: float  # None: the line has no loss
    lr: float
    grad_norm: float
    scale: float = SCALE
    skipped: int = 0  # steps skipped since the record before
    samples: int = 0


@dataclasses.dataclass
class Run:
    steps: list
    total: int = STEPS
    batch: int = BATCH
    interval: int = 1

    def copy(self):
        return copy.deepcopy(self)


def cosine(step, total=STEPS, warm_up=WARM_UP, base=BASE_LR):
    if step <= warm_up:
        return base * step / warm_up
    return base * 0.5 * (1 + math.cos(math.pi * (step - warm_up) / (total - warm_up)))


def linear(step, total=STEPS, warm_up=WARM_UP, base=BASE_LR):
    if step <= warm_up:
        return base * step / warm_up
    return base * (total - step) / (total - warm_up)


def healthy(side, seed, total=STEPS, same_order=True):
    """Both sides read the same batches in the same order: their noise is shared, and each adds a little of its own."""
    own = random.Random(f"{seed} {side}")
    data = random.Random(f"{seed}" if same_order else f"{seed} {side} order")
    steps = []
    for step in range(1, total + 1):
        loss = (2 + 7 * math.exp(-step / 60)) * (1 + 0.02 * data.gauss(0, 1)) * (1 + 0.001 * own.gauss(0, 1))
        norm = (0.8 + 2 * math.exp(-step / 40)) * math.exp(0.1 * data.gauss(0, 1)) * (1 + 0.005 * own.gauss(0, 1))
        if step == 1:
            loss, norm = 9.0 * (1 + 0.0002 * own.gauss(0, 1)), 2.9 * (1 + 0.001 * own.gauss(0, 1))
        steps.append(Step(step, loss, cosine(step, total), norm, samples=step * BATCH))
    return Run(steps, total)


def printed_every(run, interval, mean):
    """The same run with another logging interval; frameworks that print means print that of the interval."""
    run = run.copy()
    steps = []
    for end in range(interval, len(run.steps) + 1, interval):
        part = run.steps[end - interval : end]
        step = part[-1]
        if mean:
            step.loss = sum(s.loss for s in part) / interval
        step.skipped = sum(s.skipped for s in part)
        steps.append(step)
    run.steps, run.interval = steps, interval
    return run
