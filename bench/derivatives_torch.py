"""PyTorch's side of bench/derivatives.py: its functions of the cases, and values, gradients and tangents by torch.func, in float64."""
import numpy as np
import torch
import torch.nn.functional as F

INDICES = [4, 1, -1, 0]


def _recurrence(a, x):
    states = []
    for t in range(len(a)):
        states.append(a[t] * states[-1] + x[t] if states else x[t])
    return torch.stack(states)


def _attention(q, k, v):
    scores = q @ k.transpose(-1, -2) / q.shape[-1]**.5
    seen = torch.ones(scores.shape[-2:], dtype=torch.bool).tril()
    return scores.masked_fill(~seen, -torch.inf).softmax(-1) @ v


def _conv(x, w, b):
    return F.conv2d(F.pad(x, (0, 2, 1, 1)), w, b, stride=(2, 1), dilation=(1, 2), groups=2)


FUNCTIONS = {
    "gelu": F.gelu, "silu": F.silu, "softplus": F.softplus, "mish": F.mish, "elu": F.elu, "power": torch.pow,
    "softmax": lambda x: x.softmax(1), "log_softmax": lambda x: x.log_softmax(1),
    "layer_norm": lambda x, scale, shift: F.layer_norm(x, x.shape[-1:], scale, shift),
    "rms_norm": lambda x, scale: F.rms_norm(x, x.shape[-1:], scale, eps=1e-5),
    "reduce_log_sum_exp": lambda x: x.logsumexp(1, keepdim=True), "reduce_prod": lambda x: x.prod(1, keepdim=True),
    "reduce_max": lambda x: x.amax(1, keepdim=True), "reduce_l2": lambda x: torch.linalg.vector_norm(x, dim=1, keepdim=True),
    "cumsum": lambda x: x.cumsum(1), "cumprod": lambda x: x.cumprod(1), "linear_recurrence": _recurrence,
    "numpy_matmul": torch.matmul, "conv": _conv, "max_pool": lambda x: F.max_pool2d(x, (3, 2), (2, 1)),
    "transpose": lambda x: x.permute(2, 1, 0), "pad": lambda x: F.pad(x[None], (2, 1, 1, 2), mode="reflect")[0],
    "gather": lambda x: x[torch.tensor(INDICES)], "sort": lambda x: x.sort(1).values, "attention": _attention,
}


def function(name):
    return FUNCTIONS.get(name) or getattr(torch, name)


def weighted(y, w):
    return (y * w.reshape(-1)[:y.numel()].reshape(y.shape)).sum()


def value_and_grad(loss, places):
    found = torch.func.grad_and_value(loss, argnums=places)
    return lambda *inputs: found(*inputs)[::-1]


jvp = torch.func.jvp


def tensors(given):
    return {name: torch.tensor(np.asarray(array)) for name, array in given.items()}
