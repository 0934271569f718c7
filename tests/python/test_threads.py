"""Threads of Python, and the end of a process."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
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


def test_threads_profile_bind_compare_and_cancel_one_session():
    options = heddle.SessionOptions()
    with tempfile.TemporaryDirectory() as folder:
        options.enable_profiling, options.profile_file_prefix = True, f"{folder}/run"
        session = heddle.InferenceSession(doubling(), options, progress=lambda *state: None)
        wrong = []

        def work(number):
            binding, run = session.io_binding(), heddle.RunOptions()
            for repeat in range(30):
                x = np.full((1 + 5 * number + repeat, 4), repeat, np.float32)  # a new program each time
                binding.bind_cpu_input("x", x)
                binding.bind_output("y")
                try:
                    session.run_with_iobinding(binding, run)
                    if not (binding.copy_outputs_to_cpu()[0] == 2 * x).all() or not session.compare({"x": x}):
                        wrong.append((number, repeat))
                except heddle.Error as error:
                    if [problem.code for problem in error.diagnostics] != ["support.cancelled"]:
                        wrong.append(error)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(3)]
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            session.cancel()
            time.sleep(0.005)
        for thread in threads:
            thread.join()
        assert wrong == []
        assert session.run(["y"], {"x": np.ones((2, 4), np.float32)})[0].sum() == 16
        events = json.loads(pathlib.Path(session.end_profiling()).read_text())
    assert any(event["name"] == "model_run" for event in events)


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
