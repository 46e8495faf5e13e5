"""Outcomes by kind and dialect, what is known of them, and the page that shows them."""
import collections
import json
import os

import audit

KNOWN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "known.json")
BEGIN, END = "<!-- figures: begin -->", "<!-- figures: end -->"
LETTER = {
    audit.RIGHT: ".",
    audit.NOT_PERFORMED: "n",
    audit.CAUSE_MISSING: "c",
    audit.FALSE_ALARM: "F",
    audit.WRONG_PASS: "W",
    audit.BROKEN: "B",
}


def needs_reason(outcome):
    """Whatever is not right is mended, or known with its reason: a fault that is not performed as well."""
    return outcome != audit.RIGHT


def load_known(path=KNOWN):
    with open(path, encoding="utf-8") as source:
        entries = json.load(source)
    known = {}
    for entry in entries:
        if set(entry) != {"kind", "dialect", "variant", "outcome", "reason"} or not entry["reason"].strip():
            raise ValueError(f"{path}: an entry needs kind, dialect, variant, outcome and a reason: {entry}")
        for dialect in entry["dialect"].split():
            for variant in entry["variant"].split():
                key = (entry["kind"], dialect, "" if variant == "-" else variant)
                if key in known:
                    raise ValueError(f"{path}: {key} stands twice")
                known[key] = (entry["outcome"], entry["reason"])
    return known


def key_of(cell):
    return cell.kind, cell.dialect, cell.variant


def surprises(results, known, whole):
    """(new, gone): outcomes that are not right and that nobody knew of, and known ones that are not there any more."""
    new, gone = [], []
    run = set()
    for cell, outcome, why in results:
        run.add(key_of(cell))
        expected = known.get(key_of(cell), (None, ""))[0]
        if needs_reason(outcome) and outcome != expected:
            new.append((cell, outcome, why))
        if expected is not None and outcome != expected:
            gone.append((f"{cell.name}: {expected}", f"now {outcome}"))
    if whole:
        gone += [
            (f"{d}/{k}" + (f":{v}" if v else ""), "there is no such cell") for k, d, v in known if (k, d, v) not in run
        ]
    return new, gone


UNREAD = "not yet looked at"


def learn(results, known, whole, path=KNOWN):
    """Writes what is wrong now; what was known keeps its reason, and what was not run stays unless all was."""
    entries = {} if whole else dict(known)
    for cell, outcome, _ in results:
        before = known.get(key_of(cell))
        entries.pop(key_of(cell), None)
        if needs_reason(outcome):
            entries[key_of(cell)] = before if before and before[0] == outcome else (outcome, UNREAD)
    # One entry for the dialects and variants of a kind that share outcome and reason.
    variants = collections.defaultdict(list)
    for (kind, dialect, variant), (outcome, reason) in entries.items():
        variants[kind, dialect, outcome, reason].append(variant or "-")
    groups = collections.defaultdict(list)
    for (kind, dialect, outcome, reason), names in variants.items():
        groups[kind, " ".join(sorted(names)), outcome, reason].append(dialect)
    written = [
        {"kind": kind, "dialect": " ".join(sorted(dialects)), "variant": names, "outcome": outcome, "reason": reason}
        for (kind, names, outcome, reason), dialects in sorted(groups.items())
    ]
    with open(path, "w", encoding="utf-8") as out:
        out.write("[" + ",".join("\n " + json.dumps(entry, ensure_ascii=False) for entry in written) + "\n]\n")


def counted(results):
    by_kind = collections.defaultdict(collections.Counter)
    for cell, outcome, _ in results:
        by_kind[cell.kind][outcome] += 1
    return by_kind


def summary(results):
    """Lines of a table kind x outcome."""
    by_kind = counted(results)
    head = "| kind | " + " | ".join(audit.OUTCOMES) + " |"
    lines = [head, "|---|" + "---|" * len(audit.OUTCOMES)]
    total = collections.Counter()
    for kind in by_kind:
        total.update(by_kind[kind])
        lines.append(f"| {kind} | " + " | ".join(str(by_kind[kind][o] or "") for o in audit.OUTCOMES) + " |")
    return lines + ["| **all** | " + " | ".join(f"**{total[o]}**" for o in audit.OUTCOMES) + " |"]


def worst(outcomes):
    return min(outcomes, key=audit.WORST_FIRST.index)


def matrix(results):
    """Lines of one table a concern: a row a kind, a column a dialect, the worst outcome and how often."""
    cells = collections.defaultdict(list)
    for cell, outcome, _ in results:
        cells[cell.kind, cell.dialect].append(outcome)
    groups = collections.defaultdict(list)  # dialects that share their kinds stand in one table
    for dialect in dict.fromkeys(d for _, d in cells):
        groups[dialect.split("/")[0] if "/" in dialect else "logs"].append(dialect)
    lines = []
    for group, dialects in groups.items():
        kinds = list(dict.fromkeys(k for k, d in cells if d in dialects))
        lines += [
            "",
            f"### {group}",
            "",
            "| dialect | " + " | ".join(f"{i}" for i in range(1, len(kinds) + 1)) + " |",
            "|---|" + "---|" * len(kinds),
        ]
        for dialect in dialects:
            row = []
            for kind in kinds:
                outcomes = cells.get((kind, dialect))
                bad = worst(outcomes) if outcomes else None
                count = sum(o == bad for o in outcomes) if outcomes else 0
                row.append("" if bad is None else LETTER[bad] + (str(count) if bad != audit.RIGHT else ""))
            lines.append(f"| {dialect} | " + " | ".join(row) + " |")
        lines += ["", "Columns: " + ", ".join(f"{i} {kind}" for i, kind in enumerate(kinds, 1)) + "."]
    return lines


def listing(results, known):
    by_reason = collections.defaultdict(list)
    for cell, outcome, _ in results:
        if needs_reason(outcome):
            reason = known.get(key_of(cell), (None, UNREAD))[1]
            by_reason[outcome, cell.kind, reason].append(
                f"{cell.dialect}" + (f" ({cell.variant})" if cell.variant else "")
            )
    lines = ["| outcome | kind | where | reason |", "|---|---|---|---|"]
    for (outcome, kind, reason), where in sorted(
        by_reason.items(), key=lambda item: audit.WORST_FIRST.index(item[0][0])
    ):
        lines.append(f"| {outcome} | {kind} | {', '.join(where)} | {reason} |")
    return lines if by_reason else ["None."]


def page(text, results, known, seed):
    """The page with its figures renewed."""
    if BEGIN not in text or END not in text:
        raise ValueError(f"the page has no {BEGIN} … {END}")
    figures = [
        f"{len(results)} cells, seed {seed}.",
        "",
        *summary(results),
        *matrix(results),
        "",
        "### What is not right, and why",
        "",
        *listing(results, known),
    ]
    return text[: text.index(BEGIN)] + BEGIN + "\n" + "\n".join(figures) + "\n" + text[text.index(END) :]
