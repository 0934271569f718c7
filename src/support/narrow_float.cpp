#include "support/narrow_float.h"

#include <bit>
#include <cmath>

namespace heddle {
namespace {

// The parts of the codes of one type; codes of magnitudes are ordered as the magnitudes are.
struct Codes {
    explicit Codes(const DTypeInfo& info)
        : format(info.format),
          shift(23 - format.mantissa_bits),
          sign(1u << (info.bits - 1)),
          first_normal(1u << format.mantissa_bits),
          rebias(static_cast<uint32_t>(127 - format.bias) << 23) {
        switch (format.specials) {
        case FloatSpecials::ieee:
            overflow = sign - first_normal;
            nan = overflow | first_normal >> 1;
            break;
        case FloatSpecials::only_nan: overflow = nan = sign - 1; break;
        case FloatSpecials::single_nan: overflow = nan = sign; break;
        }
    }

    const FloatFormat& format;
    int shift;              // from a mantissa here to one in float32
    uint32_t sign;          // the bit
    uint32_t first_normal;  // codes of magnitudes
    uint32_t rebias;        // between exponents here and in float32
    uint32_t overflow = 0;  // the first code after the greatest finite one
    uint32_t nan = 0;
};

}  // namespace

double odd_double(uint64_t value) {
    constexpr uint64_t lost = 0x7FF;  // at most 53 bits are left
    if (value >> 53 != 0) value = (value & ~lost) | ((value & lost) != 0 ? lost + 1 : 0);
    return static_cast<double>(value);
}
double odd_double(int64_t value) {
    const auto bits = static_cast<uint64_t>(value);
    return value < 0 ? -odd_double(0 - bits) : odd_double(bits);
}

float float_from_code(DType dtype, uint32_t code) {
    const Codes codes(info(dtype));
    const uint32_t magnitude = code & (codes.sign - 1);
    const uint32_t sign = code & codes.sign ? 0x80000000u : 0;
    uint32_t wide = (magnitude << codes.shift) + codes.rebias;
    if (magnitude < codes.first_normal) {
        wide = std::bit_cast<uint32_t>(static_cast<float>(magnitude) * static_cast<float>(codes.format.spacing));
    }
    switch (codes.format.specials) {
    case FloatSpecials::ieee:
        if (magnitude >= codes.overflow) wide = 0x7F800000u | (magnitude - codes.overflow) << codes.shift;
        break;
    case FloatSpecials::only_nan:
        if (magnitude == codes.nan) wide = 0x7FC00000u;
        break;
    case FloatSpecials::single_nan:
        if (code == codes.nan) wide = 0x7FC00000u;
        break;
    }
    return std::bit_cast<float>(wide | sign);
}

uint32_t code_from_float(DType dtype, float value) {
    const Codes codes(info(dtype));
    const bool one_zero = codes.format.specials == FloatSpecials::single_nan;
    const uint32_t bits = std::bit_cast<uint32_t>(value);
    const uint32_t sign = bits >> 31 ? codes.sign : 0;
    const float magnitude = std::bit_cast<float>(bits & 0x7FFFFFFFu);
    if (std::isnan(magnitude)) return codes.nan | sign;
    uint32_t code = 0;
    if (magnitude < static_cast<float>(codes.format.least_normal)) {
        // A sum whose unit is the spacing of subnormals: the addition rounds.
        const auto unit = static_cast<float>(codes.format.spacing * 0x1p23);
        code = std::bit_cast<uint32_t>(magnitude + unit) - std::bit_cast<uint32_t>(unit);
    } else {
        const uint32_t rebiased = (bits & 0x7FFFFFFFu) - codes.rebias;
        const uint32_t odd = rebiased >> codes.shift & 1u;
        code = (rebiased + (1u << (codes.shift - 1)) - 1 + odd) >> codes.shift;
    }
    if (code >= codes.overflow) return codes.overflow | sign;
    return one_zero && code == 0 ? 0 : code | sign;
}

uint32_t code_from_real(DType dtype, double value) {
    // To float with rounding to odd, so that the second rounding is the only one that counts.
    auto narrow = static_cast<float>(value);
    if (std::isfinite(value) && static_cast<double>(narrow) != value) {
        const bool away = std::fabs(static_cast<double>(narrow)) > std::fabs(value);
        const float toward_zero = away ? std::nextafter(narrow, 0.0f) : narrow;
        narrow = std::bit_cast<float>(std::bit_cast<uint32_t>(toward_zero) | 1u);
    }
    return code_from_float(dtype, narrow);
}

}  // namespace heddle
