#!/usr/bin/env python3
"""`paritect fleet` with real bundles, agents and a server: fleet.py BUILD_DIR TEST [TEST...]

The hosts are folders of this machine: an `ssh` on PATH runs what it is told below HOME of the host that it is told, and fails
as ssh does for one that is "unplugged".
"""
import glob
import json
import os
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True  # the source folder stays as it is
import cluster as base
from cluster import BUILD, Cluster, Failure, SOURCE, binary, check, wait_for

SSH = """#!/bin/sh
# What is called is kept, to look for secrets in it.
printf '%s\\n' "$*" >> "$FLEET/calls"
while [ "$1" != -- ]; do shift; done
host=${2#*@}
[ -d "$FLEET/$host" ] || { echo "ssh: Could not resolve hostname $host: Name or service not known" >&2; exit 255; }
[ ! -e "$FLEET/$host/unplugged" ] || { echo "ssh: connect to host $host port 22: No route to host" >&2; exit 255; }
echo "Welcome to $host"
exec env -i HOME="$FLEET/$host/home" PATH="$FLEET/$host/bin:/usr/bin:/bin" sh -c "$3"
"""
UNAME = """#!/bin/sh
[ "$1" != -n ] || { echo HOST; exit 0; }
exec /usr/bin/uname "$@"
"""


class Fleet(Cluster):
    """A server, a bundle of this build, and hosts of which none has an agent yet."""

    def __init__(self, *hosts):
        super().__init__()
        self.root = os.path.join(self.work, "fleet")
        self.bin = os.path.join(self.work, "bin")
        os.makedirs(self.bin)
        self.write(os.path.join(self.bin, "ssh"), SSH)
        for host in hosts:
            os.makedirs(os.path.join(self.root, host, "home"))
            os.makedirs(os.path.join(self.root, host, "bin"))
            self.write(os.path.join(self.root, host, "bin", "uname"), UNAME.replace("HOST", host))
        self.environment.update(FLEET=self.root, PATH=self.bin + ":" + os.environ["PATH"])
        self.run(os.path.join(SOURCE, "deploy", "bundle"), BUILD, os.uname().machine, os.path.join(self.work, "bundles"),
                 "strip", timeout=600, environment=dict(os.environ, PARITECT_GZIP_LEVEL="1"))

    def __exit__(self, *arguments):
        for pid in self.agent_processes():
            os.kill(pid, 9)
        super().__exit__(*arguments)

    @staticmethod
    def write(path, text):
        with open(path, "w") as file:
            file.write(text)
        os.chmod(path, 0o755)

    def home(self, host, *parts):
        return os.path.join(self.root, host, "home", *parts)

    def fleet(self, verb, *arguments, **options):
        return self.client("fleet", verb, *arguments, "--prefix", "paritect", timeout=600, **options)

    def install(self, *arguments, **options):
        return self.fleet("install", *arguments, "--bundle", os.path.join(self.work, "bundles"), "--roots", "/data/a:/data/b",
                          **options)

    def agent_processes(self):
        """Agents whose program lies below a host's folder."""
        found = []
        for link in glob.glob("/proc/[0-9]*/exe"):
            try:
                if os.readlink(link).startswith(self.root + "/"):
                    found.append(int(link.split("/")[2]))
            except OSError:
                pass
        return found

    def states(self):
        rows = json.loads(self.client("node", "ls", "--role", "agent", "-o", "json").stdout)
        return {row["node"]: row["state"] for row in rows}


def test_install_to_uninstall():
    with Fleet("npu-1", "npu-2", "npu-3") as fleet:
        told = fleet.install("npu-[1-3]", "--dry-run").stdout
        check("would install, join, start: npu-1, npu-2, npu-3" in told, told)
        check(not os.listdir(fleet.home("npu-1")) and not fleet.states(), "a dry run leaves everything as it is")

        # One cannot be reached, on one nothing can be installed: the third is served all the same.
        fleet.write(os.path.join(fleet.root, "npu-2", "unplugged"), "")
        fleet.write(fleet.home("npu-3", "paritect"), "a file where the folder should be")
        told = fleet.install("npu-[1-3]", code=1)
        check("done: install, join, start: npu-1" in told.stdout, told.stdout)
        check("npu-2: not reached: " in told.stdout and "No route to host" in told.stdout, told.stdout)
        check("npu-3: install: " in told.stdout, told.stdout)
        check("what is done stays done" in told.stderr, told.stderr)
        check(json.loads(fleet.client("token", "ls", "-o", "json").stdout) == [], "what is left of the token is revoked")
        with open(fleet.home("npu-1", "paritect", "var/lib/paritect-agent/agent.yaml")) as config:
            check('roots: ["/data/a", "/data/b"]' in config.read(), "the roots are written")
        first = fleet.agent_processes()
        check(len(first) == 1, f"one agent runs: {first}")

        # The same call again does the rest.
        os.remove(os.path.join(fleet.root, "npu-2", "unplugged"))
        os.remove(fleet.home("npu-3", "paritect"))
        told = fleet.install("npu-[1-3]").stdout
        check("nothing to do: npu-1" in told and "done: install, join, start: npu-2, npu-3" in told, told)
        check(first[0] in fleet.agent_processes(), "the agent that ran goes on")
        wait_for(lambda: list(fleet.states().values()) == ["online"] * 3, 120, fleet.states)
        rows = json.loads(fleet.fleet("status", "npu-[1-3]", "-o", "json").stdout)
        check([row["running"] for row in rows] == [True] * 3 and rows[2]["state"] == "online", str(rows))
        check(rows[0]["server"] == fleet.address and rows[0]["node"] == "npu-1", str(rows))

        # An agent that ended is told and started again.
        os.kill(first[0], 15)
        wait_for(lambda: first[0] not in fleet.agent_processes(), 60, lambda: "the agent does not end")
        check("no" in fleet.fleet("status", "npu-1", code=1).stdout, "an agent that does not run")
        check("done: start: npu-1" in fleet.install("npu-1").stdout, "it is started")

        with open(os.path.join(fleet.root, "calls")) as calls:
            check("pjt-" not in calls.read(), "no token stands in a command line")
        fleet.fleet("uninstall", "npu-[1-3]", "--purge", "--revoke")
        check(not fleet.agent_processes(), "no agent runs")
        for host in ("npu-1", "npu-2", "npu-3"):
            check(not os.listdir(fleet.home(host)), f"left on {host}: {os.listdir(fleet.home(host))}")
        check(not fleet.states(), f"the server knows none of them: {fleet.states()}")
        check("nothing to do" in fleet.fleet("uninstall", "npu-[1-3]", "--purge").stdout, "twice is once")


def test_token_of_many_uses():
    """A token made by hand for a pattern of names: those that fit join without the server's credential."""
    with Fleet("npu-1", "gpu-1") as fleet:
        token = os.path.join(fleet.work, "token")
        with open(token, "w") as file:
            file.write(fleet.client("token", "create", "--role", "agent", "--node", "npu-*", "--uses", "5").stdout)
        environment = {key: value for key, value in fleet.environment.items() if key != "PARITECT_CREDENTIAL"}
        told = fleet.install("npu-1", "gpu-1", "--server", fleet.address, "--ca-pin", fleet.pin, "--token-file", token,
                             code=1, environment=environment).stdout
        check("done: install, join, start: npu-1" in told, told)
        check("gpu-1: join: " in told and "this token is for 'npu-*', not for 'gpu-1'" in told, told)
        left = json.loads(fleet.client("token", "ls", "-o", "json").stdout)
        check(left[0]["uses_left"] == 4 and left[0]["node"] == "npu-*", str(left))
        told = fleet.install("gpu-1", "--hosts", "/no/such/file", code=2).stderr
        check("/no/such/file" in told, told)
        check("unknown-1" in fleet.install("unknown-1", code=1).stdout, "a host that is not there")
        fleet.install("npu-1;reboot", code=2)


def test_printed_commands():
    """The playbook that --print gives installs, when Ansible runs it, and the lines for pdsh are a script."""
    with Fleet("here") as fleet:
        prefix = os.path.join(fleet.work, "own")
        printed = [fleet.client("fleet", "install", "here", "--bundle", os.path.join(fleet.work, "bundles"), "--prefix",
                                prefix, "--print", tool).stdout for tool in ("ansible", "pdsh")]
        subprocess.run(["sh", "-n"], input=printed[1], text=True, check=True)
        check(not glob.glob(prefix), "nothing is done")
        if not shutil.which("ansible-playbook"):
            print("no Ansible here: its playbook was not run")
            return
        playbook = os.path.join(fleet.work, "paritect-agent.yaml")
        token = os.path.join(fleet.work, "token")
        fleet.write(playbook, printed[0])
        fleet.write(token, fleet.client("token", "create", "--role", "agent").stdout)
        environment = dict(fleet.environment, ANSIBLE_LOCALHOST_WARNING="False", LC_ALL="C.UTF-8")
        for _ in range(2):  # twice is once
            done = subprocess.run(["ansible-playbook", "-c", "local", "-i", "here,", playbook, "-e", f"token_file={token}"],
                                  env=environment, capture_output=True, text=True, timeout=300)
            check(done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:])
        try:
            check(len(fleet.states()) == 1, str(fleet.states()))
        finally:
            fleet.run(os.path.join(prefix, "lib/paritect-agent/uninstall"), "--prefix", prefix, "--purge")
        check(not os.path.exists(prefix), "nothing is left")


if __name__ == "__main__":
    base.main(globals())
