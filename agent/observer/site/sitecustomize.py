"""The second way in: this folder stands before PYTHONPATH. Starts the observer, then gives way to the sitecustomize
that it hides. Written for every Python, for it runs in every Python of the job."""
import sys


def _start():
    import os
    folder = os.environ.get("PYTHON_PARITECT_OBSERVER")
    if folder and sys.version_info >= (3, 6):
        with open(os.path.join(folder, "start.py"), "rb") as source:
            code = compile(source.read(), source.name, "exec")
        exec(code, {"__name__": "_paritect_start", "HOW": "sitecustomize"})


def _give_way():
    """Imports the next sitecustomize; its exceptions are its own. Without one this module stays, as site expects."""
    import os
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [place for place in sys.path if os.path.abspath(place or os.curdir) != here]
    own = sys.modules.pop("sitecustomize", None)
    try:
        __import__("sitecustomize")
    except ImportError as error:
        if getattr(error, "name", "sitecustomize") != "sitecustomize" or "sitecustomize" not in str(error):
            raise
    finally:
        if "sitecustomize" not in sys.modules and own is not None:
            sys.modules["sitecustomize"] = own


try:
    _start()
except Exception:
    pass
_give_way()
