// Loops for graphs.yaml.
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
