"""Forty children of fork, each with a training of its own, and grandchildren that only look."""
import os
import torch
from state_digest import Net, seed, small_data, tell
seed(30)
model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def train():
    for x, y in torch.utils.data.DataLoader(small_data(32), batch_size=16):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()


train()
failed = 0
for wave in range(5):
    children = []
    for i in range(8):
        child = os.fork()
        if child == 0:
            train()
            if os.fork() == 0:
                os._exit(0)
            os.wait()
            os._exit(i)
        children.append(child)
    for i, child in enumerate(children):
        failed += os.waitpid(child, 0)[1] >> 8 != i
print("failed", failed)
train()
tell(model, optimizer)
