// Every kernel of kernels/*.txt: scheduled for several sizes, one tree for all of them, compiled from its C source by gcc,
// and compared with the naive interpreter.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>

#include "backends/c/c_source.h"
#include "../../schedules/kernel_cases.h"

namespace heddle::schedules::testing {
namespace {

struct Scheduling {
    KernelCase test;
    std::vector<Kernel> kernels;  // one a size
    std::vector<Scheduled> scheduled;
};

// All trees of all cases in one C file, compiled once.
class Compiled {
public:
    explicit Compiled(const Target& target) : target_(target) {}

    void add(const Scheduled& scheduled) {
        add(scheduled.tree);
        for (const Packing& packing : scheduled.packings) {
            auto copy = schedule(packing.copy, target_);
            ASSERT_TRUE(copy.has_value()) << render(copy.error()) << print(packing.copy);
            add(*copy);
        }
    }

    void compile() {
        static int libraries = 0;  // the loader takes an equal path for the library that it has
        std::string directory =
            ::testing::TempDir() + "heddle_values_" + std::to_string(getpid()) + "_" + std::to_string(libraries++);
        std::filesystem::create_directories(directory);
        std::string file = directory + "/trees.c", library = directory + "/trees" + std::to_string(libraries) + ".so";
        std::ofstream(file) << source_;
        std::string command = "gcc -std=gnu11 -O0 -w -march=native -ffp-contract=off -shared -fPIC " + file + " -o " +
                              library + " -lm 2> " + directory + "/errors";
        ASSERT_EQ(std::system(command.c_str()), 0) << directory;
        library_ = dlopen(library.c_str(), RTLD_NOW);
        ASSERT_NE(library_, nullptr);
        std::filesystem::remove_all(directory);
    }

    KernelFunction find(const Tree& tree) const {
        return reinterpret_cast<KernelFunction>(dlsym(library_, names_.at(key(tree, target_)).c_str()));
    }

private:
    void add(const Tree& tree) {
        auto [at, added] = names_.emplace(key(tree, target_), "kernel" + std::to_string(names_.size()));
        if (added) source_ += backends::c_source(tree, at->second) + "\n";
    }

    const Target& target_;
    std::map<std::string, std::string> names_;
    std::string source_;
    void* library_ = nullptr;
};

int64_t index_limit(const Kernel& kernel) {
    return kernel.tensors.empty() || kernel.tensors[0].dimensions.empty() ? 1 : kernel.tensors[0].dimensions[0].extent;
}

void compare(const Kernel& kernel, std::vector<reference::Buffer>& got, std::vector<reference::Buffer>& wanted,
             const std::string& name) {
    for (size_t t = 0; t < kernel.tensors.size(); t++) {
        const KernelTensor& tensor = kernel.tensors[t];
        if (tensor.role == KernelTensor::Role::local) continue;
        double largest = 1e-3, worst = 0;
        reference::for_each_element(tensor, [&](int64_t element) {
            double value = reference::load(wanted[t], tensor.dtype, element).real;
            if (std::isfinite(value)) largest = std::max(largest, std::fabs(value));
        });
        int64_t wrong = 0;
        reference::for_each_element(tensor, [&](int64_t element) {
            reference::Scalar a = reference::load(got[t], tensor.dtype, element),
                              b = reference::load(wanted[t], tensor.dtype, element);
            if (!is_float(tensor.dtype))
                wrong += a.integer != b.integer;
            else if (std::isnan(a.real) != std::isnan(b.real) || std::isinf(a.real) != std::isinf(b.real))
                wrong++;
            else if (std::isfinite(a.real))
                worst = std::max(worst, std::fabs(a.real - b.real));
        });
        EXPECT_EQ(wrong, 0) << name << " " << tensor.name;
        EXPECT_LE(worst, 2e-5 * largest) << name << " " << tensor.name;
    }
}

TEST(Values, EveryKernelOnOddSizesByOneTree) {
    Target target;
    Compiled compiled(target);
    std::vector<Scheduling> all;
    for (const KernelCase& test : load_kernel_cases(HEDDLE_SOURCE_DIR)) {
        Scheduling s{test, {}, {}};
        std::string first;
        for (const auto& sizes : test.sizes) {
            auto text = std::make_shared<SourceText>(test.name, with_sizes(test.text, sizes));
            auto kernel = parse_kernel(text);
            ASSERT_TRUE(kernel.has_value()) << test.name << "\n" << render(kernel.error());
            auto scheduled = schedule(*kernel, target);
            ASSERT_TRUE(scheduled.has_value()) << test.name << "\n" << render(scheduled.error());
            auto correct = verify(scheduled->tree);
            ASSERT_TRUE(correct.has_value()) << render(correct.error()) << print(scheduled->tree);
            std::string printed = key(scheduled->tree, target);
            if (first.empty()) first = printed;
            EXPECT_EQ(first, printed) << test.name << "\n"
                                      << print(scheduled->tree) << "\nfirst:\n"
                                      << print(s.scheduled[0].tree);
            compiled.add(*scheduled);
            s.kernels.push_back(*kernel);
            s.scheduled.push_back(std::move(*scheduled));
        }

        all.push_back(std::move(s));
    }
    compiled.compile();
    if (HasFatalFailure()) return;
    for (Scheduling& s : all) {
        for (size_t i = 0; i < s.kernels.size(); i++) {
            std::string name = s.test.name;
            for (const auto& [size, value] : s.test.sizes[i]) name += " " + size + "=" + std::to_string(value);
            auto wanted = make_buffers(s.kernels[i], 1, index_limit(s.kernels[i]));
            auto got = make_buffers(s.kernels[i], 1, index_limit(s.kernels[i]));
            reference::Interpreter interpreter(s.kernels[i], wanted);
            interpreter.run();
            // An index outside of its tensor is noticed by both.
            ASSERT_EQ(run_scheduled(s.scheduled[i], got, target, [&](const Tree& tree) { return compiled.find(tree); }),
                      interpreter.failed() ? 1 : 0)
                << name;
            if (interpreter.failed()) continue;
            compare(s.kernels[i], got, wanted, name);
        }
    }
}

TEST(Values, AnIndexOutOfRangeStopsTheKernel) {
    Target target;
    for (const KernelCase& test : load_kernel_cases(HEDDLE_SOURCE_DIR)) {
        if (test.name != "gather" && test.name != "gather_lanes") continue;
        Kernel kernel =
            parse_kernel(std::make_shared<SourceText>(test.name, with_sizes(test.text, test.sizes[0]))).value();
        Scheduled scheduled = schedule(kernel, target).value();
        Compiled compiled(target);
        compiled.add(scheduled);
        compiled.compile();
        for (int64_t wrong : {int64_t{50}, int64_t{-1}, int64_t{49}}) {
            auto buffers = make_buffers(kernel, 1, 50);
            reference::store(buffers[1], DType::int64, 3, {0, wrong});
            int32_t status =
                run_scheduled(scheduled, buffers, target, [&](const Tree& tree) { return compiled.find(tree); });
            EXPECT_EQ(status, wrong == 49 ? 0 : 1) << test.name << " " << wrong;
        }
    }
}

}  // namespace
}  // namespace heddle::schedules::testing
