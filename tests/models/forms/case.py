"""A node with random attributes and inputs, what ONNX Runtime and ONNX's reference make of it, and what Heddle does."""
import dataclasses
import pathlib

import ml_dtypes
import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

onnxruntime.set_default_logger_severity(4)

MANY = 5000  # so many elements that no value of them is computed while a model is read

FLOATS_8 = (ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e4m3fnuz, ml_dtypes.float8_e5m2, ml_dtypes.float8_e5m2fnuz)


@dataclasses.dataclass
class Case:
    operator: str
    opset: int
    inputs: dict  # values by name, in order; None: not given
    attributes: dict
    outputs: list  # names; an empty one is not asked for
    constant: tuple = ()  # inputs that are initializers
    tolerance: float = 1e-5  # relative to the greatest magnitude of an output
    steps: int = 0  # by how much integers may differ: floats were rounded to them
    truth: list | None = None  # what is right, where a peer may be wrong
    notes: dict = dataclasses.field(default_factory=dict)  # what a part's DIFFERENCES ask for
    domain: str = ""
    computed: bool = False  # the constants are results that nobody knows before the model runs

    def text(self):
        shapes = {name: "none" if value is None else f"{value.dtype}{list(value.shape)}"
                  + (f" = {value.tolist()}" if name in self.constant and value.size < 9 else "")
                  for name, value in self.inputs.items()}
        return f"{self.operator}-{self.opset} {self.attributes} {shapes} -> {[name for name in self.outputs if name]}"

    def feeds(self):
        given = {name: value for name, value in self.inputs.items() if value is not None and name not in self.constant}
        return given | {"unknown": np.zeros(MANY, np.float32)} if self.computed else given

    def computations(self):
        """Nodes that add 0 to each constant, which is the greatest of many zeros."""
        nodes = [helper.make_node("ReduceMax", ["unknown"], ["nothing"], keepdims=0)] if self.computed else []
        for name in self.constant if self.computed else ():
            kind = self.inputs[name].dtype
            nodes += [helper.make_node("Cast", ["nothing"], [f"{name}_nothing"], to=helper.np_dtype_to_tensor_dtype(kind)),
                      helper.make_node("Or" if kind == np.bool_ else "Add", [f"{name}_known", f"{name}_nothing"], [name])]
        return nodes

    def model(self):
        self.inputs = {name: None if value is None else np.ascontiguousarray(value).reshape(value.shape) for name, value in self.inputs.items()}
        names = [name if value is not None else "" for name, value in self.inputs.items()]
        while names and not names[-1]:
            names.pop()
        node = helper.make_node(self.operator, names, self.outputs, domain=self.domain, **self.attributes)
        graph = helper.make_graph(
            [*self.computations(), node], "form",
            [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape)
             for name, value in self.feeds().items()],
            [onnx.ValueInfoProto(name=name) for name in self.outputs if name],
            initializer=[numpy_helper.from_array(self.inputs[name], f"{name}_known" if self.computed else name) for name in self.constant])
        opsets = {"": self.opset, self.domain: 1 if self.domain else self.opset}
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid(*opset) for opset in opsets.items()])
        model.ir_version = 10
        return model if self.domain else onnx.shape_inference.infer_shapes(model)


def runtime(model, case):
    """Results of ONNX Runtime; None where it refuses the model."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    packed = [name for name, value in case.feeds().items() if value.dtype.type in (ml_dtypes.int4, ml_dtypes.uint4)]
    if packed:  # bytes of two elements, which only a model can hold
        case = dataclasses.replace(case, constant=(*case.constant, *packed))
        model = case.model()
    try:
        session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        results = session.run_with_ort_values(
            None, {name: onnxruntime.OrtValue.ortvalue_from_numpy_with_onnx_type(value, helper.np_dtype_to_tensor_dtype(value.dtype))
                   if value.dtype.kind == "V" or value.dtype.type in FLOATS_8 else onnxruntime.OrtValue.ortvalue_from_numpy(value)
                   for name, value in case.feeds().items()})
        return [numpy_of(value, info) for value, info in zip(results, session.get_outputs())]
    except Exception:
        return None


def numpy_of(value, info):
    """An OrtValue as an array of the type that its element type says."""
    found = value.numpy()
    kinds = {"tensor(bfloat16)": ml_dtypes.bfloat16, "tensor(int4)": ml_dtypes.int4, "tensor(uint4)": ml_dtypes.uint4,
             "tensor(float8e4m3fn)": FLOATS_8[0], "tensor(float8e4m3fnuz)": FLOATS_8[1], "tensor(float8e5m2)": FLOATS_8[2],
             "tensor(float8e5m2fnuz)": FLOATS_8[3]}
    kind = kinds.get(info.type)
    return found if kind is None else found.view(kind) if found.dtype.itemsize == np.dtype(kind).itemsize else found.astype(kind)


def reference(model, case):
    """Results of ONNX's reference evaluator; None where it fails."""
    try:
        with np.errstate(all="ignore"):
            return [np.asarray(value) for value in ReferenceEvaluator(model).run(None, case.feeds())]
    except Exception:
        return None


def differs(found, wanted, tolerance, steps=0):
    """Where two results differ, as text; nothing if they agree."""
    if found.shape != wanted.shape or found.dtype != wanted.dtype:
        return f"{found.dtype}{list(found.shape)} instead of {wanted.dtype}{list(wanted.shape)}"
    if steps == 0 and np.array_equal(found, wanted):
        return ""
    if found.dtype.kind in "biu" or found.dtype.type in (ml_dtypes.int4, ml_dtypes.uint4) + FLOATS_8:
        found, wanted = (value.astype(np.float64) if value.dtype.kind not in "biu" else value for value in (found, wanted))
        with np.errstate(invalid="ignore"):
            near = np.abs(found.astype(np.float64) - wanted.astype(np.float64)) <= steps
        equal = (found == wanted) | near & (steps > 0) | ((found != found) & (wanted != wanted))
    else:
        found, wanted = found.astype(np.float64), wanted.astype(np.float64)
        finite = np.abs(wanted[np.isfinite(wanted)])
        size = finite.max(initial=0) * tolerance
        with np.errstate(invalid="ignore"):
            equal = (np.abs(found - wanted) <= size) | (found == wanted) | (np.isnan(found) & np.isnan(wanted))
    if equal.all():
        return ""
    at = int(np.argmin(equal.reshape(-1)))
    return f"{np.sum(~equal)} of {equal.size}: {found.reshape(-1)[at]} instead of {wanted.reshape(-1)[at]} at {np.unravel_index(at, equal.shape)}"


def compare(found, wanted, case):
    for name, one, other in zip([name for name in case.outputs if name], found, wanted, strict=True):
        problem = differs(one, np.asarray(other), case.tolerance, case.steps)
        if problem:
            return f"{name}: {problem}"
    return ""
