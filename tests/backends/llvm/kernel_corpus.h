// The kernels of tests/schedules/kernels: texts with $NAME and $(expression) for sizes, and lines of sizes. Tests only.
#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "schedules/kernel.h"

namespace heddle::backends::corpus {

struct Case {
    std::string name;
    std::string sizes;
    std::string text;
};

using Sizes = std::map<std::string, int64_t>;

// Sums of products of names and numbers.
inline int64_t size_value(const std::string& text, const Sizes& sizes) {
    int64_t sum = 0, product = 1, sign = 1;
    std::string word;
    const auto factor = [&] {
        const auto found = sizes.find(word);
        product *= found != sizes.end() ? found->second : std::stoll(word);
        word.clear();
    };
    for (char c : text + "+") {
        if (c != '+' && c != '-' && c != '*') {
            word += c;
            continue;
        }
        factor();
        if (c == '*') continue;
        sum += sign * product;
        product = 1;
        sign = c == '-' ? -1 : 1;
    }
    return sum;
}

inline std::string substituted(const std::string& text, const Sizes& sizes) {
    std::string result;
    for (size_t i = 0; i < text.size(); i++) {
        if (text[i] != '$') {
            result += text[i];
            continue;
        }
        size_t end = i + 1;
        if (text[end] == '(') {
            end = text.find(')', i) + 1;
            result += std::to_string(size_value(text.substr(i + 2, end - i - 3), sizes));
        } else {
            while (end < text.size() && (isalnum(static_cast<unsigned char>(text[end])) || text[end] == '_')) end++;
            result += std::to_string(size_value(text.substr(i + 1, end - i - 1), sizes));
        }
        i = end - 1;
    }
    return result;
}

inline Sizes parse_sizes(const std::string& line) {
    Sizes sizes;
    std::istringstream words(line);
    for (std::string word; words >> word;) {
        if (const size_t at = word.find('='); at != std::string::npos)
            sizes[word.substr(0, at)] = std::stoll(word.substr(at + 1));
    }
    return sizes;
}

inline std::vector<Case> read_cases(const std::string& folder) {
    std::vector<std::filesystem::path> paths;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) paths.push_back(entry.path());
    std::sort(paths.begin(), paths.end());
    std::vector<Case> cases;
    for (const auto& path : paths) {
        std::ifstream file(path);
        std::vector<std::string> sizes;
        std::string text, name;
        for (std::string line; std::getline(file, line);) {
            if (line.starts_with("//")) continue;
            if (line.starts_with("sizes")) {
                sizes.push_back(line.substr(5));
            } else if (line.starts_with("end")) {
                for (const std::string& s : sizes) cases.push_back({name, s, substituted(text, parse_sizes(s))});
                sizes.clear();
                text.clear();
            } else {
                if (line.starts_with("kernel ")) name = line.substr(7);
                text += line + "\n";
            }
        }
    }
    return cases;
}

}  // namespace heddle::backends::corpus
