"""How a framework other than torch is introduced in the record."""
from . import describe, patch, record


def introduce(name, module, tried=False, missing=None):
    """Written with the first evidence. `tried`: whether these hooks were ever run on the real one."""
    record.introduce(lambda: {"name": name, "version": describe.value(str(getattr(module, "__version__", ""))),
                              "tried": tried, "file": describe.text(getattr(module, "__file__", "") or ""),
                              "patched": patch.count, "missing": list(patch.missing if missing is None else missing),
                              "details": {}})
