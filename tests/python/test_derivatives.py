"""Values, adjoints, tangents and Hessians times vectors of operators beside JAX's and PyTorch's, as bench/derivatives.py has
recorded them."""
import pathlib
import sys

import numpy as np

sys.path.append(str(pathlib.Path(__file__).parent.parent.parent / "bench"))

import derivatives


def test_compile_jobs_10_and_21_operators_agree_with_jax_and_pytorch():
    names = list(derivatives.CASES)
    found = derivatives.side("heddle", names, derivatives.made())
    for peer in ("jax", "torch"):
        recorded = derivatives.recorded(peer)
        rows = derivatives.differences(names, found, recorded)
        assert len(rows) >= 30 and {key.split(":")[0] for key in recorded} == set(names)
        bent = lambda name: any(np.abs(recorded[key]).max() > 0 for key in recorded if key.startswith(name + ":hessian"))
        assert sum(map(bent, names)) >= 10
        for name, row in rows.items():
            assert max(row.values()) <= derivatives.LIMIT, (peer, name, row)
