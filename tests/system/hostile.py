#!/usr/bin/env python3
"""Inputs made by hand against a server, an agent and their readers: hostile.py BUILD_DIR NAME... (or --list)"""
import gzip
import hashlib
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
import zlib

sys.dont_write_bytecode = True  # the source folder stays as it is
import cluster as base
from cluster import Cluster, PREFACE, binary, call_headers, check, field, frame, rss_mib, shake, small_bundle, varint
from siege import drain, quietly

AGENT_MEMORY_MIB = 1024  # MemoryMax of deploy/agent's unit
RSS_GROWN_MIB_MAX = 600  # a million pieces of evidence in one bundle are the largest


def number(key, value):
    return varint(key << 3) + varint(value)


def message(payload):
    """A gRPC message in one DATA frame's payload."""
    return b"\0" + len(payload).to_bytes(4, "big") + payload


EPOCH = (7).to_bytes(8, "little")
HELLO = field(1, field(1, b"by hand") + number(2, 1) + b"\x19" + EPOCH + number(4, 1) + number(5, 10))
HEARTBEAT = field(4, number(1, int(time.time() * 1000)))
PROGRESS = field(3, field(1, b"no task") + field(2, b"datasets"))
QUESTION = field(5, b"")


def batch(*sequences, epoch=EPOCH, record=b"\x08\x01"):
    return field(2, b"\x09" + epoch + b"".join(field(2, number(1, one) + field(2, record)) for one in sequences))


def gap(first, last):
    return field(2, b"\x09" + EPOCH + field(2, number(1, first) + number(3, last) + field(4, b"damaged")))


def data(payload, end=False):
    return frame(0, 1 if end else 0, 1, message(payload))


def conversations(dice):
    """What no agent says: each a name and the frames behind the call's head."""
    last = (1 << 64) - 1
    yield "nothing", b""
    yield "an empty message first", data(b"")
    yield "a batch before the hello", data(batch(1, 2)) + data(HELLO) + data(batch(1, 2))
    yield "a heartbeat before the hello", data(HEARTBEAT) + data(HELLO)
    yield "two hellos", data(HELLO) + data(HELLO) + data(batch(1))
    yield "a batch twice", data(HELLO) + data(batch(1, 2, 3)) * 2
    yield "batches backwards", data(HELLO) + b"".join(data(batch(i)) for i in range(9, 0, -1))
    yield "numbers at the ends of what a number can be", data(HELLO) + data(batch(0)) + data(batch(last)) + data(batch(last, 0, 1))
    yield "another epoch's batch", data(HELLO) + data(batch(1, epoch=b"\xff" * 8))
    yield "gaps that end before they begin, and over all", data(HELLO) + data(gap(9, 3)) + data(gap(1, last)) + data(gap(0, 0))
    yield "ten thousand questions", data(HELLO) + data(QUESTION) * 10_000
    yield "progress of no task", data(HELLO) + data(PROGRESS) * 1_000
    yield "messages behind the end", data(HELLO, end=True) + data(batch(1)) + data(HELLO) + data(batch(2))
    yield "messages behind a reset", data(HELLO) + frame(3, 0, 1, b"\0\0\0\x08") + data(batch(1)) + data(HELLO)
    yield "a second head on the same stream", data(HELLO) + frame(1, 4, 1, call_headers(b"/paritect.v1.Agents/Session")) + data(HELLO)
    yield "a stream of a lower number", frame(1, 4, 9, call_headers(b"/paritect.v1.Agents/Session")) + data(HELLO)
    yield "half a message, then the end", data(HELLO) + frame(0, 1, 1, message(batch(1, 2, 3))[:9])
    yield "a message that takes another's bytes", data(HELLO) + frame(0, 0, 1, message(HELLO)[:5]) + data(batch(1))
    parts = [data(one) for one in (HELLO, HEARTBEAT, PROGRESS, QUESTION, batch(1), batch(2, 3), gap(4, 5))]
    for turn in range(60):
        yield f"any order {turn}", (parts[0] if turn % 2 else b"") + b"".join(dice.choices(parts, k=dice.randrange(1, 30)))


def test_disordered_calls():
    """Messages of a session out of order, twice, after its end, by somebody who holds a node's certificate: the server
    lives, other nodes deliver, and nothing of another node changes."""
    dice = random.Random(1)
    with Cluster("--web", "127.0.0.1:0") as cluster:
        cluster.join("gpu-01")
        cluster.join("mallory")
        cluster.start_agent("gpu-01")
        cluster.wait_online("gpu-01")
        before, count = rss_mib(cluster.server), 0
        for name, frames in conversations(dice):
            def attack(frames=frames):
                with shake(cluster, "h2", cluster.state("mallory")) as connection:
                    connection.sendall(PREFACE + frame(1, 4, 1, call_headers(b"/paritect.v1.Agents/Session")) + frames)
                    drain(connection, 0.2)

            quietly(attack)
            count += 1
            check(cluster.server.poll() is None, f"{name}: the server ended: {cluster.server_log()}")
        begun = cluster.metric("sessions_total")
        check(begun > 30, f"{begun} of these sessions began: not what is tested")
        # Two sessions of one identity at a time, on one line: the second takes the first one's place, no more.
        with shake(cluster, "h2", cluster.state("mallory")) as connection:
            connection.sendall(PREFACE + b"".join(
                frame(1, 4, stream, call_headers(b"/paritect.v1.Agents/Session")) + frame(0, 0, stream, message(HELLO))
                for stream in range(1, 41, 2)))
            quietly(lambda: drain(connection, 1))
        cluster.wait_online("gpu-01")
        rows = {row["node"] for row in cluster.wait_online("gpu-01")}
        check(rows == {"admin", "gpu-01", "mallory"}, f"other nodes: {rows}")
        grown = rss_mib(cluster.server) - before
        print(f"{count} conversations; the server has grown by {grown:.0f} MiB")
        check(grown < RSS_GROWN_MIB_MAX, f"the server has grown by {grown:.0f} MiB")
        cluster.stop_server()
        cluster.run(binary("paritect-server"), "verify", cluster.dir)


def record(kind, payload, length=None):
    head = bytes([kind]) + (len(payload) if length is None else length).to_bytes(4, "little") + payload
    return head + zlib.crc32(head).to_bytes(4, "little")


def closed(body, records, count=None):
    return body + record(255, (records if count is None else count).to_bytes(8, "little") + hashlib.sha256(body).digest())


def bundles(honest):
    """Bundles that no program of ours writes: name, bytes, whether it is one for all that."""
    magic = honest[:12]
    size = int.from_bytes(honest[13:17], "little")
    plan = honest[12:12 + 5 + size + 4]
    empty = record(2, b"\x08\x04\x10\x01")
    yield "whole", closed(magic + plan + empty, 2), True
    yield "nothing but the magic", honest[:8], False
    yield "a later version", honest[:8] + b"\xff\0\0\0" + honest[12:], False
    yield "no end", magic + plan + empty, False
    yield "a wrong digest", closed(magic + plan + empty, 2)[:-5] + b"\0" * 5, False
    yield "a wrong count", closed(magic + plan + empty, 2, 1 << 63), False
    yield "no plan", closed(magic + empty, 1), False
    yield "two plans", closed(magic + plan + plan, 2), False
    yield "an unknown record", closed(magic + plan + record(7, b"x"), 2), False
    yield "a record of 4 GiB", closed(magic + plan + b"\2\xff\xff\xff\xff" + b"x" * 1000, 2), False
    yield "bytes behind the end", closed(magic + plan + empty, 2) + b"x", False
    yield "evidence that is no message", closed(magic + plan + record(2, b"\x0b" * 1000), 2), False
    yield "nested without end", closed(magic + plan + record(2, b"\x08\x04\x10\x01" + field(19, b"\x0a\x7f" * 50_000)), 2), False
    for run, node in ((b"exp1", b"../../etc"), (b"", b"n"), (b"x" * 100_000, b"n"), (b"a\0b", b"n"), (b"\xff\xfe", b"n"),
                      (b"../../admin", b"n"), (b"r", b"n\n\x1b[2J")):
        forged = record(1, field(1, field(1, run) + field(2, node)))
        yield f"run {run[:20]} of node {node}", closed(magic + forged + empty, 2), None
    yield "a million entries", closed(magic + plan + empty * 1_000_000, 1_000_001), None


def test_hostile_bundles():
    """Bundles made by hand: refused with a reason or taken as what they are, by `import`, `check` and `inspect`; a run of
    another's name is not that other's; the server goes on."""
    with Cluster() as cluster:
        honest, honest_bytes = small_bundle(cluster)
        path, before = os.path.join(cluster.work, "made.pbundle"), rss_mib(cluster.server)
        for name, made, whole in bundles(honest_bytes):
            with open(path, "wb") as file:
                file.write(made)
            for arguments in (["import", path], ["inspect", path, "-o", "json"], ["check", honest, path, "-o", "json"]):
                done = cluster.client(*arguments, code=None)
                said = f"{name}: {arguments[0]} {done.returncode} {(done.stderr + done.stdout)[:300]!r}"
                check(0 <= done.returncode < 10, f"it crashed: {said}")
                if whole is False and arguments[0] != "check":
                    check(done.returncode != 0 and done.stderr, f"taken: {said}")
                if whole:
                    check(done.returncode in (0, 1, 3), f"refused: {said}")
                check("\x1b[2J" not in done.stdout + done.stderr, f"an escape reached the terminal: {name}")
            check(cluster.server.poll() is None, f"{name}: the server ended: {cluster.server_log()}")
        for zipped in (b"PK\x03\x04" + b"\xff" * 200, b"PK\x05\x06" + b"\xff" * 18, b"PK\x03\x04"):
            broken = os.path.join(cluster.work, "broken.zip")
            with open(broken, "wb") as file:
                file.write(zipped)
            done = cluster.client("import", broken, code=None)
            check(0 < done.returncode < 10 and done.stderr, f"a broken zip: {done.returncode} {done.stderr}")
        check("\x1b[2J" not in cluster.client("runs", "ls").stdout, "an escape in the list of runs")
        grown = rss_mib(cluster.server) - before
        print(f"the server has grown by {grown:.0f} MiB")
        check(grown < RSS_GROWN_MIB_MAX, f"the server has grown by {grown:.0f} MiB")
        cluster.stop_server()
        cluster.run(binary("paritect-server"), "verify", cluster.dir)


def observer_files(folder):
    """What somebody puts into a folder of records: name of the attack, what makes it."""
    def write(name, content):
        with open(os.path.join(folder, name), "wb") as file:
            file.write(content)

    def sparse():
        with open(os.path.join(folder, "a.jsonl"), "wb") as file:
            file.truncate(1 << 40)

    def foreign():
        os.chmod(folder, 0o1777)
        write("a.jsonl", b"{}\n")
        os.symlink("/etc/passwd", os.path.join(folder, "b.jsonl"))
        for name in ("a.jsonl", "b.jsonl"):
            os.chown(os.path.join(folder, name), 12345, 12345, follow_symlinks=False)

    zeros, lines = gzip.compress(bytes(64 << 20), 9), gzip.compress(b'{"a":1}\n' * (8 << 20), 9)
    yield "a pipe that nobody writes to", lambda: os.mkfifo(os.path.join(folder, "a.jsonl"))
    yield "a device without end", lambda: os.symlink("/dev/zero", os.path.join(folder, "a.jsonl"))
    yield "a link to itself", lambda: os.symlink("a.jsonl", os.path.join(folder, "a.jsonl"))
    yield "a link to its folder", lambda: os.symlink(".", os.path.join(folder, "a"))
    yield "a file of 1 TiB", sparse
    yield "gzip that inflates to 4 GiB of nothing", lambda: write("a.jsonl.gz", zeros * 64)
    yield "gzip that inflates to 4 GiB of lines", lambda: write("a.jsonl.gz", lines * 64)
    yield "one line of 200 MiB", lambda: write("a.jsonl", b'{"a":"' + b"x" * (200 << 20))
    yield "nested without end", lambda: write("a.jsonl", b"[" * 5_000_000)
    yield "ten thousand empty files", lambda: [write(f"{i}.jsonl", b"") for i in range(10_000)]
    if os.geteuid() == 0:
        yield "another user's files and links", foreign


def test_observer_folder():
    """A folder of records that somebody else fills: nothing of it is believed, and reading it ends, within the memory of
    the agent's unit."""
    with tempfile.TemporaryDirectory(prefix="paritect-hostile-") as work:
        folder = os.path.join(work, "observed")
        with open(os.path.join(work, "plan.yaml"), "w") as file:
            file.write("run: x\nnode: n\nobserved: [observed]\n")
        for name, make in observer_files(folder):
            os.mkdir(folder)
            make()
            with open(os.path.join(work, "said"), "w+") as said:
                agent = subprocess.Popen([binary("paritect-agent"), "collect", "plan.yaml", "-o", "out.pbundle"], cwd=work,
                                         stdout=said, stderr=said)
                _, status, used = os.wait4(agent.pid, 0)
                agent.returncode = os.waitstatus_to_exitcode(status)
                said.seek(0)
                text = said.read()
            peak = used.ru_maxrss >> 10
            check(agent.returncode in (0, 1), f"{name}: {agent.returncode} {text[-500:]}")
            check(": 0 of " in text, f"{name} was taken for a record: {text[-500:]}")
            check(peak < AGENT_MEMORY_MIB, f"{name} took {peak} MiB")
            print(f"{name}: {peak} MiB")
            shutil.rmtree(folder)


if __name__ == "__main__":
    base.main(globals())
