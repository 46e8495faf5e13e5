"""Pairs of run folders as people have them, without a plan: a GPU run and its migration, healthy or with faults put in.

    run_pairs.py DIR [NAME...]      writes DIR/NAME/gpu and DIR/NAME/npu

Every pair is made from the same description, so that a fault is the only difference. Numbers come from a generator of our
own with a fixed start: the same folders on every machine.
"""
import json
import math
import pathlib
import sys

STEPS = 300
NVIDIA = """Tue Nov 24 09:12:31 2026
+-----------------------------------------------------------------------------------------+
| NVIDIA-SMI 535.104.05             Driver Version: 535.104.05     CUDA Version: 12.2     |
|-----------------------------------------+------------------------+----------------------+
| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |
| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute M. |
|=========================================+========================+======================|
|   0  NVIDIA A100-SXM4-80GB          On  | 00000000:07:00.0   Off |                    0 |
| N/A   34C    P0              62W / 400W |       4MiB / 81920MiB  |      0%      Default |
+-----------------------------------------+------------------------+----------------------+
"""
NPU = """+------------------------------------------------------------------------------------------------+
| npu-smi 23.0.0                   Version: 23.0.0                                               |
+---------------------------+---------------+----------------------------------------------------+
| NPU   Name                | Health        | Power(W)    Temp(C)           Hugepages-Usage(page)|
| Chip                      | Bus-Id        | AICore(%)   Memory-Usage(MB)  HBM-Usage(MB)        |
+===========================+===============+====================================================+
| 0     910B3               | OK            | 92.1        38                0    / 0             |
| 0                         | 0000:C1:00.0  | 0           0    / 0          3382 / 65536         |
+===========================+===============+====================================================+
"""
SCRIPT = """import argparse

import torch
{imports}from torch import nn
from torch.utils.data import DataLoader

from corpus import Corpus


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", default="data")
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


def main():
    args = parse()
    torch.manual_seed(args.seed)
    corpus = Corpus(sorted(Corpus.files(args.data)))
    loader = DataLoader(corpus, batch_size=args.batch_size, shuffle=True, num_workers=4, drop_last=True)
    held_out = Corpus(sorted(Corpus.files(args.data))[:1])
    evaluation = DataLoader(held_out, batch_size=args.batch_size, shuffle=False)
    model = nn.Sequential(nn.Linear(256, 512), nn.BatchNorm1d(512, momentum=0.1), nn.ReLU(), nn.Dropout(p=0.1),
                          nn.Linear(512, 10)).to("{device}")
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.01)
    scheduler = torch.optim.lr_scheduler.{scheduler}
    scaler = torch.{amp}.amp.GradScaler()
    step = 0
    for epoch in range(args.epochs):
        model.train()
        for x, y in loader:
            with torch.{amp}.amp.autocast({dtype}):
                loss = nn.functional.cross_entropy(model(x.to("{device}")), y.to("{device}"))
            optimizer.zero_grad()
            {backward}
            norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            {update}
            scheduler.step()
            step += 1
            print(f"step {{step}}/{steps} epoch {{epoch}} loss {{loss.item():.4f}} lr {{scheduler.get_last_lr()[0]:.3e}} "
                  f"grad_norm {{norm:.3f}} loss_scale {{scaler.get_scale()}}", flush=True)
        model.eval()
        right = 0
        with torch.no_grad():
            for x, y in evaluation:
                right += (model(x.to("{device}")).argmax(1) == y.to("{device}")).sum().item()
        print(f"eval epoch {{epoch}} accuracy {{right / len(held_out):.4f}}", flush=True)


if __name__ == "__main__":
    main()
"""
CORPUS = """import glob
import json

import torch
from torch.utils.data import Dataset


class Corpus(Dataset):
    @staticmethod
    def files(root):
        return glob.glob(root + "/*.jsonl")

    def __init__(self, files):
        self.rows = [json.loads(line) for name in files for line in open(name)]

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        row = self.rows[index]
        return torch.tensor(row["x"]), row["y"]
"""


class Noise:
    """A small linear congruential generator: the same numbers with every Python."""

    def __init__(self, seed):
        self.state = seed

    def __call__(self):
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) % 2**64
        return (self.state >> 33) / 2**31 - 0.5


def rate(step, fault):
    if fault == "schedule":
        return 1e-3 * (1 - step / STEPS)
    return 5e-4 * (1 + math.cos(math.pi * step / STEPS))


def loss_at(step, fault, noise, common):
    """`common`: of the batch, the same on both sides; `noise`: of the arithmetic, which grows from the first step on."""
    base = 0.35 + 1.95 * math.exp(-step / 60)
    if fault == "schedule" and step > 40:
        base *= 1 + 0.06 * min(1, (step - 40) / 60)
    if fault == "diverges" and step > 120:
        return float("nan")
    if fault == "lr" and step > 1:
        base *= 1.05
    return base * (1 + 0.02 * common()) * (1 + 0.004 * min(1, step / 50) * noise())


def data(folder, fault):
    folder.mkdir()
    noise = Noise(11)
    for part in range(8):
        rows = [json.dumps({"x": [round(noise(), 6) for _ in range(6)], "y": (part * 7 + row) % 10})
                for row in range(40)]
        text = "".join(row + "\n" for row in rows)
        if fault == "data" and part == 5:
            text = text[:len(text) * 3 // 5]
        (folder / f"part-{part:05}.jsonl").write_text(text)


def plain(folder, side, faults):
    """One torch script, its log, a data folder, requirements.txt and a launch line."""
    npu = side == "npu"
    fault = next((f for f in ("diverges", "schedule", "lr", "data") if npu and f in faults), "")
    folder.mkdir(parents=True)
    data(folder / "data", "data" if npu and "data" in faults else "")
    off = npu and "scaler" in faults
    (folder / "train.py").write_text(SCRIPT.format(
        imports="import torch_npu\n" if npu else "", device="npu" if npu else "cuda",
        amp="npu" if npu else "cuda", dtype="dtype=torch.float16", steps=STEPS,
        scheduler="LinearLR(optimizer, 1.0, 0.0, total_iters=300)" if npu and "schedule" in faults
        else "CosineAnnealingLR(optimizer, T_max=300)",
        backward="loss.backward()" if off else "scaler.scale(loss).backward()\n            scaler.unscale_(optimizer)",
        update="optimizer.step()" if off else "scaler.step(optimizer)\n            scaler.update()"))
    (folder / "corpus.py").write_text(CORPUS)
    batch = 64 if npu and "batch" in faults else 32
    lr = "2e-3" if npu and "lr" in faults else "1e-3"
    (folder / "run.sh").write_text(f"#!/bin/bash\npython train.py --data data --lr {lr} "
                                   f"--batch-size {batch} --epochs 3 --seed 1 2>&1 | tee train.log\n")
    (folder / "requirements.txt").write_text("torch==2.1.0\n" + ("torch-npu==2.1.0.post3\n" if npu else "") +
                                             "numpy==1.26.4\n")
    (folder / "smi.txt").write_text(NPU if npu else NVIDIA)
    noise, common = Noise(3 if npu else 2), Noise(9)
    lines = []
    for step in range(1, STEPS + 1):
        scale = 1.0 if off else 65536.0
        value = loss_at(step, fault, noise, common)
        scaled = rate(step, fault) * (2 if fault == "lr" else 1)
        lines.append(f"step {step}/{STEPS} epoch {(step - 1) // 100} loss {value:.4f} lr {scaled:.3e} "
                     f"grad_norm {(1.2 + 2 * math.exp(-step / 60)) * (1 + 0.05 * noise()):.3f} loss_scale {scale}")
        if step % 100 == 0:
            lines.append(f"eval epoch {step // 100 - 1} accuracy {0.88 + 0.01 * step / 100:.4f}")
    (folder / "train.log").write_text("\n".join(lines) + "\n")


def huggingface(folder, side, faults):
    npu = side == "npu"
    (folder / "output").mkdir(parents=True)
    data(folder / "dataset", "data" if npu and "data" in faults else "")
    arguments = {"learning_rate": 2e-5, "per_device_train_batch_size": 4 if not npu or "batch" not in faults else 8,
                 "gradient_accumulation_steps": 2, "num_train_epochs": 1.0, "max_steps": STEPS, "bf16": True,
                 "lr_scheduler_type": "cosine", "warmup_ratio": 0.1, "weight_decay": 0.01, "seed": 42,
                 "output_dir": "output", "logging_steps": 10, "max_grad_norm": 1.0}
    (folder / "training_args.json").write_text(json.dumps(arguments, indent=1))
    (folder / "config.json").write_text(json.dumps({"architectures": ["LlamaForCausalLM"], "model_type": "llama",
                                                    "hidden_size": 64, "torch_dtype": "float32"}))
    noise, common = Noise(5 if npu else 4), Noise(9)
    history = [{"step": step, "epoch": step / STEPS, "loss": round(loss_at(step, "", noise, common), 4),
                "learning_rate": 2e-5 * min(step / 30, (1 + math.cos(math.pi * step / STEPS)) / 2),
                "grad_norm": round(1 + noise() / 10, 4)} for step in range(10, STEPS + 1, 10)]
    for name, until in (("checkpoint-150", 150), ("checkpoint-300", 300)):
        (folder / "output" / name).mkdir()
        state = {"epoch": until / STEPS, "global_step": until, "max_steps": STEPS, "num_train_epochs": 1,
                 "is_world_process_zero": True, "train_batch_size": 4,
                 "log_history": [row for row in history if row["step"] <= until]}
        (folder / "output" / name / "trainer_state.json").write_text(json.dumps(state, indent=1))
    (folder / "run.sh").write_text("#!/bin/bash\ntorchrun --nproc_per_node 8 run_clm.py training_args.json\n")
    (folder / "requirements.txt").write_text("torch==2.1.0\ntransformers==4.40.0\n" +
                                             ("torch-npu==2.1.0.post3\n" if npu else ""))
    (folder / "smi.txt").write_text(NPU if npu else NVIDIA)


def megatron(folder, side, faults):
    npu = side == "npu"
    folder.mkdir(parents=True)
    data(folder / "corpus", "data" if npu and "data" in faults else "")
    style = "linear" if npu and "schedule" in faults else "cosine"
    (folder / "pretrain.sh").write_text(
        "#!/bin/bash\ntorchrun --nproc_per_node 8 --nnodes 1 pretrain_gpt.py --micro-batch-size 4 --global-batch-size 256 "
        f"--lr 1.0e-4 --min-lr 1.0e-6 --lr-decay-style {style} --lr-warmup-iters 30 --train-iters {STEPS} --fp16 "
        "--seq-length 2048 --weight-decay 0.1 --clip-grad 1.0 --seed 1234 --tensor-model-parallel-size 2\n")
    noise, common = Noise(7 if npu else 6), Noise(9)
    lines = ["------------------------ arguments ------------------------",
             "  fp16 ............................................ True",
             "  global_batch_size ............................... 256",
             "  lr .............................................. 0.0001",
             f"  lr_decay_style .................................. {style}",
             "  lr_warmup_iters ................................. 30",
             "  micro_batch_size ................................ 4",
             "  min_lr .......................................... 1e-06",
             "  tensor_model_parallel_size ...................... 2",
             f"  train_iters ..................................... {STEPS}",
             "  weight_decay .................................... 0.1",
             "  world_size ...................................... 8",
             "-------------------- end of arguments ---------------------"]
    for step in range(1, STEPS + 1):
        warm = min(1.0, step / 30)
        part = max(0, (step - 30) / (STEPS - 30))
        fall = (1 - part) if style == "linear" else (1 + math.cos(math.pi * part)) / 2
        lr = warm * (1e-6 + (1e-4 - 1e-6) * fall)
        lines.append(f" [2026-11-24 10:{step // 60:02}:{step % 60:02}] iteration {step:8}/{STEPS:8} | consumed samples: "
                     f"{step * 256:12} | elapsed time per iteration (ms): 1012.4 | learning rate: {lr:.6E} | "
                     f"global batch size:   256 | lm loss: {loss_at(step, 'schedule' if style == 'linear' else '', noise, common):.6E} | "
                     f"loss scale: 65536.0 | grad norm: {1 + noise() / 10:.3f} | number of skipped iterations:   0 | "
                     f"number of nan iterations:   0 |")
    (folder / "logs").mkdir()
    (folder / "logs" / "train_rank7.log").write_text("\n".join(lines) + "\n")
    (folder / "pip_list.txt").write_text("Package    Version\n---------- --------\ntorch      2.1.0\nmegatron-core 0.6.0\n" +
                                         ("torch-npu  2.1.0\n" if npu else ""))
    (folder / "smi.txt").write_text(NPU if npu else NVIDIA)


def mindformers(folder, side, faults):
    """A baseline in PyTorch, the migrated run in MindFormers."""
    if side == "gpu":
        return megatron(folder, side, ())
    folder.mkdir(parents=True)
    data(folder / "dataset", "data" if "data" in faults else "")
    (folder / "pretrain.yaml").write_text(
        "seed: 1234\nrun_mode: train\ncontext:\n  mode: 0\n  device_target: Ascend\nrunner_config:\n  epochs: 1\n"
        "  batch_size: 4\n  sink_mode: True\n  sink_size: 1\n  gradient_accumulation_steps: 16\nlr_schedule:\n"
        "  type: CosineWithWarmUpLR\n  learning_rate: 1.e-4\n  lr_end: 1.e-6\n  warmup_steps: 30\n"
        f"  total_steps: {STEPS}\noptimizer:\n  type: AdamW\n  weight_decay: 0.1\nparallel_config:\n  data_parallel: 4\n"
        "  model_parallel: 2\n  pipeline_stage: 1\n  micro_batch_num: 1\nuse_parallel: True\n"
        "model:\n  model_config:\n    type: GPT\n    seq_length: 2048\n    compute_dtype: float16\n")
    noise = Noise(8)
    (folder / "output" / "msrun_log").mkdir(parents=True)
    for rank in (0, 7):
        lines, common = [], Noise(9)
        for step in range(1, STEPS + 1):
            lr = 1e-4 * step / 30 if step <= 30 else \
                1e-6 + (1e-4 - 1e-6) * (1 + math.cos(math.pi * (step - 30) / (STEPS - 30))) / 2
            lines.append(f"2026-11-24 10:{step // 60:02}:{step % 60:02},120 - mindformers[mindformers/core/callback/"
                         f"callback.py:316] - INFO - {{ Epoch:[  1/  1], step:[{step:5}/{STEPS:5}], loss: "
                         f"{loss_at(step, '', noise, common):6.3f}, per_step_time: 1012ms, lr: {lr:.6e}, overflow cond: False, "
                         f"loss_scale: 65536.0, global_norm: [{1 + noise() / 10:.4f}], train_throughput_per_npu: 12.4T")
        (folder / "output" / "msrun_log" / f"worker_{rank}.log").write_text("\n".join(lines) + "\n")
    (folder / "smi.txt").write_text(NPU)
    (folder / "pip_freeze.txt").write_text("mindspore==2.3.0\nmindformers==1.2.0\nnumpy==1.26.4\n")


# Name: maker, faults of the migrated side, and what must be found: kinds of errors, or none.
PAIRS = {
    "healthy": (plain, (), {}),
    "data": (plain, ("data",), {"data.dataset.content": "truncated"}),
    "lr": (plain, ("lr",), {"model.hyperparameters.learning-rate": ""}),
    "batch": (plain, ("batch",), {"model.hyperparameters.global-batch": ""}),
    "schedule": (plain, ("schedule",), {"model.hyperparameters.learning-rate-curve": ""}),
    "scaler": (plain, ("scaler",), {"migrated.loss-scale.enabled": ""}),
    "diverges": (plain, ("diverges",), {"training.flow.loss-curve": ""}),
    "three": (plain, ("data", "batch", "scaler"),
              {"data.dataset.content": "truncated", "model.hyperparameters.global-batch": "",
               "migrated.loss-scale.enabled": ""}),
    "huggingface": (huggingface, ("data", "batch"),
                    {"data.dataset.content": "truncated", "model.hyperparameters.global-batch": ""}),
    "megatron": (megatron, ("schedule",), {"model.hyperparameters.learning-rate": ""}),
    "mindformers": (mindformers, ("data",), {"data.dataset.content": "truncated"}),
}


def make(folder, name):
    maker, faults, _ = PAIRS[name]
    for side in ("gpu", "npu"):
        maker(pathlib.Path(folder) / name / side, side, faults)


if __name__ == "__main__":
    for one in sys.argv[2:] or PAIRS:
        make(sys.argv[1], one)
