#!/usr/bin/env python3
"""The server's page and signed reports: page.py BUILD_DIR TEST [TEST...]"""
import http.client
import json
import os
import re
import shutil
import socket
import ssl
import subprocess
import sys

sys.dont_write_bytecode = True  # the source folder stays as it is
import cluster as base
from client import TwoNodes
from cluster import BUILD, SOURCE, binary, check


class Browser:
    """Speaks to the page as a browser does: TLS, one cookie, a request a connection."""

    def __init__(self, cluster):
        self.port = cluster.web_port()
        self.tls = ssl.create_default_context(cafile=os.path.join(cluster.dir, "ca.pem"))
        self.cookie = ""

    def ask(self, method, path, body=None, headers=None):
        connection = http.client.HTTPSConnection("127.0.0.1", self.port, context=self.tls, timeout=60)
        given = {"X-Paritect": "1", "Cookie": self.cookie}
        given.update(headers or {})
        connection.request(method, path, None if body is None else json.dumps(body), given)
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        for name, value in answer.getheaders():
            if name.lower() == "set-cookie":
                self.cookie = value.split(";")[0]
        return answer, text

    def login(self, cluster, **options):
        address = cluster.client("web", **options).stdout.strip()
        token = address.rsplit("/", 1)[1]
        return address, token, self.ask("POST", "/api/login", {"token": token})[0].status


def status(browser, *request):
    return browser.ask(*request)[0].status


def hears(port, received):
    """All that the server answers to these bytes in plain."""
    with socket.create_connection(("127.0.0.1", port), 30) as caller:
        caller.sendall(received)
        answer = b""
        while piece := caller.recv(65536):
            answer += piece
        return answer


def test_strangers_and_roles():
    with TwoNodes("--web", "127.0.0.1:0") as cluster:
        browser = Browser(cluster)
        shell, text = browser.ask("GET", "/")
        check(shell.status == 200 and "default-src 'none'" in shell.getheader("Content-Security-Policy"), "the shell")
        check("resnet" not in text and "gpu-01" not in text, "the shell holds nothing of the evidence")
        for path in ("/api/audits", "/api/nodes", "/api/answers", "/api/log", "/api/me", "/api/audits/example/live"):
            check(status(browser, "GET", path) == 401, f"a stranger gets {path}")
        check(status(browser, "POST", "/api/login", {"token": "pjt-none"}) == 403, "a wrong token")
        check(status(browser, "POST", "/api/login", []) == 403, "no token")

        # The same port in plain: monitors, and nothing else.
        check(b"paritect_" in hears(browser.port, b"GET /metrics HTTP/1.1\r\n\r\n"), "metrics in plain")
        check(b" 404 " in hears(browser.port, b"GET /api/audits HTTP/1.1\r\n\r\n"), "nothing else in plain")

        _, token, code = browser.login(cluster)
        check(code == 200, f"login: {code}")
        check(Browser(cluster).ask("POST", "/api/login", {"token": token})[0].status == 403, "a token is good once")
        check(json.loads(browser.ask("GET", "/api/audits")[1])["audits"][0]["definition"]["name"] == "example", "audits")
        check("redaction_key\": \"\"" in browser.ask("GET", "/api/audits")[1].replace("\":\"", "\": \""), "no key goes out")
        check(status(browser, "GET", "/api/audits/none/runs") in (404, 200), "an audit that is not there")
        for path in ("/api/", "/api/audits/example/runs/x/report", "/api/../etc/passwd", "/api/audits//", "/x"):
            check(status(browser, "GET", path) in (400, 404), f"GET {path}")
        forged, _ = browser.ask("POST", "/api/audits/example/run", None, {"X-Paritect": ""})
        check(forged.status == 403, "another site's form acts")

        # A viewer sees and does not act.
        viewer = os.path.join(cluster.work, "viewer.credential")
        cluster.run(binary("paritect"), "join", cluster.address, "--token", cluster.token("viewer", "--node", "vera"),
                    "--ca-pin", cluster.pin, "--name", "vera", "-o", viewer)
        seer = Browser(cluster)
        environment = dict(cluster.environment, PARITECT_CREDENTIAL=viewer)
        check(seer.login(cluster, environment=environment)[2] == 200, "a viewer logs in")
        check(not json.loads(seer.ask("GET", "/api/me")[1])["acts"], "a viewer does not act")
        check(status(seer, "GET", "/api/nodes") == 200, "a viewer sees")
        waiver = {"check": "data.dataset.content", "kind": "truncated", "by": "v", "reason": "r", "until": "2099-01-01"}
        for request in (("POST", "/api/audits/example/run"), ("POST", "/api/waivers", waiver), ("DELETE", "/api/waivers/1")):
            check(status(seer, *request) == 403, f"a viewer may {request}")
        check(status(browser, "POST", "/api/waivers", waiver) == 200, "an operator waives")
        check(status(browser, "POST", "/api/waivers", {"check": "none"}) == 400, "a waiver of nothing")
        for wrong in ({"until": "zzzz"}, {"until": "2099-02-29"}, {"reason": ""}, {"reason": "\u202er"}, {"reason": "r" * 5000}):
            check(status(browser, "POST", "/api/waivers", {**waiver, **wrong}) == 400, f"a waiver with {wrong}"[:80])
        log = cluster.client("log").stdout
        check("AddWaiver" in log and "Login" in log and "viewer/vera" in log, "the log of calls tells of it")
        # Whoever is revoked is out at once.
        cluster.client("node", "revoke", "vera")
        check(status(seer, "GET", "/api/nodes") == 401, "a revoked viewer still sees")
        # Nor does the old session come back with a new credential of that name: somebody else may hold it.
        again = os.path.join(cluster.work, "again.credential")
        cluster.run(binary("paritect"), "join", cluster.address, "--token", cluster.token("viewer", "--node", "vera"),
                    "--ca-pin", cluster.pin, "--name", "vera", "-o", again)
        check(status(seer, "GET", "/api/nodes") == 401, "the session of a revoked viewer who joined again still sees")
        fresh = Browser(cluster)
        check(fresh.login(cluster, environment=dict(cluster.environment, PARITECT_CREDENTIAL=again))[2] == 200,
              "who joined again logs in")
        check(status(fresh, "GET", "/api/nodes") == 200, "who joined again sees")
        check(status(browser, "POST", "/api/logout") == 200 and status(browser, "GET", "/api/me") == 401, "logged out")


def test_certificate_login():
    """A browser that holds a person's certificate comes in without a token; nobody else's opens anything."""
    if not shutil.which("openssl"):
        sys.exit(77)
    with TwoNodes("--web", "127.0.0.1:0") as cluster:
        nobody = Browser(cluster)
        refused, text = nobody.ask("POST", "/api/login", {"certificate": True})
        check(refused.status == 403 and "paritect web --certificate" in text, f"without a certificate: {text}")
        # What the command writes for a browser.
        password = cluster.client("web", "--certificate", "me.p12").stdout.strip()
        file = os.path.join(cluster.work, "me.p12")
        check(os.stat(file).st_mode & 0o777 == 0o600, "the file is for its owner alone")
        check("is there already" in cluster.client("web", "--certificate", "me.p12", code=2).stderr, "it is not replaced")
        cluster.run("openssl", "pkcs12", "-in", file, "-passin", "pass:" + password, "-nodes", "-out", "me.pem")
        admin = Browser(cluster)
        admin.tls.load_cert_chain(os.path.join(cluster.work, "me.pem"))
        check(status(admin, "GET", "/api/audits") == 401, "a certificate alone is no session")
        check(status(admin, "POST", "/api/login", {"certificate": True}) == 200, "it makes one")
        me = json.loads(admin.ask("GET", "/api/me")[1])
        check(me["actor"] == "admin/admin" and me["acts"], str(me))
        check(status(admin, "GET", "/api/audits") == 200, "and opens the page")
        # A node's opens nothing.
        agent = Browser(cluster)
        base.load_identity(agent.tls, cluster, os.path.join(cluster.state("gpu-01"), "agent.credential"))
        check(status(agent, "POST", "/api/login", {"certificate": True}) == 403, "an agent's certificate")
        # Nor a revoked person's.
        viewer = os.path.join(cluster.work, "viewer.credential")
        cluster.run(binary("paritect"), "join", cluster.address, "--token", cluster.token("viewer", "--node", "vera"),
                    "--ca-pin", cluster.pin, "--name", "vera", "-o", viewer)
        seer = Browser(cluster)
        base.load_identity(seer.tls, cluster, viewer)
        check(status(seer, "POST", "/api/login", {"certificate": True}) == 200, "a viewer's")
        check(not json.loads(seer.ask("GET", "/api/me")[1])["acts"], "a viewer does not act")
        cluster.client("node", "revoke", "vera")
        check(status(seer, "GET", "/api/audits") == 401, "a revoked viewer still sees")
        check(status(seer, "POST", "/api/login", {"certificate": True}) == 403, "and comes in again")
        # Of another authority: the handshake ends, and the journal says why.
        with base.Cluster() as other:
            stranger = Browser(cluster)
            base.load_identity(stranger.tls, cluster, other.credential)
            try:
                stranger.ask("POST", "/api/login", {"certificate": True})
                raise base.Failure("another authority's certificate was taken")
            except (ssl.SSLError, OSError, http.client.HTTPException):
                pass
        cluster.log_has("Connection refused")
        check("Login" in cluster.client("log").stdout, "logins stand in the log")


def test_hostile_requests():
    with TwoNodes("--web", "127.0.0.1:0") as cluster:
        browser = Browser(cluster)

        def raw(received):
            with socket.create_connection(("127.0.0.1", browser.port), 30) as plain:
                with browser.tls.wrap_socket(plain, server_hostname="127.0.0.1") as caller:
                    answer = b""
                    try:
                        caller.sendall(received)
                        while piece := caller.recv(65536):
                            answer += piece
                    except OSError:
                        pass  # hung up on
                    return answer

        for received in (b"\r\n\r\n", b"GET\r\n\r\n", b"\0" * 100 + b"\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n",
                         b"GET /%zz%00 HTTP/1.1\r\n\r\n", b"X" * 200000, b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 20000,
                         b"POST /api/login HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n",
                         b"POST /api/login HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
                         b"POST /api/login HTTP/1.1\r\nX-Paritect: 1\r\nContent-Length: 9000\r\n\r\n" + b"[" * 9000,
                         b"GET / HTTP/1.1\r\nRange: bytes=0-1,0-1,0-1\r\n\r\n",
                         b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"):
            answer = raw(received)
            check(b"500" not in answer[:40], f"{received[:60]!r}: {answer[:60]!r}")
        check(status(browser, "GET", "/") == 200, "the page still answers")
        check(cluster.server.poll() is None, "the server ended: " + cluster.server_log())


def test_signed_report():
    with TwoNodes() as cluster:
        cluster.client("audit", "run", "example", "-o", "json=report.json", "-o", "html=report.html", code=[1])
        key = os.path.join(cluster.dir, "report.pub")
        for name in ("report.json", "report.html"):
            done = cluster.client("report", "verify", name, "--key", key)
            check("signed with the trusted key" in done.stdout, done.stdout)
            check("is the report of run 1" in cluster.client("report", "verify", name, "--audit", "example").stdout, name)
        text = open(os.path.join(cluster.work, "report.json")).read()
        for old, new in (('"run": 1', '"run": 2'), ("part-00005", "part-00006"), ('"severity": "note"', '"severity": "error"')):
            check(old in text, old)
            with open(os.path.join(cluster.work, "changed.json"), "w") as changed:
                changed.write(text.replace(old, new, 1))
            done = cluster.client("report", "verify", "changed.json", "--key", key, code=1)
            check("does not hold" in done.stdout, done.stdout)
        # Written anew by another program, it is the same report.
        with open(os.path.join(cluster.work, "again.json"), "w") as again:
            json.dump(json.loads(text), again, indent=4, sort_keys=True, ensure_ascii=False)
        cluster.client("report", "verify", "again.json", "--key", key)
        # Another key's signature is as good as none.
        other = os.path.join(cluster.work, "other.pub")
        subprocess.run(f"openssl genpkey -algorithm ed25519 | openssl pkey -pubout -out {other}", shell=True, check=True)
        check("another key" in cluster.client("report", "verify", "report.json", "--key", other, code=1).stdout, "key")
        unsigned = json.loads(text)
        del unsigned["signature"]
        with open(os.path.join(cluster.work, "unsigned.json"), "w") as file:
            json.dump(unsigned, file)
        check("is not signed" in cluster.client("report", "verify", "unsigned.json", "--key", key, code=1).stdout, "none")
        check("not signed" in cluster.client("report", "verify", "unsigned.json").stdout, "nobody asked for one")


def test_in_browser():
    folder = os.path.join(BUILD, "browser")
    ready = subprocess.run([os.path.join(SOURCE, "tests", "browser", "prepare"), folder], capture_output=True, text=True)
    if ready.returncode == 77:
        print(ready.stdout)
        sys.exit(77)
    check(ready.returncode == 0, ready.stderr)
    with TwoNodes("--web", "127.0.0.1:0") as cluster:
        cluster.client("audit", "run", "example", "-o", "json=report.json", code=[1])
        address = cluster.client("web").stdout.strip()
        cluster.run("node", os.path.join(folder, "page.js"), address, "example", folder, timeout=800)
        viewer = os.path.join(cluster.work, "viewer.credential")
        cluster.run(binary("paritect"), "join", cluster.address, "--token", cluster.token("viewer", "--node", "vera"),
                    "--ca-pin", cluster.pin, "--name", "vera", "-o", viewer)
        address = cluster.client("web", environment=dict(cluster.environment, PARITECT_CREDENTIAL=viewer)).stdout.strip()
        cluster.run("node", os.path.join(folder, "viewer.js"), address, "example", folder, timeout=800)


if __name__ == "__main__":
    base.main(globals())
