// Loops for data.yaml.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

void crc32(const uint8_t *data, uint32_t *y, long n) {
    uint32_t table[256];
    for (uint32_t i = 0; i < 256; i++) {
        table[i] = i;
        for (int bit = 0; bit < 8; bit++) table[i] = table[i] >> 1 ^ (table[i] & 1 ? 0xEDB88320u : 0);
    }
    uint32_t c = ~0u;
    for (long t = 0; t < n; t++) c = c >> 8 ^ table[(c ^ data[t]) & 255];
    *y = ~c;
}

// Four counts a value: one value again and again does not wait for its own count.
void histogram(const int32_t *x, int64_t *y, long n, long bins) {
    int32_t *counts = calloc(4 * bins, sizeof(int32_t));
    long k = 0;
    for (; k + 4 <= n; k += 4) {
        for (long lane = 0; lane < 4; lane++) counts[lane * bins + x[k + lane]]++;
    }
    for (; k < n; k++) counts[x[k]]++;
    for (long bin = 0; bin < bins; bin++)
        y[bin] = (int64_t)counts[bin] + counts[bins + bin] + counts[2 * bins + bin] + counts[3 * bins + bin];
    free(counts);
}

void segment_sum(const float *restrict x, const int32_t *segment, float *restrict y, long n, long d, long segments) {
    memset(y, 0, segments * d * sizeof(float));
    for (long k = 0; k < n; k++) {
        for (long c = 0; c < d; c++) y[segment[k] * d + c] += x[k * d + c];
    }
}

static int order(const void *a, const void *b) {
    const float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

void rank_sort(const float *x, float *y, long n) {
    memcpy(y, x, n * sizeof(float));
    qsort(y, n, sizeof(float), order);
}

void bucketise(const float *restrict x, const float *restrict bound, int32_t *restrict y, long n, long k) {
    enum { block = 1024 };  // all bounds for each, in vectors
    memset(y, 0, n * sizeof(int32_t));
    for (long begin = 0; begin < n; begin += block) {
        const long end = begin + block < n ? begin + block : n;
        for (long c = 0; c < k; c++) {
            for (long i = begin; i < end; i++) y[i] += bound[c] <= x[i];
        }
    }
}

void compact(const float *x, float *y, int64_t *count, long n) {
    long place = 0;
    for (long i = 0; i < n; i++) {
        y[place] = x[i];
        place += x[i] != 0;
    }
    *count = place;
    memset(y + place, 0, (n - place) * sizeof(float));
}

void hash_rows(const uint8_t *x, uint32_t *y, long rows, long n) {
    for (long r = 0; r < rows; r++) {
        uint32_t h = 2166136261u;
        for (long t = 0; t < n; t++) h = (h ^ x[r * n + t]) * 16777619u;
        y[r] = h;
    }
}

void k_means_step(const float *x, const float *centre, float *y, long n, long d, long k) {
    float *columns = malloc(d * k * sizeof(float)), *apart = malloc(k * sizeof(float));
    long *size = calloc(k, sizeof(long));
    for (long c = 0; c < k; c++) {
        for (long j = 0; j < d; j++) columns[j * k + c] = centre[c * d + j];
    }
    memset(y, 0, k * d * sizeof(float));
    for (long i = 0; i < n; i++) {
        float *restrict far = apart;
        memset(far, 0, k * sizeof(float));
        for (long j = 0; j < d; j++) {
            for (long c = 0; c < k; c++) far[c] += (x[i * d + j] - columns[j * k + c]) * (x[i * d + j] - columns[j * k + c]);
        }
        long nearest = 0;
        for (long c = 1; c < k; c++) nearest = far[c] < far[nearest] ? c : nearest;
        size[nearest]++;
        for (long j = 0; j < d; j++) y[nearest * d + j] += x[i * d + j];
    }
    for (long c = 0; c < k; c++) {
        for (long j = 0; j < d; j++) y[c * d + j] = size[c] ? y[c * d + j] / size[c] : centre[c * d + j];
    }
    free(columns);
    free(apart);
    free(size);
}
