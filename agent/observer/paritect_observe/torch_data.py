"""Data loaders: what they are made of, which samples each pass deals out, the first batches."""
import collections
import hashlib
import struct
import sys
import weakref

import torch

from . import describe, generators, patch, process, record, thin
from .torch_model import MODELS, describe_argument, tensors_of
from .torch_steps import STEPS

LOADERS_MAX = 64
FIRST_PASSES = 2
FIRST_BATCHES = 4
FIRST_INDICES, LATER_INDICES = 4096, 256
INDICES_KEPT_MAX = 400000  # of all later passes; then LATER_INDICES of each
LAST_INDICES = 16
PASSES_WHOLE = 20  # told all; later ones thin out
SAMPLER_NUMBERS = ("num_replicas", "rank", "epoch", "shuffle", "seed", "drop_last", "replacement", "num_samples",
                   "total_size")


class Pass(object):
    """One iteration over a loader."""

    def __init__(self, loader, number):
        self.loader = loader
        self.number = number
        self.told = number < PASSES_WHOLE or thin.series(number)
        self.digest = hashlib.blake2b(digest_size=16)
        self.at_batches = {}
        self.first, self.last = [], collections.deque(maxlen=LAST_INDICES)
        self.sizes = collections.deque()  # of batches asked for and not handed out yet
        self.requested = self.requested_batches = self.batches = self.samples = 0
        self.has_indices, self.is_text, self.done = False, False, False

    def ask(self, indices):
        listed = indices if type(indices) in (list, tuple) else [indices]
        self.requested_batches += 1
        self.sizes.append(len(listed))
        if not listed or listed[0] is None:
            return
        self.has_indices = True
        self.requested += len(listed)
        try:
            plain, packed = packed_indices(listed)
            self.digest.update(packed)
        except (TypeError, ValueError, struct.error):
            self.is_text, plain = True, []
            self.digest.update(repr(listed)[:1 << 16].encode("utf-8", "replace"))
        room = FIRST_INDICES - len(self.first)
        if room > 0 and (self.number == 0 or len(self.first) < LATER_INDICES or DATA.kept < INDICES_KEPT_MAX):
            self.first.extend(plain[:room])
            DATA.kept += len(plain[:room]) if self.number > 0 else 0
        self.last.extend(plain[-LAST_INDICES:])
        if thin.power(self.requested_batches):
            self.at_batches[str(self.requested_batches)] = self.digest.copy().hexdigest()

    def hand_out(self):
        self.batches += 1
        if self.sizes:
            self.samples += self.sizes.popleft()
        if self.told and thin.power(self.batches):
            self.tell(False)

    def tell(self, whole):
        fields = {"loader": self.loader, "pass": self.number, "requested": self.requested if self.has_indices else None,
                  "requested_batches": self.requested_batches, "batches": self.batches, "samples": self.samples,
                  "whole": whole}
        if self.has_indices:
            fields.update(digest=self.digest.copy().hexdigest(), at_batches=self.at_batches)
            fields.update({"kind": "text"} if self.is_text else {"first": self.first, "last": list(self.last)})
        record.write("indices", **fields)

    def end(self, whole):
        if not self.done:
            self.done = True
            if self.told:
                self.tell(whole)


def packed_indices(listed):
    """(numbers, their bytes). Those of other types (NumPy's, tensors) are asked for their number."""
    if type(listed[0]) is not int:
        listed = [int(one) for one in listed]
    return listed, struct.pack("<%dq" % len(listed), *listed)


class Known(object):
    def __init__(self, number, loader):
        self.id = number
        self.loader = weakref.ref(loader)
        self.passes = 0
        self.current = None
        self.fields = None


class Data(object):
    def __init__(self):
        self.reset()
        self.inherited_pass = None

    def reset(self):
        self.inherited_pass = getattr(self, "last_pass", None)
        self.loaders, self.iterators, self.last_pass = {}, {}, None
        self.kept = 0  # indices of later passes
        self.count = 0

    # --- loaders ---

    def made(self, _, result, args, kwargs):
        self.know(args[0])

    def know(self, loader):
        known = self.loaders.get(id(loader))
        if known is not None and known.loader() is loader:
            return known
        fields = loader_fields(loader)
        known = self.again(loader, fields)
        if known is not None or self.count >= LOADERS_MAX:
            if known is None:
                record.bounded("loaders", LOADERS_MAX)
            return known
        gone = self.loaders.get(id(loader))  # another one that stood at this address
        if gone is not None and gone.current is not None:
            gone.current.end(False)
        known = self.loaders[id(loader)] = Known(self.count, loader)
        known.fields = fields
        self.count += 1
        record.write("loader", id=known.id, **fields)
        return known

    def again(self, loader, fields):
        """Programs that make their loader anew for each epoch: the same one made at the same place after the last is
        gone."""
        for key, known in list(self.loaders.items()):
            if known.loader() is None and known.fields == fields:
                del self.loaders[key]
                known.loader = weakref.ref(loader)
                self.loaders[id(loader)] = known
                return known
        return None

    # --- passes ---

    def iterator_made(self, _, result, args, kwargs):
        iterator, loader = args[0], patch.argument(args, kwargs, 1, "loader")
        known = self.know(loader)
        if known is None:
            return
        if len(self.iterators) > 4 * LOADERS_MAX:
            self.iterators = {key: one for key, one in self.iterators.items() if one[0]() is not None}
        self.iterators[id(iterator)] = (weakref.ref(iterator), known)
        self.begin_pass(known, iterator)

    def iterator_reset(self, _, result, args, kwargs):
        """Persistent workers begin their next pass here; the first one is told by the iterator's making."""
        if not patch.argument(args, kwargs, 2, "first_iter", False):
            known = self.of(args[0])
            if known is not None:
                self.begin_pass(known, args[0])

    def begin_pass(self, known, iterator):
        if known.current is not None:
            known.current.end(False)
        known.current = Pass(known.id, known.passes)
        self.last_pass = known.passes
        known.passes += 1
        if known.current.told:
            sampler = describe.attributes(sampler_of(known.loader()))
            generator = describe.attributes(known.loader()).get("generator")
            record.write("pass", loader=known.id, sampler_epoch=describe.value(sampler.get("epoch")),
                         sampler_seed=describe.value(sampler.get("seed")),
                         generator_seed=generator.initial_seed() if type(generator) is torch.Generator else None,
                         base_seed=describe.value(describe.attributes(iterator).get("_base_seed")),
                         phase=MODELS.roots[0].mode[0] if MODELS.roots and MODELS.roots[0].mode else None,
                         at=STEPS.all_steps, **{"pass": known.current.number})

    def of(self, iterator):
        found = self.iterators.get(id(iterator))
        return found[1] if found is not None and found[0]() is iterator else None

    def asked(self, _, indices, args, kwargs):
        known = self.of(args[0])
        if known is not None and known.current is not None:
            known.current.ask(indices)

    def handed_out(self, _, batch, args, kwargs):
        known = self.of(args[0])
        if known is None or known.current is None:
            return
        now = known.current
        if now.number < FIRST_PASSES and now.batches < FIRST_BATCHES:
            tensors = [describe_argument(path, tensor) for path, tensor in tensors_of((batch,), {})]
            record.write("batch", loader=known.id, n=now.batches, tensors=tensors, **{"pass": now.number})
        now.hand_out()

    def ended(self, _, error, args, kwargs):
        known = self.of(args[0])
        if known is not None and known.current is not None and type(error) is StopIteration:
            known.current.end(True)

    def end(self):
        for known in list(self.loaders.values()):
            if known.current is not None:
                known.current.end(False)

    # --- workers ---

    def fetcher_made(self, _, result, args, kwargs):
        """In a worker, when it begins to fetch: seeds are set and the user's function has run."""
        info = torch.utils.data.get_worker_info()
        if info is None or self.inherited_pass is not None and self.inherited_pass >= FIRST_PASSES:
            return
        record.write("worker", worker=info.id, workers=info.num_workers, seed=info.seed,
                     **generators.as_fields(generators.states()))


def sampler_of(loader):
    """The sampler that knows of ranks and epochs: the loader's, or the one below a batch sampler."""
    own = describe.attributes(loader)
    inner = describe.attributes(own.get("batch_sampler")).get("sampler")
    outer = own.get("sampler")
    return inner if inner is not None and "epoch" not in describe.attributes(outer) else outer


def shuffles(loader):
    sampler = sampler_of(loader)
    name = type(sampler).__name__
    shuffle = describe.attributes(sampler).get("shuffle")
    if type(shuffle) is bool:
        return shuffle
    return {"RandomSampler": True, "SubsetRandomSampler": True, "SequentialSampler": False}.get(name)


def dataset_fields(dataset):
    out = describe.describe(dataset)
    iterable = describe.is_kind(dataset, torch.utils.data.IterableDataset)
    out["kind"] = "iterable" if iterable else "map"
    out["len"] = None if iterable else known_length(dataset)
    return out


def known_length(thing):
    """len() is the user's code: asked as the loader's sampler asks it, an exception is no answer."""
    try:
        return int(len(thing))
    except Exception:
        return None


def loader_fields(loader):
    own = describe.attributes(loader)
    generator = own.get("generator")
    context = own.get("_DataLoader__multiprocessing_context")
    iterable = describe.is_kind(own.get("dataset"), torch.utils.data.IterableDataset)
    return {"class": describe.dotted(type(loader)), "dataset": dataset_fields(own.get("dataset")),
            "len": None if iterable else known_length(loader), "batch_size": describe.value(own.get("batch_size")),
            "drop_last": describe.value(own.get("drop_last")), "shuffle": shuffles(loader),
            "workers": describe.value(own.get("num_workers")),
            "prefetch_factor": describe.value(own.get("prefetch_factor")),
            "persistent_workers": describe.value(own.get("persistent_workers")),
            "pin_memory": describe.value(own.get("pin_memory")), "timeout": describe.value(own.get("timeout")),
            "sampler": sampler_fields(own.get("sampler")), "batch_sampler": sampler_fields(own.get("batch_sampler")),
            "collate_fn": describe.function(own.get("collate_fn")),
            "worker_init_fn": describe.function(own.get("worker_init_fn")),
            "generator_seed": generator.initial_seed() if type(generator) is torch.Generator else None,
            "multiprocessing_context": type(context).__name__ if context is not None else None,
            "where": describe.where()}


def sampler_fields(sampler):
    """Without the data set and the indices inside it."""
    if sampler is None:
        return None
    own = describe.attributes(sampler)
    numbers = {name: describe.value(own[name]) for name in SAMPLER_NUMBERS if name in own}
    numbers.update({name: describe.value(one) for name, one in own.items()
                    if type(one) in (bool, int, float, str) and not name.startswith("_")})
    out = {"class": describe.dotted(type(sampler)), "attributes": numbers}
    if own.get("sampler") is not None:
        out["attributes"]["sampler"] = {"class": describe.dotted(type(own["sampler"]))}
    return out


DATA = Data()


def install():
    place = "torch.utils.data.dataloader:"
    patch.around(place + "DataLoader.__init__", after=DATA.made)
    patch.around(place + "_BaseDataLoaderIter.__init__", after=DATA.iterator_made)
    patch.around(place + "_BaseDataLoaderIter._reset", after=DATA.iterator_reset)
    patch.around(place + "_BaseDataLoaderIter._next_index", after=DATA.asked)
    patch.around(place + "_BaseDataLoaderIter.__next__", after=DATA.handed_out, failed=DATA.ended)
    patch.around(place + "_DatasetKind.create_fetcher", after=DATA.fetcher_made)
    next_call = sys.modules["torch.utils.data.dataloader"]._BaseDataLoaderIter.__dict__
    if "next" in next_call:  # the old spelling of the same function
        patch.put(sys.modules["torch.utils.data.dataloader"]._BaseDataLoaderIter, "next", next_call["__next__"])
    process.at_end(DATA.end)
    process.at_fork(DATA.reset)
