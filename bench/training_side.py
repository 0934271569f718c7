"""A side of bench/training.py: a process of training_worker.py that answers requests, and the files that both sides read."""
import contextlib
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PATHS = [str(ROOT / folder) for folder in ("bench", "examples", "build/python")]
sys.path[:0] = PATHS

import numpy as np

import peer_environment


class Failure(Exception):
    """What a side said last, where it ended."""


class Side:
    def __init__(self, engine, python, threads, *options):
        self.engine = engine
        self.process = subprocess.Popen([python, str(ROOT / "bench/training_worker.py"), engine, str(threads), *options],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                        env={**os.environ, "PYTHONPATH": os.pathsep.join(PATHS)})
        self._answer()

    def ask(self, do, **request):
        print(json.dumps({"do": do, **request}), file=self.process.stdin, flush=True)
        return self._answer()

    def _answer(self):
        line = self.process.stdout.readline()
        if line:
            return json.loads(line)
        said = self.process.stderr.read().strip().splitlines()
        raise Failure(f"{self.engine}: {said[-1] if said else 'ended'}")

    def end(self):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.stderr.close()
        self.process.wait()


class Sides:
    """The interpreters of both, or of ours alone, where the peer cannot be installed, or is not to be."""

    def __init__(self, install=True):
        self.pythons = {"heddle": sys.executable}
        try:
            self.pythons["jax"] = peer_environment.python_with("jax", install)
        except peer_environment.Unavailable as problem:
            print(f"SKIP jax: {problem}", flush=True)

    @contextlib.contextmanager
    def started(self, threads, *options, engines=("heddle", "jax")):
        """{engine: Side}, as long as the block lasts."""
        sides = {}
        try:
            for engine in engines:
                if engine in self.pythons:
                    sides[engine] = Side(engine, self.pythons[engine], threads, *options)
            yield sides
        finally:
            for side in sides.values():
                side.end()


def save(path, weights, batch):
    """As training_worker.py reads it."""
    np.savez(path, **{f"weight:{name}": array for name, array in weights.items()},
             **{f"batch:{at}": array for at, array in enumerate(batch)})
    return str(path)


def largest_difference(ours, theirs):
    """Of arrays by name: as a share of the largest element of each. What should be zero (the gradient of a bias that changes
    nothing) is rounding alone: it counts as a share of a thousandth of the largest element of all."""
    largest = {name: float(np.abs(array).max()) for name, array in theirs.items()}
    least = max(largest.values()) / 1000
    return max(float(np.abs(ours[name] - array).max()) / max(largest[name], least) for name, array in theirs.items())
