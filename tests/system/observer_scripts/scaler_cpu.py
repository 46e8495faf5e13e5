"""A scaler that works without a device and overrides what it inherits without calling it, as those of other back ends
do."""
import warnings
import torch
from state_digest import Net, seed, small_data, tell
warnings.simplefilter("ignore")


class HostScaler(torch.cuda.amp.GradScaler):
    def __init__(self, **more):
        super().__init__(**more)
        self._enabled, self._dynamic = True, True
        self._scale = torch.tensor(self._init_scale if hasattr(self, "_init_scale") else 2.0 ** 10)
        self._growth_factor, self._backoff_factor, self._growth_interval = 2.0, 0.5, 4
        self.good, self.overflow = 0, False

    def scale(self, loss):
        return loss * self._scale

    def step(self, optimizer):
        gradients = [p.grad for group in optimizer.param_groups for p in group["params"]]
        for gradient in gradients:
            gradient /= self._scale
        self.overflow = not all(bool(gradient.isfinite().all()) for gradient in gradients)
        return None if self.overflow else optimizer.step()

    def update(self):
        self.good = 0 if self.overflow else self.good + 1
        if self.overflow:
            self._scale = self._scale * 0.5
        elif self.good % 4 == 0:
            self._scale = self._scale * 2


seed(17)
model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
scaler = HostScaler(init_scale=1024.0)
scaler._scale = torch.tensor(1024.0)
for n, (x, y) in enumerate(torch.utils.data.DataLoader(small_data(), batch_size=8)):
    optimizer.zero_grad()
    loss = torch.nn.functional.cross_entropy(model(x), y)
    if n in (2, 7):
        loss = loss * float("inf")
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
tell(model, optimizer)
