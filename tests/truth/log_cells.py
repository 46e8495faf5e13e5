"""Cells about logs: every dialect, healthy, in other forms, changed without meaning, with every fault it can tell."""
import random

import audit
import curves
import faults
import forms
import logs
import recorders  # noqa: F401, its dialects stand beside the others

PLATFORMS = {"baseline": "nvidia", "migrated": "atlas-a2"}
RANKS = 4


def plan_of(side, dialect, files, number=0, **more):
    facts = {"global_batch_size": curves.BATCH}
    scaled = "scale" in dialect.fields or "skips" in dialect.fields
    facts["compute_dtype"] = "float16" if scaled else "bfloat16"
    plan = {
        "run": f"{side}-{number}",
        "node": f"{side}-node",
        "platform": PLATFORMS[side],
        "logs": [f"{dialect.file}*"],
        "facts": facts,
    }
    if dialect.framework != "other":
        plan["framework"] = dialect.framework
    plan.update(more)
    return audit.Plan(plan, files)


def log_plan(side, dialect, run, number=0, **more):
    return plan_of(side, dialect, logs.files_of(dialect, run), number, **more)


def ranks_plan(side, dialect, runs):
    stem, end = dialect.file.rsplit(".", 1)
    files = {f"{stem}-rank{rank}.{end}": dialect.write(run).encode() for rank, run in enumerate(runs)}
    return plan_of(side, dialect, files, logs=[f"{stem}-rank{{rank}}.{end}"], world_size=len(runs))


def runs_of(seed, **more):
    return curves.healthy("baseline", seed, **more), curves.healthy("migrated", seed, **more)


def pair(dialect, seed, base=None, migrated=None):
    healthy_base, healthy_migrated = runs_of(seed)
    return audit.Audit(
        [log_plan("baseline", dialect, base or healthy_base)],
        [log_plan("migrated", dialect, migrated or healthy_migrated)],
    )


def passes(dialect):
    out = ["training.flow.loss-curve"]
    if "lr" in dialect.fields:
        out.append("model.hyperparameters.learning-rate-curve")
    if (
        "counter" in dialect.fields
    ):  # a dialect that prints a line only where a step was skipped proves nothing by silence
        out += ["migrated.loss-scale.overflow-rate", "baseline.mixed-precision.overflow-rate"]
    return out


def faulty(dialect, fault, place, side, seed):
    base, migrated = runs_of(seed)
    if side in ("baseline", "both"):
        base = fault.put(base, place)
    if side in ("migrated", "both"):
        migrated = fault.put(migrated, place)
    return audit.Audit([log_plan("baseline", dialect, base)], [log_plan("migrated", dialect, migrated)])


def faulty_rank(dialect, fault, place, side, seed):
    sides = {}
    for name in ("baseline", "migrated"):
        runs = [curves.healthy(name, seed) for _ in range(RANKS)]
        if side == name:
            runs[2] = fault.put(runs[2], place)
        sides[name] = [ranks_plan(name, dialect, runs)]
    return audit.Audit(**sides)


def places_and_sides(fault):
    """Every place on the first side, one place on the others."""
    for side in fault.sides:
        for place in fault.places if side == fault.sides[0] else fault.places[-1:]:
            yield place, side


def fault_cells(seed):
    for dialect in logs.DIALECTS.values():
        for fault in faults.FAULTS.values():
            if not faults.applies(fault, dialect):
                continue
            kinds = faults.kinds_in(fault, dialect)
            for place, side in places_and_sides(fault):
                checks = fault.checks(side)
                judge = audit.judge_healthy(checks[:1]) if fault.healthy else audit.judge_fault(checks, kinds)
                variant = ",".join(word for word in (place, side) if word)
                yield audit.Cell(
                    dialect.name, fault.name, variant, lambda a=(dialect, fault, place, side, seed): [faulty(*a)], judge
                )
            if fault.per_rank and dialect.form == "lines":
                for side in ("migrated", "baseline"):
                    yield audit.Cell(
                        dialect.name,
                        fault.name,
                        f"rank2,{side}",
                        lambda a=(dialect, fault, "middle", side, seed): [faulty_rank(*a)],
                        audit.judge_fault(fault.checks(side), kinds + ("loss_missing", "overflow_count_differs")),
                    )


def formed(dialect, form, seed, fault=None):
    """The pair as it is, and with the migrated log (and half the time the baseline's) in another form."""
    change, _ = forms.FORMS[form]
    rng = random.Random(f"{seed} {dialect.name} {form}")
    first = faulty(dialect, fault, fault.places[0], "migrated", seed) if fault else pair(dialect, seed)
    chosen = ("baseline", "migrated") if rng.random() < 0.5 else ("migrated",)
    second = {}
    for side in ("baseline", "migrated"):
        plan = getattr(first, side)[0]
        if side in chosen:
            files = change(dialect.file, plan.files[dialect.file].decode())
            entry = [f"{dialect.file}*"] if form != "renamed" else list(files)
            plan = audit.Plan(dict(plan.plan, logs=entry), files)
        second[side] = [plan]
    return [first, audit.Audit(**second)]


def form_cells(seed):
    names = ["nan_loss", "curve_leaves", "overflow_rate_far", "gradients_not_cleared"]
    for dialect in logs.DIALECTS.values():
        for form, (_, of) in forms.FORMS.items():
            if dialect.form not in of:
                continue
            yield audit.Cell(dialect.name, "form", form, lambda a=(dialect, form, seed): formed(*a), audit.judge_same())
            fitting = [faults.FAULTS[n] for n in names if faults.applies(faults.FAULTS[n], dialect)]
            fault = random.Random(f"{seed} {dialect.name} {form} fault").choice(fitting)
            yield audit.Cell(
                dialect.name,
                "form",
                f"{form},{fault.name}",
                lambda a=(dialect, form, seed, fault): formed(*a),
                audit.judge_same(),
            )


def resumed(run):
    """Killed at 60 %, started again from the checkpoint at 50 %: the steps between stand twice, with equal values."""
    cut = len(run.steps) * 3 // 5
    back = len(run.steps) // 2
    run.steps = run.steps[:cut] + run.copy().steps[back:]
    return run


def interval_pair(dialect, seed):
    base, migrated = runs_of(seed, total=400)
    return audit.Audit(
        [log_plan("baseline", dialect, base)],
        [log_plan("migrated", dialect, curves.printed_every(migrated, 5, dialect.mean))],
    )


def other_order_pair(dialect, seed):
    base, migrated = runs_of(seed, same_order=False)
    return audit.Audit([log_plan("baseline", dialect, base)], [log_plan("migrated", dialect, migrated)])


def world_pair(dialect, seed):
    """Half the devices, twice the accumulation: the same global batch."""
    result = pair(dialect, seed)
    result.baseline[0].plan["world_size"] = 16
    result.migrated[0].plan["world_size"] = 8
    return result


def offset_pair(dialect, seed):
    base, migrated = runs_of(seed)
    for step in migrated.steps:
        step.step -= 1
    return audit.Audit([log_plan("baseline", dialect, base)], [log_plan("migrated", dialect, migrated)])


COUNT_FROM_ANYWHERE = (
    "nanogpt",
    "jsonl",
    "csv",
    "text",
    "columns",
    "verl",
    "dllogger",
    "apex",
    "mllog",
    "mmengine-json",
)


PRINT_AS_THEY_DO = (  # their interval is not a choice, or their steps follow from it
    "keras",
    "keras-fits",
    "yolo",
    "yolo-csv",
    "timm",
    "pytorch-examples",
    "mindspore-lossmonitor",
    "apex",
    "fairseq-json",
)


def change_cells(seed):
    for dialect in logs.DIALECTS.values():
        name = dialect.name
        yield audit.Cell(
            name, "healthy", "", lambda a=(dialect, seed): [pair(*a)], audit.judge_healthy(passes(dialect))
        )
        if dialect.name not in PRINT_AS_THEY_DO:
            yield audit.Cell(
                name, "logging_interval", "", lambda a=(dialect, seed): [interval_pair(*a)], audit.judge_healthy()
            )
        yield audit.Cell(
            name, "other_order", "", lambda a=(dialect, seed): [other_order_pair(*a)], audit.judge_healthy()
        )
        yield audit.Cell(
            name,
            "world_size",
            "",
            lambda a=(dialect, seed): [world_pair(*a)],
            audit.judge_healthy(may_fail=("data.sharding.*",)),
        )
        if dialect.form in ("lines", "jsonl") and dialect.name not in ("keras", "keras-fits", "fairseq-json"):
            yield audit.Cell(
                name,
                "resumed",
                "",
                lambda a=(dialect, seed): [pair(dialect=a[0], seed=a[1], migrated=resumed(runs_of(a[1])[1]))],
                audit.judge_healthy(),
            )
        if dialect.name in COUNT_FROM_ANYWHERE:
            yield audit.Cell(
                name, "step_offset", "", lambda a=(dialect, seed): [offset_pair(*a)], audit.judge_healthy()
            )
        if dialect.form == "lines":
            yield audit.Cell(
                name,
                "ranks",
                "",
                lambda a=(dialect, seed): [
                    audit.Audit(
                        *[
                            [ranks_plan(side, a[0], [curves.healthy(side, a[1])] * RANKS)]
                            for side in ("baseline", "migrated")
                        ]
                    )
                ],
                audit.judge_healthy(["training.flow.loss-curve"]),
            )


def repeats(dialect, seed, turned, faulty_too):
    """Three runs of the baseline and two of the migrated side, in this order or another."""
    runs = {
        "baseline": [log_plan("baseline", dialect, curves.healthy(f"baseline {i}", seed), i) for i in range(3)],
        "migrated": [log_plan("migrated", dialect, curves.healthy(f"migrated {i}", seed), i) for i in range(2)],
    }
    if faulty_too:
        run = faults.FAULTS["curve_leaves"].put(curves.healthy("migrated 1", seed), "middle")
        runs["migrated"][1] = log_plan("migrated", dialect, run, 1)
    for plans in runs.values():
        for plan in plans:
            plan.folder = plan.plan["run"]
    if turned:  # the first baseline run stays the reference
        runs["baseline"] = [runs["baseline"][0]] + runs["baseline"][:0:-1]
        runs["migrated"].reverse()
    return audit.Audit(**runs)


def swapped(dialect, seed):
    """The log of either side on the other: still two runs that agree."""
    base, migrated = runs_of(seed)
    return pair(dialect, seed, base=migrated, migrated=base)


# What a migration brings together: the baseline's framework against the migrated one's.
CROSS = (
    ("megatron", "mindformers"),
    ("megatron", "mindspeed-fsdp2"),
    ("hf-trainer-state", "llamafactory-jsonl"),
    ("deepspeed", "hf-stdout"),
    ("torchtitan", "text"),
    ("tf-estimator", "mindspore-lossmonitor"),
    ("paddle", "jsonl"),
    ("mmengine", "csv"),
    ("text", "mindspore-callback"),
)
CROSS_FAULTS = (
    "nan_loss",
    "constant_ratio_8",
    "curve_leaves_far",
    "curve_leaves",
    "curve_lower",
    "within_limit",
    "one_spike",
    "learning_rate_doubled",
    "learning_rate_1.05",
    "schedule_faster",
    "warmup_differs",
    "gradients_not_cleared",
    "constant_gradient_ratio_quarter",
    "gradient_ratio_within",
)


def crossed(dialects, seed, fault=None, place="", side=""):
    plans = {}
    for name, dialect in zip(("baseline", "migrated"), dialects):
        run = curves.healthy(name, seed)
        if side == name:
            run = fault.put(run, place)
        plans[name] = [log_plan(name, dialect, run)]
        if plans[name][0].plan["facts"]["compute_dtype"] != "float16":
            plans[name][0].plan["facts"].pop("compute_dtype")
    return audit.Audit(**plans)


def cross_cells(seed):
    for names in CROSS:
        dialects = tuple(logs.DIALECTS[name] for name in names)
        name = "-".join(names)
        yield audit.Cell(
            name,
            "healthy",
            "",
            lambda a=(dialects, seed): [crossed(*a)],
            audit.judge_healthy(["training.flow.loss-curve"]),
        )
        for fault in map(faults.FAULTS.get, CROSS_FAULTS):
            if not all(faults.applies(fault, dialect) for dialect in dialects):
                continue
            for side, dialect in zip(("baseline", "migrated"), dialects):
                place = fault.places[len(fault.places) // 2]
                checks = fault.checks(side)
                judge = (
                    audit.judge_healthy(checks[:1])
                    if fault.healthy
                    else audit.judge_fault(checks, faults.kinds_in(fault, dialect))
                )
                yield audit.Cell(
                    name,
                    fault.name,
                    f"{place},{side}" if place else side,
                    lambda a=(dialects, seed, fault, place, side): [crossed(*a)],
                    judge,
                )


TOGETHER = (
    ("overflow_rate_far", "curve_leaves_far"),
    ("nan_loss", "learning_rate_doubled"),
    ("curve_leaves_far", "warmup_differs"),
    ("overflow_rate_far", "nan_loss"),
    ("gradients_not_cleared", "learning_rate_doubled"),
    ("nan_loss", "curve_leaves"),
    ("schedule_faster", "overflow_rate"),
)


def beside_cells(seed):
    """Two faults at once: each must be told."""
    for dialect in logs.DIALECTS.values():
        for names in TOGETHER:
            pair_of = [faults.FAULTS[name] for name in names]
            if not all(faults.applies(fault, dialect) for fault in pair_of):
                continue
            if dialect.on_nan == "stop" and "nan_loss" in names:
                continue  # the log ends before the second shows
            judges = [audit.judge_fault(f.checks("migrated"), faults.kinds_in(f, dialect)) for f in pair_of]
            yield audit.Cell(
                dialect.name,
                "two_faults",
                "+".join(names),
                lambda a=(dialect, pair_of, seed): [both(*a)],
                audit.judge_all(judges),
            )


def both(dialect, pair_of, seed):
    run = curves.healthy("migrated", seed)
    for fault in pair_of:
        run = fault.put(run, fault.places[len(fault.places) // 2])
    return pair(dialect, seed, migrated=run)


def property_cells(seed):
    for dialect in logs.DIALECTS.values():
        name = dialect.name
        yield audit.Cell(
            name,
            "order_of_plans",
            "healthy",
            lambda a=(dialect, seed): [repeats(*a, False, False), repeats(*a, True, False)],
            audit.judge_same(),
        )
        yield audit.Cell(
            name,
            "order_of_plans",
            "faulty",
            lambda a=(dialect, seed): [repeats(*a, False, True), repeats(*a, True, True)],
            audit.judge_same(),
        )
        yield audit.Cell(
            name,
            "equal_sides",
            "",
            lambda a=(dialect, seed): [pair(a[0], a[1], migrated=curves.healthy("baseline", a[1]))],
            audit.judge_healthy(),
        )
        yield audit.Cell(
            name, "swapped_sides", "", lambda a=(dialect, seed): [swapped(*a)], audit.judge_healthy(passes(dialect))
        )
        yield audit.Cell(
            name, "log_taken_away", "", lambda a=(dialect, seed): without_log(*a), audit.judge_less("a log")
        )


def without_log(dialect, seed):
    """A log of the migrated side is taken away, beside settings that say little."""
    first, second = pair(dialect, seed), pair(dialect, seed)
    for one in (first, second):
        one.migrated[0].files["env.txt"] = b"WORLD_SIZE=8\nRANK=0\nMASTER_ADDR=10.0.0.1\n"
        one.migrated[0].plan["settings"] = [{"file": "env.txt", "kind": "environment"}]
    for path in logs.files_of(dialect, curves.healthy("migrated", seed)):
        second.migrated[0].files.pop(path)
    second.migrated[0].plan.pop("logs")
    return [first, second]


def cells(seed):
    for make in (change_cells, form_cells, property_cells, fault_cells, beside_cells, cross_cells):
        yield from make(seed)
