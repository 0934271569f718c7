// Shape patterns against shapes: docs/language.md, "Shape patterns".
//
// Inputs are matched in the file's order; one whose counts need a variable that is not bound yet waits for the others.
// What must only be equal (expressions, names that are parameters or lets, what ~ joins) is compared afterwards.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "support/inline_vector.h"
#include "symbolic/environment_state.h"
#include "symbolic/failures.h"
#include "symbolic/operations.h"
#include "zspace/size.h"

namespace heddle {
namespace {

using Value = StaticValue;
using Kind = Syntax::Kind;

using Lengths = InlineVector<int64_t, 8>;

// One tensor that waits for its pattern.
struct Pending {
    size_t input = 0;
    size_t element = 0;  // of a variadic input
    bool matched = false;
    Lengths lengths;  // of the pattern's dimensions, once matched
};

// A dimension that must equal an expression, or a parameter or let of its name.
struct Comparison {
    const BoundTensor* tensor = nullptr;
    const Syntax* dimension = nullptr;
    Value found;
    int64_t first = 0;  // dimension of the tensor
};

// All that the tensors have where `~$name` stands.
struct Joint {
    struct Part {
        const BoundTensor* tensor = nullptr;
        const Syntax* dimension = nullptr;
        std::vector<Size> extents;
    };
    std::vector<Part> parts;
    int64_t waiting = 0;  // patterns with the name that are not matched yet
    bool list = false;    // ~$name...
};

class Matcher {
public:
    explicit Matcher(Environment& environment) : environment_(environment), state_(environment.state()) {}
    Result<void> match_all();

private:
    const Syntax& pattern(const Pending& pending) const { return *state_.inputs[pending.input].spec->shape; }
    BoundTensor& tensor(const Pending& pending) { return state_.inputs[pending.input].tensors[pending.element]; }
    bool collects(const Pending& pending) const { return state_.inputs[pending.input].spec->variadic; }

    void find_joints(const Syntax& pattern);
    Result<void> match_rounds();
    // Returns false if the pattern has to wait.
    Result<bool> match(Pending& pending);
    Result<std::optional<int64_t>> length_of(const Syntax& dimension);
    Result<void> bind_dimension(Pending& pending, const Syntax& dimension, int64_t first, int64_t length);
    Result<Lengths> member_lengths(const Pending& pending, const Syntax& group, int64_t length);
    Result<void> bind_group(Pending& pending, const Syntax& group, int64_t first, int64_t length);
    Result<void> bind(Pending& pending, const Syntax& dimension, int64_t first, Value value);
    Result<void> bind_collected(Pending& pending, const Syntax& dimension, int64_t first, Value value);
    Result<void> settle_joints();
    bool solve_one();
    std::optional<Size> solved(const Syntax& written, Size found, const Syntax*& unknown);
    Result<void> compare_all();
    Result<void> check_joint(const std::string& name, const Joint& joint, const std::vector<Size>& value);
    void describe_coordinates(const Pending& pending);
    void describe_joint(BoundTensor& tensor, const Syntax& dimension, int64_t first, int64_t length);

    Diagnostic rank_problem(const Pending& pending, int64_t known, bool open);
    Diagnostic conflict(const BoundTensor& tensor, const Syntax& dimension, int64_t first, const NameSlot& slot,
                        const Value& found);

    Environment& environment_;
    Environment::State& state_;
    std::vector<Pending> pending_;
    std::vector<Comparison> comparisons_;
    std::map<std::string, Joint> joints_;
    std::map<std::string, std::pair<int64_t, const BoundInput*>> counts_;  // of `$i` in [$i]
    std::string waits_for_;
    Place waits_at_;
};

Value sizes_value(const TensorType& type, int64_t first, int64_t length) {
    return Value::of_sizes(std::span(type.shape).subspan(static_cast<size_t>(first), static_cast<size_t>(length)));
}

std::string shape_text(const BoundTensor& tensor) {
    return sizes_value(tensor.type, 0, static_cast<int64_t>(tensor.type.shape.size())).print();
}

// The same value, where a name for a number wins over the number alone.
Value named_of(const Value& a, const Value& b) {
    if (a.is_integer()) return a.size().named() || !b.size().named() ? a : b;
    if (!a.is_list()) return a;
    Value::List elements;
    for (size_t i = 0; i < a.list().size(); ++i) elements.push_back(named_of(a.list()[i], b.list()[i]));
    return Value::of(std::move(elements));
}

Result<void> Matcher::match_all() {
    pending_.reserve(state_.inputs.size());
    for (size_t input = 0; input < state_.inputs.size(); ++input) {
        BoundInput& bound = state_.inputs[input];
        if (!bound.given || !bound.spec->shape) continue;
        for (size_t element = 0; element < bound.tensors.size(); ++element) {
            pending_.push_back({.input = input, .element = element});
            find_joints(*bound.spec->shape);
        }
    }
    state_.matching = true;
    auto matched = match_rounds();
    state_.matching = false;
    if (!matched) return matched;
    if (auto compared = compare_all(); !compared) return compared;
    for (const auto& [name, joint] : joints_) {
        auto value = environment_.lookup(name, joint.parts.empty() ? Place{} : joint.parts[0].dimension->place);
        if (!value) return std::unexpected(value.error());
        auto sizes = value->is_integer() ? std::optional(std::vector<Size>{value->size()}) : value->sizes();
        if (!sizes)
            return type_error(joint.parts[0].dimension->place, fmt::format("~${} joins shapes", name),
                              "a list of integers", *value);
        if (auto checked = check_joint(name, joint, *sizes); !checked) return checked;
    }
    for (const Pending& pending : pending_) describe_coordinates(pending);
    return {};
}

void Matcher::find_joints(const Syntax& pattern) {
    for (const auto& child : pattern.children) {
        if (!child->broadcast) continue;
        Joint& joint = joints_[child->text];
        joint.list |= child->kind == Kind::dimensions;
        ++joint.waiting;
    }
}

Result<void> Matcher::match_rounds() {
    size_t left = pending_.size();
    while (true) {
        size_t before = left;
        for (Pending& pending : pending_) {
            if (pending.matched) continue;
            auto matched = match(pending);
            if (!matched) return std::unexpected(matched.error());
            if (*matched) --left;
        }
        if (auto settled = settle_joints(); !settled) return settled;
        if (left == 0 || left == before) {
            if (solve_one()) continue;
        }
        if (left == 0) return {};
        if (left < before) continue;
        Diagnostic diagnostic = environment_.diagnostic(
            "symbolic.unresolved_pattern", waits_at_,
            waits_for_.empty()
                ? "the lengths of two open ... in one pattern are not known"
                : fmt::format("${} is needed to match this pattern, and nothing binds it before", waits_for_));
        diagnostic.remedy = "give an ellipsis its length: $name...{count}";
        return fail(std::move(diagnostic));
    }
}

// How many dimensions a pattern's dimension matches; nothing if any number.
Result<std::optional<int64_t>> Matcher::length_of(const Syntax& dimension) {
    switch (dimension.kind) {
    case Kind::dimension_group: {
        int64_t total = 0;
        for (const auto& member : dimension.children) {
            auto length = length_of(*member);
            if (!length || !*length) return length;
            total += **length;
        }
        return total;
    }
    case Kind::any_dimensions: return std::nullopt;
    case Kind::dimensions: break;
    default: return 1;
    }
    if (!dimension.children.empty()) {
        auto count = environment_.evaluate(*dimension.children[0]);
        if (!count) return std::unexpected(count.error());
        if (!count->is_integer() || count->integer() < 0) {
            return type_error(dimension.children[0]->place, "the count of an ellipsis is an integer from 0 on",
                              "an integer from 0 on", *count);
        }
        return count->integer();
    }
    if (dimension.broadcast || !dimension.collector.empty()) return std::nullopt;
    NameSlot* slot = state_.slot(dimension.text);
    if (slot && slot->phase == NameSlot::Phase::known && slot->value.is_list()) {
        return static_cast<int64_t>(slot->value.list().size());
    }
    return std::nullopt;
}

Diagnostic Matcher::rank_problem(const Pending& pending, int64_t known, bool open) {
    BoundTensor& bound = tensor(pending);
    Diagnostic diagnostic =
        environment_.diagnostic("symbolic.input_rank", pattern(pending).place,
                                fmt::format("{} has {} dimensions", bound.name, bound.type.shape.size()));
    diagnostic.expected = fmt::format("{} {}: {}", open ? "at least" : "exactly", known, print(pattern(pending)));
    diagnostic.found = shape_text(bound);
    diagnostic.remedy = open ? "pass a tensor of more dimensions"
                             : "pass a tensor of that rank; in the template, $batch... takes any number of dimensions";
    diagnostic.params.emplace_back("input", bound.name);
    diagnostic.params.emplace_back("rank", std::to_string(known));
    return diagnostic;
}

Result<bool> Matcher::match(Pending& pending) {
    const Syntax& dimensions = pattern(pending);
    BoundTensor& bound = tensor(pending);
    InlineVector<std::optional<int64_t>, 8> lengths;
    int64_t known = 0;
    size_t open = 0;
    for (const auto& child : dimensions.children) {
        state_.met_unbound = false;
        auto length = length_of(*child);
        if (!length) {
            if (!state_.met_unbound) return std::unexpected(length.error());
            waits_for_ = length.error()[0].summary;
            waits_at_ = length.error()[0].place;
            return false;
        }
        known += length->value_or(0);
        open += !length->has_value();
        lengths.push_back(*length);
    }
    int64_t rank = static_cast<int64_t>(bound.type.shape.size());
    if (open > 1) {
        waits_for_.clear();
        waits_at_ = dimensions.place;
        return false;
    }
    if (known > rank || (open == 0 && known != rank)) return fail(rank_problem(pending, known, open > 0));
    int64_t first = 0;
    for (size_t i = 0; i < lengths.size(); ++i) {
        int64_t length = lengths[i].value_or(rank - known);
        pending.lengths.push_back(length);
        if (auto done = bind_dimension(pending, *dimensions.children[i], first, length); !done)
            return std::unexpected(done.error());
        first += length;
    }
    pending.matched = true;
    return true;
}

Result<void> Matcher::bind_dimension(Pending& pending, const Syntax& dimension, int64_t first, int64_t length) {
    const TensorType& type = tensor(pending).type;
    switch (dimension.kind) {
    case Kind::any_dimension:
    case Kind::any_dimensions: return {};
    case Kind::dimension_group: return bind_group(pending, dimension, first, length);
    case Kind::dimension:
    case Kind::dimensions:
        if (dimension.broadcast) {
            Joint& joint = joints_[dimension.text];
            joint.parts.push_back(
                {&tensor(pending), &dimension, {type.shape.begin() + first, type.shape.begin() + first + length}});
            --joint.waiting;
            return {};
        }
        return bind(pending, dimension, first,
                    dimension.kind == Kind::dimension ? Value::of(type.shape[static_cast<size_t>(first)])
                                                      : sizes_value(type, first, length));
    default:
        comparisons_.push_back(
            {&tensor(pending), &dimension, Value::of(type.shape[static_cast<size_t>(first)]), first});
        return {};
    }
}

// Of the members of a group, which have `length` dimensions together: one of them may be open.
Result<Lengths> Matcher::member_lengths(const Pending& pending, const Syntax& group, int64_t length) {
    Lengths lengths;
    int64_t known = 0;
    size_t open = 0, last_open = 0;
    for (const auto& member : group.children) {
        auto own = length_of(*member);
        if (!own) return std::unexpected(own.error());
        if (!*own) ++open, last_open = lengths.size();
        known += own->value_or(0);
        lengths.push_back(own->value_or(0));
    }
    if (known > length || (known != length && open != 1)) return fail(rank_problem(pending, known, false));
    if (open == 1) lengths[last_open] = length - known;
    return lengths;
}

Result<void> Matcher::bind_group(Pending& pending, const Syntax& group, int64_t first, int64_t length) {
    if (auto bound = bind(pending, group, first, sizes_value(tensor(pending).type, first, length)); !bound)
        return bound;
    auto lengths = member_lengths(pending, group, length);
    if (!lengths) return std::unexpected(lengths.error());
    for (size_t i = 0; i < lengths->size(); ++i) {
        if (auto bound = bind_dimension(pending, *group.children[i], first, (*lengths)[i]); !bound) return bound;
        first += (*lengths)[i];
    }
    return {};
}

// What would have fitted, for programs: these extents from that dimension on.
void add_wanted(Diagnostic& diagnostic, int64_t first, const Value& wanted) {
    diagnostic.params.emplace_back("at", std::to_string(first));
    diagnostic.params.emplace_back("extents", wanted.print());
}

Diagnostic Matcher::conflict(const BoundTensor& bound, const Syntax& dimension, int64_t first, const NameSlot& slot,
                             const Value& found) {
    Diagnostic diagnostic =
        environment_.diagnostic("symbolic.shape_conflict", dimension.place,
                                fmt::format("${} is {} in {}, but {} in {}", dimension.text, found.print(), bound.name,
                                            slot.value.print(), slot.bound_by));
    diagnostic.expected = slot.value.print();
    diagnostic.found = fmt::format("{} ({} is {})", found.print(), bound.name, shape_text(bound));
    diagnostic.remedy = fmt::format(
        "pass tensors that agree; in the template, ~${0} broadcasts and another name is another size", dimension.text);
    diagnostic.params.emplace_back("input", bound.name);
    diagnostic.params.emplace_back("dimension", dimension.text);
    add_wanted(diagnostic, first, slot.value);
    if (slot.bound_at)
        diagnostic.contexts.push_back({fmt::format("{} by {}", slot.value.print(), slot.bound_by), *slot.bound_at});
    return diagnostic;
}

Result<void> Matcher::bind(Pending& pending, const Syntax& dimension, int64_t first, Value value) {
    NameSlot& slot = *state_.slot(dimension.text);
    if (!dimension.collector.empty() && collects(pending))
        return bind_collected(pending, dimension, first, std::move(value));
    if (slot.kind != NameSlot::Kind::variable) {
        comparisons_.push_back({&tensor(pending), &dimension, std::move(value), first});
        return {};
    }
    if (slot.phase != NameSlot::Phase::known) {
        slot.phase = NameSlot::Phase::known;
        slot.value = std::move(value);
        slot.bound_at = &dimension.place;
        slot.bound_by = tensor(pending).name;
        return {};
    }
    if (!(slot.value == value)) return fail(conflict(tensor(pending), dimension, first, slot, value));
    slot.value = named_of(slot.value, value);
    return {};
}

Result<void> Matcher::bind_collected(Pending& pending, const Syntax& dimension, int64_t first_dimension, Value value) {
    NameSlot& slot = *state_.slot(dimension.text);
    const BoundInput& input = state_.inputs[pending.input];
    int64_t count = static_cast<int64_t>(input.tensors.size());
    auto [counted, first] = counts_.try_emplace(dimension.collector, count, &input);
    if (counted->second.first != count) {
        Diagnostic diagnostic = environment_.diagnostic(
            "symbolic.shape_conflict", dimension.place,
            fmt::format("${} counts {} tensors in {}, but {} in {}", dimension.collector, count, input.spec->name,
                        counted->second.first, counted->second.second->spec->name));
        diagnostic.contexts.push_back({"counted first here", counted->second.second->spec->place});
        return fail(std::move(diagnostic));
    }
    Value::List list =
        slot.phase == NameSlot::Phase::known ? slot.value.list() : Value::List(static_cast<size_t>(count));
    Value& own = list[pending.element];
    if (!own.is_none() && !(own == value)) {
        NameSlot before = slot;
        before.value = own;
        return fail(conflict(tensor(pending), dimension, first_dimension, before, value));
    }
    own = own.is_none() ? std::move(value) : named_of(own, value);
    slot.value = Value::of(std::move(list));
    if (slot.phase != NameSlot::Phase::known) {
        slot.bound_at = &dimension.place;
        slot.bound_by = input.spec->name;
    }
    slot.phase = NameSlot::Phase::known;
    return {};
}

// Binds `~` names whose every pattern is matched and that nothing else binds.
Result<void> Matcher::settle_joints() {
    for (auto& [name, joint] : joints_) {
        NameSlot& slot = *state_.slot(name);
        if (joint.waiting > 0 || slot.kind != NameSlot::Kind::variable || slot.phase == NameSlot::Phase::known)
            continue;
        std::vector<Size> value;  // innermost first
        for (const Joint::Part& part : joint.parts) {
            if (part.extents.size() > value.size()) value.resize(part.extents.size(), Size(1));
            for (size_t i = 0; i < part.extents.size(); ++i) {
                const Size& extent = part.extents[part.extents.size() - 1 - i];
                auto both = broadcast_sizes(value[i], extent);
                if (both) {
                    value[i] = *both;
                    continue;
                }
                Diagnostic diagnostic =
                    environment_.diagnostic("symbolic.broadcast", part.dimension->place,
                                            fmt::format("the shapes at ~${} do not broadcast", name));
                diagnostic.expected = fmt::format("1 or {} as {} dimension from the end", value[i].text(), i + 1);
                diagnostic.found = fmt::format("{} in {}", extent.text(), part.tensor->name);
                diagnostic.remedy = "make the two equal, or one of them 1";
                for (const Joint::Part& other : joint.parts) {
                    diagnostic.contexts.push_back(
                        {fmt::format("{} is {}", other.tensor->name, shape_text(*other.tensor)),
                         other.dimension->place});
                }
                diagnostic.params.emplace_back("input", part.tensor->name);
                return fail(std::move(diagnostic));
            }
        }
        std::reverse(value.begin(), value.end());
        slot.phase = NameSlot::Phase::known;
        slot.value = joint.list ? Value::of_sizes(value) : Value::of(value[0]);
        slot.bound_at = &joint.parts[0].dimension->place;
        slot.bound_by = joint.parts[0].tensor->name;
    }
    return {};
}

Result<void> Matcher::compare_all() {
    for (const Comparison& comparison : comparisons_) {
        const Syntax& dimension = *comparison.dimension;
        bool by_name = dimension.kind == Kind::dimension || dimension.kind == Kind::dimensions ||
                       dimension.kind == Kind::dimension_group;
        auto expected =
            by_name ? environment_.lookup(dimension.text, dimension.place) : environment_.evaluate(dimension);
        if (!expected) return std::unexpected(expected.error());
        if (*expected == comparison.found) continue;
        std::string where = by_name && comparison.found.is_list()
                                ? fmt::format("${} of {}", dimension.text, comparison.tensor->name)
                                : fmt::format("dimension {} of {}", comparison.first, comparison.tensor->name);
        Diagnostic diagnostic = environment_.diagnostic("symbolic.shape_mismatch", dimension.place,
                                                        fmt::format("{} is {}", where, comparison.found.print()));
        diagnostic.expected = fmt::format("{} ({})", expected->print(), print(dimension));
        diagnostic.found = fmt::format("{} ({} is {})", comparison.found.print(), comparison.tensor->name,
                                       shape_text(*comparison.tensor));
        diagnostic.params.emplace_back("input", comparison.tensor->name);
        add_wanted(diagnostic, comparison.first, *expected);
        return fail(std::move(diagnostic));
    }
    return {};
}

// The value of the one name that `written` has no value without, where all of it is `found`: of 2 * $half + 1 half of
// what is left of found. Rounded down; whether it fits is compared later.
std::optional<Size> Matcher::solved(const Syntax& written, Size found, const Syntax*& unknown) {
    if (written.kind == Kind::static_name) {
        const NameSlot* slot = state_.slot(written.text);
        if (!slot || slot->kind != NameSlot::Kind::variable || slot->phase == NameSlot::Phase::known)
            return std::nullopt;
        unknown = &written;
        return found;
    }
    if (written.kind != Kind::binary) return std::nullopt;
    const auto left = environment_.evaluate(*written.children[0]), right = environment_.evaluate(*written.children[1]);
    if (left.has_value() == right.has_value()) return std::nullopt;
    const Value& known = left ? *left : *right;
    if (!known.is_integer()) return std::nullopt;
    const Size other = known.size();
    std::optional<Size> rest;
    if (written.text == "+") rest = checked_subtract(found, other);
    if (written.text == "-") rest = left ? checked_subtract(other, found) : checked_add(found, other);
    if (written.text == "*" && other > 0) rest = checked_floor_divide(found, other);
    if (!rest) return std::nullopt;
    return solved(*written.children[left ? 1 : 0], *rest, unknown);
}

// Binds a name that only an expression has: $half of 2 * $half.
bool Matcher::solve_one() {
    for (const Comparison& comparison : comparisons_) {
        if (comparison.dimension->kind != Kind::binary) continue;
        const Syntax* unknown = nullptr;
        const auto value = solved(*comparison.dimension, comparison.found.size(), unknown);
        if (!value || *value < 0) continue;
        NameSlot& slot = *state_.slot(unknown->text);
        slot.phase = NameSlot::Phase::known;
        slot.value = Value::of(*value);
        slot.bound_at = &unknown->place;
        slot.bound_by = comparison.tensor->name;
        return true;
    }
    return false;
}

// Every part must broadcast *to* the joint value.
Result<void> Matcher::check_joint(const std::string& name, const Joint& joint, const std::vector<Size>& value) {
    for (const Joint::Part& part : joint.parts) {
        bool fits = part.extents.size() <= value.size();
        for (size_t i = 0; fits && i < part.extents.size(); ++i) {
            const Size& own = part.extents[part.extents.size() - 1 - i];
            fits = own == 1 || own == value[value.size() - 1 - i];
        }
        if (fits) continue;
        Diagnostic diagnostic =
            environment_.diagnostic("symbolic.broadcast", part.dimension->place,
                                    fmt::format("{} does not broadcast to ${}", part.tensor->name, name));
        diagnostic.expected = Value::of_sizes(value).print();
        diagnostic.found = Value::of_sizes(part.extents).print();
        diagnostic.params.emplace_back("input", part.tensor->name);
        return fail(std::move(diagnostic));
    }
    return {};
}

// The coordinates of a `~`: one for each joint dimension, those that the tensor lacks dropped, those of size one read
// at 0.
void Matcher::describe_joint(BoundTensor& bound, const Syntax& dimension, int64_t first, int64_t length) {
    const Value& joint = state_.slot(dimension.text)->value;  // integers
    const auto rank = joint.is_list() ? static_cast<int64_t>(joint.list().size()) : 1;
    const int64_t missing = rank - length;
    for (int64_t i = 0; i < rank; ++i) {
        PatternCoordinate coordinate;
        coordinate.name = dimension.text;
        coordinate.spread = dimension.kind == Kind::dimensions;
        coordinate.position = static_cast<int32_t>(i);
        coordinate.dimension = i < missing ? -1 : static_cast<int32_t>(first + i - missing);
        if (i >= missing) {
            const Size& own = bound.type.shape[static_cast<size_t>(coordinate.dimension)];
            const Size wanted = joint.at(static_cast<size_t>(i)).size();
            // A plain 1 beside a named dimension stays at 0: that dimension may be larger another time.
            coordinate.zero = own == 1 && ((!own.named() && wanted.named()) || wanted != 1);
        }
        bound.coordinates.push_back(coordinate);
    }
}

void Matcher::describe_coordinates(const Pending& pending) {
    BoundTensor& bound = tensor(pending);
    bound.coordinates.clear();
    bound.coordinates.reserve(bound.type.shape.size());
    int64_t first = 0;
    auto add = [&](const Syntax& dimension, int64_t length, std::string_view group, int64_t group_first) {
        bool named = dimension.kind == Kind::dimension || dimension.kind == Kind::dimensions;
        for (int64_t i = 0; i < length; ++i) {
            PatternCoordinate coordinate;
            if (named) coordinate.name = dimension.text;
            coordinate.group = group;
            coordinate.spread = dimension.kind == Kind::dimensions;
            coordinate.position = static_cast<int32_t>(i);
            coordinate.group_position = group.empty() ? 0 : static_cast<int32_t>(first - group_first + i);
            coordinate.dimension = static_cast<int32_t>(first + i);
            bound.coordinates.push_back(coordinate);
        }
        first += length;
    };
    const auto& children = pattern(pending).children;
    for (size_t i = 0; i < children.size(); ++i) {
        const Syntax& dimension = *children[i];
        int64_t length = pending.lengths[i];
        if (dimension.broadcast) {
            describe_joint(bound, dimension, first, length);
            first += length;
        } else if (dimension.kind == Kind::dimension_group) {
            int64_t begin = first;
            Lengths lengths = member_lengths(pending, dimension, length).value_or(Lengths());  // it has matched
            for (size_t m = 0; m < lengths.size(); ++m) add(*dimension.children[m], lengths[m], dimension.text, begin);
        } else {
            add(dimension, length, {}, 0);
        }
    }
}

// Without a pattern a tensor is read by position.
void describe_without_pattern(BoundTensor& tensor) {
    for (size_t i = 0; i < tensor.type.shape.size(); ++i) {
        PatternCoordinate coordinate;
        coordinate.dimension = coordinate.position = static_cast<int32_t>(i);
        tensor.coordinates.push_back(coordinate);
    }
}

}  // namespace

Result<void> match_patterns(Environment& environment) {
    for (BoundInput& input : environment.state().inputs) {
        if (input.spec->shape) continue;
        for (BoundTensor& tensor : input.tensors) describe_without_pattern(tensor);
    }
    return Matcher(environment).match_all();
}

}  // namespace heddle
