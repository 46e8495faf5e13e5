import argparse

import deepspeed
import torch
from torch import nn
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(64, 256), nn.GELU(), nn.Dropout(0.1), nn.Linear(256, 8))

    def forward(self, x):
        return self.body(x)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--local_rank", type=int, default=-1)
    parser = deepspeed.add_config_arguments(parser)
    args = parser.parse_args()
    deepspeed.init_distributed()
    torch.manual_seed(5)
    model = Net()
    data = TensorDataset(torch.randn(1024, 64), torch.randint(0, 8, (1024,)))
    sampler = DistributedSampler(data, seed=5)
    loader = DataLoader(data, batch_size=16, sampler=sampler)
    engine, optimizer, _, scheduler = deepspeed.initialize(args=args, model=model, model_parameters=model.parameters())
    for epoch in range(4):
        sampler.set_epoch(epoch)
        for x, y in loader:
            x, y = x.to(engine.device).half(), y.to(engine.device)
            loss = nn.functional.cross_entropy(engine(x), y)
            engine.backward(loss)
            engine.step()
    engine.eval()
    with torch.no_grad():
        for x, y in loader:
            engine(x.to(engine.device).half())


if __name__ == "__main__":
    main()
