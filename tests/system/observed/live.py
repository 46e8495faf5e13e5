#!/usr/bin/env python3
"""Trainings that are seen while they run: live.py BUILD_DIR TEST [TEST...]

A real server, two agents, and on each node a real data-parallel PyTorch training of two ranks, which goes on until the
test has seen what it wants. Exit code 77: no interpreter with PyTorch is here.
"""
import json
import os
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
from cluster import Cluster, Failure, binary, check, main  # noqa: E402
from ports import own_port  # noqa: E402

PYTHON = os.environ.get("PARITECT_TORCH_PYTHON", "/usr/bin/python3")
NODES = (("gpu", "gpu-01"), ("npu", "npu-01"))
FIRST_STEP = ("first-step.forward.loss", "first-step.forward.first-diverging-operator", "first-step.gradients.gradients",
              "first-step.update.updated", "training.flow.initial-weights", "data.preprocessing.samples")
PATIENCE = 240


class Trainings:
    """One of each node; end() lets them finish."""

    def __init__(self, cluster, start):
        self.file = os.path.join(cluster.work, "finish")
        self.processes = {}
        for run, node in NODES:
            command = [PYTHON, os.path.join(HERE, "two_ranks.py"), self.file, str(own_port())]
            self.processes[run] = start(run, node, command)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in self.processes.values():
            if process.poll() is None:
                process.terminate()
                process.wait()

    def run_on(self):
        return all(process.poll() is None for process in self.processes.values())

    def end(self):
        open(self.file, "w").close()
        for run, process in self.processes.items():
            _, told = process.communicate(timeout=PATIENCE)
            check(process.returncode == 0, f"{run} ended with {process.returncode}: {told[-2000:]}")
            yield run, told


def waited_for(what, seen):
    deadline = time.time() + PATIENCE
    while time.time() < deadline:
        found = seen()
        if found:
            return found
        time.sleep(0.5)
    raise Failure("not seen: " + what)


def checks_of(cluster, audit):
    report = json.loads(cluster.client("audit", "run", audit, "-o", "json", code=[0, 1, 3]).stdout)
    return {one["id"]: one for item in report["items"] for one in item["checks"]}


def first_step_is_judged(checks):
    for name in FIRST_STEP:
        check(checks[name]["verdict"] == "pass", f"{name}: {json.dumps(checks[name])[:1500]}")


def has_ended(checks):
    """Of the migrated run: its output has come to its own end."""
    missing = [one["what"]["en"] for one in checks["migrated.mixed-precision.runs"]["missing"]]
    return not any("mark of its own end" in what for what in missing)


def test_wrapped():
    """`paritect run` hands over what there is as soon as the first step is recorded, and the whole at the end."""
    with Cluster() as cluster:
        for _, node in NODES:
            cluster.join(node)
            cluster.start_agent(node)
        cluster.wait_online(*[node for _, node in NODES])

        def start(run, node, words):
            socket = os.path.join(cluster.state(node), "agent.sock")
            return subprocess.Popen([binary("paritect"), "run", "--run", run, "--agent", socket, "--no-trace", "--",
                                     *words], cwd=cluster.work, env=cluster.environment, stdout=subprocess.PIPE,
                                    stderr=subprocess.PIPE, text=True)

        with Trainings(cluster, start) as trainings:
            waited_for("the runs", lambda: {run for run, _ in NODES} <= {
                one["run"] for one in json.loads(cluster.client("runs", "ls", "-o", "json").stdout)})
            audit = os.path.join(cluster.work, "audit.yaml")
            with open(audit, "w") as file:
                file.write("audit: live\nbaseline: {runs: [gpu]}\nmigrated: {runs: [npu]}\n")
            cluster.client("audit", "create", audit)
            early = checks_of(cluster, "live")
            check(trainings.run_on(), "a training ended before it was let")
            first_step_is_judged(early)
            check(not has_ended(early), "a training that runs is said to have ended")
            for run, told in trainings.end():
                check(f"run {run} is registered" in told, told)
        # The agent has it; the server will.
        waited_for("the end", lambda: has_ended(checks_of(cluster, "live")))
        first_step_is_judged(checks_of(cluster, "live"))


def test_by_hand():
    """A launcher that got the variables of `paritect observe env`: an audit whose plans name the folder reads it on the
    nodes, while the training runs and when it is over."""
    with Cluster() as cluster:
        folders = {run: os.path.join(cluster.work, "observe-" + run) for run, _ in NODES}
        for run, node in NODES:
            cluster.join(node)
            cluster.start_agent(node, [folders[run]])
        cluster.wait_online(*[node for _, node in NODES])

        def start(run, node, words):
            shown = cluster.client("observe", "env", folders[run], "--format=env").stdout
            variables = dict(line.split("=", 1) for line in shown.splitlines())
            return subprocess.Popen(words, cwd=cluster.work, env=dict(cluster.environment, **variables),
                                    stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)

        with Trainings(cluster, start) as trainings:
            audit = os.path.join(cluster.work, "audit.yaml")
            with open(audit, "w") as file:
                file.write("audit: live\n")
                for side, (run, node) in zip(("baseline", "migrated"), NODES):
                    plan = {"run": run, "observed": [folders[run]]}
                    file.write(f"{side}: {{nodes: [{node}], plans: {json.dumps([plan])}}}\n")
            cluster.client("audit", "create", audit)
            waited_for("two steps of each rank", lambda: all(second_steps(one) == 2 for one in folders.values()))
            early = checks_of(cluster, "live")
            check(trainings.run_on(), "a training ended before it was let")
            first_step_is_judged(early)
            list(trainings.end())
        first_step_is_judged(checks_of(cluster, "live"))


def second_steps(folder):
    """Files of records that hold what follows the second step."""
    count = 0
    for name in os.listdir(folder):
        with open(os.path.join(folder, name), "rb") as file:
            count += any(b'"k":"step"' in line and b'"n":3,' in line for line in file)
    return count


if __name__ == "__main__":
    if subprocess.run([PYTHON, "-c", "import torch.distributed"], capture_output=True).returncode:
        print("skipped: no PyTorch in " + PYTHON)
        sys.exit(77)
    main(globals())
