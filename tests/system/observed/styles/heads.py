"""Several heads in a ModuleList, through DataParallel, which on a processor is the module itself. Fault "head_left_out":
the optimizer is not given the last head."""
import itertools
import sys
import time

import torch
from state_digest import seed, small_data, tell

FAULT = "head_left_out" in sys.argv


class Shared(torch.nn.Module):
    def __init__(self, heads):
        super().__init__()
        self.body = torch.nn.Sequential(torch.nn.Linear(12, 32), torch.nn.BatchNorm1d(32), torch.nn.ReLU())
        self.heads = torch.nn.ModuleList(torch.nn.Linear(32, 4) for _ in range(heads))

    def forward(self, x):
        x = self.body(x)
        return {"head%d" % i: head(x) for i, head in enumerate(self.heads)}


seed(9)
model = Shared(3)
chosen = itertools.chain(model.body.parameters(), *(head.parameters() for head in list(model.heads)[:2 if FAULT else 3]))
optimizer = torch.optim.RMSprop(chosen, lr=1e-3)
net = torch.nn.DataParallel(model)
for epoch in range(2):
    for x, y in torch.utils.data.DataLoader(small_data(96), batch_size=8, shuffle=True):
        optimizer.zero_grad()
        sum(torch.nn.functional.cross_entropy(one, y) for one in net(x).values()).backward()
        optimizer.step()
        time.sleep(0.02)
tell(model, optimizer)
