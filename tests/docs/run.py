"""Runs the examples of README.md and docs/*.md, so that what they say stays true.

A fenced block marked `console` is a test: lines that begin with `$ ` are commands (a line that ends in `\\` goes on in the next),
run by bash in order, one folder for each page; every other line must occur in the output of the command before it, in order,
with `...` for anything. A command must end with status 0, or with N where its line ends in `# exits with N`. A fenced block
marked `yaml`, `python`, `c` or `cpp` whose first line is `# NAME.yaml`, `# NAME.py`, `// NAME.c` or `// NAME.cpp` is written as that file first;
`import heddle` finds the package beside the program, and compilers find the headers and the library. Blocks marked `console no-test` are only shown.

    .venv/bin/python tests/docs/run.py [--heddle PROGRAM] [PAGE...]
"""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests"))

import report
# What examples may use; all else (build folders, caches) stays away from them.
USED = ["examples", "operators", "environments", "tests/models", "bench", "README.md"]
SECONDS = 120
FILES = ["yaml", "python", "c", "cpp"]  # languages of blocks that become files


def blocks(page):
    """(language, line of the fence, lines) of each fenced block."""
    fence, language, begin, lines = None, None, 0, []
    for number, line in enumerate(page.read_text().splitlines(), 1):
        if fence is None and line.startswith("```"):
            fence, language, begin, lines = "```", line[3:].strip(), number, []
        elif fence is not None and line.startswith(fence):
            yield language, begin, lines
            fence = None
        elif fence is not None:
            lines.append(line)


def steps(lines):
    """(command, status, expected lines) of a console block."""
    found = []
    for line in lines:
        if found and found[-1][0].endswith("\\"):
            found[-1][0] = found[-1][0][:-1] + line.strip()
        elif line.startswith("$ "):
            found.append([line[2:], 0, []])
        elif line.strip() and found:
            found[-1][2].append(line.strip())
    for step in found:
        status = re.search(r"\s*# exits with (\d+)$", step[0])
        if status:
            step[0], step[1] = step[0][:status.start()], int(status[1])
    return found


def missing_line(expected, output):
    """The first expected line that does not occur, in order; None if all do."""
    place = 0
    shown = [line.strip() for line in output.splitlines()]
    for line in expected:
        if line == "...":
            continue
        pattern = re.compile(".*".join(re.escape(part) for part in line.split("...")))
        while place < len(shown) and not pattern.fullmatch(shown[place]):
            place += 1
        if place == len(shown):
            return line
        place += 1
    return None


def run_block(lines, folder):
    """None if all is as shown, else what is not."""
    for command, status, expected in steps(lines):
        try:
            done = subprocess.run(["bash", "-c", command], cwd=folder, capture_output=True, text=True, errors="replace",
                                  timeout=SECONDS)
            output = done.stdout + done.stderr  # as a terminal shows them: the result, then the errors
        except subprocess.TimeoutExpired:
            return f"$ {command}\nstill running after {SECONDS} s"
        if done.returncode != status:
            return f"$ {command}\nexit status {done.returncode}, expected {status}\n{output}"
        missing = missing_line(expected, output)
        if missing is not None:
            return f"$ {command}\nno line like: {missing}\n{output}"
    return None


def prepare(folder, heddle):
    for name in USED:
        source, target = ROOT / name, folder / name
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__", "results"))
        elif source.exists():
            shutil.copy(source, target)
    (folder / "build").mkdir()
    # A link of the program would find its operators beside the original; so does this.
    (folder / "build/heddle").symlink_to(heddle)
    for name in [".venv", ".cache"]:
        if (ROOT / name).exists():
            (folder / name).symlink_to(ROOT / name)


def run_page(page, heddle, results):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        prepare(folder, heddle)
        os.environ["XDG_CACHE_HOME"] = str(folder / ".compiled")  # each page begins with none
        for language, line, lines in blocks(page):
            place = f"{page.relative_to(ROOT) if page.is_relative_to(ROOT) else page}:{line}"
            file = re.fullmatch(r"(?:#|//) (\w[\w.-]*\.(?:yaml|py|c|cpp))", lines[0].strip()) if language in FILES and lines else None
            if file:
                (folder / file[1]).write_text("\n".join(lines) + "\n")
            if language == "console no-test":
                results.add("SKIP", place, "only shown")
            if language != "console":
                continue
            problem = run_block(lines, folder)
            results.check(place, problem and "\n" + problem)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--heddle", type=pathlib.Path, default=ROOT / "build/heddle")
    parser.add_argument("pages", nargs="*", type=pathlib.Path)
    options = parser.parse_args()
    if not options.heddle.is_file():
        sys.exit(f"{options.heddle} is not there: run make build first")
    os.environ["COLUMNS"] = "120"
    # Open MPI's launcher wants to be told that it may start more processes than there are cores, and as root.
    os.environ.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMPI_MCA_rmaps_base_oversubscribe="1")
    build = options.heddle.resolve().parent
    os.environ["PYTHONPATH"] = str(build / "python")
    os.environ.update(CPATH=str(ROOT / "src/api"), LIBRARY_PATH=str(build), LD_LIBRARY_PATH=str(build))
    results = report.Report()
    for page in options.pages or [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        run_page(page.resolve(), options.heddle.resolve(), results)
    return results.end()


if __name__ == "__main__":
    sys.exit(main())
