// Loops for sequences.yaml.
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

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

static float largest(const float *x, long n) {
    float high = -INFINITY;
    for (long k = 0; k < n; k++) high = x[k] > high ? x[k] : high;
    return high;
}

void alibi_attention(const float *q, const float *k, const float *v, const float *slope, float *y, long heads, long n, long d) {
    float *score = malloc(n * sizeof(float));
    const float scale = 1 / sqrtf(d);
    for (long h = 0; h < heads; h++) {
        for (long i = 0; i < n; i++) {
            for (long j = 0; j < n; j++)
                score[j] = dot(q + (h * n + i) * d, k + (h * n + j) * d, d) * scale - slope[h] * labs(i - j);
            const float high = largest(score, n);
            float sum = 0, *restrict to = y + (h * n + i) * d;
            memset(to, 0, d * sizeof(float));
            for (long j = 0; j < n; j++) {
                const float weight = expf(score[j] - high);
                sum += weight;
                for (long c = 0; c < d; c++) to[c] += weight * v[(h * n + j) * d + c];
            }
            for (long c = 0; c < d; c++) to[c] /= sum;
        }
    }
    free(score);
}

void rwkv6(const float *r, const float *k, const float *v, const float *decay, const float *u, float *y, long steps, long heads,
           long d) {
    float *s = malloc(d * d * sizeof(float));
    for (long h = 0; h < heads; h++) {
        memset(s, 0, d * d * sizeof(float));
        for (long t = 0; t < steps; t++) {
            const long at = (t * heads + h) * d;
            float *restrict to = y + at;
            memset(to, 0, d * sizeof(float));
            for (long i = 0; i < d; i++) {
                float *restrict row = s + i * d;
                const float ri = r[at + i], ki = k[at + i], wi = decay[at + i], ui = u[h * d + i];
                for (long j = 0; j < d; j++) {
                    const float pair = ki * v[at + j];
                    to[j] += ri * (row[j] + ui * pair);
                    row[j] = wi * row[j] + pair;
                }
            }
        }
    }
    free(s);
}

void gated_delta_rule(const float *q, const float *k, const float *v, const float *gate, const float *share, float *y, long steps,
                      long heads, long d) {
    float *s = malloc(d * d * sizeof(float)), *restrict change = malloc(d * sizeof(float));
    for (long h = 0; h < heads; h++) {
        memset(s, 0, d * d * sizeof(float));
        for (long t = 0; t < steps; t++) {
            const long at = (t * heads + h) * d;
            const float kept = gate[t * heads + h], part = share[t * heads + h];
            float *restrict to = y + at;
            memset(to, 0, d * sizeof(float));
            memset(change, 0, d * sizeof(float));
            for (long i = 0; i < d; i++) {
                for (long j = 0; j < d; j++) change[j] += k[at + i] * s[i * d + j];
            }
            for (long j = 0; j < d; j++) change[j] = part * (v[at + j] - kept * change[j]);
            for (long i = 0; i < d; i++) {
                float *restrict row = s + i * d;
                for (long j = 0; j < d; j++) {
                    row[j] = kept * row[j] + k[at + i] * change[j];
                    to[j] += q[at + i] * row[j];
                }
            }
        }
    }
    free(s);
    free(change);
}

void mamba_scan(const float *x, const float *delta, const float *A, const float *B, const float *C, const float *D, float *y,
                long steps, long channels, long states) {
    float *h = calloc(channels * states, sizeof(float));
    for (long t = 0; t < steps; t++) {
        for (long c = 0; c < channels; c++) {
            const float step = delta[t * channels + c], in = step * x[t * channels + c];
            float *restrict state = h + c * states, sum = 0;
            for (long s = 0; s < states; s++) {
                state[s] = expf(step * A[c * states + s]) * state[s] + in * B[t * states + s];
                sum += C[t * states + s] * state[s];
            }
            y[t * channels + c] = sum + D[c] * x[t * channels + c];
        }
    }
    free(h);
}

void viterbi(const float *start, const float *move, const float *seen, int64_t *path, float *score, long steps, long states) {
    int32_t *back = malloc(steps * states * sizeof(int32_t));
    float *best = malloc(states * sizeof(float)), *restrict next = malloc(states * sizeof(float));
    memcpy(best, start, states * sizeof(float));
    for (long t = 0; t < steps; t++) {
        int32_t *restrict from = back + t * states;
        for (long j = 0; j < states; j++) {
            next[j] = best[0] + move[j];
            from[j] = 0;
        }
        for (long i = 1; i < states; i++) {
            for (long j = 0; j < states; j++) {
                const float through = best[i] + move[i * states + j];
                from[j] = through > next[j] ? i : from[j];
                next[j] = through > next[j] ? through : next[j];
            }
        }
        for (long j = 0; j < states; j++) best[j] = next[j] + seen[t * states + j];
    }
    long at = 0;
    for (long j = 1; j < states; j++) at = best[j] > best[at] ? j : at;
    *score = best[at];
    for (long t = steps; t-- > 0;) {
        path[t] = at;
        at = back[t * states + at];
    }
    free(back);
    free(best);
    free(next);
}

void rotary_interleaved(const float *x, float *restrict y, long batch, long heads, long n, long d) {
    float *restrict turn = malloc(n * d * sizeof(float));
    for (long i = 0; i < n; i++) {
        for (long k = 0; k < d; k += 2) {
            const float angle = i * powf(10000, -(float)k / d);
            turn[i * d + k] = cosf(angle);
            turn[i * d + k + 1] = sinf(angle);
        }
    }
    for (long b = 0; b < batch * heads; b++) {
        const float *restrict from = x + b * n * d;
        float *restrict to = y + b * n * d;
        for (long k = 0; k < n * d; k += 2) {
            to[k] = from[k] * turn[k] - from[k + 1] * turn[k + 1];
            to[k + 1] = from[k] * turn[k + 1] + from[k + 1] * turn[k];
        }
    }
    free(turn);
}

void softmax_middle(const float *restrict x, float *restrict y, long outer, long n, long inner) {
    float *high = malloc(inner * sizeof(float)), *restrict sum = malloc(inner * sizeof(float));
    for (long o = 0; o < outer; o++, x += n * inner, y += n * inner) {
        memcpy(high, x, inner * sizeof(float));
        memset(sum, 0, inner * sizeof(float));
        for (long k = 1; k < n; k++) {
            for (long j = 0; j < inner; j++) high[j] = x[k * inner + j] > high[j] ? x[k * inner + j] : high[j];
        }
        for (long k = 0; k < n; k++) {
            for (long j = 0; j < inner; j++) sum[j] += y[k * inner + j] = expf(x[k * inner + j] - high[j]);
        }
        for (long j = 0; j < inner; j++) sum[j] = 1 / sum[j];
        for (long k = 0; k < n; k++) {
            for (long j = 0; j < inner; j++) y[k * inner + j] *= sum[j];
        }
    }
    free(high);
    free(sum);
}

void contrastive_loss(const float *a, const float *b, float *loss, long n, long d) {
    float *a_scale = malloc(n * sizeof(float)), *b_scale = malloc(n * sizeof(float)), *down = calloc(n, sizeof(float));
    for (long i = 0; i < n; i++) {
        a_scale[i] = 1 / sqrtf(dot(a + i * d, a + i * d, d));
        b_scale[i] = 1 / sqrtf(dot(b + i * d, b + i * d, d));
    }
    double sum = 0;
    for (long i = 0; i < n; i++) {
        float across = 0;
        for (long j = 0; j < n; j++) {
            const float alike = 10 * a_scale[i] * b_scale[j] * dot(a + i * d, b + j * d, d), e = expf(alike - 10);
            across += e;
            down[j] += e;
            if (i == j) sum -= alike;
        }
        sum += (logf(across) + 10) / 2;
    }
    for (long j = 0; j < n; j++) sum += (logf(down[j]) + 10) / 2;
    *loss = sum / n;
    free(a_scale);
    free(b_scale);
    free(down);
}

static int32_t less(int32_t a, int32_t b) { return a < b ? a : b; }
static int32_t more(int32_t a, int32_t b) { return a > b ? a : b; }

void edit_distance(const int32_t *a, const int32_t *b, int32_t *y, long m, long n) {
    int32_t *d = malloc((n + 1) * sizeof(int32_t));
    for (long j = 0; j <= n; j++) d[j] = j;
    for (long i = 1; i <= m; i++) {
        int32_t both = d[0];
        d[0] = i;
        for (long j = 1; j <= n; j++) {
            const int32_t found = less(both + (a[i - 1] != b[j - 1]), less(d[j], d[j - 1]) + 1);
            both = d[j];
            d[j] = found;
        }
    }
    *y = d[n];
    free(d);
}

void smith_waterman(const int32_t *a, const int32_t *b, int32_t *y, long m, long n) {
    int32_t *h = calloc(n + 1, sizeof(int32_t)), best = 0;
    for (long i = 1; i <= m; i++) {
        int32_t both = 0;
        for (long j = 1; j <= n; j++) {
            const int32_t found = more(more(both + (a[i - 1] == b[j - 1] ? 3 : -2), more(h[j], h[j - 1]) - 2), 0);
            both = h[j];
            h[j] = found;
            best = more(best, found);
        }
    }
    *y = best;
    free(h);
}

void dynamic_time_warping(const float *a, const float *b, float *y, long m, long n) {
    float *d = malloc((n + 1) * sizeof(float));
    for (long j = 0; j <= n; j++) d[j] = j ? INFINITY : 0;
    for (long i = 1; i <= m; i++) {
        float both = d[0];
        d[0] = INFINITY;
        for (long j = 1; j <= n; j++) {
            const float near = d[j] < d[j - 1] ? d[j] : d[j - 1], found = fabsf(a[i - 1] - b[j - 1]) + (near < both ? near : both);
            both = d[j];
            d[j] = found;
        }
    }
    *y = d[n];
    free(d);
}

void cumulative_sum(const float *x, float *y, long n) {
    float sum = 0;
    for (long t = 0; t < n; t++) y[t] = sum += x[t];
}

// Eight rows at once, whose chains do not wait for each other.
void decaying_sum(const float *a, const float *x, float *y, long rows, long n) {
    for (long r = 0; r < rows; r += 8) {
        const long wide = rows - r < 8 ? rows - r : 8;
        float h[8] = {0};
        for (long t = 0; t < n; t++) {
            for (long l = 0; l < wide; l++) y[(r + l) * n + t] = h[l] = a[(r + l) * n + t] * h[l] + x[(r + l) * n + t];
        }
    }
}

void local_attention(const float *q, const float *k, const float *v, float *y, long heads, long n, long d, long window) {
    float *score = malloc(window * sizeof(float));
    const float scale = 1 / sqrtf(d);
    for (long h = 0; h < heads; h++) {
        for (long i = 0; i < n; i++) {
            const long seen = i + 1 < window ? i + 1 : window;
            for (long j = 0; j < seen; j++) score[j] = dot(q + (h * n + i) * d, k + (h * n + i - j) * d, d) * scale;
            const float high = largest(score, seen);
            float sum = 0, *restrict to = y + (h * n + i) * d;
            memset(to, 0, d * sizeof(float));
            for (long j = 0; j < seen; j++) {
                const float weight = expf(score[j] - high);
                sum += weight;
                for (long c = 0; c < d; c++) to[c] += weight * v[(h * n + i - j) * d + c];
            }
            for (long c = 0; c < d; c++) to[c] /= sum;
        }
    }
    free(score);
}

void longest_common_subsequence(const int32_t *a, const int32_t *b, int32_t *y, long m, long n) {
    int32_t *row = calloc(n + 1, sizeof(int32_t));
    for (long i = 0; i < m; i++) {
        int32_t before = 0;
        for (long j = 0; j < n; j++) {
            const int32_t longest = row[j] > row[j + 1] ? row[j] : row[j + 1], cell = a[i] == b[j] ? before + 1 : longest;
            before = row[j + 1];
            row[j + 1] = cell;
        }
    }
    *y = row[n];
    free(row);
}
