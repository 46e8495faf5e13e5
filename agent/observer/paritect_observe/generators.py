"""Random generators of the process: who seeded them, their states, and whether the training drew from them."""
import hashlib
import random
import sys

import torch

from . import describe, fingerprint, patch, process, record
from .seed_places import SeedPlaces

LOOKED_STEPS = (1, 2, 10, 100)  # after these: which generators have been drawn from
# Calls that set the generator of the whole process, those that put a state back, and those that make another one.
SEEDING = {"torch.manual_seed": "torch", "random.seed": "random", "numpy.random.seed": "numpy",
           "random.setstate": "random", "numpy.random.set_state": "numpy", "numpy.random.default_rng": None}
STATES = ("random.setstate", "numpy.random.set_state")


def digest(data):
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def torch_state():
    return fingerprint.hex_of(fingerprint.digest(torch.get_rng_state())) if fingerprint.load() else None


def random_state():
    return digest(repr(random.getstate()).encode())


def numpy_state():
    module = sys.modules.get("numpy.random")
    if module is None:
        return None
    return digest(repr(plain(module.get_state(legacy=False))).encode())  # the other form warns of newer generators


def plain(state):
    """The same with the bytes of arrays."""
    if type(state) is dict:
        return sorted((name, plain(value)) for name, value in state.items())
    return state.tobytes() if hasattr(state, "tobytes") else state


def states():
    """{generator: digest of its state}; without those that cannot be read."""
    out = {}
    for name, read in (("torch", torch_state), ("random", random_state), ("numpy", numpy_state)):
        try:
            state = read()
        except Exception:
            state = None
        if state is not None:
            out[name] = state
    return out


def as_fields(found):
    return {name + "_state": state for name, state in found.items()}


class Generators(object):
    def __init__(self):
        self.start = {}
        self.seeded = {}  # generator: place of the last call that set it; None: none yet
        self.reset()

    def reset(self):
        """A forked child goes on with generators as its parent left them."""
        self.places = SeedPlaces()
        self.first = None  # states at the first training forward
        self.drawn = []

    def begin(self):
        self.start = states()

    def watch(self, call, path, also=()):
        """Sees calls of a function that seeds, where its module is there."""
        if patch.find(path) is not None and patch.around(path, before=self.before(call), also=also) and SEEDING[call]:
            self.seeded.setdefault(SEEDING[call], None)

    def before(self, call):
        def look(args, kwargs):
            if describe.called_by_framework():
                return
            value = args[0] if args else next(iter(kwargs.values()), None)
            self.called(call, None if call in STATES else describe.value(value), describe.where())
        return look

    def called(self, call, value, where):
        if SEEDING[call]:
            drawn_by_lot = value is None and call not in STATES  # seed() takes one from the system
            self.seeded[SEEDING[call]] = None if drawn_by_lot else {"call": call, "value": value, "where": where}
        self.places.called(call, value, where)

    def first_training(self):
        """The fields of the record `seeds` that tell of the generators."""
        self.first = states()
        seeded = {name: self.seeded[name] for name in sorted(self.seeded)}
        return dict(as_fields(self.first), start=as_fields(self.start), seeded=seeded)

    def on_step(self, at):
        if self.first is None or at not in LOOKED_STEPS:
            return
        now = states()
        drawn = sorted(name for name, state in self.first.items() if now.get(name) != state)
        if drawn != self.drawn:
            self.drawn = drawn
            record.write("drawn", at=at, generators=drawn)

    def end(self):
        self.places.end()


GENERATORS = Generators()


def watch_numpy():
    """Once numpy.random is there, which newer versions import when it is first used."""
    GENERATORS.watch("numpy.random.seed", "numpy.random:seed")
    GENERATORS.watch("numpy.random.set_state", "numpy.random:set_state")
    GENERATORS.watch("numpy.random.default_rng", "numpy.random._generator:default_rng", ("numpy.random:default_rng",))


def install():
    GENERATORS.watch("torch.manual_seed", "torch.random:manual_seed", ("torch:manual_seed",))
    GENERATORS.watch("random.seed", "random:seed")
    GENERATORS.watch("random.setstate", "random:setstate")
    watch_numpy()
    GENERATORS.begin()
    process.at_fork(GENERATORS.reset)
    process.at_end(GENERATORS.end)
