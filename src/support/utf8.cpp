#include "support/utf8.h"

#include <fmt/format.h>

namespace heddle {

size_t utf8_length(std::string_view text, size_t at) {
    auto byte = [&](size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
    unsigned lead = byte(at);
    if (lead < 0x80) return 1;
    size_t length = lead >= 0xC2 && lead < 0xE0   ? 2
                    : lead >= 0xE0 && lead < 0xF0 ? 3
                    : lead >= 0xF0 && lead < 0xF5 ? 4
                                                  : 0;
    for (size_t i = 1; i < length; i++) {
        if ((byte(at + i) & 0xC0) != 0x80) return 0;
    }
    unsigned second = byte(at + 1);
    bool bad = (lead == 0xE0 && second < 0xA0) || (lead == 0xED && second > 0x9F) || (lead == 0xF0 && second < 0x90) ||
               (lead == 0xF4 && second > 0x8F);
    return bad ? 0 : length;
}

std::string readable_text(std::string_view text) {
    std::string result;
    for (size_t at = 0; at < text.size();) {
        const size_t length = utf8_length(text, at);
        if (length > 0)
            result += text.substr(at, length);
        else
            result += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[at]));
        at += length > 0 ? length : 1;
    }
    return result;
}

}  // namespace heddle
