"""What the benches in Python share: CPU time and peak memory of a program, and whether this machine had time for it."""
import os
import statistics
import subprocess
import sys
import tempfile
import time


def run(argv, **more):
    """(exit code, CPU seconds, wall seconds, peak MiB) of one program; its output is thrown away."""
    begin = time.monotonic()
    process = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **more)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, usage.ru_utime + usage.ru_stime, time.monotonic() - begin, usage.ru_maxrss / 1024


def least_cpu(argv, rounds, **more):
    """The least CPU seconds and the median: what else the machine does only makes a round longer."""
    times = sorted(run(argv, **more)[1] for _ in range(rounds))
    return times[0], statistics.median(times)


def free_cpus(wanted):
    """How many of `wanted` CPUs were free: so many programs spin, and get what is left."""
    spin = "import time\nend = time.monotonic() + 0.4\nwhile time.monotonic() < end: pass\nprint(time.process_time())"
    spinners = [subprocess.Popen([sys.executable, "-c", spin], stdout=subprocess.PIPE, text=True) for _ in range(wanted)]
    return sum(float(spinner.communicate()[0]) for spinner in spinners) / 0.4


def tell_load(wanted):
    free = free_cpus(wanted)
    if free < 0.8 * wanted:
        print(f"note: {free:.1f} of the {wanted} CPUs that this needs were free: wall times and ratios across programs "
              "are worth little, CPU times are too high")


class Aims:
    """Prints figures beside their aims, and remembers whether one was missed."""

    def __init__(self):
        self.missed = False

    def tell(self, what, value, unit, aim=None, peer=None):
        line = f"{what}: {value:.4g} {unit}"
        if peer is not None:
            name, figure = peer
            line += f" ({value / figure:.2f} x {name}, {figure:.4g} {unit})" if figure > 0 else ""
        if aim is not None:
            line += f", aim {aim:g}" + ("" if value <= aim else ": MISSED")
            self.missed = self.missed or value > aim
        print(line, flush=True)

    def code(self):
        return 1 if self.missed else 0


def programs(argv):
    """The build's folder: the first argument, else build/release."""
    here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    folder = argv[1] if len(argv) > 1 else os.path.join(here, "build", "release")
    if not os.path.exists(os.path.join(folder, "paritect")):
        sys.exit(f"{folder} holds no paritect: give the build's folder")
    return folder, here


def workspace():
    """A folder of its own, also for caches: nothing of an earlier run is known."""
    folder = tempfile.TemporaryDirectory(prefix="paritect-bench-")
    os.environ["HOME"] = folder.name
    os.environ.pop("XDG_CACHE_HOME", None)
    return folder


def write_log(path, mebibytes, seed, line_of):
    """Lines of a training whose loss falls, until the file is as large; line_of(step, loss, draw)."""
    import random
    draw = random.Random(seed)
    step = size = 0
    with open(path, "w", encoding="ascii") as file:
        while size < mebibytes << 20:
            step += 1
            line = line_of(step, 2 + 8 / (1 + step / 5e4) + draw.gauss(0, 0.05), draw)
            size += len(line)
            file.write(line)


def write_megatron_log(path, mebibytes, seed):
    write_log(path, mebibytes, seed, lambda step, loss, draw: (
        f" iteration {step:8d}/ 9000000 | consumed samples: {step * 256:12d} | elapsed time per iteration "
        f"(ms): {500 + draw.random():.1f} | learning rate: {1e-4 * (1 - step / 9e6):.6E} | global batch "
        f"size:   256 | lm loss: {loss:.6E} | loss scale: 65536.0 | grad norm: {1 + draw.random():.3f} | "
        "number of skipped iterations:   0 | number of nan iterations:   0 |\n"))


def write_trainer_log(path, mebibytes, seed):
    """As Hugging Face's Trainer prints: no step in it."""
    write_log(path, mebibytes, seed, lambda step, loss, draw: (
        f"{{'loss': {loss:.4f}, 'grad_norm': {1 + draw.random():.6f}, 'learning_rate': "
        f"{1e-4 * (1 - step / 9e6):.6e}, 'epoch': {step / 5e4:.5f}}}\n"))
