#include "conformance/rules.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "codegen/device.h"
#include "conformance/cases.h"
#include "symbolic/program.h"

namespace heddle::conformance {

Diagnostic problem(const char* code, std::string summary, std::string expected, std::string found) {
    return {.code = code,
            .summary = std::move(summary),
            .expected = std::move(expected),
            .found = std::move(found),
            .remedy = "see docs/backends.md"};
}

namespace {

Result<Graph> some_graph(const Library& library, const char* program = "y = softmax(relu(x), axis: 1)") {
    const TensorType type{DType::float32, {Size(5), Size(21)}};
    return build_program(std::make_shared<SourceText>("program", program), library, {{"x", type}});
}

std::string shown(const CompileConfig& config) {
    return fmt::format("target {}; options {}; version {}", config.target, config.options, config.version);
}

void add_if_other(Diagnostics& problems, const Result<CompileConfig>& asked, const CompileConfig& first,
                  const char* when) {
    if (asked && *asked != first)
        problems.push_back(problem("conformance.config", fmt::format("the config is another one {}", when),
                                   shown(first), shown(*asked)));
}

}  // namespace

Diagnostics check_config(codegen::Backend& backend, const Library& library, inference::Engine& engine) {
    CompileRequest request{.target = engine.target, .program = {}, .derivation = {}};
    const auto first = compile_config_for(backend, request);
    if (!first) return first.error();
    Diagnostics problems;
    const auto again = compile_config_for(backend, request);
    if (!again) return again.error();
    add_if_other(problems, again, *first, "when it is asked for again");
    const auto parsed = parse_compile_config(canonical_bytes(*first));
    if (!parsed || *parsed != *first)
        problems.push_back(problem("conformance.config", "the config's bytes are not read as they are written"));
    for (const auto mode : {Derivation::Mode::primal, Derivation::Mode::forward, Derivation::Mode::augmented,
                            Derivation::Mode::reverse, Derivation::Mode::combined}) {
        request.program = fmt::format("program {}", static_cast<int>(mode));
        request.derivation = {.mode = mode, .width = 2, .activities = {Activity::duplicated}, .tape_policy = "save"};
        // It may refuse a mode, but not change its config.
        add_if_other(problems, compile_config_for(backend, request), *first, "for another program");
    }
    auto graph = some_graph(library);
    if (!graph) return graph.error();
    auto executable = inference::compile(*graph, engine);
    if (executable)
        add_if_other(problems, (*executable)->config(), *first, "when kernels are compiled");
    else
        problems.insert(problems.end(), executable.error().begin(), executable.error().end());
    return problems;
}

namespace {

using Trees = std::vector<const codegen::Tree*>;

Result<std::string> code_of(codegen::Backend& backend, const Trees& trees, const Target& target) {
    auto objects = backend.objects(trees, target, 2);
    if (!objects) return fail(std::move(objects.error()));
    if (objects->size() != trees.size()) {
        return fail(problem("conformance.code", "the backend gives code of another number of kernels",
                            std::to_string(trees.size()), std::to_string(objects->size())));
    }
    std::string all;
    for (const std::string& object : *objects) all += fmt::format("{}\n{}", object.size(), object);
    return all;
}

// Targets whose code may differ.
std::vector<Target> other_targets(const Target& target) {
    std::vector<Target> targets(2, target);
    targets[0].features.clear();
    targets[0].cpu = "x86-64";
    targets[1].bandwidth *= 2;
    return targets;
}

}  // namespace

Diagnostics check_code(codegen::Backend& backend, const Library& library, const Target& target) {
    auto graph = some_graph(library);
    if (!graph) return graph.error();
    auto plan = plan::make_plan(*graph, target);
    if (!plan) return plan.error();
    Trees trees;
    for (const auto& tree : plan->trees) trees.push_back(tree.get());
    const auto first = code_of(backend, trees, target);
    if (!first) return first.error();
    const auto again = code_of(backend, trees, target);
    if (!again) return again.error();
    Diagnostics problems;
    if (*again != *first) problems.push_back(problem("conformance.code", "equal kernels are compiled to other bytes"));
    const auto config = compile_config_for(backend, {.target = target, .program = {}, .derivation = {}});
    if (!config) return config.error();
    for (const Target& other : other_targets(target)) {
        const auto of_other = compile_config_for(backend, {.target = other, .program = {}, .derivation = {}});
        if (!of_other || *of_other != *config) continue;
        const auto code = code_of(backend, trees, other);
        if (!code || *code != *first)
            problems.push_back(problem("conformance.code", "for two targets of one config there is other code"));
    }
    for (const std::string_view bytes : {"", "these are not the bytes of any kernel"}) {
        if (backend.link({bytes}))
            problems.push_back(problem("conformance.code", "bytes that are no code are taken for a kernel"));
    }
    return problems;
}

namespace {

class MemoryCheck {
public:
    explicit MemoryCheck(codegen::Device& device) : device_(device) {}

    Diagnostics run() {
        constexpr size_t sizes[] = {1, 2, 4, 63, 64, 65, 4096, 100'003};
        for (size_t bytes : sizes) {
            auto memory = device_.allocate(bytes);
            if (!memory) {
                add(fmt::format("{} bytes are not to be had", bytes));
                return std::move(problems_);
            }
            blocks_.push_back({std::move(memory), bytes});
        }
        check_places();
        // All are written before any is read.
        for (size_t i = 0; i < blocks_.size(); i++) copy(device_.copy_to(blocks_[i].memory.get(), pattern(i)));
        for (size_t i = 0; i < blocks_.size(); i++) compare(i, 0, blocks_[i].bytes);
        for (size_t i = 0; i < blocks_.size(); i++) compare(i, blocks_[i].bytes / 2, blocks_[i].bytes / 3);
        return std::move(problems_);
    }

private:
    struct Block {
        std::shared_ptr<std::byte> memory;
        size_t bytes = 0;
    };

    void add(std::string text) { problems_.push_back(problem("conformance.memory", std::move(text))); }

    void copy(const Result<void>& done) {
        if (!done) problems_.insert(problems_.end(), done.error().begin(), done.error().end());
    }

    void check_places() {
        for (size_t i = 0; i < blocks_.size(); i++) {
            const auto begin = reinterpret_cast<uintptr_t>(blocks_[i].memory.get());
            if (begin % buffer_alignment != 0) add(fmt::format("memory is not at a multiple of {}", buffer_alignment));
            for (size_t k = 0; k < i; k++) {
                const auto other = reinterpret_cast<uintptr_t>(blocks_[k].memory.get());
                if (begin < other + blocks_[k].bytes && other < begin + blocks_[i].bytes)
                    add("two allocations share bytes");
            }
        }
    }

    std::vector<std::byte> pattern(size_t i) const {
        std::vector<std::byte> bytes(blocks_[i].bytes);
        for (size_t k = 0; k < bytes.size(); k++) bytes[k] = static_cast<std::byte>(k * 7 + i * 31 + k / 251);
        return bytes;
    }

    void compare(size_t i, size_t begin, size_t size) {
        const std::vector<std::byte> all = pattern(i);
        std::vector<std::byte> found(size);
        const Result<void> done = device_.copy_from(found, blocks_[i].memory.get() + begin);
        copy(done);
        if (done && !std::ranges::equal(found, std::span(all).subspan(begin, size)))
            add(fmt::format("{} bytes from {} on come back as others than were copied there", size, begin));
    }

    codegen::Device& device_;
    std::vector<Block> blocks_;
    Diagnostics problems_;
};

}  // namespace

Diagnostics check_memory(codegen::Backend& backend) {
    const auto device = backend.device();
    return device ? MemoryCheck(*device).run() : Diagnostics{};
}

Diagnostics check_index(const Library& library, inference::Engine& engine) {
    // Of several tasks; the later one is not the one to be reported.
    constexpr int64_t rows = 200'000, wrong[] = {11, 190'000};
    const std::vector<ProgramInput> inputs = {{"x", {DType::float32, {Size(7)}}}, {"i", {DType::int64, {Size(rows)}}}};
    auto graph = build_program(std::make_shared<SourceText>("program", "y = gather(x, i)"), library, inputs);
    if (!graph) return graph.error();
    auto executable = inference::compile(*graph, engine);
    if (!executable) return executable.error();
    const TensorData x(DType::float32, {7});
    TensorData i(DType::int64, {rows});
    for (int64_t row : wrong) i.set_integer(row, 100 + row);
    runtime::Session session(*executable, engine.pool);
    const auto found = session.run({x, i});
    const std::string expected = fmt::format("runtime.index_out_of_range, index {}", 100 + wrong[0]);
    if (found) return {problem("conformance.index", "an index out of range is not noticed", expected, "results")};
    const Diagnostic& first = found.error().front();
    if (first.code != "runtime.index_out_of_range") return found.error();
    if (first.found != std::to_string(100 + wrong[0])) {
        return {problem("conformance.index", "another index is said to be out of range", expected,
                        fmt::format("{}, index {}", first.code, first.found))};
    }
    return {};
}

}  // namespace heddle::conformance
