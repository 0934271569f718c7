#include "support/quoted_text.h"

#include <fmt/format.h>

namespace heddle {
namespace {

int hexadecimal(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return -1;
}

}  // namespace

std::string quoted_text(std::string_view text, char quote) {
    std::string result(1, quote);
    for (char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (c == quote || c == '\\')
            result += std::string("\\") + c;
        else if (byte < 32 || byte == 127)
            result += fmt::format("\\x{:02x}", byte);
        else
            result += c;
    }
    return result + quote;
}

size_t read_quoted_text(std::string_view text, size_t at, std::string& result) {
    const char quote = text[at];
    for (at++; at < text.size() && text[at] != '\n'; at++) {
        if (text[at] == quote) return at + 1;
        if (text[at] != '\\') {
            result += text[at];
        } else if (at + 3 < text.size() && text[at + 1] == 'x' && hexadecimal(text[at + 2]) >= 0 &&
                   hexadecimal(text[at + 3]) >= 0) {
            result += static_cast<char>(hexadecimal(text[at + 2]) * 16 + hexadecimal(text[at + 3]));
            at += 3;
        } else if (at + 1 < text.size() && (text[at + 1] == quote || text[at + 1] == '\\')) {
            result += text[++at];
        } else {
            return 0;
        }
    }
    return 0;
}

}  // namespace heddle
