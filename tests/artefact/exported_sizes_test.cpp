// An exported program, loaded as a program in C would, at any sizes of its ranges: its numbers are those of the plan
// that it was made of, instantiated there, and so are all bits of its results.
#include <dlfcn.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "../../exported/heddle_program.h"
#include "artefact/artefact.h"
#include "artefact/c_compiler.h"
#include "artefact/group_rows.h"
#include "helpers/codes.h"
#include "helpers/sized_programs.h"
#include "helpers/source_folder.h"
#include "helpers/test_folder.h"
#include "plan/instantiate.h"
#include "runtime/executable.h"
#include "support/file.h"

namespace heddle::artefact {
namespace {

std::vector<DLTensor> described(const std::vector<TensorData>& tensors, std::vector<std::vector<int64_t>>& shapes) {
    std::vector<DLTensor> result;
    shapes.reserve(tensors.size());
    for (const TensorData& data : tensors) {
        shapes.push_back(data.shape());
        result.push_back({const_cast<std::byte*>(data.data()), {kDLCPU, 0}, static_cast<int32_t>(data.shape().size()),
                          {kDLFloat, 32, 1}, shapes.back().data(), nullptr, 0});
    }
    return result;
}

// A library that was written into the folder.
class Library {
public:
    explicit Library(const std::string& folder)
        : handle_(dlopen((folder + "/libsized.so").c_str(), RTLD_NOW | RTLD_LOCAL)) {
        EXPECT_TRUE(handle_) << dlerror();
    }
    ~Library() {
        if (handle_) dlclose(handle_);
    }
    Library(const Library&) = delete;
    Library& operator=(const Library&) = delete;

    struct Ran {
        int64_t status = 0;
        std::string message;
        int64_t group = -1;
        std::vector<int64_t> words;  // of the workspace's begin
        std::vector<TensorData> outputs;
    };
    // The same workspace for all runs, as long as it is large enough: what is left in it is not to matter.
    Ran run(const std::vector<TensorData>& inputs, size_t output_count, size_t words) {
        std::vector<std::vector<int64_t>> in_shapes, out_shapes;
        const std::vector<DLTensor> in = described(inputs, in_shapes);
        std::vector<const DLTensor*> in_pointers;
        for (const DLTensor& tensor : in) in_pointers.push_back(&tensor);
        char message[300] = "";
        call_.inputs = in_pointers.data();
        call_.message = message;
        call_.message_bytes = sizeof message;
        Ran ran;
        const auto shape_of = function<int32_t(heddle_call*, int32_t, int64_t*)>("sized_output_shape");
        for (size_t o = 0; o < output_count; o++) {
            std::vector<int64_t> shape(16);
            ran.status = shape_of(&call_, static_cast<int32_t>(o), shape.data());
            if (ran.status < 0) return ran.message = message, ran;
            shape.resize(static_cast<size_t>(ran.status));
            ran.outputs.emplace_back(DType::float32, shape);
        }
        ran.status = function<int64_t(heddle_call*)>("sized_workspace_bytes")(&call_);
        if (ran.status < 0) return ran.message = message, ran;
        bytes_ = ran.status;
        give_memory();
        const std::vector<DLTensor> out = described(ran.outputs, out_shapes);
        std::vector<DLTensor*> out_pointers;
        for (const DLTensor& tensor : out) out_pointers.push_back(const_cast<DLTensor*>(&tensor));
        call_.outputs = out_pointers.data();
        ran.status = function<int32_t(heddle_call*)>("sized_run")(&call_);
        ran.message = message;
        ran.group = call_.ready - 1;
        ran.words.resize(words);
        if (ran.status == 0) std::memcpy(ran.words.data(), call_.workspace, words * 8);
        return ran;
    }
    int64_t bytes() const { return bytes_; }  // that the last run wanted

private:
    template <typename Function>
    Function* function(const char* name) const { return reinterpret_cast<Function*>(dlsym(handle_, name)); }

    void give_memory() {
        if (static_cast<size_t>(bytes_) + 64 <= memory_.size()) return;
        memory_.assign(static_cast<size_t>(bytes_) + 64, std::byte{0xa5});
        call_.workspace = memory_.data() + (64 - reinterpret_cast<uintptr_t>(memory_.data()) % 64) % 64;
        call_.workspace_bytes = memory_.size() - 64;
        call_.ready = 0;
    }

    void* handle_;
    heddle_call call_ = {};
    std::vector<std::byte> memory_;
    int64_t bytes_ = 0;
};

// What the tables of a group say, read as exported/heddle_program.c reads them, written anew.
class Numbers {
public:
    Numbers(const Group& group, size_t dimensions, const std::vector<int64_t>& words)
        : rows_(group), words_(words), first_number_(dimensions + group.steps.steps().size()) {}
    int64_t value(int32_t place) {
        const int32_t at = rows_.place(place);
        return at < 0 ? rows_.constants()[static_cast<size_t>(-1 - at)] : words_[static_cast<size_t>(at)];
    }
    std::vector<int64_t> of(const LaunchRow& row) {
        const int32_t at = rows_.numbers_at(row.numbers);
        std::vector<int64_t> numbers;
        for (size_t i = 0; i < row.numbers.size(); i++)
            numbers.push_back(at < 0 ? rows_.constants()[static_cast<size_t>(-1 - at) + i]
                                     : words_[first_number_ + static_cast<size_t>(at) + i]);
        return numbers;
    }

private:
    GroupRows rows_;
    const std::vector<int64_t>& words_;
    const size_t first_number_;
};

size_t words_of(const Program& program) {
    size_t most = 0;
    for (const Group& group : program.variants[0].groups) {
        size_t numbers = 0;
        for (const LaunchRow& row : group.launches) numbers += row.numbers.size();
        most = std::max(most, program.dimensions.size() + group.steps.steps().size() + numbers);
    }
    return most;
}

void expect_numbers(const plan::Plan& plan, const Program& program, const Library::Ran& ran, const std::string& where) {
    const Group& group = program.variants[0].groups[static_cast<size_t>(ran.group)];
    Numbers numbers(group, program.dimensions.size(), ran.words);
    size_t l = 0;
    for (const plan::Batch& batch : plan.run) {
        for (const plan::Launch& launch : batch) {
            const LaunchRow& row = group.launches[l++];
            EXPECT_EQ(row.name, launch.name) << where;
            EXPECT_EQ(numbers.of(row), numbers_of(launch.numbers)) << where << ", " << launch.name;
            EXPECT_EQ(numbers.value(row.tasks), launch.tasks.number()) << where << ", " << launch.name;
            EXPECT_EQ(numbers.value(row.rounds), launch.rounds.number()) << where << ", " << launch.name;
            for (size_t b = 0; b < launch.buffers.size(); b++) {
                const plan::Buffer& buffer = plan.buffers[static_cast<size_t>(launch.buffers[b])];
                const BufferRow& found = group.buffers[static_cast<size_t>(row.buffers[b])];
                EXPECT_EQ(numbers.value(found.base), buffer.base.number()) << where << ", " << buffer.name;
                if (buffer.kind != plan::Buffer::Kind::workspace) continue;
                EXPECT_EQ(numbers.value(found.place), buffer.offset) << where << ", " << buffer.name;
            }
        }
    }
    EXPECT_EQ(l, group.launches.size());
    EXPECT_EQ(numbers.value(group.workspace), plan.workspace_bytes) << where;
    EXPECT_EQ(numbers.value(group.scratch), std::max<int64_t>(plan.scratch_bytes, 64)) << where;
}

struct Engine {
    runtime::KernelCache kernels{std::make_shared<backends::LlvmBackend>()};
    std::shared_ptr<ThreadPool> pool = std::make_shared<ThreadPool>(2);
};

ArtefactOptions options() { return {.driver_folder = in_source("exported"), .threads = 2}; }

class Sized {
public:
    Sized(uint64_t seed, Engine& engine, const TestFolder& folder)
        : seed_(seed), source_(seed), engine_(engine), folder_(folder.path.string()) {}

    // False where an operator rules sizes out, or has a plan for each of them.
    bool compare(const std::vector<Dimension>& dimensions, int count) {
        size_t asked = 0;
        const auto graph_at = [&](const SizeNames& sizes) -> Result<Graph> {
            auto graph = source_.at(sizes);
            if (graph && ++asked <= most_plans) return std::move(*graph);
            return fail({.code = "test.sizes"});
        };
        auto made = make_program(
            {.name = "sized", .dimensions = dimensions, .targets = {detect_host()}, .graph = graph_at});
        const std::string problem = made ? "" : made.error().front().code;
        if (problem == "test.sizes" || problem == "artefact.dimension") return false;
        EXPECT_TRUE(made) << seed_ << render(made.error());
        if (!made) return true;
        program_ = std::move(*made);
        const auto files = write_artefact(program_, folder_, options());
        EXPECT_TRUE(files) << seed_ << (files ? "" : render(files.error()));
        if (!files) return true;
        Library library(folder_);
        std::mt19937_64 random(seed_);
        for (int i = 0; i < count; i++) {
            SizeNames sizes;
            for (const Dimension& dimension : dimensions) sizes[dimension.name] = size_of(dimension, random);
            compare_at(library, sizes);
        }
        return true;
    }
    size_t plans() const { return program_.variants[0].groups.size(); }

private:
    static constexpr size_t most_plans = 20;

    // Ends of classes, the range's own, and any others.
    static int64_t size_of(const Dimension& dimension, std::mt19937_64& random) {
        constexpr int64_t ends[] = {0, 1, 2, 3, 4, 15, 16, 255, 256, 4095, 4096};
        const int64_t other = static_cast<int64_t>(random() % 64) << random() % 4;
        const int64_t wanted = random() % 3 == 0 ? ends[random() % std::size(ends)] : other;
        return dimension.below(std::clamp(wanted, dimension.from, dimension.to));
    }

    void compare_at(Library& library, const SizeNames& sizes) {
        const auto graph = source_.at(sizes);
        ASSERT_TRUE(graph) << seed_;
        const std::string where = "seed " + std::to_string(seed_) + ":" + source_.applied() + " at " + text_of(sizes);
        std::vector<TensorData> inputs;
        uint64_t seed = seed_;
        for (TensorId id : graph->inputs)
            inputs.push_back(random_tensor(numbers_of(graph->tensor(id).type.shape), seed++));
        const Library::Ran ran = library.run(inputs, program_.outputs.size(), words_of(program_));
        ASSERT_EQ(ran.status, 0) << where << ": " << ran.message;
        plan::Plan plan = planned(ran.group);
        ASSERT_TRUE(plan::instantiate(plan, sizes)) << where;
        expect_numbers(plan, program_, ran, where);
        EXPECT_TRUE(verify(plan)) << where;
        auto executable = runtime::Executable::make(std::move(plan), engine_.kernels, *engine_.pool);
        ASSERT_TRUE(executable) << where << render(executable.error());
        const auto wanted = runtime::Session(*executable, engine_.pool).run(inputs);
        ASSERT_TRUE(wanted) << where << render(wanted.error());
        for (size_t o = 0; o < wanted->size(); o++) {
            const TensorData &found = ran.outputs[o], &right = (*wanted)[o];
            ASSERT_EQ(found.shape(), right.shape()) << where;
            const auto bytes = static_cast<size_t>(right.byte_size());
            EXPECT_EQ(std::memcmp(found.data(), right.data(), bytes), 0) << where;
        }
    }

    plan::Plan planned(int64_t group) {
        const auto [known, is_new] = plans_.try_emplace(group);
        if (is_new) {
            const auto graph = source_.at(program_.variants[0].groups[static_cast<size_t>(group)].made_for);
            EXPECT_TRUE(graph);
            known->second = plan_of(*graph);
        }
        return known->second;
    }

    uint64_t seed_;
    SizedProgram source_;
    Engine& engine_;
    std::string folder_;
    Program program_;
    std::map<int64_t, plan::Plan> plans_;
};

uint64_t number_from(const char* variable, uint64_t otherwise) {
    const char* text = std::getenv(variable);
    return text ? static_cast<uint64_t>(std::atoll(text)) : otherwise;
}

// How many, when there is time (docs/developing.md), and from which on.
TEST(ExportedSizes, random_programs_at_random_sizes) {
    Engine engine;
    const uint64_t from = number_from("HEDDLE_TEST_SEED", 1), count = number_from("HEDDLE_TEST_COUNT", 3);
    uint64_t compared = 0, plans = 0;
    for (uint64_t seed = from; compared < count && !testing::Test::HasFailure(); seed++) {
        const TestFolder folder;
        Sized sized(seed, engine, folder);
        const Dimension m = seed % 2 ? Dimension{"m", 5, 5, 1} : Dimension{"m", 16, 80, 1};
        const Dimension n = seed % 3 ? Dimension{"n", 1, 5000, 1} : Dimension{"n", 0, 60, 1};
        if (!sized.compare({m, n}, 10)) continue;
        compared++;
        plans += sized.plans();
    }
    std::printf("%llu programs of %llu plans\n", static_cast<unsigned long long>(compared),
                static_cast<unsigned long long>(plans));
}

// The arithmetic of exported/heddle_program.c beside our own, also of numbers below zero and at the ends.
TEST(ExportedSizes, steps_are_taken_as_everywhere) {
    const TestFolder folder;
    std::filesystem::create_directories(folder.path);
    const std::string source = (folder.path / "steps.c").string(), library = (folder.path / "steps.so").string();
    const std::string text = "#define HEDDLE_BUFFERS 1\n#define HEDDLE_VALUES 1\n#include \"" +
                             in_source("exported/heddle_program.h") + "\"\n#include \"" +
                             in_source("exported/heddle_program.c") +
                             "\"\nint take(int32_t operation, int64_t a, int64_t b, int64_t* result) {\n"
                             "    return heddle_take_step(operation, a, b, result);\n}\n";
    ASSERT_TRUE(write_file(source, text));
    const auto made = run_c_compiler({"cc", "-O1", "-w", "-shared", "-fPIC", source, "-o", library}, library);
    ASSERT_TRUE(made) << render(made.error());
    void* const handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
    ASSERT_TRUE(handle) << dlerror();
    const auto take = reinterpret_cast<int (*)(int32_t, int64_t, int64_t, int64_t*)>(dlsym(handle, "take"));
    std::mt19937_64 random(3);
    const auto number = [&]() -> int64_t {
        constexpr int64_t ends[] = {0, 1, -1, 2, -7, INT64_MAX, INT64_MIN, INT64_MIN + 1, int64_t{1} << 32};
        if (random() % 3 == 0) return ends[random() % std::size(ends)];
        return static_cast<int64_t>(random()) >> random() % 64;
    };
    using Kind = Origin::Kind;
    for (int k = static_cast<int>(Kind::add); k <= static_cast<int>(Kind::maximum); k++) {
        SizeProgram step;
        const int32_t a = step.place_of_name("a"), b = step.place_of_name("b");
        const auto result = static_cast<size_t>(step.place_of(static_cast<Kind>(k), a, b));
        for (int i = 0; i < 3000; i++) {
            std::vector<int64_t> values = step.begin();
            values[static_cast<size_t>(a)] = number();
            values[static_cast<size_t>(b)] = number();
            const int64_t x = values[static_cast<size_t>(a)], y = values[static_cast<size_t>(b)];
            int64_t found = 0;
            const bool has = take(k - static_cast<int>(Kind::add), x, y, &found) != 0;
            ASSERT_EQ(has, step.run(values, 0, 1)) << k << ": " << x << ", " << y;
            ASSERT_EQ(has ? found : 0, has ? values[result] : 0) << k << ": " << x << ", " << y;
        }
    }
    dlclose(handle);
}

}  // namespace
}  // namespace heddle::artefact
