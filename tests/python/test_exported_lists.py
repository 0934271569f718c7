"""Lists of tensors and optional values in programs that heddle compile writes: results and refusals are a session's, and what
they take they give back."""
import unittest

import numpy as np

from exported import Refused, StepProgram
from test_exported import BAD_ARGUMENT, BAD_SIZE, refused
from test_exported_steps import check, check_memory, check_threads, made, model, reals, strict_libraries

BAD_INDEX = -4

# Lists that grow in a loop, whose elements have shapes of their own, and that go on in a second one.
GROWN = model("""
g (float[n] x, int64 trips, int64 at) => (seq(float[k]) all, seq(float[k]) fewer, float[k] one, float[m] joined, int64 length) {
  e = SequenceEmpty()
  none = Constant <value = float[0] {}> ()
  first, last = Loop <body = b (int64 i, bool go, seq(float[p]) s, float[p] h) => (bool on, seq(float[q]) r, float[q] d) {
    on = Identity(go) d = Concat <axis = 0> (h, x) r = SequenceInsert(s, d) }> (trips, "", e, none)
  ten = Constant <value = int64 {0}> ()
  all = SequenceInsert(first, last, ten)
  fewer = SequenceErase(all, at)
  one0 = SequenceAt(all, at)
  one = Neg(one0)
  joined = ConcatFromSequence <axis = 0> (fewer)
  length = SequenceLength(fewer)
}""")
SPLIT = model("""
g (float[n,m] x, int64[p] lengths, int64 part) => (seq(float[n,q]) lists, seq(float[q,m]) even, seq(float[n]) columns, float[m,r,n] stacked) {
  lists = SplitToSequence <axis = 1> (x, lengths)
  even = SplitToSequence <axis = -2> (x, part)
  columns = SplitToSequence <axis = 1, keepdims = 0> (x)
  sums = SequenceMap <body = body (float[n] c) => (float[n] s) { s = Neg(c) }> (columns)
  h = ConcatFromSequence <axis = 1, new_axis = 1> (sums)
  last = Constant <value = int64[1] {0}> ()
  g = Unsqueeze(h, last)
  stacked = Transpose <perm = [2, 0, 1]> (g)
}""")
PERHAPS = model("""
g (optional(float[n]) o, float[n] x, seq(float[n]) l) => (optional(float[n]) p, bool there, seq(float[n]) more) {
  there = OptionalHasElement(o)
  p = If (there) <then_branch = t () => (optional(float[n]) r) { e = OptionalGetElement(o) f = Add(e, x) r = Optional(f) },
                  else_branch = u () => (optional(float[n]) r) { r = Optional <type = float[n]> () }>
  more = If (there) <then_branch = t2 () => (seq(float[n]) q) { e = OptionalGetElement(o) q = SequenceInsert(l, e) },
                     else_branch = e2 () => (seq(float[n]) q) { q = Identity(l) }>
}""")
NOTHING = model("""
g (float[n] x, bool b) => (float[n] y) {
  o = If (b) <then_branch = t () => (optional(float[n]) r) { r = Optional(x) },
              else_branch = e () => (optional(float[n]) r) { r = Optional <type = float[n]> () }>
  y0 = OptionalGetElement(o)
  y = Exp(y0)
}""")
# One tensor twice in a list, a list that is two outputs, and a constant in one.
SHARED = model("""
g (float[n] x) => (seq(float[n]) a, seq(float[n]) b, float[n] c, seq(float[k]) d) <float[2] w = {1, 2}> {
  c = Exp(x)
  a = SequenceConstruct(c, c, x)
  b = Identity(a)
  d = SequenceConstruct(w, c, w)
}""")
# A list is carried by two loops, one within the other; a list of before stays as it is.
NESTED = model("""
g (float[n] x, int64 trips) => (seq(float[n]) l, seq(float[n]) before, float[k] sums) {
  before = SequenceConstruct(x)
  l, sums = Loop <body = b (int64 i, bool go, seq(float[n]) s) => (bool on, seq(float[n]) r, float sum) {
    on = Identity(go)
    r = Loop <body = a (int64 j, bool go2, seq(float[n]) t) => (bool on2, seq(float[n]) u) {
      on2 = Identity(go2) last = SequenceAt(t, j) next = Exp(last) u = SequenceInsert(t, next, j) }> (i, "", s)
    one = SequenceAt(r, i)
    sum = ReduceSum <keepdims = 0> (one) }> (trips, "", before)
}""")


def lengths(*numbers):
    return np.array(numbers, np.int64)


def test_lists_that_grow():
    with made(GROWN, "n=1:9") as (folder, session):
        program = StepProgram(folder)
        for n, trips, at in ((3, 4, 0), (3, 4, 4), (3, 4, -1), (1, 1, 1), (9, 60, 7), (2, 1, -2)):
            check(program, session, reals(n), np.array(trips), np.array(at))
        for trips, at in ((4, 5), (4, -6), (4, 1 << 62), (4, -(1 << 63)), (0, 1)):
            with refused(BAD_INDEX, "not in the list"):
                program.run(reals(3), np.array(trips), np.array(at))
        with refused(BAD_SIZE, "empty list"):
            program.run(reals(3), np.array(0), np.array(0))


def test_parts():
    with made(SPLIT, "n=1:9", "m=1:9", "p=0:5") as (folder, session):
        program = StepProgram(folder)
        for n, m, parts, part in ((3, 4, (4,), 1), (3, 4, (1, 3), 2), (9, 5, (0, 2, 0, 3), 4), (1, 1, (1,), 100), (2, 9, (3, 3, 3), 1 << 62)):
            check(program, session, reals(n * m).reshape(n, m), lengths(*parts), np.array(part))
        x = reals(12).reshape(3, 4)
        for parts, part in (((1, 2), 1), ((2, 3), 1), ((-1, 5), 1), ((1 << 62, 1 << 62), 1), ((), 1), ((4,), 0), ((4,), -3)):
            with refused(BAD_SIZE, "part"):
                program.run(x, lengths(*parts), np.array(part))


def test_what_may_be_absent():
    with made(PERHAPS, "n=1:9") as (folder, session):
        program = StepProgram(folder)
        for n in (1, 3, 9):
            for o in (reals(n, 1), None):
                for count in (0, 1, 4):
                    check(program, session, o, reals(n), [reals(n, i) for i in range(count)])
        # What the elements of lists are is not fixed.
        check(program, session, None, reals(3), [reals(7), reals(2)])
        with refused(BAD_ARGUMENT, "element type", "o"):
            program.run(np.ones(3, np.int64), reals(3), [])
        with refused(BAD_ARGUMENT, "rank"):
            program.run(None, reals(3), [reals(3), np.ones((1, 3), np.float32)])
        with refused(BAD_ARGUMENT, "missing"):
            program.run(None, reals(3), None)
        with refused(BAD_ARGUMENT, "element type"):
            program.run(None, reals(3), reals(3))


def test_nothing_in_an_optional():
    with made(NOTHING, "n=1:9") as (folder, session):
        program = StepProgram(folder)
        check(program, session, reals(5), np.array(True))
        with refused(BAD_INDEX, "no element"):
            program.run(reals(5), np.array(False))


def test_one_tensor_in_several_places():
    with made(SHARED, "n=1:9") as (folder, session):
        check(StepProgram(folder), session, reals(5))


def test_lists_in_loops():
    with made(NESTED, "n=1:9") as (folder, session):
        program = StepProgram(folder)
        for n, trips in ((3, 4), (1, 0), (2, 1), (9, 12)):
            check(program, session, reals(n), np.array(trips))


def test_no_memory_at_any_time():
    x = reals(12).reshape(3, 4)
    for which, binds, inputs in ((GROWN, ("n=1:9",), (reals(3), np.array(4), np.array(2))),
                                 (SPLIT, ("n=1:9", "m=1:9", "p=0:5"), (x, lengths(1, 3), np.array(2))),
                                 (PERHAPS, ("n=1:9",), (reals(3), reals(3), [reals(3), reals(3, 1)])),
                                 (SHARED, ("n=1:9",), (reals(3),)), (NESTED, ("n=1:9",), (reals(3), np.array(4)))):
        with made(which, *binds) as (folder, session):
            check_memory(StepProgram(folder), session, *inputs)


def test_runs_at_once():
    with made(NESTED, "n=1:9") as (folder, _):
        check_threads(folder, np.array(5))


def test_in_strict_c():
    x = reals(12).reshape(3, 4)
    for which, binds, runs in ((GROWN, ("n=1:9",), [(reals(3), np.array(4), np.array(at)) for at in (0, -1, 9, -(1 << 63))]),
                               (SPLIT, ("n=1:9", "m=1:9", "p=0:5"), [(x, lengths(*parts), np.array(part)) for parts, part in (
                                   ((1, 3), 2), ((4, 0), 1 << 62), ((1 << 62, 1 << 62), 1), ((-(1 << 63),), 1))]),
                               (PERHAPS, ("n=1:9",), [(None, reals(3), [reals(3)]), (reals(3), reals(3), [])])):
        with made(which, *binds, options=("--emit", "c")) as (folder, session):
            for library in strict_libraries(folder):
                program = StepProgram(folder, library=library)
                for inputs in runs:
                    try:
                        program.run(*inputs)
                    except Refused:
                        continue
                    check(program, session, *inputs)


def test_what_is_not_exported():
    for text, words in (("g (float[n] x, float[n,n] z) => (int64 y) { l = SequenceConstruct(x, z) y = SequenceLength(l) }",
                         ("SequenceConstruct", "different ranks")),
                        ("g (float[n] x, int64[n] z) => (int64 y) { l = SequenceConstruct(x, z) y = SequenceLength(l) }",
                         ("SequenceConstruct", "element types")),
                        ("g (float[n] x) => (float[q] y) { l = SequenceConstruct(x) y = Exp(l) }",
                         ("Exp", "an operation on tensors")),
                        ("g (float[n] x) => (float[q] y) { l = SequenceConstruct(x) y = ConcatFromSequence <axis = 3> (l) }",
                         ("ConcatFromSequence", "no dimension 3")),
                        ("g (float[n] x) => (seq(float[q]) y) { y = SplitToSequence <axis = 1> (x) }",
                         ("SplitToSequence", "no dimension 1")),
                        ("g (float[n] x, float at) => (float[q] y) { l = SequenceConstruct(x) y = SequenceAt(l, at) }",
                         ("SequenceAt", "integers")),
                        ("g (float[n] x) => (float[q] y) { y = SequenceErase(x) }", ("SequenceErase", "no list")),
                        ("g (float[n] x) => (float[q] y) <int64 zero = {0}> { e = SequenceEmpty() y = SequenceAt(e, zero) }",
                         ("empty lists",)),
                        ("g (float[n] x, int64 trips) => (float[q] y) { e = SequenceEmpty() y = Loop <body = b (int64 i, bool go, float[n] c) "
                         "=> (bool on, float[n] d) { on = Identity(go) d = SequenceAt(e, i) }> (trips, \"\", x) }",
                         ("comes to its end", "an empty list")),
                        ("g (seq(seq(float[n])) l, float[n] x) => (int64 y) { y = SequenceLength(l) }", ("a list of lists",))):
        try:
            with made(model(text), "n=1:9"):
                raise AssertionError("it is exported")
        except RuntimeError as problem:
            for word in ("artefact.steps", *words):
                assert word in str(problem), problem


if __name__ == "__main__":
    unittest.main()
