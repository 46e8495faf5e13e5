"""Persistent workers that add noise of numpy's. Fault "same_noise": each worker begins with the same seed."""
import sys
import time

import numpy
import torch
from state_digest import seed, small_data, tell

FAULT = "same_noise" in sys.argv


class Noisy(torch.utils.data.Dataset):
    def __init__(self, inner):
        self.inner = inner

    def __len__(self):
        return len(self.inner)

    def __getitem__(self, index):
        x, y = self.inner[index]
        return x + torch.from_numpy(numpy.random.normal(0, 0.1, x.shape)).float(), y


def begin(worker):
    numpy.random.seed(20 if FAULT else 20 + worker)


def main():
    seed(11)
    model = torch.nn.Sequential(torch.nn.Linear(12, 32), torch.nn.ReLU(), torch.nn.Linear(32, 4))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    loader = torch.utils.data.DataLoader(Noisy(small_data(96)), batch_size=8, shuffle=True, num_workers=2,
                                         worker_init_fn=begin, persistent_workers=True)
    for epoch in range(2):
        for x, y in loader:
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(x), y).backward()
            optimizer.step()
            time.sleep(0.02)
    tell(model, optimizer)


if __name__ == "__main__":
    main()
