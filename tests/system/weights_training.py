#!/usr/bin/env python3
"""Real PyTorch trainings on two ranks (gloo, CPU), saved before and after the first step, audited against one of them.

    weights_training.py BUILD_DIR

Exit code 77: no interpreter with PyTorch is here (python3-torch of Debian).
"""
import ctypes
import json
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from ports import own_port  # noqa: E402

RANKS = 2
INITIAL, GRAPH, REPLICAS, DISTRIBUTED, UPDATED, SAME = (
    "training.flow.initial-weights", "training.flow.graph", "training.flow.replicas", "training.flow.distributed",
    "first-step.update.updated", "first-step.update.same-update")

# What is other than in the baseline (fp32, one seed, one batch a rank, gradients averaged), and what has to come of it:
# verdicts, "not fail", or a verdict and the kind that must be among its errors.
VARIANTS = {
    "same": ({}, {INITIAL: "pass", GRAPH: "pass", REPLICAS: "pass", UPDATED: "pass", SAME: "pass",
                  DISTRIBUTED: "not fail"}),
    "bf16": ({"autocast": True}, {INITIAL: "pass", REPLICAS: "pass", UPDATED: "pass", SAME: "pass"}),
    "other_data": ({"data_seed": 9}, {INITIAL: "pass", REPLICAS: "pass", UPDATED: "pass",
                                      SAME: ("fail", "update_direction_differs")}),
    "bf16_other_data": ({"autocast": True, "data_seed": 9}, {SAME: ("fail", "update_direction_differs")}),
    "not_synchronised": ({"synchronise": False}, {INITIAL: "pass", REPLICAS: ("fail", "replicas_differ"),
                                                  DISTRIBUTED: ("fail", "gradients_not_synchronised")}),
    "other_seed": ({"seed": 5}, {INITIAL: "pass", GRAPH: "pass", REPLICAS: "pass"}),
    "frozen": ({"frozen": "layers.1.up.weight"}, {INITIAL: "pass", UPDATED: ("fail", "not_updated")}),
    "twice_the_rate": ({"rate": 2e-3}, {UPDATED: "pass", SAME: ("fail", "update_size_differs")}),
    "transposed": ({"transposed": "layers.0.query.weight"}, {INITIAL: ("fail", "weights_differ")}),
}


# --- inside the trainings
def make_model(torch):
    class Layer(torch.nn.Module):
        def __init__(self, width):
            super().__init__()
            self.norm1, self.norm2 = torch.nn.LayerNorm(width), torch.nn.LayerNorm(width)
            self.query, self.key, self.value = (torch.nn.Linear(width, width) for _ in range(3))
            self.up, self.down = torch.nn.Linear(width, 2 * width), torch.nn.Linear(2 * width, width)

        def forward(self, x):
            h = self.norm1(x)
            weights = (self.query(h) @ self.key(h).transpose(-1, -2) / h.shape[-1] ** 0.5).softmax(-1)
            x = x + weights @ self.value(h)
            return x + self.down(torch.nn.functional.gelu(self.up(self.norm2(x))))

    class Model(torch.nn.Module):
        def __init__(self, words=200, width=64):
            super().__init__()
            self.embed = torch.nn.Embedding(words, width)
            self.layers = torch.nn.ModuleList(Layer(width) for _ in range(2))
            self.norm, self.head = torch.nn.LayerNorm(width), torch.nn.Linear(width, words)

        def forward(self, x):
            h = self.embed(x)
            for layer in self.layers:
                h = layer(h)
            return self.head(self.norm(h))

    return Model()


def train(torch, folder, rank, seed=1, data_seed=2, autocast=False, synchronise=True, rate=1e-3, frozen="",
          transposed=""):
    torch.manual_seed(seed)
    model = make_model(torch)
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(name != frozen)
        if name == transposed:
            parameter.data = parameter.data.t().contiguous()
    wrapped = torch.nn.parallel.DistributedDataParallel(model) if synchronise else model
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=rate)
    save = lambda step: torch.save({"model": wrapped.state_dict(), "optimizer": optimizer.state_dict(), "step": step},
                                   os.path.join(folder, "step%d_rank%d.pt" % (step, rank)))
    save(0)
    draw = torch.Generator().manual_seed(1000 * data_seed + rank)
    words = torch.randint(0, 200, (8, 33), generator=draw)
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=autocast):
        out = wrapped(words[:, :-1])
        loss = torch.nn.functional.cross_entropy(out.float().reshape(-1, 200), words[:, 1:].reshape(-1))
    loss.backward()
    optimizer.step()
    save(1)


def run_rank(root):
    import torch
    import torch.distributed as dist
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    # The end of a Gloo group can wait for a thread that waits for the interpreter (PyTorch 1.13): it has no end.
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(dist.distributed_c10d._get_default_group()))
    for name, changes in [("baseline", {})] + [(name, changes) for name, (changes, _) in VARIANTS.items()]:
        train(torch, os.path.join(root, name), dist.get_rank(), **changes)
    dist.destroy_process_group()


# --- around them
def interpreter():
    for python in ("/usr/bin/python3", sys.executable):
        if subprocess.run([python, "-c", "import torch.distributed"], stderr=subprocess.DEVNULL).returncode == 0:
            return python
    print("skipped: no Python with torch.distributed is installed (python3-torch)", file=sys.stderr)
    sys.exit(77)


def run_trainings(root):
    python = interpreter()
    port = str(own_port())
    common = dict(os.environ, WORLD_SIZE=str(RANKS), MASTER_ADDR="127.0.0.1", MASTER_PORT=port, OMP_NUM_THREADS="1")
    ranks = [subprocess.Popen([python, os.path.abspath(__file__), root],
                              env=dict(common, RANK=str(rank), WEIGHTS_TRAINING="1")) for rank in range(RANKS)]
    return [one.wait() for one in ranks]


def write_plan(folder, side, changes):
    with open(os.path.join(folder, "args.json"), "w") as out:
        json.dump({"optimizer": "adamw", "lr": changes.get("rate", 1e-3), "bf16": changes.get("autocast", False),
                   "fp16": False}, out)
    with open(os.path.join(folder, "plan.yaml"), "w") as out:
        out.write("run: %s\nplatform: %s\nframework: pytorch\nworld_size: %d\nsettings: [args.json]\nweights:\n"
                  % (side, "nvidia" if side == "gpu" else "atlas-a2", RANKS))
        for step in (0, 1):
            out.write('  - {step: %d, file: "step%d_rank{rank}.pt"}\n' % (step, step))


def audit(paritect, root, name):
    command = [paritect, "check", "--baseline", os.path.join(root, "baseline/plan.yaml"), "--migrated",
               os.path.join(root, name, "plan.yaml"), "-o", "json"]
    report = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=False).stdout)
    return {check["id"]: check for item in report["items"] for check in item["checks"]}


def told(check):
    errors = sorted({one["kind"] for one in check["findings"] if one["severity"] == "error"})
    return "%s %s" % (check["verdict"], " ".join(errors))


def is_right(check, wanted):
    verdict, kind = wanted if isinstance(wanted, tuple) else (wanted, None)
    if verdict == "not fail":
        return check["verdict"] != "fail"
    errors = [one["kind"] for one in check["findings"] if one["severity"] == "error"]
    return check["verdict"] == verdict and (kind is None or kind in errors)


def main():
    paritect = os.path.join(os.path.abspath(sys.argv[1]), "paritect")
    root = tempfile.mkdtemp(prefix="weights-training-")
    wrong = 0
    try:
        for name in ["baseline", *VARIANTS]:
            os.mkdir(os.path.join(root, name))
            write_plan(os.path.join(root, name), "gpu" if name == "baseline" else "npu",
                       VARIANTS[name][0] if name in VARIANTS else {})
        if any(run_trainings(root)):
            print("a training failed")
            return 1
        for name, (_, wanted) in VARIANTS.items():
            checks = audit(paritect, root, name)
            for check, expectation in wanted.items():
                if is_right(checks[check], expectation):
                    continue
                wrong += 1
                print("%s, %s: %s is wanted, it is %s" % (name, check, expectation, told(checks[check])))
    finally:
        shutil.rmtree(root, ignore_errors=True)
    print("%d answers are wrong" % wrong)
    return 1 if wrong else 0


if __name__ == "__main__":
    if os.environ.get("WEIGHTS_TRAINING"):
        run_rank(sys.argv[1])
    else:
        sys.exit(main())
