"""Arrays in and out: dtypes, DLPack, no copies."""
import ctypes
import gc
import sys

import ml_dtypes
import numpy as np

import heddle
from support import doubling, refused

LIBRARY = heddle.load_library()


class OnlyDLPack:
    """As arrays of other libraries look."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


class OnlyInterface:
    def __init__(self, array):
        self.array = array
        self.__array_interface__ = array.__array_interface__


def address(array):
    return array.__array_interface__["data"][0]


def peak_bytes():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM"))


def test_results_own_their_memory_and_outlive_the_session():
    session = heddle.InferenceSession(doubling())
    x = np.ones((3, 4), np.float32)
    first, _ = session.run(None, {"x": x})
    second, _ = session.run(None, {"x": 2 * x})
    assert address(first) != address(second), "a second run must not write into what the first gave"
    assert not first.flags.owndata, "NumPy has made a copy"
    assert first.flags.writeable
    del session
    gc.collect()
    assert (first == 2).all() and (second == 4).all()
    first += 1
    assert (first == 3).all()


def test_results_share_memory_by_dlpack():
    y = LIBRARY.call("relu", np.ones((2, 3), np.float32))
    shared = np.from_dlpack(y)
    assert address(shared) == address(y)
    del y
    gc.collect()
    assert (shared == 1).all()


def test_inputs_are_read_in_place():
    # 1 GB whose pages nothing has touched: a copy would have to.
    x = np.zeros(1 << 28, np.float32)
    x[5] = 7
    LIBRARY.call("slice", x[:64], starts=[4], ends=[8])
    before = peak_bytes()
    for array in (x, OnlyDLPack(x), OnlyInterface(x)):
        assert (LIBRARY.call("slice", array, starts=[4], ends=[8]) == [0, 7, 0, 0]).all()
    assert peak_bytes() - before < 1 << 28, peak_bytes() - before


def test_dlpack_and_array_interface_in():
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    frozen = x.copy()
    frozen.flags.writeable = False
    for array in (OnlyDLPack(x), OnlyInterface(x), frozen, x.tolist()):
        y = LIBRARY.call("add2", np.asarray(x, np.float64) if isinstance(array, list) else x, array)
        assert (y == 2 * x).all()


def test_arrays_that_are_not_contiguous():
    x = np.arange(24, dtype=np.float32).reshape(4, 6)
    for view in (x.T, x[::2, 1::3], x[::-1], np.asfortranarray(x), np.broadcast_to(x[0], (3, 6))):
        assert (LIBRARY.call("neg", view) == -view).all()
        if view.flags.writeable:  # NumPy gives no other array away by DLPack
            assert (LIBRARY.call("neg", OnlyDLPack(view)) == -view).all()
    frozen = x.copy()
    frozen.flags.writeable = False
    assert (LIBRARY.call("neg", OnlyDLPack(frozen.T)) == -x.T).all()
    unaligned = np.frombuffer(b"\0" + x.tobytes(), np.float32, offset=1)
    assert (LIBRARY.call("neg", unaligned) == -x.ravel()).all()


def test_every_dtype():
    for name in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64"):
        x = np.array([[1, 2], [3, 4]], name)
        y = LIBRARY.call("add2", x, x)
        assert y.dtype == x.dtype and (y == x + x).all(), name
    y = LIBRARY.call("less", np.float32([1, 3]), np.float32([2, 2]))
    assert y.dtype == np.bool_ and y.tolist() == [True, False]
    assert LIBRARY.call("not", y).tolist() == [False, True]


def test_bfloat16():
    x = np.array([1.5, -2, 3], ml_dtypes.bfloat16)
    y = LIBRARY.call("add2", x, x)
    assert y.dtype == ml_dtypes.bfloat16 and (y == x + x).all()
    # Without ml_dtypes NumPy has no type for it; DLPack has.
    sys.modules["ml_dtypes"], kept = None, sys.modules["ml_dtypes"]
    try:
        y = LIBRARY.call("add2", x, x)
    finally:
        sys.modules["ml_dtypes"] = kept
    assert not isinstance(y, np.ndarray) and y.__dlpack_device__() == (1, 0)
    assert (LIBRARY.call("add2", y, y) == 4 * x).all()


class Bfloat16:
    """A view with strides of a type that NumPy lacks, as other libraries give it."""

    def __init__(self, bits):
        self.bits = bits

    def __dlpack__(self, **options):
        capsule = self.bits.__dlpack__()
        pointer = ctypes.pythonapi.PyCapsule_GetPointer
        pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
        dtype = pointer(capsule, b"dltensor") + 20  # behind the data's address, the device and the number of dimensions
        ctypes.c_uint8.from_address(dtype).value = 4  # kDLBfloat
        return capsule

    def __dlpack_device__(self):
        return (1, 0)


def test_bfloat16_that_is_not_contiguous():
    x = np.arange(24).reshape(4, 6).astype(ml_dtypes.bfloat16)
    for view in (x, x.T, x[::2, ::-3]):
        y = LIBRARY.call("add2", Bfloat16(view.view(np.uint16)), view)
        assert y.dtype == x.dtype and (y == view + view).all()


def test_arrays_of_other_devices():
    class Elsewhere(OnlyDLPack):
        def __dlpack_device__(self):
            return (2, 0)

        def __dlpack__(self, **options):
            raise BufferError("it is not in the CPU's memory")

    with refused("python.array"):
        LIBRARY.call("neg", Elsewhere(np.zeros(2, np.float32)))


def test_complex():
    random = np.random.default_rng(3)
    for dtype in (np.complex64, np.complex128):
        x, y = (random.standard_normal((5, 4, 2)).astype(dtype) for _ in range(2))
        x, y = x + 1j * y, y - 2j * x
        x, y = x.astype(dtype), y.astype(dtype)
        for name, expected in [("add2", x + y), ("mul", x * y), ("div", x / y)]:
            found = LIBRARY.call(name, x, y)
            assert found.dtype == dtype
            np.testing.assert_allclose(found, expected, rtol=1e-5)
        np.testing.assert_allclose(LIBRARY.call("numpy_matmul", x, y.swapaxes(1, 2)), x @ y.swapaxes(1, 2), rtol=1e-4)
        assert (LIBRARY.call("transpose", x, perm=[2, 0, 1]) == x.transpose(2, 0, 1)).all()
    assert LIBRARY.call("cast", np.float32([1, -2]), to=np.complex64).tolist() == [1, -2]
    with refused("symbolic.complex"):
        LIBRARY.call("exp", np.zeros(2, np.complex64))


def test_types_of_ml_dtypes():
    for kind in ("float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "int4", "uint4"):
        dtype = np.dtype(getattr(ml_dtypes, kind))
        # All values, also where the bytes of an array of 4-bit integers are another's.
        codes = np.arange(256, dtype=np.uint8)
        x = codes.view(dtype)
        wide = LIBRARY.call("cast", x, to="float32")
        np.testing.assert_array_equal(wide, x.astype(np.float32), kind)
        y = LIBRARY.call("add2", x, x)
        assert y.dtype == dtype, kind
        if kind.startswith("float8"):
            sums = x.astype(np.float32) + x.astype(np.float32)
            np.testing.assert_array_equal(y.astype(np.float32), sums.astype(dtype).astype(np.float32), kind)
            random = np.random.default_rng(1)
            near = np.float32(random.normal(0, 1, 4000) * 2.0 ** random.integers(-18, 18, 4000))
            rounded = LIBRARY.call("cast", near, to=dtype)
            np.testing.assert_array_equal(rounded.view(np.uint8), near.astype(dtype).view(np.uint8), kind)
        else:
            assert (y.view(np.uint8) == (2 * codes & 15)).all(), kind
            back = LIBRARY.call("cast", np.arange(-40, 40), to=kind)
            assert (back.view(np.uint8) == np.arange(-40, 40).astype(dtype).view(np.uint8)).all(), kind


def test_without_ml_dtypes():
    x = np.array([1, 2], ml_dtypes.float8_e5m2)
    sys.modules["ml_dtypes"], kept = None, sys.modules["ml_dtypes"]
    try:
        with refused("python.ml_dtypes"):
            LIBRARY.call("add2", x, x)
    finally:
        sys.modules["ml_dtypes"] = kept


def test_scalars():
    y = LIBRARY.call("add2", np.float32(2), np.array(3, np.float32))
    assert y.shape == () and y == 5


def test_what_is_no_array():
    for value in ("text", ["a", "b"], object(), {"a": 1}, [[1], [2, 3]], np.zeros(2, np.clongdouble),
                  np.zeros(2, ">f4"), np.array(["a"])):
        with refused("python.array") as caught:
            LIBRARY.call("neg", value)
        assert "'x'" in str(caught.error) and caught.error.diagnostics[0].params == {"input": "x"}
