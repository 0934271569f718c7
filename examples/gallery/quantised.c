// Loops for quantised.yaml.
#include <stdint.h>

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
