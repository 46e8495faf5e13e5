"""Cells about weights: a small model's tensors in the forms in which they are kept, and faults put into them."""
import hashlib
import io
import json
import math
import random
import struct
import zipfile

import audit

FORMS, FAULTS = {}, {}
START, GRAPH = "training.flow.initial-weights", "training.flow.graph"
UPDATED, SAME_UPDATE = "first-step.update.updated", "first-step.update.same-update"
SHAPES = {"embed.weight": (40, 16), "layers.0.attn.weight": (16, 16), "layers.0.norm.weight": (16,),
          "layers.1.attn.weight": (16, 16), "head.weight": (40, 16), "head.bias": (40,)}


def drawn(step=0):
    """{name: (shape, [numbers])}; a step moves every element a little."""
    rng = random.Random("weights")
    out = {}
    for name, shape in SHAPES.items():
        count = math.prod(shape)
        values = [rng.gauss(0, 0.02) for _ in range(count)]
        moves = [rng.choice((-1, 1)) * 1e-3 for _ in range(count)]
        out[name] = (shape, [v + step * m for v, m in zip(values, moves)])
    return out


def floats(values):
    return struct.pack(f"<{len(values)}f", *values)


def weights_form(name, file):
    def register(write):
        FORMS[name] = (write, file)
        return write

    return register


@weights_form("safetensors", "step{step}.safetensors")
def safetensors(tensors):
    head, body = {}, b""
    for name, (shape, values) in tensors.items():
        data = floats(values)
        head[name] = {"dtype": "F32", "shape": list(shape), "data_offsets": [len(body), len(body) + len(data)]}
        body += data
    text = json.dumps(head).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + body


def npy(shape, values):
    shown = ", ".join(map(str, shape)) + ("," if len(shape) == 1 else "")
    head = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({shown}), }}"
    head += " " * (-(len(head) + 11) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + floats(values)


@weights_form("npz", "step{step}.npz")
def npz(tensors):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, (shape, values) in tensors.items():
            archive.writestr(zipfile.ZipInfo(name + ".npy", (2026, 1, 1, 0, 0, 0)), npy(shape, values))
    return out.getvalue()


@weights_form("tensor-table", "step{step}.tsv")
def table(tensors):
    rows = ["name\tdtype\tshape\tsha256"]
    for name, (shape, values) in tensors.items():
        rows.append(f"{name}\tF32\t{'x'.join(map(str, shape))}\t{hashlib.sha256(floats(values)).hexdigest()}")
    return ("\n".join(rows) + "\n").encode()


def weights_fault(name, steps, checks, kinds, only=None):
    """steps: whose tensors are changed; only: the forms that can tell it."""

    def register(put):
        FAULTS[name] = (put, steps, checks, kinds, only)
        return put

    return register


def changed(tensors, name, values):
    tensors[name] = (tensors[name][0], values)


@weights_fault("other_values", (0, 1), (START,), ("weights_differ", "law_differs"))
def other_values(tensors):
    changed(tensors, "layers.1.attn.weight", tensors["layers.0.attn.weight"][1][::-1])


@weights_fault("one_element", (0, 1), (START,), ("weights_differ",))
def one_element(tensors):
    values = list(tensors["head.weight"][1])
    values[17] += 0.5
    changed(tensors, "head.weight", values)


@weights_fault("names_exchanged", (0, 1), (START,), ("names_exchanged", "weights_differ"))
def names_exchanged(tensors):
    a, b = "layers.0.attn.weight", "layers.1.attn.weight"
    tensors[a], tensors[b] = tensors[b], tensors[a]


@weights_fault("one_missing", (0, 1), (GRAPH, START), ("parameter_missing", "parameter_extra"))
def one_missing(tensors):
    del tensors["head.bias"]


@weights_fault("other_shape", (0, 1), (GRAPH, START), ("shape_differs", "parameter_missing", "weights_differ"))
def other_shape(tensors):
    """Another vocabulary, whose further rows hold values: zeros alone would be padding."""
    tensors["embed.weight"] = ((41, 16), tensors["embed.weight"][1] + [0.01 * (i + 1) for i in range(16)])


@weights_fault("not_a_number", (0, 1), (START,), ("weights_differ", "not_finite", "nonfinite_weights"))
def not_a_number(tensors):
    values = list(tensors["head.weight"][1])
    values[3] = float("nan")
    changed(tensors, "head.weight", values)


@weights_fault("not_updated", (1,), (UPDATED,), ("not_updated", "updated_alone"))
def not_updated(tensors):
    tensors["layers.0.norm.weight"] = drawn(0)["layers.0.norm.weight"]


@weights_fault("update_doubled", (1,), (SAME_UPDATE,), ("update_size_differs",), ("safetensors", "npz"))
def update_doubled(tensors):
    twice = drawn(2)
    for name in tensors:
        tensors[name] = twice[name]


@weights_fault("update_turned_round", (1,), (SAME_UPDATE,), ("update_direction_differs",), ("safetensors", "npz"))
def update_turned_round(tensors):
    back = drawn(-1)
    for name in tensors:
        tensors[name] = back[name]


def side_plan(side, form, fault=None):
    write, file = FORMS[form]
    files, listed = {}, []
    for step in (0, 1):
        tensors = drawn(step)
        if fault and step in fault[1]:
            fault[0](tensors)
        name = file.format(step=step)
        files[name] = write(tensors)
        listed.append({"step": step, "file": name})
    plan = {"run": side, "node": f"{side}-node", "platform": "nvidia" if side == "baseline" else "atlas-a2",
            "framework": "pytorch", "weights": listed}
    return audit.Plan(plan, files)


def pair(base, migrated, fault=None, side=""):
    return audit.Audit(
        [side_plan("baseline", base, fault if side == "baseline" else None)],
        [side_plan("migrated", migrated, fault if side == "migrated" else None)],
    )


def cells(_):
    crossed = [(a, a) for a in FORMS] + [("safetensors", "npz"), ("safetensors", "tensor-table")]
    for base, migrated in crossed:
        dialect = "weights/" + (base if base == migrated else f"{base}-{migrated}")
        passes = (START, UPDATED) if "tensor-table" not in (base, migrated) else (START,)
        yield audit.Cell(dialect, "healthy", "", lambda a=(base, migrated): [pair(*a)], audit.judge_healthy(passes))
        for name, fault in FAULTS.items():
            if fault[4] and not {base, migrated} <= set(fault[4]):
                continue
            for side in ("migrated", "baseline"):
                yield audit.Cell(
                    dialect,
                    name,
                    side,
                    lambda a=(base, migrated, fault, side): [pair(*a)],
                    audit.judge_fault(fault[2], fault[3]),
                )
