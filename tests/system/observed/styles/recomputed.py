"""Gradient checkpointing and accumulation; the schedule is a generator of the user's own making around LambdaLR.
Fault "schedule_per_part": the schedule goes on with each micro-batch."""
import sys
import time

import torch
from state_digest import seed, small_data, tell
from torch.utils.checkpoint import checkpoint

FAULT = "schedule_per_part" in sys.argv
PARTS = 2


class Blocks(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.enter = torch.nn.Linear(12, 32)
        self.blocks = torch.nn.ModuleList(torch.nn.Sequential(torch.nn.Linear(32, 32), torch.nn.Tanh(),
                                                              torch.nn.Dropout(0.1)) for _ in range(3))
        self.leave = torch.nn.Linear(32, 4)

    def forward(self, x):
        x = self.enter(x)
        for block in self.blocks:
            x = checkpoint(block, x)
        return self.leave(x)


def micro_batches(loader, parts):
    held = []
    for batch in loader:
        held.append(batch)
        if len(held) == parts:
            yield held
            held = []


seed(6)
model = Blocks()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda n: 1.0 / (1 + 0.01 * n))
for epoch in range(3):
    for parts in micro_batches(torch.utils.data.DataLoader(small_data(96), batch_size=8, shuffle=True), PARTS):
        for x, y in parts:
            (torch.nn.functional.cross_entropy(model(x), y) / PARTS).backward()
            if FAULT:
                schedule.step()
        optimizer.step()
        if not FAULT:
            schedule.step()
        optimizer.zero_grad()
        time.sleep(0.02)
tell(model, optimizer)
