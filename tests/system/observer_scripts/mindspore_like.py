import mindspore
import mindspore.dataset
import numpy
from mindspore import nn
mindspore.set_context(mode=0, device_target="Ascend", ascend_config={"precision_mode": "must_keep_origin_dtype"})
net = mindspore.amp.auto_mixed_precision(nn.Dense(16, 4), amp_level="O2")
manager = mindspore.DynamicLossScaleManager(scale_window=500)
optimizer = nn.Momentum(0.1, [p for _, p in net.parameters_and_names()], weight_decay=1e-4)
data = mindspore.dataset.GeneratorDataset(num_parallel_workers=2).shuffle(64).batch(8, drop_remainder=True)
step = nn.TrainOneStepWithLossScaleCell(net, optimizer)
total = 0.0
for row in data.create_dict_iterator():
    total += float(step(numpy.full((8, 16), row["data"], numpy.float32))[0].asnumpy())
print("digest", total)
