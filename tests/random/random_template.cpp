#include "random/random_template.h"

#include <algorithm>
#include <functional>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "random/random_expression.h"

namespace heddle::random {
namespace {

bool contains(const std::vector<std::string>& list, const std::string& text) {
    return std::ranges::find(list, text) != list.end();
}

class Writer : private ExpressionWriter {
public:
    Writer(Choices& choices, std::string name, const std::vector<Operand>& operands)
        : ExpressionWriter(choices), name_(std::move(name)) {
        for (const Operand& operand : operands) add_operand(operand);
    }

    RandomTemplate write() {
        const size_t form = choices_.weighted({6, 4, 2, 2, 5, 3});
        choose_index(form >= 3 ? 2 : 3);
        switch (form) {
        case 0: pointwise(); break;
        case 1: rows(); break;
        case 2: scatter(); break;
        case 3: block(); break;
        case 4: scan(); break;
        default: scan(); scan();
        }
        RandomTemplate made;
        made.text = fmt::format("{}:\n  inputs: {{{}}}\n  index: \"[{}]\"\n  outputs: {{{}}}\n  body: |\n{}", name_,
                                fmt::join(inputs_, ", "), fmt::join(axes_, ", "), fmt::join(outputs_, ", "), body_);
        made.outputs = types_;
        return made;
    }

private:
    // --- What there is ---

    void add_operand(const Operand& operand) {
        const bool real = is_float(operand.type.dtype);
        if (real) real_ = operand.type.dtype;
        Array array{
            .name = fmt::format("x{}", inputs_.size()), .integer = !real, .limit = operand.limit, .tensor = true};
        std::vector<std::string> dimensions;
        for (int64_t value : operand.type.shape) {
            array.shape.push_back(size_of(value));
            // A name that stands in one pattern twice says by parentheses that it asks for the same size.
            const std::string& name = array.shape.back().text;
            dimensions.push_back(contains(dimensions, name) ? fmt::format("({})", name) : name);
        }
        inputs_.push_back(
            fmt::format("{}: \"{}[{}]\"", array.name, real ? "$T" : "int64", fmt::join(dimensions, ", ")));
        scope_.arrays.push_back(std::move(array));
    }
    void choose_index(int64_t most) {
        for (int64_t rank = choices_.below(most + 1); rank > 0; rank--) {
            const std::string name = fmt::format("i{}", axes_.size());
            const Variable axis{"@" + name, extent(most_points)};
            axes_.push_back(fmt::format("{} = {}", name, axis.extent.text));
            scope_.add(axis);
            index_.push_back(axis);
        }
    }

    // --- Statements ---

    void line(const std::string& text) { body_ += std::string(4 + indent_, ' ') + text + "\n"; }

    void lets() {
        for (int64_t count = choices_.weighted({4, 2, 1}); count > 0; count--) {
            if (choices_.once_in(2)) {
                const std::string value = real(2), name = fresh("v");
                line(fmt::format("let {} = {}", name, value));
                scope_.scalars.push_back(name);
                continue;
            }
            const Variable axis{fresh("j"), extent(8 * most_points)};
            const Scope outside = scope_;
            scope_.add(axis);
            const std::string value = real(2), name = fresh("g");
            scope_ = outside;
            line(fmt::format("let {}[{} < {}] = {}", name, axis.name, axis.extent.text, value));
            scope_.arrays.push_back({.name = name, .shape = {axis.extent}});
        }
    }
    // Writes an output along the index, then `along`, then new names.
    void output(const std::vector<Variable>& along, int64_t others) {
        std::vector<std::string> left, dimensions;
        Type type;
        const Scope outside = scope_;
        auto dimension = [&](const Variable& variable) {
            left.push_back(variable.name);
            dimensions.push_back(variable.extent.text);
            type.shape.push_back(variable.extent.value);
        };
        for (const Variable& axis : index_) dimension(axis);
        for (const Variable& axis : along) dimension(axis);
        for (int64_t i = 0; i < others; i++) {
            const Variable axis{fresh("j"), extent(8 * most_points)};
            scope_.add(axis);
            dimension(axis);
        }
        const bool whole = choices_.once_in(8);
        type.dtype = whole ? DType::int64 : real_;
        const std::string name = fmt::format("y{}", outputs_.size());
        const std::string value = whole ? fmt::format("int64({})", integer(2)) : real(3);
        if (!whole && others == 0 && !left.empty() && choices_.once_in(8))
            return interleaved(left, dimensions, type, value, outside);
        scope_ = outside;
        const bool bare = left.size() == index_.size() && choices_.once_in(2);
        line(fmt::format("{} = {}", bare ? name : fmt::format("{}[{}]", name, fmt::join(left, ", ")), value));
        outputs_.push_back(fmt::format("{}: \"{}[{}]\"", name, whole ? "int64" : "$T", fmt::join(dimensions, ", ")));
        types_.push_back(std::move(type));
    }

    // Two equations that share the last dimension.
    void interleaved(std::vector<std::string> left, std::vector<std::string> dimensions, Type type,
                     const std::string& value, const Scope& outside) {
        const std::string name = fmt::format("y{}", outputs_.size()), last = left.back(), other = real(2);
        scope_ = outside;
        // By turns, or in halves; forwards or backwards.
        const bool turns = choices_.once_in(2), back = choices_.once_in(2), other_back = choices_.once_in(2);
        for (const auto& [phase, right] : {std::pair(0, value), std::pair(1, other)}) {
            const std::string at =
                (phase == 0 ? back : other_back) ? fmt::format("({} - 1 - {})", dimensions.back(), last) : last;
            left.back() = turns ? fmt::format("2 * {} + {}", at, phase)
                                : fmt::format("{} + {} * {}", at, phase, dimensions.back());
            line(fmt::format("{}[{}] = {}", name, fmt::join(left, ", "), right));
        }
        dimensions.back() = fmt::format("2 * {}", dimensions.back());
        type.shape.back() *= 2;
        outputs_.push_back(fmt::format("{}: \"$T[{}]\"", name, fmt::join(dimensions, ", ")));
        types_.push_back(std::move(type));
    }

    void pointwise() {
        if (choices_.once_in(2)) lets();
        for (int64_t count = choices_.once_in(3) ? 2 : 1; count > 0; count--) output({}, 0);
    }
    void rows() {
        lets();
        for (int64_t count = choices_.once_in(3) ? 2 : 1; count > 0; count--) output({}, 1 + choices_.below(2));
    }
    void block() {
        lets();
        const int64_t count = 2 + choices_.below(2);
        const Variable axis{fresh("c"), {std::to_string(count), count}};
        line(fmt::format("for {} < {}:", axis.name, count));
        const Scope outside = scope_;
        indent_ += 2;
        scope_.add(axis);
        if (choices_.once_in(2)) lets();
        output({axis}, choices_.once_in(4) ? 1 : 0);
        indent_ -= 2;
        scope_ = outside;
    }
    // Terms joined to the elements that indices choose.
    void scatter() {
        std::vector<const Array*> indices;
        for (const Array& array : scope_.arrays) {
            if (array.integer && array.shape.size() == 1) indices.push_back(&array);
        }
        if (indices.empty() || index_.empty()) return pointwise();
        const Array chosen = *choices_.one_of(indices);
        const Scope outside = scope_;
        const Variable term{fresh("k"), chosen.shape.front()};
        scope_.add(term);
        std::string filter = fmt::format("{}[{}] == {}", chosen.name, term.name, choices_.one_of(index_).name);
        if (choices_.once_in(3)) filter += fmt::format(" && {}", truth(1));
        const std::string value = real(2);
        scope_ = outside;
        const std::string reducer = choices_.one_of(std::vector<std::string>{"sum", "max", "min"});
        std::string right = fmt::format("{}({} < {} if {} : {})", reducer, term.name, term.extent.text, filter, value);
        if (choices_.once_in(2)) {
            right = reducer == "sum" ? fmt::format("{} + {}", real(1), right)
                                     : fmt::format("{}({}, {})", reducer, real(1), right);
        }
        line("y0 = " + right);
        std::vector<std::string> dimensions;
        Type type{real_, {}};
        for (const Variable& axis : index_) {
            dimensions.push_back(axis.extent.text);
            type.shape.push_back(axis.extent.value);
        }
        outputs_.push_back(fmt::format("y0: \"$T[{}]\"", fmt::join(dimensions, ", ")));
        types_.push_back(type);
    }

    // --- Scans ---

    struct State {
        std::string name;
        std::vector<Variable> axes;
        bool integer = false;
        bool changes = false;  // few elements a step
        Extent limit;
    };

    State make_state(bool integer_fits) {
        State state{.name = fresh("h")};
        if (integer_fits && choices_.once_in(5)) {
            state.integer = true;
            for (const Extent& size : sizes_) {
                if (size.value > 0) state.limit = size;
            }
        }
        state.changes = !state.integer && choices_.once_in(5);
        if (state.changes) state.axes.push_back({fresh("p"), {"80", 80}});
        if (!state.integer && choices_.once_in(3)) state.axes.push_back({fresh("j"), extent(most_points)});
        return state;
    }
    // The state at `step`, or at any of `steps`.
    static Array state_array(const State& state, std::vector<std::string> step, std::vector<Extent> steps) {
        Array array{.name = state.name, .given = std::move(step), .shape = std::move(steps)};
        for (const Variable& axis : state.axes) array.shape.push_back(axis.extent);
        array.integer = state.integer;
        array.limit = state.limit.value;
        return array;
    }
    // At one or two places of the first axis something new; elsewhere what there was.
    std::string changes(const State& state, const std::string& previous, const Scope& at_step) {
        const Scope here = scope_;
        std::string value = previous;
        for (int64_t count = 1 + choices_.below(2); count > 0; count--) {
            scope_ = at_step;
            const std::string place =
                fmt::format("{} * {} - {}", 1 + choices_.below(30), argument({"4", 4}, 1), choices_.below(4));
            scope_ = here;
            std::string condition = fmt::format("{} == {}", state.axes[0].name, place);
            if (choices_.once_in(3)) condition += " && " + truth(1);
            value = choices_.once_in(4) && value == previous
                        ? fmt::format("{} != {} ? {} : {}", state.axes[0].name, place, previous, real(2))
                        : fmt::format("{} ? {} : {}", condition, real(2), value);
        }
        return value;
    }
    static std::vector<std::string> names_of(const std::vector<Variable>& steps) {
        std::vector<std::string> names;
        for (const Variable& step : steps) names.push_back(step.name);
        return names;
    }
    // Of one axis the step before; of two a cell before, perhaps further on in its row.
    std::vector<std::string> before(const std::vector<Variable>& steps) {
        if (steps.size() == 1) return {steps[0].name + " - 1"};
        static const std::vector<std::pair<std::string, std::string>> cells = {
            {" - 1", ""}, {"", " - 1"}, {" - 1", " - 1"}, {" - 1", " + 1"}, {" - 2", ""}, {"", " - 2"}};
        const auto& [rows, columns] = cells[choices_.weighted({4, 4, 3, 1, 1, 1})];
        return {steps[0].name + rows, steps[1].name + columns};
    }
    void write_state(const State& state, const std::vector<Variable>& steps, const Scope& outside) {
        const Scope inside = scope_;
        std::vector<std::string> left = names_of(steps);
        for (const Variable& axis : state.axes) {
            scope_.add(axis);
            left.push_back(fmt::format("{} < {}", axis.name, axis.extent.text));
        }
        std::string value, initial = state.integer ? "0" : "cast(0, $T)";
        if (state.integer) {
            value = argument(state.limit, 1);
        } else {
            std::vector<std::string> at = before(steps);
            for (const Variable& axis : state.axes) at.push_back(axis.name);
            const std::string previous = fmt::format("{}[{}]", state.name, fmt::join(at, ", "));
            switch (choices_.below(7)) {
            case 0: value = fmt::format("0.5 * {} + {}", previous, real(1)); break;
            case 1: value = fmt::format("max({}, {})", previous, real(2)); break;
            case 2: value = fmt::format("tanh({} + {})", previous, real(2)); break;
            case 3: value = fmt::format("({}) ? {} : {}", truth(1), previous, real(1)); break;
            case 4: value = fmt::format("({}) ? {} : {} + {}", truth(1), real(1), previous, real(1)); break;
            case 5: value = fmt::format("{0} + 0.25 * ({1} - {0})", previous, real(1)); break;
            default: value = fmt::format("clamp({}, -4, 4)", real(3)); break;
            }
            if (state.changes) value = changes(state, previous, inside);
            if (!state.changes && choices_.once_in(4)) {
                if (steps.size() == 1) at[0] = fmt::format("{} - {}", steps[0].name, 2 + choices_.below(3));
                value =
                    fmt::format("0.5 * ({}) + 0.25 * ({}[{}] ?? {})", value, state.name, fmt::join(at, ", "), number());
            }
            if (choices_.once_in(3)) {
                const Scope here = scope_;
                scope_ = outside;
                for (const Variable& axis : state.axes) scope_.add(axis);
                initial = real(1);
                scope_ = here;
            }
        }
        scope_ = inside;
        line(fmt::format("{}[{}] = {} from {}", state.name, fmt::join(left, ", "), value, initial));
    }
    void scan() {
        const bool cells = choices_.once_in(4);
        std::vector<Variable> steps;
        for (int axis = 0; axis < (cells ? 2 : 1); axis++) steps.push_back({fresh("t"), extent(2 * most_points)});
        std::vector<std::string> axes;
        for (const Variable& step : steps) axes.push_back(fmt::format("{} < {}", step.name, step.extent.text));
        line(fmt::format("scan {}:", fmt::join(axes, ", ")));
        const size_t header_end = body_.size() - 2;
        const Scope outside = scope_;
        indent_ += 2;
        for (const Variable& step : steps) scope_.add(step);
        const bool integer_fits = std::ranges::any_of(sizes_, [](const Extent& size) { return size.value > 0; });
        std::vector<State> states;
        for (size_t count = 1 + choices_.weighted({3, 2, 1}); count > 0; count--) {
            states.push_back(make_state(integer_fits));
            scope_.arrays.push_back(state_array(states.back(), before(steps), {}));
        }
        if (choices_.once_in(3)) lets();
        const int64_t outputs_inside = choices_.below(2);
        for (const State& state : states) {
            write_state(state, steps, outside);
            scope_.arrays.push_back(state_array(state, names_of(steps), {}));
        }
        for (int64_t i = 0; i < outputs_inside; i++) output(steps, choices_.once_in(4) ? 1 : 0);
        if (!cells && choices_.once_in(6)) body_.insert(header_end, " until " + truth(2));
        indent_ -= 2;
        scope_ = outside;
        // Often only the last steps are read: then only these are kept.
        const bool whole = choices_.once_in(2), first = choices_.once_in(4);
        const bool any = std::ranges::all_of(steps, [](const Variable& step) { return step.extent.value > 0; });
        for (const State& state : states) {
            std::vector<Extent> extents;
            std::vector<std::string> begin, end;
            const int64_t back = 1 + choices_.weighted({6, 2, 1});
            bool there = any;
            for (const Variable& step : steps) {
                extents.push_back(step.extent);
                begin.push_back("-1");
                end.push_back(fmt::format("{} - {}", step.extent.text, cells ? 1 : back));
                there = there && (cells || step.extent.value >= back);
            }
            if (whole) scope_.arrays.push_back(state_array(state, {}, extents));
            if (first || !any) scope_.arrays.push_back(state_array(state, begin, {}));
            if (there) scope_.arrays.push_back(state_array(state, end, {}));
        }
        output({}, choices_.below(2));
    }

    std::string name_;
    DType real_ = DType::float32;
    std::vector<std::string> inputs_, axes_, outputs_;
    std::vector<Type> types_;
    std::vector<Variable> index_;
    std::string body_;
    size_t indent_ = 0;
};

}  // namespace

RandomTemplate random_template(Choices& choices, const std::string& name, const std::vector<Operand>& operands) {
    return Writer(choices, name, operands).write();
}

}  // namespace heddle::random
