"""One audit: folders with plans on both sides, the program over them, and how its report compares with the truth."""
import dataclasses
import fnmatch
import json
import os
import shlex
import subprocess

RIGHT, CAUSE_MISSING, NOT_PERFORMED = "right", "cause missing", "not performed"
FALSE_ALARM, WRONG_PASS, BROKEN = "false alarm", "wrong pass", "broken"
OUTCOMES = [RIGHT, CAUSE_MISSING, NOT_PERFORMED, FALSE_ALARM, WRONG_PASS, BROKEN]


@dataclasses.dataclass
class Plan:
    plan: dict
    files: dict  # path -> bytes; a path that ends in "/" is an empty folder
    folder: str = ""  # where it stands below its audit; "" for a name of its side and place


@dataclasses.dataclass
class Audit:
    baseline: list
    migrated: list
    by_server: bool = False  # judged by a server, from bundles (server_side.py)


@dataclasses.dataclass
class Cell:
    """One question: audits that are run, and what their reports must say."""

    dialect: str
    kind: str
    variant: str
    audits: object  # () -> [Audit]: made only where the cell is run
    judge: object  # [report] -> (outcome, why)

    @property
    def name(self):
        return f"{self.dialect}/{self.kind}" + (f":{self.variant}" if self.variant else "")


def write_plan(folder, plan):
    for path, content in plan.files.items():
        whole = os.path.join(os.fsencode(folder), os.fsencode(path))
        if whole.endswith(b"/"):
            os.makedirs(whole, exist_ok=True)
            continue
        os.makedirs(os.path.dirname(whole), exist_ok=True)
        with open(whole, "wb") as out:
            out.write(content)
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "plan.yaml"), "w", encoding="utf-8") as out:
        json.dump(plan.plan, out, indent=1)


def command(program, folder, audit):
    """Writes the audit's folders and gives the command line over them."""
    words = [program, "check"]
    for side in ("baseline", "migrated"):
        for number, plan in enumerate(getattr(audit, side)):
            place = os.path.join(folder, plan.folder or f"{side}-{number}")
            write_plan(place, plan)
            words += [f"--{side}", place]
    return words + ["-o", "json"]


def prepare(program, folder, audit):
    """The folders, and beside them the command, so that it can be given again."""
    words = command(program, folder, audit)
    with open(os.path.join(folder, "command"), "w", encoding="utf-8") as out:
        out.write(" ".join(map(shlex.quote, words)) + "\n")
    return words


def run(program, folder, audit):
    """(report, "") or (None, what went wrong)."""
    words = prepare(program, folder, audit)
    environment = dict(os.environ, HOME=folder, NO_COLOR="1", SOURCE_DATE_EPOCH="1700000000")
    try:
        done = subprocess.run(words, capture_output=True, timeout=120, env=environment, check=False)
    except subprocess.TimeoutExpired:
        return None, "no answer in 120 s"
    if done.returncode not in (0, 1):
        return None, f"exit {done.returncode}: {done.stderr.decode('utf-8', 'replace').strip()[-300:]}"
    try:
        return json.loads(done.stdout), ""
    except ValueError as error:
        return None, f"no JSON: {error}"


def checks(report):
    return {check["id"]: check for item in report["items"] for check in item["checks"]}


def errors(report):
    """(check, finding) of every error that is not waived."""
    return [
        (name, finding)
        for name, check in checks(report).items()
        for finding in check["findings"]
        if finding["severity"] == "error" and not finding.get("waived")
    ]


def told(name, finding):
    return f"{name} {finding['kind']} ({finding['subject']}): {finding['message']['en'][:160]}"


def judge_healthy(passes=(), may_fail=()):
    """Nothing is wrong: no error, and what must pass passes. may_fail: checks (globs) that compare the change."""

    def judge(reports):
        report = reports[0]
        for name, finding in errors(report):
            if not any(fnmatch.fnmatch(name, glob) for glob in may_fail):
                return FALSE_ALARM, told(name, finding)
        found = checks(report)
        for name in passes:
            if found[name]["verdict"] != "pass":
                return NOT_PERFORMED, f"{name}: " + "; ".join(m["what"]["en"][:160] for m in found[name]["missing"])
        return RIGHT, ""

    return judge


def judge_fault(expected, kinds):
    """The first of the expected checks must not pass; one of them must fail with one of the kinds."""

    def judge(reports):
        report = reports[0]
        found = checks(report)
        stated = [(n, f) for n, f in errors(report) if n in expected]
        if any(finding["kind"] in kinds for _, finding in stated):
            return RIGHT, ""
        if stated:
            return CAUSE_MISSING, told(*stated[0])
        if found[expected[0]]["verdict"] == "pass":
            notes = "; ".join(f["kind"] for f in found[expected[0]]["findings"])
            return WRONG_PASS, f"{expected[0]} passes ({notes})"
        missing = found[expected[0]]["missing"]
        if not missing:
            return BROKEN, f"{expected[0]} is not performed and misses nothing"
        return NOT_PERFORMED, f"{expected[0]}: {missing[0]['what']['en'][:200]}"

    return judge


def verdicts(report):
    return {
        name: (check["verdict"], sorted({f["kind"] for f in check["findings"] if f["severity"] == "error"}))
        for name, check in checks(report).items()
    }


def judge_same(lost_is=NOT_PERFORMED):
    """Two reports on the same truth: same verdicts, same kinds of errors."""

    def judge(reports):
        first, second = verdicts(reports[0]), verdicts(reports[1])
        for name, (verdict, kinds) in first.items():
            other, other_kinds = second[name]
            if (verdict, kinds) == (other, other_kinds):
                continue
            why = f"{name}: {verdict} {kinds} becomes {other} {other_kinds}"
            if other == "fail" and verdict != "fail":
                return FALSE_ALARM, why
            if other == "pass":
                return WRONG_PASS, why
            return (CAUSE_MISSING if other == "fail" else lost_is), why
        return RIGHT, ""

    return judge


def judge_less(gone):
    """The second audit lacks evidence that the first has: nothing that was not performed or failed passes now."""

    def judge(reports):
        first, second = verdicts(reports[0]), verdicts(reports[1])
        for name, (verdict, _) in second.items():
            if verdict == "pass" and first[name][0] != "pass":
                notes = [f["kind"] for f in checks(reports[1])[name]["findings"]]
                if "not_applicable" not in notes:
                    return WRONG_PASS, f"{name}: {first[name][0]} becomes pass without {gone}"
        return RIGHT, ""

    return judge


WORST_FIRST = [WRONG_PASS, BROKEN, FALSE_ALARM, CAUSE_MISSING, NOT_PERFORMED, RIGHT]


def judge_all(judges):
    """The worst of what several judges say."""

    def judge(reports):
        return min((one(reports) for one in judges), key=lambda said: WORST_FIRST.index(said[0]))

    return judge
