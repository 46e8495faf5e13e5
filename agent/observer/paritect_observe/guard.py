"""The one entry of all hooks."""
import sys
import threading
import time

from . import record

FAULTS_MAX = 5


class Thread(threading.local):
    busy = False  # in a hook


_thread = Thread()
spent_seconds = 0.0
errors = 0
sites = {}


class Site(object):
    """A place in the framework where something is looked at."""
    __slots__ = ("name", "faults", "off", "calls")

    def __init__(self, name):
        self.name = name
        self.faults = 0
        self.off = False
        self.calls = 0


def site(name):
    return sites.setdefault(name, Site(name))


STACK_KEPT = 150  # frames that a hook may need


def is_deep():
    """Whether the program has come near the end of its stack: an error of ours there that nobody hears of would let it
    run on into one that older interpreters do not survive."""
    try:
        sys._getframe(max(sys.getrecursionlimit() - STACK_KEPT, 1))
        return True
    except ValueError:
        return False


if sys.version_info >= (3, 11):
    is_deep = None


def guarded(place, look, *args):
    """look(*args), or None: within another hook, where the site is off, where it fails. What is no Exception passes."""
    global spent_seconds
    if place.off or _thread.busy or is_deep is not None and is_deep():
        return None
    _thread.busy = True
    begin = 0.0
    try:
        begin = time.perf_counter()
        place.calls += 1
        return look(*args)
    except Exception as fault:
        tell_fault(place, fault)
        return None
    finally:
        _thread.busy = False
        try:
            spent_seconds += time.perf_counter() - begin
        except Exception:
            pass  # a clock that the program replaced


def tell_fault(place, fault):
    global errors
    errors += 1
    place.faults += 1
    if place.faults >= FAULTS_MAX:
        place.off = True
    try:
        trace = sys.exc_info()[2]
        while trace.tb_next is not None:
            trace = trace.tb_next
        line = "%s:%d" % (trace.tb_frame.f_code.co_filename.rpartition("/")[2], trace.tb_lineno)
        record.write("error", site=place.name, type=type(fault).__name__, line=line)
        if place.off:
            record.write("off", site=place.name)
    except Exception:
        pass


def forget():
    """In a forked child: what the parent's hooks were doing is none of its business."""
    global spent_seconds, errors
    spent_seconds, errors = 0.0, 0
    _thread.busy = False
    for one in sites.values():
        one.faults, one.off, one.calls = 0, False, 0
