"""The long forms of random tests, some hours on two cores, one after another. A part that fails does not keep the others from
running; the end says which did, and then the exit status is 1.

    .venv/bin/python scripts/nightly.py [--list] [PART...]
"""
import argparse
import pathlib
import sys

from run_parts import run_parts

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD, MODELS = ROOT / "build", ROOT / "tests/models"
# By name. Where make test runs a short form, its seeds are others.
PARTS = {
    "random": [BUILD / "random_programs", "--seed", 4000000, "--count", 20000, "--output", BUILD / "random"],
    "places": [BUILD / "random_programs", "--seed", 100000, "--count", 20000, "--cut"],
    "places-models": [sys.executable, ROOT / "tests/transport/models.py", "--full"],
    "fusion": [BUILD / "random_programs", "--seed", 1, "--count", 1000, "--fused"],
    "exact": [BUILD / "exact_bodies", "--seed", 1, "--count", 100000],
    "exact-chains": [BUILD / "exact_bodies", "--chains"],
    "plans": ["env", "HEDDLE_TEST_COUNT=10000", BUILD / "test_plan", "--gtest_filter=Memory.live_buffers_share_no_bytes"],
    "sizes": ["env", "HEDDLE_TEST_COUNT=10000", "HEDDLE_TEST_SEED=1000", BUILD / "test_inference", "--gtest_filter=RandomSizes.*"],
    "sizes-exported": ["env", "HEDDLE_TEST_COUNT=500", "HEDDLE_TEST_SEED=1000", BUILD / "test_artefact", "--gtest_filter=ExportedSizes.*"],
    "sizes-models": [sys.executable, MODELS / "sizes.py"],
    "nodes": [sys.executable, MODELS / "random_nodes.py", "--count", 5000, "--seed", 1],
    "attributes": [sys.executable, MODELS / "random_nodes.py", "--attributes"],
    "computed-nodes": [sys.executable, MODELS / "random_nodes.py", "--computed", "--count", 5000, "--seed", 1],
    "forms": [sys.executable, MODELS / "forms/run.py", "--count", 300, "--seed", 1],
    "computed-forms": [sys.executable, MODELS / "forms/run.py", "--computed", "--count", 60, "--seed", 1],
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true", help="print the commands of the parts")
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"some of {', '.join(PARTS)}; without any, all")
    options = parser.parse_args()
    unknown = [part for part in options.parts if part not in PARTS]
    if unknown:
        parser.error(f"nothing is named {unknown[0]}; there is: {', '.join(PARTS)}")
    chosen = {part: command for part, command in PARTS.items() if not options.parts or part in options.parts}
    if options.list:
        for part, command in chosen.items():
            print(f"{part}:", *command)
        return 0
    return run_parts(chosen)


if __name__ == "__main__":
    sys.exit(main())
