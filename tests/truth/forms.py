"""Changes of form: the same log as other tools save, wrap or spell it. Each must give the same verdicts and kinds."""
import gzip
import re

FORMS = {}


def form(name, of=("lines",)):
    """of: the forms of dialect that may stand so (a JSON document has no prefix before its lines)."""

    def register(change):
        FORMS[name] = (change, of)
        return change

    return register


EVERY = ("lines", "jsonl", "csv", "json", "columns")


def lines_of(text):
    return text.split("\n")[:-1] if text.endswith("\n") else text.split("\n")


def with_prefix(text, prefix):
    return "".join(f"{prefix(i)}{line}\n" for i, line in enumerate(lines_of(text)))


@form("crlf", EVERY)
def crlf(name, text):
    return {name: text.replace("\n", "\r\n").encode()}


@form("bom", EVERY)
def bom(name, text):
    return {name: b"\xef\xbb\xbf" + text.encode()}


@form("utf16", EVERY)
def utf16(name, text):
    return {name: b"\xff\xfe" + text.replace("\n", "\r\n").encode("utf-16-le")}


@form("gz", EVERY)
def gz(name, text):
    return {name + ".gz": gzip.compress(text.encode(), mtime=0)}


@form("renamed", EVERY)
def renamed(name, text):
    return {"Auftrag 7 – 副本." + name.rsplit(".", 1)[1]: text.encode()}


@form("ansi")
def ansi(name, text):
    return {name: "".join(f"\x1b[32m{line}\x1b[0m\n" for line in lines_of(text)).encode()}


@form("rotated", ("lines", "jsonl"))
def rotated(name, text):
    lines = lines_of(text)
    cuts = [0, len(lines) // 3, 2 * len(lines) // 3, len(lines)]
    parts = ["".join(f"{line}\n" for line in lines[a:b]) for a, b in zip(cuts, cuts[1:])]
    return {
        name + ".2.gz": gzip.compress(parts[0].encode(), mtime=0),
        name + ".1": parts[1].encode(),
        name: parts[2].encode(),
    }


@form("rank_torchrun")
def rank_torchrun(name, text):
    return {name: with_prefix(text, lambda i: "[default0]:").encode()}


@form("rank_word")
def rank_word(name, text):
    return {name: with_prefix(text, lambda i: "[rank0]: ").encode()}


@form("rank_mpirun")
def rank_mpirun(name, text):
    return {name: with_prefix(text, lambda i: "[1,0]<stdout>:").encode()}


@form("rank_srun")
def rank_srun(name, text):
    return {name: with_prefix(text, lambda i: "0: ").encode()}


@form("node_prefix")
def node_prefix(name, text):
    return {name: with_prefix(text, lambda i: "worker-0: ").encode()}


@form("container_time")
def container_time(name, text):
    return {name: with_prefix(text, lambda i: f"2026-01-01T00:{i // 60 % 60:02d}:{i % 60:02d}.123456789Z ").encode()}


@form("progress_bars")
def progress_bars(name, text):
    return {
        name: "".join(
            f"\rLoading data:  {i % 100}%|###       | {i}/9999 [00:01<00:02, 12.1it/s]\r{line}\n"
            for i, line in enumerate(lines_of(text))
        ).encode()
    }


@form("noise_between")
def noise_between(name, text):
    noise = [
        "/opt/lib/python3.9/site-packages/torch/utils/x.py:31: UserWarning: 1 step of 2 is slow\n",
        "[W socket.cpp:464] [c10d] retrying in 3 s\n",
        "\n",
    ]
    return {
        name: "".join(f"{line}\n{noise[i % 3] if i % 7 == 3 else ''}" for i, line in enumerate(lines_of(text))).encode()
    }


@form("number_spelling", EVERY)
def number_spelling(name, text):
    """1e-05 and 1.0E-05 are one number."""

    def respell(match):
        mantissa, exponent = match.group(1), int(match.group(2))
        return f"{mantissa if '.' in mantissa else mantissa + '.0'}E{exponent:+03d}"

    return {name: re.sub(r"(?<![\w.])(\d+(?:\.\d+)?)[eE]([+-]\d+)(?![\w.])", respell, text).encode()}


@form("open_tail", ("lines", "jsonl"))
def open_tail(name, text):
    """The log was copied while it was being written: its last line is cut."""
    lines = lines_of(text)
    return {name: ("".join(f"{line}\n" for line in lines) + lines[-1][: len(lines[-1]) // 3]).encode()}


@form("trailing_traceback")
def trailing_traceback(name, text):
    return {
        name: (
            text + "Exception ignored in: <function _MultiProcessingDataLoaderIter.__del__ at 0x7f>\n"
            'Traceback (most recent call last):\n  File "x.py", line 1, in __del__\n'
            "AttributeError: 'NoneType' object has no attribute 'poll'\n"
        ).encode()
    }
