#include "rewrite/repair.h"

#include <algorithm>
#include <charconv>

namespace heddle::rewrite {
namespace {

using Kind = Syntax::Kind;

constexpr int64_t largest_size = 256;

const std::string* param(const Diagnostic& diagnostic, std::string_view name) {
    const auto found = std::ranges::find(diagnostic.params, name, &std::pair<std::string, std::string>::first);
    return found == diagnostic.params.end() ? nullptr : &found->second;
}

std::vector<int64_t> numbers_in(std::string_view text) {
    std::vector<int64_t> numbers;
    for (size_t at = 0; at < text.size();) {
        int64_t number = 0;
        const auto [end, failed] = std::from_chars(text.data() + at, text.data() + text.size(), number);
        const bool read = failed == std::errc();
        if (read) numbers.push_back(number);
        at = read ? static_cast<size_t>(end - text.data()) : at + 1;
    }
    return numbers;
}

// "x", or "tensors[1]".
TensorType* tensor_named(MadeUpUse& use, std::string name) {
    size_t element = 0;
    if (const size_t open = name.find('['); open != std::string::npos) {
        element = static_cast<size_t>(numbers_in(name.substr(open)).at(0));
        name.resize(open);
    }
    const auto found = use.tensors.find(name);
    if (found == use.tensors.end() || element >= found->second.size()) return nullptr;
    return &found->second[element];
}

bool set_size(TensorType& type, size_t dimension, int64_t value) {
    if (dimension >= type.shape.size() || value < 0 || value > largest_size) return false;
    const bool changes = type.shape[dimension].value() != value;
    type.shape[dimension] = Size(value);
    return changes;
}

bool set_rank(TensorType& type, int64_t rank) {
    constexpr int64_t largest_rank = 8;
    if (rank < 0 || rank > largest_rank || rank == static_cast<int64_t>(type.shape.size())) return false;
    type.shape.resize(static_cast<size_t>(rank), Size(4));
    return true;
}

// Gives the names of an expression other values, so that it has a given one.
class Solver {
public:
    Solver(MadeUpUse& use, Environment& environment) : use_(use), environment_(environment) {}

    bool make_true(const Syntax& condition) {
        if (condition.kind == Kind::static_name || (condition.kind == Kind::unary && condition.text == "!")) {
            const bool wanted = condition.kind == Kind::static_name;
            const Syntax& name = wanted ? condition : *condition.children[0];
            return name.kind == Kind::static_name && set_parameter(name.text, StaticValue::of(wanted));
        }
        if (condition.kind != Kind::binary) return false;
        const Syntax &left = *condition.children[0], &right = *condition.children[1];
        if (condition.text == "&&" || condition.text == "||") {
            for (const Syntax* side : {&left, &right}) {
                const auto holds = environment_.evaluate(*side);
                if (holds && holds->is_boolean() && !holds->boolean() && make_true(*side)) return true;
            }
            return false;
        }
        return compare(condition.text, left, right);
    }

private:
    std::optional<int64_t> integer(const Syntax& syntax) {
        const auto value = environment_.evaluate(syntax);
        return value && value->is_integer() ? std::optional(value->integer()) : std::nullopt;
    }

    bool compare(const std::string& comparison, const Syntax& left, const Syntax& right) {
        const auto a = integer(left), b = integer(right);
        if (!a || !b) return false;
        if (comparison == "==") {
            if (left.kind == Kind::binary && left.text == "%" && *b == 0) return make_multiple(left);
            return assign(left, *b) || assign(right, *a);
        }
        if (comparison == "!=") return assign(left, *b + 1) || assign(right, *a + 1);
        const bool less = comparison[0] == '<', strict = comparison.size() == 1;
        const int64_t step = strict ? 1 : 0;
        return less ? assign(left, *b - step) || assign(right, *a + step)
                    : assign(left, *b + step) || assign(right, *a - step);
    }

    bool make_multiple(const Syntax& remainder) {
        const auto number = integer(*remainder.children[0]), of = integer(*remainder.children[1]);
        if (!number || !of || *of <= 0) return false;
        return assign(*remainder.children[0], (*number + *of - 1) / *of * *of);
    }

    bool set_parameter(const std::string& name, StaticValue value) {
        const Parameter* parameter = environment_.metakernel().parameter(name);
        if (!parameter) return false;
        StaticValue& now = use_.parameters[name];
        if (now == value) return false;
        now = std::move(value);
        return true;
    }

    bool assign(const Syntax& to, int64_t value) {
        switch (to.kind) {
        case Kind::static_name: return assign_name(to.text, value);
        case Kind::attribute: {
            TensorType* tensor =
                to.children[0]->kind == Kind::static_name ? tensor_named(use_, to.children[0]->text) : nullptr;
            return tensor && to.text == "rank" && set_rank(*tensor, value);
        }
        case Kind::subscript: return assign_element(to, value);
        case Kind::binary: break;
        default: return false;
        }
        const auto left = integer(*to.children[0]), right = integer(*to.children[1]);
        if (!left || !right) return false;
        auto by = [&](std::optional<int64_t> for_left, std::optional<int64_t> for_right) {
            return (for_left && assign(*to.children[0], *for_left)) ||
                   (for_right && assign(*to.children[1], *for_right));
        };
        auto divided = [&](int64_t by) { return by == 0 ? std::nullopt : std::optional(value / by); };
        if (to.text == "+") return by(value - *right, value - *left);
        if (to.text == "-") return by(value + *right, *left - value);
        if (to.text == "*") return by(divided(*right), divided(*left));
        if (to.text == "//" || to.text == "/") return by(value * *right, std::nullopt);
        return false;
    }

    bool assign_name(const std::string& name, int64_t value) {
        const Template& metakernel = environment_.metakernel();
        if (metakernel.parameter(name)) return set_parameter(name, StaticValue::of(value));
        for (const StaticLet& let : metakernel.lets)
            if (let.name == name) return assign(*let.value, value);
        bool changed = false;
        for (auto [each, end] = use_.named.equal_range(name); each != end; ++each)
            changed |= set_size(use_.tensors.at(each->second.input)[each->second.tensor], each->second.dimension, value);
        return changed;
    }

    // $x.shape[0], $x.rank of lists have no one place; $shape[1] has.
    bool assign_element(const Syntax& to, int64_t value) {
        const Syntax& base = *to.children[0];
        const auto number = to.children.size() == 2 ? integer(*to.children[1]) : std::nullopt;
        if (!number) return false;
        const bool of_tensor =
            base.kind == Kind::attribute && base.text == "shape" && base.children[0]->kind == Kind::static_name;
        if (of_tensor) {
            TensorType* tensor = tensor_named(use_, base.children[0]->text);
            if (!tensor) return false;
            const auto rank = static_cast<int64_t>(tensor->shape.size());
            return set_size(*tensor, static_cast<size_t>(*number < 0 ? *number + rank : *number), value);
        }
        if (base.kind != Kind::static_name) return false;
        bool changed = false;
        auto [first, last] = use_.named.equal_range(base.text + "..." + std::to_string(*number));
        for (auto each = first; each != last; ++each)
            changed |= set_size(use_.tensors.at(each->second.input)[each->second.tensor], each->second.dimension, value);
        return changed;
    }

    MadeUpUse& use_;
    Environment& environment_;
};

}  // namespace

bool repair(MadeUpUse& use, const Diagnostic& misfit) {
    const std::string *input = param(misfit, "input"), *parameter = param(misfit, "parameter");
    if (const std::string* length = param(misfit, "length"); parameter && length) {
        const auto given = use.parameters.find(*parameter);
        const int64_t wanted = numbers_in(*length).at(0);
        if (given == use.parameters.end() || !given->second.is_list() || given->second.list().empty()) return false;
        if (wanted < 0 || wanted > largest_size) return false;
        StaticValue::List list = given->second.list();
        const StaticValue last = list.back();
        list.resize(static_cast<size_t>(wanted), last);
        given->second = StaticValue::of(std::move(list));
        return true;
    }
    const std::string* given = param(misfit, "given");
    TensorType* tensor = given ? tensor_named(use, *given) : input ? tensor_named(use, *input) : nullptr;
    if (!tensor) return false;
    if (const std::string* rank = param(misfit, "rank")) return set_rank(*tensor, numbers_in(*rank).at(0));
    if (misfit.code == "symbolic.input_dtype" || misfit.code == "symbolic.dtype_conflict") {
        const auto dtype = dtype_named(misfit.expected);
        if (!dtype || *dtype == tensor->dtype) return false;
        tensor->dtype = *dtype;
        return true;
    }
    const std::string *extents = param(misfit, "extents"), *at = param(misfit, "at");
    if (!extents || !at) return false;
    const auto wanted = numbers_in(*extents);
    auto dimension = static_cast<size_t>(numbers_in(*at).at(0));
    bool changed = false;
    for (int64_t value : wanted) changed |= set_size(*tensor, dimension++, value);
    return changed;
}

bool repair(MadeUpUse& use, const Syntax& condition, Environment& environment) {
    return Solver(use, environment).make_true(condition);
}

}  // namespace heddle::rewrite
