#!/usr/bin/env python3
"""Real distributed training under the recorder: what it notes is what the ranks themselves print, and the verdicts are
right, for a loader that sorts its listing and for one that takes it as the folder gives it.

    trace_training.py BUILD_DIR torch|plain|ext4

torch: ranks of gloo on the CPU, started with variables as torchrun sets them and by mp.spawn, DataLoader workers. plain: the same
reading by processes of multiprocessing alone. ext4: as torch, the nodes' folders on two ext4 images whose hash seeds
differ (as root, with loop devices). Otherwise two nodes are two folders of the same files that enumerate differently
(two file systems of this machine). Exit code 77: what it needs is not here.
"""
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile

BUILD = os.path.abspath(sys.argv[1])
MODE = sys.argv[2]
TORCH = MODE != "plain"
PARITECT = os.path.join(BUILD, "paritect")
RANKS_PER_NODE = 2
WORLD = 4
SHARDS = 24

SCRIPT = r'''
import ctypes, json, os, sys
rank, world, root, out, sort, workers = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]), *sys.argv[1:5]
names = os.listdir(root)
if sort == "sorted":
    names.sort()
mine = names[rank::world]
def read(name):
    with open(os.path.join(root, name), "rb") as file:
        return file.read()
if MODE == "torch":
    import torch, torch.distributed as dist
    from torch.utils.data import DataLoader, Dataset
    class Shards(Dataset):
        def __len__(self):
            return len(mine)
        def __getitem__(self, i):
            return torch.tensor([float(len(read(mine[i])))])
    dist.init_process_group("gloo")
    # The end of a Gloo group can wait for a thread that waits for the interpreter (PyTorch 1.13): it has no end.
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(dist.distributed_c10d._get_default_group()))
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(1, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
    epochs = int(os.environ.get("EPOCHS", "1"))
    loader = DataLoader(Shards(), batch_size=1, num_workers=int(workers), persistent_workers=epochs > 1 and int(workers) > 0)
    for epoch in range(epochs):
        for batch in loader:
            optimizer.zero_grad()
            model(batch).mean().backward()
            optimizer.step()
    dist.destroy_process_group()
else:
    count = int(workers)
    children = []
    for worker in range(count):
        child = os.fork()
        if child == 0:
            for name in mine[worker::count]:
                read(name)
            os._exit(0)
        children.append(child)
    for child in children:
        os.waitpid(child, 0)
    for name in mine if count == 0 else []:
        read(name)
print("rank %d files: %s" % (rank, mine), flush=True)
with open(os.path.join(out, "rank%d.json" % rank), "w") as file:
    json.dump({"rank": rank, "files": mine}, file)
'''

SPAWN = r'''
import os, sys
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
def main(rank, first, world, arguments):
    os.environ["RANK"], os.environ["WORLD_SIZE"] = str(first + rank), str(world)
    sys.argv = ["train.py"] + arguments
    exec(compile(open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "train.py")).read(), "train.py", "exec"),
         {"__name__": "train"})
if __name__ == "__main__":
    first, world, count = (int(word) for word in sys.argv[1:4])
    try:
        from torch.multiprocessing import spawn
        spawn(main, args=(first, world, sys.argv[4:]), nprocs=count)
    except ImportError:
        import multiprocessing
        context = multiprocessing.get_context("spawn")
        children = [context.Process(target=main, args=(i, first, world, sys.argv[4:])) for i in range(count)]
        for child in children:
            child.start()
        for child in children:
            child.join()
        sys.exit(max(child.exitcode for child in children))
'''


LAUNCH = r'''
import os, subprocess, sys
first, world, count = (int(word) for word in sys.argv[1:4])
ranks = [subprocess.Popen([sys.executable, os.path.join(os.path.dirname(os.path.abspath(__file__)), "train.py")] + sys.argv[4:],
                          env=dict(os.environ, RANK=str(first + i), LOCAL_RANK=str(i), WORLD_SIZE=str(world)))
         for i in range(count)]
sys.exit(max(rank.wait() for rank in ranks))
'''


def interpreter():
    for python in ("/usr/bin/python3", sys.executable):
        probe = "import torch.distributed" if TORCH else "import multiprocessing"
        if subprocess.run([python, "-c", probe], stderr=subprocess.DEVNULL).returncode == 0:
            return python
    skip("PyTorch is not installed (python3-torch)" if TORCH else "no Python")


def skip(why):
    print("skipped: " + why, file=sys.stderr)
    sys.exit(77)


failures = []


def expect(condition, what):
    if not condition:
        failures.append(what)
        print("FAILED: " + what, file=sys.stderr)


def fill(folder, seed):
    """The same files, made in another order: file systems without a hash (tmpfs) list by the order of making."""
    os.makedirs(folder)
    numbers = list(range(SHARDS))
    random.Random(seed).shuffle(numbers)
    for number in numbers:
        with open(os.path.join(folder, "part-%04d.bin" % number), "wb") as file:
            file.write(b"x" * (number + 1))


mounted = []


def ext4_folder(work, name, seed):
    """A folder on an ext4 file system of its own: the order of its names follows the file system's hash seed."""
    image, mount = os.path.join(work, name + ".img"), os.path.join(work, name)
    os.makedirs(mount)
    with open(image, "wb") as file:
        file.truncate(16 << 20)
    hash_seed = "00000000-0000-4000-8000-%012x" % seed
    made = subprocess.run(["mkfs.ext4", "-q", "-F", "-O", "dir_index", "-E", "hash_seed=" + hash_seed, image],
                          stderr=subprocess.PIPE, text=True)
    if made.returncode != 0:
        skip("mkfs.ext4: " + made.stderr.strip())
    done = subprocess.run(["mount", "-o", "loop", image, mount], stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        skip("no loop mount here: " + done.stderr.strip())
    mounted.append(mount)
    folder = os.path.join(mount, "data")
    fill(folder, 0)  # made in the same order: only the seed sets them apart
    return folder


def ext4_folders(work):
    if os.getuid() != 0 or not shutil.which("mkfs.ext4"):
        skip("ext4 images need root, mkfs.ext4 and loop devices")
    first, second = ext4_folder(work, "node0", 0x1234567), ext4_folder(work, "node1", 0x89abcdef)
    expect(sorted(os.listdir(first)) == sorted(os.listdir(second)), "the folders hold other names")
    expect(os.listdir(first) != os.listdir(second), "two hash seeds, and the same order")
    return first, second, None


def unmount():
    for mount in mounted:
        subprocess.run(["umount", "-l", mount], stderr=subprocess.DEVNULL)


def two_folders(work):
    """Two folders of the same names that list differently."""
    if MODE == "ext4":
        return ext4_folders(work)
    shared = tempfile.mkdtemp(dir="/dev/shm") if os.path.isdir("/dev/shm") else os.path.join(work, "second")
    first, second = os.path.join(work, "node0", "data"), os.path.join(shared, "data")
    for seed in range(50):
        for folder in (first, second):
            shutil.rmtree(folder, ignore_errors=True)
        fill(first, seed)
        fill(second, seed + 1000)
        if os.listdir(first) != os.listdir(second) and os.listdir(first) != sorted(os.listdir(first)):
            return first, second, shared
    skip("the file systems of this machine list both folders alike")


def start(python, work, name, launcher, sort, workers, folders, port, epochs=1):
    """Both nodes of one run at once; what each rank itself says."""
    said = os.path.join(work, "said-" + name)
    os.makedirs(said)
    running = []
    for node, folder in enumerate(folders):
        plan = os.path.join(work, "plan-%s-%d.yaml" % (name, node))
        with open(plan, "w") as file:
            file.write("run: %s\nnode: node%d\nworld_size: %d\ndatasets: [{name: train, root: %s}]\n"
                       % (name, node, WORLD, folder))
        arguments = [folder, said, sort, str(workers)]
        command = [python, os.path.join(work, launcher + ".py"), str(node * RANKS_PER_NODE), str(WORLD),
                   str(RANKS_PER_NODE)] + arguments
        environment = dict(os.environ, MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), OMP_NUM_THREADS="1",
                           GLOO_SOCKET_IFNAME="lo", EPOCHS=str(epochs))
        running.append(subprocess.Popen([PARITECT, "run", "--run", name, "--plan", plan, "--dir", os.path.join(work, "runs"),
                                         "--agent", "none", "--"] + command, env=environment, cwd=work, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, text=True, start_new_session=True))
    for process in running:
        try:
            output = process.communicate(timeout=120)[0]
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)
            output = process.communicate()[0]
        expect(process.returncode == 0, "%s ended with %s:\n%s" % (name, process.returncode, output[-2000:]))
    lists = {}
    for rank in range(WORLD):
        path = os.path.join(said, "rank%d.json" % rank)
        expect(os.path.exists(path), "%s: rank %d said nothing" % (name, rank))
        if os.path.exists(path):
            lists[rank] = json.load(open(path))["files"]
    return lists


def recorded(work, name):
    """Rank to names, as the product reads the records."""
    lists = {}
    for node in range(2):
        trace = os.path.join(work, "runs", name, "node%d" % node, "trace")
        shown = json.loads(subprocess.run([PARITECT, "inspect", "--as", "shards", trace, "-o", "json"], check=True,
                                          stdout=subprocess.PIPE).stdout)
        for rank, names in shown["ranks"].items():
            lists[rank] = [os.path.basename(one) for one in names]
    return lists


def compare_epochs(work, name, said, epochs):
    """Workers that live through all epochs: each epoch holds the whole share once."""
    seen = recorded(work, name)
    for rank, names in said.items():
        got = seen.get(str(rank), [])
        parts = [sorted(got[i * len(names):(i + 1) * len(names)]) for i in range(epochs)]
        expect(len(got) == epochs * len(names) and all(part == sorted(names) for part in parts),
               "%s rank %d: recorded %s, printed %s" % (name, rank, got, names))


def hazard(work, folders):
    """Before any training: the nodes' folders alone."""
    def plans(side, roots):
        out = []
        for node, root in enumerate(roots):
            path = os.path.join(work, "before-%s-%d.yaml" % (side, node))
            listing = path + ".ls"
            with open(listing, "wb") as file:
                file.write(b"".join(name + b"\n" for name in os.listdir(root.encode())))
            with open(path, "w") as file:
                file.write("run: %s\nnode: node%d\ndatasets: [{name: train, listing: %s}]\n" % (side, node, listing))
            out += ["--" + side, path]
        return out
    def check(roots):
        done = subprocess.run([PARITECT, "check", "-o", "json", "--item", "data.sharding"] +
                              plans("baseline", (folders[0], folders[0])) + plans("migrated", roots),
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for one in json.loads(done.stdout)["items"][0]["checks"]:
            if one["id"].endswith("order-hazard"):
                return one["verdict"], sorted({finding["kind"] for finding in one["findings"]})
    expect(check((folders[0], folders[0])) == ("pass", []), "order-hazard, alike: %s" % (check((folders[0], folders[0])),))
    expect(check(folders) == ("fail", ["node_order"]), "order-hazard, other orders: %s" % (check(folders),))


def compare(work, name, said, workers):
    seen = recorded(work, name)
    expect(sorted(seen) == [str(rank) for rank in range(WORLD)], "%s: ranks %s" % (name, sorted(seen)))
    for rank, names in said.items():
        got = seen.get(str(rank), [])
        # Workers read side by side: each file once, the order within a worker kept.
        same = sorted(got) == sorted(names) if workers else got == names
        expect(same, "%s rank %d: recorded %s, printed %s" % (name, rank, got, names))


def verdicts(work, baseline, migrated):
    def side(name):
        return [os.path.join(work, "runs", name, "node%d.pbundle" % node) for node in range(2)]
    command = [PARITECT, "check", "-o", "json", "--item", "data.sharding"]
    for path in side(baseline):
        command += ["--baseline", path]
    for path in side(migrated):
        command += ["--migrated", path]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    expect(done.returncode in (0, 1), "check ended with %d: %s" % (done.returncode, done.stderr))
    out = {}
    for item in json.loads(done.stdout)["items"]:
        for check in item["checks"]:
            kinds = sorted({finding["kind"] for finding in check["findings"] if finding["severity"] == "error"})
            out[check["id"].split(".")[-1]] = (check["verdict"], kinds, check["missing"])
    return out


def main():
    python = interpreter()
    work = tempfile.mkdtemp(prefix="paritect-training-")
    shared = None
    try:
        with open(os.path.join(work, "train.py"), "w") as file:
            file.write("MODE = %r\n" % ("torch" if TORCH else "plain") + SCRIPT)
        with open(os.path.join(work, "spawn.py"), "w") as file:
            file.write(SPAWN)
        first, second, shared = two_folders(work)
        with open(os.path.join(work, "launch.py"), "w") as file:
            file.write(LAUNCH)
        launchers = ["launch", "spawn"]
        port = 20000 + os.getpid() % 10000
        hazard(work, (first, second))
        # The baseline sorts; so do the good ports; the bad one takes the folder's order on each node.
        base = start(python, work, "baseline", launchers[0], "sorted", 0, (first, first), port)
        compare(work, "baseline", base, 0)
        for number, (name, launcher, sort, workers) in enumerate([
                ("good", launchers[-1], "sorted", 0), ("workers", launchers[0], "sorted", 2),
                ("unsorted", launchers[-1], "as-listed", 0)]):
            said = start(python, work, name, launcher, sort, workers, (first, second), port + 1 + number)
            compare(work, name, said, workers)
        if TORCH:
            said = start(python, work, "persistent", "launch", "sorted", 2, (first, second), port + 7, epochs=2)
            compare_epochs(work, "persistent", said, 2)
        good = verdicts(work, "baseline", "good")
        for check in ("ranks", "complete", "disjoint", "same-assignment", "rule"):
            expect(good[check][0] == "pass", "sorted: %s is %s" % (check, good[check]))
        several = verdicts(work, "baseline", "workers")
        for check in ("ranks", "complete", "disjoint"):
            expect(several[check][0] == "pass", "workers: %s is %s" % (check, several[check]))
        # The order between workers is not known: equal sets are no error, and no pass.
        expect(several["same-assignment"][:2] == ("not_performed", []), "workers: %s" % (several["same-assignment"],))
        bad = verdicts(work, "baseline", "unsorted")
        expect(bad["disjoint"][:2] == ("fail", ["read_twice"]), "unsorted: disjoint %s" % (bad["disjoint"],))
        expect(bad["complete"][:2] == ("fail", ["not_read"]), "unsorted: complete %s" % (bad["complete"],))
        expect(bad["same-assignment"][0] == "fail", "unsorted: %s" % (bad["same-assignment"],))
        expect(bad["rule"][:2] == ("fail", ["node_order"]), "unsorted: rule %s" % (bad["rule"],))
        # The bundles hold the data sets of their plans, and what the recorder saw of the folders' orders.
        expect(good["order-hazard"][0] == "pass", "sorted: order-hazard %s" % (good["order-hazard"],))
        expect(bad["order-hazard"][0] != "pass", "unsorted: order-hazard %s" % (bad["order-hazard"],))
    finally:
        unmount()
        shutil.rmtree(work, ignore_errors=True)
        if shared:
            shutil.rmtree(shared, ignore_errors=True)
    sys.exit(1 if failures else 0)


main()
