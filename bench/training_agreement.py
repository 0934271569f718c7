"""Do we train as JAX does? The losses of a hundred steps, from the same weights by the same batches, on both sides.

Both compute the same sums in other orders, so they differ in the last bits from the first step on; training makes such
differences grow. How much is measured too: ours beside ours with each weight one bit away at the beginning. JAX is as near to us
as explained by that.
"""
import numpy as np

import training_data
import training_side

RATES = {"adamw": 0.001, "momentum": 0.01}
DIFFERENT = 20  # batches


def files(folder, case):
    """Paths of the weights, of the same one bit away, and a pattern of those of batches."""
    random = np.random.default_rng(23)
    weights, batch = training_data.made(case)
    begin = training_side.save(folder / f"{case}.npz", weights, batch)
    away = {name: np.nextafter(array, np.where(random.integers(0, 2, array.shape), np.inf, -np.inf).astype(array.dtype))
            for name, array in weights.items()}
    beside = training_side.save(folder / f"{case}.beside.npz", away, batch)
    for at, arrays in enumerate(training_data.batches(case, random, DIFFERENT)):
        training_side.save(folder / f"{case}.batch{at}.npz", weights, arrays)
    return begin, beside, str(folder / f"{case}.batch{{}}.npz")


def difference(ours, theirs):
    """The largest of the losses' relative ones."""
    return max(abs(a - b) / abs(b) for a, b in zip(ours, theirs, strict=True))


def compare(all_sides, case, folder, steps):
    """Rows of optimisers and element types."""
    begin, beside, pattern = files(folder, case)
    batches = {"path": pattern, "count": steps, "different": DIFFERENT}
    rows = []
    for options in ([], ["--double"]):
        with all_sides.started(2, *options) as sides:
            for optimiser, rate in RATES.items():
                def losses(engine, path):
                    return sides[engine].ask("train", case=case, optimiser=optimiser, path=path, batches=batches, rate=rate)["losses"]
                ours = losses("heddle", begin)
                row = {"case": case, "optimiser": optimiser, "type": "float64" if options else "float32", "steps": steps,
                       "first_loss": ours[0], "last_loss": ours[-1], "one_bit_away": difference(losses("heddle", beside), ours)}
                if "jax" in sides:
                    theirs = losses("jax", begin)
                    row |= {"to_jax": difference(ours, theirs), "to_jax_at_first": difference(ours[:1], theirs[:1])}
                rows.append(row)
                print(text_of(row), flush=True)
    return rows


HEADER = f"{'trained':12} {'by':9} {'in':8} {'loss':>17}   largest relative difference of losses"


def text_of(row):
    jax = f"to JAX {row['to_jax']:.1e} (at the first step {row['to_jax_at_first']:.1e}), " if "to_jax" in row else ""
    return (f"{row['case']:12} {row['optimiser']:9} {row['type']:8} {row['first_loss']:7.4f} to {row['last_loss']:.4f}   "
            f"{jax}to ours from one float32 bit away {row['one_bit_away']:.1e}")
