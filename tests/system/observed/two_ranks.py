"""A launcher and its two data-parallel ranks, which train until a file is there: two_ranks.py FILE PORT"""
import ctypes
import os
import subprocess
import sys
import time


def launch(file, port):
    ranks = []
    for rank in ("0", "1"):
        variables = dict(os.environ, RANK=rank, LOCAL_RANK=rank, WORLD_SIZE="2", LOCAL_WORLD_SIZE="2",
                         MASTER_ADDR="127.0.0.1", MASTER_PORT=port)
        ranks.append(subprocess.Popen([sys.executable, __file__, file, port], env=variables))
    sys.exit(max([rank.wait() for rank in ranks]))


def train(file):
    import torch
    import torch.distributed as dist
    torch.manual_seed(1)
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    # The end of a Gloo group can wait for a thread that waits for the interpreter (PyTorch 1.13): it has no end.
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(dist.distributed_c10d._get_default_group()))
    rank = dist.get_rank()
    data = torch.utils.data.TensorDataset(torch.randn(64, 12), torch.randint(0, 4, (64,)))
    sampler = torch.utils.data.distributed.DistributedSampler(data)
    model = torch.nn.Sequential(torch.nn.Linear(12, 32), torch.nn.ReLU(), torch.nn.Dropout(0.1), torch.nn.Linear(32, 4))
    net = torch.nn.parallel.DistributedDataParallel(model)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    epoch, step, done = 0, 0, torch.zeros(1)
    while not done:
        sampler.set_epoch(epoch)
        for x, y in torch.utils.data.DataLoader(data, batch_size=8, sampler=sampler):
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(net(x), y)
            loss.backward()
            optimizer.step()
            step += 1
            time.sleep(0.05)
        epoch += 1
        # All ranks end with the same epoch.
        done = torch.tensor([float(os.path.exists(file))])
        dist.all_reduce(done)
        if rank == 0:
            print("step %d loss %.4f" % (step, loss.item()), flush=True)
    if rank == 0:
        print(':::MLLOG {"key": "run_stop", "value": null, "metadata": {"status": "success"}}', flush=True)


launch(*sys.argv[1:]) if "RANK" not in os.environ else train(sys.argv[1])
