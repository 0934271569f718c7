"""What is given wrongly is refused in words of ours, before it reaches the module."""
import pathlib
import tempfile

import numpy as np

import heddle

SWISH = 'swish: {doc: d, inputs: {x: "float32[$n]"}, index: "[$n]", outputs: {y: float32}, body: "y = x / (1 + exp(-x))"}\n'


def refusal(call):
    try:
        call()
    except heddle.Error as problem:
        return str(problem)
    raise AssertionError("it was taken")


def test_a_library_may_be_a_file():
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, "mine.yaml")
        file.write_text(SWISH)
        for library in (file, str(file)):
            graph = heddle.Graph(library)
            assert graph.call("swish", graph.tensor("x", "float32", [3])).shape == [3]
    for make in (heddle.Graph, lambda library: heddle.function(lambda x: x, library=library)):
        assert "a file or folder of templates" in refusal(lambda: make(3))


def test_threads_are_checked():
    for threads in (-1, 5000, 1.5, True, "two"):
        assert "from 0 (all cores) to 1024" in refusal(lambda: heddle.load_library(threads=threads))
        assert "from 0 (all cores) to 1024" in refusal(lambda: heddle.function(lambda x: x, threads=threads))


def test_graphs_have_whole_numbers_for_sizes():
    graph = heddle.Graph()
    assert "whole numbers" in refusal(lambda: graph.tensor("d", "float32", ["n", 2]))
    assert "whole numbers" in refusal(lambda: graph.tensor("d", "float32", "n"))
    assert "a text" in refusal(lambda: graph.tensor(3, "float32", [2]))


def test_explain_takes_texts():
    library = heddle.load_library()
    said = refusal(lambda: library.explain("softmax", np.ones((2, 3), np.float32)))
    assert "x=float32[2, 3]" in said and "an array, float32[2, 3]" in said
