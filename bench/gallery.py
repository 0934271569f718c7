"""The operators of examples/gallery beside loops in C (gcc -O3 -march=native, one thread) and what the machine can do.

Ours and the loop run in turn, in several rounds, on the same inputs, again and again; the least time counts. The limit is that of
examples/gallery/gallery.py: bytes, operations or a chain, on one core. The results at these sizes are compared, too. Compile times
are of one thread, without a cache, the least of all rounds. Prints a line an operator, what falls short, and the geometric
means, and writes bench/results/gallery.json.

    python bench/gallery.py [--threads 2] [--rounds 3] [--heddle build/heddle] [--quick] [NAME...]

NAME is a part of an operator's or its group's name. --threads N also measures ours with N threads.
"""
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / folder) for folder in ("examples/gallery", "bench")]  # the gallery is called as this script is

import numpy as np

import gallery
import reports

SECONDS = 30        # for a command; an operator that needs more is a failure
SHARE = 0.15        # of the limit
RATIO = 1.2         # to the loop in C
COMPILE_MS = 100
SOURCE_BYTES = 1e6


class Failure(Exception):
    pass


class Heddle:
    """The program, with a cache of its own and a folder for arrays."""

    def __init__(self, program, cache, folder):
        self.program = program
        self.environment = {**os.environ, "XDG_CACHE_HOME": str(cache)}
        self.folder = folder

    def output_of(self, *arguments):
        try:
            done = subprocess.run([self.program, *arguments], capture_output=True, text=True, env=self.environment,
                                  timeout=SECONDS, check=False)
        except subprocess.TimeoutExpired:
            raise Failure(f"heddle {arguments[0]}: more than {SECONDS} s") from None
        if done.returncode:
            said = [line.strip() for line in (done.stderr + done.stdout).splitlines() if line.strip(" {}[],")]
            raise Failure(f"heddle {arguments[0]}: {said[0] if said else f'status {done.returncode}'}")
        return done.stdout

    def machine(self):
        """Figures by name. What is measured is then in the cache, so that no later run measures."""
        figures = json.loads(self.output_of("targets", "--host", "--format", "json"))["target"]
        shared = pathlib.Path("/sys/devices/system/cpu/cpu0/cache/index3/size")  # of this core; others may have others
        if shared.exists():
            figures["l3_bytes"] = int(shared.read_text().strip().removesuffix("K")) * 1024
        return figures

    def run(self, operator, arrays, parameters, repeat, threads, *more):
        for name, array in arrays.items():
            path = pathlib.Path(self.folder) / f"{name}.npy"
            if not path.exists():
                np.save(path, array)
        settings = "".join(f", {name}: {value}" for name, value in parameters.items())
        inputs = [part for name in arrays for part in ("--input", f"{name}={self.folder}/{name}.npy")]
        call = f"{', '.join(operator.outputs)} = {operator.name}({', '.join(arrays)}{settings})"
        return json.loads(self.output_of("run", "--library", str(operator.templates), "--call", call, *inputs, "--repeat",
                                         str(repeat), "--threads", str(threads), "--format", "json", *more))

    def source_bytes(self, operator, arrays, parameters):
        """Of the operator as one file of C."""
        types = [f"{name}={gallery.type_text(array)}" for name, array in arrays.items()]
        facts = json.loads(self.output_of("explain", "--library", str(operator.templates), operator.name, *types,
                                          *(f"{name}={value}" for name, value in parameters.items()), "--source", "--format",
                                          "json"))
        return sum(len(kernel["c"]) for kernel in facts["source"])


def repeats(milliseconds, seconds):
    return max(2, min(3000, int(seconds * 1e3 / max(milliseconds, 1e-3))))


def times_of(call, repeat):
    times = []
    for _ in range(repeat):
        begin = time.perf_counter()
        call()
        times.append((time.perf_counter() - begin) * 1e3)
    return times


def compile_stages(run):
    return {stage: ms for stage, ms in run["stages_ms"].items() if stage != "load"}


def measure(operator, options, machine, peers, folder):
    heddle = Heddle(options.heddle, options.cache, folder)
    arrays, parameters = operator.made(operator.bench)
    first = heddle.run(operator, arrays, parameters, 1, 1, "--no-cache", "--output-dir", f"{folder}/out")
    ours = [np.load(output["file"]) for output in first["outputs"]]
    theirs = [np.full_like(array, 7) for array in ours]
    loop = peers.call(operator, arrays, operator.bench, theirs)
    once = times_of(loop, 1)[0]
    problems = [f"{name}: {problem}" for name, found, loops in zip(operator.outputs, ours, theirs)
                if (problem := gallery.difference(operator, found, loops))]
    limit = gallery.limit(operator, operator.bench, sum(array.nbytes for array in arrays.values()),
                          sum(array.nbytes for array in ours), machine)
    own, other, parallel, compiled = [], [], [], [compile_stages(first)]
    for _ in range(options.rounds):
        compiled.append(compile_stages(heddle.run(operator, arrays, parameters, 1, 1, "--no-cache")))
        own += heddle.run(operator, arrays, parameters, repeats(min(own or first["run_ms"]["all"]), options.seconds), 1)["run_ms"]["all"]
        other += times_of(loop, repeats(once, options.seconds))
        if options.threads > 1:
            parallel += heddle.run(operator, arrays, parameters, repeats(min(own), options.seconds), options.threads)["run_ms"]["all"]
    stages = min(compiled, key=lambda each: sum(each.values()))
    return {"ms": min(own), "parallel_ms": min(parallel, default=None), "c_ms": min(other), "limit_ms": limit.ms,
            "limit_by": limit.by, "share": limit.ms / min(own), "ratio": min(own) / min(other), "compile_ms": sum(stages.values()),
            "stages_ms": stages, "source_bytes": heddle.source_bytes(operator, arrays, parameters),
            "launches": first["launches"], "peak_bytes": first["peak_bytes"], "problems": problems}


HEADER = (f"{'operator':24} {'ms':>9} {'parallel':>9} {'C ms':>9} {'limit ms':>9}  {'by':10} {'share':>6} {'/ C':>6} "
          f"{'compile':>8} {'source':>8}")


def line_of(name, row):
    if "error" in row:
        return f"{name:24} failed: {row['error']}"
    parallel = f"{row['parallel_ms']:9.3f}" if row["parallel_ms"] else f"{'-':>9}"
    return (f"{name:24} {row['ms']:9.3f} {parallel} {row['c_ms']:9.3f} {row['limit_ms']:9.3f}  {row['limit_by']:10} "
            f"{row['share']:6.1%} {row['ratio']:6.2f} {row['compile_ms']:5.0f} ms {row['source_bytes'] / 1e3:5.0f} kB"
            + "".join(f"\n    {problem}" for problem in row["problems"]))


def mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def summary(results):
    """Lines: means, and what falls short."""
    rows = {name: row for name, row in results.items() if "error" not in row}
    lines = []
    if rows:
        lines.append(f"geometric means of {len(rows)}: {mean([min(row['share'], 1) for row in rows.values()]):.1%} of the limit, "
                     f"{mean([row['ratio'] for row in rows.values()]):.2f} times C, "
                     f"{mean([row['compile_ms'] for row in rows.values()]):.0f} ms to compile")
    for title, key, is_short, text in [
            (f"below {SHARE:.0%} of the limit", "share", lambda v: v < SHARE, lambda v: f"{v:.1%}"),
            (f"slower than C by more than {RATIO}", "ratio", lambda v: v > RATIO, lambda v: f"{v:.1f}"),
            (f"more than {COMPILE_MS} ms to compile", "compile_ms", lambda v: v > COMPILE_MS, lambda v: f"{v:.0f}"),
            ("more than 1 MB of C", "source_bytes", lambda v: v > SOURCE_BYTES, lambda v: f"{v / 1e6:.1f}"),
            ("wrong", "problems", bool, lambda v: v[0])]:
        short = {name: row[key] for name, row in rows.items() if is_short(row[key])}
        names = ", ".join(f"{name} {text(value)}" for name, value in sorted(short.items(), key=lambda item: item[1]))
        lines.append(f"{len(short)} {title}{': ' + names if short else ''}")
    failed = [name for name in results if name not in rows]
    return lines + ([f"{len(failed)} failed: {', '.join(failed)}"] if failed else [])


def write(results, machine, options):
    """After each operator, so that what was measured is not lost."""
    report = {"cpu": reports.cpu_name(), "date": time.strftime("%Y-%m-%d"), "heddle": options.version, "machine": machine, "rounds": options.rounds,
              "threads": options.threads, "summary": summary(results), "results": results}
    return reports.write(options, "gallery_part.json" if options.names else "gallery.json", report)


def main():
    parser = reports.parser(__doc__, "a part of an operator's or its group's name")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.2, help="of each side, in each round")
    parser.add_argument("--heddle", type=pathlib.Path, default=ROOT / "build/heddle", help="the program, or its build folder")
    options = parser.parse_args()
    if options.quick:
        options.names, options.threads, options.rounds, options.seconds = ["halve"], 1, 1, 0.01
    if options.heddle.is_dir():
        options.heddle = options.heddle / "heddle"
    operators = gallery.load()
    names = reports.chosen(parser, options.names, list(operators), lambda part, name: part in name or part == operators[name].group)
    options.version = subprocess.run([options.heddle, "--version"], capture_output=True, text=True, check=True).stdout.splitlines()[0]
    peers, results = gallery.Peers(), {}
    with tempfile.TemporaryDirectory(prefix="heddle-bench-") as cache:
        options.cache = cache
        machine = Heddle(options.heddle, cache, cache).machine()
        print(HEADER)
        for name in names:
            with tempfile.TemporaryDirectory(prefix="heddle-bench-") as folder:
                try:
                    results[name] = measure(operators[name], options, machine, peers, folder)
                except Failure as problem:
                    results[name] = {"error": str(problem)}
            print(line_of(name, results[name]), flush=True)
            path = write(results, machine, options)
    print("\n".join(summary(results)))
    print(f"wrote {reports.shown(path)}")
    return int(any("error" in row for row in results.values()))


if __name__ == "__main__":
    sys.exit(main())
