#!/usr/bin/env python3
"""One language at a time: what every command prints, in Chinese without an English sentence and without half-width
punctuation behind Chinese words, in English without a Chinese character.

    languages.py BUILD_DIR offline|server
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True  # the source folder stays as it is
import cluster as base
import run_pairs
from client import EXAMPLE, TwoNodes
from cluster import BUILD, binary

# As in common/language_testing.h: four words in a row are a sentence; quotations and code are somebody else's words.
QUOTED = re.compile(r"`[^`]*`|'[^'\n]*'|“[^”]*”|\"[^\"\n]*\"")
SENTENCE = re.compile(r"(?:^|[^\w./=-])((?:[A-Za-z][a-z]+ ){3,}[a-z]{2,})(?:[^\w/=(.]|$|\. )", re.ASCII)
CHINESE = re.compile(r"[\u3400-\u9fff\u3000-\u303f\uff01-\uff5e]")
HALF_WIDTH = re.compile(r"[\u4e00-\u9fff](?:[:;,?!] |[:;,?!]$|\. )", re.M)


class Judge:
    """Runs commands in both languages and keeps what stands there in the other one."""

    def __init__(self, run):
        self.run = run
        self.complaints = []
        self.seen = 0

    def both(self, *command, make=None):
        for language in ("zh", "en"):
            if make:
                make(language)
            out, err = self.run(language, *command)
            self.look(language, command, out + "\n" + err)

    def look(self, language, command, text):
        self.seen += 1
        words = " ".join(map(str, command))
        if "Traceback" in text or len(text.strip()) < 2:
            self.complaints.append(f"{language}: {words}: says nothing: {text!r}")
        plain = QUOTED.sub("", text)
        if language == "en":
            found = [line for line in plain.splitlines() if CHINESE.search(line)]
        else:
            found = [line for line in plain.splitlines() if SENTENCE.search(line) or HALF_WIDTH.search(line)]
        self.complaints += [f"{language}: {words[:100]}: {line}" for line in found]

    def end(self, at_least):
        for one in dict.fromkeys(self.complaints):
            print(one)
        if self.seen < at_least:
            sys.exit(f"only {self.seen} answers were looked at, {at_least} are wanted")
        if self.complaints:
            sys.exit(f"{len(set(self.complaints))} lines in the other language, of {self.seen} answers")


def check_ids(run):
    return [one["id"] for one in json.loads(run("en", "explain", "-o", "json")[0])]


def judges_know_a_sentence():
    judge = Judge(None)
    judge.look("zh", ["x"], "原因：no script below it was seen to train\n数据: 8\n")
    judge.look("en", ["x"], "not read: 未知\n")
    judge.look("zh", ["x"], "给出 global batch size，或 Loss Scale：`paritect run --run NAME -- CMD`\n")
    assert len(judge.complaints) == 3, judge.complaints


def mistakes(judge, work, gpu, npu):
    """What a user may write wrong, and files that are none."""
    broken = {
        "unknown.yaml": "run: a\nnode: n\nlog: [x]\n", "type.yaml": "run: [a]\nnode: n\n",
        "role.yaml": "run: a\nnode: n\nrole: referee\n", "missing.yaml": "run: a\nnode: n\nlogs: [not-there.log]\n",
        "dataset.yaml": "run: a\nnode: n\ndatasets: [{root: data}]\n", "world.yaml": "run: a\nnode: n\nworld_size: many\n",
        "text.yaml": "just a text\n", "json.json": '{"run": ', "two.yaml": "run: a\n---\nrun: b\n", "empty.yaml": "",
    }
    for name, text in broken.items():
        (work / name).write_text(text)
        judge.both("check", "--baseline", work / name, "--migrated", npu)
    (work / "nothing").mkdir()
    (work / "nothing" / "notes.bin").write_bytes(b"\0\1\2")
    (work / "runs" / "a").mkdir(parents=True)
    (work / "runs" / "b").mkdir()
    for one in "ab":
        shutil.copy(gpu / "train.log", work / "runs" / one)
    (work / "profile.yaml").write_text("profile: site/1\nthresholds: {no_such: 1}\n")
    (work / "waivers.yaml").write_text("profile: site/1\nwaivers: [{check: data.dataset.contents, kind: truncated, "
                                       "by: me, reason: r, until: 2020-01-01}]\n")
    for words in ([], ["chek"], ["check"], ["check", gpu], ["check", gpu, f"{npu}u"], ["check", gpu, npu, npu],
                  ["check", work / "nothing", npu], ["check", work / "runs", npu], ["check", npu, gpu],
                  ["check", gpu, gpu], ["check", gpu, npu, "--item", "data.datset"],
                  ["check", gpu, npu, "--item", "data.dataset.content"], ["check", gpu, npu, "-o", "pdf"],
                  ["check", gpu, npu, "-o", "json", "-o", "csv"], ["check", gpu, npu, "-o", "json="],
                  ["check", gpu, npu, "-o", work / "no" / "r.json"], ["check", gpu, npu, "--full", "--failed"],
                  ["check", gpu, npu, "--color", "blue"], ["check", gpu, npu, "--nosuch"],
                  ["check", gpu, npu, "--profile", work / "profile.yaml"], ["check", gpu, npu, "--profile", work / "no"],
                  ["check", gpu, npu, "--answers", work / "profile.yaml"], ["check", gpu, npu, "--jobs", "0"],
                  ["diff"], ["diff", "weigths", gpu, npu], ["diff", "data", gpu], ["diff", "data", work / "no", npu],
                  ["diff", "settings", work / "nothing", npu], ["diff", "curve", gpu, npu, "--metric", "nosuch"],
                  ["diff", "curve", work / "nothing", npu], ["diff", "shards", gpu, npu], ["diff", "weights", gpu, npu],
                  ["diff", "data", gpu, npu, "--metric", "loss"], ["why"], ["why", "nosuch", gpu, npu],
                  ["why", "data.dataset.content@nowhere", gpu, npu], ["why", "data.dataset.content"],
                  ["explain", "nosuch"], ["diagnose"], ["diagnose", work / "no.json"], ["diagnose", work / "nothing"],
                  ["diagnose", work / "json.json"], ["inspect"], ["inspect", work / "no"],
                  ["inspect", "--as", "nosuch", gpu / "train.log"], ["inspect", gpu / "train.log", "-o", "xml"],
                  ["scan"], ["scan", work / "no"], ["scan", work / "nothing"], ["scan", gpu, "-o", "xml"],
                  ["plan"], ["plan", "nosuch"], ["plan", "show", work / "no"], ["plan", "init", work / "nothing"],
                  ["plan", "init", gpu, npu, npu], ["manifest"], ["manifest", "nosuch"], ["manifest", "create"],
                  ["manifest", "create", work / "no"], ["manifest", "verify", gpu], ["manifest", "diff", gpu],
                  ["manifest", "verify", gpu / "train.log", gpu], ["manifest", "create", gpu, "--format", "sha1"],
                  ["manifest", "create", gpu, "--bwlimit", "fast"], ["manifest", "create", gpu, "--jobs", "0"],
                  ["run"], ["run", "--run", "a"], ["run", "--run", "a", "--data", work / "no", "--", "true"],
                  ["run", "--run", "a", "--observe", "much", "--", "true"],
                  ["observe"], ["observe", "env", "--format", "csh"], ["attach"], ["attach", "--pid", "1"],
                  ["report"], ["report", "--list"], ["report", "verify", work / "no.json"],
                  ["report", "verify", gpu / "train.log"], ["report", "verify", work / "json.json"],
                  ["completion"], ["completion", "csh"], ["waive"], ["waive", "add"],
                  ["waive", "lint", work / "waivers.yaml"], ["waive", "lint", work / "text.yaml"],
                  ["waive", "rm"], ["attest"], ["attest", "data.dataset"], ["node"], ["node", "ls"], ["node", "show"],
                  ["audit"], ["audit", "create", work / "no.yaml"], ["audit", "wait", "x", "--timeout", "soon"],
                  ["audit", "wait", "x", "--for", "luck"], ["token", "create", "--role", "king"], ["token", "create"],
                  ["join"], ["join", "x:1"], ["log", "--since", "yesterday"], ["runs"], ["web"], ["import"],
                  ["import", gpu / "train.log"], ["doctor"], ["fleet"], ["fleet", "deploy"], ["version", "--nosuch"]):
        judge.both(*words)


def offline(work):
    def run(language, *words):
        done = subprocess.run([binary("paritect"), *map(str, words)], capture_output=True, timeout=120, cwd=work,
                              env={"PATH": os.environ["PATH"], "HOME": str(work), "NO_COLOR": "1",
                                   "LC_ALL": "zh_CN.UTF-8" if language == "zh" else "C.UTF-8"})
        return done.stdout.decode(), done.stderr.decode()

    judge = Judge(run)
    for name in ("healthy", "three", "diverges", "schedule", "huggingface", "megatron", "mindformers"):
        run_pairs.make(work, name)
        gpu, npu = work / name / "gpu", work / name / "npu"
        for words in (["check", gpu, npu], ["check", gpu, npu, "--full"], ["check", gpu, npu, "--failed"],
                      ["check", gpu, npu, "--item", "data"], ["check", gpu, npu, "-o", "markdown"],
                      ["check", gpu, npu, "-o", "junit"], ["check", gpu, npu, "-o", "csv"], ["diagnose", gpu, npu],
                      ["diff", "data", gpu, npu], ["diff", "data", gpu, npu, "--all"], ["diff", "settings", gpu, npu],
                      ["diff", "settings", gpu, npu, "--all"], ["diff", "curve", gpu, npu],
                      ["diff", "scripts", gpu, npu], ["plan", "show", npu], ["scan", npu]):
            judge.both(*words)
    gpu, npu = work / "three" / "gpu", work / "three" / "npu"
    sides = [*(word for seed in (1, 2, 3) for word in ("--baseline", f"{EXAMPLE}/gpu/seed{seed}")),
             "--migrated", f"{EXAMPLE}/npu"]
    for words in (["check", *sides], ["check", *sides, "--full"], ["check", *sides, "-o", "markdown"],
                  ["check", *sides, "-o", "junit"], ["diagnose", *sides], ["diff", "shards", f"{EXAMPLE}/gpu/seed1",
                   f"{EXAMPLE}/npu"], ["diff", "weights", f"{EXAMPLE}/gpu/seed1", f"{EXAMPLE}/npu"]):
        judge.both(*words)
    judge.both("explain")
    items = check_ids(run)
    for check in items:
        judge.both("explain", check)
        judge.both("why", check, *sides)
        judge.both("why", check, gpu, npu)
    for item in dict.fromkeys(check.rsplit(".", 1)[0] for check in items):
        judge.both("explain", item)
    for kind in ("truncated", "content_differs", "moved", "lr_base", "loss_ratio_max", "nan_loss", "other_rank"):
        judge.both("explain", kind)
    for path in (npu / "train.log", npu / "run.sh", npu / "train.py", npu / "smi.txt", npu / "requirements.txt",
                 npu / "data"):
        judge.both("inspect", path, "-o", "table")
    # Lists, records, what was kept.
    (work / "junk").mkdir()
    for number in range(3):
        (work / "junk" / f"{number}.bin").write_bytes(bytes(100 * number))
    os.mkfifo(work / "junk" / "pipe")
    (work / "junk" / "nowhere").symlink_to("nothing")
    (work / "junk" / "folder").symlink_to(gpu / "data")
    run("en", "manifest", "create", gpu / "data", "-o", work / "list.md5")
    for words in (["manifest", "verify", work / "list.md5", npu / "data"], ["manifest", "diff", gpu / "data", npu / "data"],
                  ["manifest", "verify", work / "list.md5", gpu], ["manifest", "verify", work / "list.md5", work / "junk"],
                  ["manifest", "create", work / "junk"], ["manifest", "create", work / "junk", "--include", "*.x"],
                  ["manifest", "create", gpu / "data", "--progress", "plain", "-o", work / "again.md5"],
                  ["diff", "data", work / "list.md5", npu / "data"]):
        judge.both(*words)
    judge.both("plan", "init", gpu, npu, "--force")
    judge.both("plan", "init", gpu, npu)
    judge.both("run", "--run", "r", "--no-observe", "--data", gpu / "data", "--dir", work / "recorded", "--", "true")
    judge.both("run", "--run", "r", "--", "no-such-program")
    judge.both("observe", "env", work / "observed")
    run("en", "check", gpu, npu, "--db", work / "kept.db", "-o", work / "r.json", "-o", work / "r.html")
    for words in (["report", "--db", work / "kept.db"], ["report", "--db", work / "kept.db", "--list"],
                  ["report", "verify", work / "r.json"], ["report", "verify", work / "r.html"],
                  ["diagnose", work / "r.json"]):
        judge.both(*words)
    (work / "other.html").write_text((work / "r.html").read_text().replace("<body ", '<body class="x" '))
    judge.both("report", "verify", work / "other.html")
    (work / "forged.json").write_text((work / "r.json").read_text().replace('"verdict": "fail"', '"verdict": "pass"'))
    judge.both("report", "verify", work / "forged.json")
    judge.both("help")
    for command in ("check", "audit", "waive", "diff", "manifest"):
        judge.both("help", command)
    mistakes(judge, work, gpu, npu)
    judge.end(600)


def server():
    with TwoNodes() as cluster:
        def run(language, *words):
            cluster.environment["LC_ALL"] = "zh_CN.UTF-8" if language == "zh" else "C.UTF-8"
            done = cluster.client(*map(str, words), code=None)
            cluster.environment["LC_ALL"] = "C.UTF-8"
            return done.stdout, done.stderr

        judge = Judge(run)
        work = pathlib.Path(cluster.work)
        person = ["--by", "Chen", "--reason", "looked", "--until", "2999-12-31"]
        for words in (["audit", "ls"], ["audit", "show", "example"], ["audit", "run", "example"],
                      ["audit", "run", "example", "--watch"], ["audit", "show", "example"], ["audit", "ls"],
                      ["audit", "ls", "example"], ["audit", "wait", "example"], ["audit", "wait", "example", "--for", "pass"],
                      ["audit", "cancel", "example"], ["audit", "stop", "example"], ["audit", "events", "example", "-o", "text"],
                      ["audit", "show", "nosuch"], ["node", "ls"], ["node", "ls", "-o", "wide"], ["node", "show", "npu-01"],
                      ["node", "show", "nosuch"], ["node", "revoke", "nosuch"], ["doctor"], ["doctor", "--audit"],
                      ["token", "create", "--role", "viewer"], ["token", "ls"], ["token", "revoke", "0" * 64], ["log"],
                      ["log", "--call", "Nothing"], ["runs", "ls"], ["runs", "show", "nosuch"], ["runs", "rm", "nosuch"],
                      ["waive", "ls"], ["waive", "lint"], ["why", "data.dataset.content", "--audit", "example"],
                      ["diagnose", "example"], ["diff", "data", "example:baseline", "example:migrated"],
                      ["diff", "settings", "example:baseline", "example:migrated"], ["report", "example"],
                      ["report", "nosuch"], ["web"], ["completion", "names", "audits"],
                      ["waive", "add", "data.dataset.content", "--kind", "truncated", *person],
                      ["waive", "add", "data.dataset.content", *person], ["waive", "add", "data.datset", *person],
                      ["attest", "training.flow.evaluation", "--audit", "example", *person],
                      ["attest", "training.flow.evaluation", "--audit", "nosuch", *person],
                      ["waive", "ls"], ["waive", "lint"], ["audit", "run", "example"], ["audit", "show", "example"],
                      ["waive", "rm", "1"], ["waive", "rm", "77"],
                      ["waive", "rm", "--audit", "example", "--check", "training.flow.evaluation"],
                      ["audit", "create", work / "example.yaml"], ["audit", "create", work / "example.yaml", "--replace"]):
            judge.both(*words)
        tokens = {one: cluster.token("viewer") for one in ("zh", "en")}
        for language in tokens:
            out = run(language, "join", cluster.address, "--token", tokens[language], "--name", "eve-" + language, "-o",
                      work / f"{language}.credential", "--ca-pin", cluster.pin)
            judge.look(language, ["join"], "\n".join(out))
            judge.look(language, ["join again"], "\n".join(
                run(language, "join", cluster.address, "--token", tokens[language], "--name", "x", "-o",
                    work / f"{language}2.credential", "--ca-pin", cluster.pin)))
            judge.look(language, ["refused"], "\n".join(
                run(language, "audit", "cancel", "x", "--credential", work / f"{language}.credential")))
            judge.look(language, ["node revoke"], "\n".join(run(language, "node", "revoke", "eve-" + language)))
        cluster.run(binary("paritect-agent"), "collect", os.path.join(EXAMPLE, "npu"), "-o", work / "npu.pbundle")
        judge.both("import", work / "npu.pbundle")
        judge.both("runs", "ls")
        judge.both("audit", "rm", "example")
        cluster.stop_server()
        judge.both("node", "ls")
        judge.both("doctor")
        judge.end(100)


if __name__ == "__main__":
    judges_know_a_sentence()
    if sys.argv[2] == "server":
        server()
    else:
        with tempfile.TemporaryDirectory() as folder:
            offline(pathlib.Path(folder))
