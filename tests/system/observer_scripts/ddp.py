"""Ranks started by a launcher of its own, with the variables of torchrun."""
import ctypes
import os
import subprocess
import sys


def train():
    import torch
    import torch.distributed as dist
    from state_digest import Net, seed, small_data, tell
    dist.init_process_group("gloo")
    # The end of a Gloo group can wait for a thread that waits for the interpreter (PyTorch 1.13): it has no end.
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(dist.distributed_c10d._get_default_group()))
    seed(10 + dist.get_rank())
    data = small_data()
    sampler = torch.utils.data.distributed.DistributedSampler(data, shuffle=True, seed=7)
    loader = torch.utils.data.DataLoader(data, batch_size=8, sampler=sampler)
    model = torch.nn.parallel.DistributedDataParallel(Net())
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for x, y in loader:
            optimizer.zero_grad(set_to_none=True)
            torch.nn.functional.cross_entropy(model(x), y).backward()
            optimizer.step()
    tell(model, optimizer)
    dist.destroy_process_group()


if "RANK" in os.environ:
    train()
else:
    port = sys.argv[1]
    ranks = [subprocess.Popen([sys.executable, __file__], stdout=subprocess.PIPE,
                              env=dict(os.environ, RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE="2",
                                       MASTER_ADDR="127.0.0.1", MASTER_PORT=port)) for rank in range(2)]
    for rank in ranks:
        print(rank.communicate()[0].decode(), end="")
    sys.exit(max(rank.returncode for rank in ranks))
