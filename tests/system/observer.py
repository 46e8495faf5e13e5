#!/usr/bin/env python3
"""The observer inside real PyTorch trainings: scripts as users write them give the same bits with it and without it.

    observer.py BUILD_DIR same NAME | level | way_in | faults | disk_full | folder_gone | killed | torn_python | forks
    observer.py BUILD_DIR truth
    observer.py BUILD_DIR standin NAME | pythons

Exit code 77: no interpreter with PyTorch is here (python3-torch of Debian); the last two need none.
"""
import contextlib
import functools
import glob
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from ports import own_port  # noqa: E402

BUILD = os.path.abspath(sys.argv[1])
PARITECT = os.path.join(BUILD, "paritect")
SCRIPTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "observer_scripts")
NEEDS_PORT = ("ddp", "spawn")
# Kinds of records that a script must have left, beside those of every training.
EXPECTED = {
    "ddp": ("process_group", "wrap", "loader", "pass", "indices"),
    "spawn": ("process_group", "wrap"),
    "amp_bf16": ("autocast",),
    "scaler_disabled": ("scaler",),
    "iterable_workers": ("loader", "worker"),
    "lightning_like": ("scheduler", "phase"),
    "hf_like": ("scheduler", "loader"),
    "resumed": ("load_state_dict", "load", "save", "scheduler"),
    "frozen": ("load_state_dict", "cast"),
    "two_models": ("update",),
}
ALWAYS = ("begin", "framework", "root", "modules", "parameters", "weights", "optimizer", "group", "grads", "update",
          "step",
          "operators", "flags", "seeds", "replica", "phase", "end")


@functools.lru_cache(maxsize=None)
def interpreter(module="torch.distributed"):
    for python in ("/usr/bin/python3", sys.executable):
        if subprocess.run([python, "-c", "import " + module], stderr=subprocess.DEVNULL).returncode == 0:
            return python
    print("skipped: no Python with %s is installed (python3-torch, python3-numpy)" % module, file=sys.stderr)
    sys.exit(77)


class Place:
    """A folder of its own for one run."""

    def __enter__(self):
        self.path = tempfile.mkdtemp(prefix="observer-")
        return self.path

    def __exit__(self, *_):
        shutil.rmtree(self.path, ignore_errors=True)


def command(name, *flags):
    script = name if os.sep in name else os.path.join(SCRIPTS, name + ".py")
    return [interpreter(), *flags, script] + ([str(own_port())] if name in NEEDS_PORT else [])


def environment(**more):
    ours = ("PARITECT", "PYTHON", "LD_PRELOAD")
    keep = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    base = {"OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "0", "PYTHONPATH": SCRIPTS, "PYTHONDONTWRITEBYTECODE": "1"}
    return dict(keep, **dict(base, **more))


def run(words, cwd, **more):
    return subprocess.run(words, cwd=cwd, env=environment(**more), stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def observed(name, cwd, *options, flags=(), **more):
    return run([PARITECT, "run", "--run", "x", "--agent", "none", "--no-trace", *options, "--", *command(name, *flags)],
               cwd,
               **more)


def records(cwd):
    """{process file: [record]}; every line is one object, or the last one of a process that was killed."""
    out = {}
    for path in glob.glob(os.path.join(cwd, "**", "observe", "**", "*.jsonl"), recursive=True):
        with open(path, "rb") as file:
            out[path] = [json.loads(line) for line in file.read().split(b"\n")[:-1]]
    return out


def kinds(cwd):
    return {record["k"] for one in records(cwd).values() for record in one}


def faults(cwd):
    bad = ("error", "off", "lost", "full")
    return [record for one in records(cwd).values() for record in one if record["k"] in bad]


def check(condition, what):
    if not condition:
        print("FAILED: %s" % (what,), file=sys.stderr)
        sys.exit(1)


def same(name):
    """Output, code and every state are those of the bare run; and there is a record."""
    with Place() as bare_place, Place() as place:
        bare = run(command(name), bare_place)
        seen = observed(name, place)
        check(bare.returncode == 0, bare.stderr.decode()[-2000:])
        check(seen.returncode == 0, seen.stderr.decode()[-2000:])
        check(b"digest" in bare.stdout, bare.stdout)
        check(bare.stdout == seen.stdout, (bare.stdout.decode(), seen.stdout.decode()))
        check(not faults(place), faults(place)[:5])
        wanted = set(ALWAYS + EXPECTED.get(name, ()))
        if name in ("lbfgs", "odd_objects"):
            wanted -= {"loader"}
        check(wanted <= kinds(place), sorted(wanted - kinds(place)))


def inspected(path):
    """{tensor: (digest, squares)} as the product reads a checkpoint."""
    done = subprocess.run([PARITECT, "inspect", "--as", "weights", path, "-o", "json"], stdout=subprocess.PIPE,
                          check=True)
    return {one["name"]: one["digest"] for one in json.loads(done.stdout)["tensors"]}


def truth():
    """Records against what the script itself wrote down: values, order, weights, modes."""
    with Place() as place:
        check(observed("truth", place).returncode == 0, "truth")
        with open(os.path.join(place, "facts.json")) as file:
            facts = json.load(file)
        (process_records,) = records(place).values()
        of = lambda kind, **fields: [one for one in process_records if one["k"] == kind and  # noqa: E731
                                     all(one.get(name) == value for name, value in fields.items())]
        steps = of("step")
        check([one["loss"] for one in steps] == facts["loss"], "losses")
        check([one["lr"] for one in steps] == [[lr, lr] for lr in facts["lr"]], "rates")
        check([one["clip"]["norm"] for one in steps] == facts["norm"], "norms")
        for norm, step in zip(facts["norm"], steps[:2]):
            check(abs(step["grad_norm"] / norm - 1) < 1e-5, ("norm of all gradients", norm, step["grad_norm"]))
        for number, first in enumerate(facts["first"]):
            told = of("indices", loader=0, **{"pass": number})[-1]
            check((told["first"], told["whole"], told["samples"]) == (first, True, 96), told)
        for at, path in ((0, "before.pt"), (1, "after.pt")):
            expected = inspected(os.path.join(place, path))
            told = {one["name"]: "xxh3:" + one["xxh3"] for part in of("weights", at=at) for one in part["of"]}
            check(told == expected, (at, set(told.items()) ^ set(expected.items())))
        groups = of("group")
        check([one["options"]["weight_decay"] for one in groups] == [0, 0.1], groups)
        check([p[0] for p in groups[1]["params"]] == ["head.weight", "head.bias"], groups[1])
        evaluations = [one for one in of("phase", training=False) if not one.get("open")]
        check(sum(one["rows"] for one in evaluations) == facts["evaluated"], evaluations)
        check(all([other[0] for other in one["other"]] == ["body.3"] for one in evaluations), evaluations)
        operators = [one["name"] for part in of("operators") for one in part["of"]]
        check(operators == ["body.0", "body.1", "body.2", "body.3", "head"], operators)
        check(not any(one["kept"] for one in of("kept")), "kept gradients")
    with Place() as place:
        check(observed("scaler_cpu", place).returncode == 0, "scaler_cpu")
        (process_records,) = records(place).values()
        scales = [one for one in process_records if one["k"] == "scale"]
        check([one["n"] for one in scales if not one["applied"]] == [3, 8], scales)
        check([one["after"] for one in scales] == [1024, 1024, 512, 512, 512, 512, 1024, 512, 512, 512, 512, 1024],
              scales)
        steps = [one for one in process_records if one["k"] == "step"]
        check(len(steps) == 10 and all(0.5 < one["loss"] < 5 for one in steps), "losses are divided by the scale")
        check(all(one["backwards"] == 1 for one in steps), "a skipped step's backward counts for no other")


def level():
    """light: no fingerprint in any record, settings and steps all the same. --no-observe: no record at all."""
    with Place() as place:
        check(observed("plain", place, "--observe=light").returncode == 0, "light")
        text = "".join(json.dumps(one) for one in records(place).values())
        check('"xxh3"' not in text and '"values"' not in text and '"k": "weights"' not in text,
              "a fingerprint in light")
        check({"step", "optimizer", "group", "indices", "phase"} <= kinds(place), kinds(place))
    with Place() as place:
        check(observed("plain", place, "--no-observe").returncode == 0, "no-observe")
        check(not records(place), "records of --no-observe")
    with Place() as place:
        check(observed("plain", place, "--observe=much").returncode == 2, "a level that is none")


def way_in():
    """Each way enters: the audit hook under every flag, the folder on PYTHONPATH without the library, variables by
    hand."""
    for flags in ((), ("-S",), ("-E",), ("-I",), ("-O",), ("-W", "error::DeprecationWarning")):
        with Place() as place:
            script = os.path.join(place, "flags.py")
            with open(script, "w") as file:
                file.write("import sys; sys.path[:0] = [%r, '/usr/lib/python3/dist-packages']\n" % SCRIPTS)
                file.write(open(os.path.join(SCRIPTS, "plain.py")).read())
            done = observed(script, place, flags=flags)
            check(done.returncode == 0, (flags, done.stderr.decode()[-1500:]))
            begun = [one[0] for one in records(place).values()]
            check([one["how"] for one in begun] == ["audit-hook"], (flags, begun))
            check(not begun[0]["late"] and begun[0]["main"].endswith("flags.py"), begun)
    with Place() as place:
        shown = run([PARITECT, "observe", "env", "observe", "--format=env"], place)
        check(shown.returncode == 0, shown.stderr)
        variables = dict(line.split("=", 1) for line in shown.stdout.decode().splitlines())
        check(set(variables) == {"PYTHON_PARITECT_OBSERVE", "PYTHON_PARITECT_OBSERVER", "PYTHON_PARITECT_LEVEL",
                                 "PYTHONPATH",
                                 "LD_PRELOAD"}, variables)
        del variables["LD_PRELOAD"]
        variables["PYTHONPATH"] += ":" + SCRIPTS
        done = subprocess.run(command("plain"), cwd=place, env=dict(environment(), **variables), stdout=subprocess.PIPE)
        check(done.returncode == 0, "by hand")
        check([one[0]["how"] for one in records(place).values()] == ["sitecustomize"], "by sitecustomize")
    with Place() as place:
        shown = run(["sh", "-c", 'eval "$("$0" observe env)"; exec "$@"', PARITECT, *command("plain")], place)
        check(shown.returncode == 0, shown.stderr.decode()[-1000:])
        found = glob.glob(os.path.join(place, "paritect-observe", "*.jsonl"))
        check(len(found) == 1, found)


BREAKER = r'''
import sys, torch
guard = sys.modules["_paritect_observe.guard"]
def broken(look):
    def throw(*args):
        raise ValueError("no")
    return throw
original = guard.guarded
guard.guarded = lambda place, look, *args: original(place, broken(look), *args)
exec(compile(open(sys.argv[1]).read(), sys.argv[1], "exec"), {"__name__": "__main__"})
'''


def faults_inside():
    """Every hook throws: each site gives up after five faults with a word, and the bits are the same."""
    for name in ("plain", "lightning_like", "scaler_disabled"):
        with Place() as bare_place, Place() as place:
            bare = run(command(name), bare_place)
            script = os.path.join(place, "broken.py")
            with open(script, "w") as file:
                file.write(BREAKER)
            seen = run([PARITECT, "run", "--run", "x", "--agent", "none", "--no-trace", "--", interpreter(), script,
                        os.path.join(SCRIPTS, name + ".py")], place)
            check(seen.returncode == 0 and seen.stdout == bare.stdout, seen.stderr.decode()[-1500:])
            check({"error", "off"} <= kinds(place), kinds(place))
            check(not {"step", "weights"} & kinds(place), kinds(place))


def disk_full():
    """No room: by a limit of file sizes the training itself feels, and by a full file system where one can be
    mounted."""
    with Place() as bare_place, Place() as place:
        bare = run(command("plain"), bare_place)
        seen = run(["sh", "-c", "ulimit -f 8; exec \"$@\"", "sh", PARITECT, "run", "--run", "x", "--agent", "none",
                    "--no-trace",
                    "-o", "/dev/null", "--", *command("plain")], place)
        check(bare.stdout == seen.stdout, seen.stderr.decode()[-1500:])
        for path in glob.glob(os.path.join(place, "**", "*.jsonl"), recursive=True):
            check(os.path.getsize(path) <= 8192, os.path.getsize(path))


def folder_gone():
    """The folder is taken away before the first record, made a file, or may not be written."""
    for breaking in ("rmdir", "file", "mode"):
        with Place() as bare_place, Place() as place:
            bare = run(command("plain"), bare_place)
            folder = os.path.join(place, "observe")
            shown = run([PARITECT, "observe", "env", folder, "--format=env"], place)
            variables = dict(line.split("=", 1) for line in shown.stdout.decode().splitlines())
            variables["PYTHONPATH"] += ":" + SCRIPTS
            shutil.rmtree(folder)
            if breaking == "file":
                open(folder, "w").close()
            if breaking == "mode":
                os.mkdir(folder, 0o500)
            seen = subprocess.run(command("plain"), cwd=place, env=dict(environment(), **variables),
                                  stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE)
            check(seen.returncode == 0 and seen.stdout == bare.stdout, (breaking, seen.stderr.decode()[-1500:]))
            check(not seen.stderr, seen.stderr)


SLOW = r'''
import time, torch
from state_digest import Net, seed, small_data
seed(1)
model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
print("ready", flush=True)
while True:
    for x, y in torch.utils.data.DataLoader(small_data(), batch_size=16, shuffle=True, num_workers=1):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
'''


def killed():
    """SIGKILL in the midst: every line before is whole, nothing says that the process ended."""
    for before_kill in ("start", "step"):
        with Place() as place:
            script = os.path.join(place, "slow.py")
            with open(script, "w") as file:
                file.write(SLOW)
            shown = run([PARITECT, "observe", "env", "observe", "--format=env"], place)
            variables = dict(line.split("=", 1) for line in shown.stdout.decode().splitlines())
            variables["PYTHONPATH"] += ":" + SCRIPTS
            # A group of its own: a loader's worker whose parent was killed at a bad moment waits for it for ever, and
            # holds what it inherited open.
            training = subprocess.Popen([interpreter(), script], cwd=place, env=dict(environment(), **variables),
                                        stdout=subprocess.PIPE, start_new_session=True)
            training.stdout.readline()
            while before_kill == "step" and not any(one["k"] == "step" for lines in records(place).values()
                                                    for one in lines):
                check(training.poll() is None, "the training ended by itself")
                time.sleep(0.1)
            training.send_signal(signal.SIGKILL)
            training.wait()
            with contextlib.suppress(ProcessLookupError):
                os.killpg(training.pid, signal.SIGKILL)
            training.stdout.close()
            own = [one for path, one in records(place).items() if "-%d-" % training.pid in path]
            check(len(own) == 1 and own[0][0]["k"] == "begin", list(records(place)))
            check(not any(one["k"] == "end" for one in own[0]), "an end of a killed process")
            check(before_kill == "start" or any(one["k"] == "step" for one in own[0]), "a step that stood there is gone")


def forks():
    """Each forked child has a file of its own, which begins with whose child it is; those that do nothing have none."""
    same("forks")
    with Place() as place:
        check(observed("forks", place).returncode == 0, "forks")
        found = list(records(place).values())
        check(len(found) == 41, len(found))
        children = [one for one in found if one[0]["image"] == "fork"]
        main, = [one for one in found if one[0]["image"] == "exec"]
        check(len(children) == 40 and {one[0]["parent"]["pid"] for one in children} == {main[0]["pid"]}, "parents")
        for one in children:
            check([step["n"] for step in one if step["k"] == "step"] == [1, 2], one[0])


def torn_python():
    """An observer that does not compile, or whose folder is not there: no record, and the training as it would have
    been."""
    with Place() as bare_place, Place() as place:
        bare = run(command("plain"), bare_place)
        for broken in ("start.py", "paritect_observe/record.py", "paritect_observe/torch_steps.py", None):
            code = os.path.join(place, "observer")
            shutil.rmtree(code, ignore_errors=True)
            if broken is not None:
                shutil.copytree(os.path.join(BUILD, "observer"), code, ignore=shutil.ignore_patterns("__pycache__"))
                with open(os.path.join(code, broken), "a") as file:
                    file.write("\n)\n")
            more = {"PYTHON_PARITECT_OBSERVE": place, "PYTHON_PARITECT_OBSERVER": code,
                    "LD_PRELOAD": os.path.join(BUILD, "libparitect-trace.so")}
            seen = run(command("plain"), place, **more)
            check(seen.returncode == 0 and seen.stdout == bare.stdout, (broken, seen.stderr.decode()[-1500:]))


ODD_PROGRAMS = {
    "clock": "own = time.perf_counter\ndef odd():\n  if ours(): raise OSError\n  return own()\ntime.perf_counter = odd",
    "time": "own = time.time\ndef odd():\n  if ours(): raise OSError\n  return own()\ntime.time = odd",
    "json": "import json\ndef odd(*a, **k): raise ValueError\njson.dumps = odd",
    "memory": "import json\ndef odd(*a, **k): raise MemoryError\njson.dumps = odd",
    "grad": "own = torch.is_grad_enabled\ndef odd():\n  if ours(): raise RuntimeError\n  return own()\n"
            "torch.is_grad_enabled = odd",
    "numpy": "import numpy\ngetattr(numpy.random, 'set_bit_generator', id)(numpy.random.PCG64(3))",
    "random": "import random\nrandom.getstate = None",
    "modules": "for name in [n for n in sys.modules if n.startswith('_paritect')]: del sys.modules[name]",
    "finders": "sys.meta_path[:] = [one for one in sys.meta_path if 'Paritect' not in type(one).__name__]",
    "descriptors": "os.closerange(3, 4096)",
    "folder": "os.mkdir('gone')\nos.chdir('gone')\nos.rmdir('../gone')",
    "leaves": "import atexit\natexit.register(lambda: os._exit(7))",
}
ODD_BEGIN = r'''
import os, sys, time, torch
def ours(): return "paritect_observe" in sys._getframe(2).f_code.co_filename
'''
ODD_END = r'''
from state_digest import Net, small_data
torch.manual_seed(1)
model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for x, y in torch.utils.data.DataLoader(small_data(), batch_size=16, shuffle=True):
    optimizer.zero_grad()
    torch.nn.functional.cross_entropy(model(x), y).backward()
    optimizer.step()
print([value.double().sum().item().hex() for value in model.state_dict().values()], torch.rand(1).item().hex())
'''


def odd_programs():
    """Programs that replace what hooks stand on (clocks, the way to JSON, generators, modules, descriptors), and change
    nothing of the training: the same output and code as without an observer, and no word beside it."""
    with Place() as place:
        script, folder = os.path.join(place, "odd.py"), os.path.join(place, "observe")
        os.mkdir(folder)
        observer = {"PYTHON_PARITECT_OBSERVE": folder, "PYTHON_PARITECT_OBSERVER": os.path.join(BUILD, "observer"),
                    "LD_PRELOAD": os.path.join(BUILD, "libparitect-trace.so")}
        for name, text in dict({"": ""}, **ODD_PROGRAMS).items():
            with open(script, "w") as file:
                file.write(ODD_BEGIN + text + ODD_END)
            seen = run(command(script), place, **(observer if name else {}))
            bare = seen if not name else bare
            check((seen.stdout, seen.stderr) == (bare.stdout, b""), (name, bare, seen))
            check(seen.returncode == (7 if name == "leaves" else 0), (name, seen))


def in_evaluation_mode():
    """A model that is trained without ever being in training mode is recorded as any other, but for its operators."""
    with Place() as place:
        script = os.path.join(place, "train.py")
        with open(script, "w") as file:
            file.write(ODD_BEGIN + ODD_END.replace("Net()", "Net().eval()"))
        check(observed(script, place).returncode == 0, "in_evaluation_mode")
        check(not faults(place), faults(place))
        found, = records(place).values()
        check({"weights", "seeds", "flags", "grads", "update", "group"} <= {one["k"] for one in found}, "kinds")
        first = next(i for i, one in enumerate(found) if one["k"] == "weights")
        check(found[first]["at"] == 0 and first < [one["k"] for one in found].index("step"), found[first])
        names = {parameter[0] for one in found if one["k"] == "group" for parameter in one["params"]}
        check(names and None not in names, names)
        check([one["forwards"] for one in found if one["k"] == "step"][:3] == [1, 1, 1], "forwards")


INDICES = r'''
import sys, torch
if BOUND is not None: sys.modules["_paritect_observe.torch_data"].INDICES_KEPT_MAX = BOUND
model = torch.nn.Linear(4, 2)
loader = torch.utils.data.DataLoader(torch.randn(600, 4), batch_size=100, shuffle=True)
for epoch in range(3):
    for x in loader:
        model(x).sum().backward()
'''


def indices_kept():
    """The lists of later passes are whole too, as long as there is room for them."""
    for bound, wanted in ((None, [600, 600, 600]), (500, [600, 500, 300])):
        with Place() as place:
            script = os.path.join(place, "train.py")
            with open(script, "w") as file:
                file.write("BOUND = %s\n" % bound + INDICES)
            check(observed(script, place).returncode == 0, "indices_kept")
            found, = records(place).values()
            kept = [len(one["first"]) for one in found if one["k"] == "indices" and one["whole"]]
            check(kept == wanted and not faults(place), kept)


def standin(name):
    """Frameworks that are not installed here: modules of the same shape. The record says that the real one was not
    tried."""
    with Place() as place:
        shapes = os.path.join(os.path.dirname(SCRIPTS), "observer_standins")
        done = run([PARITECT, "run", "--run", "x", "--agent", "none", "--no-trace", "--", interpreter("numpy"),
                    os.path.join(SCRIPTS, name + "_like.py")], place, PYTHONPATH=shapes)
        check(done.returncode == 0 and b"digest" in done.stdout, done.stderr.decode()[-1500:])
        check(not faults(place), faults(place)[:5])
        all_records = [record for one in records(place).values() for record in one]
        introduced = [one for one in all_records if one["k"] == "framework"]
        check([(one["name"], one["tried"]) for one in introduced] == [(name, False)], introduced)
        wanted = {"settings", "optimizer", "scaler", "root", "modules", "parameters", "weights", "step", "end"}
        check(wanted <= kinds(place), sorted(wanted - kinds(place)))
        steps = [one["loss"] for one in all_records if one["k"] == "step"]
        check(len(steps) == {"mindspore": 4, "tensorflow": 3}[name] and all(type(one) is float for one in steps), steps)
        sources = {one["source"] for one in all_records if one["k"] == "settings"}
        expected = {"mindspore": {"mindspore.context", "mindspore.amp"},
                    "tensorflow": {"tf.mixed_precision", "tf.data", "tf.session-config", "keras.fit"}}[name]
        check(expected <= sources, sources)


FRAMEWORK = "def set_context(**settings):\n    return settings\n"
USER = "import mindspore\nmindspore.set_context(mode=1)\nprint('done')\n"
OWN_SITE = "print('own site')\n"


def pythons():
    """Each way in, under every Python that is here: 3.8 and later by the audit hook, 3.6 and 3.7 by the folder, which
    gives way to the program's own sitecustomize; 2.7 runs as if nothing were there."""
    found = sorted(glob.glob(os.path.expanduser("~/.pyenv/versions/*/bin/python")))
    found += ["/usr/bin/python3", sys.executable]
    for python in {os.path.realpath(one): one for one in found if os.path.exists(one)}.values():
        for way in ("audit-hook", "sitecustomize", "both"):
            one_python(python, way)


def one_python(python, way):
    version = subprocess.check_output([python, "-c",
                                       "import sys; print('%d.%d' % sys.version_info[:2])"]).decode().strip()
    number = tuple(int(part) for part in version.split("."))
    with Place() as place:
        for name, text in (("mindspore.py", FRAMEWORK), ("user.py", USER), ("sitecustomize.py", OWN_SITE)):
            with open(os.path.join(place, name), "w") as file:
                file.write(text)
        folder = os.path.join(place, "observe")
        os.mkdir(folder)
        more = {"PYTHON_PARITECT_OBSERVE": folder, "PYTHON_PARITECT_OBSERVER": os.path.join(BUILD, "observer")}
        more["PYTHONPATH"] = place if way == "audit-hook" else os.path.join(BUILD, "observer", "site") + ":" + place
        if way != "sitecustomize":
            more["LD_PRELOAD"] = os.path.join(BUILD, "libparitect-trace.so")
        done = run([python, os.path.join(place, "user.py")], place, **more)
        check(done.returncode == 0 and done.stdout == b"own site\ndone\n",
              (python, way, done.stdout, done.stderr[-800:]))
        enters = number >= (3, 8) if way == "audit-hook" else number >= (3, 6)
        check(len(records(place)) == enters, (python, way, list(records(place))))
        how = "audit-hook" if number >= (3, 8) and way != "sitecustomize" else "sitecustomize"
        check(all(one[0]["how"] == how and one[-1]["k"] == "end" for one in records(place).values()), (python, way))


def main():
    mode = sys.argv[2]
    if mode in ("same", "standin"):
        {"same": same, "standin": standin}[mode](sys.argv[3])
    else:
        {"level": level, "way_in": way_in, "faults": faults_inside, "disk_full": disk_full, "folder_gone": folder_gone,
         "killed": killed, "torn_python": torn_python, "forks": forks, "truth": truth, "pythons": pythons,
         "odd_programs": odd_programs, "in_evaluation_mode": in_evaluation_mode,
         "indices_kept": indices_kept}[mode]()


main()
