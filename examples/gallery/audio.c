// Loops for audio.yaml.
#include <complex.h>
#include <math.h>
#include <stdlib.h>

// Stockham's transform of a power of two, radix 2; `turns` are the roots of one.
static float complex *transform(float complex *from, float complex *to, const float complex *turns, long n) {
    for (long half = n / 2, stride = 1; half >= 1; half /= 2, stride *= 2) {
        for (long p = 0; p < half; p++) {
            const float re = crealf(turns[p * stride]), im = cimagf(turns[p * stride]);
            const float *a = (float *)(from + stride * p), *b = (float *)(from + stride * (p + half));
            float *sum = (float *)(to + stride * 2 * p), *apart = (float *)(to + stride * (2 * p + 1));
            for (long q = 0; q < 2 * stride; q += 2) {
                const float x = a[q] - b[q], y = a[q + 1] - b[q + 1];
                sum[q] = a[q] + b[q];
                sum[q + 1] = a[q + 1] + b[q + 1];
                apart[q] = x * re - y * im;
                apart[q + 1] = x * im + y * re;
            }
        }
        float complex *kept = from;
        from = to;
        to = kept;
    }
    return from;
}

void stft(const float *x, float complex *y, long n, long size, long hop) {
    float *window = malloc(size * sizeof(float));
    float complex *turns = malloc(size * sizeof(*turns)), *a = malloc(size * sizeof(*a)), *b = malloc(size * sizeof(*b));
    for (long k = 0; k < size; k++) {
        window[k] = 0.5 - 0.5 * cos(2 * M_PI * k / size);
        turns[k] = cexp(-2 * M_PI * I * k / size);
    }
    const long frames = (n - size) / hop + 1, bins = size / 2 + 1;
    for (long frame = 0; frame < frames; frame += 2) {  // two real frames are one complex one
        const int pair = frame + 1 < frames;
        for (long k = 0; k < size; k++) {
            const float *at = x + frame * hop + k;
            a[k] = CMPLXF(at[0] * window[k], pair ? at[hop] * window[k] : 0);
        }
        const float complex *both = transform(a, b, turns, size);
        for (long bin = 0; bin < bins; bin++) {
            const float complex forth = both[bin], back = conjf(both[(size - bin) % size]);
            y[frame * bins + bin] = (forth + back) / 2;
            if (pair) y[(frame + 1) * bins + bin] = CMPLXF(cimagf(forth - back) / 2, -crealf(forth - back) / 2);
        }
    }
    free(window);
    free(turns);
    free(a);
    free(b);
}

// Sixteen channels at once, in blocks that are transposed on the way.
void biquad(const float *x, const float *b, const float *a, float *y, long channels, long n) {
    enum { lanes = 16, block = 64 };
    for (long c = 0; c < channels; c += lanes) {
        const long wide = channels - c < lanes ? channels - c : lanes;
        float p[lanes] = {0}, q[lanes] = {0}, in[block][lanes] = {{0}}, out[block][lanes];
        for (long t = 0; t < n; t += block) {
            const long long_ = n - t < block ? n - t : block;
            for (long l = 0; l < wide; l++) {
                for (long s = 0; s < long_; s++) in[s][l] = x[(c + l) * n + t + s];
            }
            for (long s = 0; s < long_; s++) {
                for (long l = 0; l < lanes; l++) {
                    out[s][l] = b[0] * in[s][l] + p[l];
                    p[l] = b[1] * in[s][l] - a[0] * out[s][l] + q[l];
                    q[l] = b[2] * in[s][l] - a[1] * out[s][l];
                }
            }
            for (long l = 0; l < wide; l++) {
                for (long s = 0; s < long_; s++) y[(c + l) * n + t + s] = out[s][l];
            }
        }
    }
}

void fir(const float *x, const float *response, float *y, long channels, long n, long taps) {
    enum { block = 1024 };
    for (long c = 0; c < channels; c++) {
        for (long begin = 0; begin < n; begin += block) {
            const long end = begin + block < n ? begin + block : n;
            const float *from = x + c * n;
            float *restrict to = y + c * n;
            for (long t = begin; t < end; t++) to[t] = 0;
            for (long k = 0; k < taps; k++) {
                for (long t = begin > k ? begin : k; t < end; t++) to[t] += response[k] * from[t - k];
            }
        }
    }
}

void autocorrelation(const float *x, float *y, long n, long size, long lags) {
    for (long piece = 0; piece < (n - lags) / size; piece++, x += size, y += lags) {
        float *restrict to = y;
        for (long lag = 0; lag < lags; lag++) to[lag] = 0;
        for (long k = 0; k < size; k++) {
            for (long lag = 0; lag < lags; lag++) to[lag] += x[k] * x[k + lag];
        }
    }
}
