// Axes are merged where every access runs through both as through one, and only there.
#include <gtest/gtest.h>

#include "plan/kernel_former.h"
#include "plan/merge_axes.h"

namespace heddle::plan {
namespace {

using namespace schedules;

struct Dimension {
    AxisIndex axis;
    BufferDimension storage;
};

// out[...] = in[...] over all axes, each dimension at one axis.
struct CopyKernel {
    Kernel kernel;
    std::vector<std::vector<int64_t>> hints;

    explicit CopyKernel(std::vector<KernelAxis> axes) { kernel.axes = std::move(axes); }

    void tensor(KernelTensor::Role role, const std::vector<Dimension>& dimensions) {
        KernelTensor tensor{.name = "t", .role = role, .dtype = DType::float32};
        std::vector<Coordinate> coordinates;
        std::vector<int64_t> strides;
        for (const Dimension& d : dimensions) {
            tensor.dimensions.push_back(d.storage);
            coordinates.push_back({.axes = {{d.axis, 1}}});
            strides.push_back(d.storage.stride);
        }
        kernel.tensors.push_back(tensor);
        hints.push_back(strides);
        (role == KernelTensor::Role::input ? in : out) = coordinates;
    }

    // Extents of the axes that are left, after the whole treatment.
    std::vector<int64_t> merged() {
        kernel.values.push_back(
            {.kind = guarded ? Value::Kind::guarded_read : Value::Kind::read, .tensor = 0, .coordinates = in});
        if (guarded) {
            kernel.values.push_back({.kind = Value::Kind::real});
            kernel.values[0].operands = {1};
        }
        KernelEquation equation{.tensor = 1, .left = out, .right = 0};
        for (AxisIndex a = 0; a < static_cast<AxisIndex>(kernel.axes.size()); a++) equation.axes.push_back(a);
        kernel.common = equation.axes;
        kernel.equations.push_back(equation);
        merge_axes(kernel, hints);
        name_axes(kernel);
        std::vector<int64_t> extents;
        for (const KernelAxis& axis : kernel.axes) extents.push_back(axis.extent);
        return extents;
    }

    std::vector<Coordinate> in, out;
    bool guarded = false;
};

constexpr auto input = KernelTensor::Role::input, output = KernelTensor::Role::output;

KernelAxis axis(int64_t extent) { return {.extent = extent, .hint = extent}; }
KernelAxis named(int64_t extent, int64_t hint) { return {.extent = extent, .hint = hint, .named = true}; }

TEST(MergeAxes, both_row_major) {
    CopyKernel copy({axis(3), axis(4), axis(5)});
    copy.tensor(input, {{0, {3, 20}}, {1, {4, 5}}, {2, {5, 1}}});
    copy.tensor(output, {{0, {3, 20}}, {1, {4, 5}}, {2, {5, 1}}});
    EXPECT_EQ(copy.merged(), std::vector<int64_t>{60});
    EXPECT_EQ(copy.kernel.tensors[0].dimensions.size(), 1u);
    EXPECT_EQ(copy.kernel.tensors[0].dimensions[0].stride, 1);
    EXPECT_EQ(copy.kernel.tensors[0].dimensions[0].extent, 60);
    EXPECT_EQ(copy.kernel.axes[0].name, "a");
    EXPECT_EQ(copy.kernel.axes[0].hint, 60);
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
    // Nothing uses the value, but as long as it is there it speaks of the axis.
    copy.kernel.values = {};
    auto extents = [&] {
        copy.kernel.values.push_back({.kind = Value::Kind::read, .tensor = 0, .coordinates = copy.in});
        copy.kernel.values.push_back(
            {.kind = Value::Kind::coordinate, .dtype = DType::int64, .coordinates = {{.axes = {{1, 1}}}}});
        copy.kernel.equations.push_back({.tensor = 1, .axes = {0, 1}, .left = copy.out, .right = 0});
        merge_axes(copy.kernel, copy.hints);
        name_axes(copy.kernel);
        return copy.kernel.axes.size();
    }();
    EXPECT_EQ(extents, 2u);
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
        EXPECT_TRUE(copy.kernel.axes[0].named);
        EXPECT_EQ(copy.kernel.axes[0].hint, 8);
    }
}

TEST(NameAxes, by_first_use_and_without_unused) {
    Kernel kernel;
    kernel.axes = {axis(2), axis(3), axis(4)};
    kernel.tensors = {{.name = "t", .role = input, .dimensions = {{4, 2}, {2, 1}}},
                      {.name = "u", .role = output, .dimensions = {{4, 1}}}};
    kernel.values.push_back(
        {.kind = Value::Kind::read, .tensor = 0, .coordinates = {{.axes = {{2, 1}}}, {.axes = {{0, 1}}}}});
    kernel.equations.push_back(
        {.tensor = 1, .axes = {2}, .left = {{.axes = {{2, 1}}}}, .reducer = Reducer::sum, .reduced = {0}, .right = 0});
    kernel.common = {2, 1};
    name_axes(kernel);
    ASSERT_EQ(kernel.axes.size(), 2u);
    EXPECT_EQ(kernel.axes[0].extent, 4);
    EXPECT_EQ(kernel.axes[0].name, "a");
    EXPECT_EQ(kernel.axes[1].extent, 2);
    EXPECT_EQ(kernel.axes[1].name, "b");
    EXPECT_EQ(kernel.common, std::vector<AxisIndex>{0});
    EXPECT_EQ(kernel.equations[0].reduced, std::vector<AxisIndex>{1});
    EXPECT_EQ(kernel.values[0].coordinates[1].axes[0].first, 1);
}

// ---- copies between maps ------------------------------------------------------------------------------------------

TEST(FormCopy, equal_maps_are_one_run) {
    StorageMap map = StorageMap::row_major({3, 4, 5});
    Kernel kernel = form_copy(map, map, DType::float32, {3, 4, 5});
    EXPECT_TRUE(verify(kernel));
    ASSERT_EQ(kernel.axes.size(), 1u);
    EXPECT_EQ(kernel.axes[0].extent, 60);
}

TEST(FormCopy, to_channels_last_with_margins) {
    StorageMap from = StorageMap::row_major({2, 3, 4, 5}), to = from;
    to.order = {0, 2, 3, 1};
    to.margin_before = {0, 0, 1, 1};
    to.margin_after = {0, 0, 1, 1};
    Kernel kernel = form_copy(from, to, DType::float32, {2, 3, 4, 5});
    auto fine = verify(kernel);
    EXPECT_TRUE(fine) << render(fine.error());
    EXPECT_EQ(kernel.axes.size(), 4u) << "rows are broken by the margin";
    EXPECT_EQ(kernel.tensors[0].role, input);
    EXPECT_EQ(kernel.tensors[1].role, output);
    // The order of loops is the target's.
    EXPECT_EQ(kernel.axes.back().extent, 3);
}

TEST(FormCopy, a_named_dimension_of_one_stays) {
    StorageMap from = StorageMap::row_major({1, 4, 5}), to = from;
    to.order = {0, 2, 1};
    EXPECT_EQ(form_copy(from, to, DType::float32, {1, 4, 5}).axes.size(), 2u);
    Kernel kernel = form_copy(from, to, DType::float32, {2, 4, 5}, {true, false, false});
    EXPECT_TRUE(verify(kernel));
    ASSERT_EQ(kernel.axes.size(), 3u);
    EXPECT_TRUE(kernel.axes[0].named);
    EXPECT_EQ(kernel.axes[0].hint, 2);
    EXPECT_FALSE(kernel.axes[1].named);
}

TEST(FormCopy, a_scalar) {
    StorageMap map = StorageMap::row_major({});
    Kernel kernel = form_copy(map, map, DType::int64, {});
    EXPECT_TRUE(verify(kernel));
    EXPECT_TRUE(kernel.axes.empty());
}

}  // namespace
}  // namespace heddle::plan
