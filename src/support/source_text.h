// Source text with positions: what every diagnostic points into.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace heddle {

// A text that a user wrote, kept as long as something points into it. Lines and columns count from one; a column counts
// UTF-8 code points, a tab being one.
class SourceText {
public:
    SourceText(std::string name, std::string text) : name_(std::move(name)), text_(std::move(text)) {}

    struct LineColumn {
        int64_t line = 1;
        int64_t column = 1;
    };

    const std::string& name() const { return name_; }
    std::string_view text() const { return text_; }
    LineColumn locate(size_t offset) const;
    // The line that holds `offset`, without its line end.
    std::string_view line_at(size_t offset) const;

private:
    std::string name_;
    std::string text_;
};

// A range of bytes of a source text. Without a source it is "nowhere" (a value that a program made).
struct Place {
    std::shared_ptr<const SourceText> source;
    size_t offset = 0;
    size_t length = 0;
};

}  // namespace heddle
