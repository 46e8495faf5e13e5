"""MindSpore, at the places that its sources name. Tried on a stand-in of the same shape alone
(tests/system/observer_standins/mindspore), which `tried: false` says in the record."""
from . import arrays, companions, describe, guard, patch, process, record, sums, thin

STEP = guard.site("TrainOneStepCell.__call__")
FIRST_STEPS = 2


class Seen(object):
    def __init__(self):
        self.optimizers = 0
        self.scalers = 0
        self.loaders = 0
        self.steps = 0
        self.depth = 0  # of step cells that call each other
        self.model_told = False

    # --- settings ---

    @staticmethod
    def context(args, kwargs):
        record.write("settings", source="mindspore.context", values=describe.named_values(kwargs))

    @staticmethod
    def mixed(call):
        def look(args, kwargs):
            values = {"call": call, "amp_level": describe.value(patch.argument(args, kwargs, 1, "amp_level", "O0"))}
            record.write("settings", source="mindspore.amp", values=values)
        return look

    def model(self, _, result, args, kwargs):
        record.write("settings", source="mindspore.Model", values=describe.named_values(
            {name: one for name, one in kwargs.items() if name in ("amp_level", "boost_level", "keep_batchnorm_fp32")}))

    def optimizer(self, _, result, args, kwargs):
        one = args[0]
        number, self.optimizers = self.optimizers, self.optimizers + 1
        record.write("optimizer", id=number, defaults=described(one), where=describe.where(), wraps=None,
                     **{"class": describe.dotted(type(one))})
        own = describe.attributes(one)
        groups = own.get("group_params") or [{"params": own.get("parameters") or []}]
        for place, group in enumerate(list(groups)[:64]):
            params = list(group.get("params", ()))
            rows = [[describe.value(getattr(p, "name", None)), elements(p), describe.dtype(p.dtype),
                     bool(getattr(p, "requires_grad", True)), None] for p in params[:400]]
            record.write("group", optimizer=number, group=place, at=0,
                         options=describe.named_values(group, 2, ("params",)),
                         params=rows, total=len(params), **{"from": 0})

    def scaler(self, _, result, args, kwargs):
        own = describe.attributes(args[0])
        number, self.scalers = self.scalers, self.scalers + 1
        name = type(args[0]).__name__
        record.write("scaler", id=number, enabled=True, dynamic=name.startswith("Dynamic"), where=describe.where(),
                     init_scale=first(own, "loss_scale", "_loss_scale", "loss_scale_value"),
                     growth_factor=first(own, "scale_factor"), backoff_factor=None,
                     growth_interval=first(own, "scale_window"), **{"class": describe.dotted(type(args[0]))})

    # --- data ---

    def iterated(self, args, kwargs):
        dataset = args[0]
        number, self.loaders = self.loaders, self.loaders + 1
        if number >= 64:
            return
        operations = pipeline(dataset)
        record.write("loader", id=number, len=None, batch_size=None, where=describe.where(), shuffle=None,
                     dataset={"class": describe.dotted(type(dataset)), "kind": "map", "len": None,
                              "attributes": {"operations": operations}}, **{"class": "mindspore.dataset"})

    # --- steps ---

    def before_step(self, args, kwargs):
        self.depth += 1
        if not self.model_told:
            self.model_told = True
            self.tell_model(args[0])

    def failed_step(self, *_):
        self.depth -= 1

    def after_step(self, _, result, args, kwargs):
        self.depth -= 1
        if self.depth > 0:
            return
        self.steps += 1
        several = tuple(result) if type(result) in (tuple, list) else (result,)
        loss, overflow, scale = (several + (None, None))[:3]
        if not thin.step(self.steps):
            return
        if overflow is not None:
            record.write("scale", scaler=0, n=self.steps, before=None, after=number_of(scale),
                         applied=None if number_of(overflow) is None else not number_of(overflow), optimizer=0,
                         at=self.steps)
        record.write("step", optimizer=0, n=self.steps, lr=[], weight_decay=[], loss=number_of(loss), losses=1)
        if self.steps <= FIRST_STEPS and process.full():
            self.tell_weights(args[0], self.steps)

    def tell_model(self, cell):
        cells = list(cell.cells_and_names())
        parameters = list(cell.parameters_and_names())
        record.write("root", id=0, name=type(cell).__name__, module=None, at=0,
                     elements=sum(elements(p) for _, p in parameters),
                     trainable=sum(elements(p) for _, p in parameters if getattr(p, "requires_grad", True)),
                     **{"class": describe.dotted(type(cell))})
        record.write_list("modules", ([name, describe.dotted(type(one)), describe.attributes(one).get("training"),
                                       described(one)] for name, one in cells), 200, root=0, total=len(cells))
        record.write_list("parameters", ([name, list(p.shape), describe.dtype(p.dtype),
                                          bool(getattr(p, "requires_grad", True)), None] for name, p in parameters),
                                          400,
                          root=0, total=len(parameters))
        if process.full():
            self.tell_weights(cell, 0)

    @staticmethod
    def tell_weights(cell, at):
        parameters = list(cell.parameters_and_names())
        record.write_list("weights", (dict(arrays.of(p.asnumpy(), sums.WEIGHTS), name=name) for name, p in parameters),
                          50,
                          root=0, at=at, role="parameter", stage="after-wrap", total=len(parameters))


def described(thing):
    """Plain attributes of a cell or optimizer."""
    own = describe.attributes(thing)
    return {name: describe.value(one) for name, one in list(own.items())[:64]
            if type(one) in (bool, int, float, str) and not name.startswith("_")}


def first(own, *names):
    return next((describe.value(own[name]) for name in names if name in own), None)


def elements(parameter):
    count = 1
    for size in parameter.shape:
        count *= int(size)
    return count


def number_of(value):
    """A number that is one, or an array of one element."""
    if value is None or type(value) in (bool, int, float):
        return value
    array = value.asnumpy() if hasattr(type(value), "asnumpy") else value
    return array.item() if getattr(array, "size", 0) == 1 else None


def pipeline(dataset):
    """The operations of a pipeline from its source on: name and plain arguments."""
    out = []
    while dataset is not None and len(out) < 64:
        out.append({"class": type(dataset).__name__, "attributes": described(dataset)})
        children = describe.attributes(dataset).get("children")
        dataset = children[0] if type(children) is list and children else None
    return list(reversed(out))


SEEN = Seen()


def install(name, module):
    describe.framework_at(getattr(module, "__file__", None))
    if name == "mindspore.dataset":
        for call in ("create_dict_iterator", "create_tuple_iterator"):
            patch.around("mindspore.dataset:Dataset." + call, before=SEEN.iterated,
                         instead=("mindspore.dataset.engine.datasets:Dataset." + call,))
        return
    patch.around("mindspore:set_context", before=SEEN.context, also=("mindspore.context:set_context",))
    for call in ("auto_mixed_precision", "build_train_network"):
        patch.around("mindspore.amp:" + call, before=SEEN.mixed(call), instead=("mindspore.train.amp:" + call,))
    patch.around("mindspore:Model.__init__", after=SEEN.model)
    patch.around("mindspore.nn:Optimizer.__init__", after=SEEN.optimizer)
    for manager in ("DynamicLossScaleManager", "FixedLossScaleManager"):
        patch.around("mindspore:%s.__init__" % manager, after=SEEN.scaler,
                     instead=("mindspore.amp:%s.__init__" % manager,))
    for cell in ("TrainOneStepCell", "TrainOneStepWithLossScaleCell"):
        patch.around("mindspore.nn:%s.__call__" % cell, before=SEEN.before_step, after=SEEN.after_step,
                     failed=SEEN.failed_step)
    companions.introduce("mindspore", module)
