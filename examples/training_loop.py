"""What the examples of training share: weights to begin with, the optimiser over all weights, the curve of a loss."""
import numpy as np

import heddle

ops = heddle.load_library()


def normal(random, *shape, fan_in):
    """Weights as He et al. begin with them."""
    return (random.standard_normal(shape) * np.sqrt(2 / fan_in)).astype(np.float32)


def zeros_like(weights):
    return {name: np.zeros_like(weight) for name, weight in weights.items()}


def adamw_step(loss):
    """A step of AdamW as one program: new weights and means, written over the old ones, and the loss of these and a batch."""
    def step(weights, means, squares, number, rate, *batch):
        value, slopes = heddle.value_and_grad(loss)(weights, *batch)
        new_weights, new_means, new_squares = {}, {}, {}
        for name, slope in slopes.items():
            new_weights[name], new_means[name], new_squares[name] = ops.call(
                "adamw", weights[name], slope, means[name], squares[name], number, rate)
        return new_weights, new_means, new_squares, value
    return heddle.function(step, donate=["weights", "means", "squares"])


def train(loss, weights, batches, rate, tell=print, machines=None):
    """Weights after a step for each batch, and the losses. `rate` is told how far the training is, from 0 to 1. With several
    `machines` each step is cut over them: they run this together, and what a step gives to the next stays where it is."""
    step, losses = adamw_step(loss), []
    if machines and machines.size > 1:
        heddle.shard(step, machines=machines)
    weights = {name: weight.copy() for name, weight in weights.items()}  # steps write over theirs
    means, squares = zeros_like(weights), zeros_like(weights)
    for i, batch in enumerate(batches):
        weights, means, squares, value = step(weights, means, squares, np.float32(i + 1), np.float32(rate(i / len(batches))),
                                              *batch)
        losses.append(value.item())
        if i % 50 == 0 or i + 1 == len(batches):
            tell(f"  step {i + 1} of {len(batches)}: loss {np.mean(losses[-20:]):.3f}")
    if machines and machines.size > 1:
        weights = {name: weight.gather() for name, weight in weights.items()}
    return weights, losses


def curve_svg(title, losses, width=640, height=320):
    """The losses as thin line, their mean over the last twenty as thick one."""
    left, top, right, bottom = 56, 40, width - 16, height - 40
    highest = max(losses)
    means = [np.mean(losses[max(0, i - 19):i + 1]) for i in range(len(losses))]

    def line(values, style):
        points = " ".join(f"{left + (right - left) * i / max(1, len(values) - 1):.1f},{bottom - (bottom - top) * v / highest:.1f}"
                          for i, v in enumerate(values))
        return f'<polyline points="{points}" fill="none" {style}/>'
    ticks = [f'<text x="{left - 8}" y="{bottom - (bottom - top) * part + 4:.1f}" text-anchor="end">{highest * part:.2f}</text>'
             f'<path d="M{left} {bottom - (bottom - top) * part:.1f}H{right}" stroke="#ddd"/>' for part in (0, .25, .5, .75, 1)]
    ticks += [f'<text x="{left + (right - left) * part:.1f}" y="{bottom + 20}" text-anchor="middle">{round(len(losses) * part)}'
              "</text>" for part in (0, .5, 1)]
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="sans-serif" font-size="12">'
            f'<rect width="100%" height="100%" fill="white"/><text x="{left}" y="24" font-size="14">{title}</text>'
            + "".join(ticks) + line(losses, 'stroke="#9bb8d3"') + line(means, 'stroke="#1f4e79" stroke-width="2"') + "</svg>\n")
