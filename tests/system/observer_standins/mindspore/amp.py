def auto_mixed_precision(network, amp_level="O0", dtype=None):
    return network


def build_train_network(network, optimizer, loss_fn=None, level="O0"):
    return network
