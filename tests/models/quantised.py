"""A model with quantised layers (QDQ), cut at each of its QuantizeLinear nodes and compared piece by piece.

A whole model proves little there: one rounding that falls the other way, by the last bit of a sum, goes through all layers
after it, and ONNX Runtime differs from itself by as much. So every quantised tensor becomes an input of the model, with ONNX
Runtime's value (without optimisations: each node as it is written), and what the nodes before it make of such inputs becomes
two outputs: the tensor before rounding, and the rounded one. No difference reaches the next piece. Then

* before rounding, each tensor equals ONNX Runtime's as whole models do (docs/equality.md), with no allowance for what
  ONNX Runtime changes of itself;
* after it, each element equals ONNX Runtime's, or differs by one step where ONNX Runtime's own value lies within that bar of
  the switch between the two.

What is cut still has to run in one piece: a batch of utterances through the whole model is compared too, by the general rule.

    python tests/models/quantised.py [--heddle build/heddle]
"""
import argparse
import pathlib
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests/models"), str(ROOT / "scripts")]

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper

import check
import equality
import inputs
import make_models
import report


def quantised_by(model):
    """The nodes that quantise what is computed."""
    constants = {tensor.name for tensor in model.graph.initializer}
    return [node for node in model.graph.node if node.op_type == "QuantizeLinear" and node.input[0] not in constants]


def with_outputs(model, names):
    """The model with more outputs, of the types that ONNX Runtime finds."""
    shown = onnx.ModelProto()
    shown.CopyFrom(model)
    shown.graph.output.extend(helper.make_empty_tensor_value_info(name) for name in names)
    return shown


def cut(model, values):
    """The model with quantised tensors as inputs, of the types of `values`; what was computed of them is 'NAME again'."""
    pieces = onnx.ModelProto()
    pieces.CopyFrom(model)
    for node in quantised_by(pieces):
        name, before = node.output[0], node.input[0]
        value = values[name]
        kind = helper.np_dtype_to_tensor_dtype(value.dtype)
        pieces.graph.input.append(helper.make_tensor_value_info(name, kind, value.shape))
        pieces.graph.output.append(helper.make_tensor_value_info(before, onnx.TensorProto.FLOAT, value.shape))
        pieces.graph.output.append(helper.make_tensor_value_info(f"{name} again", kind, value.shape))
        node.output[0] = f"{name} again"
    return pieces


def run_reference(model, feeds, folder):
    path = pathlib.Path(folder) / "shown.onnx"
    onnx.save(model, path)
    return dict(zip((output.name for output in model.graph.output), check.reference(path, feeds, False), strict=True))


def rounding(found, wanted, before, bar, scale):
    """(elements that differ, those of them that may not): by more than a step, or where `before` is clear of the switch."""
    steps = found.astype(np.int32) - wanted.astype(np.int32)
    place = before.astype(np.float64) / scale
    to_switch = np.abs(place - (np.floor(place) + 0.5)) * scale
    wrong = (steps != 0) & ((np.abs(steps) > 1) | (to_switch > bar))
    return int((steps != 0).sum()), int(wrong.sum())


def compare_pieces(binary, model, feeds, changed=None):
    """(problems, text); `changed` is the model that Heddle runs instead."""
    nodes = quantised_by(model)
    scales = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    names = [name for node in nodes for name in (node.input[0], node.output[0])]
    with tempfile.TemporaryDirectory() as folder:
        wanted = run_reference(with_outputs(model, names), feeds, folder)
        pieces = cut(changed or model, wanted)
        path = pathlib.Path(folder) / "pieces.onnx"
        onnx.save(pieces, path)
        given = feeds | {node.output[0]: wanted[node.output[0]] for node in nodes}
        results, _ = check.heddle(binary, path, given)
        found = dict(zip((output.name for output in pieces.graph.output), results, strict=True))
    elements = other_way = worst = 0
    problems = []
    for node in nodes:
        before, after = node.input[0], node.output[0]
        equal, text = equality.compare(found[before], wanted[before], wanted[before])
        if not equal:
            problems.append(f"{before}: {text}")
        worst = max(worst, equality.measures(found[before], wanted[before])[0])
        bar = 2e-5 * np.abs(wanted[before]).max()
        different, wrong = rounding(found[f"{after} again"], wanted[after], wanted[before], bar, scales[node.input[1]])
        if wrong:
            problems.append(f"{after}: {wrong} of {wanted[after].size} elements are not what was rounded")
        elements, other_way = elements + wanted[after].size, other_way + different
    for output in model.graph.output:
        equal, text = equality.compare(found[output.name], wanted[output.name], wanted[output.name])
        if not equal:
            problems.append(f"{output.name}: {text}")
    return problems, (f"{len(nodes)} pieces, {elements:,} quantised elements, of which {other_way} rounded the other way at a "
                      f"switch; before rounding at most {worst:.1e} of 2.0e-05")


def one_weight_by_one_step(model):
    """A copy in which one element of one quantised weight is one step larger."""
    changed = onnx.ModelProto()
    changed.CopyFrom(model)

    def step(array):
        array.reshape(-1)[array.argmin()] += 1
        return array

    check.change_weight(changed, lambda name, array: array.dtype == np.int8 and array.ndim == 2, step)
    return changed


def check_pieces(binary, model, feeds):
    problems, text = compare_pieces(binary, model, feeds)
    return not problems, "; ".join([text, *problems])


def check_mutation(binary, model, feeds):
    problems, _ = compare_pieces(binary, model, feeds, one_weight_by_one_step(model))
    return bool(problems), "; ".join(problems) or "nothing noticed"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--heddle", default=str(ROOT / "build/heddle"))
    parser.add_argument("--offline", action="store_true", help="the model is left out where it is not in the cache")
    options = parser.parse_args()
    binary, make_models.fetches = options.heddle, not options.offline
    results = report.Report()
    try:
        model = onnx.load(make_models.make("smart-turn"))
    except make_models.Unavailable as problem:
        results.unavailable("smart-turn", problem, options.offline)
        return results.end()
    feeds = inputs.of("smart-turn")
    cases = [("each quantised layer of smart-turn equals ONNX Runtime", check_pieces, (model, feeds)),
             ("a batch of 4 through all of smart-turn, which proves little", check.check, ("smart-turn", 4)),
             ("mutation is noticed: one weight of smart-turn by one step", check_mutation, (model, feeds))]
    for title, run, rest in cases:
        results.attempt(title, run, binary, *rest)
    return results.end()


if __name__ == "__main__":
    sys.exit(main())
