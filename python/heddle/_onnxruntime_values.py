"""ONNX Runtime's values: tensors that sessions read and fill in place, and what binds them to inputs and outputs."""
from __future__ import annotations

import ctypes
import enum
from typing import Any, Protocol, Sequence

import numpy as np

from . import _heddle
from ._onnxruntime_absent import without_absent

_ONNX_TYPES = {"float32": "float", "float64": "double"}
_ANY_VENDOR = -1


def onnx_type_text(dtype: str) -> str:
    """`tensor(float)` of `float32`, `seq(tensor(float))` of `sequence(float32)`."""
    for kind, name in (("sequence", "seq"), ("optional", "optional")):
        if dtype.startswith(kind + "("):
            return f"{name}({onnx_type_text(dtype[len(kind) + 1:-1])})"
    return f"tensor({_ONNX_TYPES.get(dtype, dtype)})"


class OrtDeviceVendorId(enum.IntEnum):
    """Numbers of vendors of devices."""

    NONE = 0
    AMD = 0x1002
    NVIDIA = 0x10DE
    ARM = 0x13B5
    MICROSOFT = 0x1414
    HUAWEI = 0x19E5
    QUALCOMM = 0x5143
    INTEL = 0x8086


def _check_device(device_type: str, device_id: int) -> None:
    if device_type.lower() != "cpu" or device_id != 0:
        _heddle.raise_option("device", "'cpu', 0: all tensors are in the CPU's memory", f"'{device_type}', {device_id}")


class OrtDevice:
    """Where a tensor is: in the CPU's memory."""

    def __repr__(self) -> str:
        return "OrtDevice(cpu)"

    @staticmethod
    def make(ort_device_name: str, device_id: int, vendor_id: int = _ANY_VENDOR) -> OrtDevice:
        _check_device(ort_device_name, device_id)
        return OrtDevice()

    def device_id(self) -> int:
        return 0

    def device_type(self) -> int:
        return 0

    def device_vendor_id(self) -> int:
        return int(OrtDeviceVendorId.NONE)

    def device_mem_type(self) -> int:
        return 0


class _Capsule:
    """A capsule of DLPack, as an object that gives it away."""

    def __init__(self, capsule: Any) -> None:
        self._capsule = capsule

    def __dlpack__(self, **options: Any) -> Any:
        return self._capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)


@without_absent
class OrtValue:
    """A tensor in the CPU's memory: a NumPy array whose memory stays where it is."""

    def __init__(self, array: np.ndarray) -> None:
        if isinstance(array, list) or array is None:
            _heddle.raise_option("an OrtValue", "a tensor: results that are lists are those of `run`", type(array).__name__)
        _heddle.dtype_name(array.dtype)  # refuses what is no tensor's type
        self._array = array if array.flags.c_contiguous else np.ascontiguousarray(array)

    @classmethod
    def _of_result(cls, array: np.ndarray) -> OrtValue:
        """Where the session has put it: what grows is not contiguous."""
        value = cls(array[..., :0] if isinstance(array, np.ndarray) and array.ndim else array)
        value._array = array
        return value

    def __repr__(self) -> str:
        return f"OrtValue({self.data_type()}, shape={self.shape()})"

    @classmethod
    def ortvalue_from_numpy(cls, numpy_obj: np.ndarray, device_type: str = "cpu", device_id: int = 0,
                            vendor_id: int = _ANY_VENDOR) -> OrtValue:
        """In the array's memory, if it is contiguous; else in a copy."""
        _check_device(device_type, device_id)
        return cls(numpy_obj)

    @classmethod
    def ortvalue_from_numpy_with_onnx_type(cls, data: np.ndarray, /, onnx_element_type: int) -> OrtValue:
        """The array's bytes as elements of this type, such as uint16 as `onnx.TensorProto.BFLOAT16`."""
        return cls(np.ascontiguousarray(data).view(_heddle.numpy_type(onnx_element_type)))

    @classmethod
    def ortvalue_from_shape_and_type(cls, shape: Sequence[int], element_type: Any, device_type: str = "cpu",
                                     device_id: int = 0, vendor_id: int = _ANY_VENDOR, memory_info: None = None) -> OrtValue:
        """Zeros. `element_type`: NumPy's, or a number of ONNX."""
        _check_device(device_type, device_id)
        if memory_info is not None:
            _heddle.raise_option("memory_info", "None: heddle's tensors are in plain memory", type(memory_info).__name__)
        return cls(np.zeros(tuple(shape), _heddle.numpy_type(element_type)))

    @classmethod
    def from_dlpack(cls, data: Any, /) -> OrtValue:
        """Of an object that has `__dlpack__`, or of a capsule: in the same memory, or in a copy where that is not contiguous
        or is of a type that NumPy lacks."""
        if not hasattr(data, "__dlpack__"):
            data = _Capsule(data)
        try:
            array = np.from_dlpack(data)
        except (BufferError, RuntimeError, TypeError):
            array = _heddle.copied(data)
        return cls(array)

    def numpy(self) -> np.ndarray:
        """The tensor as an array in the same memory."""
        return self._array

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        if copy is None:
            return np.asarray(self._array, dtype=dtype)
        return np.array(self._array, dtype=dtype, copy=copy)

    def __dlpack__(self, **options: Any) -> Any:
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)

    def shape(self) -> list[int]:
        return list(self._array.shape)

    def data_type(self) -> str:
        return onnx_type_text(_heddle.dtype_name(self._array.dtype))

    def element_type(self) -> int:
        """The number of its type in onnx.TensorProto."""
        return _heddle.onnx_number(self._array.dtype)

    def device_name(self) -> str:
        return "cpu"

    def data_ptr(self) -> int:
        self._array = np.ascontiguousarray(self._array)
        return self._array.ctypes.data

    def tensor_size_in_bytes(self) -> int:
        return self._array.nbytes

    def has_value(self) -> bool:
        return True

    def is_tensor(self) -> bool:
        return True

    def is_sparse_tensor(self) -> bool:
        return False

    def is_tensor_sequence(self) -> bool:
        return False

    def update_inplace(self, data: np.ndarray | OrtValue) -> None:
        """Other values, of the same type and shape, in the same memory."""
        self._fill("update_inplace", data.numpy() if isinstance(data, OrtValue) else data)

    def _fill(self, name: str, array: np.ndarray) -> None:
        if array.dtype != self._array.dtype or array.shape != self._array.shape:
            _heddle.raise_binding(name, f"the tensor that '{name}' fills is of another type",
                                  f"{array.dtype}{list(array.shape)}", f"{self._array.dtype}{self.shape()}")
        np.copyto(self._array, array)


def copy_tensors(src: Sequence[OrtValue], dst: Sequence[OrtValue], stream: None = None) -> None:
    """Copies each of `src` into the memory of the same place in `dst`."""
    if stream is not None:
        _heddle.raise_option("stream", "None: there are no streams on the CPU", type(stream).__name__)
    if len(src) != len(dst):
        _heddle.raise_binding("copy_tensors", "there are not as many tensors to fill as to copy", str(len(src)), str(len(dst)))
    for source, target in zip(src, dst):
        target.update_inplace(source)


def _in_memory(element_type: Any, shape: Sequence[int], pointer: int) -> np.ndarray:
    dtype = _heddle.numpy_type(element_type)
    size = dtype.itemsize * int(np.prod(shape, dtype=np.int64))
    return np.frombuffer((ctypes.c_char * size).from_address(pointer), dtype).reshape(tuple(shape))


class _Port(Protocol):
    name: str


class _Bindable(Protocol):
    """What tensors are bound to: a session, of which only this much is asked."""

    def get_inputs(self) -> Sequence[_Port]: ...

    def get_overridable_initializers(self) -> Sequence[_Port]: ...

    def get_outputs(self) -> Sequence[_Port]: ...

    def run(self, output_names: Sequence[str], input_feed: Any, run_options: Any) -> Sequence[np.ndarray]: ...


@without_absent
class IOBinding:
    """Tensors for a session's inputs and outputs, for `run_with_iobinding`."""

    def __init__(self, session: _Bindable) -> None:
        self._names = ([port.name for port in session.get_inputs() + session.get_overridable_initializers()],
                       [port.name for port in session.get_outputs()])
        self._inputs: dict[str, Any] = {}
        self._outputs: dict[str, OrtValue | None] = {}  # None: memory of the session's
        self._results: list[OrtValue] = []

    def __repr__(self) -> str:
        return f"IOBinding(inputs={list(self._inputs)}, outputs={list(self._outputs)})"

    def _check_name(self, name: str, side: int) -> None:
        if name not in self._names[side]:
            _heddle.raise_binding(name, f"there is no {('input', 'output')[side]} '{name}'", ", ".join(self._names[side]), "")

    def bind_cpu_input(self, name: str, arr_on_cpu: Any) -> None:
        self._check_name(name, 0)
        self._inputs[name] = arr_on_cpu

    def bind_input(self, name: str, device_type: str, device_id: int, element_type: Any, shape: Sequence[int],
                   buffer_ptr: int) -> None:
        """The memory at an address, which must stay until the run has ended."""
        _check_device(device_type, device_id)
        self.bind_cpu_input(name, _in_memory(element_type, shape, buffer_ptr))

    def bind_ortvalue_input(self, name: str, ortvalue: OrtValue) -> None:
        self.bind_cpu_input(name, ortvalue.numpy())

    def bind_output(self, name: str, device_type: str = "cpu", device_id: int = 0, element_type: Any = None,
                    shape: Sequence[int] | None = None, buffer_ptr: int | None = None) -> None:
        """The output is asked for; with an address, it is put there."""
        _check_device(device_type, device_id)
        self._check_name(name, 1)
        if buffer_ptr is None:
            self._outputs[name] = None
        elif element_type is None or shape is None:
            _heddle.raise_binding(name, f"the memory for '{name}' has no type", "element_type and shape", "an address alone")
        else:
            self._outputs[name] = OrtValue(_in_memory(element_type, shape, buffer_ptr))

    def bind_ortvalue_output(self, name: str, ortvalue: OrtValue) -> None:
        """The output is put into this tensor's memory, which must be of its type and shape."""
        self._check_name(name, 1)
        self._outputs[name] = ortvalue

    def synchronize_inputs(self) -> None:
        """All is there."""

    def synchronize_outputs(self) -> None:
        """All is there."""

    def clear_binding_inputs(self) -> None:
        self._inputs.clear()

    def clear_binding_outputs(self) -> None:
        self._outputs.clear()
        self._results = []

    def get_outputs(self) -> list[OrtValue]:
        """Those of the last run, in the order in which they were bound."""
        return list(self._results)

    def copy_outputs_to_cpu(self) -> list[np.ndarray]:
        return [value.numpy() for value in self._results]

    def _run(self, session: _Bindable, run_options: Any) -> None:
        if not self._outputs:
            _heddle.raise_binding("output", "no output is bound", "bind_output(name), or bind_ortvalue_output(name, value)", "")
        arrays = session.run(list(self._outputs), self._inputs, run_options)
        self._results = []
        for (name, bound), array in zip(self._outputs.items(), arrays):
            if bound is not None:
                bound._fill(name, array)
            self._results.append(bound or OrtValue._of_result(array))
