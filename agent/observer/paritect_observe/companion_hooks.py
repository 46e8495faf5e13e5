"""What comes beside torch: the NPU plug-in, dynamo, FSDP, apex, DeepSpeed, safetensors. apex, DeepSpeed and the NPU
plug-in are hooked as their sources have it and were not tried."""
import sys

from . import describe, guard, patch, record
from .companions import introduce
from .torch_distributed import wrapped
from .torch_model import MODELS
from .torch_state import STATE

CONFIGURATION_MAX = 400


def install(name, module):
    described = INSTALLERS.get(name)
    if described is not None:
        guard.guarded(guard.site("import of " + name), described, module)


def dynamo(module):
    """The compiler is to run our hooks as they are, not to look into them."""
    if getattr(module, "disable", None) is not None:
        guard.guarded = module.disable(guard.guarded)
    if patch.compiling is None:
        patch.compiling = getattr(module, "is_compiling", None)


def fsdp(module):
    for path in ("torch.distributed.fsdp.fully_sharded_data_parallel:FullyShardedDataParallel",):
        found = patch.find(path)
        if found is not None:
            MODELS.override(found[2])
            patch.around(path + ".__init__", after=wrapped("FullyShardedDataParallel"))
    if hasattr(module, "fully_shard"):
        patch.around(module.__name__ + ":fully_shard", after=sharded)


def sharded(token, result, args, kwargs):
    policy = describe.attributes(kwargs.get("mp_policy"))
    arguments = describe.named_values(kwargs, 2, but=("mp_policy", "module"))
    arguments.update({"mixed_precision." + name: describe.value(value) for name, value in policy.items()})
    record.write("wrap", module=describe.dotted(type(args[0])), arguments=arguments, where=describe.where(),
                 **{"class": "fully_shard"})


def npu(module):
    """Its own classes are hooked when instances are made; here only what it is."""
    describe.framework_at(getattr(module, "__file__", None))

    def fields():
        details = {}
        core = getattr(module, "_C", None)
        if getattr(getattr(sys.modules["torch"], "npu", None), "is_initialized", bool)():
            for name, function, arguments in (("cann", "_get_cann_version", ("CANN",)),
                                              ("soc", "_npu_get_soc_version", ())):
                try:
                    details[name] = describe.value(getattr(core, function)(*arguments))
                except Exception:
                    pass
        return {"name": "torch_npu", "version": describe.value(str(getattr(module, "__version__", ""))), "tried": False,
                "file": describe.text(getattr(module, "__file__", "") or ""), "patched": 0, "missing": [],
                "details": details}

    record.introduce(fields)


def apex(module):
    describe.framework_at(getattr(module, "__file__", None))
    introduce("apex", sys.modules.get("apex"))
    patch.around("apex.amp.frontend:initialize", before=apex_options, also=("apex.amp:initialize",))
    patch.around("apex.amp.scaler:LossScaler.update_scale", after=apex_scaled)


def apex_options(args, kwargs):
    values = describe.named_values(kwargs, 1, but=("models", "optimizers"))
    record.write("settings", source="apex", values=dict({"opt_level": "O1"}, **values))


_apex_updates = 0


def apex_scaled(token, skip, args, kwargs):
    global _apex_updates
    _apex_updates += 1
    own = describe.attributes(args[0])
    record.write("scale", scaler=0, n=_apex_updates, before=None, after=describe.value(own.get("_loss_scale")),
                 applied=None if type(skip) is not bool else not skip, optimizer=None, at=MODELS.updates())


def deepspeed(module):
    describe.framework_at(getattr(module, "__file__", None))
    introduce("deepspeed", module)
    patch.around("deepspeed:initialize", after=deepspeed_made)
    found = patch.find("deepspeed.runtime.engine:DeepSpeedEngine")
    if found is not None:
        MODELS.override(found[2])
    patch.around("deepspeed.runtime.fp16.loss_scaler:DynamicLossScaler.update_scale", after=deepspeed_scaled)


def deepspeed_made(token, result, args, kwargs):
    engine = result[0] if type(result) is tuple and result else None
    configuration = describe.attributes(describe.attributes(engine).get("_config")).get("_param_dict", {})
    record.write("settings", source="deepspeed", values=flattened(configuration))


_deepspeed_updates = 0


def deepspeed_scaled(token, result, args, kwargs):
    global _deepspeed_updates
    _deepspeed_updates += 1
    own, overflow = describe.attributes(args[0]), patch.argument(args, kwargs, 1, "overflow")
    record.write("scale", scaler=0, n=_deepspeed_updates, before=None, after=describe.value(own.get("cur_scale")),
                 applied=None if type(overflow) is not bool else not overflow, optimizer=None, at=MODELS.updates())


def flattened(mapping, prefix=""):
    """{dotted name: value} of nested dictionaries, without recursion, bounded."""
    out, todo = {}, [(prefix, mapping)]
    while todo and len(out) < CONFIGURATION_MAX:
        above, one = todo.pop()
        for name, value in one.items():
            path = "%s.%s" % (above, name) if above else str(name)
            if type(value) is dict and path.count(".") < 6:
                todo.append((path, value))
            else:
                out[describe.text(path)] = "***" if describe.SECRET_NAME.search(path) else describe.value(value)
    return out


def safetensors(module):
    patch.around("safetensors.torch:load_file", after=STATE.loaded("safetensors.torch.load_file"))


INSTALLERS = {"torch._dynamo": dynamo, "torch.distributed.fsdp": fsdp, "torch_npu": npu, "apex.amp": apex,
              "deepspeed": deepspeed, "safetensors.torch": safetensors}
