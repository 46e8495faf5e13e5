"""A trainer as a class, its parts handed in as functions, a sampler of its own that deals each rank its part and mixes
anew each round. Fault "round_forgotten": nobody tells the sampler which round it is."""
import ctypes
import functools
import os
import random
import sys
import time

import torch
import torch.distributed as dist
from state_digest import seed, small_data, tell

FAULT = "round_forgotten" in sys.argv
RANK, WORLD = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))


class RoundSampler(torch.utils.data.Sampler):
    def __init__(self, count, rank, world):
        self.count, self.rank, self.world, self.round = count, rank, world, 0

    def __len__(self):
        return self.count // self.world

    def __iter__(self):
        order = list(range(self.count))
        random.Random(100 + self.round).shuffle(order)
        return iter(order[self.rank::self.world])


def gather(samples, scale):
    return torch.stack([x for x, _ in samples]) * scale, torch.stack([y for _, y in samples])


class Trainer:
    def __init__(self, model, make_optimizer, loss):
        self.model, self.loss = model, loss
        self.net = torch.nn.parallel.DistributedDataParallel(model) if WORLD > 1 else model
        self.optimizer = make_optimizer(model.parameters())
        self.on_batch_end = [self.pause]

    def pause(self):
        time.sleep(0.02)

    def fit(self, loader, rounds):
        for number in range(rounds):
            if not FAULT:
                loader.sampler.round = number
            self.net.train()
            for x, y in loader:
                self.optimizer.zero_grad(set_to_none=True)
                self.loss(self.net(x), y).backward()
                self.optimizer.step()
                for call in self.on_batch_end:
                    call()


seed(3)
if WORLD > 1:
    dist.init_process_group("gloo")
    # The end of a Gloo group can wait for a thread that waits for the interpreter (PyTorch 1.13): it has no end.
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(dist.distributed_c10d._get_default_group()))
model = torch.nn.Sequential(torch.nn.Linear(12, 32), torch.nn.LayerNorm(32), torch.nn.GELU(), torch.nn.Linear(32, 4))
trainer = Trainer(model, functools.partial(torch.optim.Adam, lr=1e-3), torch.nn.functional.cross_entropy)
data = small_data(64)
trainer.fit(torch.utils.data.DataLoader(data, batch_size=8, sampler=RoundSampler(64, RANK, WORLD),
                                        collate_fn=functools.partial(gather, scale=0.5)), rounds=4 * WORLD)
tell(model, trainer.optimizer)
