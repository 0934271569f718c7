#include "schedules/packing.h"

namespace heddle::schedules {
namespace {

// The packed buffer's dimensions: outer ..., panels, inner ..., the panel; each an axis of the copy.
class PackingBuilder {
public:
    PackingBuilder(const Kernel& kernel, const PackedOperand& operand)
        : kernel_(kernel), operand_(operand), coordinates_(kernel.value(operand.read).coordinates) {}

    Packing build() {
        packing_.tensor = operand_.tensor;
        const KernelTensor& source = kernel_.tensor(operand_.tensor);
        packing_.constant = source.constant;
        packing_.dtype = source.dtype;
        add_source(source);
        for (int dimension : operand_.outer) add_dimension(dimension);
        add_panels();
        for (int dimension : operand_.inner) add_dimension(dimension);
        add_lanes();
        add_packed(source);
        add_copy(source);
        return std::move(packing_);
    }

private:
    const KernelAxis& axis_of(int dimension) const {
        return kernel_.axis(plain_axis(coordinates_[static_cast<size_t>(dimension)]));
    }

    void add_source(const KernelTensor& source) {
        KernelTensor tensor = source;
        tensor.role = KernelTensor::Role::input;
        // Copies that differ in what they copy only are one kernel.
        tensor.name = "source";
        packing_.copy.tensors.push_back(tensor);
        read_.resize(coordinates_.size());
        for (const BufferDimension& d : source.dimensions) {
            packing_.map +=
                (packing_.map.empty() ? "" : " ") + std::to_string(d.extent) + "*" + std::to_string(d.stride);
        }
        packing_.map += " panel " + std::to_string(operand_.panel) + ":";
    }

    AxisIndex add_axis(const KernelAxis& axis) {
        packing_.copy.axes.push_back(axis);
        auto index = static_cast<AxisIndex>(packing_.copy.axes.size() - 1);
        packing_.copy.axes.back().name = std::string(1, static_cast<char>('a' + index % 26));
        left_.push_back({0, {{index, 1}}, {}});
        return index;
    }

    void add_dimension(int dimension) {
        AxisIndex axis = add_axis(axis_of(dimension));
        read_[static_cast<size_t>(dimension)].axes.push_back({axis, 1});
        packing_.map += " " + std::to_string(dimension) + "/" + std::to_string(axis_of(dimension).extent);
    }

    void add_panels() {
        KernelAxis panels = axis_of(operand_.lane_dimension);
        auto divide = [&](int64_t n) { return (std::max<int64_t>(0, n) + operand_.panel - 1) / operand_.panel; };
        packing_.map += " [" + std::to_string(operand_.lane_dimension) + "/" + std::to_string(panels.extent) + "]";
        panels.extent = divide(panels.extent);
        panels.hint = divide(panels.hint);
        AxisIndex axis = add_axis(panels);
        read_[static_cast<size_t>(operand_.lane_dimension)].axes.push_back({axis, operand_.panel});
    }

    void add_lanes() {
        KernelAxis lanes;
        lanes.extent = lanes.hint = operand_.panel;
        AxisIndex axis = add_axis(lanes);
        read_[static_cast<size_t>(operand_.lane_dimension)].axes.push_back({axis, 1});
    }

    void add_packed(const KernelTensor& source) {
        KernelTensor packed;
        packed.name = "packed";
        packed.role = KernelTensor::Role::output;
        packed.dtype = source.dtype;
        int64_t stride = 1;
        for (size_t i = packing_.copy.axes.size(); i-- > 0;) {
            int64_t extent = std::max<int64_t>(0, packing_.copy.axes[i].extent);
            packed.dimensions.insert(packed.dimensions.begin(), BufferDimension{extent, stride, 0, 0});
            stride *= extent;
        }
        packing_.elements = stride;
        packing_.copy.tensors.push_back(packed);
    }

    // Beyond the last lane the panel holds zeros.
    void add_copy(const KernelTensor& source) {
        Value zero;
        zero.kind = is_float(source.dtype) ? Value::Kind::real : Value::Kind::integer;
        zero.dtype = source.dtype;
        auto lane = static_cast<size_t>(operand_.lane_dimension);
        BufferDimension& dimension = packing_.copy.tensors[0].dimensions[lane];
        dimension.extent = std::min(dimension.extent, std::max<int64_t>(0, axis_of(operand_.lane_dimension).extent));
        dimension.margin_before = dimension.margin_after = 0;
        Value read;
        read.kind = Value::Kind::guarded_read;
        read.dtype = source.dtype;
        read.tensor = 0;
        read.operands = {0};
        read.coordinates = read_;
        packing_.copy.values = {zero, read};
        KernelEquation copy;
        copy.tensor = 1;
        for (size_t i = 0; i < packing_.copy.axes.size(); i++) {
            copy.axes.push_back(static_cast<AxisIndex>(i));
            packing_.copy.common.push_back(static_cast<AxisIndex>(i));
        }
        copy.left = left_;
        copy.right = 1;
        packing_.copy.equations.push_back(copy);
    }

    const Kernel& kernel_;
    const PackedOperand& operand_;
    const std::vector<Coordinate>& coordinates_;
    std::vector<Coordinate> read_, left_;
    Packing packing_;
};

}  // namespace

Packing make_packing(const Kernel& kernel, const PackedOperand& operand) {
    return PackingBuilder(kernel, operand).build();
}

}  // namespace heddle::schedules
