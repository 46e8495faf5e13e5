#!/usr/bin/env python3
"""A server under attack while its agents work: siege.py BUILD_DIR [--minutes N] [--only NAME]

Rounds of attacks, one after the other, against one server with TLS, two agents and a training that goes on. After each:
the server lives, both agents are online, what the training printed meanwhile has arrived, an administrator is answered,
memory and descriptors have stayed within bounds and come back. At the end the store is whole. Without --minutes: one round.
"""
import gzip
import http.client
import json
import os
import random
import re
import socket
import ssl
import subprocess
import sys
import threading
import time

sys.dont_write_bytecode = True  # the source folder stays as it is
import cluster as base
from cluster import PREFACE, binary, call_headers, check, field, frame, rss_mib, shake, wait_for

PEAK_GROWN_MIB_MAX = 450  # while it lasts; docs/security.md says so
RSS_GROWN_MIB_MAX = 150  # when it is over
DESCRIPTORS_GROWN_MAX = 64
LOG_LINES_A_SECOND_MAX = 20


def forget_peak(process):
    with open(f"/proc/{process.pid}/clear_refs", "w") as file:
        file.write("5")


def peak_mib(process):
    with open(f"/proc/{process.pid}/status") as file:
        return int(re.search(r"VmHWM:\s+(\d+)", file.read()).group(1)) / 1024


def quietly(attack):
    """An attacker whom the server hangs up on has been answered."""
    try:
        attack()
    except (OSError, http.client.HTTPException):
        pass


def drain(connection, seconds):
    connection.settimeout(seconds)
    quietly(lambda: [None for _ in iter(lambda: connection.recv(65536), b"")])


class Siege(base.Cluster):
    def run(self, *command, timeout=900, **options):
        return super().run(*command, timeout=timeout, **options)

    def __enter__(self):
        super().__enter__()
        self.training = base.live_cluster(self)
        self.join("mallory")  # a node whose credential the attacker holds; no agent of ours runs there
        self.random = random.Random(1)
        self.attacker = self.state("mallory")
        return self

    def descriptors_open(self):
        return len(os.listdir(f"/proc/{self.server.pid}/fd"))

    def log_lines(self):
        with open(os.path.join(self.work, "server.log"), "rb") as log:
            return sum(1 for _ in log)

    def page(self, timeout=20):
        raw = socket.create_connection(("127.0.0.1", self.web_port()), 10)
        raw.settimeout(timeout)
        return ssl.create_default_context(cafile=self.dir + "/ca.pem").wrap_socket(raw, server_hostname="localhost")

    def with_certificate(self):
        connection = shake(self, "h2", self.attacker)
        connection.settimeout(20)
        return connection


# Malformed HTTP/2 of somebody who holds an agent's certificate.


def endless_headers(siege, seconds):
    with siege.with_certificate() as connection:
        base.endless_headers(connection, seconds)


def many_unfinished_headers(siege, seconds):
    """Many connections, each with a header block that stays below what one may send, of the headers that cost most."""
    block = b"\x00\x01a\x01b" * 3200
    crowd = []
    for _ in range(50):
        def attack():
            crowd.append(siege.with_certificate())
            crowd[-1].sendall(PREFACE + frame(1, 0, 1, b"\x83\x86"))
            for _ in range(600):
                crowd[-1].sendall(frame(9, 0, 1, block))

        quietly(attack)
    time.sleep(seconds / 3)
    for one in crowd:
        one.close()


def endless_number(siege, seconds):
    with siege.with_certificate() as connection:
        base.endless_number(connection, seconds)


def rapid_reset(siege, seconds):
    """Streams opened and reset at once (CVE-2023-44487)."""
    head = call_headers(b"/paritect.v1.Agents/Session")

    def attack():
        with siege.with_certificate() as connection:
            connection.sendall(PREFACE)
            end, stream = time.time() + seconds, 1
            while time.time() < end and stream < 1 << 30:
                burst = b""
                for _ in range(100):
                    burst += frame(1, 4, stream, head) + frame(3, 0, stream, b"\0\0\0\x08")
                    stream += 2
                connection.sendall(burst)
                time.sleep(0.02)

    quietly(attack)


def frame_floods(siege, seconds):
    """Frames that cost the sender little: SETTINGS, PING, empty DATA, PRIORITY, WINDOW_UPDATE, and unknown ones."""
    kinds = [frame(4, 0, 0, b"\0\x03\0\0\0\x01" * 20), frame(6, 0, 0, b"x" * 8), frame(0, 0, 1), frame(2, 0, 3, b"\0\0\0\1\1"),
             frame(8, 0, 0, b"\x7f\xff\xff\xff"), frame(0x77, 0xff, 7, b"?" * 100), frame(7, 0, 0, b"\0" * 8)]
    for kind in kinds:
        def attack(kind=kind):
            with siege.with_certificate() as connection:
                connection.sendall(PREFACE + frame(1, 4, 1, call_headers(b"/paritect.v1.Agents/Session")))
                end = time.time() + seconds / len(kinds)
                while time.time() < end:
                    connection.sendall(kind * 100)
                    time.sleep(0.02)

        quietly(attack)


def random_frames(siege, seconds):
    end = time.time() + seconds
    while time.time() < end:
        def attack():
            with siege.with_certificate() as connection:
                dice = siege.random
                connection.sendall(PREFACE)
                for _ in range(dice.randint(1, 200)):
                    body = dice.randbytes(dice.randint(0, 300))
                    sent = frame(dice.randint(0, 12), dice.randint(0, 255), dice.choice([0, 1, 2, 3, dice.getrandbits(31)]), body)
                    if dice.random() < 0.1:
                        sent = dice.randbytes(3) + sent[3:]  # a length that is not its own
                    connection.sendall(sent)
                drain(connection, 0.2)

        quietly(attack)


def huge_messages(siege, seconds):
    """Messages that announce 4 GiB, that are longer than allowed, that inflate to gigabytes, that are no protobuf."""
    zeros = gzip.compress(b"\0" * (64 << 20), 9)
    bomb = zeros * 32  # members of one stream
    sent = [(b"\0\xff\xff\xff\xff" + b"x" * 100000, ()), (b"\0" + (12 << 20).to_bytes(4, "big") + b"\x0a" * (12 << 20), ()),
            (b"\1" + len(bomb).to_bytes(4, "big") + bomb, ((b"grpc-encoding", b"gzip"),)),
            (b"\0" + (1 << 20).to_bytes(4, "big") + siege.random.randbytes(1 << 20), ()),
            (b"\0" + (1 << 20).to_bytes(4, "big") + b"\x0b" * (1 << 20), ())]
    end = time.time() + seconds
    while time.time() < end:
        for path in (b"/paritect.v1.Agents/Session", b"/paritect.v1.Operators/Import", b"/paritect.v1.Operators/GetReport",
                     b"/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", b"/x/y"):
            for message, headers in sent:
                def attack(path=path, message=message, headers=headers):
                    with siege.with_certificate() as connection:
                        connection.sendall(PREFACE + frame(8, 0, 0, b"\x7f\0\0\0") + frame(1, 4, 1, call_headers(path, *headers)))
                        for at in range(0, len(message), 16000):
                            connection.sendall(frame(0, 0, 1, message[at:at + 16000]))
                        drain(connection, 0.5)

                quietly(attack)


def many_streams(siege, seconds):
    """Calls that are opened and never go on, on many connections of one certificate."""
    open_ones = []
    try:
        for _ in range(60):
            connection = siege.with_certificate()
            open_ones.append(connection)
            connection.sendall(PREFACE + b"".join(
                frame(1, 4, stream, call_headers(b"/paritect.v1.Agents/Session")) for stream in range(1, 201, 2)))
    except OSError:
        pass
    time.sleep(seconds)
    for one in open_ones:
        one.close()


# Those who hold no certificate, or a wrong one.


def no_certificate(siege, seconds):
    end = time.time() + seconds
    while time.time() < end:
        for protocol in ("h2", "http/1.1", "paritect-enrol/2"):
            def attack(protocol=protocol):
                with shake(siege, protocol) as connection:
                    base.endless_headers(connection, 3)

            quietly(attack)
        for junk in (b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b"SSH-2.0-x\r\n", b"\x16\x03\x01\xff\xff" + b"\1" * 70000, b"\0" * 100000,
                     b"\x16\x03\x01\0\x04\x01\xff\xff\xff", siege.random.randbytes(5000)):
            def attack(junk=junk):
                with socket.create_connection(("127.0.0.1", siege.port), 10) as raw:
                    raw.sendall(junk)
                    drain(raw, 0.3)

            quietly(attack)


def half_open(siege, seconds):
    """Silent, half a hello, a hello byte by byte: from several addresses, more than there is room for."""
    inward, outward = ssl.MemoryBIO(), ssl.MemoryBIO()
    context = ssl.create_default_context()
    context.set_alpn_protocols(["h2"])
    try:
        context.wrap_bio(inward, outward, server_hostname="localhost").do_handshake()
    except ssl.SSLWantReadError:
        pass
    hello = outward.read()
    crowd, end = [], time.time() + seconds
    for i in range(1500):
        try:
            one = socket.create_connection(("127.0.0.1", siege.port), 5, source_address=(f"127.0.2.{1 + i % 7}", 0))
            crowd.append(one)
            if i % 3:
                one.sendall(hello[:40] if i % 3 == 1 else hello)
        except OSError:
            pass
    at = 40
    while time.time() < end:
        for one in crowd[1::3][:100]:
            quietly(lambda one=one: one.sendall(hello[at:at + 1]))
        at += 1
        time.sleep(1)
    for one in crowd:
        one.close()


def foreign_certificates(siege, seconds):
    """Of another authority with our names in it, of nobody, and ours in a role that may not call what it calls."""
    other = base.Cluster()
    try:
        other.start_server()
        other.join("gpu-01")
        end = time.time() + seconds
        while time.time() < end:
            for credential in (other.state("gpu-01") + "/agent.credential", other.credential):
                def attack(credential=credential):
                    context = ssl.create_default_context(cafile=siege.dir + "/ca.pem")
                    context.set_alpn_protocols(["h2"])
                    base.load_identity(context, other, credential)
                    raw = socket.create_connection(("127.0.0.1", siege.port), 10, source_address=("127.0.3.1", 0))
                    with context.wrap_socket(raw, server_hostname="localhost") as connection:
                        base.endless_headers(connection, 2)

                quietly(attack)
            ours = dict(siege.environment, PARITECT_CREDENTIAL=siege.attacker + "/agent.credential")
            for verb in (["node", "ls"], ["node", "revoke", "gpu-01"], ["token", "create", "--role", "admin"], ["audit", "rm", "live"],
                         ["log"]):
                done = siege.client(*verb, code=None, environment=ours)
                check(done.returncode == 4, f"an agent's certificate calls {verb}: {done.returncode} {done.stdout[:300]}")
    finally:
        other.__exit__()


def token_guessing(siege, seconds):
    """The door asked with guessed tokens, as fast as it answers, from four addresses; broken requests between."""
    answers, end = [], time.time() + seconds

    def guess(address):
        dice = random.Random(address)
        while time.time() < end:
            def attack():
                context = ssl.create_default_context(cafile=siege.dir + "/ca.pem")
                context.set_alpn_protocols(["paritect-enrol/1"])
                raw = socket.create_connection(("127.0.0.1", siege.port), 10, source_address=(f"127.0.4.{address}", 0))
                with context.wrap_socket(raw, server_hostname="localhost") as connection:
                    connection.settimeout(10)
                    token = "pjt-" + "-".join("".join(dice.choices("abcdefghijkmnpqrstuvwxyz23456789", k=4)) for _ in range(8))
                    body = field(1, token.encode()) + field(2, b"gpu-01") + field(3, b"-----BEGIN CERTIFICATE REQUEST-----")
                    if dice.random() < 0.3:
                        body = dice.randbytes(dice.randint(0, 3000))
                    connection.sendall(len(body).to_bytes(4, "big") + body)
                    answers.append(connection.recv(65536))

            quietly(attack)
            time.sleep(0.05)

    guessers = [threading.Thread(target=guess, args=(i,)) for i in range(1, 5)]
    for one in guessers:
        one.start()
    for one in guessers:
        one.join()
    check(not any(b"BEGIN CERTIFICATE--" in one for one in answers), "a guess was let in")
    check(any(one for one in answers), "the door answered nobody")


# The page's port.


def page_abuse(siege, seconds):
    """Logins guessed, bodies that are no login, paths that lead nowhere, two requests in one, lengths that contradict."""
    end = time.time() + seconds
    logins = [b'{"token":"pjt-%04d"}', b"[" * 60000, b'{"token":' + b"9" * 5000 + b"}", b"\xff" * 1000, b'{"certificate":true}']
    heads = [b"GET /../../etc/passwd HTTP/1.1\r\n\r\n", b"GET /%2e%2e/%2e%2e/etc/passwd HTTP/1.1\r\n\r\n",
             b"POST /api/login HTTP/1.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /api/log HTTP/1.1\r\n\r\n",
             b"POST /api/login HTTP/1.1\r\nContent-Length: 99999999999999\r\n\r\n", b"POST /api/login HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
             b"GET /api/log HTTP/1.1\r\nCookie: paritect=" + b"x" * 7000 + b"\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"\0" * 3000,
             b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"]
    while time.time() < end:
        for i, login in enumerate(logins * 2):
            def attack(login=login, i=i):
                with siege.page() as connection:
                    body = login % i if b"%" in login else login
                    connection.sendall(b"POST /api/login HTTP/1.1\r\nHost: x\r\nX-Paritect: 1\r\nContent-Type: application/json\r\n"
                                       b"Content-Length: %d\r\n\r\n" % len(body) + body)
                    answer = connection.recv(65536)
                    check(b" 200 " not in answer.split(b"\r\n")[0], f"let in: {answer[:300]}")

            quietly(attack)
        for head in heads:
            def attack(head=head):
                with siege.page() as connection:
                    connection.sendall(head)
                    connection.settimeout(2)
                    answer = connection.recv(65536)
                    check(b"root:" not in answer and b"200" not in answer[:15], f"{head[:40]}: {answer[:200]}")

            quietly(attack)


def slowloris(siege, seconds):
    """Heads that come byte by byte, in TLS and in plain, and more callers than there are places."""
    crowd, end = [], time.time() + seconds
    for i in range(120):
        def attack(i=i):
            one = siege.page() if i % 2 else socket.create_connection(("127.0.0.1", siege.web_port()), 10)
            crowd.append(one)
            one.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n")

        quietly(attack)
    asked = time.time()
    while time.time() < end:
        for one in crowd:
            quietly(lambda one=one: one.sendall(b"X-A: b\r\n"))
        if time.time() - asked > 3:  # monitors are let in meanwhile
            asked = time.time()
            siege.metric("build_info.*")
        time.sleep(0.5)
    for one in crowd:
        one.close()


def endless_heads(siege, seconds):
    end = time.time() + seconds
    while time.time() < end:
        for opened in (siege.page, lambda: socket.create_connection(("127.0.0.1", siege.web_port()), 10)):
            def attack(opened=opened):
                with opened() as connection:
                    connection.sendall(b"GET / HTTP/1.1\r\n")
                    while time.time() < end:
                        connection.sendall(b"X-A: " + b"b" * 4000 + b"\r\n")

            quietly(attack)


# Receivers of webhooks that mean harm.


class Receiver:
    """Takes calls and answers each in the way of the hour: drips, never ends, sends elsewhere, hangs up, says nothing."""

    def __init__(self):
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        self.called = 0
        self.ended = threading.Event()
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while not self.ended.is_set():
            try:
                one, _ = self.socket.accept()
            except OSError:
                return
            self.called += 1
            threading.Thread(target=self.answer, args=(one, self.called % 5), daemon=True).start()

    def answer(self, one, way):
        def attack():
            one.settimeout(30)
            one.recv(4096)
            if way == 0:
                for byte in b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n":
                    one.sendall(bytes([byte]))
                    time.sleep(0.5)
            elif way == 1:
                one.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
                while not self.ended.is_set():
                    one.sendall(b"ffff\r\n" + b"x" * 65535 + b"\r\n")
            elif way == 2:
                one.sendall(b"HTTP/1.1 307 Go\r\nLocation: http://169.254.169.254/latest\r\nContent-Length: 0\r\n\r\n")
            elif way == 3:
                time.sleep(20)
            elif way == 4:
                while not self.ended.is_set():
                    one.sendall(b"HTTP/1.1 100 Continue\r\n\r\n" * 100)

        quietly(attack)
        one.close()

    def close(self):
        self.ended.set()
        self.socket.close()


def hostile_webhooks(siege, seconds):
    receiver = Receiver()
    try:
        logs = os.path.join(siege.work, "logs")
        path = os.path.join(siege.work, "hook.yaml")
        with open(path, "w") as file:
            file.write(f"audit: hook\n"
                       f"baseline: {{nodes: [gpu-01], plans: [{{run: g, live: false, logs: [{logs}/gpu.log]}}]}}\n"
                       f"migrated: {{nodes: [npu-01], plans: [{{run: n, live: false, logs: [{logs}/gpu.log]}}]}}\n"
                       f"webhook: http://127.0.0.1:{receiver.port}/x\n")
        siege.client("audit", "create", path, "--replace")
        end = time.time() + seconds
        while time.time() < end:
            siege.client("audit", "run", "hook", "-o", "json", code=[0, 1, 3])
        check(receiver.called, "no webhook was called")
    finally:
        receiver.close()


def crowd_of_viewers(siege, seconds):
    """One person who watches and imports far more than anybody needs."""
    bundle = os.path.join(siege.work, "junk.pbundle")
    with open(bundle, "wb") as file:
        file.write(b"\x89PBL\r\n\x1a\n\1\0\0\0" + b"\1\xff\xff\xff\x3f" + os.urandom(1 << 20))
    crowd = [subprocess.Popen([binary("paritect"), *verb], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=siege.environment,
                              cwd=siege.work) for verb in [["audit", "events", "live"]] * 12 + [["import", bundle]] * 6]
    time.sleep(seconds)
    for one in crowd:
        one.kill()
        one.wait()


ATTACKS = [endless_headers, many_unfinished_headers, endless_number, rapid_reset, frame_floods, random_frames, huge_messages,
           many_streams, no_certificate, half_open, foreign_certificates, token_guessing, page_abuse, slowloris, endless_heads,
           hostile_webhooks, crowd_of_viewers]


def look(siege, name, before, lines_before, seconds):
    """What holds after an attack, and what it cost."""
    check(siege.server.poll() is None, f"{name} ended the server: " + siege.server_log())
    peak = peak_mib(siege.server)
    check(peak - before[0] < PEAK_GROWN_MIB_MAX, f"during {name} the server grew from {before[0]:.0f} to {peak:.0f} MiB")
    told = siege.metric("records_total")
    siege.training.write(5)
    wait_for(lambda: siege.metric("records_total") > told, 90, lambda: f"after {name} the training's steps do not arrive")
    siege.wait_online("gpu-01", "npu-01")
    siege.client("doctor", code=[0, 1])
    for node, agent in siege.agents.items():
        check(agent.poll() is None, f"{name} ended the agent of {node}")
    wait_for(lambda: rss_mib(siege.server) - before[0] < RSS_GROWN_MIB_MAX, 120,
             lambda: f"after {name} the server has grown from {before[0]:.0f} to {rss_mib(siege.server):.0f} MiB")
    wait_for(lambda: siege.descriptors_open() - before[1] < DESCRIPTORS_GROWN_MAX, 120,
             lambda: f"after {name} {siege.descriptors_open()} descriptors are open, {before[1]} before")
    lines = siege.log_lines() - lines_before
    check(lines < LOG_LINES_A_SECOND_MAX * (seconds + 60), f"{name} wrote {lines} lines into the log")
    return (f"{peak:.0f} MiB at most, then {rss_mib(siege.server):.0f}, {siege.descriptors_open()} descriptors ({before[1]} before), "
            f"{len(os.listdir(f'/proc/{siege.server.pid}/task'))} threads, {lines} lines logged")


def main(arguments):
    minutes = float(arguments[arguments.index("--minutes") + 1]) if "--minutes" in arguments else 0
    only = arguments[arguments.index("--only") + 1] if "--only" in arguments else ""
    if not (minutes or only or base.LONG):
        sys.exit(77)
    seconds = 30 if minutes else 5
    with Siege("--web", "127.0.0.1:0", "--webhook-allow", "127.0.0.0/8", "--connections-per-address", "2000") as siege:
        before, end, turn = (rss_mib(siege.server), siege.descriptors_open()), time.time() + 60 * minutes, 0
        while turn == 0 or time.time() < end:
            turn += 1
            for attack in ATTACKS:
                if only and attack.__name__ != only:
                    continue
                lines, began = siege.log_lines(), time.time()
                forget_peak(siege.server)
                quietly(lambda attack=attack: attack(siege, seconds))
                told = look(siege, attack.__name__, before, lines, time.time() - began)
                print(f"{turn} {attack.__name__}: {time.time() - began:.0f} s, {told}", flush=True)
        siege.client("audit", "run", "live", "--timeout", "60s", "-o", "json", code=[0, 1, 3, 5])
        siege.stop_server()
        siege.run(binary("paritect-server"), "verify", siege.dir)
        print(f"{turn} rounds; the store is whole")


if __name__ == "__main__":
    try:
        main(sys.argv[2:])
    except base.Failure as failure:
        print(f"FAILED: {failure}")
        sys.exit(1)
