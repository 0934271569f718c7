// Kernels of tests/schedules/kernels/*.txt, and their sizes put in. Tests only.
#pragma once

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace heddle::schedules::testing {

struct KernelCase {
    std::string name;
    std::vector<std::map<std::string, int64_t>> sizes;
    std::vector<bool> alone;  // by sizes: has code of its own
    std::string text;         // with $NAME and $(expression)
};

inline std::vector<KernelCase> load_kernel_cases(const std::string& source_directory) {
    std::vector<KernelCase> cases;
    std::vector<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::directory_iterator(source_directory + "/tests/schedules/kernels"))
        files.push_back(entry.path());
    std::sort(files.begin(), files.end());
    for (const auto& path : files) {
        std::ifstream file(path);
        std::string line;
        KernelCase current;
        auto finish = [&] {
            if (!current.text.empty()) cases.push_back(current);
            current = {};
        };
        while (std::getline(file, line)) {
            const bool alone = line.rfind("alone", 0) == 0;
            if (alone || line.rfind("sizes", 0) == 0) {
                current.alone.push_back(alone);
                std::istringstream words(line.substr(5));
                std::string word;
                auto& sizes = current.sizes.emplace_back();
                while (words >> word)
                    sizes[word.substr(0, word.find('='))] = std::stoll(word.substr(word.find('=') + 1));
            } else if (line == "end") {
                finish();
            } else {
                if (line.rfind("kernel ", 0) == 0) current.name = line.substr(7);
                if (!current.name.empty()) current.text += line + "\n";
            }
        }
        finish();
    }
    return cases;
}

// Sums and products of names and numbers, from left to right with the usual precedence.
inline int64_t evaluate_size(const std::string& text, const std::map<std::string, int64_t>& sizes) {
    size_t at = 0;
    auto atom = [&] {
        size_t start = at;
        while (at < text.size() && std::isalnum(static_cast<unsigned char>(text[at]))) at++;
        std::string word = text.substr(start, at - start);
        return std::isdigit(static_cast<unsigned char>(word[0])) ? std::stoll(word) : sizes.at(word);
    };
    auto product = [&] {
        int64_t value = atom();
        while (at < text.size() && text[at] == '*') at++, value *= atom();
        return value;
    };
    int64_t value = product();
    while (at < text.size()) value += (text[at++] == '-' ? -1 : 1) * product();
    return value;
}

inline std::string with_sizes(const std::string& text, const std::map<std::string, int64_t>& sizes) {
    std::string result;
    for (size_t i = 0; i < text.size(); i++) {
        if (text[i] != '$') {
            result += text[i];
            continue;
        }
        size_t end = i + 1;
        if (text[end] == '(') {
            end = text.find(')', end);
            result += std::to_string(evaluate_size(text.substr(i + 2, end - i - 2), sizes));
            i = end;
        } else {
            while (end < text.size() && std::isupper(static_cast<unsigned char>(text[end]))) end++;
            result += std::to_string(sizes.at(text.substr(i + 1, end - i - 1)));
            i = end - 1;
        }
    }
    return result;
}

}  // namespace heddle::schedules::testing
