#include "support/tensor_text.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace heddle {

std::string some_values(const TensorData& data) {
    std::vector<std::string> texts;
    for (int64_t i = 0; i < std::min<int64_t>(data.size(), 6); i++) {
        if (is_complex(data.dtype())) {
            const TensorData parts = data.reals();
            texts.push_back(fmt::format("{:.6g}{:+.6g}i", parts.real_at(2 * i), parts.real_at(2 * i + 1)));
            continue;
        }
        texts.push_back(is_float(data.dtype()) ? fmt::format("{:.6g}", data.real_at(i))
                                               : std::to_string(data.integer_at(i)));
    }
    return fmt::format("{}{}", fmt::join(texts, " "), data.size() > 6 ? " ..." : "");
}

}  // namespace heddle
