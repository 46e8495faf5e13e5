"""Image classifier, one process a device: the healthy twin of the variants in script_variants_test.cc."""
import argparse
import glob
import os
import random

import numpy as np
import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
import webdataset as wds
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Dataset
from torch.utils.data.distributed import DistributedSampler
from torchvision import transforms as T

MEAN = (0.485, 0.456, 0.406)
STD = (0.229, 0.224, 0.225)
DROP = 0.1


class Folder(Dataset):
    def __init__(self, root, transform):
        self.root = root
        self.names = sorted(os.listdir(root))
        self.transform = transform

    def __len__(self):
        return len(self.names)

    def __getitem__(self, index):
        packed = np.load(os.path.join(self.root, self.names[index]))
        return self.transform(packed["image"]), int(packed["label"])


class Net(nn.Module):
    def __init__(self, classes=100):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 32, 3, bias=False), nn.BatchNorm2d(32, momentum=0.1), nn.ReLU())
        self.drop = nn.Dropout(DROP)
        self.fc = nn.Linear(32, classes)

    def forward(self, x):
        x = self.stem(x).mean(dim=(2, 3))
        x = F.dropout(x, 0.2, training=self.training)
        return self.fc(self.drop(x))


def seed_worker(number):
    seed = torch.initial_seed() % 2**32
    np.random.seed(seed)
    random.seed(seed)


def build_transform(train):
    steps = [T.ToPILImage(), T.Resize(256)]
    if train:
        steps += [T.RandomCrop(224), T.RandomHorizontalFlip()]
    else:
        steps += [T.CenterCrop(224)]
    return T.Compose(steps + [T.ToTensor(), T.Normalize(mean=MEAN, std=STD)])


def extra_samples(root, rank, world):
    shards = sorted(glob.glob(os.path.join(root, "*.tar")))[rank::world]
    return wds.WebDataset(shards).shuffle(1000).batched(32)


def build_loader(args, split, train):
    data = Folder(os.path.join(args.data, split), build_transform(train))
    sampler = DistributedSampler(data, shuffle=train, seed=args.seed)
    loader = DataLoader(data, batch_size=args.batch_size, sampler=sampler, num_workers=8, drop_last=train,
                        worker_init_fn=seed_worker)
    return loader, sampler


def train_epoch(model, loader, extra, optimizer, scaler, scheduler, device):
    model.train()
    for (images, target), more in zip(loader, extra):
        images, target = images.to(device), target.to(device)
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cuda", dtype=torch.float16):
            loss = F.cross_entropy(model(images), target)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        scheduler.step()


def evaluate(model, loader, device):
    model.eval()
    right = total = 0
    with torch.no_grad():
        for images, target in loader:
            right += (model(images.to(device)).argmax(1).cpu() == target).sum().item()
            total += target.numel()
    return right / total


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", default="/data/images")
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--epochs", type=int, default=90)
    parser.add_argument("--lr", type=float, default=0.1)
    parser.add_argument("--seed", type=int, default=7)
    args = parser.parse_args()
    dist.init_process_group("nccl")
    rank, world = dist.get_rank(), dist.get_world_size()
    local = int(os.environ["LOCAL_RANK"])
    torch.manual_seed(args.seed)
    device = torch.device("cuda", local)
    model = Net().to(device)
    model = DDP(model, device_ids=[local])
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9, weight_decay=1e-4)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=args.epochs)
    scaler = torch.cuda.amp.GradScaler()
    loader, sampler = build_loader(args, "train", True)
    val_loader, _ = build_loader(args, "val", False)
    extra = extra_samples(args.data, rank, world)
    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        train_epoch(model, loader, extra, optimizer, scaler, scheduler, device)
        accuracy = evaluate(model, val_loader, device)
        if rank == 0:
            print("epoch %d accuracy %.4f" % (epoch, accuracy))


if __name__ == "__main__":
    main()
