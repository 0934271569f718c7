"""What "equal" means for whole models (docs/equality.md)."""
import numpy as np


def measures(found, wanted):
    """(largest difference, L2 difference), each relative to the reference's own."""
    found, wanted = np.asarray(found, np.float64), np.asarray(wanted, np.float64)
    difference = found - wanted
    largest, length = np.abs(wanted).max(initial=0), np.linalg.norm(wanted)
    return (np.abs(difference).max(initial=0) / max(largest, 1e-300), np.linalg.norm(difference) / max(length, 1e-300))


def compare(found, wanted, unoptimised):
    """(equal, text). The bars are 2e-5 of the largest and 1e-5 in L2, or four times what ONNX Runtime's own optimisations
    change, where that is larger; the argmax of the last dimension must agree where the best two are further apart."""
    if found.shape != wanted.shape or found.dtype != wanted.dtype:
        return False, f"{found.dtype}{list(found.shape)} instead of {wanted.dtype}{list(wanted.shape)}"
    if not np.issubdtype(wanted.dtype, np.floating):
        return bool((found == wanted).all()), "exact"
    if not np.isfinite(found).all() and np.isfinite(wanted).all():
        return False, "not finite"
    largest, length = measures(found, wanted)
    own_largest, own_length = measures(unoptimised, wanted)
    bar_largest, bar_length = max(2e-5, 4 * own_largest), max(1e-5, 4 * own_length)
    text = f"largest {largest:.1e} of {bar_largest:.1e}, L2 {length:.1e} of {bar_length:.1e}, max|b| {np.abs(wanted).max():.3g}"
    equal = largest <= bar_largest and length <= bar_length
    if wanted.ndim and wanted.shape[-1] > 1:
        best = np.sort(wanted, axis=-1)[..., -2:]
        clear = best[..., 1] - best[..., 0] > bar_largest * np.abs(wanted).max()
        equal &= bool((found.argmax(-1) == wanted.argmax(-1))[clear].all())
    return bool(equal), text
