// Loops for physics.yaml.
#include <stdlib.h>
#include <string.h>

static void swap(float **a, float **b) {
    float *kept = *a;
    *a = *b;
    *b = kept;
}

// One step of the heat equation; the rows and columns beyond the borders are those of index `first` and `last`.
static void heat_row(const float *up, const float *row, const float *down, float *to, long n, long before, long after) {
    to[0] = row[0] + 0.2f * (up[0] + down[0] + row[before] + row[1] - 4 * row[0]);
    for (long j = 1; j < n - 1; j++) to[j] = row[j] + 0.2f * (up[j] + down[j] + row[j - 1] + row[j + 1] - 4 * row[j]);
    to[n - 1] = row[n - 1] + 0.2f * (up[n - 1] + down[n - 1] + row[n - 2] + row[after] - 4 * row[n - 1]);
}

static void heat(const float *x, float *y, long n, long steps, int wrapped) {
    float *other = malloc(n * n * sizeof(float)), *from = steps % 2 ? other : y, *to = steps % 2 ? y : other;
    memcpy(from, x, n * n * sizeof(float));
    const long before = wrapped ? n - 1 : 0, after = wrapped ? 0 : n - 1;
    for (long t = 0; t < steps; t++) {
        for (long i = 0; i < n; i++) {
            const long up = i > 0 ? i - 1 : before, down = i < n - 1 ? i + 1 : after;
            heat_row(from + up * n, from + i * n, from + down * n, to + i * n, n, before, after);
        }
        swap(&from, &to);
    }
    free(other);
}

void heat_wrapped(const float *x, float *y, long n, long steps) { heat(x, y, n, steps, 1); }
void heat_clamped(const float *x, float *y, long n, long steps) { heat(x, y, n, steps, 0); }

static const int down[9] = {0, 0, 1, 0, -1, 1, 1, -1, -1}, right[9] = {0, 1, 0, -1, 0, 1, -1, -1, 1};
static const float weight[9] = {16 / 36.f, 4 / 36.f, 4 / 36.f, 4 / 36.f, 4 / 36.f, 1 / 36.f, 1 / 36.f, 1 / 36.f, 1 / 36.f};

static inline void collide(const float *f, float *y, const long *from, long to, long size) {
    float g[9], density = 0, u = 0, v = 0;
    for (int q = 0; q < 9; q++) {
        g[q] = f[q * size + from[q]];
        density += g[q];
        u += right[q] * g[q];
        v += down[q] * g[q];
    }
    const float each = 1 / density;
    u *= each;
    v *= each;
    const float still = 1 - 1.5f * (u * u + v * v);
    for (int q = 0; q < 9; q++) {
        const float along = 3 * (right[q] * u + down[q] * v);
        y[q * size + to] = g[q] + 0.6f * (weight[q] * density * (still + along + 0.5f * along * along) - g[q]);
    }
}

void lattice_boltzmann(const float *restrict f, float *restrict y, long n) {
    for (long i = 0; i < n; i++) {
        long row[9];
        for (int q = 0; q < 9; q++) row[q] = (i - down[q] + n) % n * n;
        for (long j = 0; j < n; j++) {
            long from[9];
            if (j == 0 || j == n - 1) {
                for (int q = 0; q < 9; q++) from[q] = row[q] + (j - right[q] + n) % n;
            } else {
                for (int q = 0; q < 9; q++) from[q] = row[q] + j - right[q];
            }
            collide(f, y, from, i * n + j, n * n);
        }
    }
}
