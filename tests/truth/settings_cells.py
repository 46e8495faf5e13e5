"""Cells about settings: one set of values in every format that states it, with each value changed in turn."""
import json

import audit

FORMATS = {}
VALUES = {
    "lr": 1e-4,
    "weight_decay": 0.1,
    "beta2": 0.95,
    "eps": 1e-8,
    "warmup": 100,
    "steps": 1000,
    "batch": 4,
    "accumulation": 2,
    "world": 8,
    "dropout": 0.1,
    "dtype": "bf16",
    "clip": 1.0,
    "seed": 42,
    "schedule": "cosine",
    "length": 2048,
}
DEFAULTS = {"beta2": 0.999, "eps": 1e-8}
VALUES_CHECK = "model.hyperparameters.values"
RATE = "model.hyperparameters.learning-rate"
BATCH = "model.hyperparameters.global-batch"
TYPE = ("migrated.mixed-precision.same-mechanism", "migrated.mixed-precision.enabled")

# kind -> (value, what it becomes, checks, kinds)
FAULTS = {
    "learning_rate_far": ("lr", 3e-4, (RATE,), ("learning_rate_differs", "linear_scaling")),
    "learning_rate_near": ("lr", 1.01e-4, (RATE,), ("learning_rate_differs",)),
    "warmup": ("warmup", 200, (RATE,), ("warmup_differs",)),
    "schedule": ("schedule", "linear", (RATE,), ("schedule_differs", "learning_rate_differs")),
    "batch": ("batch", 8, (BATCH,), ("global_batch_differs", "linear_scaling")),
    "accumulation": ("accumulation", 4, (BATCH,), ("global_batch_differs", "linear_scaling")),
    "weight_decay": (
        "weight_decay",
        0.01,
        (VALUES_CHECK, "model.hyperparameters.per-group"),
        ("value_differs", "groups_differ"),
    ),
    "beta2": ("beta2", 0.999, (VALUES_CHECK,), ("value_differs",)),
    "eps": ("eps", 1e-6, (VALUES_CHECK,), ("value_differs",)),
    "clip": ("clip", 0.5, (VALUES_CHECK,), ("value_differs",)),
    "seed": ("seed", 43, (VALUES_CHECK,), ("value_differs",)),
    "length": ("length", 4096, (VALUES_CHECK, "data.preprocessing.padding"), ("value_differs", "padding_differs")),
    "dropout": (
        "dropout",
        0.0,
        (VALUES_CHECK, "network.definition.dropout", "model.hyperparameters.conventions"),
        ("value_differs", "convention_differs"),
    ),
    "dtype": ("dtype", "fp16", TYPE, ("dtype_differs", "mechanism_differs")),
    "steps": ("steps", 2000, (VALUES_CHECK, RATE), ("value_differs", "schedule_differs", "learning_rate_differs")),
}


def settings_format(name, file, states, framework="pytorch", comment="#", kind="settings"):
    """states: the values that the format has a place for."""

    def register(write):
        FORMATS[name] = (write, file, set(states.split()), framework, comment, kind)
        return write

    return register


@settings_format(
    "hf-args-json",
    "training_args.json",
    "lr weight_decay beta2 eps warmup steps batch accumulation dtype clip seed schedule",
    comment=None,
)
def hf_args(v):
    return json.dumps(
        {
            "learning_rate": v["lr"],
            "weight_decay": v["weight_decay"],
            "adam_beta1": 0.9,
            "adam_beta2": v["beta2"],
            "adam_epsilon": v["eps"],
            "warmup_steps": v["warmup"],
            "warmup_ratio": 0.0,
            "max_steps": v["steps"],
            "per_device_train_batch_size": v["batch"],
            "gradient_accumulation_steps": v["accumulation"],
            "bf16": v["dtype"] == "bf16",
            "fp16": v["dtype"] == "fp16",
            "max_grad_norm": v["clip"],
            "seed": v["seed"],
            "lr_scheduler_type": v["schedule"],
            "optim": "adamw_torch",
            "output_dir": "out",
            "num_train_epochs": 3.0,
        },
        indent=2,
    )


@settings_format(
    "llamafactory-yaml", "train.yaml", "lr weight_decay warmup steps batch accumulation dtype seed schedule length clip"
)
def llamafactory(v):
    return (
        f"### model\nmodel_name_or_path: qwen\nstage: sft\ndo_train: true\nfinetuning_type: full\ntemplate: qwen\n"
        f"cutoff_len: {v['length']}\nper_device_train_batch_size: {v['batch']}\n"
        f"gradient_accumulation_steps: {v['accumulation']}\nlearning_rate: {v['lr']:.3e}\n"
        f"lr_scheduler_type: {v['schedule']}\nwarmup_steps: {v['warmup']}\nmax_steps: {v['steps']}\n"
        f"weight_decay: {v['weight_decay']}\nseed: {v['seed']}\n"
        f"max_grad_norm: {v['clip']}\nbf16: {str(v['dtype'] == 'bf16').lower()}\n"
        f"fp16: {str(v['dtype'] == 'fp16').lower()}\n"
    )


@settings_format(
    "deepspeed-json",
    "ds_config.json",
    "lr weight_decay beta2 eps warmup steps batch accumulation dtype clip",
    comment=None,
)
def deepspeed(v):
    return json.dumps(
        {
            "train_micro_batch_size_per_gpu": v["batch"],
            "gradient_accumulation_steps": v["accumulation"],
            "train_batch_size": v["batch"] * v["accumulation"] * v["world"],
            "gradient_clipping": v["clip"],
            "optimizer": {
                "type": "AdamW",
                "params": {
                    "lr": v["lr"],
                    "betas": [0.9, v["beta2"]],
                    "eps": v["eps"],
                    "weight_decay": v["weight_decay"],
                },
            },
            "scheduler": {
                "type": "WarmupDecayLR",
                "params": {
                    "warmup_min_lr": 0,
                    "warmup_max_lr": v["lr"],
                    "warmup_num_steps": v["warmup"],
                    "total_num_steps": v["steps"],
                },
            },
            v["dtype"]: {"enabled": True},
            "zero_optimization": {"stage": 2},
        },
        indent=2,
    )


def megatron_options(v):
    return [
        ("--micro-batch-size", v["batch"]),
        ("--global-batch-size", v["batch"] * v["accumulation"] * v["world"]),
        ("--lr", v["lr"]),
        ("--min-lr", 1e-5),
        ("--lr-decay-style", v["schedule"]),
        ("--lr-warmup-iters", v["warmup"]),
        ("--train-iters", v["steps"]),
        ("--weight-decay", v["weight_decay"]),
        ("--adam-beta1", 0.9),
        ("--adam-beta2", v["beta2"]),
        ("--adam-eps", v["eps"]),
        ("--clip-grad", v["clip"]),
        ("--seed", v["seed"]),
        ("--attention-dropout", v["dropout"]),
        ("--hidden-dropout", v["dropout"]),
        ("--seq-length", v["length"]),
        (f"--{v['dtype']}", None),
    ]


MEGATRON = "lr weight_decay beta2 eps warmup steps batch accumulation dropout dtype clip seed schedule length"


@settings_format("megatron-script", "train.sh", MEGATRON, kind="script")
def megatron_script(v):
    words = "".join(f"    {name}{'' if value is None else f' {value}'} \\\n" for name, value in megatron_options(v))
    return (
        f"#!/bin/bash\nexport CUDA_DEVICE_MAX_CONNECTIONS=1\nGPUS={v['world']}\n\n"
        f'TRAIN_ARGS="\n{words.rstrip()[:-1]}\n"\n'
        "torchrun --nproc_per_node $GPUS --nnodes 1 pretrain_gpt.py \\\n"
        "    $TRAIN_ARGS \\\n    --distributed-backend nccl\n"
    )


@settings_format("megatron-args", "args.log", MEGATRON, kind="log")
def megatron_args(v):
    rows = [(name[2:].replace("-", "_"), True if value is None else value) for name, value in megatron_options(v)]
    rows += [
        ("world_size", v["world"]),
        ("data_parallel_size", v["world"]),
        ("tensor_model_parallel_size", 1),
        ("pipeline_model_parallel_size", 1),
        ("params_dtype", "torch.bfloat16" if v["dtype"] == "bf16" else "torch.float16"),
    ]
    lines = "".join(f"  {name} {'.' * (48 - len(name))} {value}\n" for name, value in sorted(rows))
    return (
        "------------------------ arguments ------------------------\n"
        + lines
        + "-------------------- end of arguments ---------------------\n"
    )


@settings_format(
    "argparse-namespace", "run.log", "lr weight_decay warmup batch accumulation dropout clip seed length", kind="log"
)
def namespace(v):
    return (
        f"Namespace(accumulation_steps={v['accumulation']}, batch_size={v['batch']}, clip_grad={v['clip']}, "
        f"dropout={v['dropout']}, lr={v['lr']}, max_seq_length={v['length']}, seed={v['seed']}, "
        f"warmup_steps={v['warmup']}, weight_decay={v['weight_decay']}, world_size={v['world']})\n"
    )


@settings_format(
    "mindformers-yaml",
    "pretrain.yaml",
    "lr weight_decay beta2 eps warmup batch accumulation dropout dtype seed length",
    framework="mindspore",
)
def mindformers(v):
    dtype = {"bf16": "bfloat16", "fp16": "float16"}[v["dtype"]]
    return (
        f"seed: {v['seed']}\nrun_mode: train\nuse_parallel: True\n\n"
        f"runner_config:\n  epochs: 1\n  batch_size: {v['batch']}\n"
        f"  sink_mode: True\n  gradient_accumulation_steps: {v['accumulation']}\n\noptimizer:\n  type: AdamW\n"
        f"  betas: [0.9, {v['beta2']}]\n  eps: {v['eps']}\n  weight_decay: {v['weight_decay']}\n\nlr_schedule:\n"
        f"  type: CosineWithWarmUpLR\n  learning_rate: {v['lr']}\n  lr_end: 1.e-5\n  warmup_steps: {v['warmup']}\n"
        f"  total_steps: -1\n\nparallel_config:\n  data_parallel: {v['world']}\n  model_parallel: 1\n"
        f"  pipeline_stage: 1\n"
        f"\nmodel:\n  model_config:\n    type: LlamaConfig\n    seq_length: {v['length']}\n"
        f"    hidden_dropout: {v['dropout']}\n"
        f'    compute_dtype: "{dtype}"\n    param_init_type: "float32"\n'
    )


@settings_format(
    "mmengine-config", "config.py", "lr weight_decay beta2 warmup steps batch accumulation dtype clip seed"
)
def mmengine(v):
    dtype = {"bf16": "bfloat16", "fp16": "float16"}[v["dtype"]]
    return (
        f"train_dataloader = dict(batch_size={v['batch']}, num_workers=4,\n"
        f"    sampler=dict(type='DefaultSampler', shuffle=True))\n"
        f"optim_wrapper = dict(type='AmpOptimWrapper', dtype='{dtype}', accumulative_counts={v['accumulation']},\n"
        f"    optimizer=dict(type='AdamW', lr={v['lr']}, betas=(0.9, {v['beta2']}),\n"
        f"        weight_decay={v['weight_decay']}),\n"
        f"    clip_grad=dict(max_norm={v['clip']}))\n"
        f"param_scheduler = [dict(type='LinearLR', start_factor=0.001, by_epoch=False, begin=0, end={v['warmup']}),\n"
        f"    dict(type='CosineAnnealingLR', by_epoch=False, begin={v['warmup']}, end={v['steps']})]\n"
        f"train_cfg = dict(type='IterBasedTrainLoop', max_iters={v['steps']}, val_interval=100)\n"
        f"randomness = dict(seed={v['seed']})\n"
    )


@settings_format("torchtitan-toml", "train.toml", "lr eps warmup steps batch clip seed length")
def torchtitan(v):
    return (
        f"[model]\nname = \"llama3\"\n\n[optimizer]\nname = \"AdamW\"\nlr = {v['lr']}\neps = {v['eps']}\n\n"
        f"[lr_scheduler]\n"
        f"warmup_steps = {v['warmup']}\n\n[training]\nlocal_batch_size = {v['batch']}\nseq_len = {v['length']}\n"
        f"max_norm = {v['clip']}\nsteps = {v['steps']}\nseed = {v['seed']}\n\n[parallelism]\n"
        "data_parallel_shard_degree = -1\n"
    )


@settings_format("flat-yaml", "config.yaml", "lr weight_decay warmup batch accumulation dropout clip seed length")
def flat_yaml(v):
    return (
        f"learning_rate: {v['lr']}\nweight_decay: {v['weight_decay']}\nwarmup_steps: {v['warmup']}\n"
        f"batch_size: {v['batch']}\n"
        f"gradient_accumulation_steps: {v['accumulation']}\ndropout: {v['dropout']}\nmax_grad_norm: {v['clip']}\n"
        f"seed: {v['seed']}\nmax_seq_length: {v['length']}\n"
    )


@settings_format("nested-yaml", "config.yaml", "lr weight_decay warmup batch dropout clip seed")
def nested_yaml(v):
    return (
        f"train:\n  batch_size: {v['batch']}\n  seed: {v['seed']}\n  max_grad_norm: {v['clip']}\n"
        f"optimizer:\n  name: adamw\n"
        f"  lr: {v['lr']}\n  weight_decay: {v['weight_decay']}\nscheduler:\n  warmup_steps: {v['warmup']}\n"
        f"model:\n  dropout: {v['dropout']}\n"
    )


def side_plan(side, form, values, change=None):
    write, file, _, framework, _, kind = FORMATS[form]
    text = write(values)
    content = change(text) if change else text.encode()
    plan = {
        "run": side,
        "node": f"{side}-node",
        "platform": "nvidia" if side == "baseline" else "atlas-a2",
        "framework": framework,
        "world_size": values["world"],
        ("logs" if kind == "log" else "settings"): [file],
    }
    return audit.Plan(plan, {file: content})


def pair(form, base=None, migrated=None, change=None):
    return audit.Audit(
        [side_plan("baseline", form, dict(VALUES, **(base or {})))],
        [side_plan("migrated", form, dict(VALUES, **(migrated or {})), change)],
    )


def against_plain(form, other, migrated=None):
    """The same values in two formats; what only one of them states is the default that counts for the other."""
    both = FORMATS[form][2] & FORMATS[other][2]
    values = {name: value if name in both else DEFAULTS.get(name, value) for name, value in VALUES.items()}
    return audit.Audit(
        [side_plan("baseline", form, values)], [side_plan("migrated", other, dict(values, **(migrated or {})))]
    )


FORMS = {
    "crlf": lambda text: text.replace("\n", "\r\n").encode(),
    "bom": lambda text: b"\xef\xbb\xbf" + text.encode(),
    "utf16": lambda text: b"\xff\xfe" + text.encode("utf-16-le"),
    "spelling": lambda text: text.replace("0.0001,", "1e-4,").replace("1e-08", "1.0E-8").encode(),
    "comment": lambda text: ("# made by hand: lr 3e-4 was tried before\n" + text).encode(),
}
CROSS = (
    ("megatron-script", "megatron-args"),
    ("hf-args-json", "llamafactory-yaml"),
    ("flat-yaml", "argparse-namespace"),
    ("nested-yaml", "flat-yaml"),
)


def cells(_):
    for form, (_, _, states, _, comment, _) in FORMATS.items():
        dialect = f"settings/{form}"
        yield audit.Cell(dialect, "healthy", "", lambda a=form: [pair(a)], audit.judge_healthy())
        yield audit.Cell(
            dialect,
            "world_size",
            "",
            lambda a=form: [pair(a, migrated={"world": 4, "accumulation": 4})],
            audit.judge_healthy(),
        )
        for name, change in FORMS.items():
            if (name == "comment" and comment is None) or (
                form == "megatron-script" and name in ("crlf", "bom", "utf16")
            ):
                continue  # a shell would not take it either
            yield audit.Cell(
                dialect,
                "form",
                name,
                lambda a=(form, change): [pair(a[0]), pair(a[0], change=a[1])],
                audit.judge_same(),
            )
        for name, (value, becomes, checks, kinds) in FAULTS.items():
            if value not in states:
                continue
            yield audit.Cell(
                dialect,
                name,
                "migrated",
                lambda a=(form, {value: becomes}): [pair(a[0], migrated=a[1])],
                audit.judge_fault(checks, kinds),
            )
            yield audit.Cell(
                dialect,
                name,
                "baseline",
                lambda a=(form, {value: becomes}): [pair(a[0], base=a[1])],
                audit.judge_fault(checks, kinds),
            )
    for base, migrated in CROSS:
        dialect = f"settings/{base}-{migrated}"
        both = FORMATS[base][2] & FORMATS[migrated][2]
        yield audit.Cell(dialect, "healthy", "", lambda a=(base, migrated): [against_plain(*a)], audit.judge_healthy())
        for name, (value, becomes, checks, kinds) in FAULTS.items():
            if value in both:
                yield audit.Cell(
                    dialect,
                    name,
                    "migrated",
                    lambda a=(base, migrated, {value: becomes}): [against_plain(*a)],
                    audit.judge_fault(checks, kinds),
                )
