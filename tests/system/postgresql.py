#!/usr/bin/env python3
"""A server whose fleet lies in PostgreSQL: postgresql.py BUILD_DIR TEST [TEST...]. The database is started here, in a temporary
folder, as another user where this runs as root."""
import glob
import json
import os
import pwd
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from cluster import LONG, Cluster, Failure, binary, check, covers, main, stored_ranges  # noqa: E402

PROGRAMS = sorted(glob.glob("/usr/lib/postgresql/*/bin"))


class Database:
    """One PostgreSQL; it ends with the `with` block."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="paritect_pg_")
        self.process = None
        if os.geteuid() == 0:
            shutil.chown(self.folder, "nobody")
        self.data = os.path.join(self.folder, "data")
        made = subprocess.run([os.path.join(PROGRAMS[-1], "initdb"), "-D", self.data, "-U", "paritect", "-A", "trust",
                               "-N", "--no-locale", "-E", "UTF8"], capture_output=True, text=True, **self.user())
        check(made.returncode == 0, made.stderr)
        self.address = "postgresql://paritect@/postgres?host=" + self.folder.replace("/", "%2F")

    @staticmethod
    def user():
        if os.geteuid() != 0:
            return {}
        return {"user": "nobody", "group": pwd.getpwnam("nobody").pw_gid, "extra_groups": [], "cwd": "/"}

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def start(self):
        log = open(os.path.join(self.folder, "log"), "ab")
        deadline = time.time() + 90
        while time.time() < deadline:
            if self.process is None or self.process.poll() is not None:
                self.process = subprocess.Popen([os.path.join(PROGRAMS[-1], "postgres"), "-D", self.data, "-k", self.folder,
                                                 "-c", "listen_addresses=", "-c", "fsync=off", "-c", "max_connections=40"],
                                                stdout=log, stderr=log, **self.user())
            if subprocess.run([os.path.join(PROGRAMS[-1], "pg_isready"), "-q", "-h", self.folder]).returncode == 0:
                return
            time.sleep(0.1)
        raise Failure("PostgreSQL does not start")

    def kill(self):
        self.process.kill()
        self.process.wait()


def ranges_in(path):
    class File:
        def database(self):
            return sqlite3.connect("file:" + path + "?mode=ro", uri=True)
    return stored_ranges(File())


def test_kills():
    """Server and database are killed at random points under load: what was acknowledged is stored, once."""
    kills = 100 if LONG else 8
    seed = int(os.environ.get("PARITECT_SEED", random.randrange(10**6)))
    print("seed", seed)
    randomness = random.Random(seed)
    with Database() as database, Cluster("--store", database.address) as cluster:
        record = os.path.join(cluster.work, "acknowledged.jsonl")
        seconds = max(30, 3 * kills)
        fleet = subprocess.Popen([binary("paritect-agent"), "simulate", "--agents", "8", "--rate", "50", "--for",
                                  f"{seconds}s", "--patience", "240s", "--record", record, "-o", "json",
                                  cluster.address, "--credential", cluster.credential],
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=cluster.environment)
        time.sleep(4)
        for kill in range(kills):
            time.sleep(randomness.uniform(0.2, 2))
            if kill % 2 == 0:
                database.kill()
                database.start()
            else:
                cluster.kill_server()
                cluster.start_server()
        out, err = fleet.communicate(timeout=seconds + 360)
        check(fleet.returncode == 0, f"simulate: {fleet.returncode}\n{out[-1500:]}{err[-1500:]}")
        cluster.stop_server()
        copy = os.path.join(cluster.work, "copy.db")
        cluster.run(binary("paritect-server"), "backup", cluster.dir, copy, "--store", database.address)
        ranges = ranges_in(copy)
        acknowledged = 0
        with open(record) as lines:
            for line in lines:
                entry = json.loads(line)
                key = (entry["node"], int(entry["epoch"], 16))
                last = int(entry["acknowledged"])
                acknowledged += last
                missing = next((s for s in range(1, last + 1) if not covers(ranges.get(key, []), s)), None)
                check(missing is None, f"{key}: {missing} of {last} acknowledged records is not stored")
        check(acknowledged > 0, "nothing was acknowledged")
        cluster.run(binary("paritect-server"), "verify", cluster.dir, "--store", database.address)
        print(f"{kills} kills, {acknowledged} acknowledged records, all stored once")


def test_there_and_back():
    """A fleet goes from its file into PostgreSQL and back, whole; the server goes on from there each time."""
    with Database() as database, Cluster() as cluster:
        server = binary("paritect-server")
        file = os.path.join(cluster.dir, "paritect.db")
        example = cluster.example_audit()
        for node in ("gpu-01", "npu-01"):
            cluster.join(node)
            cluster.start_agent(node, [example])
        cluster.wait_online("gpu-01", "npu-01")
        report = json.loads(cluster.client("audit", "run", "example", "-o", "json", code=[0, 1, 3]).stdout)
        refused = cluster.run(server, "migrate", "--from", "sqlite:" + file, "--to", database.address, code=1)
        check("stop the server first" in refused.stderr, refused.stderr)
        cluster.stop_server()
        moved = cluster.run(server, "migrate", "--from", "sqlite:" + file, "--to", database.address)
        check("batch: " in moved.stdout and "SHA-256" in moved.stdout, moved.stdout)
        again = cluster.run(server, "migrate", "--from", "sqlite:" + file, "--to", database.address, code=2)
        check("holds a fleet already" in again.stderr, again.stderr)
        os.rename(file, file + ".before")
        cluster.options = ["--store", database.address]
        cluster.start_server()
        cluster.wait_online("gpu-01", "npu-01")
        shown = json.loads(cluster.client("audit", "show", "example", "-o", "json", code=[0, 1, 3]).stdout)
        check(shown["items"] == report["items"], "the report is the same")
        cluster.client("audit", "run", "example", "-o", "json", code=[0, 1, 3])
        second = cluster.run(server, "verify", cluster.dir, "--store", database.address, code=2)
        check("stop the server first" in second.stderr, second.stderr)
        copy = os.path.join(cluster.work, "copy.db")
        cluster.run(server, "backup", cluster.dir, copy, "--store", database.address)
        cluster.stop_server()
        cluster.run(server, "restore", cluster.dir, copy)
        cluster.options = []
        cluster.start_server()
        cluster.wait_online("gpu-01", "npu-01")
        runs = json.loads(cluster.client("audit", "ls", "example", "-o", "json").stdout)
        check(len(runs) == 2, f"both runs are there: {runs}")


if __name__ == "__main__":
    if not PROGRAMS:
        print("skipped: PostgreSQL is not installed (Debian: postgresql-15)")
        sys.exit(77)
    main(globals())
