// Loops for graphs.yaml.
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

void floyd_warshall(const float *length, float *d, long n) {
    memcpy(d, length, n * n * sizeof(float));
    for (long k = 0; k < n; k++) {
        const float *through = d + k * n;
        for (long i = 0; i < n; i++) {
            if (i == k) continue;  // its own lengths do not change where none is negative
            float *restrict row = d + i * n;
            const float first = row[k];
            for (long j = 0; j < n; j++) row[j] = first + through[j] < row[j] ? first + through[j] : row[j];
        }
    }
}

static float least(float a, float b) { return a < b ? a : b; }
static float most(float a, float b) { return a > b ? a : b; }

void widest_path(const float *width, float *d, long n) {
    memcpy(d, width, n * n * sizeof(float));
    for (long k = 0; k < n; k++) {
        const float *through = d + k * n;
        for (long i = 0; i < n; i++) {
            if (i == k) continue;  // the least of a way and a part of it is the part
            float *restrict row = d + i * n;
            const float first = row[k];
            for (long j = 0; j < n; j++) row[j] = most(row[j], least(first, through[j]));
        }
    }
}

void reachability(const uint8_t *a, const uint8_t *b, uint8_t *y, long n) {
    memset(y, 0, n * n);
    for (long i = 0; i < n; i++) {
        uint8_t *restrict row = y + i * n;
        for (long k = 0; k < n; k++) {
            if (!a[i * n + k]) continue;
            for (long j = 0; j < n; j++) row[j] |= b[k * n + j];
        }
    }
}

void bottleneck(const float *a, const float *b, float *y, long n) {
    for (long i = 0; i < n; i++) {
        float *restrict row = y + i * n;
        for (long j = 0; j < n; j++) row[j] = INFINITY;
        for (long k = 0; k < n; k++) {
            for (long j = 0; j < n; j++) row[j] = least(row[j], most(a[i * n + k], b[k * n + j]));
        }
    }
}

void page_rank(const int32_t *source, const int32_t *target, const float *degree, float *rank, long n, long count, long steps) {
    float *share = malloc(n * sizeof(float));
    for (long i = 0; i < n; i++) rank[i] = 1.f / n;
    for (long t = 0; t < steps; t++) {
        for (long i = 0; i < n; i++) {
            share[i] = rank[i] / most(degree[i], 1);
            rank[i] = 0;
        }
        for (long e = 0; e < count; e++) rank[target[e]] += share[source[e]];
        for (long i = 0; i < n; i++) rank[i] = 0.15f / n + 0.85f * rank[i];
    }
    free(share);
}

void bellman_ford(const int32_t *source, const int32_t *target, const float *length, float *d, long n, long count, long steps) {
    float *before = malloc(n * sizeof(float));
    for (long i = 0; i < n; i++) d[i] = i ? INFINITY : 0;
    for (long t = 0; t < steps; t++) {
        memcpy(before, d, n * sizeof(float));
        for (long e = 0; e < count; e++) d[target[e]] = least(d[target[e]], before[source[e]] + length[e]);
    }
    free(before);
}

void graph_convolution(const int32_t *source, const int32_t *target, const float *x, const float *weight, float *restrict y, long n,
                       long count, long c) {
    float *heard = calloc(n * c, sizeof(float));
    int32_t *degree = calloc(n, sizeof(int32_t));
    for (long e = 0; e < count; e++) {
        float *restrict to = heard + target[e] * c;
        const float *from = x + source[e] * c;
        degree[target[e]]++;
        for (long k = 0; k < c; k++) to[k] += from[k];
    }
    memset(y, 0, n * c * sizeof(float));
    for (long i = 0; i < n; i++) {
        const float each = 1 / most(degree[i], 1);
        for (long k = 0; k < c; k++) {
            for (long j = 0; j < c; j++) y[i * c + j] += each * heard[i * c + k] * weight[k * c + j];
        }
        for (long j = 0; j < c; j++) y[i * c + j] = most(y[i * c + j], 0);
    }
    free(heard);
    free(degree);
}
