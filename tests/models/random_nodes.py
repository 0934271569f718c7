"""Models of one node with random attributes, shapes, types and opsets, over all operators that have a template.

Where ONNX Runtime runs a model, Heddle gives what it gives, or what ONNX's reference gives, or refuses it with a diagnostic.
Nothing may crash or run on. What Heddle refuses and ONNX Runtime runs is counted, and shown with --show. With --attributes each
attribute of each operator in turn has values that the standard rules out, and others at the edges of what it allows. With
--computed, values that decide sizes follow from data: they are known only when the model runs.

    python tests/models/random_nodes.py [--count 300] [--seed 1] [--wild 0.1] [--attributes] [--computed] [--show] [OPERATOR...]
"""
import argparse
import collections
import dataclasses
import json
import pathlib
import signal
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT / "build/python"), str(ROOT / "tests/models")]

import numpy as np

import node_cases

cases = node_cases.cases

LONGEST = 60  # seconds for one model
CHUNK = 100   # models, or operators, of one process
PASSED = ("equal", "refused", "unjudged", "refused, ONNX Runtime runs it", "as the reference, not as ONNX Runtime", "undefined")


def heddle_results(model, case):
    """(results, diagnostic)."""
    import heddle

    heddle.use_cache(None)
    try:
        session = heddle.InferenceSession(model.SerializeToString(), threads=1)
        return session.run(None, case.feeds()), ""
    except heddle.Error as refused:
        return None, f"{refused.diagnostics[0].code}: {str(refused).splitlines()[0]}"


def judge(case):
    """(state, text); a state of PASSED, none (there is no such model), or wrong."""
    try:
        model = case.model()
    except Exception:  # the checker of types refuses it already
        return "none", ""
    text = case.text()[:600]
    print(json.dumps(["begin", 0, text]), flush=True)
    signal.alarm(LONGEST)  # ends the process
    found, refused = heddle_results(model, case)
    signal.alarm(0)
    print(json.dumps(["peer", 0, text]), flush=True)  # whose end is not ours
    wanted = cases.runtime(model, case)
    if found is None:
        return ("refused" if wanted is None else "refused, ONNX Runtime runs it"), f"{refused} | {text}"
    if wanted is None:
        return "unjudged", text
    problem = cases.compare(found, wanted, case)
    if not problem:
        return "equal", ""
    reference = cases.reference(model, case)
    if reference is not None and not cases.compare(found, reference, case):
        return "as the reference, not as ONNX Runtime", f"{problem} | {text}"
    why = node_cases.undefined(case)
    return ("undefined", f"{why}: {problem} | {text}") if why else ("wrong", f"{problem} | {text}")


def variations(operator):
    """Cases of the operator that differ in one attribute from one that runs."""
    for seed in range(60):
        base = node_cases.draw(np.random.default_rng(seed), [operator], 0)
        if base and judge(base)[0] == "equal":
            break
    else:
        return
    for name, values in node_cases.edges(base):
        for value in values:
            yield dataclasses.replace(base, attributes={**base.attributes, name: value})


def work(seeds, arguments):
    for seed in seeds:
        if arguments.attributes:
            drawn = variations(node_cases.operators(arguments.names)[seed])
        else:
            case = node_cases.draw(np.random.default_rng(seed), arguments.names, arguments.wild)
            if case and arguments.computed:
                case = dataclasses.replace(case, computed=True) if case.constant else None
            drawn = [case] if case else []
        for case in drawn:
            state, text = judge(case)
            print(json.dumps([state, seed, text]), flush=True)
        print(json.dumps(["end", seed, ""]), flush=True)


def results(first, end, arguments):
    """What `work` in a process of its own says; it begins anew behind a seed that ends it."""
    options = [*arguments.names, "--wild", str(arguments.wild)]
    options += ["--attributes"] * arguments.attributes + ["--computed"] * arguments.computed
    while first < end:
        command = [sys.executable, __file__, "--worker", str(first), str(end), *options]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
            text = ""
            for line in process.stdout:
                state, _, text = json.loads(line)
                if state not in ("begin", "peer", "end"):
                    yield state, first, text
                first += state == "end"
        if first < end:
            yield "unjudged" if state == "peer" else "wrong", first, f"the process ended with {process.returncode}: {text}"
            first += 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--wild", type=float, default=0.1, help="the share of attributes that no exporter writes")
    parser.add_argument("--attributes", action="store_true", help="each attribute at its edges and beyond")
    parser.add_argument("--computed", action="store_true", help="what decides sizes is computed while the model runs")
    parser.add_argument("--show", action="store_true", help="also what is refused")
    parser.add_argument("--worker", nargs=2, type=int, help=argparse.SUPPRESS)
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    if arguments.worker:
        return work(range(*arguments.worker), arguments)
    count = collections.Counter()
    first, end = arguments.seed, arguments.seed + arguments.count
    if arguments.attributes:
        first, end = 0, len(node_cases.operators(arguments.names))
    for begin in range(first, end, CHUNK):
        for state, seed, text in results(begin, min(begin + CHUNK, end), arguments):
            count[state] += 1
            if state == "wrong" or arguments.show and state not in ("equal", "none"):
                print(f"{state} (seed {seed}): {text}", flush=True)
    print(", ".join(f"{number} {state}" for state, number in sorted(count.items())))
    print(f"{sum(count[state] for state in PASSED)} passed, {count['wrong']} failed, 0 skipped")
    return count["wrong"] > 0


if __name__ == "__main__":
    sys.exit(main())
