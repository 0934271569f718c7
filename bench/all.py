"""All benchmarks, one after another. A part that fails does not keep the others from running; the end says which did, and then
the exit status is 1.

    python bench/all.py [--quick] [--results DIR] [--list] [PART...]
"""
import pathlib
import sys

import reports

sys.path.append(str(reports.ROOT / "scripts"))
from run_parts import run_parts

BENCH, BUILD = pathlib.Path(__file__).resolve().parent, reports.ROOT / "build"
# By name: the script or program, and its arguments.
PARTS = {
    "peers": [BENCH / "peers.py"],
    "starts": [BENCH / "starts.py"],
    "decoder": [BENCH / "decoder.py"],
    "sizes": [BENCH / "sizes.py"],
    "gallery": [BENCH / "gallery.py"],
    "training": [BENCH / "training.py"],
    "agreement": [BENCH / "training.py", "--agree"],
    "derivatives": [BENCH / "derivatives.py"],
    "shipped": [BENCH / "shipped.py"],
    "symbolic": [BUILD / "bench_symbolic"],
    "passes": [BENCH / "passes.py"],
    "machines": [BENCH / "machines.py"],
}


def command_of(part, quick, folder):
    program, *arguments = PARTS[part]
    start = [sys.executable, program] if program.suffix == ".py" else [program]
    return [*map(str, [*start, *arguments, "--results", folder]), *(["--quick"] if quick else [])]


def main():
    parser = reports.parser(__doc__, f"one of {', '.join(PARTS)}; without any, all")
    parser.add_argument("--list", action="store_true", help="print the names of the parts")
    options = parser.parse_args()
    if options.list:
        print("\n".join(PARTS))
        return 0
    chosen = reports.chosen(parser, options.names, list(PARTS))
    return run_parts({part: command_of(part, options.quick, options.results) for part in chosen})


if __name__ == "__main__":
    sys.exit(main())
