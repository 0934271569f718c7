// Loops for physics.yaml.
#include <math.h>
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

void wave(const float *height, const float *speed, float *y, long n, long steps) {
    float *other = malloc(n * n * sizeof(float)), *v = malloc(n * n * sizeof(float));
    float *from = steps % 2 ? other : y, *to = steps % 2 ? y : other;
    memcpy(from, height, n * n * sizeof(float));
    memcpy(to, height, n * n * sizeof(float));
    memcpy(v, speed, n * n * sizeof(float));
    for (long t = 0; t < steps; t++) {
        for (long i = 1; i < n - 1; i++) {
            const float *row = from + i * n, *up = row - n, *down = row + n;
            float *restrict fast = v + i * n, *restrict next = to + i * n;
            for (long j = 1; j < n - 1; j++) {
                fast[j] += 0.25f * (up[j] + down[j] + row[j - 1] + row[j + 1] - 4 * row[j]);
                next[j] = row[j] + fast[j];
            }
        }
        swap(&from, &to);
    }
    free(other);
    free(v);
}

static float beside(const float *u, long up, long down, long i, long left, long right, long j) {
    return u[up + j] + u[down + j] + u[i + left] + u[i + right] - 4 * u[i + j];
}

void gray_scott(const float *a, const float *b, float *u, float *v, long n, long steps) {
    const size_t bytes = n * n * sizeof(float);
    float *spare = malloc(2 * bytes), *p = steps % 2 ? spare : u, *q = steps % 2 ? spare + n * n : v;
    float *next_p = steps % 2 ? u : spare, *next_q = steps % 2 ? v : spare + n * n;
    memcpy(p, a, bytes);
    memcpy(q, b, bytes);
    for (long t = 0; t < steps; t++) {
        for (long i = 0; i < n; i++) {
            const long row = i * n, up = (i + n - 1) % n * n, down = (i + 1) % n * n;
            float *restrict to_p = next_p + row, *restrict to_q = next_q + row;
#define CELL(left, right, j)                                                                                                 \
    const float meet = p[row + j] * q[row + j] * q[row + j];                                                                 \
    to_p[j] = p[row + j] - meet + 0.04f * (1 - p[row + j]) + 0.2f * beside(p, up, down, row, left, right, j);                \
    to_q[j] = q[row + j] + meet - 0.1f * q[row + j] + 0.1f * beside(q, up, down, row, left, right, j)
            { CELL(n - 1, 1, 0); }
            for (long j = 1; j < n - 1; j++) { CELL(j - 1, j + 1, j); }
            { CELL(n - 2, 0, n - 1); }
#undef CELL
        }
        swap(&p, &next_p);
        swap(&q, &next_q);
    }
    free(spare);
}

void n_body(const float *place, const float *mass, float *y, long n) {
    const float *x = place, *v = place + n, *w = v + n;
    for (long i = 0; i < n; i++) {
        float sums[3][16] = {{0}};
        long j = 0;
        for (; j < n; j += 16) {
            const long wide = n - j < 16 ? n - j : 16;
            for (long l = 0; l < wide; l++) {
                const float a = x[j + l] - x[i], b = v[j + l] - v[i], c = w[j + l] - w[i], r = a * a + b * b + c * c + 0.01f;
                const float pull = mass[j + l] / (r * sqrtf(r));
                sums[0][l] += pull * a;
                sums[1][l] += pull * b;
                sums[2][l] += pull * c;
            }
        }
        for (long c = 0; c < 3; c++) {
            float sum = 0;
            for (long l = 0; l < 16; l++) sum += sums[c][l];
            y[c * n + i] = sum;
        }
    }
}

void mandelbrot(const float *c, int *y, long height, long width, long steps) {
    for (long i = 0; i < height * width; i++) {
        const float cx = c[2 * i], cy = c[2 * i + 1];
        float x = cx, v = cy;
        int n = 0;
        while (n < steps && x * x + v * v <= 4) {
            const float next = x * x - v * v + cx;
            v = 2 * x * v + cy;
            x = next;
            n++;
        }
        y[i] = n;
    }
}
