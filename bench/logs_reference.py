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


def events(path):
    """Frames only: neither checksums nor what is in them."""
    records = 0
    with open(path, "rb") as file:
        while True:
            header = file.read(12)
            if len(header) < 12:
                return records
            (length,) = struct.unpack("<Q", header[:8])
            file.read(length)
            file.read(4)
            records += 1


def main():
    begin = time.perf_counter()
    records = {"megatron": megatron, "jsonl": jsonl, "events": events}[sys.argv[1]](sys.argv[2])
    print(f"{time.perf_counter() - begin:.6f} {records}")


main()
