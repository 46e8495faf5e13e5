"""The same extraction with Python's standard library: what logs_bench compares with.

usage: logs_reference.py megatron|jsonl|events FILE    prints SECONDS RECORDS
"""

import json
import re
import struct
import sys
import time

MEGATRON = re.compile(
    rb"iteration\s+(\d+)/\s*(\d+) \| consumed samples:\s+(\d+) .*?learning rate: (\S+) .*?lm loss: (\S+) "
    rb".*?loss scale: (\S+) .*?grad norm: (\S+) .*?skipped iterations:\s+(\d+)"
)


def megatron(path):
    records = 0
    with open(path, "rb") as file:
        for line in file:
            found = MEGATRON.search(line)
            if found is None:
                continue
            step, _, samples, rate, loss, scale, norm, skipped = found.groups()
            (int(step), int(samples), float(rate), float(loss), float(scale), float(norm), int(skipped))
            records += 1
    return records


def jsonl(path):
    records = 0
    with open(path, "rb") as file:
        for line in file:
            row = json.loads(line)
            (row["step"], row["loss"], row["lr"])
            records += 1
    return records


def fields(message):
    """Number and value of each field of a message in wire form."""
    at = 0
    while at < len(message):
        key, at = varint(message, at)
        kind = key & 7
        if kind == 0:
            value, at = varint(message, at)
        elif kind == 1:
            value, at = message[at : at + 8], at + 8
        elif kind == 5:
            value, at = message[at : at + 4], at + 4
        else:
            length, at = varint(message, at)
            value, at = message[at : at + length], at + length
        yield key >> 3, value


def varint(message, at):
    value = shift = 0
    while True:
        byte = message[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def events(path):
    """Step, tag and simple value of every event; checksums are not looked at."""
    series = {}
    with open(path, "rb") as file:
        while True:
            header = file.read(12)
            if len(header) < 12:
                return max(len(points) for points in series.values())
            (length,) = struct.unpack("<Q", header[:8])
            payload = file.read(length)
            file.read(4)
            event = dict(fields(payload))
            for number, value in fields(event.get(5, b"")):
                one = dict(fields(value))
                if number == 1 and 2 in one:
                    series.setdefault(one[1], {})[event.get(2, 0)] = struct.unpack("<f", one[2])[0]


def main():
    begin = time.perf_counter()
    records = {"megatron": megatron, "jsonl": jsonl, "events": events}[sys.argv[1]](sys.argv[2])
    print(f"{time.perf_counter() - begin:.6f} {records}")


main()
