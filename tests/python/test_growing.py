"""Caches that grow where they lie: a decoder's results, handed back as its inputs, beside ONNX Runtime."""
import pathlib

import numpy as np

import heddle
from support import reference_session

DECODER = str(pathlib.Path(__file__).resolve().parent.parent / "models/decoder.onnx")
NAMES = ["past.0.key", "past.0.value", "past.1.key", "past.1.value"]
HEADS, WIDTH = 2, 8


def begun(length, seed=0):
    random = np.random.default_rng(seed)
    return [random.standard_normal((1, HEADS, length, WIDTH), dtype=np.float32) for _ in NAMES]


def step(session, word, caches):
    logits, *caches = session.run(None, {"ids": np.array([[word]]), **dict(zip(NAMES, caches))})
    return logits, caches


def agree(found, wanted):
    for f, w in zip(found, wanted, strict=True):
        np.testing.assert_allclose(f, w, rtol=1e-5, atol=1e-5)


def test_a_cache_grows_in_place():
    path = DECODER
    session, peer = heddle.InferenceSession(path), reference_session(path)
    ours = theirs = begun(16)
    addresses, owners = [], []
    for word in range(40):
        logits, ours = step(session, word % 32, ours)
        wanted, theirs = step(peer, word % 32, theirs)
        agree([logits, *ours], [wanted, *theirs])
        addresses.append(ours[0].ctypes.data)
        owners.append(ours[0])  # so that memory is not used again
    assert len(set(addresses)) <= 3, "it is copied where there is no room: at 33, and at 49"
    np.testing.assert_array_equal(owners[0], owners[-1][:, :, :17])


def test_whoever_has_a_shorter_cache_keeps_it():
    path = DECODER
    session, peer = heddle.InferenceSession(path), reference_session(path)
    _, common = step(session, 1, begun(5))
    kept = [cache.copy() for cache in common]
    branches = {word: step(session, word, common) for word in (2, 3, 4)}
    for word, (logits, caches) in branches.items():
        wanted, plain = step(peer, word, kept)
        agree([logits, *caches], [wanted, *plain])
        for again in (5, 6):  # branches of branches
            agree(step(session, again, caches)[1], step(peer, again, plain)[1])
    agree(common, kept)
    # What was taken back: a part of a cache, in its memory.
    logits, caches = step(session, 7, [cache[:, :, :3] for cache in branches[2][1]])
    wanted, plain = step(peer, 7, [cache[:, :, :3] for cache in kept])
    agree([logits, *caches], [wanted, *plain])
    agree(common, kept)


def test_shared_memory_is_read_only():
    session = heddle.InferenceSession(DECODER)
    _, first = step(session, 1, begun(5))
    assert all(cache.flags.writeable for cache in first)
    first[0][...] = 0  # nobody else has it
    _, second = step(session, 2, first)
    for cache in (*first, *second):
        assert not cache.flags.writeable
        try:
            cache[...] = 0
        except ValueError as problem:
            assert "read-only" in str(problem)
        else:
            raise AssertionError("it was written to")
    whole = second[0]
    _, third = step(session, 3, [whole[:, :, :], *second[1:]])
    assert third[0].ctypes.data == whole.ctypes.data and not whole.flags.writeable
    changed = second[0].copy()
    changed[...] = 1
    step(session, 3, [changed, *second[1:]])


def test_what_is_no_cache_of_the_session_is_copied():
    path = DECODER
    session, peer = heddle.InferenceSession(path), reference_session(path)
    _, caches = step(session, 1, begun(6))
    for given in ([np.asfortranarray(cache) for cache in caches], [cache[..., ::-1] for cache in caches],
                  [cache[:, ::-1] for cache in caches], [caches[1], caches[0], caches[0], caches[0]], begun(0), begun(1)):
        plain = [np.ascontiguousarray(cache) for cache in given]
        logits, grown = step(session, 2, given)
        wanted, theirs = step(peer, 2, plain)
        agree([logits, *grown], [wanted, *theirs])
        agree(given, plain)


def test_bound_values_grow():
    path = DECODER
    session, peer = heddle.InferenceSession(path), reference_session(path)
    binding = session.io_binding()
    caches = [heddle.OrtValue.ortvalue_from_numpy(cache) for cache in begun(20)]
    theirs = begun(20)
    addresses = set()
    for word in range(10):
        binding.bind_cpu_input("ids", np.array([[word]]))
        for name, cache in zip(NAMES, caches):
            binding.bind_ortvalue_input(name, cache)
        for port in session.get_outputs():
            binding.bind_output(port.name)
        session.run_with_iobinding(binding)
        logits, *caches = binding.get_outputs()
        wanted, theirs = step(peer, word, theirs)
        agree([logits.numpy(), *(cache.numpy() for cache in caches)], [wanted, *theirs])
        addresses.add(caches[0].numpy().ctypes.data)
    assert len(addresses) == 1
    pointer, shape = caches[0].data_ptr(), caches[0].shape()
    flat = np.ctypeslib.as_array((np.ctypeslib.ctypes.c_float * int(np.prod(shape))).from_address(pointer)).reshape(shape)
    agree([flat], [theirs[0]])


def test_sizes_that_are_bound_do_not_grow():
    path = DECODER
    options = heddle.SessionOptions()
    options.add_free_dimension_override_by_name("past", 9)
    session = heddle.InferenceSession(path, options)
    _, caches = step(session, 1, begun(9))
    assert all(cache.flags.c_contiguous for cache in caches)
