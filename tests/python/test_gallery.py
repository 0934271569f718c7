"""Each operator of examples/gallery: kernels and the loop in C beside NumPy, at small sizes; its picture; its derived gradient
beside differences; and the page that shows them."""
import functools
import pathlib
import re
import shutil
import sys
import xml.etree.ElementTree

import numpy as np

import heddle

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "examples/gallery"))

import gallery

peers = gallery.Peers()
library = functools.cache(heddle.load_library)
SLOW = {"median", "graph_convolution"}  # their adjoints take many seconds


def check_results(operator):
    arrays, parameters = operator.made(operator.test)
    expected = operator.expected(arrays, parameters)
    results = library(operator.templates).call(operator.name, *arrays.values(), **parameters)
    found = dict(zip(operator.outputs, results if isinstance(results, tuple) else [results], strict=True))
    computed = {"kernels": list(found.values())}
    if shutil.which(gallery.C_COMMAND[0]):
        computed["C"] = [np.full_like(array, 7) for array in found.values()]
        peers.call(operator, arrays, operator.test, computed["C"])()
    for who, results in computed.items():
        for name, result, value in zip(operator.outputs, results, expected, strict=True):
            problem = gallery.difference(operator, result, np.asarray(value, result.dtype))
            assert not problem, f"{name} of {who}: {problem}"


def check_picture(operator):
    arrays, parameters = operator.made(operator.test)
    types = [f"{name}={gallery.type_text(array)}" for name, array in arrays.items()]
    settings = [f"{name}={value}" for name, value in parameters.items()]
    picture = library(operator.templates).explain(operator.name, *types, *settings).svg()
    assert xml.etree.ElementTree.fromstring(picture).tag.endswith("svg")


def has_gradient(operator):
    """Of types that can be doubled, so that differences are exact enough."""
    doubled = [spelling for spelling in operator.template["inputs"].values() if spelling.startswith("$T")]
    results = [spelling for spelling in operator.template["outputs"].values() if spelling.startswith("$T")]
    return operator.smooth and operator.name not in SLOW and doubled and results


def check_gradient(operator):
    """Along one direction, in float64."""
    arrays, parameters = operator.made(operator.test)
    random = gallery.Random(operator.name)
    arrays = {name: array.astype(np.float64) if array.dtype == np.float32 else array for name, array in arrays.items()}
    way = {name: random.standard_normal(array.shape) for name, array in arrays.items() if array.dtype == np.float64}
    graph = heddle.Graph(library(operator.templates))
    inputs = {name: graph.tensor(name, array.dtype, array.shape) for name, array in arrays.items()}
    results = graph.call(operator.name, *inputs.values(), **parameters)
    results = [result for result in (results if isinstance(results, tuple) else [results]) if result.dtype == "float64"]
    weights = [random.standard_normal(result.shape) for result in results]
    adjoints = [graph.constant(f"weight{i}", weight) for i, weight in enumerate(weights)]
    slopes = graph.gradient(results, [inputs[name] for name in way], adjoints)
    derived = graph.compile(slopes).run(None, arrays)
    forwards = graph.compile(results)

    def at(step):
        moved = {name: array + step * way[name] if name in way else array for name, array in arrays.items()}
        return sum(float((result * weight).sum()) for result, weight in zip(forwards.run(None, moved), weights))

    expected, step = sum(float((slope * way[name]).sum()) for slope, name in zip(derived, way)), 1e-6
    found = (at(step) - at(-step)) / (2 * step)
    assert abs(found - expected) <= 1e-4 * max(abs(found), 1e-3), f"{expected} instead of {found}"


for operator in gallery.load().values():
    globals()[f"test_{operator.name}"] = functools.partial(check_results, operator)
    globals()[f"test_picture_of_{operator.name}"] = functools.partial(check_picture, operator)
    if has_gradient(operator):
        globals()[f"test_gradient_of_{operator.name}"] = functools.partial(check_gradient, operator)


def test_the_page_shows_what_is_there():
    there = "\n".join(path.read_text() for path in gallery.FOLDER.glob("*.yaml"))
    page = (ROOT / "docs/gallery.md").read_text()
    shown = re.findall(r"^```yaml\n(.*?)^```", page, re.S | re.M)
    assert shown
    for template in shown:
        assert template in there, template
