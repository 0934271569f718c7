#include "language/library_index.h"

#include <cctype>

namespace heddle {
namespace {

bool is_word_character(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

}  // namespace

std::set<std::string> index_words(std::string_view text) {
    std::set<std::string> words;
    bool after_name = false;
    for (size_t at = 0; at < text.size();) {
        if (!is_word_character(text[at])) {
            at++;
            continue;
        }
        size_t end = at;
        while (end < text.size() && is_word_character(text[end])) end++;
        std::string word(text.substr(at, end - at));
        size_t behind = end;
        while (behind < text.size() && (text[behind] == '"' || text[behind] == '\'' || text[behind] == ' ')) behind++;
        bool is_key = behind < text.size() && text[behind] == ':';
        if (is_key || after_name) words.insert(word);
        after_name = is_key && word == "name";
        at = end;
    }
    return words;
}

}  // namespace heddle
