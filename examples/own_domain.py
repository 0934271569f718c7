"""An ONNX model with nodes that no ONNX library knows: Swish and RmsNorm of my.domain (examples/my.yaml) around a linear layer.

    .venv/bin/python examples/own_domain.py MODEL.onnx

x [rows, 256] -> RmsNorm -> MatMul, Add -> Swish(beta 2) -> y [rows, 128]
"""
import sys

import numpy as np
from onnx import TensorProto, helper, numpy_helper, save


def own_domain_model():
    random = np.random.default_rng(1)
    weights = {
        "scale": random.uniform(0.5, 1.5, 256),
        "weight": random.standard_normal((256, 128)) / 16,
        "bias": random.standard_normal(128) / 10,
    }
    nodes = [
        helper.make_node("RmsNorm", ["x", "scale"], ["normal"], domain="my.domain", name="norm"),
        helper.make_node("MatMul", ["normal", "weight"], ["product"], name="product"),
        helper.make_node("Add", ["product", "bias"], ["sum"], name="sum"),
        helper.make_node("Swish", ["sum"], ["y"], domain="my.domain", name="activation", beta=2.0),
    ]
    graph = helper.make_graph(
        nodes, "own_domain",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["rows", 256])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["rows", 128])],
        [numpy_helper.from_array(array.astype(np.float32), name) for name, array in weights.items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("my.domain", 1)])
    model.ir_version = 8
    return model


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    save(own_domain_model(), sys.argv[1])
    print(f"{sys.argv[1]}: written")
