"""Two folders are enough: pairs as people have them (run_pairs.py), and folders that are not what they seem.

    folders.py BUILD CASE      CASE: pairs | same_as_plan | bounds | strange | habits | openings
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import run_pairs

BUILD = pathlib.Path(sys.argv[1]).resolve()
# Of a healthy plain pair: what this version cannot know from a log, a script, data, packages and a launch line. Raising
# this number takes answers away from a newcomer; docs/usability.md has the history.
PLAIN_NOT_PERFORMED_MAX = 20


def paritect(*words, code=(0, 1), env=None, cwd=None):
    done = subprocess.run([BUILD / "paritect", *map(str, words)], capture_output=True, timeout=120, cwd=cwd,
                          env={"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", **(env or {})})
    out, err = done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace")
    assert done.returncode in ((code,) if isinstance(code, int) else code), (words, done.returncode, out[-2000:], err)
    return out, err


def checks(report):
    return {check["id"]: check for item in report["items"] for check in item["checks"]}


def errors(check):
    return [one["kind"] for one in check["findings"] if one["severity"] == "error"]


def pairs(work):
    for name, (_, faults, wanted) in run_pairs.PAIRS.items():
        run_pairs.make(work, name)
        report = json.loads(paritect("check", work / name / "gpu", work / name / "npu", "-o", "json",
                                     code=1 if wanted else 0)[0])
        found = checks(report)
        for check, kind in wanted.items():
            assert found[check]["verdict"] == "fail", (name, check, found[check])
            assert not kind or kind in errors(found[check]), (name, check, errors(found[check]))
        failing = {one for one in found if found[one]["verdict"] == "fail"}
        assert wanted or not failing, (name, failing)
        assert {one["side"] for one in report["inputs"]} == {"baseline", "migrated"}, name
        left = [one for side in report["inputs"] for one in side["not_taken"] if "not recognised" in one["why"]["en"]]
        assert not left, (name, left)
        if name == "healthy":
            open_checks = sorted(one for one in found if found[one]["verdict"] == "not_performed")
            assert len(open_checks) <= PLAIN_NOT_PERFORMED_MAX, open_checks


def same_as_plan(work):
    """What `plan init` writes gives the report that the folders gave."""
    for name in ("three", "huggingface", "mindformers"):
        run_pairs.make(work, name)
        sides = [work / name / "gpu", work / name / "npu"]
        before = json.loads(paritect("check", *sides, "-o", "json")[0])
        for lang in ("en", "zh_CN"):
            paritect("plan", "init", *sides, "--force", "--lang", lang, code=0)
            after = json.loads(paritect("check", *sides, "-o", "json")[0])
            assert "inputs" not in after
            for report in (before, after):
                report.pop("inputs", None)
                report["verdicts"] = {one: check["verdict"] for one, check in checks(report).items()}
            assert before["verdicts"] == after["verdicts"], name
        paritect("plan", "init", *sides, code=2)  # never over a plan that is there
        assert "logs" in paritect("plan", "show", sides[0], code=0)[0]


def bounds(work):
    run_pairs.make(work, "healthy")
    sides = [work / "healthy" / "gpu", work / "healthy" / "npu"]
    for side in sides:
        with open(side / "data" / "huge.bin", "wb") as file:
            file.truncate(3 << 30)  # a hole: it costs nothing to read, but nobody asked for it
    report = json.loads(paritect("check", *sides, "--item", "data", "-o", "json", code=(0, 1))[0])
    content = checks(report)["data.dataset.content"]
    assert content["verdict"] == "not_performed", content
    assert any("--hash-data" in one["how"]["en"] for one in content["missing"]), content
    assert checks(report)["data.dataset.files"]["verdict"] == "pass"
    assert not report["inputs"][0]["taken"][0]["hashed"]
    deep = sides[0]
    for _ in range(40):
        deep = deep / "d"
        deep.mkdir()
    (sides[0] / "loop").symlink_to(sides[0])
    many = work / "many"
    many.mkdir()
    (many / "0-train.log").write_text((sides[0] / "train.log").read_text())
    for number in range(100_050):
        os.mknod(many / f"f{number:06}")
    out = paritect("plan", "show", many, code=0)[0]
    assert "entries beyond the first 100000" in out, out[-500:]
    out = paritect("plan", "show", sides[0], code=0)[0]
    assert "too deep" in out and "loop: a link to a folder" in out, out


def strange(work):
    run_pairs.make(work, "healthy")
    gpu, npu = work / "healthy" / "gpu", work / "healthy" / "npu"
    runs = work / "runs"
    for seed in (1, 2, 3):
        (runs / f"seed{seed}").mkdir(parents=True)
        (runs / f"seed{seed}" / "train.log").write_text((gpu / "train.log").read_text())
    err = paritect("check", runs, npu, code=2)[1]
    assert "several runs" in err and "runs/seed1" in err and "runs/seed3" in err, err
    empty = work / "empty"
    empty.mkdir()
    assert "nothing in this folder is recognised" in paritect("check", empty, npu, code=2)[1]
    for name in (b"\xff\xfe.txt", "a\nb.txt".encode(), "\u202egnp.txt".encode(), b"$(touch pwned).txt"):
        (gpu / os.fsdecode(name)).write_bytes(b"\x00\x01")
    os.mkfifo(gpu / "pipe")
    (gpu / "away").symlink_to("/etc")
    (gpu / "nowhere").symlink_to("nothing")
    err = paritect("check", gpu, npu, code=0)[1]
    assert "\\xFF\\xFE.txt" in err and "a\\x0Ab.txt" in err and "\u202e" not in err, err
    paritect("plan", "init", gpu, code=0)
    assert not (work / "pwned").exists()
    paritect("check", gpu, npu, code=0)


def habits(work):
    run_pairs.make(work, "data")
    sides = [work / "data" / "gpu", work / "data" / "npu"]
    assert "不通过" in paritect("--lang", "zh_CN", "check", *sides, code=1)[0]
    assert "不通过" in paritect("check", *sides, "--lang=zh-CN.UTF-8", code=1)[0]
    named = ("--baseline", sides[0], "--migrated", sides[1])
    assert "不通过" in paritect("--lang", "zh", "check", *named, code=1)[0]
    paritect("--color", "never", "version", code=0)
    paritect("check", *sides, "-o", work / "r.md", "-o", f"md={work}/s", "-o", work / "r.json", code=1)
    assert (work / "r.md").read_text() == (work / "s").read_text() != ""
    report = json.loads((work / "r.json").read_text())
    assert len(report["items"]) == 17
    report = json.loads(paritect("check", *sides, "--item", "data", "-o", "json", code=1)[0])
    assert {one["id"] for one in report["items"]} == {"data.dataset", "data.preprocessing", "data.sharding"}
    out, err = paritect("check", *reversed(sides), code=1)
    assert "look swapped" in err, err
    assert "fix      name the baseline (GPU) first" in out, out
    err = paritect("check", sides[0], f"{sides[1]}u", code=2)[1]
    assert f"did you mean '{sides[1]}'?" in err, err
    assert "only one run is named" in paritect("check", sides[0], code=2)[1]
    assert "look swapped" not in paritect("check", *sides, code=1)[1]
    for words in (("help", "check"), ("help", "audit", "run"), ("help", "plan", "init"), ("help", "man")):
        assert paritect(*words, code=0)[0]
    paritect("help", "chekc", code=2)
    paritect("check", sides[0], code=2)
    paritect("check", *sides, "--baseline", sides[0], code=2)
    assert "truncated" in paritect("why", "data.dataset.content", *sides, code=1)[0]
    paritect("diagnose", *sides, code=(0, 1))
    page = paritect("help", "man", code=0)[0]
    assert page.startswith(".TH PARITECT 1") and "hash\\-data" in page


def as_written(gpu, npu):
    """What each opening of the plain pair asks, done as it is written: by the opening's words, options of `check`."""
    again = [gpu.with_name(f"again{number}") for number in (2, 3)]
    for folder in again:
        shutil.copytree(gpu, folder)
    fp32, told = gpu.with_name("fp32"), gpu.with_name("told")
    for folder, line in ((fp32, "role: fp32-reference"), (told, "facts: {reference_accuracy: 70}")):
        shutil.copytree(gpu, folder)
        paritect("plan", "init", folder, code=0)
        plan = [one for one in (folder / "plan.yaml").read_text().splitlines() if not one.startswith("role:")]
        (folder / "plan.yaml").write_text("\n".join([*plan, line, ""]))
    answers = gpu.with_name("answers.yaml")
    answers.write_text("attestations:\n" + "".join(
        f"  - {{check: {check}, by: me, reason: looked, until: 2099-12-31}}\n"
        for check in ("baseline.repeatability.labels", "training.flow.evaluation")))
    # In place of Python something that prints what the training printed: what is recorded inside has tests of its own.
    programs = gpu.with_name("bin")
    programs.mkdir()
    for side in (gpu, npu):
        out = side.with_name(side.name + "-wrapped")
        shutil.copytree(side, out)
        for name in ("python", "python3", "torchrun"):
            (programs / name).write_text(f"#!/bin/sh\ncat {side}/train.log\n")
            (programs / name).chmod(0o755)
        paritect("run", "--run", side.name, "--no-observe", "--", "bash", "run.sh", code=0, cwd=out,
                 env={"PATH": f"{programs}:/usr/bin:/bin"})
    return {
        "paritect run --run NAME -- CMD": ["--baseline", f"{gpu}-wrapped", "--migrated", f"{npu}-wrapped"],
        "each in a folder of its own":
            ["--baseline", gpu, "--baseline", again[0], "--baseline", again[1], "--migrated", npu],
        "a plan with `role: fp32-reference`": ["--baseline", gpu, "--baseline", fp32, "--migrated", npu],
        "facts: {reference_accuracy: …}": ["--baseline", told, "--migrated", npu],
        "--answers FILE": ["--answers", answers, gpu, npu],
        ", or attest": ["--answers", answers, gpu, npu],
    }


def openings(work):
    """Every opening of a healthy plain pair can be done as it is written, and answers something of what it names."""
    run_pairs.make(work, "healthy")
    gpu, npu = work / "healthy" / "gpu", work / "healthy" / "npu"
    report = json.loads(paritect("check", gpu, npu, "-o", "json", code=0)[0])
    ways, before = as_written(gpu, npu), checks(report)
    assert report["openings"]
    for opening in report["openings"]:
        way = next((words for said, words in ways.items() if said in opening["do"]["en"]), None)
        assert way, f"no one knows how to do this: {opening['do']['en']}"
        # A person's answer or an fp32 run that is none may make a check fail: it is answered.
        after = checks(json.loads(paritect("check", *way, "-o", "json", code=(0, 1))[0]))
        changed = [one for one in opening["checks"] if after[one] != before[one]]
        assert changed, (opening["do"]["en"], opening["checks"])
        # A run that is not observed from within does not show that it is one process.
        lost = [one for one in before if before[one]["verdict"] == "pass" and after[one]["verdict"] == "not_performed"]
        assert not lost or opening["id"] == "wrapped-run", (opening["do"]["en"], lost)


with tempfile.TemporaryDirectory() as folder:
    globals()[sys.argv[2]](pathlib.Path(folder))
