"""Cells about who judges: the same evidence gives the same verdicts, by `paritect check` from its plans and by a server
from their bundles."""
import audit
import cluster_cells
import curves
import dataset_cells
import faults
import log_cells
import logs
import observed_cells
import script_cells
import settings_cells
import shard_cells
import weights_cells

# What only a server knows.
OF_THE_SERVER = ("cluster.coverage.", "evidence.integrity.")


def judge_same_of_both(reports):
    for report in reports:
        for item in report["items"]:
            item["checks"] = [one for one in item["checks"] if not one["id"].startswith(OF_THE_SERVER)]
    return audit.judge_same()(reports)


def of_both(make):
    def audits():
        first, second = make(), make()
        second.by_server = True
        return [first, second]

    return audits


def log_pair(name, fault="", place="middle"):
    def make():
        dialect = logs.DIALECTS[name]
        if not fault:
            return log_cells.pair(dialect, 1)
        return log_cells.faulty(dialect, faults.FAULTS[fault], place, "migrated", 1)

    return make


def settings_pair(form, **migrated):
    return lambda: settings_cells.pair(form, migrated=migrated)


def repeated():
    dialect = logs.DIALECTS["megatron"]
    return audit.Audit(
        [log_cells.log_plan("baseline", dialect, curves.healthy(f"baseline {i}", 1), i) for i in range(3)],
        [log_cells.log_plan("migrated", dialect, curves.healthy("migrated 0", 1), 0)],
    )


CASES = {
    "logs": (log_pair("megatron"), log_pair("megatron", "nan_loss"), log_pair("deepspeed", "overflow_rate_far"),
             log_pair("hf-trainer-state", "curve_leaves"), log_pair("mindformers", "gradients_not_cleared"), repeated),
    "settings": (settings_pair("megatron-script"), settings_pair("hf-args-json", lr=3e-4),
                 settings_pair("mindformers-yaml", dropout=0.0), settings_pair("deepspeed-json", clip=0.5)),
    "shards": (lambda: shard_cells.pair("lists"), lambda: shard_cells.pair("numbers", shard_cells.FAULTS["not_read"],
                                                                           "migrated", "last"),
               lambda: shard_cells.one_rank_silent("json-lines")),
    "cluster": (cluster_cells.fleet, lambda: cluster_cells.fleet("migrated", 3, "HCCL_DETERMINISTIC"),
                lambda: cluster_cells.fleet("baseline", 0, None, "torch")),
    "observed": (observed_cells.pair, lambda: observed_cells.pair(observed_cells.no_eval),
                 lambda: observed_cells.pair(observed_cells.digest_of_other_numbers),
                 lambda: observed_cells.pair(observed_cells.two_ends), observed_cells.silent),
    "scripts": (lambda: script_pair(), lambda: script_pair("shuffle=train, seed", "shuffle=False, seed")),
    "weights": (lambda: weights_cells.pair("safetensors", "npz"),
                lambda: weights_cells.pair("npz", "npz", weights_cells.FAULTS["one_element"], "migrated"),
                lambda: weights_cells.pair("safetensors", "safetensors", weights_cells.FAULTS["not_updated"],
                                           "migrated")),
}


def script_pair(old="", new=""):
    healthy = script_cells.read("torch", "train.py")
    return script_cells.pair(healthy, script_cells.ported(healthy).replace(old, new) if old else
                             script_cells.ported(healthy), launch=script_cells.LAUNCH)


def cells(_):
    for concern, makers in CASES.items():
        for number, make in enumerate(makers):
            yield audit.Cell("server/" + concern, "by_server", str(number), of_both(make), judge_same_of_both)
    for name in ("tree", "md5sum"):
        for number, make in enumerate(dataset_pairs(name)):
            yield audit.Cell("server/data", "by_server", f"{name},{number}", of_both(make), judge_same_of_both)


def dataset_pairs(form):
    cells_of = [one for one in dataset_cells.cells(1) if one.dialect == f"data/{form}"]
    for kind in ("healthy", "truncated", "missing", "content_differs"):
        one = next((cell for cell in cells_of if cell.kind == kind), None)
        if one is not None:
            yield lambda c=one: c.audits()[0]
