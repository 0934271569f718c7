// Loops for linear_algebra.yaml.
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static float larger(float a, float b) { return a > b ? a : b; }

void max_plus(const float *restrict a, const float *restrict b, float *restrict y, long n) {
    for (long i = 0; i < n; i++) {
        float *restrict row = y + i * n;
        for (long j = 0; j < n; j++) row[j] = -INFINITY;
        for (long k = 0; k < n; k++) {
            for (long j = 0; j < n; j++) row[j] = larger(row[j], a[i * n + k] + b[k * n + j]);
        }
    }
}

void triangular_solve(const float *restrict L, const float *restrict b, float *restrict x, long n, long columns) {
    for (long i = 0; i < n; i++) {
        float *row = x + i * columns;
        memcpy(row, b + i * columns, columns * sizeof(float));
        for (long k = 0; k < i; k++) {
            for (long c = 0; c < columns; c++) row[c] -= L[i * n + k] * x[k * columns + c];
        }
        for (long c = 0; c < columns; c++) row[c] /= L[i * n + i];
    }
}

void coo_product(const int32_t *row, const int32_t *column, const float *value, const float *x, float *y, long n, long count) {
    memset(y, 0, n * sizeof(float));
    for (long k = 0; k < count; k++) y[row[k]] += value[k] * x[column[k]];
}

void ell_product(const int32_t *column, const float *value, const float *x, float *y, long n, long width) {
    for (long i = 0; i < n; i++) {
        float sum = 0;
        for (long k = 0; k < width; k++) sum += value[i * width + k] * x[column[i * width + k]];
        y[i] = sum;
    }
}

// Four rows and one transposed block of columns at once, so that a block stays in L1.
void pairwise_distances(const float *a, const float *b, float *restrict y, long n, long d) {
    float *columns = malloc(n * d * sizeof(float));
    for (long j = 0; j < n; j++) {
        for (long k = 0; k < d; k++) columns[k * n + j] = b[j * d + k];
    }
    memset(y, 0, n * n * sizeof(float));
    for (long i = 0; i < n; i++) {
        float *restrict row = y + i * n;
        for (long k = 0; k < d; k++) {
            for (long j = 0; j < n; j++) {
                const float apart = a[i * d + k] - columns[k * n + j];
                row[j] += apart * apart;
            }
        }
        for (long j = 0; j < n; j++) row[j] = sqrtf(row[j]);
    }
    free(columns);
}

void sinkhorn(const float *restrict K, const float *restrict a, const float *restrict b, float *restrict plan, long n, long steps) {
    float *u = malloc(n * sizeof(float)), *v = malloc(n * sizeof(float)), *sums = malloc(n * sizeof(float));
    for (long j = 0; j < n; j++) v[j] = 1;
    for (long t = 0; t < steps; t++) {
        memset(sums, 0, n * sizeof(float));
        for (long i = 0; i < n; i++) {
            float lanes[16] = {0};
            for (long j = 0; j + 16 <= n; j += 16) {
                for (long l = 0; l < 16; l++) lanes[l] += K[i * n + j + l] * v[j + l];
            }
            float sum = 0;
            for (long j = n / 16 * 16; j < n; j++) sum += K[i * n + j] * v[j];
            for (long l = 0; l < 16; l++) sum += lanes[l];
            u[i] = a[i] / sum;
            for (long j = 0; j < n; j++) sums[j] += K[i * n + j] * u[i];
        }
        for (long j = 0; j < n; j++) v[j] = b[j] / sums[j];
    }
    for (long i = 0; i < n; i++) {
        for (long j = 0; j < n; j++) plan[i * n + j] = u[i] * K[i * n + j] * v[j];
    }
    free(u);
    free(v);
    free(sums);
}
