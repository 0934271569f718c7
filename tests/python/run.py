"""The Python package against its build: every function test_* of tests/python/test_*.py.

    .venv/bin/python tests/python/run.py [--package build/python] [NAME...]

NAME is a part of a test's name.
"""
import argparse
import importlib.util
import pathlib
import sys
import traceback
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests"))

import report


def tests_of(path):
    specification = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return [(f"{path.stem[5:]}: {name[5:].replace('_', ' ')}", test) for name, test in vars(module).items()
            if name.startswith("test_")]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--package", type=pathlib.Path, default=ROOT / "build/python", help="the folder of the package")
    parser.add_argument("--offline", action="store_true", help="tests of models that are not in the cache are left out")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    results = report.Report()
    if not list((options.package / "heddle").glob("_heddle*.so")):
        results.add("SKIP", f"{options.package}/heddle", "it holds no module: nanobind was not there when it was built")
        return results.end()
    sys.path[:0] = [str(options.package), str(ROOT / "tests/models"), str(ROOT / "tests/python"), str(ROOT / "scripts")]
    import make_models
    make_models.fetches = not options.offline
    for path in sorted(pathlib.Path(__file__).parent.glob("test_*.py")):
        for title, test in tests_of(path):
            if options.names and not any(name in title for name in options.names):
                continue
            try:
                test()
                results.add("PASS", title)
            except make_models.Unavailable as problem:
                results.unavailable(title, problem, options.offline)
            except unittest.SkipTest as reason:
                results.add("SKIP", title, str(reason))
            except Exception:
                results.add("FAIL", title, "\n" + traceback.format_exc())
    return results.end()


if __name__ == "__main__":
    sys.exit(main())
