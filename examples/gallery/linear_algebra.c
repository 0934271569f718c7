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

void log_sum_exp_product(const float *a, const float *b, float *y, long n) {
    float *high = malloc(n * sizeof(float));
    for (long i = 0; i < n; i++) {
        float *restrict sum = y + i * n, *restrict top = high;
        for (long j = 0; j < n; j++) top[j] = -INFINITY;
        memset(sum, 0, n * sizeof(float));
        for (long k = 0; k < n; k++) {
            for (long j = 0; j < n; j++) top[j] = larger(top[j], a[i * n + k] + b[k * n + j]);
        }
        for (long k = 0; k < n; k++) {
            for (long j = 0; j < n; j++) sum[j] += expf(a[i * n + k] + b[k * n + j] - top[j]);
        }
        for (long j = 0; j < n; j++) sum[j] = top[j] + logf(sum[j]);
    }
    free(high);
}

void cholesky(const float *A, float *L, long n) {
    float *rest = malloc(n * n * sizeof(float));  // row t: column t of L, as it becomes
    memcpy(rest, A, n * n * sizeof(float));
    memset(L, 0, n * n * sizeof(float));
    for (long t = 0; t < n; t++) {
        float *column = rest + t * n;
        const float scale = 1 / sqrtf(column[t]);
        for (long i = t; i < n; i++) L[i * n + t] = column[i] *= scale;
        for (long i = t + 1; i < n; i++) {
            float *restrict row = rest + i * n;
            for (long j = i; j < n; j++) row[j] -= column[i] * column[j];
        }
    }
    free(rest);
}

void tridiagonal_solve(const float *low, const float *middle, const float *high, const float *b, float *x, long n, long systems) {
    float *ratio = malloc(n * systems * sizeof(float));
    for (long t = 0; t < n; t++) {
        const float *l = low + t * systems, *m = middle + t * systems, *h = high + t * systems, *in = b + t * systems;
        const float *ratio_before = ratio + (t - 1) * systems, *before = x + (t - 1) * systems;
        float *restrict r = ratio + t * systems, *restrict part = x + t * systems;
        for (long s = 0; s < systems; s++) {
            const float scale = 1 / (t ? m[s] - l[s] * ratio_before[s] : m[s]);
            r[s] = h[s] * scale;
            part[s] = (t ? in[s] - l[s] * before[s] : in[s]) * scale;
        }
    }
    for (long t = n - 1; t-- > 0;) {
        const float *r = ratio + t * systems, *behind = x + (t + 1) * systems;
        float *restrict part = x + t * systems;
        for (long s = 0; s < systems; s++) part[s] -= r[s] * behind[s];
    }
    free(ratio);
}

static float dot(const float *restrict a, const float *restrict b, long n) {
    float lanes[16] = {0}, sum = 0;
    long k = 0;
    for (; k + 16 <= n; k += 16) {
        for (long l = 0; l < 16; l++) lanes[l] += a[k + l] * b[k + l];
    }
    for (; k < n; k++) sum += a[k] * b[k];
    for (long l = 0; l < 16; l++) sum += lanes[l];
    return sum;
}

void conjugate_gradient(const float *A, const float *b, float *restrict x, long n, long steps) {
    float *restrict rest = malloc(n * sizeof(float)), *restrict direction = malloc(n * sizeof(float)),
          *restrict image = malloc(n * sizeof(float));
    memset(x, 0, n * sizeof(float));
    memcpy(rest, b, n * sizeof(float));
    memcpy(direction, b, n * sizeof(float));
    float size = dot(rest, rest, n);
    for (long t = 0; t < steps; t++) {
        for (long i = 0; i < n; i++) image[i] = dot(A + i * n, direction, n);
        const float step = size / dot(direction, image, n);
        for (long i = 0; i < n; i++) {
            x[i] += step * direction[i];
            rest[i] -= step * image[i];
        }
        const float next = dot(rest, rest, n);
        for (long i = 0; i < n; i++) direction[i] = rest[i] + next / size * direction[i];
        size = next;
    }
    free(rest);
    free(direction);
    free(image);
}
