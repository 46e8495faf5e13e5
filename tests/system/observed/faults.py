#!/usr/bin/env python3
"""Real trainings under the observer: a healthy pair is decided by what was recorded, and each fault that people make is
named by its cause. Prints the share of checks that apply and pass, and each fault with what named it.

    faults.py BUILD_DIR [FAULT ...]      # all where none is named

Needs a Python with PyTorch (`/usr/bin/python3`, or $PARITECT_TORCH_PYTHON). Exit code 77: what it needs is not here.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
from ports import own_port  # noqa: E402

BUILD = os.path.abspath(sys.argv[1])
PARITECT = os.path.join(BUILD, "paritect")
OBSERVER = os.path.join(BUILD, "observer")
PYTHON = os.environ.get("PARITECT_TORCH_PYTHON", "/usr/bin/python3")

# Arguments of the faulty training, of the healthy one beside it, ranks, and the finding that names the cause.
FAULTS = {
    "rank_alone": ([], 2, "training.flow.distributed", "gradients_not_synchronised"),
    "not_cleared": ([], 1, "training.flow.state", "gradients_not_cleared"),
    "schedule_twice": ([], 1, "model.hyperparameters.learning-rate-curve", "schedule_faster"),
    "set_epoch": ([], 2, "data.sharding.same-assignment", "epoch_not_set"),
    "same_data": ([], 2, "data.sharding.disjoint", "not_sharded"),
    "no_eval": ([], 1, "training.flow.evaluation", "train_mode_at_eval"),
    "dropout_kept": ([], 1, "training.flow.evaluation", "train_mode_at_eval"),
    "no_train": ([], 1, "training.flow.evaluation", "eval_mode_at_train"),
    "scaler_off": ([], 1, "migrated.loss-scale.enabled", "loss_scale_off"),
    "cast": ([], 1, "migrated.mixed-precision.single-mechanism", "two_mechanisms"),
    "sampler_seed": ([], 1, "data.preprocessing.shuffle", "shuffle_differs"),
    "worker_seeds": (["workers"], 1, "data.preprocessing.parallelism", "workers_share_random_state"),
    "shuffle_off": ([], 1, "data.preprocessing.shuffle", "shuffle_differs"),
    "drop_last": (["keep_last"], 1, "data.preprocessing.padding", "padding_differs"),
    "normalisation": ([], 1, "data.preprocessing.transform", "transform_differs"),
    "not_loaded": ([], 1, "training.flow.initial-weights", "not_loaded"),
    "frozen": ([], 1, "training.flow.graph", "trained_differs"),
    "decay_groups": ([], 1, "model.hyperparameters.per-group", "groups_differ"),
    "not_divided": ([], 1, "training.flow.state", "accumulation_not_divided"),
    "clipping_off": ([], 1, "model.hyperparameters.values", "value_differs"),
    "bn_momentum": ([], 1, "model.hyperparameters.conventions", "layer_differs"),
    "tf32": ([], 1, "migrated.mixed-precision.matmul-conv", "shortcut_differs"),
}
NAMED_MIN = 15
PASSED_MIN = 0.8
# Checks that ask for an NPU, for several runs of a side, or for the files of a data set: a pair of CPU trainings on data
# that they make up has none.
OTHER_EVIDENCE = ("baseline.repeatability.", "data.dataset.", "baseline.mixed-precision.repeat",
                  "baseline.mixed-precision.fp32-parity", "baseline.mixed-precision.hidden-low-precision",
                  "migrated.mixed-precision.runs", "migrated.mixed-precision.precision-mode",
                  "migrated.mixed-precision.mode-files", "migrated.mixed-precision.inf-nan",
                  "migrated.mixed-precision.level")


def skip(why):
    print("skipped: " + why)
    sys.exit(77)


def observing(folder):
    """The variables that observe into FOLDER/observe."""
    os.makedirs(os.path.join(folder, "observe"), exist_ok=True)
    return dict(PYTHON_PARITECT_OBSERVE=os.path.join(folder, "observe"), PYTHON_PARITECT_OBSERVER=OBSERVER,
                PYTHON_PARITECT_LEVEL="full", PYTHONPATH=os.path.join(OBSERVER, "site"))


def train(folder, words, ranks, variables):
    """Starts the ranks, as a launcher does, and waits for them; ends all when one fails, or when they hang, which each
    tells the place of."""
    os.makedirs(folder, exist_ok=True)
    port = str(own_port())
    processes = []
    for rank in range(ranks):
        environment = dict(os.environ, PARITECT_TEST_HANG_SECONDS="600", **variables)
        if ranks > 1:
            environment.update(RANK=str(rank), WORLD_SIZE=str(ranks), LOCAL_RANK=str(rank), LOCAL_WORLD_SIZE=str(ranks),
                               MASTER_ADDR="127.0.0.1", MASTER_PORT=port)
        with open(os.path.join(folder, "output%d.log" % rank), "w") as output:
            processes.append(subprocess.Popen([PYTHON] + words, env=environment, stdout=output,
                                              stderr=subprocess.STDOUT))
    while any(process.poll() is None for process in processes) and not any(process.poll() for process in processes):
        time.sleep(0.05)
    codes = [process.poll() for process in processes]
    for process in processes:
        process.kill()
        process.wait()
    if any(codes):
        told = ["rank %d: %s" % (rank, open(os.path.join(folder, "output%d.log" % rank)).read()[-4000:]) for rank in range(ranks)]
        raise AssertionError("%s ended with %s (None: ended by this test): %s" % (folder, codes, "\n".join(told)))


def plan(folder, run, platform):
    with open(os.path.join(folder, "plan.yaml"), "w") as out:
        out.write("run: %s\nnode: %s-1\nplatform: %s\nobserved: [observe]\nlogs: [output0.log]\n" % (run, run, platform))


def check(baseline, migrated):
    answer = subprocess.run([PARITECT, "check", "--baseline", baseline, "--migrated", migrated, "-o", "json"],
                            capture_output=True, text=True)
    assert answer.returncode in (0, 1, 3), answer.stderr
    report = json.loads(answer.stdout)
    return {one["id"]: one for item in report["items"] for one in item["checks"]}


class Trainings:
    """Each training once: pairs share the healthy ones."""

    def __init__(self, folder):
        self.folder = folder
        self.made = {}

    def of(self, ranks, faults, run):
        key = (ranks, tuple(faults))
        if key not in self.made:
            name = "-".join(["ranks%d" % ranks] + faults)
            folder = os.path.join(self.folder, name)
            train(folder, [os.path.join(HERE, "training.py"), self.folder] + faults, ranks, observing(folder))
            self.made[key] = folder
        # The same records as either side's.
        side = self.made[key] + "-as-" + run
        if not os.path.isdir(side):
            shutil.copytree(self.made[key], side)
            plan(side, run, "nvidia" if run == "gpu" else "atlas-a2")
        return side


def healthy(trainings, ranks):
    checks = check(trainings.of(ranks, [], "gpu"), trainings.of(ranks, [], "npu"))
    applying = {name: one for name, one in checks.items() if not name.startswith(OTHER_EVIDENCE)}
    passed = [name for name, one in applying.items() if one["verdict"] == "pass"]
    failed = [name for name, one in applying.items() if one["verdict"] == "fail"]
    share = len(passed) / len(applying)
    print("healthy, %d ranks: %d of %d checks that apply pass (%.0f %%), %d fail" %
          (ranks, len(passed), len(applying), 100 * share, len(failed)))
    for name, one in sorted(applying.items()):
        if one["verdict"] != "pass":
            why = one["missing"][0]["what"]["en"] if one["missing"] else one["findings"][0]["message"]["en"]
            print("  %s %s: %s" % (one["verdict"], name, why))
    assert not failed, failed
    return share


def judge(trainings, fault):
    beside, ranks, name, kind = FAULTS[fault]
    checks = check(trainings.of(ranks, beside, "gpu"), trainings.of(ranks, [fault], "npu"))
    kinds = {finding["kind"] for finding in checks[name]["findings"] if finding["severity"] != "note"}
    named = kind in kinds
    print("%-15s %s %s %s" % (fault, "named by" if named else "NOT NAMED by", name, kind if named else sorted(kinds)))
    return named


def main():
    if subprocess.run([PYTHON, "-c", "import torch"], capture_output=True).returncode:
        skip("no PyTorch in " + PYTHON)
    if not os.path.exists(os.path.join(OBSERVER, "start.py")):
        skip("no observer in " + BUILD)
    folder = tempfile.mkdtemp(prefix="paritect-observed-")
    try:
        trainings = Trainings(folder)
        chosen = sys.argv[2:] or list(FAULTS)
        shares = [healthy(trainings, ranks) for ranks in ((1, 2) if len(sys.argv) == 2 else ())]
        named = [fault for fault in chosen if judge(trainings, fault)]
        print("%d of %d faults are named by their cause" % (len(named), len(chosen)))
        assert all(share >= PASSED_MIN for share in shares), shares
        assert len(named) >= min(NAMED_MIN, len(chosen)), sorted(set(chosen) - set(named))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
