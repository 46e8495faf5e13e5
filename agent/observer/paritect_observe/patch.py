"""Replaces functions of a framework by ones that look before and after, and otherwise are what they were."""
import functools
import sys

from . import guard

count = 0
missing = []
compiling = None  # torch.compiler.is_compiling, where it is there: a constant for the compiler, so that it sees no more


def never():
    return False


def find(path):
    """(owner, name, value) of "package.module:Class.name"; None: not in this version."""
    module, _, names = path.partition(":")
    owner = sys.modules.get(module)
    parts = names.split(".")
    for part in parts[:-1]:
        owner = getattr(owner, part, None)
    value = getattr(owner, parts[-1], None) if owner is not None else None
    return None if value is None else (owner, parts[-1], value)


def around(path, before=None, after=None, failed=None, also=(), instead=(), wanted=None):
    """Looks at the calls of one function.

    before(args, kwargs) -> token; after(token, result, args, kwargs); failed(token, exception, args, kwargs), all
    guarded. `also`: names under which it is exported. `instead`: where it stood in other versions, the first that is
    there counts. `wanted`: tells, without fail, whether there is anything to look at afterwards; else always.
    """
    found = next((one for one in map(find, (path,) + tuple(instead)) if one is not None), None)
    if found is None:
        missing.append(path.replace(":", "."))
        return False
    owner, name, original = found
    if getattr(original, "_paritect_observed", False):
        return True
    replacement = looking(guard.site(path.partition(":")[2]), original, before, after, failed, wanted)
    put(owner, name, replacement)
    for place in also:
        exported = find(place)
        if exported is not None and exported[2] is original:
            put(exported[0], exported[1], replacement)
    return True


def put(owner, name, replacement):
    global count
    static = isinstance(owner, type) and isinstance(owner.__dict__.get(name), staticmethod)
    setattr(owner, name, staticmethod(replacement) if static else replacement)
    count += 1
    if type(owner) is type(sys) and (find(name_of(replacement)) or (None,))[-1] is not replacement:
        # A method of an object that the module exports (random.seed): pickled by the name under which it stands here.
        replacement.__module__, replacement.__qualname__ = owner.__name__, name


def name_of(function):
    return "%s:%s" % (getattr(function, "__module__", None), getattr(function, "__qualname__", None))


def counting(path, count):
    """Calls `count` before each call of a function: it cannot fail, and runs nothing of the framework."""
    found = find(path)
    if found is None:
        missing.append(path.replace(":", "."))
    elif not getattr(found[2], "_paritect_observed", False):
        put(found[0], found[1], counted(found[2], count))


def counted(original, count):
    is_compiling = compiling or never

    @functools.wraps(original)
    def observed(*args, **kwargs):
        if not is_compiling():
            count()
        return original(*args, **kwargs)

    observed._paritect_observed = True
    return observed


def looking(site, original, before, after, failed, wanted=None):
    is_compiling = compiling or never

    @functools.wraps(original)
    def observed(*args, **kwargs):
        if is_compiling():
            return original(*args, **kwargs)
        token = guard.guarded(site, before, args, kwargs) if before is not None else None
        try:
            result = original(*args, **kwargs)
        except BaseException as error:
            if failed is not None:
                guard.guarded(site, failed, token, error, args, kwargs)
            raise
        if after is not None and (wanted is None or wanted()):
            guard.guarded(site, after, token, result, args, kwargs)
        return result

    observed._paritect_observed = True
    return observed


def argument(args, kwargs, place, name, default=None):
    if name in kwargs:
        return kwargs[name]
    return args[place] if len(args) > place else default
