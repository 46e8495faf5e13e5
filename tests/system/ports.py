"""Ports of 127.0.0.1 for tests that run beside each other."""
import errno
import fcntl
import os
import random
import socket
import tempfile

FIRST = 15000  # above what services are usually found at
_held = []  # locks: as long as this process


def first_of_kernel():
    """From here on the kernel gives ports to connections that go out."""
    try:
        with open("/proc/sys/net/ipv4/ip_local_port_range") as file:
            return int(file.read().split()[0])
    except (OSError, ValueError):
        return 32768


def taken(port):
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # what ended a moment ago does not count
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            if error.errno not in (errno.EADDRINUSE, errno.EACCES):
                raise
            return True
    return False


def own_port():
    """A port that is free, that no connection is given, and that no other test takes while this process lives: a server
    can be started on it, ended and started again."""
    folder = os.path.join(tempfile.gettempdir(), "paritect-test-ports-%d" % os.getuid())
    os.makedirs(folder, exist_ok=True)
    candidates = list(range(FIRST, max(first_of_kernel(), FIRST + 100)))
    random.shuffle(candidates)
    for port in candidates:
        lock = open(os.path.join(folder, str(port)), "w")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            lock.close()
            continue
        if not taken(port):
            _held.append(lock)
            return port
        lock.close()
    raise RuntimeError("no port of %d to %d is free" % (candidates[0], candidates[-1]))
