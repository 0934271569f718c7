"""Values, adjoints, tangents and Hessians times vectors of operators beside JAX's, as bench/derivatives.py has recorded them."""
import pathlib
import sys

import numpy as np

HERE = pathlib.Path(__file__).parent
sys.path.append(str(HERE.parent.parent / "bench"))

import derivatives


def test_compile_jobs_10_and_21_operators_agree_with_jax():
    names = list(derivatives.CASES)
    recorded = dict(np.load(HERE / "derivatives_of_jax.npz"))
    rows = derivatives.differences(names, derivatives.side("heddle", names, derivatives.made()), recorded)
    assert len(rows) >= 30 and {key.split(":")[0] for key in recorded} == set(names)
    assert sum(any(np.abs(recorded[key]).max() > 0 for key in recorded if key.startswith(name + ":hessian")) for name in names) >= 10
    for name, row in rows.items():
        assert max(row.values()) <= derivatives.LIMIT, (name, row)
