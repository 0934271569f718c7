"""heddle graph of models whose sizes, branches and trip counts follow from data: the steps as lines and as a picture, each stage as
a page of its own."""
import json
import pathlib
import re
import subprocess
import tempfile
import xml.etree.ElementTree

import exported
from test_exported_steps import BRANCHES, FOUND, LARGEST, LOOP, NESTED, SCAN



def drawn(model_bytes, *arguments, fails_with=None):
    """What it prints, and the texts and tooltips of each page."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "model.onnx").write_bytes(model_bytes)
        done = subprocess.run([exported.HEDDLE, "graph", "model.onnx", *arguments], cwd=folder, capture_output=True, text=True)
        if fails_with:
            assert done.returncode == 1 and all(word in done.stderr for word in fails_with), done.stderr
            return None
        assert done.returncode == 0, done.stderr
        pages = sorted(folder.glob("*.svg"), key=lambda path: int(re.sub(r"\D", "", path.stem) or 1))
        texts = []
        for page in pages:
            root = xml.etree.ElementTree.fromstring(page.read_text())
            texts.append([element.text or "" for element in root.iter() if element.tag.endswith(("}text", "}title"))])
        return done.stdout, texts


def lies_within(pages, *words):
    for word in words:
        assert any(word in text for text in pages[0]), (word, pages[0])


def test_branches_side_by_side():
    printed, pages = drawn(BRANCHES, "--bind", "n=4", "--svg", "a.svg")
    assert printed == """model.onnx: 4 steps, 3 stages -> a.svg, a-2.svg, a-3.svg, a-4.svg
  1: stage 1; 2 operations: greater, reduce_sum; then 2
  2: if positive, 3; else 4
  3: stage 2; 2 operations: exp, neg; then the end
  4: stage 3; 3 operations: concat, neg; then the end
""", printed
    assert len(pages) == 4
    lies_within(pages, "inputs", "x: float32[4]", "positive", "true", "false", "makes y: float32[8]", "outputs", "y: float32[y.0]")
    assert "exp" in pages[2] and "concat" in pages[3], pages


def test_sizes_that_data_decide():
    printed, pages = drawn(FOUND, "--bind", "n=8", "--svg", "a.svg")
    assert "sizes are kept#0#;" in printed and "sizes are places#0#;" in printed, printed  # two stages: plans do not multiply
    lies_within(pages, "sizes are kept#0#", "sizes are places#0#", "makes kept#0: int64[]")
    assert any("kept#0# = 8" in text for text in pages[3]), pages[3]
    printed, pages = drawn(LARGEST, "--bind", "n=8,p=2", "--svg", "a.svg")
    assert "stage 4, k# is -1" in printed, printed
    lies_within(pages, "k# is -1", "for all other sizes", "makes v: float32[most1#0]", "makes all: int64[all.0]", "makes all: int64[0]")


def test_loops_within_loops():
    printed, pages = drawn(NESTED, "--bind", "n=4", "--svg", "a.svg")
    lies_within(pages, "loop y", "at most trips times", "iteration i", "carries c: float32[4]", "loop inner", "at most i times",
                "f is the next e", "goes on if on2", "positive", "d is the next c", "the next iteration")
    assert "      2: loop inner, at most i times; then 4\n          carries e: float32[4]\n          3: stage 1" in printed, printed
    _, pages = drawn(LOOP, "--bind", "n=4", "--svg", "a.svg")
    lies_within(pages, "carries c: float32[c.0]", "stacks s: float32[4]", "gives y: float32[y.0], ys: float32[ys.0, ys.1]")


def test_scans():
    printed, pages = drawn(SCAN, "--bind", "n=4,t=3", "--svg", "a.svg")
    for text in ("once for each part of x", "carries s: float32[4]", "takes r: float32[4] of x, from the end",
                 "takes q: float32[4, 2] of z along dimension 1", "d is the next s", "stacks u: float32[4] along dimension 1",
                 "stacks v: float32[4, 2], from the end", "stacks w: float32[4, 2] along dimension 2", "goes on"):
        assert text in printed, (text, printed)
        lies_within(pages, text)


def test_launches_of_stages():
    _, pages = drawn(BRANCHES, "--bind", "n=4", "--svg", "a.svg", "--fused")
    assert len(pages) == 4 and any("exp, neg" in text for text in pages[2]), pages[2]
    assert any("launch 0" in text for text in pages[2])


def test_the_same_each_time_and_as_json():
    assert drawn(NESTED, "--bind", "n=4", "--svg", "a.svg") == drawn(NESTED, "--bind", "n=4", "--svg", "a.svg")
    printed, _ = drawn(NESTED, "--bind", "n=4", "--svg", "a.svg", "--format", "json")
    found = json.loads(printed)
    assert (found["steps"], found["stages"], len(found["pages"])) == (7, 4, 5), found
    assert found["outline"][0] == "1: loop y, at most trips times; then the end", found


def test_what_is_for_one_graph():
    for option in (["--json", "a.json"], ["--validate"], ["--svg", "a.svg", "--fused", "--profile"]):
        drawn(LOOP, "--bind", "n=4", *option, fails_with=["cli.stages", option[-1] if option[-1] != "a.json" else "--json"])
    drawn(LOOP, "--svg", "a.svg", fails_with=["onnx.unbound_dimension", "'n'"])
