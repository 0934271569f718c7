"""The example that gives a real model a new task, for few steps."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

import heddle
from support import model_path

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
EXAMPLE = [sys.executable, str(ROOT / "examples/fine_tune.py")]


def run(*arguments):
    package = str(pathlib.Path(heddle.__file__).parent.parent)
    return subprocess.run([*EXAMPLE, *arguments], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": package})


def test_a_model_learns_to_tell_kinds_that_were_one_to_it():
    models = pathlib.Path(model_path("magika")).parent
    model_path("magika-config")
    with tempfile.TemporaryDirectory() as folder:
        # The files are this repository's, so that the shares move with every change of it: so many steps that the bound is far.
        done = run("--models", str(models), "--steps", "120", "--svg", f"{folder}/curve.svg")
        assert done.returncode == 0, done.stderr
        before, after = [float(share) for share in re.findall(r"^(?:before|after): ([0-9.]+)%", done.stdout, re.MULTILINE)]
        assert before < 70 < 75 < after, done.stdout
        assert re.search(r"before.*C\+\+ headers 0.0%.*C\+\+ tests 0.0%", done.stdout), done.stdout
        xml.etree.ElementTree.parse(f"{folder}/curve.svg")


def test_without_the_model():
    with tempfile.TemporaryDirectory() as folder:
        done = run("--models", folder)
        assert done.returncode == 1 and "scripts/models magika" in done.stderr, done.stderr
