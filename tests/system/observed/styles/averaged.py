"""An exponential average of the weights, which is what gets evaluated. Fault "average_trains": the copy is never put into
evaluation mode."""
import copy
import sys
import time

import torch
from state_digest import Net, seed, small_data, tell

FAULT = "average_trains" in sys.argv


class Average:
    def __init__(self, model, keep):
        self.keep = keep
        self.module = copy.deepcopy(model)
        self.module.requires_grad_(False)

    @torch.no_grad()
    def update(self, model):
        for own, new in zip(self.module.state_dict().values(), model.state_dict().values()):
            if own.is_floating_point():
                own.mul_(self.keep).add_(new, alpha=1 - self.keep)
            else:
                own.copy_(new)


def evaluate(model, loader):
    if not FAULT:
        model.eval()
    with torch.inference_mode():
        return sum(float((model(x).argmax(1) == y).float().mean()) for x, y in loader)


seed(5)
model = Net()
average = Average(model, 0.9)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, nesterov=True)
training = torch.utils.data.DataLoader(small_data(96), batch_size=8, shuffle=True)
for epoch in range(2):
    model.train()
    for x, y in training:
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
        average.update(model)
        time.sleep(0.02)
    print("accuracy", evaluate(average.module, torch.utils.data.DataLoader(small_data(32), batch_size=16)))
tell(model, average.module, optimizer)
