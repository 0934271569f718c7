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
