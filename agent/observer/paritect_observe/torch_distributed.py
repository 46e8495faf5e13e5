"""Process groups, wrappers, and how many collectives the default group has done."""
import sys

from . import describe, patch, process, record

WRAPS_MAX = 32
_wraps = 0


def initialised(token, result, args, kwargs):
    process.tell_rank()
    distributed = sys.modules.get("torch.distributed")
    record.write("process_group", backend=describe.value(distributed.get_backend()), rank=distributed.get_rank(),
                 world=distributed.get_world_size(), where=describe.where(),
                 init_method=describe.value(patch.argument(args, kwargs, 1, "init_method")))


def collectives():
    """The sequence number of the default group, which counts DDP's own all-reduces too; None: cannot be told."""
    distributed = sys.modules.get("torch.distributed.distributed_c10d")
    if distributed is None or not getattr(distributed, "is_initialized", bool)():
        return None
    try:
        return distributed._get_default_group()._get_sequence_number_for_group()
    except Exception:
        return None


def wrapped(kind):
    def look(token, result, args, kwargs):
        global _wraps
        _wraps += 1
        if _wraps > WRAPS_MAX:
            return
        inner = patch.argument(args, kwargs, 1, "module")
        arguments = describe.named_values(kwargs, 2, but=("module",))
        policy = kwargs.get("mixed_precision") or kwargs.get("mp_policy")
        for name, value in describe.attributes(policy).items():
            arguments["mixed_precision." + name] = describe.value(value)
        record.write("wrap", module=describe.dotted(type(inner)), arguments=arguments, where=describe.where(),
                     **{"class": kind})
    return look


def install():
    patch.around("torch.distributed.distributed_c10d:init_process_group", after=initialised,
                 also=("torch.distributed:init_process_group",))
    patch.around("torch.nn.parallel.distributed:DistributedDataParallel.__init__",
                 after=wrapped("DistributedDataParallel"))
    patch.around("torch.nn.parallel.data_parallel:DataParallel.__init__", after=wrapped("DataParallel"))
