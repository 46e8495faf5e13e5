"""A data set that mixes itself, beside a second loader of unlabelled data. Fault "other_mix": it mixes with another
seed."""
import random
import sys
import time

import torch
from state_digest import seed, small_data, tell

FAULT = "other_mix" in sys.argv


class Mixed(torch.utils.data.Dataset):
    def __init__(self, inner, source):
        self.inner = inner
        self.order = list(range(len(inner)))
        source.shuffle(self.order)

    def __len__(self):
        return len(self.order)

    def __getitem__(self, index):
        return self.inner[self.order[index]]


seed(10)
labelled = torch.utils.data.DataLoader(Mixed(small_data(96), random.Random(12 if FAULT else 11)), batch_size=8)
bare = torch.utils.data.DataLoader(small_data(48), batch_size=4, shuffle=True)
model = torch.nn.Sequential(torch.nn.Linear(12, 32), torch.nn.ReLU(), torch.nn.Linear(32, 4))
optimizer = torch.optim.Adagrad(model.parameters(), lr=0.01)
for epoch in range(2):
    for (x, y), (u, _) in zip(labelled, bare):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(x), y)
        consistency = (model(u) - model(u + 0.01)).square().mean()
        (loss + 0.1 * consistency).backward()
        optimizer.step()
        time.sleep(0.02)
tell(model, optimizer)
