#!/usr/bin/env python3
"""An operator's day: operations.py BUILD_DIR TEST [TEST...]. The steps of docs/operations.md are run as they stand there."""
import glob
import json
import os
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
import urllib.request

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from cluster import (BUILD, PREFACE, SOURCE, Cluster, Failure, binary, check, load_identity, main,  # noqa: E402
                     stored_ranges, verdicts)

BOOK = os.path.join(SOURCE, "docs", "operations.md")


def unmarked_blocks():
    """Blocks of commands that no step runs; the first one names what the steps use."""
    with open(BOOK) as book:
        text = re.sub(r"^<!-- step: ([a-z-]+) -->\n```\n(.*?)^```$", "", book.read(), flags=re.M | re.S)
    return re.findall(r"^```\n(.*?)^```$", text, re.M | re.S)


def steps():
    """name -> the commands of its block, in the order of the book."""
    with open(BOOK) as book:
        return dict(re.findall(r"^<!-- step: ([a-z-]+) -->\n```\n(.*?)^```$", book.read(), re.M | re.S))


# A systemctl that starts and stops the one server of the test; START is its command line.
SYSTEMCTL = """#!/bin/sh
stop() {
  kill -TERM "$(cat "$WORK/server.pid")"
  until grep -q 'State:.Z' "/proc/$(cat "$WORK/server.pid")/status" 2>/dev/null || [ ! -e "/proc/$(cat "$WORK/server.pid")" ]; do
    sleep 0.1
  done
}
start() {
  before=$(grep -c 'listening on' "$WORK/server.log")
  nohup $START >>"$WORK/server.log" 2>&1 &
  echo $! >"$WORK/server.pid"
  for _ in $(seq 600); do
    [ "$(grep -c 'listening on' "$WORK/server.log")" -gt "$before" ] && return 0
    kill -0 "$(cat "$WORK/server.pid")" || break
    sleep 0.1
  done
  echo "the server does not start: $(tail -3 "$WORK/server.log")" >&2
  return 1
}
case $1 in
  stop) stop;;
  start) start;;
  restart) stop; start;;
esac
"""


class Operator:
    """Runs the book's steps against a cluster whose server `systemctl` starts and stops."""

    def __init__(self, cluster):
        self.cluster = cluster
        tools = os.path.join(cluster.work, "tools")
        os.makedirs(tools)
        with open(os.path.join(tools, "systemctl"), "w") as file:
            file.write(SYSTEMCTL)
        os.chmod(os.path.join(tools, "systemctl"), 0o755)
        self.set_pid(cluster.server.pid)
        self.environment = dict(
            cluster.environment, PATH=tools + ":" + BUILD + ":" + os.environ["PATH"], WORK=cluster.work, DIR=cluster.dir,
            SERVER=cluster.address, PIN=cluster.pin, STATE=cluster.state("gpu-01"), HOST="127.0.0.1",
            INSTALL_OPTIONS=f"--bin {BUILD} --prefix {cluster.work}/installed",
            START=f"{binary('paritect-server')} run {cluster.dir} --listen {cluster.address} --web 127.0.0.1:0")

    def set_pid(self, pid):
        with open(os.path.join(self.cluster.work, "server.pid"), "w") as file:
            file.write(str(pid))

    def step(self, name, code=0):
        done = subprocess.run(["sh", "-ec", steps()[name]], capture_output=True, text=True, timeout=300,
                              env=self.environment, cwd=SOURCE)
        check(done.returncode == code, f"step {name}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
        return done

    def end(self):
        try:
            with open(os.path.join(self.cluster.work, "server.pid")) as file:
                os.kill(int(file.read()), signal.SIGKILL)
        except (OSError, ValueError):
            pass


def test_runbook():
    """Every step of the book, in its order."""
    ran = []
    with Cluster("--web", "127.0.0.1:0") as cluster:
        operator = Operator(cluster)

        def step(name, *expected, **options):
            ran.append(name)
            done = operator.step(name, **options)
            for text in expected:
                check(text in done.stdout + done.stderr, f"step {name}: no '{text}' in\n{done.stdout}{done.stderr}")
            return done

        try:
            step("install", "installed:", "share/doc/paritect")
            installed = os.path.join(cluster.work, "installed")
            unit = open(os.path.join(installed, "lib/systemd/system/paritect-server.service")).read()
            for word in ("MemoryMax=", "WatchdogSec=", "Type=notify"):
                check(word in unit, f"the unit has no {word}")
            check("@" not in re.sub(r"@system-service", "", unit), "the unit has places that were not filled in")
            for document in re.findall(r"file:(\S+)", unit):
                check(os.path.exists(document), f"the unit names {document}")
            step("look")
            step("join", "gpu-01", "agent")
            step("revoke-token", "revoked")
            cluster.start_agent("gpu-01")
            cluster.wait_online("gpu-01")
            step("see", "gpu-01", "127.0.0.1", "paritect-agent", "Join", "whole")
            step("rotate", "admin2")
            done = step("backup", "monday.db")
            for name in ("ca.key", "ca.pem", "server.key", "holders.log", "report.key"):
                check(os.path.exists(os.path.join(cluster.work, "monday.keys", name)), f"{name} was not copied")
            again = operator.step("backup", code=2)
            check("is there already" in again.stderr, again.stderr)
            step("restore", "restored from", "kept as", "whole")
            cluster.wait_online("gpu-01", seconds=60)
            step("upgrade", "installed:")
            step("stolen", "revoked", "RevokeNode", "takes the new credential")
            cluster.wait_online("gpu-01", seconds=90)  # the agent was not restarted
            step("full-disk")
            step("clock")
            cluster.agents["gpu-01"].kill()
            cluster.agents["gpu-01"].wait()
            shutil.rmtree(cluster.state("gpu-01"))
            cluster.join("npu-01")
            cluster.join("gpu-01", cluster.token("agent", "--node", "gpu-01"))
            cluster.example_audit()
            begin_audit(cluster, "example")
            step("cancel", "cancelled: example run 1", "CancelAudit")
            # The write-ahead log of a killed server vanishes.
            cluster.client("token", "create", "--role", "agent")
            with open(os.path.join(cluster.work, "server.pid")) as file:
                pid = int(file.read())
            os.kill(pid, signal.SIGKILL)
            wait_gone(pid)
            os.truncate(os.path.join(cluster.dir, "paritect.db-wal"), 0)
            verify = cluster.run(binary("paritect-server"), "verify", cluster.dir, code=1)
            check("commits are gone" in verify.stdout, verify.stdout + verify.stderr)
            step("lost-data", "restored the database as it is", "whole", "Restore")
            step("move", "whole")
            check(set(ran) == set(steps()), f"not run: {set(steps()) - set(ran)}")
            check(len(unmarked_blocks()) == 1, f"blocks of no step: {unmarked_blocks()}")
            given = set(re.findall(r"^(?:export )?([A-Z_]+)=", unmarked_blocks()[0], re.M))
            for name, block in steps().items():
                missing = set(re.findall(r"\$([A-Z_]+)", block)) - given - set(re.findall(r"^([A-Z_]+)=", block, re.M))
                check(not missing, f"step {name} uses {missing}, which the book's beginning does not give")
            # What the book says of folders that are not there.
            elsewhere = os.path.join(cluster.work, "nowhere")
            refused = cluster.run(binary("paritect-server"), "restore", elsewhere, cluster.work + "/monday.db", code=2)
            check("is not there" in refused.stderr and "--keys" in refused.stderr, refused.stderr)
            check(not os.path.exists(elsewhere), "a folder was made")
            for kind in ("server", "agent"):
                cluster.run(os.path.join(SOURCE, "deploy", kind, "uninstall"), "--prefix", installed)
            left = [path for path in glob.glob(installed + "/**", recursive=True) if os.path.isfile(path)]
            check(left and all("/var/lib/" in path for path in left), f"left after uninstall: {left}")
        finally:
            operator.end()


def begin_audit(cluster, name):
    """A run that waits for its nodes; who began it does not wait."""
    runner = subprocess.Popen([binary("paritect"), "audit", "run", name], stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL, env=cluster.environment)
    try:
        deadline = time.time() + 30
        while time.time() < deadline:
            if "collecting" in cluster.client("audit", "ls", name, "-o", "json").stdout:
                return
            time.sleep(0.2)
        raise Failure("the run does not begin")
    finally:
        runner.kill()
        runner.wait()


def wait_gone(pid):
    for _ in range(300):
        try:
            with open(f"/proc/{pid}/status") as status:
                if "State:\tZ" in status.read():
                    return
        except OSError:
            return
        time.sleep(0.1)
    raise Failure(f"process {pid} does not end")


def test_lost_data():
    """Acknowledged records that a lost, cut or flipped write-ahead log took along: the start is refused, verify tells."""
    with Cluster() as cluster:
        for _ in range(5):
            cluster.token()
        cluster.kill_server()
        kept = os.path.join(cluster.work, "kept")
        shutil.copytree(cluster.dir, kept)
        log = open(os.path.join(kept, "paritect.db-wal"), "rb").read()
        check(len(log) > 50_000, f"{len(log)} bytes of log: the test tests nothing")
        flipped = bytearray(log)
        flipped[len(log) // 2] ^= 1
        for name, bytes_ in (("lost", b""), ("cut", log[:len(log) // 2]), ("flipped", bytes(flipped))):
            folder = os.path.join(cluster.work, name)
            shutil.copytree(kept, folder)
            with open(os.path.join(folder, "paritect.db-wal"), "wb") as file:
                file.write(bytes_)
            refused = cluster.run(binary("paritect-server"), "run", folder, "--listen", "127.0.0.1:0", code=2)
            check("commits are gone" in refused.stderr, f"{name}: {refused.stderr}")
            verify = cluster.run(binary("paritect-server"), "verify", folder, code=1)
            check("commits are gone" in verify.stdout, f"{name}: {verify.stdout}")
        cluster.run(binary("paritect-server"), "verify", kept)


def test_agents_further_than_the_backup():
    """What was acknowledged after the backup is asked again or told as a gap, never silently believed."""
    with Cluster("--web", "127.0.0.1:0") as cluster:
        for node in ("gpu-01", "npu-01"):
            cluster.join(node)
        example = os.path.join(SOURCE, "deploy", "example")
        for node in ("gpu-01", "npu-01"):
            cluster.start_agent(node, [example])
        cluster.wait_online("gpu-01", "npu-01")
        cluster.example_audit()
        cluster.client("audit", "run", "example", code=[0, 1])
        backup = os.path.join(cluster.work, "older.db")
        cluster.run(binary("paritect-server"), "backup", cluster.dir, backup)
        before = json.loads(cluster.client("audit", "run", "example", "-o", "json", code=[0, 1]).stdout)
        cluster.stop_server()
        newest = stored_ranges(cluster)
        done = cluster.run(binary("paritect-server"), "restore", cluster.dir, backup)
        check("newer commits" in done.stdout, done.stdout)
        cluster.start_server()
        cluster.wait_online("gpu-01", "npu-01", seconds=90)
        cluster.metric_reaches("records_lost_total", 1)  # what was acknowledged and is gone is told
        doctor = cluster.client("doctor", code=[0, 1]).stdout
        check(re.search(r"warning\s+lost_records\s+[1-9].*since the newest run began of: example", doctor), doctor)
        report = json.loads(cluster.client("audit", "run", "example", "-o", "json", code=[0, 1]).stdout)
        # Collected anew: the same answer, but for what is told as lost.
        after = {check_: verdict for check_, verdict in verdicts(report).items() if not check_.startswith("cluster.")}
        check(after == {c: v for c, v in verdicts(before).items() if not c.startswith("cluster.")}, "another answer")
        doctor = cluster.client("doctor", code=[0, 1]).stdout
        chinese = cluster.client("doctor", "--deep", code=[0, 1], 
                                 environment=dict(cluster.environment, LC_ALL="zh_CN.UTF-8")).stdout
        english = [line for line in chinese.splitlines() if not re.search("[\u4e00-\u9fff].*[\u4e00-\u9fff]", line[7:])]
        check(not [line for line in english if "client" not in line], f"doctor in Chinese: {english}")
        check(re.search(r"ok\s+lost_records\s+[1-9].*no audit's newest run rests on them", doctor), doctor)
        cluster.stop_server()
        check(set(stored_ranges(cluster)) >= set(newest), "an agent's stream is not there any more")
        cluster.run(binary("paritect-server"), "verify", cluster.dir)


def test_older_backup():
    """A backup from before a revocation does not bring the node back; nor the credential that was never used."""
    with Cluster() as cluster:
        cluster.join("gpu-01")
        eve = os.path.join(cluster.work, "eve.credential")
        cluster.run(binary("paritect-server"), "credential", cluster.dir, "--role", "viewer", "--name", "eve", "--server",
                    cluster.address, "-o", eve)
        backup = os.path.join(cluster.work, "older.db")
        cluster.run(binary("paritect-server"), "backup", cluster.dir, backup)
        cluster.client("node", "revoke", "gpu-01")
        cluster.client("node", "revoke", "eve")  # before its first use
        refused = cluster.client("node", "ls", "--credential", eve, code=4)
        check("revoked" in refused.stderr, refused.stderr)
        cluster.stop_server()
        cluster.run(binary("paritect-server"), "restore", cluster.dir, backup)
        cluster.start_server()
        rows = {row["node"]: row["state"] for row in json.loads(cluster.client("node", "ls", "-o", "json").stdout)}
        check(rows["gpu-01"] == "revoked" and rows["eve"] == "revoked", str(rows))
        cluster.client("node", "ls", "--credential", eve, code=4)
        # One that was used and then revoked after a restart.
        ann = os.path.join(cluster.work, "ann.credential")
        cluster.run(binary("paritect-server"), "credential", cluster.dir, "--role", "viewer", "--name", "ann", "--server",
                    cluster.address, "-o", ann)
        cluster.client("node", "ls", "--credential", ann)
        cluster.stop_server()
        cluster.start_server()
        cluster.client("node", "revoke", "ann")
        cluster.client("node", "ls", "--credential", ann, code=4)


def test_two_agents():
    """A copied state folder: two agents with one identity, told by node ls, node show, doctor, metrics, log, journal."""
    with Cluster("--web", "127.0.0.1:0") as cluster:
        cluster.join("gpu-01")
        shutil.copytree(cluster.state("gpu-01"), cluster.state("thief"))
        cluster.start_agent("gpu-01")
        cluster.wait_online("gpu-01")
        check(cluster.metric("identity_contests_total") == 0, "told before there are two")
        # The spool of the copy is another one: what a machine makes that was copied before its agent first ran.
        shutil.rmtree(os.path.join(cluster.state("thief"), "spool"), ignore_errors=True)
        cluster.start_agent("thief")
        cluster.metric_reaches("identity_contests_total", 1)
        check("two agents" in cluster.client("node", "ls").stdout, "node ls")
        show = cluster.client("node", "show", "gpu-01").stdout
        check(re.search(r"two agents:\s+yes", show), show)
        doctor = cluster.client("doctor", code=[0, 1]).stdout
        check(re.search(r"error\s+identities", doctor), doctor)
        cluster.log_has("gpu-01", "--what", "Identity")
        log = cluster.client("log", "--what", "Identity", "-o", "json").stdout
        check(any(entry["subject"] == "gpu-01" and entry["from"] for entry in json.loads(log)), log)
        cluster.log_has("Identity refused")


def test_server_log():
    """One line a fact: joins, sessions, refusals with address and reason, verdicts; as text and as JSON."""
    with Cluster("--log-format", "json") as cluster:
        cluster.join("gpu-01")
        cluster.join("gpu-02", token="pjt-aaaa-aaaa-aaaa-aaaa-aaaa-aaaa-aaaa-aaaa", code=4)
        cluster.start_agent("gpu-01")
        cluster.wait_online("gpu-01")
        cluster.client("node", "revoke", "gpu-01", "--reason", "stolen")
        with Cluster() as other:  # a certificate of another authority
            text = open(other.credential).read().replace(other.address, cluster.address)
            forged = os.path.join(cluster.work, "forged.credential")
            with open(os.open(forged, os.O_WRONLY | os.O_CREAT, 0o600), "w") as file:
                file.write(text)
            cluster.client("node", "ls", "--credential", forged, code=4)
            # One that trusts the server, and shows a certificate of the other authority, or none.
            for identity in (other.credential, None):
                refused_handshake(cluster, identity)
            # Who does not like the server's certificate at the door.
            refused_handshake(other, None, protocol="paritect-enrol/1", port=cluster.port)
        cluster.stop_server()
        with open(os.path.join(cluster.work, "server.log")) as file:
            lines = [json.loads(line) for line in file]
        for line in lines:
            check(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", line["time"]), str(line))
            check(line["level"] in ("info", "warning", "error"), str(line))
        facts = {line["message"]: line for line in lines}
        check(facts["Join"]["peer"] == "127.0.0.1" and facts["Join"]["subject"] == "agent/gpu-01", str(facts["Join"]))
        check("token" in facts["Join refused"]["why"] and facts["Join refused"]["peer"] == "127.0.0.1", str(facts))
        check(facts["Session"]["by"] == "agent/gpu-01", str(facts))
        check("stolen" in facts["RevokeNode"]["subject"], str(facts))
        check(any(m.startswith("listening on") for m in facts), str(list(facts)))
        # Of one address at most one a second is told, so not each of them need be there.
        refused = [line for line in lines if line["message"] == "Connection refused"]
        check(refused and all(line["peer"] == "127.0.0.1" and line["why"] for line in refused), f"refused: {refused}")
        check(any("certificate" in line["why"] for line in refused), f"why: {refused}")


def refused_handshake(cluster, credential, protocol="h2", port=None):
    """A caller whom the handshake refuses, or who refuses the server there."""
    time.sleep(1.1)  # refusals of one address are told once a second
    context = ssl.create_default_context(cafile=cluster.dir + "/ca.pem")
    context.set_alpn_protocols([protocol])
    if credential:
        load_identity(context, cluster, credential)
    try:
        with socket.create_connection(("127.0.0.1", port or cluster.port), 10) as raw:
            with context.wrap_socket(raw, server_hostname="localhost") as tls:
                tls.sendall(PREFACE)
                while tls.recv(4096):
                    pass
    except (ssl.SSLError, OSError):
        pass


def test_crowded():
    """A viewer who holds many calls is refused more of them; an admin gets in. What is no bundle is refused early."""
    with Cluster() as cluster:
        eve = os.path.join(cluster.work, "eve.credential")
        cluster.run(binary("paritect-server"), "credential", cluster.dir, "--role", "viewer", "--name", "eve", "--server",
                    cluster.address, "-o", eve)
        for node in ("gpu-01", "npu-01"):
            cluster.join(node)
        cluster.example_audit()
        begin_audit(cluster, "example")
        watchers = [subprocess.Popen([binary("paritect"), "audit", "wait", "example", "--credential", eve],
                                     stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                     env=cluster.environment) for _ in range(18)]
        try:
            deadline = time.time() + 60
            while time.time() < deadline and all(watcher.poll() is None for watcher in watchers):
                time.sleep(0.2)
            ended = [watcher for watcher in watchers if watcher.poll() is not None]
            check(ended, "eighteen watches at once were taken")
            words = ended[0].stderr.read()
            check("calls under way" in words, words)
            cluster.client("node", "ls")  # an admin's lane
        finally:
            for watcher in watchers:
                watcher.kill()
                watcher.wait()
                watcher.stderr.close()
        wrong = os.path.join(cluster.work, "wrong.pbundle")
        with open(wrong, "wb") as file:
            file.write(b"\x89PBX" + b"x" * (3 << 20))
        refused = cluster.client("import", wrong, code=[1, 2, 4])
        check("not an evidence bundle" in refused.stderr or "bundle" in refused.stderr, refused.stderr)


def test_monitoring():
    """Every metric that alert rules and dashboard name is one that the server gives."""
    with Cluster("--web", "127.0.0.1:0") as cluster:
        with urllib.request.urlopen(f"http://127.0.0.1:{cluster.web_port()}/metrics", timeout=10) as page:
            families = dict(re.findall(r"^# TYPE (\S+) (\S+)$", page.read().decode(), re.M))
        known = set(families)
        for name, kind in families.items():
            if kind == "histogram":
                known |= {name + "_bucket", name + "_sum", name + "_count"}
        folder = os.path.join(SOURCE, "deploy", "monitoring")
        with open(os.path.join(folder, "paritect-alerts.yaml")) as file:
            alerts = file.read()
        with open(os.path.join(folder, "paritect-dashboard.json")) as file:
            dashboard = json.load(file)
        expressions = re.findall(r"^\s+expr: (.+)$", alerts, re.M)
        check(len(expressions) == len(re.findall(r"^\s+- alert: [A-Z]\w+$", alerts, re.M)) > 10, "a rule without its expr")
        check(len(re.findall(r"severity: (?:critical|warning|info)\}", alerts)) == len(expressions), "a rule without severity")
        check(len(re.findall(r"annotations: \{summary: \"", alerts)) == len(expressions), "a rule without summary")
        expressions += [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
        for expression in expressions:
            check(expression.count("(") == expression.count(")"), expression)
            for name in re.findall(r"paritect_\w+", expression.replace('job="paritect"', "")):
                check(name in known, f"{name} in '{expression}' is no metric of the server")
                base = re.sub(r"_(bucket|sum|count)$", "", name)
                rated = re.search(r"(rate|increase)\(" + name, expression)
                counter = families.get(name) == "counter" or families.get(base) == "histogram"
                check(bool(rated) == counter, f"'{expression}': a rate of a counter, and of nothing else")
        prose = open(os.path.join(SOURCE, "docs", "server.md")).read() + open(BOOK).read()
        for name in re.findall(r"`(paritect_\w+)`", prose):
            check(name in known, f"a document names {name}")


if __name__ == "__main__":
    main(globals())
