#include "language/yaml_scalar.h"

#include <algorithm>
#include <cctype>

namespace heddle {
namespace {

// Grows the text byte by byte next to where each byte stands.
class Mapper {
public:
    explicit Mapper(Fragment& fragment) : fragment_(fragment) {}
    void byte(char value, size_t source_offset) {
        if (text_.empty() || source_offset != expected_) fragment_.segments.push_back({text_.size(), source_offset});
        text_ += value;
        expected_ = source_offset + 1;
    }
    const std::string& text() const { return text_; }
    size_t size() const { return text_.size(); }

private:
    Fragment& fragment_;
    std::string text_;
    size_t expected_ = 0;
};

int escape_digits(char letter) {
    switch (letter) {
    case 'x': return 2;
    case 'u': return 4;
    case 'U': return 8;
    default: return 0;
    }
}

// The bytes of `value` that an escape at text position `at` stands for: one UTF-8 character.
size_t character_length(const std::string& value, size_t at) {
    if (at >= value.size()) return 0;
    auto lead = static_cast<unsigned char>(value[at]);
    size_t length = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    return std::min(length, value.size() - at);
}

size_t map_double_quoted(std::string_view raw, size_t at, const std::string& value, Mapper& mapper) {
    for (at++; at < raw.size() && raw[at] != '"';) {
        if (raw[at] != '\\') {
            mapper.byte(raw[at], at);
            at++;
            continue;
        }
        size_t begin = at;
        char letter = at + 1 < raw.size() ? raw[at + 1] : '\0';
        at += 2 + static_cast<size_t>(escape_digits(letter));
        size_t length = character_length(value, mapper.size());
        for (size_t i = 0; i < length; i++) mapper.byte(value[mapper.size()], begin);
    }
    return at;
}

size_t map_single_quoted(std::string_view raw, size_t at, Mapper& mapper) {
    for (at++; at < raw.size(); at++) {
        if (raw[at] == '\'') {
            if (at + 1 >= raw.size() || raw[at + 1] != '\'') break;
            at++;
        }
        mapper.byte(raw[at], at);
    }
    return at;
}

size_t line_end(std::string_view raw, size_t at) {
    size_t end = raw.find('\n', at);
    return end == std::string_view::npos ? raw.size() : end;
}

// A literal block: content lines lose the indentation of the first line that is not blank, or the stated one.
void map_block(std::string_view raw, size_t at, const std::string& value, Mapper& mapper) {
    size_t content = line_end(raw, at) + 1;
    size_t indent = 0;
    for (size_t line = content; line < raw.size(); line = line_end(raw, line) + 1) {
        size_t first = raw.find_first_not_of(' ', line);
        if (first == std::string_view::npos) break;
        if (raw[first] == '\n' || raw[first] == '\r') continue;
        // Leading blanks that belong to the text (an indentation indicator was given) are found by comparing.
        indent = first - line;
        size_t kept = value.find_first_not_of("\n");
        size_t spaces =
            kept == std::string::npos ? 0 : std::min(value.find_first_not_of(' ', kept), value.size()) - kept;
        indent -= std::min(indent, spaces);
        break;
    }
    for (size_t line = content; mapper.size() < value.size() && line <= raw.size(); line = line_end(raw, line) + 1) {
        size_t end = line_end(raw, line);
        size_t blank = std::min(raw.find_first_not_of(' ', line), end);
        size_t content_end = end > line && raw[end - 1] == '\r' ? end - 1 : end;
        for (size_t i = line + std::min(indent, blank - line); i < content_end; i++) mapper.byte(raw[i], i);
        if (mapper.size() < value.size()) mapper.byte('\n', end);
        if (end >= raw.size()) break;
    }
}

}  // namespace

void locate_scalar(const std::shared_ptr<const SourceText>& source, size_t begin, const std::string& value,
                   YamlNode& node) {
    std::string_view raw = source->text();
    begin = std::min(begin, raw.size());
    Fragment& fragment = node.scalar;
    fragment.source = source;
    fragment.text = value;
    Mapper mapper(fragment);
    char lead = begin < raw.size() ? raw[begin] : '\0';
    node.quoted = lead == '"' || lead == '\'' || lead == '|' || lead == '>';
    if (lead == '"' || lead == '\'') {
        size_t end = lead == '"' ? map_double_quoted(raw, begin, value, mapper) : map_single_quoted(raw, begin, mapper);
        node.folded = raw.substr(begin, end - begin).find('\n') != std::string_view::npos;
    } else if (lead == '|') {
        map_block(raw, begin, value, mapper);
    } else {
        for (size_t i = 0; i < value.size() && begin + i < raw.size(); i++) mapper.byte(raw[begin + i], begin + i);
        node.folded = lead == '>' || mapper.text() != value;
    }
    // Where YAML rewrote the text in a way not followed above (folding), every byte stands at the scalar's beginning.
    bool same = mapper.text().compare(0, value.size(), value) == 0;
    if (!same || fragment.segments.empty()) {
        fragment.segments.assign(1, {0, begin + (lead == '"' || lead == '\'' ? 1 : 0)});
    }
    node.place = lead == '|' || lead == '>' ? Place{source, begin, 1} : fragment.whole();
    if (value.empty() && node.quoted && lead != '|' && lead != '>') node.place = Place{source, begin, 2};
}

}  // namespace heddle
