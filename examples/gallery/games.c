// Loops for games.yaml.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static uint8_t next_cell(uint8_t around, uint8_t cell) { return (around == 3) | ((around == 4) & cell); }

void life(const uint8_t *x, uint8_t *y, long n, long steps) {
    uint8_t *other = malloc(n * n), *columns = malloc(n), *from = steps % 2 ? other : y, *to = steps % 2 ? y : other;
    memcpy(from, x, n * n);
    for (long t = 0; t < steps; t++) {
        for (long i = 0; i < n; i++) {
            const uint8_t *row = from + i * n, *up = from + (i + n - 1) % n * n, *down = from + (i + 1) % n * n;
            uint8_t *restrict result = to + i * n;
            for (long j = 0; j < n; j++) columns[j] = up[j] + row[j] + down[j];
            result[0] = next_cell(columns[n - 1] + columns[0] + columns[1], row[0]);
            for (long j = 1; j < n - 1; j++) result[j] = next_cell(columns[j - 1] + columns[j] + columns[j + 1], row[j]);
            result[n - 1] = next_cell(columns[n - 2] + columns[n - 1] + columns[0], row[n - 1]);
        }
        uint8_t *kept = from;
        from = to;
        to = kept;
    }
    free(other);
    free(columns);
}

void rule_110(const uint8_t *x, uint8_t *y, long n, long steps) {
    for (long t = 0; t < steps; t++, y += n) {
        const uint8_t *c = t ? y - n : x;
        uint8_t *restrict to = y;
        to[0] = 110 >> (4 * c[n - 1] + 2 * c[0] + c[1]) & 1;
        for (long i = 1; i < n - 1; i++) to[i] = (c[i] | c[i + 1]) & ~(c[i - 1] & c[i] & c[i + 1]);  // rule 110, in bits
        to[n - 1] = 110 >> (4 * c[n - 2] + 2 * c[n - 1] + c[0]) & 1;
    }
}

void sandpile(const int32_t *x, int32_t *y, long n, long steps) {
    const long wide = n + 2;  // a border that never falls
    int32_t *from = calloc(wide * wide, sizeof(int32_t)), *to = calloc(wide * wide, sizeof(int32_t));
    for (long i = 0; i < n; i++) memcpy(from + (i + 1) * wide + 1, x + i * n, n * sizeof(int32_t));
    for (long t = 0; t < steps; t++) {
        for (long i = 1; i <= n; i++) {
            const int32_t *row = from + i * wide, *up = row - wide, *down = row + wide;
            int32_t *restrict result = to + i * wide;
            for (long j = 1; j <= n; j++) {
                const int32_t more = (up[j] >= 4) + (down[j] >= 4) + (row[j - 1] >= 4) + (row[j + 1] >= 4);
                result[j] = row[j] - 4 * (row[j] >= 4) + more;
            }
        }
        int32_t *kept = from;
        from = to;
        to = kept;
    }
    for (long i = 0; i < n; i++) memcpy(y + i * n, from + (i + 1) * wide + 1, n * sizeof(int32_t));
    free(from);
    free(to);
}

static float larger(float a, float b) { return a > b ? a : b; }

static float worth(float reward, uint8_t wall, float up, float down, float left, float right) {
    const float best = larger(larger(up, down), larger(left, right)), any = (up + down + left + right) * 0.25f;
    return wall ? 0 : reward + 0.95f * (0.9f * best + 0.1f * any);
}

void value_iteration(const float *reward, const uint8_t *wall, float *y, long n, long steps) {
    float *other = malloc(n * n * sizeof(float)), *from = steps % 2 ? other : y, *to = steps % 2 ? y : other;
    memset(from, 0, n * n * sizeof(float));
    for (long t = 0; t < steps; t++) {
        for (long i = 0; i < n; i++) {
            const float *row = from + i * n, *up = i ? row - n : row, *down = i < n - 1 ? row + n : row, *gain = reward + i * n;
            const uint8_t *closed = wall + i * n;
            float *restrict result = to + i * n;
            result[0] = worth(gain[0], closed[0], up[0], down[0], row[0], row[1]);
            for (long j = 1; j < n - 1; j++) result[j] = worth(gain[j], closed[j], up[j], down[j], row[j - 1], row[j + 1]);
            result[n - 1] = worth(gain[n - 1], closed[n - 1], up[n - 1], down[n - 1], row[n - 2], row[n - 1]);
        }
        float *kept = from;
        from = to;
        to = kept;
    }
    free(other);
}
