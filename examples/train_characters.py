"""Trains a small transformer to write sums, character by character, from text that it makes itself: `47+85=132`.

    python examples/train_characters.py [--steps 1200] [--svg CURVE.svg]

It reads four fifths of all sums of two numbers below a hundred, and is asked for the others. It ends with an error if it gets many
of these wrong.
"""
import argparse
import sys
import time

import numpy as np

import heddle
from training_loop import curve_svg, normal, ops, train

LETTERS = "0123456789+=\n"
WIDTH, HEADS, LAYERS, BATCH = 64, 4, 2, 128


def sentences(random):
    """Two lists, of sums to be read and of others; each character as its place in LETTERS, padded by line ends."""
    sums = [f"{a}+{b}={a + b}\n" for a in range(100) for b in range(100)]
    longest = max(map(len, sums))
    coded = np.array([[LETTERS.index(letter) for letter in text.ljust(longest, "\n")] for text in sums])
    random.shuffle(coded)
    return np.split(coded, [len(coded) * 4 // 5])


def first_weights(random, length):
    weights = {"letters": normal(random, len(LETTERS), WIDTH, fan_in=WIDTH),
               "places": normal(random, length, WIDTH, fan_in=WIDTH), **norm_weights("last", WIDTH)}
    for at in range(LAYERS):
        weights |= layer_weights(random, WIDTH, at)
    return weights


def layer_weights(random, width, at):
    weights = norm_weights(f"{at}.attention", width) | norm_weights(f"{at}.hidden", width)
    for name, rows, columns in (("query", width, width), ("key", width, width), ("value", width, width), ("joined", width, width),
                                ("wide", width, 4 * width), ("narrow", 4 * width, width)):
        weights[f"{at}.{name}"] = normal(random, rows, columns, fan_in=2 * rows)
        weights[f"{at}.{name}.bias"] = np.zeros(columns, np.float32)
    return weights


def norm_weights(name, width):
    return {f"{name}.scale": np.ones(width, np.float32), f"{name}.shift": np.zeros(width, np.float32)}


def layer(weights, x, at):
    """Attention to what came before, then each place by itself."""
    def linear(name, values):
        return values @ weights[f"{at}.{name}"] + weights[f"{at}.{name}.bias"]

    def normed(name):
        return ops.call("layer_norm", x, weights[f"{at}.{name}.scale"], weights[f"{at}.{name}.shift"])[0]
    values = normed("attention")
    heads = [ops.call("split_heads", linear(name, values), heads=HEADS) for name in ("query", "key", "value")]
    x = x + linear("joined", ops.call("join_heads", ops.call("attention", *heads, causal=True)))
    return x + linear("narrow", ops.call("gelu", linear("wide", normed("hidden"))))


def network(weights, text):
    """Of text, [batch, places], the logarithms of probabilities of what comes next, [batch, places, letters]."""
    x = ops.call("gather", weights["letters"], text) + weights["places"]
    for at in range(LAYERS):
        x = layer(weights, x, at)
    x, _, _ = ops.call("layer_norm", x, weights["last.scale"], weights["last.shift"])
    return ops.call("log_softmax", x @ ops.call("transpose", weights["letters"]))  # the table that letters are read from


def loss(weights, text, following):
    guesses = ops.call("reshape_to", network(weights, text), shape=[text.shape[0] * text.shape[1], len(LETTERS)])
    return ops.call("nll_loss_joined", guesses, ops.call("reshape_to", following, shape=guesses.shape[:1]), mean=True)


def written(weights, text):
    """The text, [sentences, places], with all behind '=' as the network goes on."""
    guess = heddle.function(network)
    is_asked = np.cumsum(text[:, :-1] == LETTERS.index("="), axis=1) > 0  # whether the next place is
    text = text.copy()
    for place in np.flatnonzero(is_asked.any(axis=0)):
        best = np.argmax(guess(weights, text[:, :-1])[:, place], axis=-1)
        text[:, place + 1] = np.where(is_asked[:, place], best, text[:, place + 1])
    return text


def trained(steps, tell=print):
    """Weights after so many steps, the losses, and the sums that it has not read."""
    random = np.random.default_rng(7)
    known, unseen = sentences(random)
    weights = first_weights(random, known.shape[1] - 1)
    batches = [known[random.integers(0, len(known), BATCH)] for _ in range(steps)]
    weights, losses = train(loss, weights, [(batch[:, :-1], batch[:, 1:]) for batch in batches],
                            lambda part: .003 * min(1, 20 * part + .01) * (1 - part), tell)
    return weights, losses, unseen


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=1200)
    parser.add_argument("--svg", help="where to write the curve of the loss")
    options = parser.parse_args()
    begin = time.perf_counter()
    weights, losses, unseen = trained(options.steps)
    print(f"trained in {time.perf_counter() - begin:.1f} s")
    answers = written(weights, unseen)
    right = (answers == unseen).all(axis=1)
    for answer, is_right in zip(answers[:8], right):
        print(" ", "".join(LETTERS[letter] for letter in answer).split("\n")[0], "" if is_right else "(wrong)")
    print(f"{right.mean():.1%} of {len(unseen)} sums that it has not read are right")
    if options.svg:
        with open(options.svg, "w") as file:
            file.write(curve_svg("Cross entropy of sums, by steps", losses))
        print(f"wrote {options.svg}")
    if right.mean() < .9:
        sys.exit("too few: the training went wrong")


if __name__ == "__main__":
    main()
