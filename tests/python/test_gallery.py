"""Each operator of examples/gallery: kernels and the loop in C beside NumPy, at small sizes; and its picture."""
import functools
import pathlib
import re
import sys
import xml.etree.ElementTree

import numpy as np

import heddle

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "examples/gallery"))

import gallery

peers = gallery.Peers()
library = functools.cache(heddle.load_library)


def check(operator):
    arrays, parameters = operator.made(operator.test)
    expected = operator.expected(arrays, parameters)
    results = library(operator.templates).call(operator.name, *arrays.values(), **parameters)
    found = dict(zip(operator.outputs, results if isinstance(results, tuple) else [results], strict=True))
    loops = [np.full(np.shape(value), 7, found[name].dtype) for name, value in zip(operator.outputs, expected, strict=True)]
    peers.call(operator, arrays, operator.test, loops)()
    for (name, kernels), loop, value in zip(found.items(), loops, expected):
        for who, result in [("kernels", kernels), ("C", loop)]:
            problem = gallery.difference(operator, result, np.asarray(value, kernels.dtype))
            assert not problem, f"{name} of {who}: {problem}"
    types = [f"{name}={gallery.type_text(array)}" for name, array in arrays.items()]
    picture = library(operator.templates).explain(operator.name, *types, *(f"{k}={v}" for k, v in parameters.items())).svg()
    assert xml.etree.ElementTree.fromstring(picture).tag.endswith("svg")


for operator in gallery.load().values():
    globals()[f"test_{operator.name}"] = functools.partial(check, operator)


def test_the_page_shows_what_is_there():
    there = "\n".join(path.read_text() for path in gallery.FOLDER.glob("*.yaml"))
    page = (ROOT / "docs/gallery.md").read_text()
    shown = re.findall(r"^```yaml\n(.*?)^```", page, re.S | re.M)
    assert shown
    for template in shown:
        assert template in there, template
