// Loops for finance.yaml.
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const float rate = 0.02f;

static float larger(float a, float b) { return a > b ? a : b; }
static float normal(float x) { return 0.5f + 0.5f * erff(x * 0.70710678f); }

void black_scholes(const float *price, const float *strike, const float *time, const float *volatility, float *called, float *put,
                   long n) {
    for (long i = 0; i < n; i++) {
        const float s = price[i], k = strike[i], root = volatility[i] * sqrtf(time[i]), later = k * expf(-rate * time[i]);
        const float d = (logf(s / k) + (rate + volatility[i] * volatility[i] / 2) * time[i]) / root;
        called[i] = s * normal(d) - later * normal(d - root);
        put[i] = called[i] - s + later;
    }
}

void implied_volatility(const float *paid, const float *price, const float *strike, const float *time, float *y, long n) {
    for (long i = 0; i < n; i++) {
        const float s = price[i], root = sqrtf(time[i]), later = strike[i] * expf(-rate * time[i]), moved = logf(s / strike[i]);
        float v = 0.3f;
        for (int t = 0; t < 6; t++) {
            const float d = (moved + (rate + v * v / 2) * time[i]) / (v * root);
            const float call = s * normal(d) - later * normal(d - v * root);
            v -= (call - paid[i]) / (s * root * expf(-d * d / 2) * 0.39894228f);
        }
        y[i] = v;
    }
}

void binomial_tree(const float *price, const float *strike, const float *time, const float *volatility, float *y, long n,
                   long steps) {
    float *gain = malloc((2 * steps + 1) * sizeof(float)), *value = malloc((steps + 1) * sizeof(float));
    float *even = malloc((steps + 1) * sizeof(float)), *odd = malloc((steps + 1) * sizeof(float));
    for (long o = 0; o < n; o++) {
        const float each = time[o] / steps, up = expf(volatility[o] * sqrtf(each)), grows = expf(rate * each);
        const float chance = (grows - 1 / up) / (up - 1 / up), raised = chance / grows, lowered = (1 - chance) / grows;
        for (long j = 0; j <= 2 * steps; j++) {
            gain[j] = larger(strike[o] - price[o] * expf(volatility[o] * sqrtf(each) * (j - steps)), 0);
            (j % 2 ? odd : even)[j / 2] = gain[j];
        }
        memcpy(value, even, (steps + 1) * sizeof(float));
        for (long t = 0; t < steps; t++) {  // gain[2 i + 1 + t]
            const float *now = t % 2 ? even + (t + 1) / 2 : odd + t / 2;
            for (long i = 0; i < steps - t; i++) value[i] = larger(raised * value[i + 1] + lowered * value[i], now[i]);
        }
        y[o] = value[0];
    }
    free(gain);
    free(value);
    free(even);
    free(odd);
}

void asian_option(const float *walk, float *y, long paths, long steps) {
    const float each = 0.2f / sqrtf(steps);
    double sum = 0;
    for (long p = 0; p < paths; p++) {
        float logarithm = 0, total = 0;
        for (long t = 0; t < steps; t++) {
            logarithm += each * walk[p * steps + t];
            total += expf(logarithm);
        }
        sum += larger(total / steps - 1, 0);
    }
    *y = exp(-rate) * sum / paths;
}

void max_drawdown(const float *price, float *y, long series, long n) {
    for (long s = 0; s < series; s += 8) {
        const long wide = series - s < 8 ? series - s : 8;
        float peak[8] = {0}, worst[8] = {0};
        for (long t = 0; t < n; t++) {
            for (long l = 0; l < wide; l++) {
                const float now = price[(s + l) * n + t];
                peak[l] = larger(peak[l], now);
                worst[l] = larger(worst[l], 1 - now / peak[l]);
            }
        }
        memcpy(y + s, worst, wide * sizeof(float));
    }
}

void rolling_deviation(const float *price, float *mean, float *deviation, long series, long n, long window) {
    float *row = malloc((n + window) * sizeof(float));
    for (long s = 0; s < series; s++) {
        for (long t = 0; t < n + window - 1; t++) row[t] = price[s * n + (t < window ? 0 : t - window + 1)];
        for (long t = 0; t < n; t++) {
            float sum = 0, squares = 0;
            for (long k = 0; k < window; k++) sum += row[t + k];
            const float m = sum / window;
            for (long k = 0; k < window; k++) squares += (row[t + k] - m) * (row[t + k] - m);
            mean[s * n + t] = m;
            deviation[s * n + t] = sqrtf(squares / window);
        }
    }
    free(row);
}
