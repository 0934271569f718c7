#include "random/determinism.h"

#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "backends/llvm/llvm_backend.h"
#include "helpers/source_folder.h"
#include "random/trial.h"

namespace heddle::random {
namespace {

// FNV-1a.
uint64_t digest(const void* bytes, size_t count, uint64_t so_far = 0xcbf29ce484222325) {
    for (size_t i = 0; i < count; i++) so_far = (so_far ^ static_cast<const uint8_t*>(bytes)[i]) * 0x100000001b3;
    return so_far;
}
uint64_t digest(const std::string& text, uint64_t so_far = 0xcbf29ce484222325) {
    return digest(text.data(), text.size(), so_far);
}

Result<std::string> compiled(const Prepared& prepared, bool fuse, ThreadPool& pool) {
    auto plan = plan::make_plan(prepared.graph, detect_host(), {.fuse = fuse});
    if (!plan) return fail(plan.error());
    const uint64_t text = digest(plan::print(*plan));
    uint64_t kernels = digest("");
    for (const std::string& key : plan->keys) kernels = digest(key, kernels);
    std::vector<const schedules::Tree*> trees;
    for (const auto& tree : plan->trees) trees.push_back(tree.get());
    backends::LlvmBackend backend;
    const auto objects = backend.objects(trees, plan->target, 2);
    if (!objects) return fail(objects.error());
    uint64_t code = digest("");
    for (const std::string& object : *objects) code = digest(object, code);
    runtime::KernelCache kernels_of_its_own(std::make_shared<backends::LlvmBackend>());
    auto executable = runtime::Executable::make(std::move(*plan), kernels_of_its_own, pool);
    if (!executable) return fail(executable.error());
    runtime::Session session(*executable, std::shared_ptr<ThreadPool>(&pool, [](ThreadPool*) {}));
    const auto results = session.run(prepared.feeds);
    if (!results) return fail(results.error());
    uint64_t values = digest("");
    for (const TensorData& result : *results)
        values = digest(result.data(), static_cast<size_t>(result.byte_size()), values);
    return fmt::format("plan {:016x} kernels {:016x} code {:016x} results {:016x}", text, kernels, code, values);
}

// A line a program; of what is refused, the codes.
std::vector<std::string> digests(uint64_t seed, size_t count) {
    auto library = open_library(in_source("operators"));
    if (!library) return {};
    ThreadPool pool(2);
    std::vector<std::string> lines;
    for (size_t i = 0; i < count; i++) {
        Choices choices(seed + i);
        const Program program = random_program(choices);
        std::string line = fmt::format("seed {}:", seed + i);
        const auto prepared = prepare(program, *library, [](const char*) {});
        if (!prepared) line += " refused: " + render(prepared.error());
        for (bool fuse : {true, false}) {
            if (!prepared) break;
            const auto text = compiled(*prepared, fuse, pool);
            line +=
                fmt::format(" {} {}", fuse ? "fused" : "unfused", text ? *text : "refused: " + render(text.error()));
        }
        lines.push_back(std::move(line));
    }
    return lines;
}

std::string output_of(const std::string& command) {
    std::string text;
    FILE* output = popen(command.c_str(), "r");
    if (!output) return text;
    char bytes[4096];
    for (size_t count; (count = fread(bytes, 1, sizeof(bytes), output)) > 0;) text.append(bytes, count);
    return pclose(output) == 0 ? text : "";
}

}  // namespace

int print_digests(uint64_t seed, size_t count) {
    std::vector<std::string> first, second;
    std::thread other([&] { second = digests(seed, count); });
    first = digests(seed, count);
    other.join();
    for (const std::string& line : first) fmt::print("{}\n", line);
    return first == second && first.size() == count ? 0 : 1;
}

int same_everywhere(const char* program, uint64_t seed, size_t count) {
    const std::string command = fmt::format("'{}' --digests --seed {} --count {}", program, seed, count);
    const std::string first = output_of(command), second = output_of(command);
    const bool compiled = first.find("results ") != std::string::npos;
    if (first == second && compiled) {
        fmt::print("{} programs: the same bytes from two processes of two threads\n", count);
        return 0;
    }
    fmt::print("{}\n{}\nand then\n{}\n", compiled ? "different:" : "nothing was compiled, or threads differ:", first,
               second);
    return 1;
}

}  // namespace heddle::random
