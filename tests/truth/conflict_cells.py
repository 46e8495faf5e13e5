"""Cells about one side that says two things of one value: sources of which nothing tells which counts are a conflict,
one that another overrides is none.
"""
import json

import audit

VALUES_CHECK, RATE = "model.hyperparameters.values", "model.hyperparameters.learning-rate"
BATCH = "model.hyperparameters.global-batch"
# value: (canonical name of a fact, key of the trainer's file, flag, what it is, what else, checks)
VALUES = {
    "lr": ("lr_base", "learning_rate", "--lr", 1e-4, 3e-4, (RATE, VALUES_CHECK)),
    "weight_decay": ("weight_decay", "weight_decay", "--weight-decay", 0.1, 0.01, (VALUES_CHECK,)),
    "clip": ("clip_grad", "max_grad_norm", "--clip-grad", 1.0, 0.5, (VALUES_CHECK,)),
    "seed": ("seed", "seed", "--seed", 42, 43, (VALUES_CHECK,)),
    "length": ("seq_length", "max_seq_length", "--seq-length", 2048, 4096, (VALUES_CHECK,)),
}
MISSPELT = {"lr": "1.0E-4", "weight_decay": "0.10", "clip": "1", "seed": "42", "length": "2048"}


def trainer(values):
    return json.dumps({key: values[name] for name, (_, key, *_rest) in VALUES.items()}, indent=1)


def yaml_of(values):
    return "".join(f"{key}: {values[name]}\n" for name, (_, key, *_rest) in VALUES.items())


def script(values):
    words = " ".join(f"{flag} {values[name]}" for name, (_, _, flag, *_rest) in VALUES.items())
    return f"#!/bin/bash\ntorchrun --nproc_per_node 8 pretrain_gpt.py --micro-batch-size 4 --bf16 {words}\n"


def printed(values):
    rows = {flag[2:].replace("-", "_"): values[name] for name, (_, _, flag, *_rest) in VALUES.items()}
    rows.update(micro_batch_size=4, bf16=True, world_size=8)
    lines = "".join(f"  {name} {'.' * (48 - len(name))} {value}\n" for name, value in sorted(rows.items()))
    head, end = "arguments", "end of arguments"
    return f"------------------------ {head} ------------------------\n{lines}-------------------- {end} ---------\n"


def engine(values):
    return json.dumps({
        "train_micro_batch_size_per_gpu": 4,
        "gradient_clipping": values["clip"],
        "optimizer": {"type": "AdamW", "params": {"lr": values["lr"], "weight_decay": values["weight_decay"]}},
    })


USUAL = {name: row[3] for name, row in VALUES.items()}
# Two sources of one side: (first writer and file, second writer and file, which list of the plan, a conflict?, what of)
SOURCES = {
    "two_files": ((yaml_of, "a.yaml"), (yaml_of, "b.yaml"), "settings", True, tuple(VALUES)),
    "file_and_engine": ((trainer, "args.json"), (engine, "ds.json"), "settings", True, ("lr", "weight_decay", "clip")),
    "two_scripts": ((script, "run1.sh"), (script, "run2.sh"), "settings", True, tuple(VALUES)),
    "script_over_file": ((script, "run.sh"), (yaml_of, "conf.yaml"), "settings", False, tuple(VALUES)),
    "printed_over_script": ((printed, "train.log"), (script, "run.sh"), "logs", False, tuple(VALUES)),
    "printed_over_file": ((printed, "train.log"), (yaml_of, "conf.yaml"), "logs", False, tuple(VALUES)),
}


def side_plan(side, sources, first, second, facts=None):
    (write, file), (other_write, other_file), listed, *_ = sources
    plan = {
        "run": side,
        "node": f"{side}-node",
        "platform": "nvidia" if side == "baseline" else "atlas-a2",
        "framework": "pytorch",
        "world_size": 8,
        "settings": [other_file],
    }
    plan.setdefault(listed, []).append(file)
    if facts:
        plan["facts"] = facts
    return audit.Plan(plan, {file: write(first).encode(), other_file: other_write(second).encode()})


def pair(sources, sides=(), second=None, facts=None):
    """`second`: what the lower source says on those sides."""
    plans = {}
    for side in ("baseline", "migrated"):
        chosen = side in sides
        plans[side] = [side_plan(side, sources, USUAL, dict(USUAL, **(second or {})) if chosen else USUAL,
                                 facts if chosen else None)]
    return audit.Audit(**plans)


SIDES = {"migrated": ("migrated",), "baseline": ("baseline",), "both": ("baseline", "migrated")}


def judge_override(check):
    """No error: the higher source counts, and what it overrides is told."""

    def judge(reports):
        outcome, why = audit.judge_healthy()(reports)
        if outcome != audit.RIGHT:
            return outcome, why
        kinds = {f["kind"] for name, one in audit.checks(reports[0]).items() if name in check for f in one["findings"]}
        if "overridden" not in kinds:
            return audit.CAUSE_MISSING, f"what was overridden is not told: {sorted(kinds)}"
        return audit.RIGHT, ""

    return judge


def cells(_):
    for source, row in SOURCES.items():
        dialect, conflict, names = f"conflict/{source}", row[3], row[4]
        yield audit.Cell(dialect, "healthy", "", lambda r=row: [pair(r)], audit.judge_healthy())
        for name in names:
            _, _, _, _, becomes, checks = VALUES[name]
            if not isinstance(becomes, str) and row[1][0] is not engine and row[1][0] is not trainer:
                # The same number in other words is no second value.
                yield audit.Cell(dialect, "spelling", name, lambda a=(row, name): [
                    pair(a[0], SIDES["migrated"], {a[1]: MISSPELT[a[1]]})], audit.judge_healthy())
            for word, sides in SIDES.items():
                judge = audit.judge_fault(checks, ("conflict_within_side",)) if conflict else judge_override(checks)
                kind = "conflict_within_side" if conflict else "overridden"
                yield audit.Cell(dialect, kind, f"{name},{word}",
                                 lambda a=(row, sides, {name: becomes}): [pair(*a)], judge)
    row = SOURCES["script_over_file"]
    for name, (fact, _, _, usual, becomes, checks) in VALUES.items():
        for word, sides in SIDES.items():
            yield audit.Cell("conflict/stated_fact", "conflict_within_side", f"{name},{word}",
                             lambda a=(row, sides, None, {fact: becomes}): [pair(*a)],
                             audit.judge_fault(checks, ("conflict_within_side",)))
            yield audit.Cell("conflict/stated_fact", "healthy", f"{name},{word}",
                             lambda a=(row, sides, None, {fact: usual}): [pair(*a)], audit.judge_healthy())
