#!/usr/bin/env python3
"""However a program ends, and whatever it does to its interpreter: with the observer inside it prints and ends as it would
have without. The framework is a stand-in, so that this holds for every Python that is here.

    endings.py BUILD_DIR [NAME ...]      # all where none is named
"""
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

BUILD = os.path.abspath(sys.argv[1])
OBSERVER = os.path.join(BUILD, "observer")
LIBRARY = os.path.join(BUILD, "libparitect-trace.so")

FRAMEWORK = "def set_context(**settings):\n    return settings\n"
BEGIN = "import mindspore, os, sys\nmindspore.set_context(mode=1)\n"
# Each after BEGIN; what it prints on both streams and its exit code are compared.
PROGRAMS = {
    "plain": "print('done')",
    "at_once": "print('done', flush=True)\nos._exit(3)",
    "text": "sys.exit('a text')",
    "code": "raise SystemExit(5)",
    "exception": "1 // 0",
    "killed": "import signal\nos.kill(os.getpid(), signal.SIGKILL)",
    "terminated": "import signal\nos.kill(os.getpid(), signal.SIGTERM)",
    "aborted": "os.abort()",
    "handler": "import signal\nsignal.signal(signal.SIGTERM, lambda *_: sys.exit(7))\nos.kill(os.getpid(), signal.SIGTERM)",
    "interrupted": "import signal\nos.kill(os.getpid(), signal.SIGINT)\nimport time\ntime.sleep(60)",
    "alarm": "import signal, time\nsignal.signal(signal.SIGALRM, lambda *_: print('alarm'))\nsignal.setitimer(signal.ITIMER_REAL, 0.001)\n"
             "end = time.time() + 0.2\nwhile time.time() < end:\n    mindspore.set_context(mode=0)",
    "atexit": "import atexit\natexit.register(print, 'first')\natexit.register(lambda: mindspore.set_context(mode=2))\n"
              "atexit.register(print, 'second')",
    "atexit_raises": "import atexit\natexit.register(lambda: 1 // 0)",
    "thread": "import threading, time\nthreading.Thread(target=lambda: (time.sleep(0.1), mindspore.set_context(mode=0), "
              "print('thread'))).start()",
    "daemon": "import threading\ndef run():\n    while True:\n        mindspore.set_context(mode=0)\n"
              "threading.Thread(target=run, daemon=True).start()\nprint('done')",
    "fork": "child = os.fork()\nif not child:\n    mindspore.set_context(mode=0)\n    os._exit(4)\nprint(os.waitpid(child, 0)[1])",
    "fork_returns": "child = os.fork()\nif not child:\n    mindspore.set_context(mode=0)\n    sys.exit(4)\nprint(os.waitpid(child, 0)[1])",
    "exec": "os.execv(sys.executable, [sys.executable, '-c', 'import mindspore; print(mindspore.set_context(mode=0))'])",
    "spawn": "import multiprocessing\ndef run():\n    mindspore.set_context(mode=0)\n    sys.exit(6)\n"
             "if __name__ == '__main__':\n    for way in ('spawn', 'forkserver', 'fork'):\n"
             "        one = multiprocessing.get_context(way).Process(target=run)\n        one.start()\n        one.join()\n"
             "        print(way, one.exitcode)",
    "pool": "import multiprocessing\ndef run(n):\n    mindspore.set_context(mode=n)\n    return os.getpid() and n\n"
            "if __name__ == '__main__':\n    with multiprocessing.get_context('fork').Pool(4) as pool:\n"
            "        print(pool.map(run, range(40)))",
    "descriptors": "os.closerange(3, 4096)\nwith open('own', 'w') as file:\n    mindspore.set_context(mode=0)\n    file.write('own')\n"
                   "print(open('own').read())",
    "few_descriptors": "import resource\nresource.setrlimit(resource.RLIMIT_NOFILE, (8, 8))\nmindspore.set_context(mode=0)\nprint('done')",
    "folder_gone": "import shutil\nshutil.rmtree(os.environ.get('PYTHON_PARITECT_OBSERVE', 'none'), True)\nmindspore.set_context(mode=0)\n"
                   "print('done')",
    "no_environment": "os.environ.clear()\nmindspore.set_context(mode=0)\nprint('done')",
    "other_folder": "os.chdir('/')\nmindspore.set_context(mode=0)\nprint('done')",
    "traced": "sys.settrace(lambda *_: None)\nmindspore.set_context(mode=0)\nsys.settrace(None)\nprint('done')",
    "recursion": "def deep(n):\n    mindspore.set_context(mode=n % 2)\n    return deep(n + 1)\ntry:\n    deep(0)\n"
                 "except RecursionError:\n    print('deep')",
    "reload": "import importlib\nimportlib.reload(mindspore)\nprint(mindspore.set_context(mode=0))",
    "imported_again": "del sys.modules['mindspore']\nimport mindspore\nprint(mindspore.set_context(mode=0))",
    "own_finder": "class Finder:\n    @staticmethod\n    def find_spec(name, path=None, target=None):\n        return None\n"
                  "sys.meta_path.insert(0, Finder)\nimport json\nprint(mindspore.set_context(mode=0))",
    "no_finders": "sys.meta_path[:] = []\nprint(mindspore.set_context(mode=0))",
    "odd_values": "class Odd(dict):\n    def __repr__(self):\n        raise ValueError\n    __str__ = __len__ = __iter__ = __repr__\n"
                  "mindspore.set_context(mode=Odd(), other=float('nan'), text='\\udc80' * 9)\nprint('done')",
    "closed_output": "sys.stdout.close()\nsys.stderr.close()\nmindspore.set_context(mode=0)",
    "modules_gone": "sys.modules.pop('json', None)\nsys.modules.pop('os', None)\nmindspore.set_context(mode=0)\nprint('done')",
    "time_stands": "import time\ntime.time = time.perf_counter = lambda: 0\nmindspore.set_context(mode=0)\nprint('done')",
}
# Ways to start it: flags, variables. "PREFIX" stands for the interpreter's own.
STARTS = {
    "": ([], {}),
    "-OO": (["-OO"], {}),
    "-W error": (["-W", "error"], {}),
    "dev": (["-X", "dev"], {}),
    "no home": ([], {"HOME": "/nonexistent", "PYTHONNOUSERSITE": "1"}),
    "home": ([], {"PYTHONHOME": "PREFIX"}),
    "preloaded": ([], {"LD_PRELOAD": "libm.so.6"}),
    "C": ([], {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}),
    "hash": ([], {"PYTHONHASHSEED": "0", "PYTHONMALLOC": "debug"}),
}


def pythons():
    found = sorted(glob.glob(os.path.expanduser("~/.pyenv/versions/3.*/bin/python"))) + ["/usr/bin/python3", sys.executable]
    return list({os.path.realpath(one): one for one in found if os.path.exists(one)}.values())


def prefix_of(python):
    return subprocess.check_output([python, "-c", "import sys; print(sys.base_prefix)"]).decode().strip()


def outcome(python, start, text, observed):
    """(exit code, what it printed) in a folder of its own."""
    folder = tempfile.mkdtemp(prefix="paritect-ending-")
    try:
        flags, variables = STARTS[start]
        keep = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
        variables = {name: prefix_of(python) if value == "PREFIX" else value for name, value in variables.items()}
        environment = dict(keep, PYTHONPATH=folder, **variables)
        if observed:
            records = os.path.join(folder, "observe")
            os.mkdir(records)
            environment.update(PYTHON_PARITECT_OBSERVE=records, PYTHON_PARITECT_OBSERVER=OBSERVER,
                               PYTHONPATH=os.path.join(OBSERVER, "site") + ":" + folder,
                               LD_PRELOAD=":".join(one for one in (environment.get("LD_PRELOAD"), LIBRARY) if one))
        for name, content in (("mindspore.py", FRAMEWORK), ("program.py", BEGIN + text + "\n")):
            with open(os.path.join(folder, name), "w") as file:
                file.write(content)
        done = subprocess.run([python] + flags + ["program.py"], cwd=folder, env=environment, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=120)
        # Addresses and the folder's name are of this one run.
        return done.returncode, [re.sub(r"0x[0-9a-f]+", "0x", stream.decode("utf-8", "replace").replace(folder, ""))
                                 for stream in (done.stdout, done.stderr)]
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def main():
    if not os.path.exists(os.path.join(OBSERVER, "start.py")):
        print("skipped: no observer in " + BUILD)
        sys.exit(77)
    found, names, failed = pythons(), sys.argv[2:] or list(PROGRAMS), 0
    cases = [(python, "", name) for name in names for python in found]
    cases += [(found[-1], start, name) for start in STARTS if start for name in ("plain", "exception", "spawn") if name in names]
    for python, start, name in cases:
        bare, seen = (outcome(python, start, PROGRAMS[name], observed) for observed in (False, True))
        if bare != seen:
            failed += 1
            print("%s %s %s:\n  without: %s\n  with:    %s" % (python, start, name, bare, seen), flush=True)
    print("%d programs in %d Pythons, %d differ" % (len(names), len(found), failed))
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
