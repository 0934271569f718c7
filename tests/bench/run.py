"""Each script of bench/ still runs: its help, which writes nothing; its quick mode, which writes reports with figures; and what it says
of a name that it does not know.

    .venv/bin/python tests/bench/run.py [--offline] [PART...]
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BENCH = ROOT / "bench"
sys.path[:0] = [str(ROOT / "tests"), str(BENCH), str(ROOT / "scripts")]

import all as bench
import nightly
import report

SCRIPTS = [path for path in sorted(BENCH.glob("*.py")) if "__main__" in path.read_text()]
INSIDE = ["run_peer.py", "training_worker.py", "decoder_torch.py"]  # what other scripts start; they have no options
PAGES = ["gallery_page.py"]                     # write pages of what others have measured


def run(command):
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False, timeout=300)


def problem_of(done, status):
    return None if done.returncode == status and "Traceback" not in done.stderr else (
        f"status {done.returncode} instead of {status}\n{done.stdout}{done.stderr}")


def changes():
    """The files of docs and bench with their times: what a script that is only asked for help must leave as it is."""
    return {path: path.stat().st_mtime_ns for folder in ("docs", "bench") for path in (ROOT / folder).rglob("*")
            if "__pycache__" not in path.parts}


def check_help(script):
    before = changes()
    done = run([sys.executable, script, "--help"])
    return problem_of(done, 0) or ("it says nothing" if "usage" not in done.stdout else None) or (
        "it wrote something" if changes() != before else None)


def check_quick(part, results, offline):
    title = f"{part} --quick"
    with tempfile.TemporaryDirectory() as folder:
        done = run(bench.command_of(part, True, folder))
        written = [json.loads(path.read_text()) for path in pathlib.Path(folder).glob("*.json")]
        problem = problem_of(done, 0) or (None if written and all(written) else f"no report was written:\n{done.stdout}{done.stderr}")
        left_out = [line for line in done.stdout.splitlines() if line.startswith("SKIP ") and not line.startswith("SKIP jax")]
        if left_out and done.returncode == 0:
            results.unavailable(title, "; ".join(left_out), offline)
        else:
            results.check(title, problem)


def check_unknown(part):
    program, *arguments = bench.PARTS[part]
    done = run([sys.executable, program, *arguments, "no-such-case"])
    return problem_of(done, 2) or (None if "there is:" in done.stderr else f"names are not listed: {done.stderr}")


def check_goes_on():
    """A part that fails does not end the others, and is named."""
    with tempfile.TemporaryDirectory() as folder:
        parts = pathlib.Path(folder) / "parts.py"
        parts.write_text(f"import sys; sys.path.insert(0, {str(BENCH)!r})\nimport pathlib, all\n"
                         "all.PARTS = {'bad': [pathlib.Path('/nonexistent')], 'good': [pathlib.Path('/bin/true')]}\nsys.exit(all.main())\n")
        done = run([sys.executable, parts])
        said = done.stdout
        return problem_of(done, 1) or (None if "1 parts failed: bad" in said and "good: done" in said else said)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--offline", action="store_true", help="parts whose model is not in the cache are left out")
    parser.add_argument("parts", nargs="*")
    options = parser.parse_args()
    results = report.Report()
    if not options.parts:
        covered = {part[0].name for part in bench.PARTS.values()} | {*INSIDE, *PAGES, "all.py"}
        results.check("every script is a part of bench/all.py", ", ".join(path.name for path in SCRIPTS if path.name not in covered) or None)
        missing = [str(word) for command in nightly.PARTS.values() for word in command[:2]
                   if isinstance(word, pathlib.Path) and word.is_relative_to(ROOT / "tests") and not word.exists()]
        results.check("the parts of make nightly are there", ", ".join(missing) or None)
        results.check("make nightly lists its parts", problem_of(run([sys.executable, ROOT / "scripts/nightly.py", "--list"]), 0))
        results.check("a part that fails does not end the others", check_goes_on())
        for script in SCRIPTS:
            if script.name not in INSIDE:
                results.check(f"help of {script.name}", check_help(script))
    for part, (program, *_) in bench.PARTS.items():
        if options.parts and part not in options.parts:
            continue
        check_quick(part, results, options.offline)
        if program.suffix == ".py":
            results.check(f"{part} of a name that is not there", check_unknown(part))
    return results.end()


if __name__ == "__main__":
    sys.exit(main())
