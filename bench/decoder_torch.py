"""A decoder like Llama's, with random weights, exported to ONNX by PyTorch: what bench/decoder.py runs.

    python bench/decoder_torch.py SIZE FILE.onnx

Inputs: `ids` int64[1, tokens], and for each layer `past.LAYER.key` and `past.LAYER.value`, float32[1, heads, past, width]. Outputs:
`logits` float32[1, tokens, words], and each cache with these tokens behind, `present.LAYER.key` and so on.
"""
import dataclasses
import sys

import torch
import torch.nn.functional as F


@dataclasses.dataclass(frozen=True)
class Shape:
    layers: int
    model: int
    heads: int
    inner: int
    words: int


SHAPES = {"tiny": Shape(2, 16, 2, 32, 32), "27m": Shape(6, 512, 8, 1376, 8192), "110m": Shape(12, 768, 12, 2048, 16384)}


class RmsNorm(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.scale = torch.nn.Parameter(torch.ones(width))

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5) * self.scale


def rotated(x, cosines, sines):
    first, second = x.chunk(2, -1)
    return x * cosines + torch.cat((-second, first), -1) * sines


class Layer(torch.nn.Module):
    def __init__(self, shape):
        super().__init__()
        self.heads, self.width = shape.heads, shape.model // shape.heads
        self.before, self.behind = RmsNorm(shape.model), RmsNorm(shape.model)
        for name in "qkvo":
            setattr(self, name, torch.nn.Linear(shape.model, shape.model, bias=False))
        self.gate, self.up = (torch.nn.Linear(shape.model, shape.inner, bias=False) for _ in range(2))
        self.down = torch.nn.Linear(shape.inner, shape.model, bias=False)

    def by_heads(self, x):
        return x.view(x.shape[0], x.shape[1], self.heads, self.width).transpose(1, 2)

    def forward(self, x, keys, values, cosines, sines, seen):
        y = self.before(x)
        q = rotated(self.by_heads(self.q(y)), cosines, sines)
        k = torch.cat((keys, rotated(self.by_heads(self.k(y)), cosines, sines)), 2)
        v = torch.cat((values, self.by_heads(self.v(y))), 2)
        scores = q @ k.transpose(2, 3) / self.width ** 0.5
        mixed = scores.masked_fill(~seen, float("-inf")).softmax(-1) @ v
        x = x + self.o(mixed.transpose(1, 2).reshape(x.shape))
        y = self.behind(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y)), k, v


class Decoder(torch.nn.Module):
    def __init__(self, shape):
        super().__init__()
        self.words = torch.nn.Embedding(shape.words, shape.model)
        self.layers = torch.nn.ModuleList(Layer(shape) for _ in range(shape.layers))
        self.last = RmsNorm(shape.model)
        self.head = torch.nn.Linear(shape.model, shape.words, bias=False)
        width = shape.model // shape.heads
        self.register_buffer("frequencies", 10000.0 ** (-torch.arange(0, width, 2) / width))

    def forward(self, ids, *past):
        place = past[0].shape[2] + torch.arange(ids.shape[1])
        angles = torch.cat((place[:, None] * self.frequencies,) * 2, -1)
        seen = torch.arange(past[0].shape[2] + ids.shape[1]) <= place[:, None]
        x, present = self.words(ids), []
        for layer, keys, values in zip(self.layers, past[::2], past[1::2]):
            x, *both = layer(x, keys, values, angles.cos(), angles.sin(), seen)
            present += both
        return self.head(self.last(x)), *present


def main():
    shape = SHAPES[sys.argv[1]]
    torch.manual_seed(0)
    model = Decoder(shape).eval()
    print(sum(weight.numel() for weight in model.parameters()), "parameters")
    empty = torch.zeros(1, shape.heads, 3, shape.model // shape.heads)
    caches = [f"{layer}.{name}" for layer in range(shape.layers) for name in ("key", "value")]
    past, present = [f"past.{cache}" for cache in caches], [f"present.{cache}" for cache in caches]
    torch.onnx.export(model, (torch.zeros(1, 2, dtype=torch.int64), *[empty] * len(caches)), sys.argv[2],
                      input_names=["ids", *past], output_names=["logits", *present],
                      dynamic_axes={"ids": {1: "tokens"}, "logits": {1: "tokens"}, **{name: {2: "past"} for name in past},
                                    **{name: {2: "length"} for name in present}})


if __name__ == "__main__":
    main()
