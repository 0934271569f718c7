"""Compiled code that is kept for later processes."""
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

import heddle
from support import doubling, refused

FOLDER = str(pathlib.Path(heddle.__file__).parent.parent)
CODE = """
import sys, warnings, numpy, heddle
if len(sys.argv) > 1:
    heddle.use_cache(sys.argv[1] or None)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    y = heddle.load_library().call("softmax", numpy.arange(12, dtype=numpy.float32).reshape(3, 4))
print(y.tobytes().hex(), [str(entry.message) for entry in caught])
"""


def results_of(home, *arguments):
    done = subprocess.run([sys.executable, "-c", CODE, *arguments], capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": FOLDER, "XDG_CACHE_HOME": str(home)})
    assert (done.returncode, done.stderr) == (0, ""), done
    return done.stdout.split(maxsplit=1)


def kernels_in(folder):
    return sorted(pathlib.Path(folder).glob("*.kernel"))


def test_code_is_kept_and_checked():
    with tempfile.TemporaryDirectory() as home:
        first = results_of(home)
        kernels = kernels_in(pathlib.Path(home) / "heddle")
        assert kernels and first[1].strip() == "[]", first
        times = [kernel.stat().st_mtime_ns for kernel in kernels]
        assert results_of(home) == first
        assert [kernel.stat().st_mtime_ns for kernel in kernels] == times, "nothing was compiled again"
        content = bytearray(kernels[0].read_bytes())
        content[len(content) // 2] ^= 1
        kernels[0].write_bytes(content)
        second = results_of(home)
        assert second[0] == first[0]
        assert "damaged" in second[1], second
        assert results_of(home) == first


def test_another_folder_and_none():
    with tempfile.TemporaryDirectory() as home, tempfile.TemporaryDirectory() as other:
        first = results_of(home, other)
        assert kernels_in(other) and not (pathlib.Path(home) / "heddle").exists()
        assert results_of(home, "")[0] == first[0]
        assert not (pathlib.Path(home) / "heddle").exists()
        with refused("cache.folder"):
            heddle.use_cache(os.devnull)


def test_two_processes_at_once():
    with tempfile.TemporaryDirectory() as home:
        environment = {**os.environ, "PYTHONPATH": FOLDER, "XDG_CACHE_HOME": home}
        runs = [subprocess.Popen([sys.executable, "-c", CODE], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                 env=environment) for _ in range(3)]
        outputs = [run.communicate() for run in runs]
        assert len(set(outputs)) == 1 and outputs[0][1] == "", outputs
        session = heddle.InferenceSession(doubling())
        assert (session.run(None, {"x": np.ones((2, 4), np.float32)})[0] == 2).all()
