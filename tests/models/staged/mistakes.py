"""What is wrong with a model or with what it is given, and must be an error with its code that says what it is."""
import numpy as np

from case import Mistake, number, real, whole

LOOP = """
g (float[n] x, int64 trips) => (float[n] y) {{
  y = Loop <body = b (int64 i, bool go, float[n] c) => ({results}) {{ on = Identity(go) {nodes} }}> ({inputs})
}}"""
FEEDS = [{"x": real(5), "trips": number(3)}]


def loop(title, results, nodes, inputs, codes, says, feeds=None):
    return Mistake(title, LOOP.format(results=results, nodes=nodes, inputs=inputs), feeds or FEEDS, codes=codes, says=says)


def sequence(title, nodes, codes, says, results="float[k] y", feeds=None):
    return Mistake(title, f"""
g (float[n] x, int64 at) => ({results}) {{
  two = Concat <axis = 0> (x, x)
  l = SequenceConstruct(x, two)
  {nodes}
}}""", feeds or [{"x": real(3), "at": number(2)}], codes=codes, says=says)


def branch(title, condition, codes, says, then="(float[n] a) { a = Exp(x) }", otherwise="(float[n] a) { a = Neg(x) }"):
    return Mistake(title, f"""
g (float[n] x) => (float[n] y) {{
  {condition}
  y = If <then_branch = t () => {then}, else_branch = e () => {otherwise}> (c)
}}""", [{"x": real(3) + 5}], codes=codes, says=says)


COMPUTED = "s = ReduceSum <keepdims = 0> (x) zero = Constant <value = float {0}> () c = Greater(s, zero)"

CASES = [
    loop("a body with too few outputs", "bool on", "", 'trips, "", x', ("inference.step",), "the body does not fit the loop"),
    loop("a body with too few inputs", "bool on, float[n] d, float[n] d", "d = Add(c, x)", 'trips, "", x, x', ("inference.step",), "the body does not fit"),
    loop("a body that gives more than the node names", "bool on, float[n] d, float[n] d", "d = Add(c, x)", 'trips, "", x', ("inference.step",), "the body does not fit"),
    loop("a carried type that changes", "bool on, int64[n] d", "d = Cast <to = 7> (c)", 'trips, "", x', ("inference.step",), "carried"),
    loop("a condition of the body that is no truth value", "float on2, float[n] d", "d = Add(c, x) on2 = ReduceMax <keepdims = 0> (d)", 'trips, "", x',
         ("inference.step",), "the condition that the body gives is one truth value"),
    loop("a condition of the body that is an integer", "int64 on2, float[n] d", "d = Add(c, x) on2 = Identity(i)", 'trips, "", x',
         ("inference.step",), "the condition that the body gives is one truth value"),
    loop("a condition of the body that is several truth values", "bool[n] on2, float[n] d", "d = Add(c, x) on2 = Greater(d, c)", 'trips, "", x',
         ("inference.step",), "the condition that the body gives is one truth value"),
    loop("a captured value that is not there", "bool on, float[n] d", "d = Add(c, nowhere)", 'trips, "", x', ("onnx.undefined_value",), "nowhere"),
    loop("an output of the body that nothing makes", "bool on, float[n] nowhere", "d = Add(c, x)", 'trips, "", x', ("onnx.undefined_value",), "nowhere"),
    loop("a carried input that is not there", "bool on, float[n] d", "d = Add(c, x)", 'trips, "", nowhere', ("onnx.undefined_value",), "nowhere"),
    loop("shapes that do not fit after an iteration", "bool on, float[m] d", "h = Concat <axis = 0> (c, x) d = Add(h, x)", 'trips, "", x',
         ("symbolic.broadcast",), "in node 'y' (Loop)"),
    loop("an operator that is not there", "bool on, float[n] d", "d = NoOperator(c, x)", 'trips, "", x', ("onnx.unsupported_operator",), "NoOperator"),

    Mistake("a loop without a body", """
g (float[n] x, int64 trips) => (float[n] y) { y = Loop(trips, "", x) }""", FEEDS, codes=("inference.step",), says="the loop has no body"),
    Mistake("a trip count of several numbers", """
g (float[n] x, int64[p] trips) => (float[n] y) {
  y = Loop <body = b (int64 i, bool go, float[n] c) => (bool on, float[n] d) { on = Identity(go) d = Add(c, x) }> (trips, "", x)
}""", [{"x": real(3), "trips": whole(1, 2)}], codes=("inference.step",), says="the trip count is one integer"),
    Mistake("a trip count that is real", """
g (float[n] x, float trips) => (float[n] y) {
  y = Loop <body = b (int64 i, bool go, float[n] c) => (bool on, float[n] d) { on = Identity(go) d = Add(c, x) }> (trips, "", x)
}""", [{"x": real(3), "trips": np.array(2, np.float32)}], codes=("inference.step",), says="the trip count is one integer"),
    Mistake("a condition of a loop that is an integer", """
g (float[n] x, int64 c) => (float[n] y) {
  y = Loop <body = b (int64 i, bool go, float[n] c0) => (bool on, float[n] d) { on = Identity(go) d = Add(c0, x) }> (c, c, x)
}""", [{"x": real(3), "c": number(2)}], codes=("inference.step",), says="the condition is one truth value"),
    Mistake("results of different shapes are stacked", """
g (float[n] x, int64 trips) => (float[k] y, float[t,m] ys) {
  y, ys = Loop <body = b (int64 i, bool go, float[p] c) => (bool on, float[q] d, float[q] s) {
    on = Identity(go) d = Concat <axis = 0> (c, x) s = Exp(d) }> (trips, "", x)
}""", FEEDS, codes=("inference.step",), says="different shapes"),

    branch("a condition that is an integer", "s = ReduceSum <keepdims = 0> (x) c = Cast <to = 7> (s)", ("onnx.open_branch", "onnx.branch"), ""),
    branch("a condition of several truth values", "s = Exp(x) c = Greater(s, x)", ("onnx.open_branch", "onnx.branch"), ""),
    branch("a branch without an output", COMPUTED, ("onnx.branch",), "lacks", then="() { }"),
    branch("a branch whose output nothing makes", COMPUTED, ("onnx.undefined_value",), "nowhere", then="(float[n] nowhere) { a = Exp(x) }"),
    branch("a branch that reads what nothing makes", COMPUTED, ("onnx.undefined_value",), "nowhere", then="(float[n] a) { a = Exp(nowhere) }"),
    branch("the branch that is not taken reads what nothing makes", COMPUTED, ("onnx.undefined_value",), "nowhere", otherwise="(float[n] a) { a = Exp(nowhere) }"),
    Mistake("a branch that is missing", f"""
g (float[n] x) => (float[n] y) {{ {COMPUTED} y = If <else_branch = e () => (float[n] a) {{ a = Exp(x) }}> (c) }}""",
            [{"x": real(3) + 5}], codes=("onnx.branch",), says="lacks a branch"),

    sequence("a place behind a list", "y = SequenceAt(l, at)", ("inference.list",), "the place is not in the list"),
    sequence("a place before a list", "y = SequenceAt(l, at)", ("inference.list",), "the place is not in the list", feeds=[{"x": real(3), "at": number(-3)}]),
    sequence("a place that is real", "r = Cast <to = 1> (at) y = SequenceAt(l, r)", ("inference.list",), "the place in a list is one integer"),
    sequence("an insertion behind a list", "more = SequenceInsert(l, x, at) y = ConcatFromSequence <axis = 0> (more)", ("inference.list",),
             "the place is not in the list", feeds=[{"x": real(3), "at": number(3)}]),
    sequence("erasing of an empty list", "e = SequenceEmpty() f = SequenceErase(e) y = ConcatFromSequence <axis = 0> (f)", ("inference.list",), "the list is empty"),
    sequence("an empty list is joined", "e = SequenceEmpty() y = ConcatFromSequence <axis = 0> (e)", ("inference.list",), "empty list"),
    sequence("elements that do not fit are joined", "y = ConcatFromSequence <axis = 0, new_axis = 1> (l)", ("inference.list",), "do not fit together"),
    sequence("elements are joined along a dimension that is not there", "y = ConcatFromSequence <axis = 1> (l)", ("inference.list",), "no such dimension"),
    sequence("elements of two types", "n = SequenceInsert(l, at) y = SequenceAt(n, at)", ("inference.list",), ""),
    sequence("a list of two types", "n = SequenceConstruct(x, at) zero = Constant <value = int64 {0}> () y = SequenceAt(n, zero)", ("inference.list",), ""),
    sequence("an operation on a list", "y = Exp(l)", ("inference.step",), "it is given a list"),
    sequence("a list operation on a tensor", "y = SequenceAt(x, at)", ("inference.list",), "no list"),
    sequence("parts that do not sum to the dimension", "lengths = Constant <value = int64[2] {1, 1}> () p = SplitToSequence <axis = 0> (x, lengths) y = SequenceAt(p, at)",
             ("inference.list",), "do not sum"),
    sequence("parts of no length", "zero = Constant <value = int64 {0}> () p = SplitToSequence <axis = 0> (x, zero) y = SequenceAt(p, at)",
             ("inference.list",), "at least one element"),
    sequence("an optional that is empty", "o = Optional <type = float[n]> () y = OptionalGetElement(o)", ("inference.list",), "no element"),

    Mistake("scanned inputs of different lengths", """
g (float[t,n] x, float[u,n] z) => (float[t,n] y) {
  y = Scan <num_scan_inputs = 2, body = b (float[n] r, float[n] q) => (float[n] e) { e = Add(r, q) }> (x, z)
}""", [{"x": real(3, 4), "z": real(2, 4)}], codes=("inference.step",), says="length"),
    Mistake("a scan over a dimension that is not there", """
g (float[t,n] x) => (float[t,n] y) {
  y = Scan <num_scan_inputs = 1, scan_input_axes = [2], body = b (float[n] r) => (float[n] e) { e = Exp(r) }> (x)
}""", [{"x": real(3, 4)}], codes=("inference.step",), says=""),
    Mistake("a scan whose body has too few outputs", """
g (float[t,n] x, float[n] s) => (float[n] y) {
  y = Scan <num_scan_inputs = 1, body = b (float[n] c, float[n] r) => () { e = Exp(r) }> (s, x)
}""", [{"x": real(3, 4), "s": real(4)}], codes=("inference.step",), says=""),
    Mistake("a scan of more inputs than it has", """
g (float[t,n] x) => (float[t,n] y) {
  y = Scan <num_scan_inputs = 2, body = b (float[n] r) => (float[n] e) { e = Exp(r) }> (x)
}""", [{"x": real(3, 4)}], codes=("inference.step",), says=""),
    Mistake("lists of different lengths are mapped", """
g (float[n] x) => (seq(float[n]) y) {
  a = SequenceConstruct(x, x) b = SequenceConstruct(x)
  y = SequenceMap <body = m (float[n] r, float[n] q) => (float[n] e) { e = Add(r, q) }> (a, b)
}""", [{"x": real(3)}], codes=("inference.step",), says="lists have different lengths"),

    Mistake("a size below zero", """
g (float[n] x, int64[1] m) => (float[k] y) { h = Neg(m) y = ConstantOfShape <value = float[1] {1}> (h) }""",
            [{"x": real(3), "m": whole(2)}], codes=("symbolic.extent",), says="an extent is -2"),
    Mistake("a computed shape that does not hold the elements", """
g (float[n] x, int64[1] m) => (float[k] y) { two = Constant <value = int64[1] {2}> () h = Mul(m, two) y = Reshape(x, h) }""",
            [{"x": real(3), "m": whole(2)}], codes=("symbolic.requirement",), says="the element counts differ"),
    Mistake("a TopK of more than there are", """
g (float[n] x, int64[p] m) => (float[k] y, int64[k] i) { k = ReduceMax <keepdims = 1> (m) y, i = TopK(x, k) }""",
            [{"x": real(5), "m": whole(2, 9)}], codes=("symbolic.requirement",), says="k is larger than the dimension"),
    Mistake("a step of a Range that is 0", """
g (int64[p] m) => (int64[k] y) { k = ReduceMax <keepdims = 0> (m) s = Sub(k, k) zero = Constant <value = int64 {0}> () y = Range(zero, k, s) }""",
            [{"m": whole(2, 9)}], codes=("symbolic.requirement",), says="the step is 0"),
    Mistake("a computed axis that is not there", """
g (float[n] x, int64[p] m) => (y) { k = ReduceMax <keepdims = 1> (m) y = ReduceSum(x, k) }""",
            [{"x": real(5), "m": whole(2, 9)}], codes=("symbolic.axis_range",), says="there is no axis 9"),
    Mistake("an input of another type", """
g (float[n] x, int64 trips) => (float[n] y) {
  y = Loop <body = b (int64 i, bool go, float[n] c) => (bool on, float[n] d) { on = Identity(go) d = Add(c, x) }> (trips, "", x)
}""", [{"x": real(3).astype(np.float64), "trips": number(2)}], codes=("runtime.input_dtype",), says="input 'x' does not fit"),
]
