"""Gives a real model a new task: magika, which tells file types from bytes, learns to tell the parts of this repository apart.

    scripts/models magika magika-config
    python examples/fine_tune.py [--steps 250] [--svg CURVE.svg]
    mpirun -n 2 python examples/fine_tune.py       each step is cut over the processes

The model is the file as it was published. Its last layers, a normalisation and a matrix product, are trained on pieces of some
files, and it is asked about pieces of others. To the published model three of the six kinds are one, C++. It ends with an error
if that is still so in the end.
"""
import argparse
import json
import pathlib
import sys
import time

import numpy as np

import heddle
from training_loop import curve_svg, ops, train

ROOT = pathlib.Path(__file__).resolve().parent.parent
PIECE, HALF, PADDING, BATCH = 1024, 1024, 256, 64  # bytes of a piece, and of each half of what the model reads

# Where files of each kind lie, and the output of the model that is to say so: its own word where it has one. For two of the kinds
# of C++ there is none, so they get words that nothing here needs.
KINDS = {"operators": ("yaml", ["operators/**/*.yaml"]), "C++ headers": ("objectivec", ["src/**/*.h"]),
         "C++ sources": ("cpp", ["src/**/*.cpp"]), "C++ tests": ("cs", ["tests/**/*.cpp"]),
         "pages": ("markdown", ["docs/**/*.md", "*.md"]),
         "Python": ("python", [f"{folder}/**/*.py" for folder in ("python", "tests", "scripts", "bench", "examples")])}


def files_of(patterns):
    return sorted({path for pattern in patterns for path in ROOT.glob(pattern)})


def piece(random, data):
    """From the begin of a line on, as the model reads a file: its begin in one half, its end in the other."""
    begin = random.integers(0, max(1, len(data) - PIECE))
    begin = data.find(b"\n", begin) + 1 if begin else 0
    part = data[begin:begin + PIECE].strip()
    row = np.full(2 * HALF, PADDING, np.int32)
    row[:len(part)] = row[2 * HALF - len(part):] = np.frombuffer(part, np.uint8)
    return row


def pieces(random, texts, count):
    """So many of all kinds alike: what the model reads, and the kinds' numbers."""
    kinds = np.arange(count) % len(texts)
    return np.stack([piece(random, random.choice(texts[kind])) for kind in kinds]), kinds


def share_of(right):
    return f"{np.mean(right):.1%}"


def tell(print, name, found, kinds):
    by_kind = ", ".join(f"{kind} {share_of(found[kinds == i] == i)}" for i, kind in enumerate(KINDS))
    print(f"{name}: {share_of(found == kinds)} of {len(kinds)} pieces are told ({by_kind})")
    return np.mean(found == kinds)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=pathlib.Path, default=ROOT / ".cache/models", help="where scripts/models puts them")
    parser.add_argument("--steps", type=int, default=250)
    parser.add_argument("--svg", help="where to write the curve of the loss")
    options = parser.parse_args()
    machines = heddle.machines()
    tell_all = print if machines.rank == 0 else lambda *texts: None
    if not (options.models / "magika.onnx").exists():
        sys.exit("the model is not there: scripts/models magika magika-config")
    model = heddle.InferenceSession(options.models / "magika.onnx", library=ops)
    labels = json.loads((options.models / "magika.json").read_text())["target_labels_space"]
    outputs = np.array([labels.index(label) for label, _ in KINDS.values()])
    weights = {name: weight for name, weight in model.weights.items()
               if "LayerNorm_1/Reshape" in name or "Dense_1" in name or weight.shape == (512, len(labels))}
    tell_all(f"{sum(weight.size for weight in weights.values()):,} of {sum(w.size for w in model.weights.values()):,} weights are trained:")
    for name, weight in weights.items():
        tell_all(f"  {name} {list(weight.shape)}")

    random = np.random.default_rng(1)
    texts = [[path.read_bytes() for path in files_of(patterns)] for _, patterns in KINDS.values()]
    known = [[data for i, data in enumerate(files) if i % 4] for files in texts]
    unknown, unknown_kinds = pieces(np.random.default_rng(2), [files[::4] for files in texts], 600)

    def loss(weights, rows, words):
        return ops.call("nll_loss_joined", ops.call("log", model.call(rows, weights=weights) + 1e-9), words, mean=True)

    def found(weights):
        parts = [model.call(rows, weights=weights)[:, outputs] for rows in np.split(unknown, 10)]
        return np.concatenate(parts).argmax(axis=1)

    before = tell(tell_all, "before", found(weights), unknown_kinds)
    batches = [pieces(random, known, BATCH) for _ in range(options.steps)]
    begin = time.perf_counter()
    weights, losses = train(loss, weights, [(rows, outputs[kinds]) for rows, kinds in batches], lambda part: .002 * (1 - part),
                            tell_all, machines)
    tell_all(f"trained in {time.perf_counter() - begin:.1f} s")
    after = tell(tell_all, "after", found(weights), unknown_kinds)
    if options.svg and machines.rank == 0:
        pathlib.Path(options.svg).write_text(curve_svg("Cross entropy of the repository's files, by steps", losses))
        tell_all(f"wrote {options.svg}")
    if options.steps >= 250 and after < max(.8, before + .2):
        sys.exit("too few: the training went wrong")


if __name__ == "__main__":
    main()
