"""Cells about training scripts: the scripts of tests/scripts/ and their ports, changed in one place at a time. What is
changed, and the answer, stand there; here they are put to the program as a user would, with both sides exchanged too.
"""
import os
import re

import audit

SCRIPTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "scripts")
LAUNCH = b"#!/bin/bash\ntorchrun --nproc_per_node 8 train.py --data /data/images --epochs 90\n"
PORT = (
    ('"cuda"', '"npu"'),
    ("torch.cuda.amp", "torch_npu.npu.amp"),
    ('"nccl"', '"hccl"'),
    ("import torch\n", "import torch\nimport torch_npu\n"),
)


def read(*names):
    with open(os.path.join(SCRIPTS, *names), encoding="utf-8") as source:
        return source.read()


def variants():
    """(name, from, to, check, kind) of script_variants_test.cc."""
    text = r'"((?:[^"\\]|\\.)*)"'
    table = read("script_variants_test.cc").split("kVariants[] = {")[1].split("\n};")[0]
    for row in re.findall(r"\{" + r",\s*".join([text] * 5) + r"\}", table):
        yield [word.replace("\\n", "\n").replace('\\"', '"') for word in row]


def pairs():
    """(sample, name, answer, [(from, to)]) of pairs.txt."""
    out = []
    for line in read("pairs.txt").splitlines():
        if line.startswith("=== "):
            head, answer = line[4:].split(": ", 1)
            sample, name = head.split(" ", 1)
            out.append((sample, name, answer, []))
        elif out and line.startswith("- "):
            out[-1][3].append([line[2:].replace("\\n", "\n"), ""])
        elif out and line.startswith("+ "):
            out[-1][3][-1][1] = line[2:].replace("\\n", "\n")
    return out


def framework_of(sample):
    for word, framework in (("mindspore", "mindspore"), ("keras", "tensorflow"), ("tf_", "tensorflow")):
        if sample.startswith(word):
            return framework
    return "pytorch"


def side_plan(side, code, framework, launch=None):
    files = {"src/train.py": code.encode()}
    plan = {
        "run": side,
        "node": f"{side}-node",
        "platform": "nvidia" if side == "baseline" else "atlas-a2",
        "framework": framework,
        "scripts": ["src"],
    }
    if launch:
        files["run.sh"] = launch
        plan["settings"] = ["run.sh"]
    return audit.Plan(plan, files)


def pair(base, migrated, framework="pytorch", launch=None):
    return audit.Audit(
        [side_plan("baseline", base, framework, launch)], [side_plan("migrated", migrated, framework, launch)]
    )


def ported(code):
    for old, new in PORT:
        code = code.replace(old, new)
    return code


FORMS = {
    "crlf": lambda code: code.replace("\n", "\r\n"),
    "bom": lambda code: "\ufeff" + code,
    "comments": lambda code: "# 学习率曾为 3e-4\n" + code.replace("\nimport ", "\n# import\nimport ", 1),
    "blank_lines": lambda code: code.replace("\n\n", "\n\n\n"),
}
PASSES = ("data.preprocessing.shuffle", "data.preprocessing.padding", "data.preprocessing.transform",
          "data.sharding.order-hazard", "migrated.mixed-precision.single-mechanism")


def cells(_):
    healthy = read("torch", "train.py")
    dialect = "scripts/torch"
    yield audit.Cell(dialect, "healthy", "", lambda: [pair(healthy, ported(healthy), launch=LAUNCH)],
                     audit.judge_healthy(PASSES))
    for name, change in FORMS.items():
        yield audit.Cell(dialect, "form", name, lambda c=change: [
            pair(healthy, ported(healthy), launch=LAUNCH), pair(healthy, c(ported(healthy)), launch=LAUNCH)],
            audit.judge_same())
    for name, old, new, check, kind in variants():
        yield audit.Cell(dialect, name, "migrated", lambda a=(old, new): [
            pair(healthy, ported(healthy).replace(*a), launch=LAUNCH)], audit.judge_fault((check,), (kind,)))
        if not check.startswith("migrated."):
            # What is compared is no less different the other way round; a fault is one on either side.
            yield audit.Cell(dialect, name, "baseline", lambda a=(old, new): [
                pair(healthy.replace(*a), ported(healthy), launch=LAUNCH)], audit.judge_fault((check,), (kind,)))
    for sample, name, answer, edits in pairs():
        code = read("samples", sample + ".py")
        other = code
        for old, new in edits:
            other = other.replace(old, new)
        framework = framework_of(sample)
        audits = lambda a=(code, other, framework): [pair(*a)]  # noqa: E731
        if answer == "same" or answer.endswith("= pass"):
            judge = audit.judge_healthy() if answer == "same" else audit.judge_healthy((answer.split(" = ")[0],))
            yield audit.Cell(f"scripts/{sample}", "other_words", name, audits, judge)
            continue
        check, verdict = answer.split(" = ")
        kinds = tuple(verdict.split()[1:])
        if verdict.split()[0] == "fail":
            yield audit.Cell(f"scripts/{sample}", name, "migrated", audits, fails(check, kinds))


def fails(check, kinds):
    """judge_fault; without a kind any error of the check will do."""

    def judge(reports):
        of_check = tuple({f["kind"] for n, f in audit.errors(reports[0]) if n == check})
        return audit.judge_fault((check,), kinds or of_check)(reports)

    return judge
