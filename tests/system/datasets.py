#!/usr/bin/env python3
"""datasets.py BUILD_DIR NAME: `paritect manifest` on real trees, against md5sum. Ends with 77 where something is not here."""
import hashlib
import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import threading
import time

NOT_HERE = 77


class Tree:
    """A folder with data, a cache of its own, and the program."""

    def __init__(self, build, work):
        self.paritect = os.path.join(build, "paritect")
        self.work = work
        self.data = os.path.join(work, "data")
        self.cache = os.path.join(work, "cache")
        os.mkdir(self.data)

    def path(self, name):
        return os.path.join(os.fsencode(self.data), os.fsencode(name))

    def write(self, name, content):
        path = self.path(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as out:
            out.write(content)

    def command(self, *options, data=None):
        return [self.paritect, "manifest", "create", data or self.data, *options]

    def environment(self, cache=None):
        return dict(os.environ, XDG_CACHE_HOME=cache or self.cache)

    def create(self, *options, cache=None, code=0, data=None):
        done = subprocess.run(self.command(*options, data=data), env=self.environment(cache), capture_output=True,
                              timeout=280)
        assert done.returncode in ((0, 1) if code is None else (code,)), (done.returncode, done.stderr[-2000:])
        return done.stdout, done.stderr.decode("utf-8", "replace")

    def expected(self):
        """What find, sort and md5sum say."""
        find = "find . -type f -print0 | LC_ALL=C sort -z | xargs -0 md5sum"
        out = subprocess.run(["bash", "-c", find], cwd=self.data, capture_output=True, check=True).stdout
        return out.replace(b"  ./", b"  ")


def many_files(tree):
    """10^5 files (10^6 in the long form) in 400 folders and one flat one; the second time none of them is read."""
    count = 1_000_000 if os.environ.get("PARITECT_TEST_ALL") else 100_000
    names = []
    for i in range(count):
        name = f"flat/{i:07d}" if i % 4 == 0 else f"d{i % 400:03d}/{i:07d}"
        names.append(name)
        if i < 500:
            os.makedirs(os.path.dirname(tree.path(name)), exist_ok=True)
        fd = os.open(tree.path(name), os.O_WRONLY | os.O_CREAT, 0o644)
        os.write(fd, name.encode())
        os.close(fd)
    right = "".join(f"{hashlib.md5(name.encode()).hexdigest()}  {name}\n" for name in sorted(names)).encode()
    time.sleep(2.2)
    out, err = tree.create()
    assert out == right, "the list is wrong"
    assert "from the cache" not in err, err
    out, err = tree.create("--jobs", "3")
    assert out == right, "the second list is wrong"
    assert f"0 files hashed now, {count} from the cache" in err, err
    out, err = tree.create("--no-cache", "--jobs", "1")
    assert out == right and "from the cache" not in err, err


def large_file(tree):
    """3 GiB, of which most are holes, and a neighbour; also past the page cache."""
    big = tree.path("big.tar")
    with open(big, "wb") as out:
        out.truncate(3 << 30)
        for at in (0, 5 << 20, (2 << 30) - 7, (3 << 30) - 100_000):
            out.seek(at)
            out.write(os.urandom(99_000))
    tree.write("small", b"x")
    right = tree.expected()
    assert tree.create("--no-cache")[0] == right
    assert tree.create("--jobs", "1", "--no-cache")[0] == right
    tree.write("direct", os.urandom(3_000_001))
    os.remove(big)
    assert tree.create("--media")[0] == tree.expected()


def changing_file(tree):
    """A file that is written to all the time, one that is cut while mapped: named, and no list is written."""
    tree.write("still", b"1")
    tree.write("busy", os.urandom(64 << 20))
    stop = threading.Event()

    def write():
        with open(tree.path("busy"), "r+b") as out:
            while not stop.is_set():
                out.seek(0)
                out.write(os.urandom(16))
                out.flush()

    # A run may fall between two writes on a busy machine; that it never says so would be wrong.
    writer = threading.Thread(target=write, daemon=True)
    writer.start()
    said = 0
    for _ in range(4):
        out, err = tree.create("--no-cache", code=None)
        assert "still" not in err, err
        if "busy" in err:
            assert out == b"", "a list with a file that changed"
            said += 1
    stop.set()
    writer.join()
    assert said > 0, "a file that is written to all the time was hashed every time"

    stop.clear()

    def cut():
        while not stop.is_set():
            os.truncate(tree.path("busy"), 1 << 20)
            os.truncate(tree.path("busy"), 64 << 20)

    os.truncate(tree.path("busy"), 1 << 20)
    valid = {hashlib.md5(open(tree.path("busy"), "rb").read()).hexdigest()}
    os.truncate(tree.path("busy"), 64 << 20)
    valid.add(hashlib.md5(open(tree.path("busy"), "rb").read()).hexdigest())
    cutter = threading.Thread(target=cut, daemon=True)
    cutter.start()
    for _ in range(8):
        out, err = tree.create("--no-cache", code=None)
        if out:
            assert out.split()[0].decode() in valid, "a digest of what the file never was"
        else:
            assert "busy" in err, err
    stop.set()
    cutter.join()
    assert tree.create("--no-cache")[0] == tree.expected()


def cache_on_full_disk(tree):
    """A cache that cannot be written is said once; the list is right."""
    disk = os.path.join(tree.work, "disk")
    os.mkdir(disk)
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=40k", "tmpfs", disk], capture_output=True).returncode != 0:
        print("no right to mount")
        sys.exit(NOT_HERE)
    try:
        for i in range(3000):
            tree.write(f"d{i % 7}/{i}", b"%d" % i)
        time.sleep(2.2)
        right = tree.expected()
        for _ in range(2):
            out, err = tree.create(cache=disk)
            assert out == right
            assert err.count("No space left") == 1, err
        # A list that does not fit leaves what stood there.
        small = os.path.join(disk, "list")
        with open(small, "w") as out:
            out.write("before")
        out, err = tree.create("-o", small, code=1)
        assert "No space left" in err, err
        assert open(small).read() == "before" and os.listdir(disk).count("list") == 1, os.listdir(disk)
    finally:
        subprocess.run(["umount", disk], check=True)


def journal_bytes(tree, pid):
    folder = os.path.join(tree.cache, "paritect")
    try:
        return sum(os.path.getsize(os.path.join(folder, name)) for name in os.listdir(folder)
                   if name.startswith(f"journal-{pid}-"))
    except OSError:
        return None


def killed(tree):
    """kill -9 in the middle, several times: the next run goes on, and its list is the same."""
    content = os.urandom(1 << 20)
    for i in range(300):
        tree.write(f"d{i % 7}/{i}", content[i:] + b"%d" % i)
    tree.write("big", content * 200)
    time.sleep(2.2)
    right = tree.expected()
    for _ in range(4):
        run = subprocess.Popen(tree.command("--bwlimit", "200M"), env=tree.environment(), stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
        # Until its journal has grown by ten records: it is in the middle.
        first = None
        while run.poll() is None:
            size = journal_bytes(tree, run.pid)
            first = size if first is None else first
            if size is not None and size >= (first or 0) + 640:
                break
            time.sleep(0.05)
        run.send_signal(signal.SIGKILL)
        run.wait()
    out, err = tree.create()
    assert out == right, "the list of the resumed run differs"
    assert "from the cache" in err, err
    assert not [name for name in os.listdir(os.path.join(tree.cache, "paritect")) if name.startswith("journal")]
    out, err = tree.create("--no-cache", "--resume")
    assert out == right and "from the cache" not in err, err


def odd_names(tree):
    """Names that are no text; fifo, socket, device never opened; what cannot be read is named and no list is written."""
    for name in (b"\xff\xfe", b"new\nline", b"back\\slash", b" blank ", b"\xe4\xb8\xad", b"-rf", b"d/\x01\x7f"):
        tree.write(name, b"of " + name)
    os.mkfifo(tree.path("fifo"))
    listening = socket.socket(socket.AF_UNIX)
    here = os.getcwd()
    os.chdir(tree.data)
    listening.bind("socket")
    os.chdir(here)
    if os.geteuid() == 0:
        try:
            os.mknod(tree.path("device"), stat.S_IFCHR | 0o600, os.makedev(1, 5))  # /dev/zero never ends
        except OSError:
            pass
    right = tree.expected()
    # md5sum escapes as we do, but for a name that begins with "./".
    assert sorted(tree.create("--no-cache")[0].splitlines()) == sorted(right.splitlines())
    listening.close()

    tree.write("locked", b"1")
    os.chmod(tree.path("locked"), 0)
    command = tree.command("--no-cache")
    if os.geteuid() == 0:
        for part in (tree.work, tree.data):
            os.chmod(part, 0o755)
        command = ["setpriv", "--reuid", "65534", "--clear-groups", *command]
        probe = subprocess.run(command[:4] + ["test", "-x", tree.paritect])
        if not shutil.which("setpriv") or probe.returncode != 0:
            print("another user cannot run the program here: that part is left out")
            return
    done = subprocess.run(command, env=tree.environment(), capture_output=True, timeout=60)
    assert done.returncode == 1 and done.stdout == b"" and b"locked" in done.stderr, done.stderr


def list_options(tree):
    """Where lists are written to and read from, what patterns hold for, a folder that is the wrong one."""
    for name in ("a.csv", "sub/b.csv", "data1.md5", "listing.csv"):
        tree.write(name, name.encode())
    def run(*arguments, code=0, cwd=None):
        done = subprocess.run([tree.paritect, "manifest", *arguments], env=tree.environment(), capture_output=True,
                              timeout=60, cwd=cwd or tree.work)
        assert done.returncode == code, (arguments, done.returncode, done.stdout, done.stderr)
        return done.stdout.decode(), done.stderr.decode()
    right = run("create", "data")[0]
    assert right.count("\n") == 4
    # Options take one value and stand anywhere.
    assert run("create", "--exclude", "*.md5", "--exclude", "listing.csv", "data")[0].count("\n") == 2
    assert run("--exclude", "sub", "create", "data")[0].count("\n") == 3
    assert "fits no name" in run("create", "--include", "nosuch/**", "data")[1]
    # The list itself is left out, whatever it is called and however its folder is spelt, and nothing else is.
    os.symlink("data", os.path.join(tree.work, "link"))
    for folder, name in (("data", "data/data[1].md5"), ("link", "data/sub/l"), (tree.data, "data/l?"), (".", "x.md5")):
        for _ in range(2):
            run("create", folder, "-o", name, cwd=tree.work if folder != "." else tree.data)
        path = os.path.join(tree.work if folder != "." else tree.data, name)
        assert open(path).read() == right, (folder, name, open(path).read())
        run("verify", name, folder, cwd=tree.work if folder != "." else tree.data)
        os.remove(path)
    # Through devices, pipes and links, never in their place.
    assert run("create", "data", "-o", "/dev/stdout")[0] == right
    pipe = os.path.join(tree.work, "pipe")
    os.mkfifo(pipe)
    reader = subprocess.Popen(["cat", pipe], stdout=subprocess.PIPE)
    run("create", "data", "-o", pipe)
    assert reader.communicate()[0].decode() == right and stat.S_ISFIFO(os.stat(pipe).st_mode)
    if os.path.exists("/dev/full"):
        assert "No space left" in run("create", "data", "-o", "/dev/full", code=1)[1]
        assert stat.S_ISCHR(os.stat("/dev/full").st_mode)
    os.symlink("target", os.path.join(tree.work, "alias"))
    open(os.path.join(tree.work, "target"), "w").close()
    run("create", "data", "-o", "alias")
    assert os.path.islink(os.path.join(tree.work, "alias")) and open(os.path.join(tree.work, "target")).read() == right
    # Patterns hold for the list too; a folder is no list; another folder is recognised.
    os.remove(tree.path("a.csv"))
    run("verify", "target", "data", code=1)
    run("verify", "target", "data", "--exclude", "a.csv")
    run("verify", "--exclude", "a.csv", "target", "data")
    run("verify", "data", "data", code=2)
    for i in range(20):
        tree.write(f"deep/er/{i}", b"%d" % i)
    deep = run("create", "data/deep/er")[0]
    with open(os.path.join(tree.work, "deep.md5"), "w") as out:
        out.write(deep)
    out, err = run("verify", "deep.md5", "data", code=1)
    assert out == "" and "under deep/er: did you mean data/deep/er?" in err, (out, err)
    # Nothing to name is said.
    os.mkdir(os.path.join(tree.work, "empty"))
    assert "0 files" in run("create", "empty")[1]
    # What stands below a link to a folder is not known.
    os.mkdir(os.path.join(tree.work, "outside"))
    os.symlink("../outside", tree.path("folderlink"))
    assert "folderlink" in run("create", "data", code=1)[1]
    run("create", "data", "--exclude", "folderlink")
    run("create", "data", "--follow-symlinks")


def main():
    build, name = os.path.abspath(sys.argv[1]), sys.argv[2]
    work = tempfile.mkdtemp(prefix="datasets-")
    try:
        {test.__name__: test for test in (many_files, large_file, changing_file, cache_on_full_disk, killed,
                                          odd_names, list_options)}[name](Tree(build, work))
    finally:
        shutil.rmtree(work, ignore_errors=True)


main()
