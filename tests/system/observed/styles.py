#!/usr/bin/env python3
"""Faults in trainings of other styles (styles/: classes, closures, two optimizers, averages, scripts, heads, samplers and
data sets of their own): each is named by its cause, its healthy twin is judged without an error, and the weights are
the same to the last bit with the observer and without.

    styles.py BUILD_DIR [STYLE ...]      # all where none is named

Needs what faults.py needs.
"""
import os
import shutil
import subprocess
import sys
import tempfile

from faults import HERE, OBSERVER, PYTHON, check, observing, plan, skip, train

SCRIPTS = os.path.join(os.path.dirname(HERE), "observer_scripts")
# Of each: the word that makes it faulty, ranks, and the finding that names the cause.
STYLES = {
    "class_trainer": ("round_forgotten", 2, "data.sharding.same-assignment", "epoch_not_set"),
    "gan": ("critic_not_cleared", 1, "training.flow.state", "gradients_not_cleared"),
    "averaged": ("average_trains", 1, "training.flow.evaluation", "train_mode_at_eval"),
    "recomputed": ("schedule_per_part", 1, "model.hyperparameters.learning-rate-curve", "schedule_faster"),
    "scripted": ("other_beta", 1, "model.hyperparameters.values", "value_differs"),
    "own_scaler": ("static", 1, "migrated.loss-scale.dynamic", "scaler_kind_differs"),
    "heads": ("head_left_out", 1, "model.hyperparameters.per-group", "groups_differ"),
    "self_shuffling": ("other_mix", 1, "data.preprocessing.samples", "batch_differs"),
    "same_noise": ("same_noise", 1, "data.preprocessing.parallelism", "workers_share_random_state"),
    "resumed_part": ("evaluation_cut", 1, "training.flow.evaluation", "evaluation_samples_differ"),
}
# They compute in fp32, which a checklist of mixed precision says, and learn for a second.
NOT_ASKED = ("baseline.mixed-precision.", "migrated.mixed-precision.", "convergence.")


def digests(folder, ranks):
    found = []
    for rank in range(ranks):
        with open(os.path.join(folder, "output%d.log" % rank)) as output:
            found.append([line for line in output if line.startswith("digest")])
    return found


def run(style, folder, words, ranks, observed):
    variables = observing(folder) if observed else {"PYTHONPATH": ""}
    variables["PYTHONPATH"] = ":".join([one for one in (variables["PYTHONPATH"], SCRIPTS) if one])
    train(folder, [os.path.join(HERE, "styles", style + ".py")] + words, ranks, dict(variables, OMP_NUM_THREADS="1"))
    return digests(folder, ranks)


def judge(style, work):
    fault, ranks, name, kind = STYLES[style]
    places = {one: os.path.join(work, style, one) for one in ("bare", "gpu", "npu", "faulty")}
    bare = run(style, places["bare"], [], ranks, False)
    seen = run(style, places["gpu"], [], ranks, True)
    run(style, places["faulty"], [fault], ranks, True)
    shutil.copytree(places["gpu"], places["npu"])
    for side, platform in (("gpu", "nvidia"), ("npu", "atlas-a2"), ("faulty", "atlas-a2")):
        plan(places[side], side, platform)
    failed = [one for one, found in check(places["gpu"], places["npu"]).items()
              if found["verdict"] == "fail" and not one.startswith(NOT_ASKED)]
    findings = check(places["gpu"], places["faulty"])[name]["findings"]
    kinds = sorted({one["kind"] for one in findings if one["severity"] != "note"})
    problems = []
    if bare != seen or not all(bare):
        problems.append("other bits with the observer")
    if failed:
        problems.append("the healthy twin fails " + ", ".join(failed))
    if kind not in kinds:
        problems.append("%s does not say %s but %s" % (name, kind, kinds))
    print("%-15s %s" % (style, "; ".join(problems) or "named by %s %s" % (name, kind)), flush=True)
    return not problems


def main():
    if subprocess.run([PYTHON, "-c", "import torch, numpy"], capture_output=True).returncode:
        skip("no PyTorch with numpy in " + PYTHON)
    if not os.path.exists(os.path.join(OBSERVER, "start.py")):
        skip("no observer")
    chosen = sys.argv[2:] or list(STYLES)
    work = tempfile.mkdtemp(prefix="paritect-styles-")
    try:
        named = [style for style in chosen if judge(style, work)]
    finally:
        shutil.rmtree(work, ignore_errors=True)
    sys.exit(set(named) != set(chosen))


if __name__ == "__main__":
    main()
