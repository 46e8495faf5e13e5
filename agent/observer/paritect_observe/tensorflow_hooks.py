"""TensorFlow and Keras, at the places that their sources name. Tried on a stand-in of the same shape alone
(tests/system/observer_standins/tensorflow), which `tried: false` says in the record."""
from . import arrays, companions, describe, patch, process, record, sums, thin

PIPELINE_CALLS = ("shuffle", "repeat", "batch", "padded_batch", "map", "interleave", "shard", "take")
PIPELINES_MAX = 64


class Seen(object):
    def __init__(self):
        self.pipelines = 0
        self.optimizers = 0
        self.scalers = 0
        self.steps = 0

    # --- settings ---

    @staticmethod
    def policy(args, kwargs):
        policy = patch.argument(args, kwargs, 0, "policy")
        name = policy if type(policy) is str else describe.attributes(policy).get("_name")
        record.write("settings", source="tf.mixed_precision", values={"policy": describe.value(name)})

    @staticmethod
    def session(args, kwargs):
        configuration = patch.argument(args, kwargs, 3, "config")
        if configuration is not None:
            record.write("settings", source="tf.session-config", values={"text": str(configuration)[:8192]})

    # --- data ---

    def piped(self, call):
        def look(token, result, args, kwargs):
            self.pipelines += 1
            if self.pipelines > PIPELINES_MAX:
                return
            values = {"argument%d" % i: describe.value(one, 1) for i, one in enumerate(args[1:])}
            values.update(describe.named_values(kwargs, 1))
            record.write("settings", source="tf.data", values={"call": call, "where": describe.where(),
                                                               "arguments": values})
        return look

    # --- optimizer, steps ---

    def scaler(self, _, result, args, kwargs):
        own = describe.attributes(args[0])
        number, self.scalers = self.scalers, self.scalers + 1
        record.write("scaler", id=number, enabled=True, init_scale=describe.value(kwargs.get("initial_scale")),
                     dynamic=describe.value(kwargs.get("dynamic", own.get("dynamic", True))), growth_factor=None,
                     backoff_factor=None, growth_interval=describe.value(kwargs.get("dynamic_growth_steps")),
                     where=describe.where(), **{"class": describe.dotted(type(args[0]))})

    def compiled(self, _, result, args, kwargs):
        optimizer = describe.attributes(args[0]).get("optimizer") or patch.argument(args, kwargs, 1, "optimizer")
        if type(optimizer) is str or optimizer is None:
            record.write("optimizer", id=self.optimizers, defaults={}, where=describe.where(), wraps=None,
                         **{"class": describe.value(optimizer)})
        else:
            record.write("optimizer", id=self.optimizers, defaults=describe.named_values(optimizer.get_config(), 2),
                         where=describe.where(), wraps=None, **{"class": describe.dotted(type(optimizer))})
        self.optimizers += 1

    def before_fit(self, args, kwargs):
        model = args[0]
        self.tell_model(model)
        record.write("settings", source="keras.fit", values=describe.named_values(
            {name: one for name, one in kwargs.items() if name in ("batch_size", "epochs", "shuffle", "steps_per_epoch",
                                                                   "initial_epoch", "workers", "validation_freq")}))

    def after_batch(self, args, kwargs):
        """Of the logs what is a number of the host already; nothing is read from a device."""
        self.steps += 1
        logs = patch.argument(args, kwargs, 2, "logs")
        if thin.step(self.steps):
            loss = logs.get("loss") if type(logs) is dict else None
            record.write("step", optimizer=0, n=self.steps, lr=[], weight_decay=[], losses=1,
                         loss=loss if type(loss) in (int, float) else None)

    def tell_model(self, model):
        layers, weights = list(model.layers), list(model.weights)
        record.write("root", id=0, name=type(model).__name__, module=None, at=0, elements=None, trainable=None,
                     **{"class": describe.dotted(type(model))})
        record.write_list("modules", ([describe.value(one.name), describe.dotted(type(one)), None,
                                       describe.named_values(one.get_config(), 2)] for one in layers), 200, root=0,
                          total=len(layers))
        record.write_list("parameters", ([describe.value(w.name), [int(n) for n in w.shape],
                                          describe.dtype(type_name(w)),
                                          bool(getattr(w, "trainable", True)), None] for w in weights), 400, root=0,
                          total=len(weights))
        if process.full():
            record.write_list("weights", (dict(arrays.of(w.numpy(), sums.WEIGHTS), name=describe.value(w.name))
                                          for w in weights), 50, root=0, at=0, role="parameter", stage="after-wrap",
                              total=len(weights))


def type_name(weight):
    return getattr(weight.dtype, "name", weight.dtype)


SEEN = Seen()


def install(name, module):
    describe.framework_at(getattr(module, "__file__", None))
    if name == "keras":
        return  # its classes are reached by tensorflow's names
    patch.around("tensorflow:keras.mixed_precision.set_global_policy", before=SEEN.policy)
    patch.around("tensorflow:keras.mixed_precision.LossScaleOptimizer.__init__", after=SEEN.scaler)
    patch.around("tensorflow:compat.v1.Session.__init__", before=SEEN.session)
    for call in PIPELINE_CALLS:
        patch.around("tensorflow:data.Dataset." + call, after=SEEN.piped(call))
    patch.around("tensorflow:keras.Model.compile", after=SEEN.compiled)
    patch.around("tensorflow:keras.Model.fit", before=SEEN.before_fit)
    patch.around("tensorflow:keras.callbacks.CallbackList.on_train_batch_end", before=SEEN.after_batch)
    companions.introduce("tensorflow", module, missing=list(patch.missing))
