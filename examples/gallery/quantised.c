// Loops for quantised.yaml.
#include <stdint.h>
#include <stdlib.h>

void int4_matvec(const uint8_t *packed, const _Float16 *scale, const float *x, float *y, long rows, long columns) {
    const long groups = columns / 32;
    for (long r = 0; r < rows; r++) {
        float lanes[16] = {0};
        for (long g = 0; g < groups; g++) {
            const uint8_t *pair = packed + (r * groups + g) * 16;
            const float *at = x + 32 * g, each = scale[r * groups + g];
            for (int k = 0; k < 16; k++)
                lanes[k] += each * (((pair[k] & 15) - 8) * at[k] + ((pair[k] >> 4) - 8) * at[16 + k]);
        }
        float sum = 0;
        for (int k = 0; k < 16; k++) sum += lanes[k];
        y[r] = sum;
    }
}

void int8_product(const int8_t *a, const int8_t *b, const float *row, const float *column, float *y, long m, long n, long inner) {
    int32_t *sums = malloc(n * sizeof(int32_t));
    for (long i = 0; i < m; i++) {
        int32_t *restrict sum = sums;
        for (long j = 0; j < n; j++) sum[j] = 0;
        for (long k = 0; k < inner; k++) {
            for (long j = 0; j < n; j++) sum[j] += a[i * inner + k] * b[k * n + j];
        }
        for (long j = 0; j < n; j++) y[i * n + j] = sum[j] * row[i] * column[j];
    }
    free(sums);
}

void ternary_matvec(const uint8_t *packed, const float *x, const float *scale, float *y, long rows, long columns) {
    const long bytes = columns / 4;
    for (long r = 0; r < rows; r++) {
        const uint8_t *row = packed + r * bytes;
        float lanes[16] = {0}, sum = 0;
        long k = 0;
        for (; k + 16 <= bytes; k += 16) {
            for (long p = 0; p < 4; p++) {
                for (long l = 0; l < 16; l++) lanes[l] += ((row[k + l] >> 2 * p & 3) - 1) * x[p * bytes + k + l];
            }
        }
        for (; k < bytes; k++) {
            for (long p = 0; p < 4; p++) sum += ((row[k] >> 2 * p & 3) - 1) * x[p * bytes + k];
        }
        for (long l = 0; l < 16; l++) sum += lanes[l];
        y[r] = scale[r] * sum;
    }
}
