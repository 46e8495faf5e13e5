"""The parts of the observer that need no framework.

    observer_modules_test.py FOLDER     the observer as the build has it
"""
import glob
import importlib.util
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import types
import unittest

FOLDER = sys.argv.pop(1)
PLACE = os.path.join(FOLDER, "paritect_observe")
SPEC = importlib.util.spec_from_file_location("_paritect_observe", os.path.join(PLACE, "__init__.py"),
                                              submodule_search_locations=[PLACE])
PACKAGE = importlib.util.module_from_spec(SPEC)
sys.modules["_paritect_observe"] = PACKAGE
SPEC.loader.exec_module(PACKAGE)
from _paritect_observe import describe, guard, patch, process, record, seed_places, sums, thin  # noqa: E402


def read(path):
    with open(path) as file:
        return file.read()


class WithFolder(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        record.writer = record.Writer(self.folder.name, lambda: {"format": process.FORMAT})

    def tearDown(self):
        record.writer = None
        self.folder.cleanup()

    def lines(self):
        found = glob.glob(os.path.join(self.folder.name, "*.jsonl"))
        return [json.loads(line) for path in found for line in read(path).splitlines()]


class RecordTest(WithFolder):
    def test_no_file_before_the_first_record(self):
        self.assertEqual(os.listdir(self.folder.name), [])
        record.write("seed", value=1)
        name, = os.listdir(self.folder.name)
        self.assertEqual(name, "%s-%d-%d.jsonl" % (os.uname().nodename, os.getpid(), record.process_start()))
        self.assertEqual([one["k"] for one in self.lines()], ["begin", "seed"])
        self.assertEqual(os.stat(os.path.join(self.folder.name, name)).st_mode & 0o777, 0o600)

    def test_what_json_lacks_becomes_words(self):
        record.write("step", loss=float("nan"), lr=[float("inf"), -float("inf")], text="\u00e9\n")
        self.assertEqual(self.lines()[1]["loss"], "nan")
        self.assertEqual(self.lines()[1]["lr"], ["inf", "-inf"])
        self.assertEqual(self.lines()[1]["text"], "\u00e9\n")

    def test_long_lists_come_in_parts(self):
        record.write_list("modules", (i for i in range(5)), 2, root=0, total=5)
        parts = [(one["from"], one["of"]) for one in self.lines()[1:]]
        self.assertEqual(parts, [(0, [0, 1]), (2, [2, 3]), (4, [4])])

    def test_an_empty_list_is_told(self):
        record.write_list("buffers", [], 2, root=0, total=0)
        self.assertEqual(self.lines()[1]["of"], [])

    def test_a_closed_descriptor_is_opened_again_and_a_reused_one_left_alone(self):
        record.write("seed", value=1)
        number = record.writer.descriptor
        os.close(number)
        other = os.open(os.path.join(self.folder.name, "user"), os.O_WRONLY | os.O_CREAT)
        os.dup2(other, number)
        record.write("seed", value=2)
        self.assertEqual(os.path.getsize(os.path.join(self.folder.name, "user")), 0)
        self.assertEqual([one.get("value") for one in self.lines()], [None, 1, 2])
        os.close(number)
        os.close(other)

    def test_beyond_its_bound_a_file_is_full(self):
        record.write("seed", value=1)
        record.writer.bytes = record.BYTES_MAX
        record.write("seed", value=2)
        record.write("seed", value=3)
        record.write("end", why="exit")
        self.assertEqual([one["k"] for one in self.lines()], ["begin", "seed", "full", "end"])

    def test_a_line_that_is_too_long_counts_as_lost(self):
        record.write("seed", value="x" * (record.LINE_BYTES_MAX + 1))
        record.write("seed", value=2)
        self.assertEqual([one["k"] for one in self.lines()], ["begin", "lost", "seed"])

    def test_a_cut_line_does_not_spoil_the_next(self):
        record.write("seed", value=1)
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (record.writer.bytes + 10, hard))
        try:
            record.write("seed", value=2)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
            signal.signal(signal.SIGXFSZ, ignored)
        record.write("seed", value=3)
        path, = glob.glob(os.path.join(self.folder.name, "*.jsonl"))
        lines = read(path).split("\n")
        self.assertEqual([json.loads(lines[i]).get("value") for i in (1, 4)], [1, 3])
        self.assertEqual(json.loads(lines[3]), {"k": "lost", "t": json.loads(lines[3])["t"], "count": 1})

    def test_where_there_is_no_folder_nothing_happens_and_it_gives_up(self):
        record.writer = record.Writer(os.path.join(self.folder.name, "gone"), lambda: {})
        for _ in range(record.REFUSALS_MAX + 5):
            record.write("seed", value=1)
        self.assertGreaterEqual(record.writer.refusals, record.REFUSALS_MAX)
        self.assertLess(record.writer.refusals, record.REFUSALS_MAX + 3)

    def test_links_are_not_followed(self):
        target = os.path.join(self.folder.name, "target")
        name = "%s-%d-%d.jsonl" % (os.uname().nodename, os.getpid(), record.process_start())
        os.symlink(target, os.path.join(self.folder.name, name))
        record.write("seed", value=1)
        self.assertFalse(os.path.exists(target))

    def test_a_forked_child_has_a_file_of_its_own(self):
        record.write("seed", value=1)
        child = os.fork()
        if child == 0:
            record.write("seed", value=2)  # of the parent's writer: nothing
            process.forked()
            record.write("seed", value=3)
            os._exit(0)
        os.waitpid(child, 0)
        self.assertEqual(len(os.listdir(self.folder.name)), 2)
        self.assertEqual(sorted(one["value"] for one in self.lines() if one["k"] == "seed"), [1, 3])


class GuardTest(WithFolder):
    def test_faults_stay_in_and_five_of_them_end_a_site(self):
        place = guard.Site("here")

        def look():
            raise ValueError("no")
        for _ in range(8):
            self.assertIsNone(guard.guarded(place, look))
        self.assertEqual(place.calls, guard.FAULTS_MAX)
        kinds = [one["k"] for one in self.lines()]
        self.assertEqual(kinds, ["begin"] + ["error"] * 5 + ["off"])
        self.assertIn("observer_modules_test.py", self.lines()[1]["line"])

    def test_an_interrupt_passes_and_the_next_hook_runs(self):
        place = guard.Site("here")

        def interrupted():
            raise KeyboardInterrupt
        with self.assertRaises(KeyboardInterrupt):
            guard.guarded(place, interrupted)
        self.assertEqual(guard.guarded(place, lambda: 5), 5)

    def test_no_hook_within_a_hook(self):
        place = guard.Site("here")
        self.assertIsNone(guard.guarded(place, lambda: guard.guarded(place, lambda: 1)))

    def test_a_record_that_cannot_be_written_is_no_fault_of_the_site(self):
        record.writer.folder = "/proc/nowhere"
        place = guard.Site("here")
        guard.guarded(place, lambda: record.write("seed", value=1))
        self.assertEqual(place.faults, 0)


class Touchy(object):
    def __init__(self):
        self.inner, self.api_key, self.words = [1, 2.5, None], "s3cret", "x" * 200

    def __getattr__(self, name):
        raise RuntimeError("hands off")

    def __repr__(self):
        raise RuntimeError("hands off")

    def __len__(self):
        raise RuntimeError("hands off")

    __eq__ = __hash__ = __bool__ = __len__


class DescribeTest(unittest.TestCase):
    def test_nothing_of_an_object_is_called(self):
        found = describe.describe(Touchy())
        self.assertEqual(found["attributes"], {"inner": [1, 2.5, None], "api_key": "***", "words": {"length": 200}})
        self.assertEqual(describe.value(Touchy()), "<__main__.Touchy>")

    def test_bounds(self):
        loop = types.SimpleNamespace()
        loop.self = loop
        deep = types.SimpleNamespace(a=types.SimpleNamespace(b=types.SimpleNamespace(c=loop)))
        self.assertLess(len(json.dumps(describe.describe(deep))), 5000)
        wide = types.SimpleNamespace(**{"n%d" % i: "text %d" % i for i in range(10000)})
        self.assertLess(len(json.dumps(describe.describe(wide))), 3 * describe.OBJECT_BYTES_MAX)
        self.assertEqual(describe.value(list(range(1000))), {"length": 1000})
        self.assertEqual(len(describe.text("x" * 1000)), describe.TEXT_MAX)

    def test_secrets(self):
        self.assertEqual(describe.text("https://user:word@host/x"), "https://***@host/x")
        self.assertEqual(describe.named_values({"hf_token": "a", "tokenizer": "b", "password": "c"}),
                         {"hf_token": "***", "tokenizer": "b", "password": "***"})

    def test_names_that_are_no_text_and_bytes_that_are_no_utf8(self):
        self.assertEqual(describe.named_values({1: 2, "a": 3}), {"a": 3})
        json.dumps(describe.text("\udcff")).encode("utf-8")


class PatchTest(WithFolder):
    def module(self):
        module = types.ModuleType("observed_module")

        def work(a, b=2):
            "says what it does"
            if a < 0:
                raise KeyError(a)
            return a + b
        work.__module__, work.__qualname__ = "observed_module", "work"
        module.work = work
        module.exported = work
        sys.modules["observed_module"] = module
        return module

    def test_a_replaced_function_is_what_it_was(self):
        import inspect
        import pickle
        module, seen = self.module(), []
        original = module.work
        self.assertTrue(patch.around("observed_module:work", before=lambda a, k: seen.append((a, k)),
                                     after=lambda t, r, a, k: seen.append(r),
                                     failed=lambda t, e, a, k: seen.append(type(e)),
                                     also=("observed_module:exported",)))
        self.assertIs(module.work, module.exported)
        self.assertEqual(module.work(1, b=5), 6)
        with self.assertRaises(KeyError):
            module.work(-1)
        self.assertEqual(seen, [((1,), {"b": 5}), 6, ((-1,), {}), KeyError])
        self.assertEqual(inspect.signature(module.work), inspect.signature(original))
        self.assertEqual((module.work.__doc__, module.work.__name__), (original.__doc__, "work"))
        self.assertIs(pickle.loads(pickle.dumps(module.work)), module.work)

    def test_methods_that_a_module_exports_can_still_be_pickled(self):
        import pickle
        module = self.module()

        class Generator(object):
            def seed(self, value):
                return value
        Generator.__module__ = "observed_module"
        module.seed = Generator().seed  # as random.seed is
        patch.around("observed_module:seed")
        self.assertIs(pickle.loads(pickle.dumps(module.seed)), module.seed)
        self.assertEqual(module.seed(3), 3)

    def test_twice_is_once(self):
        module, seen = self.module(), []
        for _ in range(2):
            patch.around("observed_module:work", before=lambda a, k: seen.append(a))
        module.work(1)
        self.assertEqual(len(seen), 1)

    def test_what_a_version_lacks_is_told(self):
        self.module()
        self.assertFalse(patch.around("observed_module:nothing"))
        self.assertIn("observed_module.nothing", patch.missing)


class ThinTest(unittest.TestCase):
    def test_three_days_of_steps_fit(self):
        steps = int(72 * 3600 / 0.015)
        written = sum(1 for n in range(1, 1000001) if thin.step(n)) + (steps - 1000000) // 5000
        self.assertLess(written * 600, record.BYTES_MAX / 4)
        self.assertTrue(all(thin.step(n) for n in range(1, 21)))

    def test_series(self):
        self.assertEqual([n for n in range(1, 600) if thin.series(n)], [1, 2, 5, 10, 20, 50, 100, 200, 500])
        self.assertEqual([n for n in range(1, 2000) if thin.power(n)], [1, 10, 100, 1000])

    def test_once(self):
        once = thin.Once(2)
        self.assertEqual([once.first(x) for x in "aabbc"], [True, False, True, False, False])


class SeedPlacesTest(WithFolder):
    def seeds(self):
        return [(one["value"], one.get("calls"), one.get("varies"), one.get("last")) for one in self.lines()
                if one["k"] == "seed"]

    def test_a_data_set_that_seeds_at_each_sample_is_one_place(self):
        places = seed_places.SeedPlaces()
        for n in range(1234):
            places.called("torch.manual_seed", n, "data.py:5")
        places.called("torch.manual_seed", 7, "train.py:1")
        places.end()
        self.assertEqual(self.seeds(), [(0, None, None, None), (0, 2, True, 1), (0, 10, True, 9), (0, 100, True, 99),
                                        (0, 1000, True, 999), (7, None, None, None), (0, 1234, True, 1233)])

    def test_the_same_seed_again_and_again(self):
        places = seed_places.SeedPlaces()
        for _ in range(3):
            places.called("random.seed", 1, "train.py:1")
        places.end()
        places.end()
        self.assertEqual(self.seeds(), [(1, None, None, None), (1, 3, False, 1)])

    def test_places_are_bounded(self):
        places = seed_places.SeedPlaces()
        for n in range(3 * seed_places.PLACES_MAX):
            places.called("random.seed", 1, "train.py:%d" % n)
        places.end()
        self.assertEqual(len(self.seeds()), seed_places.PLACES_MAX)


class SumsTest(unittest.TestCase):
    def test_signs(self):
        import base64
        self.assertEqual(base64.b64decode(sums.signs([1.0, -1.0, 0.0, 2.0, float("nan"), -5.0])),
                         bytes([0b01001001, 0b1000]))

    def test_known_values(self):
        import array
        values = array.array("f", [1.0, -2.0, 0.5, 0.0] * 8)
        address, count = values.buffer_info()
        found = sums.fields("F32", address, count, sums.WEIGHTS)
        self.assertEqual((found["sum"], found["sum_of_squares"], found["zero"], found["min"]), (-4.0, 42.0, 8, -2.0))
        self.assertEqual(len(found["xxh3"]), 32)
        small = sums.fields("F32", address, 4, sums.DATA, small=True)
        self.assertEqual(sorted(small), ["values", "xxh3"])
        self.assertEqual(sums.fields("Q4", address, 4, sums.DATA), {"problem": "type"})


class StartTest(unittest.TestCase):
    """The finder, in a process of its own."""

    def run_python(self, text, **variables):
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "mindspore.py"), "w") as file:
                file.write("def set_context(**k): return k\n")
            environment = dict(os.environ, PYTHON_PARITECT_OBSERVE=folder, PYTHON_PARITECT_OBSERVER=FOLDER,
                               PYTHONPATH=os.path.join(FOLDER, "site") + ":" + folder)
            environment.update(variables)
            done = subprocess.run([sys.executable, "-c", text], env=environment, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT)
            return done.stdout.decode(), [name for name in os.listdir(folder) if name.endswith(".jsonl")]

    def test_loaders_and_paths_are_what_they_were(self):
        said, files = self.run_python(
            "import sys, mindspore, importlib.machinery as m\n"
            "print(type(mindspore.__loader__) is m.SourceFileLoader, 'exec_module' in vars(mindspore.__loader__))\n"
            "print(any('observer' in place for place in sys.path), 'HOW' in dir(sys.modules['__main__']))\n")
        self.assertEqual(said.split(), ["True", "False", "False", "False"])
        self.assertEqual(files, [])

    def test_a_framework_that_fails_and_is_imported_again(self):
        said, files = self.run_python(
            "import sys, builtins\n"
            "open(sys.path[1] + '/tensorflow.py', 'w').write('import builtins; builtins.ready')\n"
            "try:\n  import tensorflow\nexcept AttributeError: print('failed')\n"
            "builtins.ready = 1\nimport tensorflow\nprint('there')\n"
            "import mindspore; mindspore.set_context(mode=1)\n")
        self.assertEqual(said.split(), ["failed", "there"])
        self.assertEqual(len(files), 1)

    def test_without_the_variables_nothing_is_there(self):
        said, files = self.run_python("import sys; print([type(f).__name__ for f in sys.meta_path][0])",
                                      PYTHON_PARITECT_OBSERVER="")
        self.assertNotIn("ParitectFinder", said)


if __name__ == "__main__":
    unittest.main()
