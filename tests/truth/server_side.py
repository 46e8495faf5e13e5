"""The same audit by a server: bundles of its plans, imported, and an audit over the runs that they are of.

One server for all cells, started when the first asks for it and ended with the program.
"""
import atexit
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time

import audit

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "system"))
from ports import own_port  # noqa: E402


class Server:
    def __init__(self, build):
        self.build = build
        self.work = tempfile.mkdtemp(prefix="truth-server-")
        atexit.register(self.end)
        address = f"127.0.0.1:{own_port()}"
        folder = os.path.join(self.work, "server")
        self.environment = dict(os.environ, HOME=self.work, NO_COLOR="1", LC_ALL="C.UTF-8",
                                SOURCE_DATE_EPOCH="1700000000")
        self.call("paritect-server", "init", folder, "--address", address)
        self.environment["PARITECT_CREDENTIAL"] = os.path.join(folder, "admin.credential")
        with open(os.path.join(self.work, "log"), "wb") as log:
            self.process = subprocess.Popen(  # pylint: disable=consider-using-with
                [os.path.join(build, "paritect-server"), "run", folder, "--listen", address], stdout=log, stderr=log
            )
        host, port = address.split(":")
        while True:
            if self.process.poll() is not None:
                raise RuntimeError("the server ended")
            try:
                socket.create_connection((host, int(port)), 1).close()
                break
            except OSError:
                time.sleep(0.05)

    def end(self):
        if getattr(self, "process", None) and self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.work, ignore_errors=True)

    def call(self, program, *words, codes=(0,)):
        done = subprocess.run([os.path.join(self.build, program), *words], capture_output=True, timeout=120,
                              env=self.environment, cwd=self.work, check=False)
        if done.returncode not in codes:
            raise RuntimeError(f"{program} {' '.join(words[:3])}: exit {done.returncode}: "
                               f"{done.stderr.decode('utf-8', 'replace').strip()[-300:]}")
        return done.stdout


SERVERS, LOCK = {}, threading.Lock()


def server_of(program):
    build = os.path.dirname(program)
    with LOCK:
        if build not in SERVERS:
            SERVERS[build] = Server(build)
        return SERVERS[build]


def run(program, folder, one):
    """As audit.run: (report, "") or (None, what went wrong)."""
    try:
        server = server_of(program)
        name = "t" + re.sub(r"\W", "", os.path.abspath(folder))[-60:]
        sides = {}
        for side in ("baseline", "migrated"):
            runs = []
            for number, plan in enumerate(getattr(one, side)):
                # The server keeps runs by name, of all cells.
                own = audit.Plan(dict(plan.plan, run=f"{name}-{plan.plan['run']}"), plan.files, plan.folder)
                place = os.path.join(folder, own.folder or f"{side}-{number}")
                audit.write_plan(place, own)
                bundle = os.path.join(folder, f"{side}-{number}.pbundle")
                server.call("paritect-agent", "collect", place, "-o", bundle)
                server.call("paritect", "import", bundle)
                if own.plan["run"] not in runs:
                    runs.append(own.plan["run"])
            sides[side] = {"runs": runs}
        file = os.path.join(folder, "audit.yaml")
        with open(file, "w", encoding="utf-8") as out:
            json.dump({"audit": name, **sides}, out)
        server.call("paritect", "audit", "create", file)
        return json.loads(server.call("paritect", "audit", "run", name, "-o", "json", codes=(0, 1))), ""
    except (RuntimeError, OSError, ValueError, subprocess.TimeoutExpired) as error:
        return None, str(error)
