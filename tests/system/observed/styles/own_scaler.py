"""A scaler of the user's own, derived of the framework's, for a model that computes in fp16 where it matters. Fault
"static": it never moves."""
import sys
import time
import warnings

import torch
from state_digest import seed, small_data, tell

warnings.simplefilter("ignore")
FAULT = "static" in sys.argv


class HostScaler(torch.cuda.amp.GradScaler):
    def __init__(self, start, interval, moves):
        super().__init__(init_scale=start, growth_interval=interval)
        self._enabled, self._init_scale, self._growth_interval = True, start, interval  # no device: the base is off
        self._scale = torch.tensor(start)
        self._growth_factor, self._backoff_factor = (2.0, 0.5) if moves else (1.0, 1.0)
        self.good = 0

    def scale(self, loss):
        return loss * self._scale

    def step(self, optimizer):
        gradients = [p.grad for group in optimizer.param_groups for p in group["params"]]
        for gradient in gradients:
            gradient.div_(self._scale)
        self.fine = all(bool(gradient.isfinite().all()) for gradient in gradients)
        if self.fine:
            optimizer.step()

    def update(self):
        self.good = self.good + 1 if self.fine else 0
        if not self.fine:
            self._scale.mul_(self._backoff_factor)
        elif self.good % self._growth_interval == 0:
            self._scale.mul_(self._growth_factor)


class Half(torch.nn.Linear):
    """Weights that are kept in fp16 and computed with in fp32, which every processor can."""

    def forward(self, x):
        return torch.nn.functional.linear(x, self.weight.float(), self.bias.float())


seed(8)
model = torch.nn.Sequential(Half(12, 32), torch.nn.ReLU(), Half(32, 4)).half()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
scaler = HostScaler(1024.0, 5, moves=not FAULT)
for epoch in range(2):
    for x, y in torch.utils.data.DataLoader(small_data(96), batch_size=8, shuffle=True):
        optimizer.zero_grad()
        scaler.scale(torch.nn.functional.cross_entropy(model(x), y)).backward()
        scaler.step(optimizer)
        scaler.update()
        time.sleep(0.02)
tell(model, optimizer)
