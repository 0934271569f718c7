#include "support/source_text.h"

#include <algorithm>

namespace heddle {

SourceText::LineColumn SourceText::locate(size_t offset) const {
    offset = std::min(offset, text_.size());
    LineColumn result;
    for (size_t i = 0; i < offset; i++) {
        if (text_[i] == '\n') {
            result.line++;
            result.column = 1;
        } else if ((static_cast<unsigned char>(text_[i]) & 0xC0) != 0x80) {
            result.column++;
        }
    }
    return result;
}

std::string_view SourceText::line_at(size_t offset) const {
    offset = std::min(offset, text_.size());
    size_t begin = offset == 0 ? std::string::npos : text_.rfind('\n', offset - 1);
    begin = begin == std::string::npos ? 0 : begin + 1;
    size_t end = text_.find('\n', offset);
    if (end == std::string::npos) end = text_.size();
    std::string_view line = std::string_view(text_).substr(begin, end - begin);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    return line;
}

}  // namespace heddle
