// Every kernel of kernels/*.txt: scheduled for several sizes, one tree for all of them, compiled from its C source by
// gcc, and compared with the naive interpreter.
#include <gtest/gtest.h>

#include "gcc_kernels.h"

namespace heddle::backends {
namespace {

TEST(Values, EveryKernelOnOddSizesByOneTree) {
    const Target target;
    const std::vector<LoadedKernel> all = load_kernels_and_rounds(target);
    std::map<std::string, const Tree*> first;
    TreeSet set(target);
    for (const LoadedKernel& loaded : all) {
        const Tree& tree = loaded.prepared.scheduled->tree;
        auto correct = verify(tree);
        ASSERT_TRUE(correct) << render(correct.error()) << print(tree);
        const Tree& wanted = *first.emplace(loaded.test, &tree).first->second;
        EXPECT_EQ(schedules::key(tree, target), schedules::key(wanted, target)) << loaded.name << "\n"
                                                                                << print(tree) << "\nfirst:\n"
                                                                                << print(wanted);
        set.add(loaded.prepared);
    }
    const GccKernels kernels(set);
    for (const LoadedKernel& loaded : all) {
        auto wanted = random_buffers(loaded.prepared.kernel), got = random_buffers(loaded.prepared.kernel);
        schedules::reference::Interpreter interpreter(loaded.prepared.kernel, wanted);
        interpreter.run();
        // An index outside of its tensor is noticed by both.
        ASSERT_EQ(run(loaded.prepared, pointers_to(got), std::cref(kernels)), interpreter.failed() ? 1 : 0)
            << loaded.name;
        if (!interpreter.failed()) expect_within_bounds(loaded, got, wanted, interpreter);
    }
}

TEST(Values, AnIndexOutOfRangeStopsTheKernel) {
    const Target target;
    for (const LoadedKernel& loaded : load_kernels(target)) {
        if (loaded.name != "gather C=33 I=17 V=50" && loaded.name != "gather_lanes I=40 V=50") continue;
        TreeSet set(target);
        set.add(loaded.prepared);
        const GccKernels kernels(set);
        for (int64_t index : {int64_t{50}, int64_t{-1}, int64_t{49}}) {
            auto buffers = random_buffers(loaded.prepared.kernel);
            schedules::reference::store(buffers[1], DType::int64, 3, {0, index});
            EXPECT_EQ(run(loaded.prepared, pointers_to(buffers), std::cref(kernels)), index == 49 ? 0 : 1)
                << loaded.name << " " << index;
        }
    }
}

}  // namespace
}  // namespace heddle::backends
