"""Models whose sizes, branches and trip counts follow from data, against ONNX Runtime: loops, scans, branches, lists, optional
values, functions that hold them, and shapes that are computed. Each model runs all its feeds in one session. Then mistakes, which must be
errors that say what is wrong.

    python tests/models/steps.py [--package build/python] [TITLE...]

TITLE is a part of a case's title.
"""
import argparse
import collections
import importlib
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(HERE / "staged"), str(ROOT / "tests")]

import numpy as np
import onnxruntime

import report

KINDS = ("loops", "branches", "scans", "functions", "lists", "sizes", "counts", "networks", "plans")


def difference(found, wanted, tolerance):
    """What is wrong with a result, or an empty text."""
    if isinstance(wanted, list) or wanted is None:
        if type(found) is not type(wanted) or (wanted is not None and len(found) != len(wanted)):
            return f"{found} instead of {wanted}"
        return "".join(difference(*both, tolerance) for both in zip(found, wanted or []))
    if not isinstance(found, np.ndarray) or (found.dtype, found.shape) != (wanted.dtype, wanted.shape):
        kind = f"{found.dtype}{found.shape}" if isinstance(found, np.ndarray) else repr(found)
        return f"{kind} instead of {wanted.dtype}{wanted.shape}"
    exact = wanted.dtype.kind not in "fc"
    equal = np.array_equal(found, wanted) if exact else np.allclose(found, wanted, rtol=tolerance, atol=tolerance, equal_nan=True)
    return "" if equal else f"{found.ravel()[:8]} instead of {wanted.ravel()[:8]}"


def text_of(feeds):
    return ", ".join(f"{name}={value.tolist() if isinstance(value, np.ndarray) and value.size < 2 else np.shape(value)}"
                     for name, value in feeds.items())


def wrong(heddle, case):
    model = case.model()
    peer = case.truth
    if not peer:
        reference = onnxruntime.InferenceSession(model, quiet(), providers=["CPUExecutionProvider"])
        peer = lambda **feeds: reference.run(None, feeds)
    problems = []
    begun = collections.Counter()
    session = heddle.InferenceSession(model, threads=1, progress=lambda stage, done, *_: begun.update([stage] * (done == 0)))
    for feeds in case.feeds:
        wanted = peer(**feeds)
        try:
            problem = "; ".join(filter(None, (difference(*both, case.tolerance)
                                              for both in zip(session.run(None, feeds), wanted, strict=True))))
        except heddle.Error as error:
            problem = str(error)
        if problem:
            problems.append(f"{text_of(feeds)}: {problem}")
    if case.plans is not None and begun["plan"] > case.plans:
        problems.append(f"{begun['plan']} plans instead of at most {case.plans}")
    return "\n".join(problems)


def accepted(heddle, mistake):
    """What is wrong with the error of a mistake."""
    try:
        session = heddle.InferenceSession(mistake.model(), threads=1)
        for feeds in mistake.feeds:
            session.run(None, feeds)
    except heddle.Error as error:
        codes = [diagnostic.code for diagnostic in error.diagnostics]
        fine = codes and codes[0] in mistake.codes and mistake.says in str(error)
        return "" if fine else f"{codes} instead of {mistake.codes} with '{mistake.says}':\n{error}"
    return "it is no error"


def quiet():
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    return options


def opened(description):
    """The report, the package (None where it is not built), and what gives the cases of kinds that the arguments name."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--package", type=pathlib.Path, default=ROOT / "build/python", help="the folder of the package")
    parser.add_argument("titles", nargs="*")
    options = parser.parse_args()
    results = report.Report(quiet=True)

    def cases(*kinds):
        for kind in kinds:
            for case in importlib.import_module(kind).CASES:
                title = f"{kind}: {case.title}"
                if not options.titles or any(part in title for part in options.titles):
                    yield kind, title, case

    if not list((options.package / "heddle").glob("_heddle*.so")):
        results.add("SKIP", f"{options.package}/heddle", "it holds no module: nanobind was not there when it was built")
        return results, None, cases
    sys.path.insert(0, str(options.package))
    return results, importlib.import_module("heddle"), cases


def main():
    results, heddle, cases = opened(__doc__)
    onnxruntime.set_default_logger_severity(4)
    for kind, title, case in cases(*KINDS, "mistakes") if heddle else ():
        try:
            problem = accepted(heddle, case) if kind == "mistakes" else wrong(heddle, case)
        except Exception as error:  # of a peer: the case is wrong
            problem = f"{type(error).__name__}: {error}"
        results.check(title, problem)
    return results.end()


if __name__ == "__main__":
    sys.exit(main())
