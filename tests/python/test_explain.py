"""What the command line says of operators and models, said to Python: explanations, comparisons, rewriting."""
import json
import pathlib
import subprocess
import tempfile
import xml.etree.ElementTree as ElementTree

import numpy as np
import onnxruntime

import heddle
from support import doubling, refused

PROGRAM = pathlib.Path(heddle.__file__).parent.parent.parent / "heddle"
LIBRARY = heddle.load_library()
RULES = """
double:
  inputs: {x: "$dtype[$shape...]"}
  index: "[$shape...]"
  outputs: {y: "$dtype"}
  body: "y = 2 * x"
rewrites:
  twice:
    doc: "A sum of a tensor with itself."
    match: "add2(x, x)"
    replace: "double(x)"
"""


def printed(*words):
    return subprocess.run([PROGRAM, *words], capture_output=True, text=True, check=True).stdout


def test_explanations_are_those_of_the_command_line():
    arguments = ["softmax", "x=float32[4, 8]", "axis=1"]
    for options in ([], ["--equations"], ["--gradient", "--schedule"], ["--source"], ["--notations"]):
        explained = LIBRARY.explain(*arguments, **{option[2:]: True for option in options})
        assert str(explained) == printed("explain", *arguments, *options), options
        assert explained.facts == json.loads(printed("explain", *arguments, *options, "--format", "json"))
    assert repr(explained) == "Explanation(softmax, x=float32[4, 8], axis=1)"
    ElementTree.fromstring(explained._repr_svg_())
    template = LIBRARY.explain("softmax")
    assert "softmax" in str(template) and template._repr_svg_() is None
    sharded = LIBRARY.explain("matmul", "X=float32[4, 8]", "W=float32[8, 2]", shards=["k=2"])
    assert "sharding" in sharded.facts and "k = 8: partial" in str(sharded) and sharded.svg()


def test_what_explanations_refuse():
    with refused("language.unknown_operator"):
        LIBRARY.explain("sofmax", "x=float32[4]")
    with refused("cli.type") as caught:
        LIBRARY.explain("softmax", "x=float33[4]")
    assert caught.error.diagnostics[0].place is not None
    with refused("target.unreadable"):
        LIBRARY.explain("softmax", "x=float32[4]", target="/no/such/target.json")


def test_comparisons():
    session = heddle.InferenceSession(doubling())
    feeds = {"x": np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4)}
    for against in ("reference", "unfused"):
        compared = session.compare(feeds, against)
        assert compared and compared.equal and compared.facts["compared"] >= 1 and not compared.facts["failures"]
        assert str(compared).startswith(f"compared {compared.facts['compared']} tensors with {against}: all within")
        assert repr(compared) == f"Comparison(equal=True, with='{against}')"
    peer = onnxruntime.InferenceSession(doubling())
    assert session.compare(feeds, peer) and session.compare(feeds, session.run(None, feeds))
    wrong = session.run(None, feeds)
    wrong[1] = wrong[1] * np.float32(1.01)
    compared = session.compare(feeds, wrong)
    assert not compared and [output["equal"] for output in compared.facts["outputs"]] == [True, False]
    assert not session.compare(feeds, [array.astype(np.float64) for array in peer.run(None, feeds)])
    graph = heddle.Graph()
    graph.call("softmax", graph.tensor("x", "float32", [3, 4]), axis=1)
    assert graph.compile().compare(feeds)


def test_what_comparisons_refuse():
    session = heddle.InferenceSession(doubling())
    feeds = {"x": np.zeros((3, 4), np.float32)}
    with refused("python.option"):
        session.compare(feeds, "onnxruntime")
    with refused("python.argument"):
        session.compare(feeds, [feeds["x"]])
    with refused("evaluate.too_much_work"):
        session.compare(feeds, work=1)
    with refused("inference.missing_input"):
        session.compare({})
    with refused("runtime.input_dtype"):
        session.compare({"x": np.zeros((3, 4))})


def rules_in(folder):
    path = pathlib.Path(folder) / "mine.yaml"
    path.write_text(RULES)
    return heddle.load_library(path)


def test_programs_are_rewritten():
    with tempfile.TemporaryDirectory() as folder:
        library = rules_in(folder)
        done = library.rewrite("y = add2(x, x); z = add2(y, y)", {"x": "float32[4]"})
        assert done.steps == ["mine::twice"] * 2 and "add2" in done.before and "double" in done.after, done
        assert len(library.rewrite("y = add2(x, x); z = add2(y, y)", {"x": "float32[4]"}, ["twice"], steps=1).steps) == 1
    with refused("cli.no_rules"):
        LIBRARY.rewrite("y = add2(x, x)", {"x": "float32[4]"})
    with refused("rewrite.unknown_rule"):
        LIBRARY.rewrite("y = add2(x, x)", {"x": "float32[4]"}, ["no_such_rule"])


def test_models_are_rewritten():
    with tempfile.TemporaryDirectory() as folder:
        session = heddle.InferenceSession(doubling(), library=rules_in(folder), rules=["mine::*"])
        x = np.ones((2, 4), np.float32)
        assert (session.run(["y"], {"x": x})[0] == 2).all()
        assert [rule for rule, _ in session.rewrites] == ["mine::twice"], session.rewrites
    with refused("rewrite.unknown_rule"):
        heddle.InferenceSession(doubling(), rules=["no_such_rule"])
