#include "support/text_width.h"

#include <algorithm>
#include <sstream>

namespace heddle {
namespace {

constexpr size_t least_text = 20;  // columns of a line that is indented far

// One line of `continued`.
class Continuation {
public:
    Continuation(const std::string& line, size_t width) : line_(line), width_(width) {}

    std::string text() const {
        const size_t indent = std::min(line_.find_first_not_of(' '), line_.size());
        std::string result;
        std::string pad;
        for (size_t begin = 0;;) {
            const size_t room = std::max(width_, pad.size() + least_text) - pad.size();
            const size_t end =
                line_.size() - begin <= room ? line_.size() : cut(std::max(begin, indent), begin + room - 1);
            result += pad + line_.substr(begin, end - begin) + (end < line_.size() ? "\\\n" : "\n");
            if (end == line_.size()) return result;
            begin = end;
            pad = std::string(indent + 4, ' ');
        }
    }

private:
    // Behind the last blank, or the last comma of a JSON string, before `most`; if there is none, behind the first.
    size_t cut(size_t begin, size_t most) const {
        size_t best = line_.size();
        bool single = false, twofold = false;
        for (size_t i = 0; i + 1 < line_.size(); i++) {
            const char c = line_[i];
            if (c == '\'' && !twofold) single = !single;
            if (c == '"' && !single) twofold = !twofold;
            const bool may = !single && (twofold ? c == ',' : c == ' ' && line_[i + 1] != ' ');
            if (!may || i < begin) continue;
            if (i + 1 > most && best < line_.size()) break;
            best = i + 1;
        }
        return best;
    }

    const std::string& line_;
    const size_t width_;
};

}  // namespace

std::string filled(const std::string& text, size_t width, size_t indent) {
    std::istringstream words(text);
    std::string result;
    size_t column = indent;
    for (std::string word; words >> word;) {
        const bool first = result.empty();
        const bool breaks = !first && column + 1 + word.size() > width;
        if (breaks) {
            result += "\n" + std::string(indent, ' ');
            column = indent;
        } else if (!first) {
            result += " ";
            column++;
        }
        result += word;
        column += word.size();
    }
    return result;
}

std::string continued(const std::string& text, size_t width) {
    std::istringstream lines(text);
    std::string result;
    for (std::string line; std::getline(lines, line);)
        result += line.size() <= width ? line + "\n" : Continuation(line, width).text();
    return result;
}

}  // namespace heddle
