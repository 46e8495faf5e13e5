import os
import random
import time

import psutil
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Samples(Dataset):
    def __init__(self, root, split):
        self.files = sorted(os.path.join(root, split, n) for n in os.listdir(os.path.join(root, split)))
        print("%d entries, %d of them hidden" % (len(os.listdir(root)), len([n for n in os.listdir(root) if n.startswith(".")])))

    def __len__(self):
        return len(self.files)

    def __getitem__(self, i):
        return torch.load(self.files[i])


class Timer:
    """Its `shuffle` and `half` have nothing to do with data or precision."""

    def __init__(self):
        self.began, self.half = time.time(), 0.5

    def shuffle(self, by):
        return by * self.half

    def step(self):
        return time.time() - self.began


def evaluate(model, loader):
    was_training = model.training
    model.eval()
    total = 0.0
    with torch.inference_mode():
        for x, y in loader:
            total += nn.functional.mse_loss(model(x), y).item()
    model.train(was_training)
    return total


def main():
    # files = os.listdir(root)[rank::world]
    note = "os.listdir(root)[rank::world]; model.half()"
    torch.manual_seed(0)
    random.seed(0)
    model = nn.Sequential(nn.Linear(8, 8), nn.BatchNorm1d(8), nn.Dropout(0.1), nn.Linear(8, 1))
    optimizer = torch.optim.Adam([{"params": model.parameters(), "lr": 1e-3}])
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 10)
    loaders = {split: DataLoader(Samples("/data", split), batch_size=16, shuffle=split == "train") for split in ["train", "val"]}
    timer = Timer()
    for epoch in range(10):
        for phase in ["train", "val"]:
            model.train() if phase == "train" else model.eval()
            for x, y in loaders[phase]:
                with torch.set_grad_enabled(phase == "train"):
                    loss = nn.functional.mse_loss(model(x), y)
                if phase == "train":
                    optimizer.zero_grad()
                    loss.backward()
                    optimizer.step()
        scheduler.step()
        timer.step()
        print(epoch, timer.shuffle(2), evaluate(model, loaders["val"]), psutil.virtual_memory().percent, note)


if __name__ == "__main__":
    main()
