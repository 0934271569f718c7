"""References of finance.yaml."""
import math

import numpy as np

from gallery import operator

ERF = np.vectorize(math.erf)


def options(random, n):
    return {"price": 50 + 100 * random.shares(n), "strike": 50 + 100 * random.shares(n), "time": np.float32(0.25) + random.shares(n),
            "volatility": np.float32(0.1) + random.shares(n) / 2}


def normal(x):
    return 0.5 + 0.5 * ERF(x / math.sqrt(2))


def call(price, strike, time, volatility):
    price, strike, time, volatility = (x.astype(np.float64) for x in (price, strike, time, volatility))
    d = (np.log(price / strike) + (0.02 + volatility ** 2 / 2) * time) / (volatility * np.sqrt(time))
    return price * normal(d) - strike * np.exp(-0.02 * time) * normal(d - volatility * np.sqrt(time))


@operator(inputs=options, test={"n": 200}, bench={"n": 1_000_000}, tolerance=1e-4,
          work=lambda n: {"float32": 16 * n, "log": n, "exp": n, "sqrt": n, "divide": 2 * n, "erf": 2 * n})
def black_scholes(price, strike, time, volatility):
    c = call(price, strike, time, volatility)
    return c.astype(np.float32), (c - price + strike * np.exp(-0.02 * time)).astype(np.float32)


def paid(random, n):
    given = options(random, n) | {"price": 90 + 20 * random.shares(n), "strike": 90 + 20 * random.shares(n)}
    volatility = np.float32(0.2) + random.shares(n) / 5
    given["volatility"] = volatility
    return {"paid": call(**given).astype(np.float32)} | {name: value for name, value in given.items() if name != "volatility"}


@operator(inputs=paid, test={"n": 100}, bench={"n": 100_000}, tolerance=1e-3,
          work=lambda n: {"float32": 6 * 16 * n, "log": n, "exp": 7 * n, "sqrt": n, "divide": 8 * n, "erf": 12 * n})
def implied_volatility(paid, price, strike, time):
    v = np.full(len(paid), 0.3)
    for _ in range(6):
        d = (np.log(price / strike) + (0.02 + v * v / 2) * time) / (v * np.sqrt(time))
        v = v - (call(price, strike, time, v) - paid) / (price * np.sqrt(time) * np.exp(-d * d / 2) / math.sqrt(2 * math.pi))
    return v.astype(np.float32)


@operator(inputs=lambda random, n, steps: options(random, n) | {"steps": steps}, test={"n": 5, "steps": 19},
          bench={"n": 256, "steps": 512}, tolerance=1e-4,
          work=lambda n, steps: {"float32": 2 * n * steps ** 2, "exp": 2 * n * steps})  # half of the cells: 4 operations
def binomial_tree(price, strike, time, volatility, steps):
    price, strike, time, volatility = (x.astype(np.float64)[:, None] for x in (price, strike, time, volatility))
    up, grows = np.exp(volatility * np.sqrt(time / steps)), np.exp(0.02 * time / steps)
    chance = (grows - 1 / up) / (up - 1 / up)
    value = np.maximum(strike - price * up ** np.arange(-steps, steps + 1, 2), 0)
    for level in range(steps - 1, -1, -1):
        gain = strike - price * up ** np.arange(-level, level + 1, 2)
        value = np.maximum((chance * value[:, 1:] + (1 - chance) * value[:, :-1]) / grows, np.maximum(gain, 0))
    return value[:, 0].astype(np.float32)


@operator(inputs=lambda random, paths, steps: {"walk": random.floats(paths, steps)}, test={"paths": 30, "steps": 17},
          bench={"paths": 65536, "steps": 64}, tolerance=1e-4,
          work=lambda paths, steps: {"float32": 2 * paths * steps, "exp": paths * steps})
def asian_option(walk):
    path = np.exp(np.cumsum(0.2 / math.sqrt(walk.shape[1]) * walk, 1, np.float64))  # 0.02 - 0.2^2 / 2, its drift, is 0
    return np.float32(math.exp(-0.02) * np.maximum(path.mean(1) - 1, 0).mean())


@operator(inputs=lambda random, series, n: {"price": np.exp(random.floats(series, n).cumsum(1) / 20)},
          test={"series": 21, "n": 19}, bench={"series": 256, "n": 16384}, tolerance=1e-4,
          work=lambda series, n: {"float32": 4 * series * n, "divide": series * n, "dependent": n})
def max_drawdown(price):
    return (1 - price / np.maximum.accumulate(price, 1)).max(1)


@operator(inputs=lambda random, series, n, window: {"price": 90 + 20 * random.shares(series, n), "window": window},
          test={"series": 3, "n": 41, "window": 20}, bench={"series": 256, "n": 4096, "window": 20}, tolerance=1e-4,
          work=lambda series, n, window: {"float32": 3 * window * series * n}, smooth=False)  # no deviation at first
def rolling_deviation(price, window):
    last = price[:, np.maximum(np.arange(price.shape[1])[:, None] - np.arange(window), 0)]
    return last.mean(2), last.std(2)
