#include "random/random_template.h"

#include <algorithm>
#include <functional>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace heddle::random {
namespace {

constexpr int64_t most_points = 4'000;    // of an index, and of a local array for each of them
constexpr int64_t most_work = 1'500'000;  // points times those of reductions around an expression
constexpr int most_nodes = 32;            // of all expressions: what is compiled is what takes time

struct Extent {
    std::string text;
    int64_t value = 0;
};

struct Variable {
    std::string name;
    Extent extent;
};

// A tensor, a local array or a state. `given`: coordinates before those of `shape`, as "t0 - 1" of a state.
struct Array {
    std::string name;
    std::vector<std::string> given;
    std::vector<Extent> shape;
    bool integer = false;
    int64_t limit = 0;  // of an integer's values, where it may be an index
    bool tensor = false;
};

struct Scope {
    std::vector<Variable> variables;
    std::vector<Array> arrays;
    std::vector<std::string> scalars;
    int64_t points = 1;

    void add(const Variable& variable) {
        variables.push_back(variable);
        points *= std::max<int64_t>(variable.extent.value, 1);
    }
};

using Text = std::optional<std::string>;

bool contains(const std::vector<std::string>& list, const std::string& text) {
    return std::ranges::find(list, text) != list.end();
}

class Writer {
public:
    Writer(Choices& choices, std::string name, const std::vector<Operand>& operands)
        : choices_(choices), name_(std::move(name)) {
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
    Extent size_of(int64_t value) {
        for (const Extent& known : sizes_) {
            if (known.value == value && !choices_.once_in(5)) return known;
        }
        sizes_.push_back({fmt::format("$s{}", sizes_.size()), value});
        return sizes_.back();
    }
    std::string fresh(const char* letter) { return fmt::format("{}{}", letter, names_++); }

    // An extent for a new axis, so that the scope has no more than `limit` points.
    Extent extent(int64_t limit) {
        Extent made{"2", 2};
        switch (sizes_.empty() ? 2 : choices_.weighted({10, 2, 2})) {
        case 0: made = choices_.one_of(sizes_); break;
        case 1: {
            const Extent& size = choices_.one_of(sizes_);
            const int64_t more = 1 + choices_.below(3);
            if (choices_.once_in(2)) {
                made = {fmt::format("(2 * {})", size.text), 2 * size.value};
            } else {
                made = {fmt::format("({} + {})", size.text, more), size.value + more};
            }
            break;
        }
        default: {
            const int64_t value = std::array<int64_t, 5>{2, 3, 1, 5, 9}[static_cast<size_t>(choices_.below(5))];
            made = {std::to_string(value), value};
        }
        }
        if (scope_.points * std::max<int64_t>(made.value, 1) > limit) return {"1", 1};
        return made;
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
        scope_ = outside;
        const bool bare = left.size() == index_.size() && choices_.once_in(2);
        line(fmt::format("{} = {}", bare ? name : fmt::format("{}[{}]", name, fmt::join(left, ", ")), value));
        outputs_.push_back(fmt::format("{}: \"{}[{}]\"", name, whole ? "int64" : "$T", fmt::join(dimensions, ", ")));
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
    void write_state(const State& state, const Variable& step, const Scope& before) {
        const Scope inside = scope_;
        std::vector<std::string> left = {step.name};
        for (const Variable& axis : state.axes) {
            scope_.add(axis);
            left.push_back(fmt::format("{} < {}", axis.name, axis.extent.text));
        }
        std::string value, initial = state.integer ? "0" : "cast(0, $T)";
        if (state.integer) {
            value = argument(state.limit, 1);
        } else {
            std::vector<std::string> at = {step.name + " - 1"};
            for (const Variable& axis : state.axes) at.push_back(axis.name);
            const std::string previous = fmt::format("{}[{}]", state.name, fmt::join(at, ", "));
            switch (choices_.below(5)) {
            case 0: value = fmt::format("0.5 * {} + {}", previous, real(1)); break;
            case 1: value = fmt::format("max({}, {})", previous, real(2)); break;
            case 2: value = fmt::format("tanh({} + {})", previous, real(2)); break;
            case 3: value = fmt::format("({}) ? {} : {}", truth(1), previous, real(1)); break;
            default: value = fmt::format("clamp({}, -4, 4)", real(3)); break;
            }
            if (choices_.once_in(3)) {
                const Scope here = scope_;
                scope_ = before;
                for (const Variable& axis : state.axes) scope_.add(axis);
                initial = real(1);
                scope_ = here;
            }
        }
        scope_ = inside;
        line(fmt::format("{}[{}] = {} from {}", state.name, fmt::join(left, ", "), value, initial));
    }
    void scan() {
        const Variable step{fresh("t"), extent(2 * most_points)};
        line(fmt::format("scan {} < {}:", step.name, step.extent.text));
        const Scope before = scope_;
        indent_ += 2;
        scope_.add(step);
        const bool integer_fits = std::ranges::any_of(sizes_, [](const Extent& size) { return size.value > 0; });
        std::vector<State> states;
        for (size_t count = 1 + choices_.weighted({3, 2, 1}); count > 0; count--) {
            states.push_back(make_state(integer_fits));
            scope_.arrays.push_back(state_array(states.back(), {step.name + " - 1"}, {}));
        }
        if (choices_.once_in(3)) lets();
        const int64_t outputs_inside = choices_.below(2);
        for (const State& state : states) {
            write_state(state, step, before);
            scope_.arrays.push_back(state_array(state, {step.name}, {}));
        }
        for (int64_t i = 0; i < outputs_inside; i++) output({step}, choices_.once_in(4) ? 1 : 0);
        indent_ -= 2;
        scope_ = before;
        for (const State& state : states) {
            scope_.arrays.push_back(state_array(state, {}, {step.extent}));
            const std::string last = step.extent.value > 0 && choices_.once_in(2) ? step.extent.text + " - 1" : "-1";
            scope_.arrays.push_back(state_array(state, {last}, {}));
        }
        output({}, choices_.below(2));
    }

    // --- Coordinates ---

    std::vector<Variable> fitting(int64_t extent, bool same) {
        std::vector<Variable> list;
        for (const Variable& variable : scope_.variables) {
            if (same ? variable.extent.value == extent : variable.extent.value <= extent) list.push_back(variable);
        }
        return list;
    }
    // Inside of 0 to below `extent`, where there is such a coordinate.
    Text coordinate(const Extent& extent, int depth) {
        const std::vector<Variable> same = fitting(extent.value, true), any = fitting(extent.value, false);
        if (extent.value == 0) return same.empty() ? Text() : Text(choices_.one_of(same).name);
        const std::string last = fmt::format("{} - 1", extent.text);
        switch (choices_.weighted({12, 2, 1, 1, 1, 1, 1, 2, 1})) {
        case 0: break;
        case 1:
            if (any.empty()) break;
            return fmt::format("{} - {}", last, choices_.one_of(any).name);
        case 2: return std::to_string(choices_.below(std::min<int64_t>(extent.value, 4)));
        case 3: return fmt::format("clamp({}, 0, {})", integer(depth - 1), last);
        case 4: return fmt::format("({}) % {}", integer(depth - 1), extent.text);
        case 5: {
            if (scope_.variables.empty()) break;
            const Variable variable = choices_.one_of(scope_.variables);
            const int64_t divisor = 2 + choices_.below(3);
            if ((variable.extent.value + divisor - 1) / divisor > extent.value) break;
            return fmt::format("{} // {}", variable.name, divisor);
        }
        case 6: {
            if (any.empty()) break;
            const Variable a = choices_.one_of(any), b = choices_.one_of(any);
            const int64_t factor = 1 + choices_.below(3);
            const int64_t most = factor * (a.extent.value - 1) + b.extent.value - 1;
            if (a.name == b.name || a.extent.value == 0 || b.extent.value == 0 || most >= extent.value) break;
            return fmt::format("{} * {} + {}", factor, a.name, b.name);
        }
        case 7:
            if (Text found = indirect(extent, depth)) return found;
            break;
        default: return argument(extent, depth - 1);
        }
        if (!same.empty() && !choices_.once_in(6)) return choices_.one_of(same).name;
        if (!any.empty()) return choices_.one_of(any).name;
        return std::to_string(choices_.below(std::min<int64_t>(extent.value, 4)));
    }
    Text indirect(const Extent& extent, int depth) {
        std::vector<Array> indices;
        for (const Array& array : scope_.arrays) {
            if (array.integer && array.limit > 0 && array.limit <= extent.value) indices.push_back(array);
        }
        return indices.empty() || depth < 0 ? Text() : read(choices_.one_of(indices), depth - 1);
    }
    Text read(const Array& array, int depth) {
        std::vector<std::string> at = array.given;
        for (const Extent& extent : array.shape) {
            const Text one = coordinate(extent, depth);
            if (!one) return {};
            at.push_back(*one);
        }
        return fmt::format("{}[{}]", array.name, fmt::join(at, ", "));
    }
    Text read_any(bool integer, int depth) {
        std::vector<Array> fitting;
        for (const Array& array : scope_.arrays) {
            if (array.integer == integer) fitting.push_back(array);
        }
        for (int tries = 0; tries < 3 && !fitting.empty(); tries++) {
            // What was made last is what tells most.
            const auto back = static_cast<size_t>(choices_.below(static_cast<int64_t>(fitting.size())));
            if (Text found = read(fitting[fitting.size() - 1 - back], depth)) return found;
        }
        return {};
    }

    // --- Expressions ---

    std::string number() { return choices_.one_of(std::vector<std::string>{"1", "0", "2", "0.5", "-1", "-0.25", "3"}); }

    std::string leaf() {
        if (!scope_.scalars.empty() && choices_.once_in(3)) return choices_.one_of(scope_.scalars);
        if (Text found = read_any(false, 1)) return *found;
        if (!scope_.scalars.empty()) return choices_.one_of(scope_.scalars);
        return fmt::format("cast({}, $T)", scope_.variables.empty() ? "1" : choices_.one_of(scope_.variables).name);
    }

    // Of the template's float type, and an element: no static value.
    std::string real(int depth) {
        if (depth <= 0 || --nodes_ < 0) return leaf();
        switch (choices_.weighted({5, 6, 3, 6, 2, 2, 2, 1, 1, 1})) {
        case 0: return leaf();
        case 1: return binary(depth);
        case 2: return unary(depth);
        case 3: return reduction(depth);
        case 4: return fmt::format("({} ? {} : {})", truth(depth - 1), real(depth - 1), operand(depth - 1));
        case 5: return guarded(depth);
        case 6: return window();
        case 7: return fmt::format("cast({}, $T)", integer(depth - 1));
        case 8: return fmt::format("{} / (1 + abs({}))", leaf(), real(depth - 1));
        default: return list(depth);
        }
    }
    std::string operand(int depth) { return choices_.once_in(4) ? number() : real(depth); }

    std::string binary(int depth) {
        const std::string a = real(depth - 1), b = operand(depth - 1);
        switch (choices_.below(5)) {
        case 0: return fmt::format("({} + {})", a, b);
        case 1: return fmt::format("{} * {}", a, b);
        case 2: return fmt::format("({} - {})", a, b);
        case 3: return fmt::format("max({}, {})", a, b);
        default: return fmt::format("min({}, {})", a, b);
        }
    }
    std::string unary(int depth) {
        const std::string a = real(depth - 1);
        switch (choices_.below(8)) {
        case 0: return fmt::format("(-{})", a);
        case 1: return fmt::format("tanh({})", a);
        case 2: return fmt::format("abs({})", a);
        case 3: return fmt::format("exp(min({}, 2))", a);
        case 4: return fmt::format("sigmoid({})", a);
        case 5: return fmt::format("floor({})", a);
        case 6: return fmt::format("sqrt(abs({}))", a);
        default: return fmt::format("log(1 + abs({}))", a);
        }
    }
    // Binds variables, calls `inside`, and forgets them: "k0 < $s0, k1 < 3".
    std::string over(const std::function<void()>& inside) {
        const Scope outside = scope_;
        std::string text;
        if (choices_.once_in(8)) {
            const std::string name = fresh("k");
            scope_.add({name + "[0]", {"2", 2}});
            scope_.add({name + "[1]", {"3", 3}});
            text = name + " < [2, 3]";
        } else {
            for (int64_t count = choices_.once_in(4) ? 2 : 1; count > 0; count--) {
                const Variable variable{fresh("k"), extent(most_work)};
                scope_.add(variable);
                text += fmt::format("{}{} < {}", text.empty() ? "" : ", ", variable.name, variable.extent.text);
            }
        }
        inside();
        scope_ = outside;
        return text;
    }
    std::string reduction(int depth) {
        static const std::vector<std::string> reducers = {"sum", "sum", "sum", "max", "min", "mean", "prod"};
        const std::string reducer = choices_.one_of(reducers);
        std::string filter, value;
        const std::string variables = over([&] {
            if (reducer != "mean" && choices_.once_in(4)) filter = fmt::format(" if {}", truth(depth - 1));
            value = reducer == "sum" && choices_.once_in(2) ? fmt::format("{} * {}", leaf(), leaf()) : real(depth - 1);
        });
        return fmt::format("{}({}{} : {})", reducer, variables, filter, value);
    }
    // Where an integer below `extent` comes from an order.
    std::string argument(const Extent& extent, int depth) {
        const Scope outside = scope_;
        const Variable variable{fresh("k"), extent};
        scope_.add(variable);
        const std::string value = scope_.points > most_work ? leaf() : real(std::min(depth, 2));
        scope_ = outside;
        return fmt::format("{}({} < {} : {})", choices_.once_in(3) ? "argmin" : "argmax", variable.name, extent.text,
                           value);
    }
    // A read beside its tensor's end: by ??, or behind a condition.
    std::string guarded(int depth) {
        std::vector<Array> tensors;
        for (const Array& array : scope_.arrays) {
            if (array.tensor && !array.integer && !array.shape.empty()) tensors.push_back(array);
        }
        if (tensors.empty() || scope_.variables.empty()) return leaf();
        const Array& array = choices_.one_of(tensors);
        const auto moved = static_cast<size_t>(choices_.below(static_cast<int64_t>(array.shape.size())));
        const Variable variable = choices_.one_of(scope_.variables);
        const int64_t by = choices_.below(5) - 2;
        const bool indices = choices_.once_in(3);
        std::vector<std::string> at;
        for (size_t d = 0; d < array.shape.size(); d++) {
            Text one = d == moved ? Text(fmt::format("{} {} {}", variable.name, by < 0 ? "-" : "+", std::abs(by)))
                                  : coordinate(array.shape[d], 0);
            if (Text found = indices ? indirect({"", INT64_MAX}, 0) : Text()) one = found;
            if (!one) one = variable.name;
            at.push_back(*one);
        }
        const std::string text = fmt::format("{}[{}]", array.name, fmt::join(at, ", "));
        const bool inside = variable.extent.value <= array.shape[moved].value;
        if (indices || !inside || choices_.once_in(2)) return fmt::format("({} ?? {})", text, number());
        for (size_t d = 0; d < array.shape.size(); d++) {
            if (d != moved && array.shape[d].value == 0) return fmt::format("({} ?? {})", text, number());
        }
        const std::string condition = by < 0 ? fmt::format("{} >= {}", variable.name, -by)
                                             : fmt::format("{} + {} < {}", variable.name, by, array.shape[moved].text);
        return fmt::format("({} ? {} : {})", condition, text, operand(depth - 1));
    }
    // A reduction over neighbours, of which those outside are something else, or left out.
    std::string window() {
        std::vector<Array> tensors;
        for (const Array& array : scope_.arrays) {
            if (array.tensor && !array.integer && !array.shape.empty()) tensors.push_back(array);
        }
        if (tensors.empty() || scope_.variables.empty() || scope_.points * 3 > most_work) return leaf();
        const Array& array = choices_.one_of(tensors);
        const auto moved = static_cast<size_t>(choices_.below(static_cast<int64_t>(array.shape.size())));
        const Variable variable = choices_.one_of(scope_.variables);
        const std::string neighbour = fresh("a");
        const std::string place = fmt::format("{} + {} - 1", variable.name, neighbour);
        std::vector<std::string> at;
        for (size_t d = 0; d < array.shape.size(); d++) {
            const Text one = d == moved ? Text(place) : coordinate(array.shape[d], 0);
            if (!one) return leaf();
            at.push_back(*one);
        }
        const std::string read = fmt::format("{}[{}]", array.name, fmt::join(at, ", "));
        if (choices_.once_in(2))
            return fmt::format("{}({} < 3 : {} ?? 0)", choices_.once_in(2) ? "max" : "sum", neighbour, read);
        return fmt::format("{}({} < 3 if {} >= 0 && {} < {} : {})", choices_.once_in(2) ? "max" : "sum", neighbour,
                           place, place, array.shape[moved].text, read);
    }
    std::string list(int depth) {
        const std::string name = fresh("d");
        const Scope outside = scope_;
        scope_.add({name, {"2", 2}});
        const std::string each = real(depth - 1);
        scope_ = outside;
        return fmt::format("{}([{} for {} < 2])", choices_.once_in(2) ? "max" : "sum", each, name);
    }

    std::string integer(int depth) {
        if (depth <= 0 || --nodes_ < 0) {
            if (choices_.once_in(2)) {
                if (Text found = read_any(true, 0)) return *found;
            }
            return scope_.variables.empty() ? std::to_string(choices_.below(4))
                                            : choices_.one_of(scope_.variables).name;
        }
        const std::string a = integer(depth - 1);
        switch (choices_.below(6)) {
        case 0: return fmt::format("({} + {})", a, choices_.below(4));
        case 1: return fmt::format("({} - {})", a, integer(depth - 1));
        case 2: return fmt::format("{} * {}", 1 + choices_.below(3), a);
        case 3: return fmt::format("({}) // {}", a, 1 + choices_.below(4));
        case 4: return fmt::format("max({}, {})", a, choices_.below(3));
        default: {
            std::string filter;
            const std::string variables = over([&] { filter = truth(depth - 1); });
            return fmt::format("count({} if {} : true)", variables, filter);
        }
        }
    }
    std::string truth(int depth) {
        static const std::vector<std::string> orders = {"<", "<=", ">", ">=", "==", "!="};
        switch (depth <= 0 ? choices_.below(2) : choices_.below(5)) {
        case 0: return fmt::format("{} {} {}", leaf(), choices_.one_of(orders), number());
        case 1: return fmt::format("{} {} {}", integer(0), choices_.one_of(orders), choices_.below(3));
        case 2: return fmt::format("{} {} {}", real(depth - 1), choices_.one_of(orders), real(depth - 1));
        case 3: return fmt::format("({} {} {})", truth(depth - 1), choices_.once_in(2) ? "&&" : "||", truth(depth - 1));
        default: {
            std::string inside;
            const std::string variables = over([&] { inside = truth(depth - 1); });
            return fmt::format("{}({} : {})", choices_.once_in(2) ? "any" : "all", variables, inside);
        }
        }
    }

    Choices& choices_;
    std::string name_;
    DType real_ = DType::float32;
    std::vector<Extent> sizes_;
    std::vector<std::string> inputs_, axes_, outputs_;
    std::vector<Type> types_;
    std::vector<Variable> index_;
    Scope scope_;
    std::string body_;
    size_t indent_ = 0;
    int names_ = 0, nodes_ = most_nodes;
};

}  // namespace

RandomTemplate random_template(Choices& choices, const std::string& name, const std::vector<Operand>& operands) {
    return Writer(choices, name, operands).write();
}

}  // namespace heddle::random
