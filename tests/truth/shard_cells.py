"""Cells about shards: who reads which file, in the forms in which it is written down."""
import hashlib
import json

import audit

WORLD = 4
FILES = [f"part-{i:05d}.tfrecord" for i in range(24)]
FAULTS = {}
WRITERS = {}
COMPLETE, DISJOINT = "data.sharding.complete", "data.sharding.disjoint"
SAME, RULE = "data.sharding.same-assignment", "data.sharding.rule"


def dealt(world=WORLD):
    return [FILES[rank::world] for rank in range(world)]


def writer(name):
    def register(write):
        WRITERS[name] = write
        return write

    return register


@writer("lists")
def lists(ranks):
    return (
        {f"shards/rank_{r}.txt": "".join(f"/data/train/{n}\n" for n in names) for r, names in enumerate(ranks)},
        "shards/rank_{rank}.txt",
    )


@writer("numbers")
def numbers(ranks):
    return (
        {f"shards/rank_{r}.txt": "".join(f"{FILES.index(n)}\n" for n in names) for r, names in enumerate(ranks)},
        "shards/rank_{rank}.txt",
    )


@writer("json-lines")
def json_lines(ranks):
    return (
        {
            "lists.jsonl": "".join(
                json.dumps({"rank": r, "world_size": len(ranks), "files": names}) + "\n"
                for r, names in enumerate(ranks)
            )
        },
        "lists.jsonl",
    )


@writer("printed")
def printed(ranks):
    return (
        {f"logs/rank{r}.log": f"[rank{r}] INFO files: {names!r}\n" for r, names in enumerate(ranks)},
        "logs/rank{rank}.log",
    )


def shard_fault(name, checks, kinds, sides=("migrated", "baseline"), places=("first", "middle", "last"), listed=False):
    """listed: on both sides it shows only beside the list of what there is to read."""

    def register(put):
        FAULTS[name] = (put, checks, kinds, sides, places, listed)
        return put

    return register


def at(place, count):
    return {"first": 0, "middle": count // 2, "last": count - 1}[place]


@shard_fault("not_read", (COMPLETE,), ("not_read",), sides=("migrated", "baseline", "both"), listed=True)
def not_read(ranks, place):
    names = ranks[at(place, len(ranks))]
    del names[at(place, len(names))]


@shard_fault("read_twice", (DISJOINT,), ("read_twice",), sides=("migrated", "baseline", "both"))
def read_twice(ranks, place):
    """In place of one of its own a rank reads one of its neighbour's: no padding by wrap-around looks like this."""
    rank = at(place, len(ranks))
    other = ranks[(rank + 1) % len(ranks)]
    ranks[rank].insert(1, other[2])


@shard_fault(
    "not_sharded", (DISJOINT,), ("not_sharded", "read_twice"), sides=("migrated", "baseline", "both"), places=("first",)
)
def not_sharded(ranks, _):
    ranks[:] = [list(FILES) for _ in ranks]


@shard_fault("order_differs", (SAME, RULE), ("assignment_differs", "order_rule_differs"))
def order_differs(ranks, place):
    ranks[at(place, len(ranks))].reverse()


@shard_fault("two_exchanged", (SAME, RULE), ("assignment_differs", "order_rule_differs"))
def two_exchanged(ranks, place):
    names = ranks[at(place, len(ranks))]
    names[1], names[2] = names[2], names[1]


@shard_fault("ranks_exchanged", (SAME,), ("ranks_exchanged", "assignment_differs"), places=("first",))
def ranks_exchanged(ranks, _):
    ranks[0], ranks[1] = ranks[1], ranks[0]


@shard_fault("block_for_stride", (SAME, RULE), ("assignment_differs", "split_rule_differs"), places=("first",))
def block_for_stride(ranks, _):
    size = len(FILES) // len(ranks)
    ranks[:] = [FILES[r * size : (r + 1) * size] for r in range(len(ranks))]


@shard_fault("shuffled", (SAME, RULE), ("assignment_differs", "order_rule_differs"), places=("first",))
def shuffled(ranks, _):
    order = sorted(FILES, key=lambda n: hashlib.sha256(n.encode()).digest())
    ranks[:] = [order[r :: len(ranks)] for r in range(len(ranks))]


def side_plan(side, form, ranks, listed, change=None):
    texts, pattern = WRITERS[form](ranks)
    files = {name: (change(text) if change else text).encode() for name, text in texts.items()}
    plan = {
        "run": side,
        "node": f"{side}-node",
        "world_size": len(ranks),
        "shards": [{"list": pattern, "dataset": "train"}],
    }
    if listed:
        files["train.md5"] = "".join(f"{hashlib.md5(n.encode()).hexdigest()}  {n}\n" for n in FILES).encode()
        plan["datasets"] = [{"name": "train", "manifest": "train.md5"}]
    return audit.Plan(plan, files)


def pair(form, fault=None, side=None, place=None, listed=False, change=None):
    sides = {}
    for name in ("baseline", "migrated"):
        ranks = dealt()
        if fault and side in (name, "both"):
            fault[0](ranks, place)
        sides[name] = [side_plan(name, form, ranks, listed, change if name == "migrated" else None)]
    return audit.Audit(**sides)


def other_world(form):
    return audit.Audit([side_plan("baseline", form, dealt(4), False)], [side_plan("migrated", form, dealt(8), False)])


def one_rank_silent(form):
    result = pair(form)
    name = sorted(n for n in result.migrated[0].files)[-1]
    content = result.migrated[0].files.pop(name)
    if form == "json-lines":
        result.migrated[0].files[name] = b"".join(content.splitlines(keepends=True)[:-1])
    return result


FORMS = {
    "crlf": lambda text: text.replace("\n", "\r\n"),
    "bom": lambda text: "\ufeff" + text,
    "moved_root": lambda text: text.replace("/data/train/", "/mnt/other/train/"),
    "blank_at_end": lambda text: text + "\n",
}


def cells(_):
    whole = ("data.sharding.ranks", COMPLETE, DISJOINT, SAME)
    for form in WRITERS:
        dialect = f"shards/{form}"
        yield audit.Cell(dialect, "healthy", "", lambda a=form: [pair(a)], audit.judge_healthy(whole))
        if form != "numbers":
            yield audit.Cell(
                dialect, "healthy", "listed", lambda a=form: [pair(a, listed=True)], audit.judge_healthy(whole)
            )
        yield audit.Cell(dialect, "world_size", "", lambda a=form: [other_world(a)], audit.judge_healthy())
        yield audit.Cell(dialect, "rank_silent", "", lambda a=form: [one_rank_silent(a)], silent)
        for name, change in FORMS.items():
            yield audit.Cell(
                dialect, "form", name, lambda a=(form, change): [pair(a[0], change=a[1])], audit.judge_healthy(whole)
            )
        for name, (put, checks, kinds, sides, places, listed) in FAULTS.items():
            fault = (put,)
            for side in sides:
                if side == "both" and listed and form == "numbers":
                    continue
                for place in places if side == "migrated" else places[-1:]:
                    with_list = side == "both" and listed
                    yield audit.Cell(
                        dialect,
                        name,
                        f"{place},{side}",
                        lambda a=(form, fault, side, place, with_list): [pair(*a)],
                        audit.judge_fault(checks, kinds),
                    )


def silent(reports):
    found = audit.checks(reports[0])
    for name in ("data.sharding.ranks", COMPLETE, DISJOINT, SAME):
        if found[name]["verdict"] == "pass":
            return audit.WRONG_PASS, f"{name} passes without a rank's list"
    for name, finding in audit.errors(reports[0]):
        # That a file is not read may be said only when everybody has spoken.
        return audit.FALSE_ALARM, audit.told(name, finding)
    return audit.RIGHT, ""
