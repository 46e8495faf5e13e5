"""Cells about data sets: folders and the lists people have of them, with every way a copy goes wrong."""
import gzip
import hashlib
import json

import audit

FORMATS = {}
FAULTS = {}
LIST_FORMS = {}
LFS = b"version https://git-lfs.github.com/spec/v1\noid sha256:%s\nsize 4096\n"
HTML = b"<!DOCTYPE html>\n<html><head><title>403 Forbidden</title></head><body><h1>Sign in</h1></body></html>\n"
FILES = ("data.dataset.files",)
CONTENT = ("data.dataset.content",)


def dataset(seed):
    """Twelve files in two folders; every third is text."""
    files = {}
    for i in range(12):
        noise = b"".join(hashlib.sha256(f"{seed} {i} {j}".encode()).digest() for j in range(64))
        if i % 3 == 0:
            files[f"a/part-{i:05d}.txt"] = b"".join(
                b"line %d of %s\n" % (j, noise[:8].hex().encode()) for j in range(60)
            )
        else:
            files[f"{'ab'[i % 2]}/part-{i:05d}.bin"] = noise
    return dict(sorted(files.items()))


def md5(content):
    return hashlib.md5(content).hexdigest()


def list_format(name):
    """A function files -> text of the list; or, for the tree, nothing."""

    def register(write):
        FORMATS[name] = write
        return write

    return register


@list_format("md5sum")
def md5sum(files):
    return "".join(f"{md5(c)}  {n}\n" for n, c in files.items())


@list_format("bsd")
def bsd(files):
    return "".join(f"MD5 ({n}) = {md5(c)}\n" for n, c in files.items())


@list_format("hashdeep")
def hashdeep(files):
    head = "%%%% HASHDEEP-1.0\n%%%% size,md5,sha256,filename\n## Invoked from: /data\n## $ hashdeep -r .\n##\n"
    return head + "".join(f"{len(c)},{md5(c)},{hashlib.sha256(c).hexdigest()},./{n}\n" for n, c in files.items())


@list_format("csv")
def csv(files):
    return "path,size,md5\n" + "".join(f"{n},{len(c)},{md5(c)}\n" for n, c in files.items())


@list_format("csv-chinese")
def csv_chinese(files):
    return "文件名,大小,MD5值\n" + "".join(f"{n},{len(c)},{md5(c)}\n" for n, c in files.items())


@list_format("json")
def json_list(files):
    return json.dumps({"files": [{"path": n, "size": len(c), "md5": md5(c)} for n, c in files.items()]}, indent=1)


@list_format("jsonl")
def json_lines(files):
    return "".join(json.dumps({"path": n, "size": len(c), "md5": md5(c)}) + "\n" for n, c in files.items())


@list_format("mtree")
def mtree(files):
    return "#mtree\n" + "".join(f"./{n} type=file size={len(c)} md5digest={md5(c)}\n" for n, c in files.items())


@list_format("get-filehash")
def get_filehash(files):
    rows = ['"Algorithm","Hash","Path"']
    rows += [f"\"MD5\",\"{md5(c).upper()}\",\"D:\\data\\{n.replace('/', chr(92))}\"" for n, c in files.items()]
    return "\r\n".join(rows) + "\r\n"


@list_format("rclone-lsf")
def rclone(files):
    return "".join(f"{md5(c)};{n}\n" for n, c in files.items())


def list_form(name):
    def register(change):
        LIST_FORMS[name] = change
        return change

    return register


def each_line(text, change):
    return "".join(change(line) + "\n" for line in text.splitlines())


list_form("crlf")(lambda name, text: {name: text.replace("\n", "\r\n").encode()})
list_form("bom")(lambda name, text: {name: b"\xef\xbb\xbf" + text.encode()})
list_form("utf16")(lambda name, text: {name: b"\xff\xfe" + text.replace("\n", "\r\n").encode("utf-16-le")})
list_form("gz")(lambda name, text: {name + ".gz": gzip.compress(text.encode(), mtime=0)})
list_form("dot_slash")(lambda name, text: {name: text.replace("  ", "  ./").encode()})
list_form("moved_root")(lambda name, text: {name: text.replace("  ", "  /mnt/other/data/").encode()})
list_form("binary_mark")(lambda name, text: {name: text.replace("  ", " *").encode()})
list_form("upper_digest")(
    lambda name, text: {name: each_line(text, lambda line: line[:32].upper() + line[32:]).encode()}
)
list_form("backslashes")(lambda name, text: {name: text.replace("/", "\\").encode()})
list_form("other_order")(
    lambda name, text: {name: "".join(sorted((line + "\n" for line in text.splitlines()), reverse=True)).encode()}
)
list_form("comments")(lambda name, text: {name: ("# made by hand\n\n" + text).encode()})
list_form("names_itself")(lambda name, text: {name: (text + f"{'0' * 32}  {name}\n").encode()})


def pick(names, place):
    return names[{"first": 0, "middle": len(names) // 2, "last": len(names) - 1}[place]]


def data_fault(name, checks, kinds, tree_kinds=None, sides=("migrated", "baseline"), text_only=False, tree_only=False):
    """kinds: what a list can tell; tree_kinds: what the files themselves tell."""

    def register(put):
        FAULTS[name] = (put, checks, kinds, tree_kinds or kinds, sides, text_only, tree_only)
        return put

    return register


@data_fault("content_differs", CONTENT, ("content_differs",))
def content_differs(files, name):
    files[name] = files[name][:-1] + bytes([files[name][-1] ^ 1])


@data_fault("missing", FILES, ("missing", "extra"))
def missing(files, name):
    del files[name]


@data_fault("extra", FILES, ("extra", "missing"))
def extra(files, name):
    files[name + ".more.bin"] = b"more than the other side has"


@data_fault("truncated", CONTENT, ("content_differs", "truncated"), ("truncated", "content_differs"))
def truncated(files, name):
    files[name] = files[name][: len(files[name]) * 2 // 3]


@data_fault("empty_file", CONTENT, ("empty_file", "content_differs"), ("empty_file",))
def empty_file(files, name):
    files[name] = b""


@data_fault("lfs_pointer", CONTENT, ("content_differs",), ("lfs_pointer",), sides=("migrated", "baseline", "both"))
def lfs_pointer(files, name):
    files[name] = LFS % hashlib.sha256(files[name]).hexdigest().encode()


@data_fault("html_page", CONTENT, ("content_differs",), ("html_page",), sides=("migrated", "baseline", "both"))
def html_page(files, name):
    files[name] = HTML


@data_fault("line_ends", CONTENT, ("content_differs",), ("line_ends",), text_only=True)
def line_ends(files, name):
    files[name] = files[name].replace(b"\n", b"\r\n")


@data_fault("bom", CONTENT, ("content_differs",), ("bom", "line_ends"), text_only=True)
def bom(files, name):
    files[name] = b"\xef\xbb\xbf" + files[name]


@data_fault("lines_reordered", CONTENT, ("content_differs",), ("lines_reordered",), text_only=True)
def lines_reordered(files, name):
    files[name] = b"".join(reversed(files[name].splitlines(keepends=True)))


@data_fault("zero_tail", CONTENT, ("content_differs",))
def zero_tail(files, name):
    files[name] = files[name][:1000] + bytes(len(files[name]) - 1000)


@data_fault("contents_exchanged", CONTENT + FILES, ("content_differs", "moved", "renamed", "case_collision"))
def contents_exchanged(files, name):
    other = next(n for n in files if n != name and n.endswith(name[-4:]))
    files[name], files[other] = files[other], files[name]


@data_fault(
    "empty_class_folder", FILES, ("class_folders_differ", "missing", "extra", "empty_folders_differ"), tree_only=True
)
def empty_class_folder(files, name):
    files["class-of-nothing/"] = b""


def side_plan(side, form, files, text_change=None):
    entry = {"name": "train"}
    if form == "tree":
        entry["root"] = "data"
        written = {f"data/{n}": c for n, c in files.items()}
    else:
        text = FORMATS[form]({n: c for n, c in files.items() if not n.endswith("/")})
        name = {
            "json": "list.json",
            "csv": "list.csv",
            "csv-chinese": "list.csv",
            "get-filehash": "list.csv",
            "jsonl": "list.jsonl",
        }.get(form, "list.md5")
        written = text_change(name, text) if text_change else {name: text.encode()}
        entry["manifest"] = next(iter(written))
    return audit.Plan({"run": side, "node": f"{side}-node", "datasets": [entry]}, written)


def pair(forms, seed, fault=None, side=None, place=None, text_change=None):
    sides = {}
    for name, form in zip(("baseline", "migrated"), forms):
        files = dataset(seed)
        if fault and side in (name, "both"):
            end = ".txt" if fault[5] else ".bin"
            fault[0](files, pick([n for n in files if n.endswith(end)], place))
        sides[name] = [side_plan(name, form, dict(sorted(files.items())), text_change if name == "migrated" else None)]
    return audit.Audit(**sides)


def dialects():
    yield "data/tree", ("tree", "tree")
    for form in FORMATS:
        yield f"data/{form}", (form, form)
    for form in ("md5sum", "hashdeep", "csv"):
        yield f"data/tree-{form}", ("tree", form)
        yield f"data/{form}-tree", (form, "tree")


def cut(name, text):
    return {name: text.encode()[: len(text) // 2 + 20]}


def cells(seed):
    both = FILES + CONTENT
    for dialect, forms in dialects():
        yield audit.Cell(dialect, "healthy", "", lambda a=(forms, seed): [pair(*a)], audit.judge_healthy(both))
        for name, fault in FAULTS.items():
            _, checks, kinds, tree_kinds, sides, _, tree_only = fault
            trees = forms == ("tree", "tree")
            if tree_only and not trees:
                continue
            for side in sides if trees else sides[:2]:
                for place in ("first", "middle", "last") if side == "migrated" else ("middle",):
                    # That the baseline is the one that is damaged may be told by the general kind.
                    told = tree_kinds if trees and side != "baseline" else kinds + tree_kinds
                    yield audit.Cell(
                        dialect,
                        name,
                        f"{place},{side}",
                        lambda a=(forms, seed, fault, side, place): [pair(*a)],
                        audit.judge_fault(checks, told),
                    )
    for form, change in LIST_FORMS.items():
        yield audit.Cell(
            "data/md5sum",
            "form",
            form,
            lambda a=change: [pair(("md5sum", "md5sum"), seed, text_change=a)],
            audit.judge_healthy(both),
        )
        yield audit.Cell(
            "data/md5sum",
            "form",
            f"{form},content_differs",
            lambda a=change: [pair(("md5sum", "md5sum"), seed, FAULTS["content_differs"], "migrated", "middle", a)],
            audit.judge_fault(CONTENT, ("content_differs",)),
        )
    for form in FORMATS:
        yield audit.Cell(
            f"data/{form}",
            "list_is_cut",
            "",
            lambda a=form: [pair((a, a), seed, text_change=cut)],
            lambda reports: not_passed(reports[0], both),
        )


def not_passed(report, names):
    for name in names:
        check = audit.checks(report)[name]
        if check["verdict"] == "pass":
            return audit.WRONG_PASS, f"{name} passes on half a list"
        if check["verdict"] == "fail":
            return audit.FALSE_ALARM, audit.told(name, check["findings"][0])
    return audit.RIGHT, ""
