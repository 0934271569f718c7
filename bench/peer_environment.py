"""A peer that does not go into .venv: in an environment of its own under .cache, made when it is first asked for."""
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


class Unavailable(Exception):
    """The peer is not there, and why."""


def python_with(name, install=True):
    """The interpreter of the environment with the packages of scripts/requirements-NAME.txt, which are installed where they
    are not there, or, without `install`, unavailable."""
    wanted, folder = ROOT / f"scripts/requirements-{name}.txt", ROOT / ".cache" / name
    python, stamp = folder / "bin/python", folder / "installed"
    if not stamp.exists() or stamp.read_text() != wanted.read_text():
        if not install:
            raise Unavailable("it is not installed")
        print(f"installing {name} into {folder.relative_to(ROOT)}", flush=True)
        _run([sys.executable, "-m", "venv", str(folder)])
        _run([str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", str(wanted)])
        stamp.write_text(wanted.read_text())
    return str(python)


def _run(command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines() or ["failed"]
        raise Unavailable(f"it cannot be installed: {said[-1]}")
