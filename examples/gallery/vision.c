// Loops for vision.yaml.
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static long clamp(long i, long n) { return i < 0 ? 0 : i >= n ? n - 1 : i; }
static float least(float a, float b) { return a < b ? a : b; }
static float most(float a, float b) { return a > b ? a : b; }
static int32_t more(int32_t a, int32_t b) { return a > b ? a : b; }

void connected_components(const uint8_t *mask, int32_t *y, long n, long steps) {
    int32_t *other = malloc(n * n * sizeof(int32_t)), *from = steps % 2 ? other : y, *to = steps % 2 ? y : other;
    for (long i = 0; i < n * n; i++) from[i] = mask[i] ? i + 1 : 0;
    for (long t = 0; t < steps; t++) {
        for (long i = 0; i < n; i++) {
            const int32_t *up = from + clamp(i - 1, n) * n, *row = from + i * n, *down = from + clamp(i + 1, n) * n;
            const uint8_t *inside = mask + i * n;
            int32_t *restrict result = to + i * n;
            result[0] = inside[0] ? more(more(up[0], down[0]), more(row[0], row[1])) : 0;
            for (long j = 1; j < n - 1; j++) {
                const int32_t found = more(more(more(up[j], down[j]), more(row[j - 1], row[j + 1])), row[j]);
                result[j] = inside[j] ? found : 0;
            }
            result[n - 1] = inside[n - 1] ? more(more(up[n - 1], down[n - 1]), more(row[n - 2], row[n - 1])) : 0;
        }
        int32_t *kept = from;
        from = to;
        to = kept;
    }
    free(other);
}

static double sinc(double x) { return x == 0 ? 1 : sin(M_PI * x) / (M_PI * x); }

// Where the taps of each of `size` elements begin, and their weights.
static long lanczos_taps(long n, long size, long **begin, float **weights) {
    const double scale = (double)n / size;
    const long taps = ceil(6 * scale) + 1;
    *begin = malloc(size * sizeof(long));
    *weights = malloc(size * taps * sizeof(float));
    for (long i = 0; i < size; i++) {
        const double centre = (i + 0.5) * scale - 0.5;
        double sum = 0;
        (*begin)[i] = floor(centre - 3 * scale);
        for (long a = 0; a < taps; a++) {
            const double x = ((*begin)[i] + a - centre) / scale, weight = fabs(x) < 3 ? sinc(x) * sinc(x / 3) : 0;
            (*weights)[i * taps + a] = weight;
            sum += weight;
        }
        for (long a = 0; a < taps; a++) (*weights)[i * taps + a] /= sum;
    }
    return taps;
}

void lanczos(const float *x, float *y, long h, long w, long height, long width) {
    long *top, *left;
    float *by_row, *by_column, *low = malloc(h * width * sizeof(float)), *row = malloc((w + 64) * sizeof(float));
    const long rows = lanczos_taps(h, height, &top, &by_row), columns = lanczos_taps(w, width, &left, &by_column);
    for (long i = 0; i < h; i++) {
        for (long j = 0; j < width; j++) {
            float sum = 0;
            if (left[j] >= 0 && left[j] + columns <= w) {
                for (long b = 0; b < columns; b++) sum += by_column[j * columns + b] * x[i * w + left[j] + b];
            } else {
                for (long b = 0; b < columns; b++) sum += by_column[j * columns + b] * x[i * w + clamp(left[j] + b, w)];
            }
            low[i * width + j] = sum;
        }
    }
    memset(y, 0, height * width * sizeof(float));
    for (long i = 0; i < height; i++) {
        float *restrict to = y + i * width;
        for (long a = 0; a < rows; a++) {
            const float weight = by_row[i * rows + a], *restrict from = low + clamp(top[i] + a, h) * width;
            for (long j = 0; j < width; j++) to[j] += weight * from[j];
        }
    }
    free(top);
    free(left);
    free(by_row);
    free(by_column);
    free(low);
    free(row);
}

// Copies an image with `pad` more pixels on each side, the nearest ones.
static float *padded(const float *x, long h, long w, long pad) {
    const long wide = w + 2 * pad;
    float *result = malloc((h + 2 * pad) * wide * sizeof(float));
    for (long i = 0; i < h + 2 * pad; i++) {
        const float *from = x + clamp(i - pad, h) * w;
        for (long j = 0; j < wide; j++) result[i * wide + j] = from[clamp(j - pad, w)];
    }
    return result;
}

void bilateral(const float *x, float *y, long n) {
    float *from = padded(x, n, n, 4), *sum = malloc(n * sizeof(float)), *total = malloc(n * sizeof(float));
    const long wide = n + 8;
    for (long i = 0; i < n; i++) {
        memset(sum, 0, n * sizeof(float));
        memset(total, 0, n * sizeof(float));
        for (long a = 0; a < 9; a++) {
            for (long b = 0; b < 9; b++) {
                const float near = -0.06f * ((a - 4) * (a - 4) + (b - 4) * (b - 4));
                const float *value = from + (i + a) * wide + b, *centre = x + i * n;
                for (long j = 0; j < n; j++) {
                    const float apart = value[j] - centre[j], weight = expf(near - 8 * apart * apart);
                    sum[j] += weight * value[j];
                    total[j] += weight;
                }
            }
        }
        for (long j = 0; j < n; j++) y[i * n + j] = sum[j] / total[j];
    }
    free(from);
    free(sum);
    free(total);
}

static float middle(float a, float b, float c) { return most(least(a, b), least(most(a, b), c)); }

void median(const float *x, float *restrict y, long h, long w) {
    float *from = padded(x, h, w, 1), *sorted = malloc(3 * (w + 2) * sizeof(float));
    float *restrict low = sorted, *restrict mid = sorted + w + 2, *restrict high = sorted + 2 * (w + 2);
    for (long i = 0; i < h; i++) {
        const float *up = from + i * (w + 2), *row = up + w + 2, *down = row + w + 2;
        for (long j = 0; j < w + 2; j++) {
            low[j] = least(least(up[j], row[j]), down[j]);
            mid[j] = middle(up[j], row[j], down[j]);
            high[j] = most(most(up[j], row[j]), down[j]);
        }
        for (long j = 0; j < w; j++) {
            y[i * w + j] = middle(most(most(low[j], low[j + 1]), low[j + 2]), middle(mid[j], mid[j + 1], mid[j + 2]),
                                  least(least(high[j], high[j + 1]), high[j + 2]));
        }
    }
    free(from);
    free(sorted);
}

void cost_volume(const float *left, const float *right, float *y, long channels, long h, long w, long disparities) {
    memset(y, 0, disparities * h * w * sizeof(float));
    for (long i = 0; i < h; i++) {
        for (long d = 0; d < disparities; d++) {
            float *restrict to = y + (d * h + i) * w;
            for (long c = 0; c < channels; c++) {
                const float *a = left + (c * h + i) * w, *b = right + (c * h + i) * w;
                for (long j = 0; j < d && j < w; j++) to[j] += fabsf(a[j]);
                for (long j = d; j < w; j++) to[j] += fabsf(a[j] - b[j - d]);
            }
            for (long j = 0; j < w; j++) to[j] *= 1.f / channels;
        }
    }
}

void non_maximum_suppression(const float *box, uint8_t *keep, long n) {
    float *side = malloc(5 * n * sizeof(float)), *left = side, *top = side + n, *right = top + n, *bottom = right + n,
          *area = bottom + n;
    for (long i = 0; i < n; i++) {
        left[i] = box[4 * i];
        top[i] = box[4 * i + 1];
        right[i] = box[4 * i + 2];
        bottom[i] = box[4 * i + 3];
        area[i] = (right[i] - left[i]) * (bottom[i] - top[i]);
        keep[i] = 1;
    }
    for (long i = 0; i < n; i++) {
        if (!keep[i]) continue;
        for (long j = i + 1; j < n; j++) {
            const float wide = most(least(right[i], right[j]) - most(left[i], left[j]), 0);
            const float common = wide * most(least(bottom[i], bottom[j]) - most(top[i], top[j]), 0);
            keep[j] &= !(common > 0.5f * (area[i] + area[j] - common));
        }
    }
    free(side);
}

void deformable_convolution(const float *x, const float *offset, const float *weight, float *y, long c, long k, long n) {
    float *tap = malloc(c * 9 * n * sizeof(float));
    for (long i = 0; i < n; i++) {
        for (long window = 0; window < 9; window++) {
            for (long j = 0; j < n; j++) {
                const float down = i + window / 3 - 1 + offset[(window * n + i) * n + j];
                const float right = j + window % 3 - 1 + offset[((9 + window) * n + i) * n + j];
                const long row = floorf(down), column = floorf(right);
                const float low = down - row, far = right - column;
                const float share[4] = {(1 - low) * (1 - far), (1 - low) * far, low * (1 - far), low * far};
                const int above = row >= 0 && row < n, below = row + 1 >= 0 && row + 1 < n;
                const int before = column >= 0 && column < n, behind = column + 1 >= 0 && column + 1 < n;
                const float *at = x + row * n + column;
                for (long channel = 0; channel < c; channel++, at += n * n) {
                    float sum = 0;
                    if (above && before) sum += share[0] * at[0];
                    if (above && behind) sum += share[1] * at[1];
                    if (below && before) sum += share[2] * at[n];
                    if (below && behind) sum += share[3] * at[n + 1];
                    tap[(channel * 9 + window) * n + j] = sum;
                }
            }
        }
        for (long out = 0; out < k; out++) {
            float *restrict to = y + (out * n + i) * n;
            memset(to, 0, n * sizeof(float));
            for (long in = 0; in < 9 * c; in++) {
                for (long j = 0; j < n; j++) to[j] += weight[out * 9 * c + in] * tap[in * n + j];
            }
        }
    }
    free(tap);
}

// One output row of a phase of columns at once: each is a product of 2 x 2 taps, without the zeros between.
void transposed_convolution(const float *x, const float *weight, float *y, long c, long k, long n) {
    float *even = malloc(n * sizeof(float)), *odd = malloc(n * sizeof(float));
    for (long out = 0; out < k; out++) {
        for (long i = 0; i < 2 * n; i++) {
            float *restrict e = even, *restrict o = odd;
            memset(even, 0, n * sizeof(float));
            memset(odd, 0, n * sizeof(float));
            for (long in = 0; in < c; in++) {
                for (long a = (i + 1) % 2; a < 4; a += 2) {
                    const long row = (i + 1 - a) / 2;
                    if (i + 1 - a < 0 || row >= n) continue;
                    const float *from = x + (in * n + row) * n, *w = weight + ((in * k + out) * 4 + a) * 4;
                    e[0] += from[0] * w[1];
                    for (long j = 1; j < n; j++) e[j] += from[j] * w[1] + from[j - 1] * w[3];
                    for (long j = 0; j < n - 1; j++) o[j] += from[j + 1] * w[0] + from[j] * w[2];
                    o[n - 1] += from[n - 1] * w[2];
                }
            }
            for (long j = 0; j < n; j++) {
                y[(out * 2 * n + i) * 2 * n + 2 * j] = even[j];
                y[(out * 2 * n + i) * 2 * n + 2 * j + 1] = odd[j];
            }
        }
    }
    free(even);
    free(odd);
}

static void window_row(const float *from, const float *w, float *restrict to, long n) {
    to[0] += w[1] * from[0] + w[2] * from[1];
    for (long j = 1; j < n - 1; j++) to[j] += w[0] * from[j - 1] + w[1] * from[j] + w[2] * from[j + 1];
    to[n - 1] += w[0] * from[n - 2] + w[1] * from[n - 1];
}

void unet_up(const float *x, const float *skip, const float *up, const float *weight, float *y, long c, long k, long n) {
    const long size = 4 * n * n, wide = 2 * n;
    float *both = malloc(2 * k * size * sizeof(float));
    memcpy(both, skip, k * size * sizeof(float));
    transposed_convolution(x, up, both + k * size, c, k, n);
    for (long out = 0; out < k; out++) {
        for (long i = 0; i < wide; i++) {
            float *to = y + out * size + i * wide;
            memset(to, 0, wide * sizeof(float));
            for (long in = 0; in < 2 * k; in++) {
                for (long a = 0; a < 3; a++) {
                    if (i + a - 1 < 0 || i + a - 1 >= wide) continue;
                    window_row(both + in * size + (i + a - 1) * wide, weight + ((out * 2 * k + in) * 3 + a) * 3, to, wide);
                }
            }
            for (long j = 0; j < wide; j++) to[j] = most(to[j], 0);
        }
    }
    free(both);
}

void pixel_shuffle(const float *x, float *y, long c, long n, long r) {
    for (long k = 0; k < c / (r * r); k++) {
        for (long i = 0; i < n; i++) {
            for (long a = 0; a < r; a++) {
                for (long j = 0; j < n; j++) {
                    for (long b = 0; b < r; b++) *y++ = x[(((k * r + a) * r + b) * n + i) * n + j];
                }
            }
        }
    }
}

void bilinear_upsampling(const float *x, float *y, long c, long n) {
    float *low = malloc(n * sizeof(float));
    for (long k = 0; k < c; k++) {
        for (long i = 0; i < 2 * n; i++) {
            const float *near = x + (k * n + i / 2) * n, *far = x + (k * n + clamp(i % 2 ? i / 2 + 1 : i / 2 - 1, n)) * n;
            float *restrict to = y + (k * 2 * n + i) * 2 * n, *restrict row = low;
            for (long j = 0; j < n; j++) row[j] = 0.75f * near[j] + 0.25f * far[j];
            to[0] = row[0];
            for (long j = 0; j < n - 1; j++) {
                to[2 * j + 1] = 0.75f * row[j] + 0.25f * row[j + 1];
                to[2 * j + 2] = 0.25f * row[j] + 0.75f * row[j + 1];
            }
            to[2 * n - 1] = row[n - 1];
        }
    }
    free(low);
}

// Columns of five windows' sums move down with the rows.
void ssim(const float *a, const float *b, float *y, long n) {
    const long size = 7, wide = n - size + 1;
    float *sums = malloc(5 * n * sizeof(float));
    for (long i = 0; i < wide; i++) {
        memset(sums, 0, 5 * n * sizeof(float));
        for (long p = 0; p < size; p++) {
            const float *u = a + (i + p) * n, *v = b + (i + p) * n;
            for (long j = 0; j < n; j++) {
                sums[j] += u[j];
                sums[n + j] += v[j];
                sums[2 * n + j] += u[j] * u[j];
                sums[3 * n + j] += v[j] * v[j];
                sums[4 * n + j] += u[j] * v[j];
            }
        }
        for (long j = 0; j < wide; j++) {
            float m[5];
            for (long s = 0; s < 5; s++) {
                const float *at = sums + s * n + j;
                m[s] = (at[0] + at[1] + at[2] + at[3] + at[4] + at[5] + at[6]) * (1 / 49.f);
            }
            const float va = m[2] - m[0] * m[0], vb = m[3] - m[1] * m[1], both = m[4] - m[0] * m[1];
            y[i * wide + j] = (2 * m[0] * m[1] + 0.0001f) * (2 * both + 0.0009f) /
                              ((m[0] * m[0] + m[1] * m[1] + 0.0001f) * (va + vb + 0.0009f));
        }
    }
    free(sums);
}

void sobel(const float *x, float *restrict y, long h, long w) {
    float *from = padded(x, h, w, 1);
    for (long i = 0; i < h; i++) {
        const float *up = from + i * (w + 2), *row = up + w + 2, *down = row + w + 2;
        for (long j = 0; j < w; j++) {
            const float across = up[j + 2] - up[j] + 2 * (row[j + 2] - row[j]) + down[j + 2] - down[j];
            const float along = down[j] - up[j] + 2 * (down[j + 1] - up[j + 1]) + down[j + 2] - up[j + 2];
            y[i * w + j] = sqrtf(across * across + along * along);
        }
    }
    free(from);
}

static long mirrored(long i, long n) { return i < 0 ? -i : i >= n ? 2 * n - 2 - i : i; }

void gaussian_blur(const float *x, float *y, long h, long w) {
    const float a = 0.0625f, b = 0.25f, c = 0.375f;
    float *line = malloc((w + 4) * sizeof(float));
    for (long i = 0; i < h; i++) {
        const float *rows[5];
        for (long k = 0; k < 5; k++) rows[k] = x + mirrored(i + k - 2, h) * w;
        float *restrict middle = line + 2, *restrict to = y + i * w;
        for (long j = 0; j < w; j++) middle[j] = a * (rows[0][j] + rows[4][j]) + b * (rows[1][j] + rows[3][j]) + c * rows[2][j];
        for (long k = 1; k <= 2; k++) {
            middle[-k] = middle[k];
            middle[w - 1 + k] = middle[w - 1 - k];
        }
        for (long j = 0; j < w; j++) to[j] = a * (line[j] + line[j + 4]) + b * (line[j + 1] + line[j + 3]) + c * line[j + 2];
    }
    free(line);
}

void integral_image(const float *x, float *y, long h, long w) {
    for (long i = 0; i < h; i++) {
        float sum = 0;
        for (long j = 0; j < w; j++) {
            sum += x[i * w + j];
            y[i * w + j] = sum + (i ? y[(i - 1) * w + j] : 0);
        }
    }
}

void census(const uint8_t *x, uint32_t *y, long h, long w) {
    const long wide = w + 4;
    uint8_t *from = calloc((h + 4) * wide, 1);
    for (long i = 0; i < h; i++) memcpy(from + (i + 2) * wide + 2, x + i * w, w);
    for (long i = 0; i < h; i++) {
        const uint8_t *centre = x + i * w;
        uint32_t *restrict to = y + i * w;
        memset(to, 0, w * sizeof(uint32_t));
        for (long a = 0; a < 5; a++) {
            for (long b = 0; b < 5; b++) {
                const uint8_t *near = from + (i + a) * wide + b;
                for (long j = 0; j < w; j++) to[j] |= (uint32_t)(near[j] > centre[j]) << (5 * a + b);
            }
        }
    }
    free(from);
}

void halve(const uint8_t *x, uint8_t *y, long h, long w) {
    for (long i = 0; i < h; i++) {
        const uint8_t *a = x + 4 * i * w, *b = a + 2 * w;
        for (long j = 0; j < w; j++) y[i * w + j] = (a[2 * j] + a[2 * j + 1] + b[2 * j] + b[2 * j + 1] + 2) / 4;
    }
}

void equalise(const uint8_t *x, uint8_t *y, long h, long w) {
    const long n = h * w;
    long amount[4][256] = {{0}}, sum = 0;
    uint8_t table[256];
    for (long i = 0; i < n; i++) amount[i % 4][x[i]]++;
    for (long v = 0; v < 256; v++) {
        sum += amount[0][v] + amount[1][v] + amount[2][v] + amount[3][v];
        table[v] = 255 * sum / n;
    }
    for (long i = 0; i < n; i++) y[i] = table[x[i]];
}
