"""Training beside jitted JAX on this CPU: forward and backward of networks, gradients of single kernels, whole steps.

Each side is a process, bound to as many cores as it has threads, that sleeps while the other one works. They take turns, in
rounds, with the same weights and data; of each round the median counts, and of these the median. Ratios are taken within a round,
and of them the median, so that drift of the machine meets both sides. Results are compared: the largest difference, as a share of
the largest element. Steps (AdamW) are measured in processes of their own, with nothing kept on disk. Prints tables, and writes
bench/results/training.json.

    python bench/training.py [--threads 1,2] [--rounds 7] [--seconds 0.2] [--quick] [NAME...]
    python bench/training.py --agree [--steps 100] [NAME...]

--agree only trains the networks of the examples, on both sides from the same weights by the same batches, and prints by how much
the losses differ (training_agreement.py says what explains it). NAME is a part of a case's name.
"""
import json
import pathlib
import statistics
import tempfile
import time

import training_side  # finds the package and the examples

import numpy as np

import reports
import training_agreement
import training_data


def ratio(over, under):
    return statistics.median(a / b for a, b in zip(over, under, strict=True))


def medians_of_rounds(sides, case, whats, path, options):
    """{what: {engine: a median a round}}."""
    medians = {what: {engine: [] for engine in sides} for what in whats}
    for number in range(options.rounds + 1):
        for what in whats:
            for engine, side in sides.items():
                times = side.ask("time", case=case, what=what, path=path, seconds=options.seconds if number else 0)["ms"]
                if number:  # the first one compiles
                    medians[what][engine].append(statistics.median(times))
    return medians


def measure(sides, case, whats, folder, options):
    """{"ms": {what: {engine}}, "ratio_to_jax": {what}, "backward_ratio": {engine}, "difference"}, as far as it can be known."""
    path = training_side.save(folder / f"{case}.npz", *training_data.made(case))
    values, results = {}, {}
    for engine, side in sides.items():
        to = str(folder / f"{case}.{engine}.npz")
        values[engine] = side.ask("results", case=case, what=whats[-1], path=path, to=to)["value"]
        results[engine] = dict(np.load(to))
    rounds = medians_of_rounds(sides, case, whats, path, options)
    row = {"ms": {what: {engine: statistics.median(times) for engine, times in each.items()} for what, each in rounds.items()},
           "rounds": rounds}
    if "jax" in sides:
        row["ratio_to_jax"] = {what: ratio(each["heddle"], each["jax"]) for what, each in rounds.items()}
        row["difference"] = max(training_side.largest_difference(results["heddle"], results["jax"]),
                                abs(values["heddle"] - values["jax"]) / max(abs(values["jax"]), 1e-30))
    if "forward" in rounds:
        row["backward_ratio"] = {engine: ratio(rounds["both"][engine], rounds["forward"][engine]) for engine in sides}
    return row


def print_row(case, threads, row):
    parts = []
    for what, times in row["ms"].items():
        text = " ".join(f"{engine} {ms:8.3f}" for engine, ms in times.items())
        parts.append(f"{what} {text} ms" + (f" ratio {row['ratio_to_jax'][what]:5.2f}" if "ratio_to_jax" in row else ""))
    if "backward_ratio" in row:
        parts.append("both / forward " + ", ".join(f"{engine} {value:.2f}" for engine, value in row["backward_ratio"].items()))
    if "difference" in row:
        parts.append(f"differ by {row['difference']:.0e}")
    print(f"{case:18} {threads} thread{'s' if threads > 1 else ' '}  {'   '.join(parts)}", flush=True)


def measure_step(all_sides, case, folder, options):
    """{engine: {"compile_ms", "step_ms", "peak_bytes", "step_peak_bytes"}}: medians of several processes each."""
    path = training_side.save(folder / f"{case}.step.npz", *training_data.made(case))
    batches = {"path": path, "count": 20, "different": 1}
    runs = {engine: [] for engine in all_sides.pythons}
    for _ in range(options.processes):
        for engine in runs:
            with all_sides.started(options.most_threads, "--cold", engines=[engine]) as sides:
                runs[engine].append(sides[engine].ask("train", case=case, optimiser="adamw", path=path, batches=batches, rate=.001))
    return {engine: {"step_ms": statistics.median(statistics.median(run["step_ms"]) for run in all_runs),
                     "compile_ms": statistics.median(run["first_ms"] - statistics.median(run["step_ms"]) for run in all_runs),
                     "peak_bytes": statistics.median(run["peak_bytes"] for run in all_runs),
                     "step_peak_bytes": statistics.median(run["step_peak_bytes"] for run in all_runs)}
            for engine, all_runs in runs.items()}


def print_step(case, row):
    parts = [f"{engine} compiled in {side['compile_ms']:6.0f} ms, a step {side['step_ms']:8.3f} ms, resident peak while compiling "
             f"{side['peak_bytes'] / 1e6:4.0f} MB, of later steps {side['step_peak_bytes'] / 1e6:4.0f} MB" for engine, side in row.items()]
    print(f"{case:18} {'   '.join(parts)}", flush=True)


def write(options, report):
    """Other parts stay as they were."""
    path = options.results / "training.json"
    known = json.loads(path.read_text()) if path.exists() else {}
    return reports.write(options, path.name, known | report)


def measure_all(all_sides, folder, options):
    report = {"cpu": reports.cpu_name(), "date": time.strftime("%Y-%m-%d"), "rounds": options.rounds}
    for title, cases, whats in [("networks", training_data.NETWORKS, ["forward", "both"]),
                                ("kernels", training_data.KERNELS, ["gradient"])]:
        report[title] = []
        for threads in options.threads:
            with all_sides.started(threads) as sides:
                for case in filter(options.wants, cases):
                    report[title].append({"case": case, "threads": threads, **measure(sides, case, whats, folder, options)})
                    print_row(case, threads, report[title][-1])
    report["steps"] = {}
    for case in filter(options.wants, training_data.NETWORKS + training_data.TRAINED):
        report["steps"][case] = measure_step(all_sides, case, folder, options)
        print_step(case, report["steps"][case])
    return report


def agree(all_sides, folder, options):
    print(training_agreement.HEADER)
    return {"agreement": [row for case in filter(options.wants, training_data.TRAINED)
                          for row in training_agreement.compare(all_sides, case, folder, options.steps)]}


def main():
    parser = reports.parser(__doc__, "a part of a case's name")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=0.2, help="of each side, in each round")
    parser.add_argument("--agree", action="store_true")
    parser.add_argument("--steps", type=int, default=100)
    options = parser.parse_args()
    known = training_data.TRAINED if options.agree else training_data.NETWORKS + training_data.KERNELS + training_data.TRAINED
    cases, options.processes = reports.chosen(parser, options.names, known, fits=reports.part_of), 3
    if options.quick:
        cases = ["shapes"] if options.agree else ["softmax", "mlp"]
        options.threads, options.rounds, options.seconds, options.steps, options.processes = "1", 1, 0.01, 2, 1
    options.wants = lambda case: case in cases
    options.threads = [int(number) for number in options.threads.split(",")]
    options.most_threads = max(options.threads)
    all_sides = training_side.Sides(install=not options.quick)
    with tempfile.TemporaryDirectory(prefix="heddle-bench-") as folder:
        report = (agree if options.agree else measure_all)(all_sides, pathlib.Path(folder), options)
    print(f"wrote {reports.shown(write(options, report))}")


if __name__ == "__main__":
    main()
