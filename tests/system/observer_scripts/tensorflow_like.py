import tensorflow as tf
tf.keras.mixed_precision.set_global_policy("mixed_float16")
data = tf.data.Dataset().shuffle(1000, seed=3).map(len, num_parallel_calls=4).batch(32, drop_remainder=True)
model = tf.keras.Model()
optimizer = tf.keras.mixed_precision.LossScaleOptimizer(tf.keras.optimizers.Adam(2e-3), initial_scale=1024)
model.compile(optimizer=tf.keras.optimizers.Adam(2e-3))
model.fit(data, batch_size=32, epochs=2)
tf.compat.v1.Session("", None, "allow_soft_placement: true")
print("digest done")
