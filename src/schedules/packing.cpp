#include "schedules/packing.h"

namespace heddle::schedules {
namespace {

// In a map's text: equal maps are equal for all numbers of the names.
std::string written(const Size& size) {
    return size.named() ? size.origin()->spelled() : std::to_string(size.number());
}

// The packed buffer's dimensions: outer ..., panels, inner ..., the panel; each an axis of the copy.
class PackingBuilder {
public:
    PackingBuilder(const Kernel& kernel, const PackedOperand& operand)
        : kernel_(kernel), operand_(operand), arena_(*packing_.copy.arena), axes_(operand.read->parts().size()) {}

    Packing build() {
        packing_.tensor = operand_.tensor;
        const KernelTensor& source = kernel_.tensor(operand_.tensor);
        packing_.constant = source.constant;
        packing_.dtype = source.dtype;
        add_source(source);
        for (int dimension : operand_.outer) add_dimension(dimension);
        add_panels();
        for (int dimension : operand_.inner) add_dimension(dimension);
        add_numbers();
        lanes_ = add_axis({.extent = operand_.panel});
        add_packed(source);
        add_copy(source);
        return std::move(packing_);
    }

private:
    Expr coordinate(int dimension) const { return operand_.read->parts()[static_cast<size_t>(dimension)]; }

    Axis axis_of(int dimension) const {
        const AxisId axis = lone_axis(coordinate(dimension));
        return {.extent = kernel_.axis(axis).extent, .named = kernel_.axis(axis).named, .hint = kernel_.hint(axis)};
    }

    void add_source(const KernelTensor& source) {
        KernelTensor tensor = source;
        tensor.role = KernelTensor::Role::input;
        tensor.shares = no_id;
        // Copies that differ in what they copy only are one kernel.
        tensor.name = "source";
        packing_.copy.tensors.push_back(tensor);
        for (const BufferDimension& d : source.dimensions) {
            packing_.map +=
                (packing_.map.empty() ? "" : " ") + written(d.extent) + "*" + written(d.stride);
        }
        packing_.map += " panel " + std::to_string(operand_.panel) + ":";
    }

    AxisId add_axis(Axis axis) {
        axis.name = std::string(1, static_cast<char>('a' + arena_.axis_count() % 26));
        const AxisId id = packing_.copy.add_axis(std::move(axis));
        packing_.copy.common.push_back(id);
        return id;
    }

    void add_dimension(int dimension) {
        axes_[static_cast<size_t>(dimension)] = add_axis(axis_of(dimension));
        packing_.map += " " + std::to_string(dimension) + "/" + written(axis_of(dimension).extent);
        const CoordinateParts parts = parts_of(coordinate(dimension));
        if (!parts.axes[0].second.same_as(1)) packing_.map += "*" + written(parts.axes[0].second);
        if (!parts.constant.same_as(0)) packing_.map += "+" + written(parts.constant);
    }

    void add_panels() {
        Axis panels = axis_of(operand_.lane_dimension);
        auto divide = [&](const Size& n) { return ceil_divide(greater(0, n), operand_.panel); };
        packing_.map += " [" + std::to_string(operand_.lane_dimension) + "/" + written(panels.extent) + "]";
        if (!first_lane().same_as(0)) packing_.map += "+" + written(first_lane());
        panels.extent = divide(panels.extent);
        panels.hint = divide(panels.hint).number();
        axes_[static_cast<size_t>(operand_.lane_dimension)] = add_axis(panels);
    }

    void add_packed(const KernelTensor& source) {
        KernelTensor packed;
        packed.name = "packed";
        packed.role = KernelTensor::Role::output;
        packed.dtype = source.dtype;
        Size stride = 1;
        for (size_t i = packing_.copy.common.size(); i-- > 0;) {
            const Size extent = greater(0, packing_.copy.axis(packing_.copy.common[i]).extent);
            packed.dimensions.insert(packed.dimensions.begin(), BufferDimension{extent, stride, 0, 0});
            stride *= extent;
        }
        packing_.elements = stride;
        packing_.copy.tensors.push_back(packed);
    }

    // A dimension that no axis moves is copied at one number.
    void add_numbers() {
        for (size_t d = 0; d < axes_.size(); d++) {
            Expr c = coordinate(static_cast<int>(d));
            if (c->kind == Kind::integer) packing_.map += " " + std::to_string(d) + "=" + written(c->integer);
        }
    }

    // Where the copy reads; of lanes the panel.
    Expr place(size_t dimension) const {
        const CoordinateParts parts = parts_of(coordinate(static_cast<int>(dimension)));
        Expr constant = arena_.integer(parts.constant);
        return parts.axes.empty() ? constant
                                  : arena_.add(constant, arena_.axis_value(axes_[dimension]), parts.axes[0].second);
    }

    // Lanes may be a part of the dimension, such as a place's of all columns.
    Size first_lane() const { return parts_of(coordinate(operand_.lane_dimension)).constant; }

    // Beyond the last lane the panel holds zeros.
    void add_copy(const KernelTensor& source) {
        auto lane = static_cast<size_t>(operand_.lane_dimension);
        BufferDimension& dimension = packing_.copy.tensors[0].dimensions[lane];
        dimension.extent = lesser(dimension.extent, first_lane() + greater(0, axis_of(operand_.lane_dimension).extent));
        dimension.margin_before = dimension.margin_after = 0;
        KernelEquation copy{.tensor = TensorIndex(1), .axes = packing_.copy.common};
        for (AxisId axis : copy.axes) copy.left.push_back(arena_.axis_value(axis));
        std::vector<Expr> at;
        for (size_t d = 0; d < axes_.size(); d++) at.push_back(d == lane ? arena_.axis_value(axes_[d]) : place(d));
        at[lane] = arena_.add(arena_.axis_value(lanes_), at[lane], operand_.panel);
        if (!first_lane().same_as(0)) at[lane] = arena_.add(at[lane], arena_.integer(first_lane()));
        Expr zero = is_float(source.dtype) ? arena_.real(source.dtype, 0) : arena_.literal(source.dtype, 0);
        const TensorIndex from(0);
        copy.right = arena_.guarded_read(from, source.dtype, std::move(at), zero, packing_.copy.readable(from).shape);
        packing_.copy.equations.push_back(std::move(copy));
    }

    const Kernel& kernel_;
    const PackedOperand& operand_;
    Packing packing_;
    Arena& arena_;
    std::vector<AxisId> axes_;  // of the copy, by dimension of the source; of lanes the panels
    AxisId lanes_ = no_id;      // within a panel
};

}  // namespace

Packing make_packing(const Kernel& kernel, const PackedOperand& operand) {
    return PackingBuilder(kernel, operand).build();
}

}  // namespace heddle::schedules
