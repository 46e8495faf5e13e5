import tensorflow as tf

flags = tf.flags
FLAGS = flags.FLAGS
flags.DEFINE_string("data", "/data/*.tfrecord", "")
flags.DEFINE_integer("batch_size", 32, "")


def parse(record):
    example = tf.parse_single_example(record, {"x": tf.FixedLenFeature([16], tf.float32), "y": tf.FixedLenFeature([], tf.int64)})
    return {"x": example["x"]}, tf.cast(example["y"], tf.int32)


def input_fn(training):
    files = tf.data.Dataset.list_files(FLAGS.data, shuffle=False)
    data = files.interleave(tf.data.TFRecordDataset, cycle_length=4, block_length=1)
    if training:
        data = data.shuffle(10000, seed=1).repeat()
    return data.map(parse, num_parallel_calls=8).batch(FLAGS.batch_size, drop_remainder=True)


def model_fn(features, labels, mode):
    training = mode == tf.estimator.ModeKeys.TRAIN
    x = tf.layers.dense(features["x"], 64, activation=tf.nn.relu)
    x = tf.layers.batch_normalization(x, training=training)
    x = tf.layers.dropout(x, 0.1, training=training)
    logits = tf.layers.dense(x, 10)
    loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
    if not training:
        return tf.estimator.EstimatorSpec(mode, loss=loss)
    step = tf.train.get_or_create_global_step()
    train_op = tf.train.AdamOptimizer(1e-4).minimize(loss, global_step=step)
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)


def main(_):
    tf.set_random_seed(1)
    estimator = tf.estimator.Estimator(model_fn, config=tf.estimator.RunConfig(model_dir="out"))
    estimator.train(input_fn=lambda: input_fn(True), max_steps=1000)
    estimator.evaluate(input_fn=lambda: input_fn(False), steps=10)


if __name__ == "__main__":
    tf.app.run()
