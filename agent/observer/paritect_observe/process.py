"""Who this process is: begin, fork, end."""
import atexit
import os
import sys

from . import guard, record

FORMAT = "paritect-observe/1"

level = "full"
how = ""
late = False
image = "exec"
parent = None
_rank_told = None
_at_end = []     # called before `end`
_at_fork = []    # called in a forked child
_end_fields = {}  # name: function


def begin(how_started, came_late):
    global how, late, level
    folder = os.environ.get("PYTHON_PARITECT_OBSERVE", "")
    if not folder.startswith("/"):
        return
    level = "light" if os.environ.get("PYTHON_PARITECT_LEVEL") == "light" else "full"
    how, late = how_started, came_late
    record.writer = record.Writer(folder, header)
    atexit.register(end)
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=forked)
    import multiprocessing.util
    multiprocessing.util.register_after_fork(guard, end_with_multiprocessing)


def full():
    return level == "full"


def at_end(function):
    _at_end.append(function)


def at_fork(function):
    _at_fork.append(function)


def end_field(name, function):
    _end_fields[name] = function


def rank_variables():
    try:
        from . import launcher_variables
        names = launcher_variables.NAMES
    except ImportError:
        names = ("RANK", "WORLD_SIZE", "LOCAL_RANK")
    return {name: os.environ[name][:64] for name in names if name in os.environ}


def main_script():
    main = sys.modules.get("__main__")
    spec = getattr(main, "__spec__", None)
    if spec is not None and getattr(spec, "name", None):
        return "-m " + spec.name.replace(".__main__", "")
    path = getattr(main, "__file__", None)
    if path:
        return os.path.abspath(path)
    return sys.argv[0] if getattr(sys, "argv", None) else ""


def header():
    from . import describe
    global _rank_told
    variables = rank_variables()
    _rank_told = (variables.get("RANK"), variables.get("WORLD_SIZE"))
    fields = {"format": FORMAT, "level": level, "host": os.uname().nodename, "pid": os.getpid(), "ppid": os.getppid(),
              "start": record.process_start(), "image": image, "python": "%d.%d.%d" % sys.version_info[:3],
              "executable": describe.text(sys.executable or ""), "main": describe.text(main_script()), "how": how,
              "late": late, "env": {name: describe.text(value) for name, value in variables.items()}}
    if parent is not None:
        fields["parent"] = parent
    return fields


def tell_rank():
    """Scripts that start their ranks themselves set the variables after the import of the framework."""
    global _rank_told
    now = (os.environ.get("RANK"), os.environ.get("WORLD_SIZE"))
    if _rank_told is None or now == _rank_told or not (now[0] or "").isdigit():
        return
    _rank_told = now
    record.write("rank", rank=int(now[0]), world=int(now[1]) if (now[1] or "").isdigit() else None)


def forked():
    """In a child of fork: a file of its own, nothing of the parent's steps."""
    global image, parent, _rank_told
    old = record.writer
    if old is None:
        return
    try:
        image, _rank_told = "fork", None
        parent = {"pid": old.pid, "start": record.process_start(old.pid)}
        record.writer = record.Writer(old.folder, old.header, old.introductions)
        guard.forget()
        for function in _at_fork:
            function()
    except Exception:
        record.writer = None


def end_with_multiprocessing(_):
    """Children of multiprocessing leave by os._exit, after its own finalizers."""
    try:
        import multiprocessing.util
        if record.writer is not None and record.writer.pid != os.getpid():
            forked()  # Python 3.6 has no register_at_fork
        multiprocessing.util.Finalize(None, end, exitpriority=-1000)
    except Exception:
        pass


def end():
    try:
        tell_end()
    except Exception:
        pass  # nothing may be said at the end of a program
    record.writer = None


def tell_end():
    writer = record.writer
    if writer is None or not writer.begun or writer.pid != os.getpid():
        return
    for function in _at_end:
        guard.guarded(guard.site("end"), function)
    fields = {name: guard.guarded(guard.site("end"), function) for name, function in _end_fields.items()}
    counters = {name: one.calls for name, one in guard.sites.items() if one.calls}
    record.write("end", why="exit", spent_ms=round(guard.spent_seconds * 1000, 3), calls=sum(counters.values()),
                 errors=guard.errors, lost=writer.lost, counters=counters, **fields)
