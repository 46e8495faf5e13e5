"""The program's objects as JSON, without calling anything of theirs: attributes come from __dict__, kinds from
type()."""
import os
import re
import sys

TEXT_MAX = 300
DEPTH_MAX = 6
ITEMS_MAX = 32
OBJECT_BYTES_MAX = 16 << 10
FRAMES_MAX = 40

DTYPES = {"float32": "F32", "float64": "F64", "float16": "F16", "bfloat16": "BF16", "int64": "I64", "int32": "I32",
          "int16": "I16", "int8": "I8", "uint8": "U8", "uint16": "U16", "uint32": "U32", "uint64": "U64",
          "bool": "BOOL",
          "complex64": "C64", "complex128": "C128", "float8_e4m3fn": "F8_E4M3", "float8_e5m2": "F8_E5M2",
          "float8_e4m3fnuz": "F8_E4M3FNUZ", "float8_e5m2fnuz": "F8_E5M2FNUZ"}
SECRET_NAME = re.compile(r"(?i)pass(word|wd|phrase)|secret|token$|_token|credential|(api|access|private)_?key|auth")
SECRET_IN_URL = re.compile(r"://[^/@\s]+@")
OBSERVER_FOLDER = os.path.dirname(os.path.abspath(__file__)) + os.sep
_framework_folders = [OBSERVER_FOLDER]


def text(value):
    """Valid UTF-8 of bounded length; users and passwords in URLs masked."""
    cut = value if len(value) <= TEXT_MAX else value[:TEXT_MAX - 3] + "..."
    return SECRET_IN_URL.sub("://***@", cut.encode("utf-8", "replace").decode("utf-8"))


def dtype(value):
    """Words of safetensors; what they lack under its own name."""
    name = str(value).rpartition(".")[2]
    return DTYPES.get(name, name)


def dotted(kind):
    """The name of a class or function: "torch.optim.adam.Adam"."""
    module = getattr(kind, "__module__", None)
    name = getattr(kind, "__qualname__", None) or getattr(kind, "__name__", None)
    if not isinstance(name, str):
        return type(kind).__name__
    return text("%s.%s" % (module, name) if isinstance(module, str) and module != "builtins" else name)


def attributes(thing):
    """Its instance attributes; {}: it has none that can be read without its help."""
    try:
        found = object.__getattribute__(thing, "__dict__")
    except Exception:
        return {}
    return found if type(found) is dict else {}


def is_kind(thing, kind):
    return issubclass(type(thing), kind)


def length(thing):
    """len() of containers of Python's own; None of anything else."""
    return len(thing) if type(thing) in (list, tuple, dict, set, frozenset, str, bytes, range) else None


def value(thing, depth=3):
    """Numbers, texts, booleans, None, lists and maps of such; of anything else the name of its class."""
    if thing is None or type(thing) in (bool, int, float):
        return thing if type(thing) is not int or abs(thing) < 1 << 63 else str(thing)[:80]
    if type(thing) is str:
        return text(thing)
    if isinstance(thing, type) or type(thing).__name__ in ("function", "builtin_function_or_method", "method"):
        return dotted(thing)
    module = type(thing).__module__
    if module == "torch" and type(thing).__name__ in ("dtype", "device", "Size", "memory_format", "layout"):
        return list(thing) if type(thing).__name__ == "Size" else \
            dtype(thing) if type(thing).__name__ == "dtype" else str(thing)
    return compound(thing, depth)


def compound(thing, depth):
    if type(thing) in (list, tuple, set, frozenset):
        if depth <= 0 or len(thing) > ITEMS_MAX:
            return {"length": len(thing)}
        return [value(one, depth - 1) for one in thing]
    if type(thing) is dict or type(thing).__name__ in ("OrderedDict", "defaultdict"):
        return named_values(thing, depth - 1) if depth > 0 else {"length": len(thing)}
    if hasattr(type(thing), "__members__"):  # an enumeration
        return text("%s.%s" % (type(thing).__name__, attributes(thing).get("_name_", "")))
    number = plain_number(thing)
    return "<%s>" % dotted(type(thing)) if number is None else number


def plain_number(thing):
    """Of a scalar that lies in host memory."""
    kind = type(thing)
    if kind.__module__ == "numpy" and kind.__name__.startswith(("float", "int", "uint", "bool")):
        return thing.item()
    torch = sys.modules.get("torch")
    if torch is None or not hasattr(torch, "Tensor") or not issubclass(kind, torch.Tensor):
        return None
    if thing.device.type == "cpu" and thing.numel() == 1 and not thing.is_complex():
        return thing.detach().item()
    return "tensor"


def named_values(mapping, depth=3, but=()):
    """{name: value}; values under names of secrets are masked."""
    out = {}
    for name in list(mapping)[:4 * ITEMS_MAX]:
        if type(name) is str and name not in but:
            out[text(name)] = "***" if SECRET_NAME.search(name) else value(mapping[name], depth)
    return out


def function(thing):
    """{"function": dotted name, "line": where it stands}; None: it is none."""
    if type(thing).__name__ == "partial":
        inner = function(thing.func)
        return None if inner is None else dict(inner, arguments=named_values(thing.keywords or {}, 2))
    code = getattr(thing, "__code__", None) if type(thing).__name__ in ("function", "method") else None
    if code is None:
        return {"function": dotted(thing)} if type(thing).__name__ == "builtin_function_or_method" else None
    return {"function": dotted(thing), "line": code.co_firstlineno}


class Describer(object):
    """One object with those inside it, to a number of bytes."""

    def __init__(self):
        self.left = OBJECT_BYTES_MAX
        self.above = []

    def describe(self, thing, depth=DEPTH_MAX):
        if self.left <= 0:
            return {"cut": True}
        out = {"class": dotted(type(thing))}
        inner = {}
        self.above.append(id(thing))
        for name, one in list(attributes(thing).items())[:4 * ITEMS_MAX]:
            if type(name) is str and not name.startswith("__") and self.left > 0:
                inner[text(name)] = "***" if SECRET_NAME.search(name) else self.inner(one, depth - 1)
                self.left -= len(name) + 8
        self.above.pop()
        if inner:
            out["attributes"] = inner
        if self.left <= 0:
            out["cut"] = True
        return out

    def inner(self, thing, depth):
        if type(thing) in (list, tuple) and 0 < len(thing) <= ITEMS_MAX and depth > 0:
            return [self.inner(one, depth) for one in thing]
        found = function(thing)
        if found is None and depth > 0 and self.is_object(thing):
            return self.describe(thing, depth)
        found = value(thing, 2) if found is None else found
        if type(found) is str and len(found) > 100 and os.sep not in found:
            found = {"length": len(thing)}  # it may be data
        self.left -= len(str(found))
        return found

    def is_object(self, thing):
        if id(thing) in self.above or isinstance(thing, type) or hasattr(type(thing), "__members__"):
            return False
        kind = type(thing)
        if kind.__module__ in ("builtins", "numpy", "torch", "collections", "pandas.core.frame", "re", "io", "_io"):
            return False
        return kind.__name__ != "module" and bool(attributes(thing))


def describe(thing):
    """An object as docs/observer.md has it; None of None."""
    return None if thing is None else Describer().describe(thing)


def framework_at(path):
    """Frames in this folder are never the user's."""
    if path:
        _framework_folders.append(os.path.dirname(os.path.abspath(path)) + os.sep)


def called_by_framework():
    """Whether the call that is looked at comes from the framework's own code."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(OBSERVER_FOLDER):
        frame = frame.f_back
    return frame is not None and frame.f_code.co_filename.startswith(tuple(_framework_folders))


def where():
    """FILE:LINE of the user's innermost frame."""
    frame = sys._getframe(1)
    for _ in range(FRAMES_MAX):
        if frame is None:
            break
        path = frame.f_code.co_filename
        if not path.startswith(tuple(_framework_folders)) and not path.startswith("<frozen") and \
                not path.endswith(("/contextlib.py", "/functools.py")):
            return text("%s:%d" % (path, frame.f_lineno))
        frame = frame.f_back
    return None
