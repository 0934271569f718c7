"""One side of bench/training.py in a process of its own: heddle or jax, bound to as many cores as it has threads.

    python bench/training_worker.py heddle|jax THREADS [--double] [--cold]

Reads a request a line, as JSON, and answers each by a line; between them it sleeps. Arrays come and go as files.
"""
import importlib
import json
import os
import sys
import time

import numpy as np

import run_peer


class Worker:
    def __init__(self, engine, threads, is_double, is_cold):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])
        self.resident = run_peer.resident("VmRSS")
        if engine == "jax" and is_double:
            os.environ["JAX_ENABLE_X64"] = "1"
        self.engine = importlib.import_module(f"training_{engine}")
        self.engine.start(threads, is_cold)
        self.is_double = is_double
        self.given, self.functions = {}, {}

    def arguments(self, case, path):
        """(weights, *batch) of a file with names weight:NAME and batch:PLACE."""
        if (case, path) not in self.given:
            weights, batch = {}, {}
            for name, array in np.load(path).items():
                kind, rest = name.split(":")
                real = array.astype(np.float64) if self.is_double and array.dtype == np.float32 else array
                (weights if kind == "weight" else batch)[rest] = real
            self.given[case, path] = self.engine.arrays((weights, *(batch[str(at)] for at in range(len(batch)))))
        return self.given[case, path]

    def call(self, case, what, path):
        function = self.functions.setdefault((case, what), None) or self.engine.function_of(case, what)
        self.functions[case, what] = function
        results = function(*self.arguments(case, path))
        self.engine.wait(results)
        return results

    def results(self, case, what, path, to):
        """Also compiles."""
        results = self.call(case, what, path)
        value, slopes = results if what == "both" else (0, results)
        np.savez(to, **{name: np.asarray(slope) for name, slope in slopes.items()})
        return {"value": float(np.asarray(value).item())}

    def time(self, case, what, path, seconds):
        times, end = [], time.perf_counter() + seconds
        while len(times) < 3 or time.perf_counter() < end:
            begin = time.perf_counter()
            self.call(case, what, path)
            times.append((time.perf_counter() - begin) * 1e3)
        return {"ms": times}

    def train(self, case, optimiser, path, batches, rate):
        """The losses of steps, how long the first took and the others do, and resident memory."""
        weights = {name: 1 * weight for name, weight in self.arguments(case, path)[0].items()}  # steps may overwrite theirs
        states = [{name: 0 * weight for name, weight in weights.items()} for _ in range(2 if optimiser == "adamw" else 1)]
        step, real = self.engine.step_of(case, optimiser), np.float64 if self.is_double else np.float32
        losses, times = [], []
        for number in range(batches["count"]):
            batch = self.arguments(case, batches["path"].format(number % batches["different"]))[1:]
            begin = time.perf_counter()
            weights, states, value = step(weights, states, real(number + 1), real(rate), *batch)
            losses.append(float(np.asarray(value).item()))
            self.engine.wait(weights)
            times.append((time.perf_counter() - begin) * 1e3)
            if number == 1:
                peak = run_peer.resident("VmHWM")
                forget_peak()
        return {"losses": losses, "first_ms": times[0], "step_ms": times[2:], "peak_bytes": peak - self.resident,
                "step_peak_bytes": run_peer.resident("VmHWM") - self.resident}


def forget_peak():
    """Of resident memory: VmHWM counts from here on."""
    with open("/proc/self/clear_refs", "w", encoding="ascii") as file:
        file.write("5")


def main():
    engine, threads = sys.argv[1:3]
    worker = Worker(engine, int(threads), "--double" in sys.argv, "--cold" in sys.argv)
    print(json.dumps({"ready": engine}), flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        print(json.dumps(getattr(worker, request.pop("do"))(**request)), flush=True)


if __name__ == "__main__":
    main()
