"""Threads of Python, and the end of a process."""
import os
import pathlib
import subprocess
import sys
import threading
import time

import numpy as np

import heddle
from support import doubling


def test_two_threads_run_one_session():
    session = heddle.InferenceSession(doubling())
    library = heddle.load_library()
    wrong = []

    def work(number):
        for repeat in range(100):
            x = np.full((1 + (number + repeat) % 3, 4), number * 1000 + repeat, np.float32)
            y, _ = session.run(None, {"x": x})
            z = library.call("neg", x)
            if not ((y == 2 * x).all() and (z == -x).all()):
                wrong.append((number, repeat))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_python_goes_on_while_a_session_runs():
    library = heddle.load_library(threads=1)
    x = np.ones((1500, 1500), np.float32)
    library.call("matmul", x, x)  # compiled

    def work():
        for _ in range(5):
            library.call("matmul", x, x)

    thread = threading.Thread(target=work)
    turns = 0
    thread.start()
    while thread.is_alive():
        time.sleep(0.0005)
        turns += 1
    assert turns > 15, turns  # a thread that kept the interpreter would give it back only between its five calls


def test_a_process_ends_with_sessions_alive():
    code = ("import numpy, heddle\nlibrary = heddle.load_library()\n"
            "kept = library.call('softmax', numpy.ones((3, 5), numpy.float32))\nprint(kept.sum())")
    folder = str(pathlib.Path(heddle.__file__).parent.parent)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": folder})
    assert (done.returncode, done.stderr) == (0, ""), done
    assert abs(float(done.stdout) - 3) < 1e-5
