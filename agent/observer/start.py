"""Runs at the start of every Python process below `paritect run`: waits for a framework, and only then loads the
observer.

Executed as text, by the preload library (at the first `import` of the interpreter) or by site/sitecustomize.py; `HOW`
is then set. Nothing of it stays visible to the program but one entry of sys.meta_path. It must stay small: helpers,
compilers and data-loader workers run it too.
"""
import sys

try:
    from posix import environ as _environ
except ImportError:
    _environ = {}

# Modules after whose import there may be something to look at.
FRAMEWORKS = ("torch", "mindspore", "tensorflow")
COMPANIONS = ("torch_npu", "torch._dynamo", "torch.distributed.fsdp", "torch.distributed._composable.fsdp", "apex.amp",
              "deepspeed", "keras", "numpy.random", "safetensors.torch", "mindspore.dataset", "npu_device", "npu_bridge")


class ParitectFinder(object):
    """In front of the other finders: tells when one of the modules above has been imported, and finds none itself."""

    def __init__(self, folder, how):
        self.folder = folder
        self.how = how
        self.looking = set()
        self.observer = None

    def find_spec(self, name, path=None, target=None):
        if name not in FRAMEWORKS and name not in COMPANIONS or name in self.looking:
            return None
        self.looking.add(name)
        try:
            return self.watched(name, path, target)
        except ImportError:
            raise
        except Exception:
            return None
        finally:
            self.looking.discard(name)

    def watched(self, name, path, target):
        for finder in sys.meta_path:
            find = getattr(finder, "find_spec", None)
            spec = find(name, path, target) if find is not None and finder is not self else None
            if spec is not None:
                self.watch(name, spec.loader)
                return spec
        return None

    def watch(self, name, loader):
        """Only this one loader object changes, and only until its module runs: type checks of loaders go on to hold."""
        original = loader.exec_module

        def exec_module(module):
            try:
                del loader.exec_module
            except AttributeError:
                pass
            original(module)
            self.imported(name, module)

        loader.exec_module = exec_module

    def imported(self, name, module, late=False):
        try:
            if self.observer is None and name in FRAMEWORKS:
                self.observer = self.load()
                self.observer.begin(self.how, late)
            if self.observer is not None:
                self.observer.imported(name, module)
        except Exception:
            pass  # an observer that cannot start leaves no record, and that is told by its absence

    def load(self):
        import importlib.util
        place = self.folder + "/paritect_observe"
        spec = importlib.util.spec_from_file_location("_paritect_observe", place + "/__init__.py",
                                                      submodule_search_locations=[place])
        module = importlib.util.module_from_spec(spec)
        sys.modules["_paritect_observe"] = module
        spec.loader.exec_module(module)
        return module


def start(how):
    if sys.version_info < (3, 6) or b"PYTHON_PARITECT_OBSERVE" not in _environ:
        return
    folder = _environ.get(b"PYTHON_PARITECT_OBSERVER")
    if not folder or any(type(finder).__name__ == "ParitectFinder" for finder in sys.meta_path):
        return
    finder = ParitectFinder(folder.decode(sys.getfilesystemencoding(), "surrogateescape"), how)
    sys.meta_path.insert(0, finder)
    for name in FRAMEWORKS:
        if name in sys.modules:
            finder.imported(name, sys.modules[name], late=True)


start(HOW)  # noqa: F821: set by who executes this
