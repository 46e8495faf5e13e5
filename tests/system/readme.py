"""The samples in the READMEs are what the program prints: each line, in order; a line "…" stands for what is left out.

Also: every page of docs/ can be reached from README.md, and every command shown exists.
"""
import pathlib
import re
import subprocess
import sys

BUILD = pathlib.Path(sys.argv[1])
ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLE = ["check", *(word for seed in (1, 2, 3) for word in ("--baseline", f"deploy/example/gpu/seed{seed}")),
           "--migrated", "deploy/example/npu", "--color", "never"]


def printed(*words):
    done = subprocess.run([BUILD / "paritect", *EXAMPLE, *words], cwd=ROOT, capture_output=True, text=True, timeout=120,
                          env={"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "COLUMNS": "120"})
    assert done.returncode == 1, done.stderr
    return done.stdout.splitlines()


def holds(sample, output):
    """Each line of the sample stands in the output; without "…" between two of them, at once after the one before."""
    at, free = 0, False
    for line in sample:
        if line == "…":
            free = True
            continue
        if free:
            while at < len(output) and output[at] != line:
                at += 1
        if at >= len(output) or output[at] != line:
            sys.exit(f"the sample has\n  {line}\nwhere the program prints\n  {output[at] if at < len(output) else 'nothing'}")
        at, free = at + 1, False


def blocks(page):
    return [block.splitlines() for block in re.findall(r"^```\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)]


def samples():
    found = 0
    for name in ("README.md", "README.zh.md"):
        for block in blocks((ROOT / name).read_text(encoding="utf-8")):
            answers = ("FAIL:", "不通过：")
            start = next((i for i, line in enumerate(block) if line.startswith(answers)), None)
            if start is None:
                continue
            words = ["--lang", "zh"] if block[start].startswith("不通过") else ["--lang", "en"]
            if start == 0:  # the sample of one item, printed without its command
                words += ["--item", "data.dataset"]
            holds(block[start:], printed(*words))
            found += 1
    assert found == 2, found


def pages():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    lost = [page.name for page in sorted((ROOT / "docs").glob("*.md")) if f"(docs/{page.name})" not in readme]
    assert not lost, f"README.md does not lead to {lost}"


def commands():
    for name in ("README.md", "README.zh.md"):
        text = "\n".join(line for block in blocks((ROOT / name).read_text(encoding="utf-8")) for line in block)
        text = text.replace("\\\n", " ")
        shown = re.findall(r"^(?:\$ build/release/)?paritect ([a-z]+)(.*)$", text, re.MULTILINE)
        assert len(shown) >= 10, shown
        for verb, rest in shown:
            verbs = [verb, rest.split()[0]] if verb in ("audit", "plan") else [verb]
            usage = subprocess.run([BUILD / "paritect", *verbs, "--help"], capture_output=True, text=True, timeout=60)
            assert usage.returncode == 0, f"{name}: {verb}: {usage.stderr}"
            for option in re.findall(r"(?<=\s)--[a-z][a-z-]*", rest.split("#")[0].split(" -- ")[0]):
                assert option in usage.stdout, f"{name}: paritect {verb} has no {option}"


samples()
pages()
commands()
