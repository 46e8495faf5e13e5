import glob
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset, Subset
from torch.utils.data.distributed import DistributedSampler
from torchvision import transforms


class Images(Dataset):
    def __init__(self, root, transform):
        self.names = sorted(os.listdir(root))
        self.transform = transform

    def __len__(self):
        return len(self.names)

    def __getitem__(self, index):
        return self.transform(torch.load(self.names[index]))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(8, 8), nn.BatchNorm1d(8), nn.Dropout(0.1))

    def forward(self, x):
        return self.body(x)


def validate(net, loader):
    net.eval()
    with torch.no_grad():
        return [net(batch) for batch in loader]


def main():
    dist.init_process_group("nccl")
    torch.manual_seed(1)
    names = sorted(glob.glob("/data/shards/*.tar"))[dist.get_rank()::dist.get_world_size()]
    print("shards of this rank:", names)
    steps = transforms.Compose([transforms.Resize(256), transforms.CenterCrop(224), transforms.Normalize((0.5,), (0.5,))])
    train = Subset(Images("/data/train", steps), range(50000))
    sampler = DistributedSampler(train, shuffle=True, seed=1, drop_last=True)
    loader = DataLoader(train, batch_size=32, sampler=sampler, num_workers=4, drop_last=True)
    val_loader = DataLoader(Images("/data/val", steps), batch_size=32)
    net = Net()
    wrapped = DistributedDataParallel(net)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    for epoch in range(10):
        sampler.set_epoch(epoch)
        wrapped.train()
        for batch in loader:
            optimizer.zero_grad()
            wrapped(batch).sum().backward()
            optimizer.step()
        validate(wrapped, val_loader)


if __name__ == "__main__":
    main()
