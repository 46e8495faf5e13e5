"""A model through torch.jit.script, trained by closures. Fault "other_beta": Adam forgets faster."""
import sys
import time

import torch
from state_digest import seed, small_data, tell

FAULT = "other_beta" in sys.argv


class Residual(torch.nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.norm = torch.nn.LayerNorm(width)
        self.inner = torch.nn.Linear(width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + torch.relu(self.inner(self.norm(x)))


def make_step(model, optimizer, loss):
    def step(x, y):
        optimizer.zero_grad()
        value = loss(model(x), y)
        value.backward()
        optimizer.step()
        time.sleep(0.02)
        return value.detach()
    return step


seed(7)
model = torch.jit.script(torch.nn.Sequential(torch.nn.Linear(12, 24), Residual(24), Residual(24), torch.nn.Linear(24, 4)))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, betas=(0.9, 0.95 if FAULT else 0.999))
step = make_step(model, optimizer, torch.nn.CrossEntropyLoss())
for epoch in range(2):
    for x, y in torch.utils.data.DataLoader(small_data(96), batch_size=8, shuffle=True):
        step(x, y)
tell(model, optimizer)
