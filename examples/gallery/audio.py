"""References of audio.yaml."""
import math

import numpy as np

from gallery import operator


@operator(inputs=lambda random, n, size, hop: {"x": random.floats(n), "size": size, "hop": hop},
          test={"n": 300, "size": 32, "hop": 8}, bench={"n": 160_000, "size": 512, "hop": 128}, tolerance=1e-4,
          # of a fast transform of real numbers, six a butterfly, as the loop in C is one; the sums are forty times as many
          work=lambda n, size, hop: {"float32": ((n - size) // hop + 1) * size * (1 + 1.5 * math.log2(size))})
def stft(x, size, hop):
    window = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(size) / size)
    frames = np.lib.stride_tricks.sliding_window_view(x, size)[::hop]
    return np.fft.rfft(frames * window).astype(np.complex64)


# A step waits for the one before: its output goes through two multiply-adds into the next.
@operator(inputs=lambda random, channels, n: {"x": random.floats(channels, n), "b": np.float32([0.2, 0.4, 0.2]),
                                              "a": np.float32([-0.6, 0.3])},
          test={"channels": 5, "n": 40}, bench={"channels": 64, "n": 48_000}, tolerance=1e-4,
          work=lambda channels, n: {"float32": 5 * channels * n, "dependent": 2 * n})
def biquad(x, b, a):
    y, p, q = np.zeros_like(x), np.zeros_like(x[:, 0]), np.zeros_like(x[:, 0])
    for t in range(x.shape[1]):
        y[:, t] = b[0] * x[:, t] + p
        p, q = b[1] * x[:, t] - a[0] * y[:, t] + q, b[2] * x[:, t] - a[1] * y[:, t]
    return y


@operator(inputs=lambda random, channels, n, taps: {"x": random.floats(channels, n), "response": random.floats(taps)},
          test={"channels": 3, "n": 70, "taps": 9}, bench={"channels": 2, "n": 96_000, "taps": 128}, tolerance=1e-4,
          work=lambda channels, n, taps: {"float32": channels * n * taps})
def fir(x, response):
    return np.stack([np.convolve(channel, response)[:x.shape[1]] for channel in x])


@operator(inputs=lambda random, n, size, lags: {"x": random.floats(n), "size": size, "lags": lags},
          test={"n": 300, "size": 32, "lags": 20}, bench={"n": 96_000, "size": 512, "lags": 400}, tolerance=1e-4,
          work=lambda n, size, lags: {"float32": (n - lags) // size * size * lags})
def autocorrelation(x, size, lags):
    starts = np.arange((len(x) - lags) // size) * size
    return np.stack([[x[s:s + size] @ x[s + lag:s + lag + size] for lag in range(lags)] for s in starts])
