"""What the documents show is what the programs do.

samples: the first answer of the READMEs, line by line; a line "…" stands for what is left out.
walk: docs/getting-started.md, followed from its first command on; what stands below a command is what it prints.
commands: every command that any page names exists, with every option that it is shown with.
formats: every output format and every format of checkpoints stands where the documents list them.
pages: README.md and docs/index.zh.md lead to every page.
"""
import functools
import pathlib
import re
import subprocess
import sys
import tempfile

BUILD = pathlib.Path(sys.argv[1]).resolve()
ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLE = ["check", *(word for seed in (1, 2, 3) for word in ("--baseline", f"deploy/example/gpu/seed{seed}")),
           "--migrated", "deploy/example/npu"]
PAGES = [ROOT / "README.md", ROOT / "README.zh.md", *sorted((ROOT / "docs").glob("*.md"))]


def text_of(page):
    return page.read_text(encoding="utf-8")


def printed(words, folder):
    done = subprocess.run([BUILD / "paritect", *words, "--color", "never"], cwd=folder, capture_output=True, text=True,
                          timeout=120, env={"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "COLUMNS": "120"})
    assert done.returncode in (0, 1), done.stderr
    return done.stdout.splitlines()


def holds(page, sample, output):
    """Each line of the sample stands in the output; without "…" between two of them, at once after the one before."""
    at, free = 0, True
    for line in sample:
        if line == "…":
            free = True
            continue
        if free:
            while at < len(output) and output[at] != line:
                at += 1
        if at >= len(output) or output[at] != line:
            sys.exit(f"{page.name} has\n  {line}\nwhere the program prints\n  "
                     f"{output[at] if at < len(output) else 'nothing'}")
        at, free = at + 1, False


def blocks(page):
    return [block.splitlines() for block in re.findall(r"^```\w*\n(.*?)^```$", text_of(page), re.MULTILINE | re.DOTALL)]


def samples():
    found = 0
    for page in (ROOT / "README.md", ROOT / "README.zh.md"):
        for block in blocks(page):
            start = next((i for i, line in enumerate(block) if line.startswith(("FAIL:", "不通过："))), None)
            if start is None:
                continue
            language = "zh" if block[start].startswith("不通过") else "en"
            holds(page, block[start:], printed([*EXAMPLE, "--lang", language], ROOT))
            found += 1
    assert found == 2, found


def walk():
    page = ROOT / "docs" / "getting-started.md"
    made, *rest = blocks(page)
    followed = 0
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["sh", "-e", "-c", "\n".join(made)], cwd=folder, check=True, timeout=60)
        for block in rest:
            if block[0].startswith("$ paritect "):
                holds(page, block[1:], printed(block[0].split()[2:], folder))
                followed += 1
    assert followed == 2, followed


def pages():
    for index, below in ((ROOT / "README.md", "docs/"), (ROOT / "docs" / "index.zh.md", "")):
        lost = [page.name for page in sorted((ROOT / "docs").glob("*.md"))
                if page != index and f"({below}{page.name})" not in text_of(index)]
        assert not lost, f"{index.name} does not lead to {lost}"


@functools.lru_cache(maxsize=None)
def usage(program, *verbs):
    done = subprocess.run([BUILD / program, *verbs, "--help"], capture_output=True, text=True, timeout=60)
    return done.stdout if done.returncode == 0 else None


def commands():
    shown = 0
    for page in PAGES:
        outside = re.sub(r"^```\w*\n.*?^```$", "", text_of(page), flags=re.MULTILINE | re.DOTALL)
        lines = "\n".join("\n".join(block) for block in blocks(page)).replace("\\\n", " ").split("\n")
        lines += [" ".join(words.split()) for words in re.findall(r"`(paritect(?:-agent|-server)? [^`]*)`", outside)]
        for line in lines:
            found = re.match(r"(?:\$ )?(?:sudo )?(?:build/release/)?(paritect(?:-agent|-server)?) ([a-z-]+)(.*)",
                             line.strip())
            if found is None:
                continue
            program, verb, rest = found.groups()
            rest = rest.split("#")[0].split(" -- ")[0]
            # A second word may be a verb of the command (`audit run`) or a name (`why CHECK`).
            second = re.match(r" ([a-z]+)\b", rest)
            told = (second and usage(program, verb, second[1])) or usage(program, verb)
            assert told is not None, f"{page.name}: {line}: there is no such command"
            told += usage(program)  # what all commands take
            for option in re.findall(r"(?<=[\s(\[])--[a-z][a-z-]*", rest):
                assert re.search(re.escape(option) + r"(?![a-z-])", told), f"{page.name}: {line}: it has no {option}"
            shown += 1
    assert shown > 200, shown


def formats():
    written = re.search(r"--output .*?\(default: table\): (.*)", usage("paritect", "check"))[1].split(", ")
    assert len(written) >= 9, written
    for page, form in (("README.md", "{}"), ("README.zh.md", "{}"), ("docs/report.md", "| `{}` |")):
        listed = re.search(r"^- (?:Output formats: |输出格式：)(.*)[.。]$", text_of(ROOT / page), re.MULTILINE)
        for name in written:
            found = re.search(rf"\b{name}\b", listed[1]) if listed else form.format(name) in text_of(ROOT / page)
            assert found, f"{page} does not list the output format {name}"
    table = text_of(ROOT / "docs" / "weights.md").split("## Formats")[1].split("\n## ")[0]
    names = "".join(row.split("|")[1] for row in table.splitlines() if row.startswith("| `"))
    listed = set(re.findall(r"`([a-z0-9-]+)`", names))
    read = set()
    for source in sorted((ROOT / "formats" / "weights").glob("*.cc")):
        read |= set(re.findall(r"Weights = \{\"([a-z0-9-]+)\"", text_of(source)))
    assert len(read) >= 13 and read == listed, f"docs/weights.md lists {sorted(listed)}, the readers are {sorted(read)}"


samples()
walk()
formats()
pages()
commands()
