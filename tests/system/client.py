#!/usr/bin/env python3
"""The client's verbs against a real server and agents: client.py BUILD_DIR TEST [TEST...]"""
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import fcntl
import time

sys.dont_write_bytecode = True  # the source folder stays as it is
import cluster as base
from cluster import Cluster, SOURCE, binary, check, verdicts

EXAMPLE = os.path.join(SOURCE, "deploy", "example")


class TwoNodes(Cluster):
    """A server with the example's two nodes online and its audit created."""

    def __enter__(self):
        super().__enter__()
        for node in ("gpu-01", "npu-01"):
            self.join(node)
            self.start_agent(node, [EXAMPLE])
        self.wait_online("gpu-01", "npu-01")
        self.example_audit()
        return self


def on_terminal(environment, columns, rows, *command):
    """Runs a command on a terminal of that size: (exit code, all that it wrote)."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    process = subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave, env=dict(environment, TERM="xterm"))
    os.close(slave)
    text = b""
    deadline = time.time() + 120
    while time.time() < deadline:
        ready, _, _ = select.select([master], [], [], 0.2)
        if ready:
            try:
                piece = os.read(master, 65536)
            except OSError:
                break
            if not piece:
                break
            text += piece
        elif process.poll() is not None:
            break
    os.close(master)
    return process.wait(30), text.decode()


def test_person_joins():
    with Cluster() as cluster:
        token = cluster.token("viewer")
        mine = os.path.join(cluster.work, "eve.credential")
        arguments = ["join", cluster.address, "--token", token, "--name", "eve", "-o", mine, "--ca-pin"]
        cluster.client(*arguments, "sha256:" + "0" * 64, code=4)
        check(not os.path.exists(mine), "a wrong pin writes nothing")
        done = cluster.client(*arguments, cluster.pin)
        check("viewer eve" in done.stdout, done.stdout)
        check(os.stat(mine).st_mode & 0o777 == 0o600, "the credential is for its owner alone")
        cluster.client("node", "ls", "--credential", mine)
        cluster.client("doctor", "--credential", mine)
        refused = cluster.client("audit", "cancel", "x", "--credential", mine, code=4)
        check("viewer may not call CancelAudit" in refused.stderr, refused.stderr)
        cluster.client(*arguments, cluster.pin, code=2)  # the file is there
        arguments[7] = os.path.join(cluster.work, "again.credential")
        check("token" in cluster.client(*arguments, cluster.pin, code=4).stderr, "a token is good once")
        # Found without an option: in a project file above.
        os.makedirs(os.path.join(cluster.work, "project", "run1"))
        with open(os.path.join(cluster.work, "project", "paritect.yaml"), "w") as file:
            file.write("contexts: {lab: ../eve.credential}\ncurrent: lab\n")
        del cluster.environment["PARITECT_CREDENTIAL"]
        subprocess.run([binary("paritect"), "node", "ls"], cwd=os.path.join(cluster.work, "project", "run1"),
                       env=cluster.environment, check=True, capture_output=True)
        cluster.client("node", "ls", code=2)


def test_watch():
    with TwoNodes() as cluster:
        lines = cluster.client("audit", "run", "example", "--watch", code=1).stdout.splitlines()
        events = [json.loads(line) for line in lines]
        check(events[-1]["event"] == "report", str(events[-1])[:200])
        check(events[-2]["event"] == "run" and events[-2]["state"] == "done", str(events[-2]))
        check({e["node"] for e in events if e["event"] == "node"} == {"gpu-01", "npu-01"}, "both nodes are told of")
        last = {e["node"]: e for e in events if e["event"] == "node"}
        for node, event in last.items():
            check(event["files_done"] > 0 and event["bytes_done"] > 0, f"what {node} read: {event}")
        done = cluster.client("audit", "run", "example", "--watch", "-o", "json", code=1)
        check(verdicts(json.loads(done.stdout)) == verdicts(events[-1]["report"]), "the same report")
        for line in done.stderr.splitlines():
            json.loads(line)
        for columns, rows in ((100, 24), (50, 5)):
            code, text = on_terminal(cluster.environment, columns, rows, binary("paritect"), "audit", "run", "example",
                                     "--watch", "--color", "never")
            check(code == 1, f"exit code {code}: {text[-500:]}")
            check(re.search(r"example run \d+: done", text), text[:2000])
            check("\x1b[2K" in text and "\x1b[J" in text, "drawn in place")
            progress = text[:text.rindex("\x1b[J")]
            for line in re.sub(r"\x1b\[[0-9]*[A-Z]", "", progress).replace("\r", "\n").split("\n"):
                check(len(line) < columns, f"longer than {columns}: {line!r}")


def test_answers():
    with TwoNodes() as cluster:
        before = json.loads(cluster.client("audit", "run", "example", "-o", "json", code=1).stdout)
        found = {c["id"]: c for item in before["items"] for c in item["checks"]}
        name = next(id for id, c in found.items() if c["verdict"] == "not_performed")
        person = ["--by", "Chen", "--reason", "looked at it", "--until", "2999-12-31"]
        cluster.client("attest", name, "--audit", "example", *person)
        failed = next(c for c in found.values() if c["verdict"] == "fail")
        for finding in failed["findings"]:
            if finding["severity"] == "error":
                cluster.client("waive", "add", failed["id"], "--kind", finding["kind"], *person)
        after = json.loads(cluster.client("audit", "run", "example", "-o", "json", code=[0, 1]).stdout)
        changed = {c["id"]: c for item in after["items"] for c in item["checks"]}
        check(changed[name]["verdict"] == "pass" and changed[name]["attested"]["by"] == "Chen", str(changed[name]))
        check(changed[failed["id"]]["verdict"] != "fail", "what is waived does not fail")
        shown = cluster.client("audit", "show", "example", code=[0, 1]).stdout
        check(any("not performed -> pass" in line and name in line for line in shown.splitlines()), shown[-800:])
        listed = json.loads(cluster.client("waive", "ls", "-o", "json").stdout)
        check(listed["attestations"][0]["check"] == name and listed["waivers"], str(listed))
        cluster.client("waive", "lint")
        report = os.path.join(cluster.work, "report.json")
        cluster.client("report", "example", "-o", "json=" + report, code=[0, 1])
        cluster.client("report", "verify", report, "--audit", "example")
        cluster.client("report", "verify", report, "--audit", "example", "--run", "1", code=1)
        page = os.path.join(cluster.work, "report.html")
        cluster.client("report", "example", "-o", "html=" + page, code=[0, 1])
        cluster.client("report", "verify", page, "--audit", "example")
        check("pictures are not signed" in cluster.client("report", "verify", page).stdout, "a page with pictures")
        # Pictures of another report beside a signed one: the signature holds, and the server knows better.
        text = open(page, encoding="utf-8").read()
        begin = text.index('id="pictures">') + len('id="pictures">')
        end = text.index("</script>", begin)
        check(text[begin:end] != "null", "the example has pictures")
        with open(page, "w", encoding="utf-8") as file:
            file.write(text[:begin] + "null" + text[end:])
        cluster.client("report", "verify", page)
        with open(page, "w", encoding="utf-8") as file:
            file.write(text[:begin] + text[begin:end].replace('"baseline"', '"other"', 1) + text[end:])
        forged = cluster.client("report", "verify", page, "--audit", "example", code=1)
        check("pictures are not those" in forged.stdout, forged.stdout)
        why = cluster.client("why", failed["id"], "--audit", "example", code=[0, 1]).stdout
        check("npu-01" in why and "Chen" in why, why)
        cluster.client("audit", "wait", "example", "--timeout", "5s")
        cluster.client("audit", "create", os.path.join(cluster.work, "nowhere.yaml"), code=2)


def until_it_collects(cluster):
    listed = lambda: cluster.client("audit", "ls", "example", "-o", "json").stdout
    base.wait_for(lambda: "collecting" in listed(), 90, lambda: f"the run does not begin: {listed()}")


def test_interrupted():
    with TwoNodes("--silent-after", "600s") as cluster:
        cluster.agents["npu-01"].send_signal(signal.SIGSTOP)
        run = subprocess.Popen([binary("paritect"), "audit", "run", "example", "--watch", "-o", "json"],
                               env=cluster.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        until_it_collects(cluster)
        cluster.client("audit", "wait", "example", "--timeout", "1s", code=5)
        cluster.client("audit", "run", "example", code=4)  # it runs already
        cluster.kill_server()
        refused = cluster.client("node", "ls", code=4)
        check("connection refused" in refused.stderr and refused.stderr.count("may be starting") == 1, refused.stderr)
        time.sleep(2)
        cluster.start_server()
        cluster.agents["npu-01"].send_signal(signal.SIGCONT)
        out, err = run.communicate(timeout=120)
        check(run.returncode == 1, f"exit code {run.returncode}: {err[-1000:]}")
        check(json.loads(out)["verdict"] == "fail", "the report of the run that outlived its server")
        check("trying again" in err, err[-1000:])


def test_cancelled():
    with TwoNodes("--silent-after", "600s") as cluster:
        cluster.agents["npu-01"].send_signal(signal.SIGSTOP)
        run = subprocess.Popen([binary("paritect"), "audit", "run", "example"], env=cluster.environment,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        until_it_collects(cluster)
        cluster.client("audit", "cancel", "example")
        out, err = run.communicate(timeout=60)
        check(run.returncode == 4 and "cancelled" in err and not out, f"{run.returncode} {out} {err}")
        cluster.client("audit", "show", "example", code=4)
        cluster.agents["npu-01"].send_signal(signal.SIGCONT)


if __name__ == "__main__":
    base.main(globals())
