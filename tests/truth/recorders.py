"""What experiment trackers write beside a run: TensorBoard's event files, W&B's offline runs, MLflow's file store.

Their forms are written here byte by byte, from the same sources as the readers name, and by no code of the readers.
"""
import json
import math
import struct
import zlib

import logs


def began_s(run):
    """When the run began: no two runs began in one second, and a run that is written twice began once."""
    return 1_790_000_000 + zlib.crc32(repr([step.grad_norm for step in run.steps]).encode()) % 10_000_000


def varint(number):
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes(out) + bytes([number])


def whole(field, number):
    return varint(field << 3) + varint(number)


def block(field, content):
    content = content.encode() if isinstance(content, str) else content
    return varint(field << 3 | 2) + varint(len(content)) + content


def crc32c_table():
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
        table.append(byte)
    return table


CRC32C = crc32c_table()


def masked_crc32c(content):
    crc = 0xFFFFFFFF
    for byte in content:
        crc = CRC32C[(crc ^ byte) & 255] ^ crc >> 8
    crc ^= 0xFFFFFFFF
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def values_of(step):
    """What the run logs of a step: a value that is not there is not logged."""
    values = {"train/loss": step.loss, "train/lr": step.lr, "train/grad_norm": step.grad_norm}
    return {name: value for name, value in values.items() if value is not None}


@logs.dialect("tensorboard", "loss lr grad_norm", file="events.out.tfevents.1790000000.host.1.0", form="binary")
def tensorboard(run):
    began = began_s(run)
    events = [block(3, "brain.Event:2")]
    for s in run.steps:
        for name, value in values_of(s).items():
            summary = block(1, block(1, name) + varint(2 << 3 | 5) + struct.pack("<f", value))
            events.append(whole(2, s.step) + block(5, summary))
    out = bytearray()
    for number, event in enumerate(events):
        event = varint(1 << 3 | 1) + struct.pack("<d", began + number) + event
        size = struct.pack("<Q", len(event))
        out += size + masked_crc32c(size) + event + masked_crc32c(event)
    return bytes(out)


def json_value(value):
    """As W&B writes what JSON has no word for: as text."""
    if math.isnan(value):
        return '"NaN"'
    return f'"{"-" if value < 0 else ""}Infinity"' if math.isinf(value) else json.dumps(value)


@logs.dialect("wandb", "loss lr grad_norm", file="run-abcdefgh.wandb", form="binary")
def wandb(run):
    records = []
    for s in run.steps:
        values = dict({name: json_value(value) for name, value in values_of(s).items()}, _step=str(s.step))
        items = b"".join(block(1, block(2, name) + block(16, value)) for name, value in values.items())
        records.append(whole(1, len(records) + 1) + block(2, items + block(2, whole(1, s.step))))
    records.append(whole(1, len(records) + 1) + block(18, whole(1, 0)))
    out = bytearray(b":W&B\xe1\xbe\x00")
    for record in records:
        kind = 1
        while True:  # a record is cut where a block of 32 KiB ends
            room = 32768 - len(out) % 32768
            if room < 7:
                out += bytes(room)
                room = 32768
            part, record = record[: room - 7], record[room - 7 :]
            kind = (1 if not record else 2) if kind == 1 else (3 if record else 4)
            checked = bytes([kind]) + part
            out += struct.pack("<IH", zlib.crc32(checked), len(part)) + checked
            if not record:
                break
    return bytes(out)


@logs.dialect("mlflow", "loss lr grad_norm", file="mlruns/0/abc/metrics/", form="folder")
def mlflow(run):
    lines, began = {}, began_s(run)
    for s in run.steps:
        for name, value in values_of(s).items():
            line = f"{(began + s.step) * 1000} {value!r} {s.step}\n"
            lines.setdefault(name.split("/")[1], []).append(line)
    return {f"mlruns/0/abc/metrics/{name}": "".join(text).encode() for name, text in lines.items()}
