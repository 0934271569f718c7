/* What kernels in C need of arithmetic beside C's operators, without a mathematical library: instructions where the
 * processor has them, else integers and plain arithmetic. Results are those of C's functions of like names; the fused
 * multiply-add of floats is rounded to double on the way where there is no instruction for it.
 */
#define HEDDLE_MATH
#if defined(__FMA__) || defined(__AVX512F__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#if defined(__FP_FAST_FMAF)
#define heddle_fmaf __builtin_fmaf
#else
/* The product is exact in double. A sum between two doubles becomes the one whose last bit is odd, so that it is rounded once
   (S. Boldo, G. Melquiond, 2008). */
static inline float heddle_fmaf(float a, float b, float c) {
    const double p = (double)a * b, s = p + c, t = s - p, rest = (p - (s - t)) + (c - t);
    union {
        double real;
        uint64_t bits;
    } odd = {s};
    if (rest != 0 && rest == rest && (odd.bits & 1) == 0) odd.bits += (rest > 0) == (s > 0) ? 1 : -1;
    return (float)odd.real;
}
#endif

#if defined(__FP_FAST_FMA)
#define heddle_fma __builtin_fma
#else
/* The product's error is exact (T. J. Dekker, 1971), the sum's too (O. Moller, 1965; D. Knuth); what is left of both is rounded to
   odd, and the whole once (S. Boldo, G. Melquiond, 2008). Exact where the product's error is a normal number. */
static inline double heddle_fma(double a, double b, double c) {
    const double p = a * b, split = 134217729.0;
    const double ta = split * a, tb = split * b, high_a = ta - (ta - a), high_b = tb - (tb - b);
    const double low_a = a - high_a, low_b = b - high_b;
    const double error = ((high_a * high_b - p) + high_a * low_b + low_a * high_b) + low_a * low_b;
    const double u = error + c, u_t = u - error, u_rest = (error - (u - u_t)) + (c - u_t);
    const double s = p + u, t = s - p, rest = (p - (s - t)) + (u - t);
    const double low = rest + u_rest, low_t = low - rest, low_rest = (rest - (low - low_t)) + (u_rest - low_t);
    union {
        double real;
        uint64_t bits;
    } odd = {low};
    if (low_rest != 0 && low_rest == low_rest && (odd.bits & 1) == 0) odd.bits += (low_rest > 0) == (low > 0) ? 1 : -1;
    const double fine = s + odd.real;
    return fine == fine ? fine : p + c; /* infinities, and what is too large to be split */
}
#endif

/* Square roots: one instruction, or digit by digit. */
#if defined(__SSE2__)
static inline float heddle_sqrtf(float x) { __asm__("sqrtss %1, %0" : "=x"(x) : "x"(x)); return x; }
static inline double heddle_sqrt(double x) { __asm__("sqrtsd %1, %0" : "=x"(x) : "x"(x)); return x; }
#elif defined(__aarch64__)
static inline float heddle_sqrtf(float x) { __asm__("fsqrt %s0, %s1" : "=w"(x) : "w"(x)); return x; }
static inline double heddle_sqrt(double x) { __asm__("fsqrt %d0, %d1" : "=w"(x) : "w"(x)); return x; }
#elif defined(__riscv_flen) && __riscv_flen >= 64
static inline float heddle_sqrtf(float x) { __asm__("fsqrt.s %0, %1" : "=f"(x) : "f"(x)); return x; }
static inline double heddle_sqrt(double x) { __asm__("fsqrt.d %0, %1" : "=f"(x) : "f"(x)); return x; }
#else
static inline double heddle_sqrt(double x) {
    union {
        double real;
        uint64_t bits;
    } value = {x}, result;
    if (!(x > 0) || x == __builtin_inf()) return x == 0 || x > 0 ? x : __builtin_nan("");
    int64_t exponent = (int64_t)(value.bits >> 52);
    uint64_t rest = value.bits & 0xfffffffffffffULL, root = 0, twice = 0, bit;
    if (exponent == 0) {
        for (exponent = 1; rest < 0x10000000000000ULL; exponent--) rest <<= 1;
    } else {
        rest |= 0x10000000000000ULL;
    }
    exponent -= 1023;
    rest <<= 1 + (exponent & 1);
    /* One bit a step, down to the one that rounds; `rest` is what is left of x, in units of the step. */
    for (bit = 0x20000000000000ULL; bit; bit >>= 1, rest <<= 1) {
        if (twice + bit > rest) continue;
        rest -= twice + bit;
        twice += 2 * bit;
        root += bit;
    }
    root += root & 1; /* a root is never just between two values */
    result.bits = (root >> 1) + ((uint64_t)((exponent - (exponent & 1)) / 2 + 1022) << 52);
    return result.real;
}
/* Double has more than twice the bits, so that rounding twice is rounding once. */
static inline float heddle_sqrtf(float x) { return (float)heddle_sqrt(x); }
#endif

/* To integers. */
#if defined(__SSE4_1__) || defined(__aarch64__)
#define heddle_floorf __builtin_floorf
#define heddle_ceilf __builtin_ceilf
#define heddle_rintf __builtin_rintf
#define heddle_truncf __builtin_truncf
#define heddle_floor __builtin_floor
#define heddle_ceil __builtin_ceil
#define heddle_rint __builtin_rint
#define heddle_trunc __builtin_trunc
#else
#define HEDDLE_ROUNDING(suffix, real, integer, whole)                                                              \
    static inline real heddle_trunc##suffix(real x) {                                                              \
        return x > -(whole) && x < (whole) ? __builtin_copysign##suffix((real)(integer)x, x) : x;                  \
    }                                                                                                              \
    static inline real heddle_floor##suffix(real x) {                                                              \
        const real t = heddle_trunc##suffix(x);                                                                    \
        return t > x ? t - 1 : t;                                                                                  \
    }                                                                                                              \
    static inline real heddle_ceil##suffix(real x) {                                                               \
        const real t = heddle_trunc##suffix(x);                                                                    \
        return t < x ? t + 1 : t;                                                                                  \
    }                                                                                                              \
    static inline real heddle_rint##suffix(real x) {                                                               \
        const real size = x < 0 ? -x : x;                                                                          \
        return size < (whole) ? __builtin_copysign##suffix((size + (whole)) - (whole), x) : x;                     \
    }
HEDDLE_ROUNDING(f, float, int32_t, 8388608.0f)
HEDDLE_ROUNDING(, double, int64_t, 4503599627370496.0)
#endif
