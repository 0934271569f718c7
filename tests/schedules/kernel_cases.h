// Kernels of tests/schedules/kernels/*.txt with their sizes put in, and how to run a scheduled kernel. Tests only.
#pragma once

#include <cctype>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "kernel_reference.h"
#include "schedules/backend.h"
#include "schedules/schedule.h"

namespace heddle::schedules::testing {

struct KernelCase {
    std::string name;
    std::vector<std::map<std::string, int64_t>> sizes;
    std::string text;  // with $NAME and $(expression)
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
            if (line.rfind("sizes", 0) == 0) {
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

// Memory for all tensors, inputs filled by a fixed seed: floats around zero, integers small, indices (int64) below `limit`.
inline std::vector<reference::Buffer> make_buffers(const Kernel& kernel, unsigned seed, int64_t limit) {
    std::mt19937 random(seed);
    std::vector<reference::Buffer> buffers;
    for (const KernelTensor& tensor : kernel.tensors) {
        buffers.push_back(tensor.role == KernelTensor::Role::local ? reference::Buffer{}
                                                                   : reference::make_buffer(tensor));
        if (tensor.role == KernelTensor::Role::local) continue;
        reference::for_each_element(tensor, [&](int64_t element) {
            reference::Scalar s;
            s.real = std::uniform_real_distribution<double>(-2, 2)(random);
            s.integer = std::uniform_int_distribution<int64_t>(-100, 100)(random);
            if (tensor.dtype == DType::int64)
                s.integer = std::uniform_int_distribution<int64_t>(0, std::max<int64_t>(0, limit - 1))(random);
            if (tensor.role == KernelTensor::Role::output) s = {77, 77};
            reference::store(buffers.back(), tensor.dtype, element, s);
        });
    }
    return buffers;
}

// Gives the function for a tree that was collected before.
using FindFunction = std::function<KernelFunction(const Tree&)>;

// Runs a scheduled kernel on the buffers of its tensors, packing operands first; tasks in two parts, the later first.
inline int32_t run_scheduled(const Scheduled& scheduled, std::vector<reference::Buffer>& tensors, const Target& target,
                             const FindFunction& find) {
    std::vector<reference::Buffer> packed;
    packed.reserve(scheduled.packings.size());
    for (const Packing& packing : scheduled.packings) {
        packed.push_back(reference::make_buffer(packing.copy.tensors[1]));
        auto copy = schedule(packing.copy, target);
        if (!copy) return -1;
        std::vector<reference::Buffer> two{tensors[static_cast<size_t>(packing.tensor)], packed.back()};
        for (auto& b : two) {  // copies lie elsewhere: align them again
            reference::Buffer aligned = b;
            aligned.bytes.assign(b.bytes.size() + 64, {});
            aligned.offset = (64 - reinterpret_cast<uintptr_t>(aligned.bytes.data()) % 64) % 64;
            std::memcpy(aligned.data(), b.data(), b.bytes.size() - b.offset);
            b = std::move(aligned);
        }
        if (int32_t status = run_scheduled(*copy, two, target, find); status != 0) return status;
        packed.back() = std::move(two[1]);
    }
    std::vector<void*> arguments;
    for (const BufferSource& source : scheduled.buffers) {
        reference::Buffer& buffer = source.packing < 0 ? tensors[static_cast<size_t>(source.tensor)]
                                                       : packed[static_cast<size_t>(source.packing)];
        DType dtype = source.packing < 0 ? scheduled.tree.memories[arguments.size()].dtype
                                         : scheduled.packings[static_cast<size_t>(source.packing)].dtype;
        arguments.push_back(buffer.data() + buffer.base * bytes(dtype));
    }
    std::vector<std::byte> scratch(static_cast<size_t>(scheduled.launch.scratch_bytes) + 128, std::byte{0x5a});
    void* start = scratch.data();
    size_t space = scratch.size();
    arguments.push_back(std::align(64, 1, start, space));
    KernelFunction function = find(scheduled.tree);
    int64_t tasks = scheduled.launch.tasks, half = tasks / 2;
    auto numbers = scheduled.launch.numbers;
    numbers.push_back(0);
    if (int32_t status = function(arguments.data(), numbers.data(), half, tasks); status != 0) return status;
    return function(arguments.data(), numbers.data(), 0, half);
}

}  // namespace heddle::schedules::testing
