#!/usr/bin/env python3
"""memory.py BUILD_DIR MODE: peak memory at growing sizes must grow as is promised and no further (docs/log-formats.md, docs/datasets.md).

Peaks are of the process alone (wait4), so that a busy machine changes nothing. Nothing here looks at a clock.
"""
import os
import subprocess
import sys
import tempfile

MIB = 1 << 20


def peak_bytes(argv, folder):
    """The peak of a program that must end well."""
    with open(os.path.join(folder, "said"), "wb") as said:
        process = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=said, cwd=folder,
                                   env=dict(os.environ, HOME=folder, XDG_CACHE_HOME=""))
        _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, 1):
        sys.exit(f"{' '.join(argv)}: {process.returncode}: {open(said.name, errors='replace').read()[-500:]}")
    return usage.ru_maxrss * 1024


def expect(what, grown, allowed):
    print(f"{what}: {grown / MIB:.1f} MiB more, {allowed / MIB:.1f} allowed")
    if grown > allowed:
        sys.exit(f"{what}: memory grows further than is promised")


def write_log(path, lines, line_of):
    with open(path, "w", encoding="ascii") as file:
        for step in range(1, lines + 1):
            file.write(line_of(step))


def megatron(step):
    return (f" iteration {step}/ 9000000 | consumed samples: {step * 8} | learning rate: 1.0E-04 | "
            f"lm loss: {2 + step % 997 / 1000:.4f} | grad norm: 1.{step % 997:03d} |\n")


def trainer(step):
    return f"{{'loss': {2 + step % 997 / 1000:.4f}, 'grad_norm': 1.{step % 997:03d}, 'learning_rate': 1e-05, 'epoch': {step / 1e4}}}\n"


def logs(build, folder):
    """Beyond the records that are kept (500,000) a log adds nothing, whether it names steps or not."""
    for kind, line_of in (("megatron", megatron), ("trainer", trainer)):
        peaks = {"inspect": [], "collect": []}
        for lines in (1_000_000, 2_000_000):
            write_log(os.path.join(folder, "train.log"), lines, line_of)
            with open(os.path.join(folder, "plan.yaml"), "w", encoding="ascii") as file:
                file.write("run: run\nlogs: [train.log]\n")
            peaks["inspect"].append(peak_bytes([f"{build}/paritect", "inspect", "--summary", "-o", "json", "train.log"], folder))
            peaks["collect"].append(peak_bytes([f"{build}/paritect-agent", "collect", "plan.yaml", "-o", "x.pbundle"], folder))
        for verb, (one, two) in peaks.items():
            expect(f"{verb} of a {kind} log of twice as many lines", two - one, 100 * MIB)


def write_files(folder, begin, end):
    for number in range(begin, end):
        path = os.path.join(folder, "data", f"{number // 1000:03d}", f"{number:08d}.bin")
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(number.to_bytes(8, "little"))


def collect(build, folder):
    """A list that is collected is never a message: 200 bytes a file, of the table and the bundle's bytes."""
    with open(os.path.join(folder, "plan.yaml"), "w", encoding="ascii") as file:
        file.write("run: run\ndatasets: [{name: train, root: data}]\n")
    peaks = []
    for begin, end in ((0, 20_000), (20_000, 60_000)):
        write_files(folder, begin, end)
        peaks.append(peak_bytes([f"{build}/paritect-agent", "collect", "plan.yaml", "-o", "x.pbundle"], folder))
    expect("collect of 40,000 files more", peaks[1] - peaks[0], 40_000 * 200 + 2 * MIB)


def bundles(build, folder):
    """Bundles that hold the same list cost it once, however many they are."""
    files = 30_000
    with open(os.path.join(folder, "train.md5"), "w", encoding="ascii") as file:
        file.writelines(f"{number:032x}  folder/{number:08d}.bin\n" for number in range(files))
    for node in range(12):
        with open(os.path.join(folder, "plan.yaml"), "w", encoding="ascii") as file:
            file.write(f"run: run\nnode: node{node}\ndatasets: [{{name: train, manifest: train.md5}}]\n")
        peak_bytes([f"{build}/paritect-agent", "collect", "plan.yaml", "-o", f"{node}.pbundle"], folder)

    def audit(a_side):
        sides = [f"--baseline={node}.pbundle" for node in range(a_side)]
        sides += [f"--migrated={6 + node}.pbundle" for node in range(a_side)]
        return peak_bytes([f"{build}/paritect", "check", "--item", "data.dataset", *sides], folder)

    expect(f"check of ten bundles of {files} files more", audit(6) - audit(1), 10 * files * 30 + 4 * MIB)


def manifest(build, folder):
    """A list costs 150 bytes a file, the name not counted twice."""
    peaks = []
    for begin, end in ((0, 20_000), (20_000, 60_000)):
        write_files(folder, begin, end)
        peaks.append(peak_bytes([f"{build}/paritect", "manifest", "create", "--no-cache", "data", "-o", "list"], folder))
    expect("manifest of 40,000 files more", peaks[1] - peaks[0], 40_000 * 150 + 2 * MIB)


def main():
    build = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory(prefix="paritect-memory-") as folder:
        {"logs": logs, "manifest": manifest, "collect": collect, "bundles": bundles}[sys.argv[2]](build, folder)


if __name__ == "__main__":
    main()
