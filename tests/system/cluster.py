#!/usr/bin/env python3
"""Real servers, agents and clients on the loopback: cluster.py BUILD_DIR TEST [TEST...]

Each test starts its own server in a folder of its own, over mTLS with its own authority. Python's standard library alone.
"""
import hashlib
import http.server
import json
import math
import os
import random
import re
import resource
import shutil
import signal
import socket
import sqlite3
import ssl
import stat
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
import zlib

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from ports import own_port  # noqa: E402

BUILD = os.path.abspath(sys.argv[1])
SOURCE = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
LONG = bool(os.environ.get("PARITECT_TEST_ALL"))
BYTES_A_FILE = 150  # that an agent needs at most while it makes a list: docs/agent.md


def binary(name):
    return os.path.join(BUILD, name)


class Failure(Exception):
    pass


def check(condition, what):
    if not condition:
        raise Failure(what)


def wait_for(condition, seconds, what):
    """Until the condition holds; on a busy machine that may take long. `what()`: what is wrong if it never does."""
    deadline = time.time() + seconds
    while not condition():
        check(time.time() < deadline, f"not in {seconds} s: {what()}")
        time.sleep(0.1)


class Cluster:
    """One server folder, its server process and any number of agents; everything ends with the `with` block."""

    def __init__(self, *server_options, fsize=None, descriptors=None):
        self.work = tempfile.mkdtemp(prefix="paritect-cluster-")
        self.options = list(server_options)
        self.fsize, self.descriptors = fsize, descriptors
        self.agents = {}
        self.server = None
        self.port = own_port()
        self.address = f"127.0.0.1:{self.port}"
        self.dir = os.path.join(self.work, "server")
        init = self.run(binary("paritect-server"), "init", self.dir, "--address", self.address)
        self.pin = re.search(r"ca-pin (sha256:[0-9a-f]{64})", init.stdout).group(1)
        self.credential = os.path.join(self.dir, "admin.credential")
        self.environment = dict(os.environ, PARITECT_CREDENTIAL=self.credential, NO_COLOR="1", LC_ALL="C.UTF-8",
                                HOME=self.work)

    def __enter__(self):
        self.start_server()
        return self

    def __exit__(self, *_):
        for process in list(self.agents.values()) + [self.server]:
            if process and process.poll() is None:
                process.kill()
                process.wait()
        shutil.rmtree(self.work, ignore_errors=True)

    def run(self, *command, code=0, timeout=120, environment=None):
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout,
                              env=environment or getattr(self, "environment", None), cwd=self.work)
        if code is not None:
            codes = code if isinstance(code, (list, tuple)) else [code]
            check(done.returncode in codes, f"{' '.join(map(str, command))}: exit code {done.returncode}, not {code}\n"
                                            f"{done.stdout[-2000:]}{done.stderr[-2000:]}")
        return done

    def client(self, *arguments, **options):
        return self.run(binary("paritect"), *arguments, **options)

    def start_server(self):
        log = open(os.path.join(self.work, "server.log"), "ab")
        self.log_start = log.tell()  # what an earlier server wrote stands before it

        def limits():
            if self.descriptors:
                resource.setrlimit(resource.RLIMIT_NOFILE, (self.descriptors, self.descriptors))

        self.server = subprocess.Popen([binary("paritect-server"), "run", self.dir, "--listen", self.address,
                                        *self.options], stdout=log, stderr=log, preexec_fn=limits)
        deadline = time.time() + 90
        while time.time() < deadline:
            check(self.server.poll() is None, "the server ended: " + self.server_log())
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            except OSError:
                time.sleep(0.05)
        raise Failure("the server does not listen: " + self.server_log())

    def server_log(self):
        with open(os.path.join(self.work, "server.log"), errors="replace") as log:
            return log.read()[-3000:]

    def web_port(self):
        """The port of page and metrics; it is told some time after the main port answers."""
        deadline = time.time() + 60
        while time.time() < deadline:
            with open(os.path.join(self.work, "server.log"), errors="replace") as log:
                log.seek(self.log_start)
                told = re.search(r"metrics on port (\d+)", log.read())
            if told:
                return int(told.group(1))
            time.sleep(0.05)
        raise Failure("the server tells no port of its page: " + self.server_log())

    def metric(self, name):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.web_port()}/metrics", timeout=10) as page:
            return float(re.search(rf"^paritect_{name} (\S+)$", page.read().decode(), re.M).group(1))

    def metric_reaches(self, name, least, seconds=90):
        """What a metric counts may follow what it counts."""
        wait_for(lambda: self.metric(name) >= least, seconds, lambda: f"{name} is {self.metric(name)}, not {least}")

    def log_has(self, text, *filters, seconds=90):
        """The server's journal, or with `filters` its log of calls, comes to hold a text."""
        read = (lambda: self.client("log", *filters, "-o", "json").stdout) if filters else self.server_log
        wait_for(lambda: text in read(), seconds, lambda: f"no '{text}' in {read()}")

    def stop_server(self):
        self.server.send_signal(signal.SIGTERM)
        check(self.server.wait(90) == 0, "the server did not stop well: " + self.server_log())

    def kill_server(self):
        self.server.kill()
        self.server.wait()

    def token(self, role="agent", *more):
        return self.client("token", "create", "--role", role, *more).stdout.strip()

    def state(self, node):
        return os.path.join(self.work, "agent-" + node)

    def join(self, node, token=None, pin=None, code=0):
        return self.run(binary("paritect-agent"), "join", self.address, "--token", token or self.token(), "--ca-pin",
                        pin or self.pin, "--node", node, "--state", self.state(node), code=code)

    def start_agent(self, node, roots=()):
        with open(os.path.join(self.state(node), "agent.yaml"), "w") as config:
            config.write("roots: " + json.dumps(list(roots)) + "\n")
        log = open(os.path.join(self.work, node + ".log"), "ab")
        self.agents[node] = subprocess.Popen([binary("paritect-agent"), "run", "--state", self.state(node)],
                                             stdout=log, stderr=log)

    def wait_online(self, *nodes, seconds=90):
        deadline = time.time() + seconds
        while time.time() < deadline:
            rows = json.loads(self.client("node", "ls", "-o", "json").stdout)
            if set(nodes) <= {row["node"] for row in rows if row["state"] == "online"}:
                return rows
            time.sleep(0.2)
        raise Failure(f"not online in {seconds} s: {nodes}: {rows}")

    def example_audit(self, name="example", extra=""):
        """The bundled example over two nodes; its files are read where they lie."""
        example = os.path.join(SOURCE, "deploy", "example")
        text = f"audit: {name}\n"
        for side, node, folders in (("baseline", "gpu-01", ["gpu/seed1", "gpu/seed2", "gpu/seed3"]),
                                    ("migrated", "npu-01", ["npu"])):
            plans = [plan_of(os.path.join(example, folder)) for folder in folders]
            text += f"{side}: {{nodes: [{node}], plans: {json.dumps(plans)}}}\n"
        path = os.path.join(self.work, name + ".yaml")
        with open(path, "w") as file:
            file.write(text + extra)
        self.client("audit", "create", path)
        return example

    def database(self):
        return sqlite3.connect("file:" + os.path.join(self.dir, "paritect.db") + "?mode=ro", uri=True)


def plan_of(folder):
    """A plan of the example with absolute paths, as an audit file carries it (the example's plans are simple YAML)."""
    plan = read_simple_yaml(os.path.join(folder, "plan.yaml"))
    plan.setdefault("run", os.path.basename(folder))
    plan.pop("node", None)
    plan["live"] = False
    absolute = lambda path: os.path.normpath(os.path.join(folder, path))
    for key in ("datasets", "shards", "settings", "logs"):
        for i, entry in enumerate(plan.get(key, [])):
            if isinstance(entry, str):
                plan[key][i] = absolute(entry)
            else:
                for name in ("root", "manifest", "list", "file"):
                    if name in entry:
                        entry[name] = absolute(entry[name])
    return plan


def read_simple_yaml(path):
    """Flow-style values on one line each, block lists of one-line items: what the example's plans are written in."""
    plan, key = {}, None
    with open(path) as file:
        for line in file:
            line = re.sub(r"(^|\s)#.*", "", line).rstrip()
            if not line:
                continue
            if line.startswith("  - ") or line.startswith("- "):
                plan.setdefault(key, [])
                plan[key].append(flow(line.strip()[2:]))
                continue
            key, _, value = line.partition(":")
            if value.strip():
                plan[key] = flow(value.strip())
    return plan


def flow(text):
    text = text.strip()
    if text.startswith("{") and text.endswith("}"):
        return {k.strip(): flow(v) for k, v in (part.split(":", 1) for part in split(text[1:-1]))}
    if text.startswith("[") and text.endswith("]"):
        return [flow(part) for part in split(text[1:-1])]
    if text in ("true", "false"):
        return text == "true"
    if re.fullmatch(r"-?\d+", text):
        return int(text)
    if re.fullmatch(r"-?\d+\.\d*", text):
        return float(text)
    return text.strip("\"'")


def split(text):
    parts, depth, quote, start = [], 0, None, 0
    for i, c in enumerate(text):
        if quote:
            quote = None if c == quote else quote
        elif c in "\"'":
            quote = c
        elif c in "[{":
            depth += 1
        elif c in "]}":
            depth -= 1
        elif c == "," and depth == 0:
            parts.append(text[start:i])
            start = i + 1
    return [part for part in parts + [text[start:]] if part.strip()]


# ---------------------------------------------------------------------------------------------------------------------


def verdicts(report):
    return {c["id"]: c["verdict"] for item in report["items"] for c in item["checks"]}


def test_whole_audit():
    with Cluster() as cluster:
        example = os.path.join(SOURCE, "deploy", "example")
        for node in ("gpu-01", "npu-01"):
            cluster.join(node)
            cluster.start_agent(node, [example])
        cluster.wait_online("gpu-01", "npu-01")
        cluster.example_audit()
        done = cluster.client("audit", "run", "example", "-o", "json", code=1)
        report = json.loads(done.stdout)
        local = json.loads(cluster.client("check", "--baseline", example + "/gpu/seed1", "--baseline",
                                          example + "/gpu/seed2", "--baseline", example + "/gpu/seed3", "--migrated",
                                          example + "/npu", "-o", "json", code=1).stdout)
        there, here = verdicts(report), verdicts(local)
        # What a server knows beyond the bundles, and nothing else, may differ.
        differ = {id for id in here if here[id] != there[id] and not id.startswith(("cluster.coverage", "evidence."))}
        check(not differ, f"the server's verdicts differ from the local audit's: "
                          f"{[(id, here[id], there[id]) for id in sorted(differ)]}")
        # The cause is named as if the files were at hand: the nodes are asked about what differs.
        kinds = lambda r: sorted((c["id"], f["kind"]) for item in r["items"] for c in item["checks"]
                                 if c["id"].startswith("data.dataset") for f in c["findings"])
        check(kinds(report) == kinds(local), f"{kinds(report)}\n{kinds(local)}")
        check(("data.dataset.content", "truncated") in kinds(report), str(kinds(report)))
        check(there["cluster.coverage.nodes"] == "pass", "both nodes reported")
        check(there["cluster.coverage.records"] == "pass", "no record was lost")
        check(there["evidence.integrity.records"] == "pass", "evidence is whole")
        check(there["evidence.integrity.audit-log"] == "pass", "the log is whole")
        check(report["coverage"]["nodes"] == {"expected": 2, "reported": 2}, str(report["coverage"]))
        shown = json.loads(cluster.client("audit", "show", "example", "-o", "json", code=[0, 1]).stdout)
        check(verdicts(shown) == there, "audit show prints the last report")
        # A second run: the same verdicts; equal evidence costs no second copy.
        cluster.client("audit", "run", "example", "-o", "json", code=1)
        runs = cluster.client("runs", "ls").stdout
        check("seed1" in runs, runs)
        # A bundle of an air-gapped side, twice.
        bundle = os.path.join(cluster.work, "x.pbundle")
        cluster.run(binary("paritect-agent"), "collect", example + "/npu", "-o", bundle)
        cluster.client("import", bundle)
        again = cluster.client("import", bundle)
        check("already" in again.stdout + again.stderr, "importing twice says so: " + again.stdout + again.stderr)
        cluster.client("doctor", code=[0, 1])
        cluster.stop_server()
        verified = cluster.run(binary("paritect-server"), "verify", cluster.dir)
        check("whole" in verified.stdout, verified.stdout)


def test_silent_node():
    with Cluster("--silent-after", "2s") as cluster:
        example = os.path.join(SOURCE, "deploy", "example")
        for node in ("gpu-01", "npu-01"):
            cluster.join(node)
        cluster.start_agent("gpu-01", [example])
        cluster.wait_online("gpu-01")
        cluster.example_audit()
        done = cluster.client("audit", "run", "example", "-o", "json", code=[1, 6])
        report = json.loads(done.stdout)
        check(report["coverage"]["nodes"] == {"expected": 2, "reported": 1}, str(report["coverage"]))
        found = {c["id"]: c for item in report["items"] for c in item["checks"]}
        silent = found["cluster.coverage.nodes"]
        check(silent["verdict"] == "not_performed", "a silent node: coverage cannot pass")
        check(any(m["from"] == "npu-01" for m in silent["missing"]), str(silent["missing"]))
        check(found["data.dataset.content"]["verdict"] != "pass", "nothing passes without the silent node's evidence")
        rows = json.loads(cluster.client("node", "ls", "-o", "json").stdout)
        check({"npu-01"} <= {row["node"] for row in rows}, "silent nodes are rows")


def test_outside_roots():
    with Cluster() as cluster:
        example = os.path.join(SOURCE, "deploy", "example")
        for node in ("gpu-01", "npu-01"):
            cluster.join(node)
        cluster.start_agent("gpu-01", [example])
        cluster.start_agent("npu-01", [cluster.work])  # the example lies outside
        cluster.wait_online("gpu-01", "npu-01")
        cluster.example_audit()
        report = json.loads(cluster.client("audit", "run", "example", "-o", "json", code=[0, 1]).stdout)
        found = {c["id"]: c for item in report["items"] for c in item["checks"]}
        content = found["data.dataset.content"]
        check(content["verdict"] == "not_performed", f"outside its roots an agent reads nothing: {content}")
        check("roots" in json.dumps(content["missing"]), f"the way out is named: {content['missing']}")


def test_refusals():
    with Cluster() as cluster:
        token = cluster.token()
        cluster.join("gpu-01", token)
        replay = cluster.join("gpu-02", token, code=4)
        check("token" in replay.stderr, replay.stderr)
        wrong = cluster.join("gpu-03", pin="sha256:" + "0" * 64, code=4)
        check("pin" in wrong.stderr.lower(), wrong.stderr)
        cluster.join("gpu-01", code=4)  # the name is taken
        # A viewer may look and nothing else.
        viewer = os.path.join(cluster.work, "viewer.credential")
        cluster.run(binary("paritect-server"), "credential", cluster.dir, "--role", "viewer", "--name", "eve",
                    "--server", cluster.address, "-o", viewer)
        cluster.client("node", "ls", "--credential", viewer)
        refused = cluster.client("token", "create", "--role", "agent", "--credential", viewer, code=4)
        check("viewer may not call CreateToken" in refused.stderr, refused.stderr)
        # An agent's credential reads nothing of others.
        agent = os.path.join(cluster.state("gpu-01"), "agent.credential")
        refused = cluster.client("node", "ls", "--credential", agent, code=4)
        check("role agent may not call" in refused.stderr, refused.stderr)
        # Another server's authority.
        with Cluster() as other:
            stranger = other.credential
            text = open(stranger).read().replace(other.address, cluster.address)
            forged = os.path.join(cluster.work, "forged.credential")
            with open(os.open(forged, os.O_WRONLY | os.O_CREAT, 0o600), "w") as file:
                file.write(text)
            cluster.client("node", "ls", "--credential", forged, code=4)
        expired_certificate(cluster)
        short = cluster.run(binary("paritect-server"), "run", cluster.dir, "--agent-lifetime", "20s", code=2)
        check("--agent-lifetime 20s" in short.stderr, short.stderr)
        # Without TLS, without a certificate, with garbage: hung up on, and the server lives.
        for data in (b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01\xff\xff" + b"\0" * 100, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"):
            with socket.create_connection(("127.0.0.1", cluster.port), 5) as raw:
                raw.sendall(data)
                raw.settimeout(15)
                try:
                    raw.recv(1000)
                except OSError:
                    pass
        cluster.client("node", "ls")
        # All of it stands in the log, whose chain is whole.
        cluster.stop_server()
        rows = cluster.database().execute("SELECT count(*) FROM log").fetchone()[0]
        check(rows > 5, f"{rows} log entries")
        cluster.run(binary("paritect-server"), "verify", cluster.dir)


def expired_certificate(cluster):
    """A certificate of the right authority whose time is over: refused in the handshake, whatever the client thinks."""
    if not shutil.which("openssl"):
        return
    openssl = lambda *a: subprocess.run(["openssl", *a], cwd=cluster.work, check=True, capture_output=True)
    openssl("req", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=old", "-keyout", "old.key", "-out", "old.csr")
    with open(os.path.join(cluster.work, "ext"), "w") as file:
        file.write("extendedKeyUsage=clientAuth\nbasicConstraints=CA:FALSE\nsubjectAltName=URI:paritect://admin/old\n")
    for days, good in (("1", True), ("-1", False)):
        openssl("x509", "-req", "-in", "old.csr", "-CA", cluster.dir + "/ca.pem", "-CAkey", cluster.dir + "/ca.key",
                "-set_serial", "4711", "-days", days, "-out", "old.pem", "-extfile", "ext")
        context = ssl.create_default_context(cafile=cluster.dir + "/ca.pem")
        context.load_cert_chain(cluster.work + "/old.pem", cluster.work + "/old.key")
        context.set_alpn_protocols(["h2"])
        refused = ""
        try:
            with socket.create_connection(("127.0.0.1", cluster.port), 10) as raw:
                with context.wrap_socket(raw, server_hostname="localhost") as tls:
                    tls.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0")
                    if not tls.recv(100):
                        refused = "hung up"
        except (ssl.SSLError, OSError) as error:
            refused = str(error)
        check(good == (refused == ""), f"a certificate for {days} days: {refused or 'taken'}")


def rss_mib(process):
    with open(f"/proc/{process.pid}/status") as status:
        return int(re.search(r"VmRSS:\s+(\d+)", status.read()).group(1)) / 1024


def load_identity(context, cluster, credential):
    """Certificate and key of a credential file, for a TLS context."""
    with open(credential) as file:
        text = file.read()
    blocks = [re.sub(r"(?m)^ +", "", block) for block in
              re.findall(r"-----BEGIN [A-Z ]+-----.*?-----END [A-Z ]+-----", text, re.S)]
    key = next(block for block in blocks if "KEY" in block)
    for block in blocks:  # the one that the key fits
        path = os.path.join(cluster.work, "attacker.pem")
        with open(path, "w") as file:
            file.write(block + "\n" + key + "\n")
        try:
            return context.load_cert_chain(path)
        except ssl.SSLError:
            continue


def shake(cluster, protocol, credential=None):
    """A TLS connection to the server's port; `credential`: the folder of an agent's state."""
    context = ssl.create_default_context(cafile=cluster.dir + "/ca.pem")
    context.set_alpn_protocols([protocol])
    if credential:
        load_identity(context, cluster, os.path.join(credential, "agent.credential"))
    raw = socket.create_connection(("127.0.0.1", cluster.port), 10)
    return context.wrap_socket(raw, server_hostname="localhost")


def frame(kind, flags, stream, payload=b""):
    return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload


PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(4, 0, 0)


def literal(name, value):
    """A header field without indexing, both lengths below 127."""
    return b"\x00" + bytes([len(name)]) + name + bytes([len(value)]) + value


def call_headers(path, *more):
    return b"".join(literal(*one) for one in (
        (b":method", b"POST"), (b":scheme", b"https"), (b":path", path), (b":authority", b"localhost"),
        (b"content-type", b"application/grpc"), (b"te", b"trailers"), *more))


def endless_headers(connection, seconds):
    """A header block whose CONTINUATION frames never end, with headers for the peer's table. Gives the bytes that could
    be sent before it hung up; None: it never did."""
    header = b"\x40" + b"\x0ax-%08d" + b"\x40" + b"v" * 64
    block = b"".join(header % i for i in range(200))[:16000]
    sent, end = 0, time.time() + seconds
    try:
        connection.sendall(PREFACE + frame(1, 0, 1, b"\x83\x86"))
        while time.time() < end:
            connection.sendall(frame(9, 0, 1, block))
            sent += len(block)
    except OSError:
        return sent
    return None


def endless_number(connection, seconds):
    """A header whose HPACK number never ends, frame after frame (CVE-2023-33953 and its kin). As endless_headers."""
    sent, end = 0, time.time() + seconds
    try:
        connection.sendall(PREFACE + frame(1, 0, 1, b"\x7f"))
        while time.time() < end:
            connection.sendall(frame(9, 0, 1, b"\xff" * 16000))
            sent += 16000
    except OSError:
        return sent
    return None


def test_idle_connections():
    """Thousands that connect and say nothing: people and monitors are answered meanwhile, and afterwards."""
    count = 5000
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < 2 * count:
        print(f"only {hard} descriptors may be had here")
        sys.exit(77)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 2 * count), hard))
    with Cluster("--web", "127.0.0.1:0", descriptors=2 * count) as cluster:
        cluster.join("gpu-01")
        cluster.start_agent("gpu-01")
        cluster.wait_online("gpu-01")
        crowd = []
        try:
            for i in range(count):
                crowd.append(socket.create_connection(("127.0.0.1", cluster.port), 10,
                                                      source_address=(f"127.0.1.{1 + i % 10}", 0)))
            for _ in range(3):
                cluster.client("doctor", code=[0, 1])
                cluster.client("node", "ls", "--timeout", "30s")
        finally:
            for one in crowd:
                one.close()
        cluster.wait_online("gpu-01")
        cluster.client("doctor", code=[0, 1])
        check(cluster.server.poll() is None, "the server ended: " + cluster.server_log())


def varint(number):
    out = b""
    while number > 127:
        out, number = out + bytes([number & 127 | 128]), number >> 7
    return out + bytes([number])


def field(number, payload):
    return varint(number << 3 | 2) + varint(len(payload)) + payload


def small_bundle(cluster):
    """A bundle with one setting, as an agent makes it: its path and its bytes."""
    with open(os.path.join(cluster.work, "plan.yaml"), "w") as file:
        file.write("run: x\nnode: n\nsettings: [s.json]\n")
    with open(os.path.join(cluster.work, "s.json"), "w") as file:
        file.write('{"a": 1}\n')
    path = os.path.join(cluster.work, "honest.pbundle")
    cluster.run(binary("paritect-agent"), "collect", "plan.yaml", "-o", path)
    with open(path, "rb") as file:
        return path, file.read()


def with_evidence(bundle, evidence):
    """A bundle with one more evidence (docs/bundle_format.md)."""
    magic, records, at = bundle[:12], [], 12
    while bundle[at] != 255:
        size = int.from_bytes(bundle[at + 1:at + 5], "little")
        records.append(bundle[at:at + 5 + size + 4])
        at += 5 + size + 4

    def record(kind, payload):
        head = bytes([kind]) + len(payload).to_bytes(4, "little") + payload
        return head + zlib.crc32(head).to_bytes(4, "little")

    records.append(record(2, evidence))
    body = magic + b"".join(records)
    return body + record(255, len(records).to_bytes(8, "little") + hashlib.sha256(body).digest())


def test_bomb():
    """A bundle of few bytes that would become millions of objects: refused by `import`, `check` and `inspect` alike, in
    little memory, and the server goes on."""
    with Cluster() as cluster:
        honest, bundle = small_bundle(cluster)
        # The reader of this test's writer: one more evidence, and it is a bundle still.
        good = os.path.join(cluster.work, "good.pbundle")
        with open(good, "wb") as file:
            file.write(with_evidence(bundle, b"\x08\x04\x10\x01"))
        cluster.client("inspect", good, "-o", "json")
        bomb = os.path.join(cluster.work, "bomb.pbundle")
        with open(bomb, "wb") as file:
            file.write(with_evidence(bundle, b"\x08\x04\x10\x01" + field(19, b"\x1a\x00" * 21_000_000)))
        before = rss_mib(cluster.server)

        def limits():
            resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))

        for arguments in (["import", bomb], ["check", honest, bomb], ["inspect", bomb, "-o", "json"]):
            done = subprocess.run([binary("paritect"), *arguments], capture_output=True, text=True, timeout=300,
                                  env=cluster.environment, cwd=cluster.work, preexec_fn=limits)
            check(done.returncode in (1, 2, 4), f"{arguments[0]}: {done.returncode} {done.stdout[-500:]}{done.stderr[-500:]}")
            check("entries" in done.stderr + done.stdout or "memory" in done.stderr + done.stdout,
                  f"{arguments[0]}: no reason: {done.stdout[-500:]}{done.stderr[-500:]}")
        cluster.client("node", "ls")
        grown = rss_mib(cluster.server) - before
        check(grown < 300, f"the server has grown by {grown:.0f} MiB")


def test_strangers():
    """Whoever reaches the port without a certificate can neither end the server nor keep others out."""
    with Cluster("--web", "127.0.0.1:0") as cluster:
        cluster.join("gpu-01")
        before = rss_mib(cluster.server)
        # A header block without end: HTTP/2 is not read without a certificate.
        for _ in range(3):
            try:
                with shake(cluster, "h2") as connection:
                    sent = endless_headers(connection, 8)
                    check(sent is not None and sent < 8 << 20, f"{sent} bytes of headers were taken from a stranger")
            except OSError:
                pass  # refused in the handshake
        # Not for the door either.
        with shake(cluster, "paritect-enrol/1") as connection:
            check(endless_headers(connection, 8) is not None, "the door does not end it")
        # Connections that say nothing, half a hello, or stop after it; requests at the door that never end.
        hello = ssl.MemoryBIO(), ssl.MemoryBIO()
        context = ssl.create_default_context()
        context.set_alpn_protocols(["h2"])
        try:
            context.wrap_bio(*hello, server_hostname="localhost").do_handshake()
        except ssl.SSLWantReadError:
            pass
        hello = hello[1].read()
        crowd = []
        for i in range(1500):
            one = socket.create_connection(("127.0.0.1", cluster.port), 5, source_address=("127.0.0.2", 0))
            crowd.append(one)
            if i % 3:
                one.sendall(hello[:40] if i % 3 == 1 else hello)
        for _ in range(100):
            one = shake(cluster, "paritect-enrol/1")
            one.sendall(b"\0\0\xff\xff")
            crowd.append(one)
        cluster.join("gpu-02")
        cluster.client("doctor", code=[0, 1])
        cluster.client("node", "ls", "--timeout", "30s")
        grown = rss_mib(cluster.server) - before
        check(grown < 400, f"the server has grown by {grown:.0f} MiB")
        for one in crowd:
            one.close()
        cluster.metric_reaches("connections_cut_total", 1)  # else the test tests nothing
        print(f"grown by {grown:.0f} MiB")


def test_hostile_agent():
    """An enrolled agent that sends what is no message is hung up on before it costs much."""
    with Cluster("--web", "127.0.0.1:0") as cluster:
        cluster.join("gpu-01")
        cluster.join("gpu-02")
        before = rss_mib(cluster.server)
        # Many times: a caller whose bytes wait already when it is handed to gRPC once kept the thread that counts them.
        for _ in range(30):
            with shake(cluster, "h2", cluster.state("gpu-01")) as connection:
                sent = endless_headers(connection, 20)
            check(sent is not None, "an agent's header block never ended")
            check(sent > 1 << 20, f"hung up on after {sent} bytes: not what is tested")
        with shake(cluster, "h2", cluster.state("gpu-01")) as connection:
            check(endless_number(connection, 120) is not None, "a number without end never ended")
        # Calls opened and reset at once: what is above the rate is refused before a handler knows of it.
        with shake(cluster, "h2", cluster.state("gpu-01")) as connection:
            head, received = call_headers(b"/paritect.v1.Agents/Session"), b""
            burst = b"".join(frame(1, 4, i, head) + frame(3, 0, i, b"\0\0\0\x08") for i in range(1, 10_000, 2))
            connection.sendall(PREFACE + burst + frame(1, 4, 10_001, head))
            connection.settimeout(30)
            while b"calls a second" not in received:
                more = connection.recv(65536)
                check(more, f"5,000 calls at once were not refused: {received[-300:]}")
                received += more
        cluster.client("node", "ls", "--timeout", "60s")
        grown = rss_mib(cluster.server) - before
        print(f"hung up on after {sent >> 20} MiB; the server has grown by {grown:.0f} MiB")
        check(grown < 300, f"the server has grown by {grown:.0f} MiB")
        # One that is idle after its handshake goes too; one that works stays.
        cluster.start_agent("gpu-02")
        cluster.wait_online("gpu-02")
        with shake(cluster, "h2", cluster.state("gpu-01")) as connection:
            connection.sendall(PREFACE)
            connection.settimeout(40)
            while connection.recv(4096):
                pass
        cluster.wait_online("gpu-02")
        cluster.metric_reaches("connections_cut_total", 2)  # who was it that hung up?


def test_revocation():
    with Cluster() as cluster:
        cluster.join("gpu-01")
        cluster.start_agent("gpu-01")
        cluster.wait_online("gpu-01")
        cluster.client("node", "revoke", "gpu-01")
        rows = json.loads(cluster.client("node", "ls", "-o", "json").stdout)
        check(any(row["node"] == "gpu-01" and row["state"] == "revoked" for row in rows), f"not revoked: {rows}")
        cluster.kill_server()
        cluster.start_server()
        time.sleep(3)
        rows = json.loads(cluster.client("node", "ls", "-o", "json").stdout)
        check(all(row["state"] == "revoked" for row in rows if row["node"] == "gpu-01"), str(rows))
        # Forgotten, it is in no list any more, and refused as before.
        cluster.client("node", "revoke", "gpu-01", "--forget")
        rows = json.loads(cluster.client("node", "ls", "-o", "json").stdout)
        check(all(row["node"] != "gpu-01" for row in rows), str(rows))
        # Only a token for that name brings it back.
        shutil.rmtree(cluster.state("gpu-01"), ignore_errors=True)
        cluster.agents["gpu-01"].kill()
        cluster.agents["gpu-01"].wait()
        cluster.join("gpu-01", code=4)
        cluster.join("gpu-01", cluster.token("agent", "--node", "gpu-01"))
        cluster.start_agent("gpu-01")
        cluster.wait_online("gpu-01")


def stored_ranges(cluster):
    """(node, epoch) -> sorted ranges of sequences in the stopped server's database; a double is an error."""
    ranges = {}
    with cluster.database() as database:
        for node, epoch, first, last in database.execute(
                "SELECT node, epoch, first_sequence, last_sequence FROM batch ORDER BY rowid"):
            node = node.decode() if isinstance(node, bytes) else node
            if isinstance(epoch, bytes):
                epoch = int.from_bytes(epoch, "big")
            ranges.setdefault((node, epoch & (2**64 - 1)), []).append((first, last))
    for key, list_ in ranges.items():
        list_.sort()
        for (_, a), (b, _) in zip(list_, list_[1:]):
            check(b > a, f"{key}: sequence {b} is stored twice")
    return ranges


def covers(ranges, sequence):
    return any(first <= sequence <= last for first, last in ranges)


def test_kills():
    """The server is killed at random points under load: what was acknowledged is stored, once."""
    kills = 200 if LONG else 20
    seed = int(os.environ.get("PARITECT_SEED", random.randrange(10**6)))
    print("seed", seed)
    randomness = random.Random(seed)
    with Cluster() as cluster:
        record = os.path.join(cluster.work, "acknowledged.jsonl")
        seconds = max(30, kills)
        fleet = subprocess.Popen([binary("paritect-agent"), "simulate", "--agents", "8", "--rate", "50", "--for",
                                  f"{seconds}s", "--patience", "120s", "--record", record, "-o", "json",
                                  cluster.address, "--credential", cluster.credential],
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=cluster.environment)
        time.sleep(4)
        for _ in range(kills):
            time.sleep(randomness.uniform(0.05, 1.2))
            cluster.kill_server()
            cluster.start_server()
        out, err = fleet.communicate(timeout=seconds + 240)
        check(fleet.returncode == 0, f"simulate: {fleet.returncode}\n{out[-1500:]}{err[-1500:]}")
        cluster.stop_server()
        ranges = stored_ranges(cluster)
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
        cluster.run(binary("paritect-server"), "verify", cluster.dir)
        print(f"{kills} kills, {acknowledged} acknowledged records, all stored once")


def test_own_certificates():
    """A company's authority signs server and clients; this server signs nothing."""
    if not shutil.which("openssl"):
        sys.exit(77)
    with Cluster() as cluster:
        pki = os.path.join(cluster.work, "pki")
        os.makedirs(pki)
        openssl = lambda *a: subprocess.run(["openssl", *a], cwd=pki, check=True, capture_output=True)
        openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "30", "-subj", "/CN=Company CA", "-keyout",
                "ca.key", "-out", "ca.pem", "-addext", "keyUsage=critical,keyCertSign,cRLSign")
        for name, purpose in (("server", "serverAuth"), ("gpu-01", "clientAuth"), ("jane", "clientAuth"),
                              ("mallory", "clientAuth")):
            openssl("req", "-newkey", "rsa:2048", "-nodes", "-subj", f"/CN={name}.example.com", "-keyout", name + ".key",
                    "-out", name + ".csr")
            with open(os.path.join(pki, "ext"), "w") as file:
                file.write(f"extendedKeyUsage={purpose}\nbasicConstraints=CA:FALSE\n"
                           "subjectAltName=IP:127.0.0.1,DNS:localhost\n")
            openssl("x509", "-req", "-in", name + ".csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days",
                    "30", "-out", name + ".pem", "-extfile", "ext")
        with open(os.path.join(pki, "identities.yaml"), "w") as file:
            file.write('identities:\n  - {subject_cn: "gpu-*.example.com", role: agent}\n'
                       '  - {subject_cn: "jane.example.com", role: admin, name: jane}\n')
        cluster.stop_server()
        cluster.dir = os.path.join(cluster.work, "own")
        cluster.run(binary("paritect-server"), "init", cluster.dir, "--address", cluster.address, "--ca-cert",
                    pki + "/ca.pem", "--tls-cert", pki + "/server.pem", "--tls-key", pki + "/server.key", "--identities",
                    pki + "/identities.yaml")
        cluster.start_server()

        def credential(name, role):
            path = os.path.join(pki, name + ".credential")
            with open(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), "w") as file:
                file.write(f"paritect_credential: 1\nrole: {role}\nname: {name}\nservers: [\"{cluster.address}\"]\n"
                           f"authority_file: ca.pem\ncertificate_file: {name}.pem\nkey_file: {name}.key\n")
            return path

        jane = credential("jane", "admin")
        rows = json.loads(cluster.client("node", "ls", "-o", "json", "--credential", jane).stdout)
        check(any(row["node"] == "jane" for row in rows), str(rows))
        refused = cluster.client("node", "ls", "--credential", credential("mallory", "admin"), code=4)
        check("mallory" in refused.stderr or "identit" in refused.stderr, refused.stderr)
        signs = cluster.client("token", "create", "--role", "agent", "--credential", jane, code=4)
        check("sign" in signs.stderr, signs.stderr)


def test_secrets_stay():
    """Planted secrets are nowhere but in the files they were planted in: not in spool, database, logs, reports."""
    secrets = ["Pl4nted-ENV-zq81", "Pl4nted-KEY-zq82", "Pl4nted-URL-zq83", "Pl4nted-JSON-zq84"]
    with Cluster() as cluster:
        job = os.path.join(cluster.work, "job")
        os.makedirs(job)
        with open(os.path.join(job, "env.txt"), "w") as file:
            file.write(f"NCCL_DEBUG=INFO\nWANDB_API_KEY={secrets[0]}\nMY_SETTING={secrets[0]}\nWORLD_SIZE=1\n")
        with open(os.path.join(job, "run.sh"), "w") as file:
            file.write(f"#!/bin/bash\nexport HF_TOKEN={secrets[1]}\ntorchrun --nproc_per_node 1 train.py --lr 1e-4 "
                       f"--api-key {secrets[1]} --proxy http://user:{secrets[2]}@proxy:3128/\n")
        with open(os.path.join(job, "config.json"), "w") as file:
            json.dump({"learning_rate": 1e-4, "hub_token": secrets[3], "password": secrets[3]}, file)
        for node in ("gpu-01", "npu-01"):
            cluster.join(node)
            cluster.start_agent(node, [job])
        cluster.wait_online("gpu-01", "npu-01")
        plan = {"run": "r", "live": True, "settings": [{"file": job + "/env.txt", "kind": "environment"},
                                                       job + "/run.sh", job + "/config.json"]}
        with open(os.path.join(cluster.work, "audit.yaml"), "w") as file:
            file.write(f"audit: s\nbaseline: {{nodes: [gpu-01], plans: {json.dumps([plan])}}}\n"
                       f"migrated: {{nodes: [npu-01], plans: {json.dumps([plan])}}}\n")
        cluster.client("audit", "create", "audit.yaml")
        done = cluster.client("audit", "run", "s", "-o", "json=report.json", "-o", "table=report.txt", code=[0, 1])
        with open(os.path.join(cluster.work, "printed"), "w") as file:
            file.write(done.stdout + done.stderr)
        report = json.load(open(os.path.join(cluster.work, "report.json")))
        check(verdicts(report)["cluster.coverage.nodes"] == "pass", "both nodes reported")
        looked = 0
        for folder, _, files in os.walk(cluster.work):
            if folder.startswith(job):
                continue
            for name in files:
                if stat.S_ISSOCK(os.stat(os.path.join(folder, name)).st_mode):
                    continue
                with open(os.path.join(folder, name), "rb") as file:
                    data = file.read()
                looked += 1
                for secret in secrets:
                    check(secret.encode() not in data, f"{secret} stands in {os.path.join(folder, name)}")
        check(looked > 10, f"only {looked} files")


def test_foreign_repository():
    """`paritect run` in a repository of somebody else: filters, monitors and hooks that it names are not run."""
    if not shutil.which("git"):
        sys.exit(77)
    work = tempfile.mkdtemp(prefix="paritect-repository-")
    try:
        marker, repository = os.path.join(work, "was-run"), os.path.join(work, "repository")
        evil = os.path.join(work, "evil")
        with open(evil, "w") as file:
            file.write(f"#!/bin/sh\ntouch {marker}\ncat\n")
        os.chmod(evil, 0o755)
        os.mkdir(repository)
        environment = dict(os.environ, HOME=work, NO_COLOR="1", LC_ALL="C.UTF-8")
        git = lambda *a: subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *a], cwd=repository, check=True,
                                        capture_output=True, env=environment)
        git("init", "-q")
        for name in ("train.py", "other.py"):
            with open(os.path.join(repository, name), "w") as file:
                file.write("print(1)\n")
        git("add", ".")
        git("commit", "-q", "-m", "a")
        with open(os.path.join(repository, ".gitattributes"), "w") as file:
            file.write("* filter=evil diff=evil\n")
        for name, value in (("filter.evil.clean", evil), ("filter.evil.smudge", evil), ("filter.evil.process", evil),
                            ("diff.evil.textconv", evil), ("diff.evil.command", evil), ("core.fsmonitor", evil),
                            ("core.hooksPath", work), ("core.sshCommand", evil), ("core.pager", evil)):
            git("config", name, value)
        for hook in ("post-index-change", "pre-commit", "fsmonitor-watchman"):
            shutil.copy(evil, os.path.join(work, hook))
        with open(os.path.join(repository, "train.py"), "a") as file:
            file.write("print(2)\n")
        done = subprocess.run([binary("paritect"), "run", "--run", "r", "--no-observe", "--", "true"], cwd=repository,
                              capture_output=True, text=True, timeout=120, env=environment)
        check(done.returncode == 0, f"{done.returncode} {done.stderr}")
        check(not os.path.exists(marker), "a program that the repository names was run")
        # The same question to git runs it: the trap is one.
        subprocess.run(["git", "status"], cwd=repository, capture_output=True, env=environment)
        check(os.path.exists(marker), "the test tests nothing")
        with open(os.path.join(work, ".gitconfig"), "a+") as file:
            file.seek(0)
            check("safe" not in file.read(), "safe.directory was set")
    finally:
        shutil.rmtree(work, ignore_errors=True)


def test_descriptor_exhaustion():
    with Cluster(descriptors=200) as cluster:
        cluster.client("node", "ls")
        attack = []
        for _ in range(400):
            try:
                attack.append(socket.create_connection(("127.0.0.1", cluster.port), 2))
            except OSError:
                break
        time.sleep(1)
        for connection in attack:
            connection.close()
        end = time.time()
        wait_for(lambda: cluster.client("node", "ls", code=None, timeout=120).returncode == 0, 90,
                 lambda: "the server does not accept any more: " + cluster.server_log())
        print(f"answered {time.time() - end:.2f} s after the attack ended")


def test_disk_full():
    """A disk without room: nothing is acknowledged, everything can be read, and it goes on by itself."""
    if not shutil.which("prlimit"):
        sys.exit(77)
    with Cluster("--web", "127.0.0.1:0") as cluster:
        size = os.path.getsize(os.path.join(cluster.dir, "paritect.db"))
        record = os.path.join(cluster.work, "acknowledged.jsonl")
        fleet = subprocess.Popen([binary("paritect-agent"), "simulate", "--agents", "4", "--rate", "500", "--for", "12s",
                                  "--patience", "90s", "--record", record, cluster.address, "--credential",
                                  cluster.credential], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                 env=cluster.environment)
        time.sleep(4)
        subprocess.run(["prlimit", "--pid", str(cluster.server.pid), f"--fsize={size + 65536}:"], check=True)
        cluster.metric_reaches("commits_failed_total", 1)  # else the disk was never full
        check(cluster.server.poll() is None, "the server ended: " + cluster.server_log())
        cluster.client("node", "ls")
        subprocess.run(["prlimit", "--pid", str(cluster.server.pid), "--fsize=unlimited:"], check=True)
        out, err = fleet.communicate(timeout=150)
        check(fleet.returncode == 0, f"simulate: {fleet.returncode}\n{out[-1500:]}{err[-1500:]}")
        cluster.stop_server()
        ranges = stored_ranges(cluster)
        for line in open(record):
            entry = json.loads(line)
            key = (entry["node"], int(entry["epoch"], 16))
            check(covers(ranges.get(key, []), int(entry["acknowledged"])), f"{key} is not stored to its end")
        cluster.run(binary("paritect-server"), "verify", cluster.dir)


def test_agent_killed():
    """Agents die in the middle of an audit, again and again; the audit ends right."""
    with Cluster("--silent-after", "60s") as cluster:
        example = os.path.join(SOURCE, "deploy", "example")
        for node in ("gpu-01", "npu-01"):
            cluster.join(node)
            cluster.start_agent(node, [example])
        cluster.wait_online("gpu-01", "npu-01")
        cluster.example_audit()
        for round_ in range(4):
            run = subprocess.Popen([binary("paritect"), "audit", "run", "example", "-o", "json"],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=cluster.environment)
            for _ in range(3):
                time.sleep(0.15)
                for node in ("gpu-01", "npu-01"):
                    cluster.agents[node].kill()
                    cluster.agents[node].wait()
                    cluster.start_agent(node, [example])
            out, err = run.communicate(timeout=120)
            check(run.returncode == 1, f"round {round_}: {run.returncode} {err}")
            report = json.loads(out)
            check(verdicts(report)["cluster.coverage.nodes"] == "pass", "both nodes reported")
            check(verdicts(report)["cluster.coverage.records"] == "pass", "no record was lost")
            check(report["verdict"] == "fail", report["verdict"])


def test_strange_names_and_many_files():
    """Names that are no text and a list larger than one part travel whole: as the local audit sees them."""
    with Cluster() as cluster:
        sides = {}
        for side in ("gpu", "npu"):
            root = os.path.join(cluster.work, "data-" + side)
            os.makedirs(os.path.join(root, "sub"))
            for i in range(6000):
                with open(os.path.join(root, "sub", f"shard-{i:05d}.bin"), "wb") as file:
                    file.write(b"%d" % i)
            for name in (b"caf\xe9.txt", b"\xff\xfe", b"new\nline", b"\xe2\x80\xaertl"):
                with open(os.path.join(os.fsencode(root), name), "wb") as file:
                    file.write(b"x")
            sides[side] = root
        with open(os.path.join(sides["npu"], "sub", "shard-04711.bin"), "wb") as file:
            file.write(b"another")
        os.remove(os.path.join(os.fsencode(sides["npu"]), b"\xff\xfe"))
        for node, side in (("gpu-01", "gpu"), ("npu-01", "npu")):
            cluster.join(node)
            cluster.start_agent(node, [sides[side]])
            with open(os.path.join(cluster.work, side + ".yaml"), "w") as file:
                file.write(json.dumps({"run": side, "node": node, "datasets": [{"name": "d", "root": sides[side]}]}))
        cluster.wait_online("gpu-01", "npu-01")
        with open(os.path.join(cluster.work, "audit.yaml"), "w") as file:
            file.write("audit: names\n")
            for side, word in (("gpu", "baseline"), ("npu", "migrated")):
                plan = {"run": side, "live": False, "datasets": [{"name": "d", "root": sides[side]}]}
                file.write(f"{word}: {{nodes: [{side}-01], plans: {json.dumps([plan])}}}\n")
        cluster.client("audit", "create", os.path.join(cluster.work, "audit.yaml"))
        there = json.loads(cluster.client("audit", "run", "names", "-o", "json", code=1).stdout)
        here = json.loads(cluster.client("check", "--baseline", "gpu.yaml", "--migrated", "npu.yaml", "-o", "json",
                                         code=1).stdout)
        of = lambda report: sorted((f["kind"], f.get("subject_b64") or f["subject"]) for item in report["items"]
                                   for c in item["checks"] if c["id"].startswith("data.dataset") for f in c["findings"])
        check(of(there) == of(here), f"findings differ:\n{of(there)}\n{of(here)}")
        check(any(kind in ("missing", "changed") for kind, _ in of(here)), str(of(here)))


def test_contents_exchanged():
    """What the server holds of any node is not sent again: equal data costs its root, differences cost their paths."""
    count = 1_000_000 if LONG else 30_000
    with Cluster() as cluster:
        roots = {}
        for node, differences in (("gpu-01", 0), ("gpu-02", 0), ("npu-01", 10)):
            root = roots[node] = os.path.join(cluster.work, "data-" + node)
            for folder in range(0, count, 1000):
                os.makedirs(os.path.join(root, f"n{folder:08d}"))
                for i in range(folder, folder + 1000):
                    changed = differences and i % (count // differences) == 77
                    fd = os.open(os.path.join(root, f"n{folder:08d}", f"image_{i:08d}.jpg"),
                                 os.O_WRONLY | os.O_CREAT, 0o644)
                    os.write(fd, b"%d%s" % (i, b" changed" if changed else b""))
                    os.close(fd)
            cluster.join(node)
            cluster.start_agent(node, [root])
        other = roots["cpu-01"] = os.path.join(cluster.work, "other")
        os.mkdir(other)
        with open(os.path.join(other, "x"), "w") as file:
            file.write("x")
        cluster.join("cpu-01")
        cluster.start_agent("cpu-01", [other])
        cluster.wait_online(*roots)

        def audit(name, baseline, migrated):
            with open(os.path.join(cluster.work, name + ".yaml"), "w") as file:
                file.write(f"audit: {name}\n")
                for side, node in (("baseline", baseline), ("migrated", migrated)):
                    plan = {"run": f"{name}-{side}", "live": False, "datasets": [{"name": "d", "root": roots[node]}]}
                    file.write(f"{side}: {{nodes: [{node}], plans: {json.dumps([plan])}}}\n")
            cluster.client("audit", "create", os.path.join(cluster.work, name + ".yaml"))
            began = time.time()
            done = cluster.client("audit", "run", name, "-o", "json", code=1, timeout=800)
            report = json.loads(done.stdout)
            return report, time.time() - began

        def sent(node):
            with cluster.database() as database:
                row = database.execute("SELECT coalesce(sum(length(c.bytes)), 0) FROM batch b JOIN batch_reference r ON "
                                       "r.batch=b.id JOIN content c ON c.sha256=r.sha256 WHERE b.node=?", (node,))
                return row.fetchone()[0]

        lines = []

        def measured(name, baseline, migrated, node):
            before = sent(node)
            report, seconds = audit(name, baseline, migrated)
            lines.append(f"{name}: {sent(node) - before} bytes of contents and tree, {seconds:.1f} s")
            return sent(node) - before, report

        first, _ = measured("first", "gpu-01", "cpu-01", "gpu-01")
        equal, _ = measured("equal", "gpu-02", "cpu-01", "gpu-02")
        again, _ = measured("again", "gpu-01", "cpu-01", "gpu-01")
        few, report = measured("few", "gpu-02", "npu-01", "npu-01")
        print(f"{count} files: " + "; ".join(lines))
        check(first > 30 * count, f"the first sends its list: {first}")
        check(equal < 1024, f"equal data of another node: {equal} bytes")
        check(again < 1024, f"the same data once more: {again} bytes")
        check(few < 400_000 and few < first / 5, f"10 differences: {few} bytes of {first}")
        findings = [f for item in report["items"] for c in item["checks"] if c["id"] == "data.dataset.content"
                    for f in c["findings"] if f["severity"] == "error"]
        check(len(findings) == 10, f"{len(findings)} findings")
        # Killed in the middle, on either side, what comes is whole.
        for victim in ("server", "agent"):
            root = roots["npu-01"]
            for folder in range(0, count, max(1000, count // 10)):
                for i in range(folder, folder + 1000):
                    with open(os.path.join(root, f"n{folder:08d}", f"image_{i:08d}.jpg"), "w") as file:
                        file.write(f"{victim} {i}")
            name = "killed-" + victim
            waiting = threading.Thread(target=lambda: cluster.client(
                "audit", "run", name, "-o", "json", code=None, timeout=300))
            with open(os.path.join(cluster.work, name + ".yaml"), "w") as file:
                file.write(f"audit: {name}\n")
                for side, node in (("baseline", "gpu-01"), ("migrated", "npu-01")):
                    plan = {"run": f"{name}-{side}", "live": False, "datasets": [{"name": "d", "root": roots[node]}]}
                    file.write(f"{side}: {{nodes: [{node}], plans: {json.dumps([plan])}}}\n")
            cluster.client("audit", "create", os.path.join(cluster.work, name + ".yaml"))
            waiting.start()
            time.sleep(random.uniform(0.2, 0.9))
            if victim == "server":
                cluster.kill_server()
                cluster.start_server()
            else:
                cluster.agents["npu-01"].kill()
                cluster.agents["npu-01"].wait()
                cluster.start_agent("npu-01", [roots["npu-01"]])
            waiting.join()
            shown = cluster.client("audit", "wait", name, "--for", "done", "--timeout", "3m", code=[0, 1, 3, 6])
            report = json.loads(cluster.client("audit", "show", name, "-o", "json", code=[0, 1, 3, 6]).stdout)
            integrity = verdicts(report)["evidence.integrity.records"]
            check(integrity == "pass", f"after the kill of the {victim}: {integrity} {shown.stderr}")
            check(verdicts(report)["data.dataset.content"] == "fail", f"after the kill of the {victim}")


class Webhook:
    """An HTTP server that keeps what it is sent."""

    def __init__(self):
        received = self.received = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                received.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/"
        self.thread = threading.Thread(target=self.server.serve_forever)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


def test_hostile_webhook():
    """A webhook that never ends its answer: audits and the server end; one on a private address is not called. That
    nothing waits for a webhook: server/transport/webhook_test.cc."""
    for options in (["--webhook-allow", "127.0.0.0/8"], []):
        with Cluster("--silent-after", "1s", *options) as cluster, socket.socket() as hook:
            hook.bind(("127.0.0.1", 0))
            hook.listen(16)
            hook.settimeout(10)
            cluster.join("gpu-01")
            cluster.join("npu-01")
            url = f"http://127.0.0.1:{hook.getsockname()[1]}/secret-path"
            cluster.example_audit(extra=f"webhook: {url}\n")
            for _ in range(3):
                cluster.client("audit", "run", "example", "-o", "json", code=[1, 3, 6])
            calls = []
            if options:
                calls.append(hook.accept()[0])
                calls[0].sendall(b"HTTP/1.1 2")
            cluster.stop_server()
            for one in calls:
                one.close()
            hook.settimeout(0.1)
            if not options:
                try:
                    hook.accept()
                    raise Failure("a private address was called")
                except OSError:
                    pass
            with cluster.database() as database:
                log = repr(database.execute("SELECT * FROM log").fetchall())
            check("Webhook" in log and "secret-path" not in log, log[-3000:])
            check(("--webhook-allow" in log) == (not options), log[-3000:])


class Training:
    """Writes a log line by line, as a training does."""

    def __init__(self, path, total):
        self.path, self.total, self.step = path, total, 0

    @staticmethod
    def loss(step):
        return 2 + 6 * math.exp(-step / 50) + 0.03 * math.sin(7 * step)

    def write(self, steps, factor=1.0, loss=None):
        with open(self.path, "a") as log:
            for _ in range(steps):
                self.step += 1
                value = loss or f"{self.loss(self.step) * factor:.4f}"
                log.write(f"step {self.step}/{self.total} loss {value} lr 0.001\n")
                log.flush()


class Events:
    """What `audit events --watch` prints, line by line."""

    def __init__(self, cluster, audit):
        self.process = subprocess.Popen([binary("paritect"), "audit", "events", audit, "--watch", "-o", "json"],
                                        stdout=subprocess.PIPE, text=True, env=cluster.environment, cwd=cluster.work)
        self.seen = []
        self.thread = threading.Thread(target=self.read)
        self.thread.start()

    def read(self):
        for line in self.process.stdout:
            self.seen.append((time.time(), json.loads(line)))

    def wait(self, event, seconds=90):
        deadline = time.time() + seconds
        while time.time() < deadline:
            for at, one in list(self.seen):
                if one["event"] == event:
                    return at, one
            time.sleep(0.05)
        raise Failure(f"no {event} in {seconds} s: {self.seen}")

    def end(self):
        code = self.process.wait(90)
        self.thread.join()
        return code


def live_cluster(cluster, webhook="", extra=""):
    """A finished baseline and a migrated training that has begun; the audit ran once."""
    logs = os.path.join(cluster.work, "logs")
    os.mkdir(logs)
    for node in ("gpu-01", "npu-01"):
        cluster.join(node)
        cluster.start_agent(node, [logs])
    cluster.wait_online("gpu-01", "npu-01")
    Training(os.path.join(logs, "gpu.log"), 400).write(400)
    training = Training(os.path.join(logs, "npu.log"), 400)
    training.write(30)
    path = os.path.join(cluster.work, "live.yaml")
    with open(path, "w") as file:
        file.write(f"audit: live\n"
                   f"baseline: {{nodes: [gpu-01], plans: [{{run: g, live: false, logs: [{logs}/gpu.log]}}]}}\n"
                   f"migrated: {{nodes: [npu-01], plans: [{{run: n, live: false, logs: [{logs}/npu.log]}}]}}\n"
                   + (f"webhook: {webhook}\n" if webhook else "") + extra)
    cluster.client("audit", "create", path)
    cluster.client("audit", "run", "live", "-o", "json", code=[0, 1])
    return training


def test_live():
    with Webhook() as webhook, Cluster("--webhook-allow", "127.0.0.1") as cluster:
        training = live_cluster(cluster, webhook.url)
        events = Events(cluster, "live")
        events.wait("live_started")
        for _ in range(10):
            training.write(2)
            time.sleep(0.1)
        check([e["event"] for _, e in events.seen] == ["live_started"], f"nothing to tell yet: {events.seen}")
        first = training.step + 1
        training.write(15, factor=1.5)
        began = time.time()
        at, event = events.wait("divergence")
        print(f"divergence told after {at - began:.2f} s")
        check(first <= event["step"] <= training.step and event["kind"] == "loss_differs", str(event))
        check(event["training_run"] == "n" and event["node"] == "npu-01" and event["message"]["zh"], str(event))
        training.write(20)
        training.write(1, loss="nan")
        began = time.time()
        at, event = events.wait("non_finite")
        print(f"non-finite value told after {at - began:.2f} s")
        check(event["step"] == training.step and event["kind"] == "nan_loss", str(event))
        # The file is rotated, later cut short; a server that is killed meanwhile goes on where it was.
        os.rename(training.path, training.path + ".1")
        training.write(20)
        events.wait("log_changed")
        cluster.kill_server()
        training.write(20)
        cluster.start_server()
        cluster.wait_online("npu-01")
        training.write(50)
        training.write(400 - training.step)
        code = events.end()
        check(code == 1, f"exit code {code}")
        kinds = [e["event"] for _, e in events.seen]
        check(kinds == ["live_started", "divergence", "non_finite", "log_changed", "live_ended"], str(kinds))
        check(events.seen[-1][1]["detail"] == "finished", str(events.seen[-1]))
        sent = lambda: [one["event"] for one in list(webhook.received)]
        wait_for(lambda: {"divergence", "non_finite"} <= set(sent()), 90, lambda: f"the webhook got {sent()}")
        check(sent().count("divergence") == 1 and sent().count("non_finite") == 1, str(sent()))
        again = cluster.client("audit", "events", "live", "-o", "json", code=1).stdout
        check(len(again.splitlines()) == len(kinds), again)
        # Every step reached the store once.
        steps = read_steps(cluster)
        check(sorted(steps) == list(range(1, 401)), f"{len(steps)} steps, {len(set(steps))} different")


def read_steps(cluster):
    """The numbers of the steps in the stored batches: Batch.envelopes[].record -> Record.steps.steps[].step."""
    def fields(data):
        at = 0
        while at < len(data):
            tag, at = varint(data, at)
            if tag & 7 == 0:
                value, at = varint(data, at)
            elif tag & 7 == 2:
                size, at = varint(data, at)
                value, at = data[at:at + size], at + size
            else:
                size = 8 if tag & 7 == 1 else 4
                value, at = data[at:at + size], at + size
            yield tag >> 3, value

    def varint(data, at):
        value, shift = 0, 0
        while True:
            byte = data[at]
            value |= (byte & 127) << shift
            at, shift = at + 1, shift + 7
            if byte < 128:
                return value, at

    def all_of(data, number):
        return [value for field, value in fields(data) if field == number]

    steps = []
    with cluster.database() as database:
        for (payload,) in database.execute("SELECT payload FROM batch ORDER BY id"):
            for envelope in all_of(payload, 2):
                for record in all_of(envelope, 2):
                    for chunk in all_of(record, 6):
                        for step in all_of(chunk, 4):
                            steps += all_of(step, 1)
    return steps


def test_live_stop():
    with Cluster() as cluster:
        training = live_cluster(cluster, extra='schedule: "6h"\n')
        events = Events(cluster, "live")
        events.wait("live_started")
        stopped = cluster.client("audit", "stop", "live").stdout
        check("schedule" in stopped and "followed" in stopped, stopped)
        check(events.end() == 0, str(events.seen))
        check(events.seen[-1][1]["event"] == "live_ended" and events.seen[-1][1]["detail"] == "stopped", str(events.seen))
        training.write(10, factor=3)
        time.sleep(2)
        check(len(cluster.client("audit", "events", "live", "-o", "json").stdout.splitlines()) == 2, "it was stopped")
        check(json.loads(cluster.client("audit", "ls", "-o", "json").stdout)[0]["schedule_seconds"] is None, "schedule")
        # What an audit names cannot be removed before it.
        cluster.client("runs", "rm", "g")
        cluster.client("runs", "rm", "g", code=2)
        cluster.client("audit", "rm", "live")
        cluster.client("audit", "rm", "live", code=2)
        cluster.client("audit", "events", "live", code=2)
        check(json.loads(cluster.client("audit", "ls", "-o", "json").stdout) == [], "no audit is left")


def test_recorded_runs():
    """`paritect run` hands its bundle to the node's agent, and an audit names the run. Of two ranks that are wrapped one by
    one on a node both are there."""
    with Cluster() as cluster:
        for node in ("gpu-01", "npu-01"):
            cluster.join(node)
            cluster.start_agent(node)
        cluster.wait_online("gpu-01", "npu-01")
        data = os.path.join(cluster.work, "data")
        os.makedirs(data)
        for i in range(4):
            with open(os.path.join(data, f"part-{i}.bin"), "w") as file:
                file.write(str(i))
        plan = os.path.join(cluster.work, "run.yaml")
        with open(plan, "w") as file:
            file.write(f"run: x\nworld_size: 2\ndatasets: [{{name: train, root: {data}}}]\n")
        for run, node in (("gpu", "gpu-01"), ("npu", "npu-01")):
            for rank in (0, 1):
                environment = dict(cluster.environment, RANK=str(rank), WORLD_SIZE="2", LOCAL_RANK=str(rank))
                names = [os.path.join(data, f"part-{i}.bin") for i in range(rank, 4, 2)]
                done = cluster.client("run", "--run", run, "--plan", plan, "--agent",
                                      os.path.join(cluster.state(node), "agent.sock"), "--", "cat", *names,
                                      environment=environment)
                check(f"run {run} is registered with the agent" in done.stderr, f"not registered: {done.stderr}")
        deadline = time.time() + 120
        shown = lambda: cluster.client("runs", "ls", "-o", "json").stdout
        wait_for(lambda: all(f'"{run}"' in shown() for run in ("gpu", "npu")), 90, lambda: f"runs: {shown()}")
        audit = os.path.join(cluster.work, "runs.yaml")
        with open(audit, "w") as file:
            file.write("audit: runs\nbaseline: {runs: [gpu]}\nmigrated: {runs: [npu]}\n")
        cluster.client("audit", "create", audit)
        found = {}
        while time.time() < deadline:  # the second rank's bundle may be on its way yet
            report = json.loads(cluster.client("audit", "run", "runs", "-o", "json", code=[0, 1]).stdout)
            found = {c["id"]: c for item in report["items"] for c in item["checks"]}
            if found["data.sharding.ranks"]["verdict"] == "pass":
                break
            time.sleep(0.5)
        for name in ("data.sharding.ranks", "data.sharding.complete", "data.sharding.disjoint",
                     "data.sharding.same-assignment", "data.dataset.files", "data.dataset.content"):
            check(found[name]["verdict"] == "pass", f"{name}: {found[name]}")
        # Nobody listens: the bundle stays, and that is said.
        done = cluster.client("run", "--run", "alone", "--agent", os.path.join(cluster.work, "none.sock"), "--", "true")
        check("did not take the run" in done.stderr and "recorded in" in done.stderr, f"alone: {done.stderr}")


def peak_mib(process):
    with open(f"/proc/{process.pid}/status") as status:
        return int(re.search(r"VmHWM:\s+(\d+)", status.read()).group(1)) / 1024


def test_memory_of_many_nodes():
    """What a server needs for an audit grows with the lists of its nodes that differ, not with the nodes. Peaks of the
    process alone: a busy machine changes nothing."""
    files, few, many = 30_000, 2, 22
    with Cluster() as cluster:
        with open(os.path.join(cluster.work, "train.md5"), "w") as file:
            file.writelines(f"{number:032x}  folder/{number:08d}.bin\n" for number in range(files))

        def audit(name, nodes):
            for node in range(nodes):
                side = "gpu" if node < nodes // 2 else "npu"
                with open(os.path.join(cluster.work, "plan.yaml"), "w") as file:
                    file.write(f"run: {name}-{side}\nnode: node{node}\ndatasets: [{{name: train, manifest: train.md5}}]\n")
                cluster.run(binary("paritect-agent"), "collect", "plan.yaml", "-o", "one.pbundle")
                cluster.client("import", "one.pbundle")
            with open(os.path.join(cluster.work, name + ".yaml"), "w") as file:
                file.write(f"audit: {name}\nbaseline: {{runs: [{name}-gpu]}}\nmigrated: {{runs: [{name}-npu]}}\n")
            cluster.client("audit", "create", os.path.join(cluster.work, name + ".yaml"))
            before = peak_mib(cluster.server)
            report = json.loads(cluster.client("audit", "run", name, "-o", "json", code=[0, 1, 3]).stdout)
            for check_id in ("data.dataset.files", "data.dataset.content", "data.dataset.nodes"):
                check(verdicts(report)[check_id] == "pass", f"{name}: {check_id} is {verdicts(report)[check_id]}")
            return before, peak_mib(cluster.server)

        _, small = audit("few", few)
        before, large = audit("many", many)
        print(f"{files} files: peak {small:.0f} MiB with {few} nodes, {before:.0f} after imports, {large:.0f} with {many}")
        allowed = (many - few) * files * 30 / 2**20 + 8
        check(large - max(small, before) < allowed, f"{large - max(small, before):.0f} MiB more, {allowed:.0f} allowed")


def test_memory_of_an_agent():
    """What a long-running agent needs at most for a list grows with its files as is promised (docs/agent.md)."""
    with Cluster() as cluster:
        data = os.path.join(cluster.work, "data")
        cluster.join("npu-01")
        cluster.start_agent("npu-01", [data])
        cluster.wait_online("npu-01")
        with open(os.path.join(cluster.work, "one.yaml"), "w") as file:
            plan = {"run": "one", "live": False, "datasets": [{"name": "d", "root": data}]}
            file.write(f"audit: one\nmigrated: {{nodes: [npu-01], plans: {json.dumps([plan])}}}\n")
        cluster.client("audit", "create", os.path.join(cluster.work, "one.yaml"))
        peaks = []
        for begin, end in ((0, 20_000), (20_000, 60_000)):
            for number in range(begin, end):
                if number % 1000 == 0:
                    os.makedirs(os.path.join(data, f"{number // 1000:03d}"))
                with open(os.path.join(data, f"{number // 1000:03d}", f"{number:08d}.bin"), "wb") as file:
                    file.write(number.to_bytes(8, "little"))
            cluster.client("audit", "run", "one", "-o", "json", code=[0, 1, 3], timeout=600)
            peaks.append(peak_mib(cluster.agents["npu-01"]))
        grown, allowed = peaks[1] - peaks[0], 40_000 * BYTES_A_FILE / 2**20 + 4
        print(f"peak {peaks[0]:.0f} MiB with 20,000 files, {peaks[1]:.0f} with 60,000")
        check(grown < allowed, f"40,000 files more: {grown:.0f} MiB more, {allowed:.0f} allowed")


def test_fleet():
    agents = 1000 if LONG else 200
    with Cluster() as cluster:
        done = cluster.run(binary("paritect-agent"), "simulate", "--agents", str(agents), "--rate", "2", "--for", "15s",
                           "--patience", "120s", "-o", "json", cluster.address, "--credential", cluster.credential,
                           timeout=600)
        result = json.loads(done.stdout)
        print(json.dumps(result))
        cluster.stop_server()
        check(len(stored_ranges(cluster)) == agents, "every agent delivered")


def main(names):
    """`names`: the globals of the module whose tests are asked for."""
    tests = {name[5:]: test for name, test in names.items() if name.startswith("test_")}
    if len(sys.argv) < 3 or sys.argv[2] == "--list":
        print("\n".join(tests))
        return
    for name in sys.argv[2:]:
        started = threading.active_count()
        try:
            tests[name]()
        except Failure as failure:
            print(f"FAILED {name}: {failure}", file=sys.stderr)
            sys.exit(1)
        check(threading.active_count() == started, "threads left")


if __name__ == "__main__":
    main(globals())
