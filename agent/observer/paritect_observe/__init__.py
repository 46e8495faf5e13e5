"""What a training process did, as JSON lines (docs/observer.md has the form).

Loaded by ../start.py when a framework has been imported. Rules that all parts keep to:

* Hooks run under guard.guarded: no exception leaves them, no hook fires within a hook, a site that fails five times is
  off.
* Nothing of the user's is called: attributes are read from __dict__, kinds are told by type().
* No random numbers are drawn, no loader is iterated, no device is initialised.
* No value of a device is read in a step: deferred.py. The steps with fingerprints (the first two) are the exception.
* Functions are replaced where they are defined and where they are exported, under their own name and signature;
  nothing is attached to objects of the user, so that pickles, copies and checkpoints stay what they were.
"""
import sys

from . import process, record


def begin(how, late):
    process.begin(how, late)


def imported(name, module):
    """`module` has just been imported whole."""
    if record.writer is None:
        return
    if name == "torch":
        from . import torch_hooks
        torch_hooks.install(module)
    elif name.startswith("torch") or name in ("apex.amp", "deepspeed", "safetensors.torch"):
        from . import companion_hooks
        companion_hooks.install(name, module)
    elif name == "numpy.random":
        generators = sys.modules.get(__name__ + ".generators")  # where torch is hooked
        if generators is not None:
            generators.watch_numpy()
    elif name.startswith("mindspore"):
        from . import mindspore_hooks
        mindspore_hooks.install(name, module)
    elif name in ("tensorflow", "keras"):
        from . import tensorflow_hooks
        tensorflow_hooks.install(name, module)
