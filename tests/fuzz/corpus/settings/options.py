import tensorflow as tf
c.parameter_map["precision_mode"].s = tf.compat.as_bytes("x")
NPURunConfig(a=1,
 b="2")
