// Axes are merged where every access runs through both as through one, and only there.
#include <gtest/gtest.h>

#include "plan/kernel_former.h"
#include "plan/merge_axes.h"

namespace heddle::plan {
namespace {

using namespace schedules;

struct Dimension {
    int axis = 0;
    BufferDimension storage;
};

std::vector<int64_t> extents_of(const Kernel& kernel) {
    std::vector<int64_t> extents;
    for (size_t i = 0; i < kernel.arena->axis_count(); i++) extents.push_back(kernel.axis(AxisId(i)).extent);
    return extents;
}

// out[...] = in[...] over all axes, each dimension at one axis.
struct CopyKernel {
    Kernel kernel;
    std::vector<std::vector<int64_t>> hints;

    explicit CopyKernel(std::vector<Axis> axes) {
        for (Axis& axis : axes) kernel.common.push_back(kernel.add_axis(std::move(axis)));
    }

    void tensor(KernelTensor::Role role, const std::vector<Dimension>& dimensions) {
        KernelTensor tensor{.name = "t", .role = role, .dtype = DType::float32};
        std::vector<Expr> coordinates;
        std::vector<int64_t> strides;
        for (const Dimension& d : dimensions) {
            tensor.dimensions.push_back(d.storage);
            coordinates.push_back(kernel.arena->axis_value(AxisId(d.axis)));
            strides.push_back(d.storage.stride);
        }
        kernel.tensors.push_back(tensor);
        hints.push_back(strides);
        (role == KernelTensor::Role::input ? in : out) = coordinates;
    }

    // Extents of the axes that are left, after the whole treatment.
    std::vector<int64_t> merged() {
        Arena& arena = *kernel.arena;
        Expr zero = arena.real(DType::float32, 0);
        Expr right = guarded ? arena.guarded_read(TensorIndex(0), DType::float32, in, zero,
                                                  kernel.readable(TensorIndex(0)).shape)
                             : arena.read(TensorIndex(0), DType::float32, in);
        if (condition) right = arena.select(condition, right, zero);
        kernel.equations.push_back({.tensor = TensorIndex(1), .axes = kernel.common, .left = out, .right = right});
        merge_axes(kernel, hints);
        return extents_of(kernel);
    }

    std::vector<Expr> in, out;
    Expr condition = nullptr;
    bool guarded = false;
};

constexpr auto input = KernelTensor::Role::input, output = KernelTensor::Role::output;

Axis axis(int64_t extent) { return {.extent = extent}; }
Axis named(int64_t extent, int64_t hint) { return {.extent = extent, .named = true, .hint = hint}; }

TEST(MergeAxes, both_row_major) {
    CopyKernel copy({axis(3), axis(4), axis(5)});
    copy.tensor(input, {{0, {3, 20}}, {1, {4, 5}}, {2, {5, 1}}});
    copy.tensor(output, {{0, {3, 20}}, {1, {4, 5}}, {2, {5, 1}}});
    EXPECT_EQ(copy.merged(), std::vector<int64_t>{60});
    EXPECT_EQ(copy.kernel.tensors[0].dimensions.size(), 1u);
    EXPECT_EQ(copy.kernel.tensors[0].dimensions[0].stride, 1);
    EXPECT_EQ(copy.kernel.tensors[0].dimensions[0].extent, 60);
    EXPECT_EQ(copy.kernel.axis(AxisId(0)).name, "a");
    EXPECT_EQ(copy.kernel.hint(AxisId(0)), 60);
}

TEST(MergeAxes, a_transpose_of_the_inner_two) {
    CopyKernel copy({axis(3), axis(4), axis(5)});
    copy.tensor(input, {{0, {3, 20}}, {1, {4, 1}}, {2, {5, 4}}});
    copy.tensor(output, {{0, {3, 20}}, {1, {4, 5}}, {2, {5, 1}}});
    EXPECT_EQ(copy.merged(), (std::vector<int64_t>{3, 4, 5}));
}

TEST(MergeAxes, the_outer_two_of_a_transpose) {
    CopyKernel copy({axis(3), axis(4), axis(5)});
    copy.tensor(input, {{0, {3, 4}}, {1, {4, 1}}, {2, {5, 12}}});
    copy.tensor(output, {{0, {3, 20}}, {1, {4, 5}}, {2, {5, 1}}});
    EXPECT_EQ(copy.merged(), (std::vector<int64_t>{12, 5}));
}

TEST(MergeAxes, a_margin_inside_breaks_the_run) {
    CopyKernel copy({axis(3), axis(4)});
    copy.tensor(input, {{0, {3, 4}}, {1, {4, 1}}});
    copy.tensor(output, {{0, {3, 6}}, {1, {4, 1, 1, 1}}});
    EXPECT_EQ(copy.merged(), (std::vector<int64_t>{3, 4}));
}

TEST(MergeAxes, a_broadcast_operand) {
    CopyKernel copy({axis(3), axis(4)});
    copy.tensor(input, {{1, {4, 1}}});
    copy.tensor(output, {{0, {3, 4}}, {1, {4, 1}}});
    EXPECT_EQ(copy.merged(), (std::vector<int64_t>{3, 4}));
}

TEST(MergeAxes, a_guarded_read) {
    CopyKernel copy({axis(3), axis(4)});
    copy.guarded = true;
    copy.tensor(input, {{0, {3, 4}}, {1, {4, 1}}});
    copy.tensor(output, {{0, {3, 4}}, {1, {4, 1}}});
    EXPECT_EQ(copy.merged(), (std::vector<int64_t>{3, 4}));
}

TEST(MergeAxes, a_cut_smaller_than_the_dimension) {
    CopyKernel copy({axis(3), axis(4)});
    copy.tensor(input, {{0, {3, 4}}, {1, {4, 1}}});
    copy.tensor(output, {{0, {3, 8}}, {1, {8, 1}}});
    EXPECT_EQ(copy.merged(), (std::vector<int64_t>{3, 4}));
}

TEST(MergeAxes, a_condition_on_one_of_them) {
    CopyKernel copy({axis(3), axis(4)});
    copy.tensor(input, {{0, {3, 4}}, {1, {4, 1}}});
    copy.tensor(output, {{0, {3, 4}}, {1, {4, 1}}});
    Arena& arena = *copy.kernel.arena;
    copy.condition = arena.less(arena.axis_value(AxisId(1)), arena.integer(2));
    EXPECT_EQ(copy.merged(), (std::vector<int64_t>{3, 4}));
}

// With a batch of one both strides look like one run, at the representative they do not: the hint decides.
TEST(MergeAxes, a_named_axis_of_one_does_not_merge_by_value) {
    CopyKernel copy({named(1, 2), axis(4), axis(5)});
    copy.tensor(input, {{1, {4, 5}}, {0, {1, 5}}, {2, {5, 1}}});
    copy.hints[0] = {10, 5, 1};
    copy.tensor(output, {{0, {1, 20}}, {1, {4, 5}}, {2, {5, 1}}});
    EXPECT_EQ(copy.merged(), (std::vector<int64_t>{1, 4, 5}));
}

TEST(MergeAxes, a_named_axis_merges_where_it_does_at_every_size) {
    for (int64_t batch : {1, 2, 3}) {
        CopyKernel copy({named(batch, 2), axis(4)});
        copy.tensor(input, {{0, {batch, 4}}, {1, {4, 1}}});
        copy.tensor(output, {{0, {batch, 4}}, {1, {4, 1}}});
        EXPECT_EQ(copy.merged(), std::vector<int64_t>{4 * batch});
        EXPECT_TRUE(copy.kernel.axis(AxisId(0)).named);
        EXPECT_EQ(copy.kernel.hint(AxisId(0)), 8);
    }
}

TEST(NameAxes, by_first_use_and_without_unused) {
    Kernel kernel;
    for (int64_t extent : {2, 3, 4}) kernel.add_axis(axis(extent));
    kernel.tensors = {{.name = "t", .role = input, .dimensions = {{4, 2}, {2, 1}}},
                      {.name = "u", .role = output, .dimensions = {{4, 1}}}};
    std::vector<std::vector<int64_t>> hints = {{2, 1}, {1}};
    Arena& arena = *kernel.arena;
    Expr first = arena.axis_value(AxisId(0)), last = arena.axis_value(AxisId(2));
    kernel.equations.push_back({.tensor = TensorIndex(1),
                                .axes = {AxisId(2)},
                                .left = {last},
                                .reducer = Reducer::sum,
                                .reduced = {AxisId(0)},
                                .right = arena.read(TensorIndex(0), DType::float32, {last, first})});
    kernel.common = {AxisId(2), AxisId(1)};
    merge_axes(kernel, hints);
    ASSERT_EQ(extents_of(kernel), (std::vector<int64_t>{4, 2}));
    EXPECT_EQ(kernel.axis(AxisId(0)).name, "a");
    EXPECT_EQ(kernel.axis(AxisId(1)).name, "b");
    EXPECT_EQ(kernel.common, std::vector{AxisId(0)});
    EXPECT_EQ(kernel.equations[0].reduced, std::vector{AxisId(1)});
    EXPECT_EQ(kernel.equations[0].right->parts()[1], kernel.arena->axis_value(AxisId(1)));
}

// ---- copies between maps ------------------------------------------------------------------------------------------

TEST(FormCopy, equal_maps_are_one_run) {
    StorageMap map = StorageMap::row_major({3, 4, 5});
    Kernel kernel = form_copy(map, map, DType::float32, {3, 4, 5});
    EXPECT_TRUE(verify(kernel));
    EXPECT_EQ(extents_of(kernel), std::vector<int64_t>{60});
}

TEST(FormCopy, to_channels_last_with_margins) {
    StorageMap from = StorageMap::row_major({2, 3, 4, 5}), to = from;
    to.order = {0, 2, 3, 1};
    to.margin_before = {0, 0, 1, 1};
    to.margin_after = {0, 0, 1, 1};
    Kernel kernel = form_copy(from, to, DType::float32, {2, 3, 4, 5});
    auto fine = verify(kernel);
    EXPECT_TRUE(fine) << render(fine.error());
    const std::vector<int64_t> extents = extents_of(kernel);
    ASSERT_EQ(extents.size(), 4u) << "rows are broken by the margin";
    EXPECT_EQ(kernel.tensors[0].role, input);
    EXPECT_EQ(kernel.tensors[1].role, output);
    // The order of loops is the target's.
    EXPECT_EQ(extents.back(), 3);
}

TEST(FormCopy, a_named_dimension_of_one_stays) {
    StorageMap from = StorageMap::row_major({1, 4, 5}), to = from;
    to.order = {0, 2, 1};
    EXPECT_EQ(form_copy(from, to, DType::float32, {1, 4, 5}).arena->axis_count(), 2u);
    Kernel kernel = form_copy(from, to, DType::float32, {2, 4, 5}, {true, false, false});
    EXPECT_TRUE(verify(kernel));
    ASSERT_EQ(kernel.arena->axis_count(), 3u);
    EXPECT_TRUE(kernel.axis(AxisId(0)).named);
    EXPECT_EQ(kernel.hint(AxisId(0)), 2);
    EXPECT_FALSE(kernel.axis(AxisId(1)).named);
}

TEST(FormCopy, a_scalar) {
    StorageMap map = StorageMap::row_major({});
    Kernel kernel = form_copy(map, map, DType::int64, {});
    EXPECT_TRUE(verify(kernel));
    EXPECT_EQ(kernel.arena->axis_count(), 0u);
}

}  // namespace
}  // namespace heddle::plan
