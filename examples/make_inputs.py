"""Writes the arrays of the README's tour into a folder: x.npy, scale.npy, a.npy and b.npy, the same each time.

    .venv/bin/python examples/make_inputs.py [FOLDER]
"""
import pathlib
import sys

import numpy as np


def main(arguments):
    folder = pathlib.Path(arguments[0] if arguments else ".")
    folder.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(0)
    arrays = {
        "x": random.standard_normal((64, 256)),
        "scale": random.uniform(0.5, 1.5, 256),
        "a": random.standard_normal((32, 48)),
        "b": random.standard_normal((48, 40)),
    }
    for name, array in arrays.items():
        path = folder / f"{name}.npy"
        np.save(path, array.astype(np.float32))
        print(f"{path}: float32{list(array.shape)}")


if __name__ == "__main__":
    main(sys.argv[1:])
