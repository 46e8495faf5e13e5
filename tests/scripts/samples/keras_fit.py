import tensorflow as tf
from tensorflow import keras

keras.mixed_precision.set_global_policy("mixed_float16")
strategy = tf.distribute.MirroredStrategy()


def dataset(pattern, training):
    files = sorted(tf.io.gfile.glob(pattern))
    data = tf.data.TFRecordDataset(files, num_parallel_reads=4)
    data = data.map(lambda r: tf.io.parse_single_example(r, {"x": tf.io.FixedLenFeature([8], tf.float32)}), num_parallel_calls=tf.data.AUTOTUNE)
    if training:
        data = data.shuffle(4096, seed=3)
    return data.batch(64, drop_remainder=training).prefetch(tf.data.AUTOTUNE)


with strategy.scope():
    model = keras.Sequential([keras.layers.Dense(32), keras.layers.BatchNormalization(), keras.layers.Dropout(0.2), keras.layers.Dense(1)])
    model.compile(optimizer=keras.optimizers.Adam(1e-3), loss="mse")
model.fit(dataset("/data/train-*.tfrecord", True), epochs=3, validation_data=dataset("/data/val-*.tfrecord", False))
