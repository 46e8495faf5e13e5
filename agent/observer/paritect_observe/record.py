"""The file of this process: one JSON object a line, each by one write."""
import fcntl
import json
import os
import time

BYTES_MAX = 64 << 20
LINE_BYTES_MAX = 1 << 20
END_KEPT = 64 << 10  # for `full` and `end`
REFUSALS_MAX = 20
DESCRIPTOR_MIN = 700  # out of the way of programs that count on low numbers

writer = None  # of this process; None: nothing is recorded


def process_start(pid="self"):
    """Field 22 of /proc/PID/stat: with host and pid the name of a process. 0: not known."""
    try:
        with open("/proc/%s/stat" % pid, "rb") as stat:
            return int(stat.read().rpartition(b")")[2].split()[19])
    except (OSError, ValueError, IndexError):
        return 0


def write(kind, **fields):
    if writer is not None:
        writer.write(kind, fields)


_bounded = set()


def bounded(what, most):
    """Told once: of these no more are followed."""
    if what not in _bounded:
        _bounded.add(what)
        write("bounded", what=what, most=most)


def introduce(fields):
    """`framework` is written with the first evidence: programs that only import one leave no file."""
    if writer is None:
        return
    writer.introductions.append(fields)
    if writer.begun:
        writer.write("framework", fields())


class Writer(object):
    """Opens its file with the first record. A write that fails is counted and told by the next that does not."""

    def __init__(self, folder, header, introductions=()):
        self.folder = folder
        self.introductions = list(introductions)  # functions that give the fields of `framework`
        self.header = header  # called for the fields of `begin`
        self.pid = os.getpid()
        self.descriptor = None
        self.identity = None
        self.bytes = 0
        self.lost = 0
        self.refusals = 0
        self.begun = False
        self.full = False
        self.torn = False  # the last line has no end

    def write(self, kind, fields):
        if self.pid != os.getpid() or self.refusals >= REFUSALS_MAX:
            return
        if not self.begun:
            self.begun = True
            self.put("begin", self.header())
            for introduction in self.introductions:
                self.put("framework", introduction())
        if self.full and kind != "end":
            return
        if self.lost:
            lost, self.lost = self.lost, 0
            self.put("lost", {"count": lost})
        self.put(kind, fields)

    def put(self, kind, fields):
        line = self.line(kind, fields)
        if len(line) > LINE_BYTES_MAX:
            self.lost += 1
            return
        if self.bytes + len(line) > BYTES_MAX - END_KEPT and kind not in ("full", "end"):
            self.full = True
            line = self.line("full", {"bytes": self.bytes})
        if not self.send(line):
            self.lost += 1

    @staticmethod
    def line(kind, fields):
        entry = {"k": kind, "t": round(time.time(), 3)}
        entry.update(fields)
        try:
            text = json.dumps(entry, separators=(",", ":"), allow_nan=False)
        except ValueError:
            text = json.dumps(finite(entry), separators=(",", ":"), allow_nan=False)
        return text.encode("ascii") + b"\n"

    def send(self, line):
        try:
            descriptor = self.open()
            if self.torn:
                line = b"\n" + line
            written = os.write(descriptor, line)
            self.bytes += written
            self.torn = written < len(line)
            return not self.torn
        except OSError:
            self.refusals += 1
            return False

    def open(self):
        """The descriptor; opened again where the program closed it or gave its number to a file of its own."""
        if self.descriptor is not None:
            try:
                now = os.fstat(self.descriptor)
                if (now.st_dev, now.st_ino) == self.identity:
                    return self.descriptor
            except OSError:
                pass
        name = "%s-%d-%d.jsonl" % (os.uname().nodename.replace("/", "_")[:64], self.pid, process_start())
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
        low = os.open(os.path.join(self.folder, name), flags, 0o600)
        self.descriptor = raised(low)
        now = os.fstat(self.descriptor)
        self.identity = (now.st_dev, now.st_ino)
        return self.descriptor


def raised(descriptor):
    """The same file under a high number, or where limits are low as it is."""
    for least in (DESCRIPTOR_MIN, 200, 60):
        try:
            high = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, least)
        except OSError:
            continue
        os.close(descriptor)
        return high
    return descriptor


def finite(value):
    """The same without NaN and infinities, which JSON lacks: words stand for them."""
    if isinstance(value, float):
        if value != value:
            return "nan"
        return value if abs(value) != float("inf") else "inf" if value > 0 else "-inf"
    if isinstance(value, dict):
        return {name: finite(inner) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(inner) for inner in value]
    return value


def write_list(kind, items, most, **fields):
    """A long list as several records. `items` may be a generator of `fields["total"]` elements."""
    part, begin = [], 0
    for item in items:
        part.append(item)
        if len(part) == most:
            write(kind, of=part, **dict(fields, **{"from": begin}))
            begin += len(part)
            part = []
    if part or begin == 0:
        write(kind, of=part, **dict(fields, **{"from": begin}))
