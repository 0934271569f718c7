"""Operators whose coordinates are data, against ONNX Runtime on random cases: each in a model of its own, several types,
negative indices, duplicates where they are defined, and an index outside, which must be an error.

    python tests/models/indirect.py [--heddle build/heddle]
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

import check
import report

TYPES = {np.float32: onnx.TensorProto.FLOAT, np.float64: onnx.TensorProto.DOUBLE, np.int32: onnx.TensorProto.INT32,
         np.int64: onnx.TensorProto.INT64, np.bool_: onnx.TensorProto.BOOL}


def model_of(operator, opset, feeds, out_type, attributes):
    node = onnx.helper.make_node(operator, list(feeds), ["y"], **attributes)
    graph = onnx.helper.make_graph(
        [node], operator,
        [onnx.helper.make_tensor_value_info(name, TYPES[value.dtype.type], value.shape) for name, value in feeds.items()],
        [onnx.helper.make_tensor_value_info("y", out_type, None)])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", opset)])
    model.ir_version = 8
    return model


def values(random, dtype, shape):
    if dtype is np.bool_:
        return random.integers(0, 2, shape).astype(np.bool_)
    if np.issubdtype(dtype, np.integer):
        return random.integers(-9, 10, shape).astype(dtype)
    return random.standard_normal(shape).astype(dtype)


def indices(random, shape, extent, dtype=np.int64):
    return random.integers(-extent, extent, shape).astype(dtype)


def distinct(random, count, extent):
    """Indices that are all different, some of them counted from the end."""
    chosen = random.permutation(extent)[:count]
    return np.where(random.random(count) < 0.4, chosen - extent, chosen).astype(np.int64)


def scatter_elements(random, reduction):
    shape = tuple(random.integers(1, 9, random.integers(1, 4)))
    axis = int(random.integers(-len(shape), len(shape)))
    part = [int(random.integers(1, n + 1)) for n in shape]
    if reduction == "none":
        at = np.apply_along_axis(lambda _: distinct(random, part[axis], shape[axis]), axis, np.zeros(part))
    else:
        part[axis] = int(random.integers(1, 20))
        at = indices(random, part, shape[axis])
    at = at.astype(np.int32 if random.random() < 0.3 else np.int64, order="C")
    types = [np.float32, np.float64, np.int32, np.int64] + [np.bool_] * (reduction == "none")
    dtype = types[random.integers(len(types))]
    feeds = {"data": values(random, dtype, shape), "indices": at, "updates": values(random, dtype, at.shape)}
    attributes = {"axis": axis} | ({} if reduction == "none" else {"reduction": reduction})
    return "ScatterElements", 18, feeds, attributes


def scatter(random, _):
    _, _, feeds, attributes = scatter_elements(random, "none")
    return "Scatter", 9, feeds, attributes


def scatter_nd(random, reduction):
    shape = tuple(random.integers(1, 9, random.integers(1, 4)))
    depth = int(random.integers(1, len(shape) + 1))
    if reduction == "none":
        places = int(np.prod(shape[:depth]))
        flat = random.permutation(places)[:random.integers(1, places + 1)]
        at = np.stack(np.unravel_index(flat, shape[:depth]), -1)
        at = np.where(random.random(at.shape) < 0.4, at - np.array(shape[:depth]), at)
    else:
        count = tuple(random.integers(1, 9, random.integers(1, 3)))
        at = np.stack([indices(random, count, n) for n in shape[:depth]], -1)
    types = [np.float32, np.float64, np.int32, np.int64]
    dtype = types[random.integers(len(types))]
    feeds = {"data": values(random, dtype, shape), "indices": at.astype(np.int64),
             "updates": values(random, dtype, at.shape[:-1] + shape[depth:])}
    return "ScatterND", 18, feeds, {} if reduction == "none" else {"reduction": reduction}


def gather(random, _):
    shape = tuple(random.integers(1, 9, random.integers(1, 4)))
    axis = int(random.integers(-len(shape), len(shape)))
    at = indices(random, tuple(random.integers(1, 6, random.integers(0, 3))), shape[axis], np.int32)
    return "Gather", 13, {"data": values(random, np.float32, shape), "indices": at}, {"axis": axis}


def gather_elements(random, _):
    shape = tuple(random.integers(1, 9, random.integers(1, 4)))
    axis = int(random.integers(-len(shape), len(shape)))
    part = [int(random.integers(1, n + 1)) for n in shape]
    part[axis] = int(random.integers(1, 12))
    return "GatherElements", 13, {"data": values(random, np.float32, shape),
                                  "indices": indices(random, part, shape[axis])}, {"axis": axis}


def gather_nd(random, _):
    shape = tuple(random.integers(1, 9, random.integers(1, 4)))
    batch = int(random.integers(0, len(shape)))
    depth = int(random.integers(1, len(shape) - batch + 1))
    middle = tuple(random.integers(1, 5, random.integers(1, 3)))
    at = np.stack([indices(random, shape[:batch] + middle, n) for n in shape[batch:batch + depth]], -1)
    return "GatherND", 13, {"data": values(random, np.float32, shape), "indices": at}, {"batch_dims": batch}


CASES = [(scatter, "none", 4), (gather, "", 6), (gather_elements, "", 6), (gather_nd, "", 6)]
CASES += [(make, reduction, 5) for make in (scatter_elements, scatter_nd)
          for reduction in ("none", "add", "mul", "max", "min")]


def agrees(binary, folder, operator, opset, feeds, attributes):
    model = model_of(operator, opset, feeds, TYPES[feeds["data"].dtype.type], attributes)
    path = pathlib.Path(folder) / "model.onnx"
    path.write_bytes(model.SerializeToString())
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    wanted = session.run(None, feeds)[0]
    found = check.heddle(binary, path, feeds)[0][0]
    if found.dtype != wanted.dtype or found.shape != wanted.shape:
        return f"{found.dtype}{found.shape} instead of {wanted.dtype}{wanted.shape}"
    exact = not np.issubdtype(wanted.dtype, np.floating) or attributes.get("reduction") in (None, "max", "min")
    equal = np.array_equal(found, wanted) if exact else np.allclose(found, wanted, rtol=1e-5, atol=1e-5)
    return "" if equal else f"{found.ravel()[:8]} instead of {wanted.ravel()[:8]}"


def top_k(binary, folder, random):
    """What is wrong with TopK of one random case: many equals, few and many of the elements."""
    shape = tuple(random.integers(1, 40, random.integers(1, 4)).tolist())
    axis = int(random.integers(-len(shape), len(shape)))
    if random.random() < 0.3:
        shape = tuple(int(random.integers(128, 400)) if d == axis % len(shape) else min(s, 5) for d, s in enumerate(shape))
    count = int(random.integers(1, shape[axis] + 1)) if random.random() < 0.5 else 1 + shape[axis] // 5
    dtype = [np.float32, np.float64, np.int32, np.int64][random.integers(4)]
    x = random.integers(-9, 10, shape).astype(dtype) if random.random() < 0.5 else values(random, dtype, shape)
    node = onnx.helper.make_node("TopK", ["x", "k"], ["v", "i"], axis=axis, largest=int(random.integers(2)))
    graph = onnx.helper.make_graph(
        [node], "top_k", [onnx.helper.make_tensor_value_info("x", TYPES[dtype], shape)],
        [onnx.helper.make_tensor_value_info("v", TYPES[dtype], None), onnx.helper.make_tensor_value_info("i", TYPES[np.int64], None)],
        [onnx.numpy_helper.from_array(np.array([count]), "k")])
    path = pathlib.Path(folder) / "model.onnx"
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8), path)
    wanted = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"]).run(None, {"x": x})
    found = check.heddle(binary, path, {"x": x})[0]
    equal = all(np.array_equal(a, b) for a, b in zip(found, wanted, strict=True))
    return "" if equal else f"TopK {count} of {dtype.__name__}{list(shape)} along {axis}: {found} instead of {wanted}"


def outside_is_an_error(binary, folder):
    """A gather beyond its table must end with the error, and say what it read."""
    feeds = {"data": np.zeros((5, 4), np.float32), "indices": np.array([0, 9], np.int64)}
    path = pathlib.Path(folder) / "model.onnx"
    path.write_bytes(model_of("Gather", 13, feeds, onnx.TensorProto.FLOAT, {}).SerializeToString())
    try:
        check.heddle(binary, path, feeds)
    except RuntimeError as error:
        return "runtime.index_out_of_range" in str(error) and "'y'" in str(error) and "found: 9" in str(error)
    return False


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--heddle", default=str(ROOT / "build/heddle"))
    binary = parser.parse_args().heddle
    random = np.random.default_rng(7)
    results = report.Report(quiet=True)
    with tempfile.TemporaryDirectory() as folder:
        for make, reduction, count in CASES:
            for _ in range(count):
                operator, opset, feeds, attributes = make(random, reduction)
                try:
                    wrong = agrees(binary, folder, operator, opset, feeds, attributes)
                except RuntimeError as error:
                    wrong = str(error)
                results.check(f"{operator} {attributes} {[(n, v.dtype, v.shape) for n, v in feeds.items()]}", wrong)
        for _ in range(20):
            results.check("TopK", top_k(binary, folder, random))
        results.check("an index outside", None if outside_is_an_error(binary, folder) else "it is no error")
    return results.end()


if __name__ == "__main__":
    sys.exit(main())
