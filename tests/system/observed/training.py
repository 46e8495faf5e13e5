"""A small training as people write them: data-parallel where the launcher says so, bf16 autocast or fp16 with a scaler,
accumulation, clipping, a schedule, an evaluation in each epoch, started from a checkpoint. `FAULT` in its arguments leaves
out, or adds, what people leave out or add. Prints the loss now and then, as scripts do.

    training.py FOLDER [FAULT ...]      # FOLDER: where the checkpoint to start from is kept
"""
import ctypes
import faulthandler
import os
import random
import sys
import time
import warnings

import torch
import torch.distributed as dist
from torch import nn
from torch.utils.data import DataLoader, Dataset
from torch.utils.data.distributed import DistributedSampler

warnings.filterwarnings("ignore")
if "PARITECT_TEST_HANG_SECONDS" in os.environ:
    faulthandler.dump_traceback_later(float(os.environ["PARITECT_TEST_HANG_SECONDS"]), exit=True)
FAULTS = set(sys.argv[2:])
RANK = int(os.environ.get("RANK", "0"))
WORLD = int(os.environ.get("WORLD_SIZE", "1"))
SAMPLES, EVALUATED, BATCH, PARTS = 64, 24, 4, 2
EPOCHS = 8 * int(os.environ.get("WORLD_SIZE", "1"))  # some 60 steps
STEP_SECONDS = 0.02  # hooks must not be what a step consists of


def has(fault):
    return fault in FAULTS


class Normalise:
    def __init__(self, mean, std):
        self.mean = mean
        self.std = std

    def __call__(self, image):
        return (image - self.mean) / self.std


class Compose:
    def __init__(self, transforms):
        self.transforms = transforms

    def __call__(self, image):
        for transform in self.transforms:
            image = transform(image)
        return image


class Images(Dataset):
    def __init__(self, count, offset, transform):
        self.count = count
        self.offset = offset
        self.transform = transform

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        generator = torch.Generator().manual_seed(self.offset + index)
        image = torch.rand(3, 8, 8, generator=generator)
        return self.transform(image), (self.offset + index) % 4


class HalfLinear(nn.Linear):
    """Weights that are kept in a short type and computed with in fp32, which every CPU can."""

    def forward(self, x):
        return nn.functional.linear(x.float(), self.weight.float(), self.bias.float())


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, padding=1)
        self.norm = nn.BatchNorm2d(8, momentum=0.3 if has("bn_momentum") else 0.1)
        self.drop = nn.Dropout(0.2)
        self.hidden = HalfLinear(8 * 64, 32)
        self.head = HalfLinear(32, 4)

    def forward(self, x):
        x = torch.relu(self.norm(self.conv(x)))
        x = self.drop(x.flatten(1))
        return self.head(torch.relu(self.hidden(x)))


def seed_workers(number):
    seed = 7 if has("worker_seeds") else (torch.initial_seed() + number) % 2 ** 31
    random.seed(seed)
    torch.manual_seed(seed)


def loaders():
    mean = 0.4 if has("normalisation") else 0.5
    transform = Compose([Normalise(mean, 0.25)])
    train = Images(SAMPLES + (2 if has("drop_last") or has("keep_last") else 0), 0, transform)
    sampler = None
    generator = torch.Generator().manual_seed(6 if has("sampler_seed") else 5)
    shuffle = not has("shuffle_off")
    if WORLD > 1 and not has("same_data"):
        sampler = DistributedSampler(train, WORLD, RANK, shuffle=shuffle, seed=3 if has("sampler_seed") else 0)
        shuffle = False
    training = DataLoader(train, batch_size=BATCH, shuffle=shuffle, sampler=sampler, drop_last=has("drop_last"),
                          num_workers=2 if has("worker_seeds") or has("workers") else 0, generator=generator,
                          worker_init_fn=seed_workers if has("worker_seeds") or has("workers") else None)
    evaluation = DataLoader(Images(EVALUATED, 1000, transform), batch_size=8)
    return training, evaluation, sampler


def optimizer_of(model):
    decayed, bare = [], []
    for name, parameter in model.named_parameters():
        # Norms and biases are left without decay; the fault decays the norms and leaves the first weight out.
        one = name.startswith(("norm.weight", "hidden.weight", "head.weight")) if has("decay_groups") else name in (
            "conv.weight", "hidden.weight", "head.weight")
        (decayed if one else bare).append(parameter)
    if has("scaler_off"):  # plain enough for fp16 on any CPU
        return torch.optim.SGD(model.parameters(), lr=1e-3)
    return torch.optim.AdamW([{"params": decayed, "weight_decay": 0.05}, {"params": bare, "weight_decay": 0.0}], lr=1e-3)


def start_weights(model, folder):
    path = os.path.join(folder, "start.pt")
    if not os.path.exists(path):
        torch.save(model.state_dict(), path + ".%d" % RANK)
        os.replace(path + ".%d" % RANK, path)  # ranks start together: none reads another's half
    state = torch.load(path)
    if has("not_loaded"):
        state = {"module." + name: value for name, value in state.items()}
        model.conv.weight.data.add_(0.01)
    model.load_state_dict(state, strict=False)


def evaluate(net, loader, model):
    if not has("no_eval"):
        model.eval()
    if has("dropout_kept"):
        model.drop.train()
    right = 0
    with torch.no_grad():
        for images, labels in loader:
            right += int((net(images).argmax(1) == labels).sum())
    if not has("no_train"):
        model.train()
    return right / EVALUATED


def train(folder):
    torch.manual_seed(1)
    random.seed(1)
    if has("tf32"):
        torch.backends.cuda.matmul.allow_tf32 = True
    if WORLD > 1:
        dist.init_process_group("gloo")
        # The end of a Gloo group can wait for a thread that waits for the interpreter (PyTorch 1.13): it has no end.
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(dist.distributed_c10d._get_default_group()))
    model = Net()
    start_weights(model, folder)
    if has("frozen"):
        model.hidden.bias.requires_grad_(False)
    if has("cast"):
        model.hidden.bfloat16()
        model.head.bfloat16()
    if has("scaler_off"):
        model.hidden.half()
        model.head.half()
    optimizer = optimizer_of(model)
    net = model
    if WORLD > 1 and not has("rank_alone"):
        net = nn.parallel.DistributedDataParallel(model)
    scaler = torch.cuda.amp.GradScaler(enabled=False) if has("scaler_off") else None
    training, evaluation, sampler = loaders()
    steps = EPOCHS * (len(training) // PARTS)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 - step / (2 * steps + 1))
    automatic = not has("scaler_off")
    step, total = 0, 0.0
    for epoch in range(EPOCHS):
        if sampler is not None and not has("set_epoch"):
            sampler.set_epoch(epoch)
        for part, (images, labels) in enumerate(training):
            with torch.autocast("cpu", dtype=torch.bfloat16, enabled=automatic):
                loss = nn.functional.cross_entropy(net(images), labels)
            scaled = loss if has("not_divided") else loss / PARTS
            total += float(scaled)
            (scaled if scaler is None else scaler.scale(scaled)).backward()
            if (part + 1) % PARTS:
                continue
            if not has("clipping_off") and not has("scaler_off"):
                nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step() if scaler is None else scaler.step(optimizer)
            if scaler is not None:
                scaler.update()
            schedule.step()
            if has("schedule_twice"):
                schedule.step()
            if not has("not_cleared"):
                optimizer.zero_grad()
            step += 1
            time.sleep(STEP_SECONDS)
            if RANK == 0:
                print("step %d loss %.6f" % (step, total), flush=True)
            total = 0.0
        accuracy = evaluate(net if not has("rank_alone") else model, evaluation, model)
        if RANK == 0:
            print("step %d val_accuracy %.4f" % (step, accuracy), flush=True)
    if WORLD > 1:
        dist.destroy_process_group()


if __name__ == "__main__":
    train(sys.argv[1])
