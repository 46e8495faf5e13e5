import ctypes
import os
import sys


def worker(rank, world, port):
    os.environ.update(RANK=str(rank), WORLD_SIZE=str(world), MASTER_ADDR="127.0.0.1", MASTER_PORT=port)
    import torch
    import torch.distributed as dist
    from state_digest import Net, seed, small_data, tell
    dist.init_process_group("gloo", rank=rank, world_size=world)
    # The end of a Gloo group can wait for a thread that waits for the interpreter (PyTorch 1.13): it has no end.
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(dist.distributed_c10d._get_default_group()))
    seed(20)
    data = small_data()
    loader = torch.utils.data.DataLoader(data, 8, sampler=torch.utils.data.distributed.DistributedSampler(data))
    model = torch.nn.parallel.DistributedDataParallel(Net())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x, y in loader:
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
    if rank == 0:
        tell(model, optimizer)
    dist.barrier()


if __name__ == "__main__":
    import torch.multiprocessing
    torch.multiprocessing.spawn(worker, args=(2, sys.argv[1]), nprocs=2)
