"""Cells about records of the observer: a training as it is recorded inside its processes, with each fault in turn, in
other forms, and with records that contradict themselves or each other.

The form is that of docs/observer.md; no code of the observer or of its reader is used here.
"""
import copy
import gzip
import hashlib
import json
import struct

import audit

WORLD = 2
SAMPLES, BATCH, STEPS = 64, 4, 16
INTEGRITY = "evidence.integrity.records"


def digest(numbers):
    return hashlib.blake2b(struct.pack(f"<{len(numbers)}q", *numbers), digest_size=16).hexdigest()


def value_of(*words):
    """32 hexadecimal digits that are equal where the words are."""
    return hashlib.md5("/".join(map(str, words)).encode()).hexdigest()


class Record:
    """One process, as a list of records that faults change."""

    def __init__(self, side, rank):
        self.side, self.rank, self.lines = side, rank, []

    def add(self, kind, **fields):
        self.lines.append(dict({"k": kind, "t": 1000.0 + len(self.lines) / 10}, **fields))

    def of(self, kind, **wanted):
        return [one for one in self.lines if one["k"] == kind and all(one.get(n) == v for n, v in wanted.items())]

    def text(self):
        return "".join(json.dumps(one) + "\n" for one in self.lines)


def order_of(rank, epoch):
    """What a sampler deals out to a rank: every number once over the ranks, another order in each epoch."""
    numbers = sorted(range(SAMPLES), key=lambda n: hashlib.md5(f"{epoch}.{n}".encode()).digest())
    return numbers[rank::WORLD]


def elements_of(shape):
    size = 1
    for extent in shape:
        size *= extent
    return size


def tensor(name, shape, *words):
    size = elements_of(shape)
    return {
        "name": name,
        "shape": shape,
        "dtype": "F32",
        "device": "cpu",
        "requires_grad": True,
        "xxh3": value_of("x", name, *words),
        "values": value_of("v", name, *words),
        "min": -1.0,
        "max": 1.0,
        "sum": 0.25,
        "sum_of_squares": size / 3,
        "sum_of_fourths": size / 5,
        "finite": size,
    }


SHAPES = {"body.weight": [32, 16], "body.bias": [32], "norm.weight": [32], "head.weight": [8, 32]}


def start(record):
    rank = record.rank
    record.add(
        "begin",
        format="paritect-observe/1",
        level="full",
        host=f"{record.side}-node",
        pid=100 + rank,
        ppid=1,
        start=7000 + rank,
        image="exec",
        python="3.11.2",
        executable="/usr/bin/python3",
        main="/src/train.py",
        how="audit-hook",
        late=False,
        env={"RANK": str(rank), "WORLD_SIZE": str(WORLD)},
    )
    record.add("framework", name="torch", version="2.1.0", file="torch/__init__.py", tried=True, patched=60, missing=[])
    record.add("process_group", backend="nccl" if record.side == "baseline" else "hccl", rank=rank, world=WORLD)
    record.add("seed", call="torch.manual_seed", value=42, where="train.py:10")


def model(record):
    record.add("wrap", **{"class": "torch.nn.parallel.distributed.DistributedDataParallel", "module": "Net"})
    elements = sum(map(elements_of, SHAPES.values()))
    record.add("root", id=0, **{"class": "DistributedDataParallel", "module": "__main__.Net"}, trainable=elements,
               elements=elements, at=0)
    layers = [
        ["body", "torch.nn.Linear", True, {"in_features": 16, "out_features": 32}],
        ["norm", "torch.nn.BatchNorm1d", True, {"num_features": 32, "eps": 1e-5, "momentum": 0.1}],
        ["drop", "torch.nn.Dropout", True, {"p": 0.1}],
        ["head", "torch.nn.Linear", True, {"in_features": 32, "out_features": 8}],
    ]
    record.add("modules", root=0, of=layers, total=len(layers), **{"from": 0})
    rows = [[name, shape, "F32", True, "cpu"] for name, shape in SHAPES.items()]
    record.add("parameters", root=0, of=rows, total=len(rows), **{"from": 0})
    weights = [tensor(name, shape, "start") for name, shape in SHAPES.items()]
    record.add("weights", root=0, at=0, role="parameter", stage="after-wrap", of=weights, total=len(weights),
               **{"from": 0})


def settings(record):
    record.add("flags", flags={
        "cuda.matmul.allow_tf32": False, "cudnn.allow_tf32": False, "float32_matmul_precision": "highest",
        "cudnn.deterministic": True, "cudnn.benchmark": False, "deterministic_algorithms": True,
        "default_dtype": "F32", "device": "cuda:0" if record.side == "baseline" else "npu:0"})
    record.add("seeds", torch=42, torch_state=value_of("torch", record.rank), random_state=value_of("random"),
               numpy_state=value_of("numpy"), pythonhashseed="0")
    record.add("autocast", device="cuda" if record.side == "baseline" else "npu", dtype="F16", enabled=True,
               cache=True, root=0, where="train.py:40")
    record.add("scaler", id=0, **{"class": "torch.cuda.amp.grad_scaler.GradScaler"}, enabled=True, init_scale=65536.0,
               growth_factor=2.0, backoff_factor=0.5, growth_interval=2000, dynamic=True, where="train.py:20")
    record.add("optimizer", id=0, **{"class": "torch.optim.adamw.AdamW"}, defaults={"lr": 0.001}, wraps=None,
               where="train.py:21")
    options = {"lr": 0.001, "initial_lr": 0.001, "weight_decay": 0.1, "betas": [0.9, 0.95], "eps": 1e-08}
    groups = [(options, ("body.weight", "head.weight")),
              (dict(options, weight_decay=0.0), ("body.bias", "norm.weight"))]
    for number, (values, names) in enumerate(groups):
        rows = [[name, elements_of(SHAPES[name]), "F32", True, 0] for name in names]
        record.add("group", optimizer=0, group=number, at=0, options=values, total=len(rows), params=rows,
                   **{"from": 0})
    record.add("scheduler", id=0, **{"class": "torch.optim.lr_scheduler.CosineAnnealingLR"}, optimizer=0,
               base_lrs=[0.001, 0.001], attributes={"T_max": 100, "eta_min": 0.0}, where="train.py:22")


def loader(record, number, shuffle):
    record.add(
        "loader",
        id=number,
        **{"class": "torch.utils.data.dataloader.DataLoader"},
        dataset={"class": "data.Images", "kind": "map", "len": SAMPLES, "attributes": {
            "transform": {"class": "torchvision.transforms.Compose", "attributes": {"transforms": [
                {"class": "Resize", "attributes": {"size": 256}},
                {"class": "Normalize", "attributes": {"mean": [0.5, 0.5, 0.5], "std": [0.25, 0.25, 0.25]}}]}}}},
        len=SAMPLES // WORLD // BATCH,
        batch_size=BATCH,
        drop_last=False,
        shuffle=shuffle,
        workers=2,
        prefetch_factor=2,
        persistent_workers=False,
        sampler={"class": "torch.utils.data.distributed.DistributedSampler", "attributes": {
            "num_replicas": WORLD, "rank": record.rank, "epoch": 0, "shuffle": shuffle, "seed": 0, "drop_last": False}},
        collate_fn="torch.utils.data._utils.collate.default_collate",
        where=f"train.py:{30 + number}",
    )


def one_pass(record, number, epoch, order, trained):
    record.add("pass", loader=number, sampler_epoch=epoch, sampler_seed=0, base_seed=900 + epoch, phase=trained,
               at=epoch * len(order) // BATCH, **{"pass": epoch})
    if epoch < 2:
        for n in range(2):
            record.add("batch", loader=number, n=n, tensors=[
                {"path": "0", "shape": [BATCH, 16], "dtype": "F32", "xxh3": value_of(number, epoch, record.rank, n)}],
                **{"pass": epoch})
            if epoch == 0:
                record.add("fed", root=0, n=n, training=number == 0, at=n, tensors=[
                    {"path": "0", "shape": [BATCH, 16], "dtype": "F32",
                     "xxh3": value_of(number, epoch, record.rank, n)}])
    record.add("indices", loader=number, requested=len(order), requested_batches=len(order) // BATCH,
               batches=len(order) // BATCH, samples=len(order), whole=True, digest=digest(order),
               at_batches={"1": digest(order[:BATCH])}, first=list(order), last=list(order[-16:]), **{"pass": epoch})


def steps(record):
    before = 0
    for epoch in range(2):
        one_pass(record, 0, epoch, order_of(record.rank, epoch), None if epoch == 0 else True)
        record.add("phase", root=0, phase=2 * epoch, training=True, grad=True, inference=False,
                   forwards=STEPS // 2, rows=STEPS // 2 * BATCH, at=before, other=[], other_total=0)
        for n in range(before + 1, before + STEPS // 2 + 1):
            if n <= 2:
                gradients = [tensor(name, shape, "gradient", n) for name, shape in SHAPES.items()]
                record.add("grads", optimizer=0, n=n, stage="before-step", scale=1.0, clip_factor=1.0, of=gradients,
                           total=len(gradients), **{"from": 0})
                changes = [dict(tensor(name, shape, "update", n), changed=8, elements=8)
                           for name, shape in SHAPES.items()]
                record.add("update", optimizer=0, n=n, of=changes, total=len(changes), **{"from": 0})
                after = [tensor(name, shape, "after", n) for name, shape in SHAPES.items()]
                record.add("weights", root=0, at=n, role="parameter", stage="after-wrap", optimizer=0, of=after,
                           total=len(after), **{"from": 0})
            record.add("step", optimizer=0, n=n, lr=[0.001, 0.001], weight_decay=[0.1, 0.0], forwards=1, backwards=1,
                       zeroed=1, clip={"by": "norm", "limit": 1.0, "norm_type": 2.0, "norm": 2.0 - n / 20, "calls": 1},
                       loss=2.5 - n / 20, loss_first=2.5 - n / 20, losses=1, loss_sum=2.5 - n / 20, collectives=2,
                       sync_off=0, schedulers=[[0, n, n + 1]], scale=65536.0, grad_norm=None)
            record.add("scale", scaler=0, n=n, before=65536.0, after=65536.0, applied=True, optimizer=0, at=n)
            if n > 1:
                record.add("kept", optimizer=0, n=n - 1, looked=4, kept=0)
        before += STEPS // 2
        if epoch == 0:
            one_pass(record, 1, 0, list(range(record.rank, SAMPLES, WORLD)), True)
        record.add("phase", root=0, phase=2 * epoch + 1, training=False, grad=False, inference=False,
                   forwards=SAMPLES // WORLD // BATCH, rows=SAMPLES // WORLD, at=before, other=[], other_total=0)


def healthy(side, rank):
    record = Record(side, rank)
    start(record)
    model(record)
    settings(record)
    loader(record, 0, True)
    loader(record, 1, False)
    steps(record)
    record.add("end", steps=STEPS, why="exit", skipped=0, spent_ms=12.5, calls=900, errors=0, lost=0, counters={})
    return record


# --- faults of the training: record -> None ---

FAULTS = {}


def training(name, checks, kinds, ranks="all", sides=("migrated", "baseline")):
    def register(put):
        FAULTS[name] = (put, tuple(checks.split()), tuple(kinds.split()), ranks, sides)
        return put

    return register


@training("no_eval", "training.flow.evaluation", "train_mode_at_eval evaluation_mode_differs")
def no_eval(record):
    for one in record.of("phase", training=False):
        one["training"] = True


@training("gradients_kept", "training.flow.state", "gradients_not_cleared")
def gradients_kept(record):
    for one in record.of("kept"):
        one["kept"] = one["looked"]
    for one in record.of("step"):
        one["zeroed"] = 0


@training("schedule_twice", "model.hyperparameters.learning-rate-curve", "schedule_faster")
def schedule_twice(record):
    for one in record.of("step"):
        one["schedulers"][0][1:] = [2 * one["n"], 2 * one["n"] + 1]


@training("epoch_not_set", "data.preprocessing.shuffle data.sharding.disjoint data.sharding.same-assignment",
          "epoch_not_set")
def epoch_not_set(record):
    first = record.of("indices", loader=0)[0]
    for one in record.of("indices", loader=0):
        one.update({name: first[name] for name in ("digest", "at_batches", "first", "last")})


@training("same_data_on_all_ranks", "data.sharding.disjoint data.sharding.complete data.sharding.same-assignment",
          "not_sharded read_twice not_read assignment_differs")
def same_data_on_all_ranks(record):
    for one in record.of("indices", loader=0):
        order = order_of(0, one["pass"])
        one.update(digest=digest(order), at_batches={"1": digest(order[:BATCH])}, first=order, last=order[-16:])


@training("other_sampler_seed", "data.preprocessing.shuffle data.preprocessing.samples", "shuffle_differs "
          "sample_order_differs")
def other_sampler_seed(record):
    for one in record.of("loader", id=0):
        one["sampler"]["attributes"]["seed"] = 9
    for one in record.of("pass", loader=0):
        one["sampler_seed"] = 9


@training("shuffle_off", "data.preprocessing.shuffle", "shuffle_differs")
def shuffle_off(record):
    for one in record.of("loader", id=0):
        one["shuffle"] = one["sampler"]["attributes"]["shuffle"] = False


@training("drop_last", "data.preprocessing.padding", "padding_differs")
def drop_last(record):
    record.of("loader", id=0)[0]["drop_last"] = True


@training("other_normalisation", "data.preprocessing.transform", "transform_differs")
def other_normalisation(record):
    steps_of = record.of("loader", id=0)[0]["dataset"]["attributes"]["transform"]["attributes"]["transforms"]
    steps_of[1]["attributes"]["mean"] = [0.4, 0.5, 0.5]


@training("other_data_set", "data.preprocessing.read-count", "value_differs read_count_differs pipeline_differs")
def other_data_set(record):
    record.of("loader", id=0)[0]["dataset"]["len"] = SAMPLES * 2


@training("scaler_off", "migrated.loss-scale.enabled", "loss_scale_off", sides=("migrated",))
def scaler_off(record):
    record.of("scaler")[0]["enabled"] = False
    record.lines = [one for one in record.lines if one["k"] != "scale"]


@training("static_scale", "migrated.loss-scale.dynamic", "scaler_kind_differs dynamic_differs loss_scale_kind_differs "
          "static_loss_scale", sides=("migrated",))
def static_scale(record):
    record.of("scaler")[0].update(dynamic=False, growth_factor=1.0, backoff_factor=1.0)


@training("cast_inside_autocast", "migrated.mixed-precision.single-mechanism", "two_mechanisms", sides=("migrated",))
def cast_inside_autocast(record):
    root = record.of("root")[0]
    at = record.lines.index(root)
    record.lines.insert(at, dict(record.lines[at - 1], k="cast", call="half", dtype="F16", elements=root["elements"],
                                 trainable=root["elements"], norms=32, root=None, at=0, where="train.py:18",
                                 **{"class": "Net"}))
    for one in record.of("parameters")[0]["of"]:
        one[2] = "F16"
    for one in record.of("group"):
        for row in one["params"]:
            row[2] = "F16"
    for one in record.of("weights"):
        for row in one["of"]:
            row["dtype"] = "F16"


@training("other_type", "migrated.mixed-precision.same-mechanism", "dtype_differs mechanism_differs")
def other_type(record):
    record.of("autocast")[0]["dtype"] = "BF16"


@training("decay_on_other_groups", "model.hyperparameters.per-group", "groups_differ")
def decay_on_other_groups(record):
    first, second = record.of("group")
    moved = second["params"].pop()
    first["params"].append(moved)
    first["total"], second["total"] = len(first["params"]), len(second["params"])


@training("one_frozen", "model.hyperparameters.per-group first-step.update.updated training.flow.graph",
          "groups_differ not_updated trainable_differs")
def one_frozen(record):
    group = record.of("group")[0]
    group["params"].pop()
    group["total"] = len(group["params"])
    record.of("parameters")[0]["of"][3][3] = False
    for one in record.of("weights"):
        one["of"][3].update({name: tensor("head.weight", SHAPES["head.weight"], "start")[name]
                             for name in ("xxh3", "values")})


@training("other_momentum_of_batchnorm", "model.hyperparameters.conventions network.definition.batchnorm-momentum",
          "layer_differs convention_differs")
def other_momentum_of_batchnorm(record):
    record.of("modules")[0]["of"][1][3]["momentum"] = 0.9


@training("other_dropout", "model.hyperparameters.conventions network.definition.dropout",
          "layer_differs convention_differs")
def other_dropout(record):
    record.of("modules")[0]["of"][2][3]["p"] = 0.5


@training("other_learning_rate", "model.hyperparameters.learning-rate", "learning_rate_differs linear_scaling")
def other_learning_rate(record):
    for one in record.of("group"):
        one["options"].update(lr=0.002, initial_lr=0.002)
    for one in record.of("step"):
        one["lr"] = [0.002, 0.002]


@training("clipping_on_one_side", "model.hyperparameters.values", "value_differs clip_differs")
def clipping_on_one_side(record):
    for one in record.of("step"):
        one["clip"] = None


@training("accumulation", "model.hyperparameters.global-batch", "global_batch_differs linear_scaling value_differs")
def accumulation(record):
    for one in record.of("step"):
        one.update(forwards=2, backwards=2, losses=2)


@training("other_seed", "model.hyperparameters.values", "value_differs")
def other_seed(record):
    record.of("seed")[0]["value"] = 43
    record.of("seeds")[0]["torch"] = 43


@training("other_weights_at_start", "training.flow.initial-weights", "weights_differ")
def other_weights_at_start(record):
    for row in record.of("weights", at=0)[0]["of"]:
        row["xxh3"], row["values"] = value_of("other", row["name"]), value_of("another", row["name"])


@training("replicas_differ", "training.flow.replicas training.flow.distributed",
          "replicas_differ gradients_not_synchronised", ranks="last")
def replicas_differ(record):
    for one in record.of("weights"):
        if one["at"] > 0:
            for row in one["of"]:
                row["xxh3"] = value_of("other", row["name"], one["at"])
                row["values"] = value_of("another", row["name"], one["at"])


@training("nan_loss", "training.flow.loss-curve convergence.scenario", "nan_loss nan_suspected")
def nan_loss(record):
    for one in record.of("step"):
        if one["n"] > 9:
            one.update(loss="nan", loss_first="nan", loss_sum="nan")


@training("many_skips", "migrated.loss-scale.overflow-rate", "overflow_rate_exceeded", sides=("migrated",))
def many_skips(record):
    scale = 65536.0
    for one in record.of("scale"):
        one["n"] += 8 if one["n"] > 8 else 0
    at = record.lines.index(record.of("scale", n=8)[0]) + 1
    for n in range(9, 17):
        record.lines.insert(at, dict(record.lines[at - 1], k="scale", scaler=0, n=n, before=scale, after=scale / 2,
                                     applied=False, optimizer=0, at=8))
        scale, at = scale / 2, at + 1
    record.of("end")[0]["skipped"] = 8


# --- records that contradict themselves: record -> None; what rests on the part must not pass ---

CONTRADICTIONS = {}


def contradiction(name, checks, warns=False):
    def register(put):
        CONTRADICTIONS[name] = (put, tuple(checks.split()), warns)
        return put

    return register


STEP_CHECKS = "training.flow.loss-curve migrated.loss-scale.overflow-rate training.flow.state"
SAMPLE_CHECKS = "data.sharding.disjoint data.sharding.same-assignment data.preprocessing.shuffle"
ALL_CHECKS = STEP_CHECKS + " " + SAMPLE_CHECKS + " migrated.mixed-precision.enabled training.flow.evaluation"


@contradiction("skips_beyond_steps", STEP_CHECKS)
def skips_beyond_steps(record):
    record.of("end")[0]["skipped"] = 13 * STEPS


@contradiction("skips_recorded_not_counted", STEP_CHECKS)
def skips_recorded_not_counted(record):
    record.of("scale")[4].update(applied=False, after=32768.0)


@contradiction("end_counts_fewer_steps", STEP_CHECKS)
def end_counts_fewer_steps(record):
    record.of("end")[0]["steps"] = STEPS - 3


@contradiction("steps_go_back", STEP_CHECKS)
def steps_go_back(record):
    record.of("step")[9]["n"] = 4


@contradiction("step_twice", STEP_CHECKS)
def step_twice(record):
    at = record.lines.index(record.of("step")[5])
    record.lines.insert(at, copy.deepcopy(record.lines[at]))


@contradiction("disabled_scaler_skips", STEP_CHECKS)
def disabled_scaler_skips(record):
    record.of("scaler")[0]["enabled"] = False
    record.of("scale")[4].update(applied=False)
    record.of("end")[0]["skipped"] = 1


@contradiction("negative_count", ALL_CHECKS)
def negative_count(record):
    record.of("step")[3]["backwards"] = -1


@contradiction("more_samples_than_asked", SAMPLE_CHECKS)
def more_samples_than_asked(record):
    record.of("indices", loader=0)[0]["samples"] += 5


@contradiction("digest_of_other_numbers", SAMPLE_CHECKS)
def digest_of_other_numbers(record):
    one = record.of("indices", loader=0)[0]
    one["first"][0], one["first"][1] = one["first"][1], one["first"][0]


@contradiction("digest_of_first_batch", SAMPLE_CHECKS)
def digest_of_first_batch(record):
    record.of("indices", loader=0)[1]["at_batches"]["1"] = digest([1, 2, 3, 4])


@contradiction("last_is_not_the_end", SAMPLE_CHECKS)
def last_is_not_the_end(record):
    record.of("indices", loader=0)[0]["last"][-1] += 1


@contradiction("more_numbers_than_asked", SAMPLE_CHECKS)
def more_numbers_than_asked(record):
    record.of("indices", loader=0)[0]["first"].append(5)


@contradiction("pass_twice", SAMPLE_CHECKS)
def pass_twice(record):
    record.of("pass", loader=0)[1]["pass"] = 0


@contradiction("seed_against_call", "model.hyperparameters.values data.preprocessing.shuffle", warns=True)
def seed_against_call(record):
    record.of("seed")[0]["value"] = 7


@contradiction("cast_against_parameters", "migrated.mixed-precision.enabled migrated.mixed-precision.single-mechanism "
               "migrated.mixed-precision.same-mechanism", warns=True)
def cast_against_parameters(record):
    root = record.of("root")[0]
    at = record.lines.index(root)
    record.lines.insert(at, dict(record.lines[at - 1], k="cast", call="half", dtype="F16", elements=root["elements"],
                                 trainable=root["elements"], norms=32, root=None, at=0, where="train.py:18",
                                 **{"class": "__main__.Net"}))


@contradiction("rank_outside_world", ALL_CHECKS)
def rank_outside_world(record):
    record.of("process_group")[0]["rank"] = WORLD + 3


@contradiction("two_ends", ALL_CHECKS)
def two_ends(record):
    record.lines.append(copy.deepcopy(record.lines[-1]))


@contradiction("steps_after_end", ALL_CHECKS)
def steps_after_end(record):
    end = record.lines.pop()
    record.lines.insert(-4, end)


@contradiction("list_beyond_its_length", "training.flow.initial-weights training.flow.replicas")
def list_beyond_its_length(record):
    record.of("weights", at=0)[0]["total"] = 2


@contradiction("part_of_list_twice", "training.flow.initial-weights training.flow.replicas")
def part_of_list_twice(record):
    at = record.lines.index(record.of("weights", at=0)[0])
    record.lines.insert(at, copy.deepcopy(record.lines[at]))


@contradiction("more_elements_than_shape", "training.flow.initial-weights training.flow.replicas")
def more_elements_than_shape(record):
    record.of("weights", at=0)[0]["of"][0]["nan"] = 3


# --- plans ---


def side_plan(side, put=None, ranks="all", change=None):
    files = {}
    for rank in range(WORLD):
        record = healthy(side, rank)
        if put and (ranks == "all" or rank == WORLD - 1):
            put(record)
        name = f"observe/{side}-node-{100 + rank}-{7000 + rank}.jsonl"
        files.update(change(name, record.text()) if change else {name: record.text().encode()})
    return audit.Plan(
        {
            "run": side,
            "node": f"{side}-node",
            "platform": "nvidia" if side == "baseline" else "atlas-training",
            "world_size": WORLD,
            "observed": ["observe/"],
        },
        files,
    )


def pair(put=None, side="migrated", ranks="all", change=None):
    return audit.Audit(**{
        name: [side_plan(name, put if side in (name, "both") else None, ranks, change if name == "migrated" else None)]
        for name in ("baseline", "migrated")
    })


def killed(name, text):
    """Killed while it wrote: no end, and half a line."""
    lines = text.splitlines(keepends=True)
    return {name: "".join(lines[:-1] + [lines[-1][:20]]).encode()}


FORMS = {
    "crlf": lambda name, text: {name: text.replace("\n", "\r\n").encode()},
    "gz": lambda name, text: {name + ".gz": gzip.compress(text.encode(), mtime=0)},
    "renamed": lambda name, text: {name.replace("migrated-node", "job-7"): text.encode()},
    "deeper": lambda name, text: {name.replace("observe/", "observe/2026-12-01/"): text.encode()},
    "newer": lambda name, text: {name: text.replace('"k": "step"', '"k": "step", "mood": 1').encode()},
    "killed": killed,
    "fields_in_other_order": lambda name, text: {
        name: "".join(json.dumps(dict(reversed(json.loads(line).items()))) + "\n"
                      for line in text.splitlines()).encode()},
}
PASSES = (
    "data.sharding.ranks", "data.sharding.complete", "data.sharding.disjoint", "data.sharding.same-assignment",
    "data.preprocessing.read-count", "data.preprocessing.shuffle", "data.preprocessing.padding",
    "data.preprocessing.transform", "data.preprocessing.samples", "training.flow.evaluation", "training.flow.state",
    "training.flow.initial-weights", "migrated.mixed-precision.enabled", "migrated.mixed-precision.single-mechanism",
    "migrated.mixed-precision.same-mechanism", "migrated.loss-scale.enabled", "model.hyperparameters.learning-rate",
    "model.hyperparameters.per-group", INTEGRITY,
)


def judge_contradiction(resting, warns):
    """The report says that the evidence is in doubt, and what rests on it is not performed, with its reason."""

    def judge(reports):
        found = audit.checks(reports[0])
        told = [f for f in found[INTEGRITY]["findings"] if f["kind"] == "record_contradiction"]
        for name in resting:
            if found[name]["verdict"] == "pass":
                return audit.WRONG_PASS, f"{name} passes on a record that contradicts itself"
            if found[name]["verdict"] != "fail" and not found[name]["missing"]:
                return audit.BROKEN, f"{name} is not performed and misses nothing"
        if not told or told[0]["severity"] != ("warning" if warns else "error"):
            return audit.CAUSE_MISSING, f"{INTEGRITY} says {[f['kind'] for f in found[INTEGRITY]['findings']]}"
        for name, finding in audit.errors(reports[0]):
            if name != INTEGRITY:
                return audit.FALSE_ALARM, audit.told(name, finding)
        return audit.RIGHT, ""

    return judge


def twins():
    """Another process of rank 0 that lived at the same time."""
    result = pair()
    files = result.migrated[0].files
    record = healthy("migrated", 0)
    record.lines[0].update(pid=500, host="migrated-other")
    files["observe/migrated-other-500-7000.jsonl"] = record.text().encode()
    return result


def cells(_):
    dialect = "observed/torch"
    yield audit.Cell(dialect, "healthy", "", lambda: [pair()], audit.judge_healthy(PASSES))
    yield audit.Cell(dialect, "swapped_sides", "", lambda: [
        audit.Audit([side_plan("migrated")], [side_plan("baseline")])], audit.judge_healthy(may_fail=(
            "migrated.*", "baseline.mixed-precision.*")))
    for name, change in FORMS.items():
        yield audit.Cell(dialect, "form", name, lambda c=change: [pair(), pair(change=c)], audit.judge_same())
        yield audit.Cell(dialect, "form", f"{name},no_eval", lambda c=change: [
            pair(no_eval), pair(no_eval, change=c)], audit.judge_same())
    yield audit.Cell(dialect, "rank_silent", "", lambda: [silent()], judge_silent)
    for name, (put, checks, kinds, ranks, sides) in FAULTS.items():
        for side in sides:
            yield audit.Cell(dialect, name, side, lambda a=(put, side, ranks): [pair(*a)],
                             audit.judge_fault(checks, kinds))
    for name, (put, checks, warns) in CONTRADICTIONS.items():
        for side in ("migrated", "baseline", "both"):
            resting = [one for one in checks if side != "baseline" or not one.startswith("migrated.")]
            yield audit.Cell(dialect, "contradiction", f"{name},{side}", lambda a=(put, side): [pair(*a)],
                             judge_contradiction(resting, warns))
    yield audit.Cell(dialect, "contradiction", "two_processes_of_a_rank", lambda: [twins()],
                     judge_contradiction(ALL_CHECKS.split(), True))


def silent():
    result = pair()
    files = result.migrated[0].files
    files.pop(sorted(files)[-1])
    return result


def judge_silent(reports):
    found = audit.checks(reports[0])
    for name in ("data.sharding.ranks", "data.sharding.complete", "data.sharding.disjoint", "training.flow.replicas"):
        if found[name]["verdict"] == "pass":
            return audit.WRONG_PASS, f"{name} passes without a rank's record"
    for name, finding in audit.errors(reports[0]):
        return audit.FALSE_ALARM, audit.told(name, finding)
    return audit.RIGHT, ""
