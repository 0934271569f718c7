#include "random/random_calls.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "random/random_template.h"

namespace heddle::random {

int64_t product(const Shape& shape) {
    return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
}
std::string list(const Shape& values) { return fmt::format("[{}]", fmt::join(values, ", ")); }
const char* truth(bool value) { return value ? "true" : "false"; }

RandomCalls::RandomCalls(Choices& choices) : choices_(choices) {
    large_ = choices.once_in(8);
    most_elements_ = large_ ? 40'000 : 2'500;
    values_ = choices.once_in(2) ? Input::Values::whole : Input::Values::normal;
    real_ = choices.once_in(8) ? DType::float64 : DType::float32;
    input({real_, shape(3)});
}

// --- Values ---

// Small ones, those beside the widths of vectors and panels, and the degenerate ones.
int64_t RandomCalls::size() {
    static const std::vector<int64_t> small = {2, 3, 1, 5, 4, 7, 8, 6, 9, 13}, odd = {16, 17, 31, 32, 33, 40, 48, 65},
                                      big = {48, 40, 33, 65, 96, 100, 130};
    switch (choices_.weighted({30, large_ ? 12 : 8, large_ ? 20 : 0, 1})) {
    case 0: return choices_.one_of(small);
    case 1: return choices_.one_of(odd);
    case 2: return choices_.one_of(big);
    default: return 0;
    }
}
bool RandomCalls::fits(const Shape& shape) const { return product(shape) <= most_elements_; }
Shape RandomCalls::shape(int64_t most_rank) {
    Shape made;
    for (int64_t rank = 1 + choices_.below(most_rank); rank > 0; rank--) {
        made.push_back(size());
        if (!fits(made)) made.back() = 1;
    }
    if (choices_.once_in(40)) made.clear();
    return made;
}
const RandomCalls::Value& RandomCalls::input(Type type, int64_t limit) {
    const std::string name = fmt::format("x{}", inputs_.size());
    const Input::Values values = is_float(type.dtype) ? values_
                                 : limit > 0          ? Input::Values::indices
                                                      : Input::Values::whole;
    inputs_.push_back({name, type, values, limit});
    made_.push_back({.name = name, .type = std::move(type), .limit = limit, .input = true});
    return made_.back();
}
RandomCalls::Value RandomCalls::take(const Value& value) {
    for (Value& made : made_) made.read = made.read || made.name == value.name;
    return value;
}
// Later ones are more likely: chains are what fuses.
const RandomCalls::Value& RandomCalls::of_rank(size_t least, size_t most) {
    std::vector<const Value*> fitting;
    for (const Value& value : made_) {
        const size_t rank = value.type.shape.size();
        if (value.type.dtype == real_ && rank >= least && rank <= most) fitting.push_back(&value);
    }
    if (fitting.empty()) {
        Shape made;
        while (made.size() < least) {
            made.push_back(size());
            if (!fits(made)) made.back() = 1;
        }
        return input({real_, made});
    }
    const auto recent = static_cast<int64_t>(std::min<size_t>(fitting.size(), 3));
    return *fitting[fitting.size() - 1 - static_cast<size_t>(choices_.below(recent))];
}
const RandomCalls::Value& RandomCalls::any() { return of_rank(0, 6); }
const RandomCalls::Value& RandomCalls::like(const Value& value, Shape shape) {
    std::vector<const Value*> same;
    for (const Value& made : made_) {
        if (made.type.dtype == value.type.dtype && made.type.shape == shape && made.name != value.name)
            same.push_back(&made);
    }
    if (!same.empty() && !choices_.once_in(4)) return *choices_.one_of(same);
    return input({value.type.dtype, std::move(shape)});
}
const RandomCalls::Value& RandomCalls::broadcasting(const Value& value) {
    Shape shape = value.type.shape;
    if (choices_.once_in(3)) {
        shape.erase(shape.begin(), shape.begin() + choices_.below(static_cast<int64_t>(shape.size()) + 1));
        for (int64_t& extent : shape) extent = choices_.once_in(2) ? 1 : extent;
    }
    return like(value, shape);
}
const RandomCalls::Value& RandomCalls::indices(Shape shape, int64_t limit) {
    std::vector<const Value*> fitting;
    for (const Value& made : made_) {
        if (made.limit > 0 && made.limit <= limit && made.type.shape == shape) fitting.push_back(&made);
    }
    if (!fitting.empty() && !choices_.once_in(3)) return *choices_.one_of(fitting);
    return input({DType::int64, std::move(shape)}, limit);
}
size_t RandomCalls::dimension(const Value& value) {
    return static_cast<size_t>(choices_.below(static_cast<int64_t>(value.type.shape.size())));
}

// --- Calls ---

void RandomCalls::results(const std::string& call, const std::vector<Value>& types) {
    Call made{.text = call};
    for (const Value& type : types) {
        made.results.push_back(fmt::format("r{}", names_++));
        made.types.push_back(type.type);
        made_.push_back(type);
        made_.back().name = made.results.back();
    }
    calls_.push_back(std::move(made));
}
std::string RandomCalls::inner(const std::string& call, Type type) {
    const std::string name = fmt::format("c{}", names_++);
    calls_.push_back({{name}, {std::move(type)}, call});
    return name;
}
void RandomCalls::result(const std::string& call, Type type, int64_t limit) {
    results(call, {{.name = "", .type = std::move(type), .limit = limit}});
}

void RandomCalls::add() {
    switch (choices_.weighted({3, 14, 1, 5, 2, 4, 4, 4, 3, 3, 5, 4, 2, 1})) {
    case 0: return elementwise();
    case 1: return own_template();
    case 2: return conversion();
    case 3: return movement();
    case 4: return joining();
    case 5: return choosing();
    case 6: return ordering();
    case 7: return cumulation();
    case 8: return reduction();
    case 9: return normalisation();
    case 10: return contraction();
    case 11: return window();
    case 12: return recurrence();
    default: return attention();
    }
}

void RandomCalls::add_movement() {
    switch (choices_.weighted({4, 5, 2})) {
    case 0: return elementwise();
    case 1: return movement();
    default: return joining();
    }
}

void RandomCalls::own_template() {
    std::vector<Value> arguments = {take(any())};
    for (int64_t more = choices_.below(3); more > 0; more--) {
        switch (choices_.below(3)) {
        case 0: arguments.push_back(take(any())); break;
        case 1: {
            Shape made = shape(2);
            // Sizes that occur already are more likely to meet.
            for (int64_t& extent : made) {
                const Shape& known = arguments.front().type.shape;
                if (!known.empty() && !choices_.once_in(3)) extent = choices_.one_of(known);
            }
            if (!fits(made)) made.resize(1);
            arguments.push_back(take(input({real_, made})));
            break;
        }
        default: {
            const Shape& known = arguments.front().type.shape;
            const int64_t limit = known.empty() ? 3 : choices_.one_of(known);
            const int64_t count = known.empty() || choices_.once_in(3) ? size() : choices_.one_of(known);
            arguments.push_back(take(indices({count}, std::max<int64_t>(limit, 1))));
        }
        }
    }
    const std::string name = fmt::format("t{}", names_++);
    std::vector<Operand> operands;
    std::vector<std::string> names;
    for (const Value& argument : arguments) {
        operands.push_back({argument.type, argument.limit});
        names.push_back(argument.name);
    }
    const RandomTemplate made = random_template(choices_, name, operands);
    templates_.push_back({name, made.text});
    std::vector<Value> types;
    for (const Type& type : made.outputs) types.push_back({.name = "", .type = type});
    results(fmt::format("{}({})", name, fmt::join(names, ", ")), types);
}

void RandomCalls::elementwise() {
    static const std::vector<std::string> unary = {"neg",   "tanh", "relu", "abs",  "sigmoid",  "square",  "floor",
                                                   "round", "sign", "gelu", "silu", "softplus", "identity"},
                                          binary = {"add2", "mul", "sub", "maximum", "minimum"};
    const Value x = take(any());
    if (choices_.once_in(2)) return result(fmt::format("{}({})", choices_.one_of(unary), x.name), x.type);
    const Value y = take(broadcasting(x));
    if (choices_.once_in(6)) {
        const std::string below = inner(fmt::format("less({}, {})", x.name, y.name), {DType::boolean, x.type.shape});
        return result(fmt::format("where({}, {}, {})", below, x.name, y.name), x.type);
    }
    result(fmt::format("{}({}, {})", choices_.one_of(binary), x.name, y.name), x.type);
}

// To another type and back: what is only stored in between is rounded.
void RandomCalls::conversion() {
    static const std::vector<DType> through = {DType::float16, DType::bfloat16, DType::float64, DType::int32,
                                               DType::int8};
    const Value x = take(any());
    const DType to = choices_.one_of(through);
    const std::string there = inner(fmt::format("cast({}, to: {})", x.name, name(to)), {to, x.type.shape});
    result(fmt::format("cast({}, to: {})", there, name(real_)), x.type);
}

void RandomCalls::movement() {
    const Value x = take(of_rank(1, 6));
    Shape made = x.type.shape;
    const size_t rank = made.size(), d = dimension(x);
    auto moved = [&](const std::string& call) { result(call, {real_, made}); };
    switch (choices_.below(11)) {
    case 0: {
        Shape order(rank);
        std::iota(order.begin(), order.end(), 0);
        for (size_t i = rank; i > 1; i--)
            std::swap(order[i - 1], order[i - 1 - static_cast<size_t>(choices_.below(static_cast<int64_t>(i)))]);
        for (size_t i = 0; i < rank; i++) made[i] = x.type.shape[static_cast<size_t>(order[i])];
        return moved(fmt::format("transpose({}, perm: {})", x.name, list(order)));
    }
    case 1: {
        Shape to;
        int64_t left = product(made);
        while (left > 1 && to.size() < 3) {
            Shape divisors;
            for (int64_t divisor = 2; divisor <= left; divisor++) {
                if (left % divisor == 0) divisors.push_back(divisor);
            }
            to.push_back(choices_.one_of(divisors));
            left /= to.back();
        }
        to.push_back(left);
        if (choices_.once_in(2)) std::reverse(to.begin(), to.end());
        made = to;
        return moved(fmt::format("reshape_to({}, shape: {})", x.name, list(to)));
    }
    case 2: {
        const int64_t step = choices_.one_of(Shape{1, 2, 3}), start = choices_.below(std::max<int64_t>(made[d], 1));
        const int64_t end = std::max(start, made[d] - choices_.below(2));
        const std::string call =
            fmt::format("slice({}, starts: [{}], ends: [{}], axes: [{}], steps: [{}])", x.name, start, end, d, step);
        made[d] = (std::min(end, made[d]) - std::min(start, made[d]) + step - 1) / step;
        return moved(call);
    }
    case 3: return moved(fmt::format("flip({}, axes: [{}])", x.name, d));
    case 4: {
        static const std::vector<std::string> modes = {"constant", "edge", "reflect", "wrap"};
        const std::string mode = made[d] > 2 ? choices_.one_of(modes) : "constant";
        const int64_t before = choices_.below(3), after = choices_.below(3);
        made[d] += before + after;
        return moved(
            fmt::format("pad({}, pads: [{}, {}], axes: [{}], mode: {})", x.name, before, after, d, "'" + mode + "'"));
    }
    case 5:
        made.insert(made.begin() + static_cast<int64_t>(d), 1);
        return moved(fmt::format("unsqueeze({}, axes: [{}])", x.name, d));
    case 6: {
        for (int64_t& extent : made) extent = extent == 1 ? 1 + choices_.below(4) : extent;
        made.insert(made.begin(), 1 + choices_.below(3));
        if (!fits(made)) return;
        return moved(fmt::format("expand({}, shape: {})", x.name, list(made)));
    }
    case 7: {
        Shape repeats(rank, 1);
        repeats[d] = 1 + choices_.below(3);
        made[d] *= repeats[d];
        if (!fits(made)) return;
        return moved(fmt::format("tile({}, repeats: {})", x.name, list(repeats)));
    }
    case 8:
        if (rank < 2) return moved(fmt::format("flip({}, axes: [{}])", x.name, d));
        return moved(
            fmt::format("trilu({}, k: {}, upper: {})", x.name, choices_.below(3) - 1, truth(choices_.once_in(2))));
    case 9: {
        const Shape inner(made.begin() + static_cast<int64_t>(d), made.end());
        const int64_t columns = product(inner);
        made = {product(made) == 0 ? product(Shape(made.begin(), made.begin() + static_cast<int64_t>(d)))
                                   : product(made) / columns,
                columns};
        return moved(fmt::format("flatten({}, axis: {})", x.name, d));
    }
    default: {
        const int64_t by = choices_.below(5) - 2;
        return moved(fmt::format("shifted({}, axis: {}, by: {})", x.name, d, by));
    }
    }
}

void RandomCalls::joining() {
    const Value x = take(of_rank(1, 5));
    const size_t d = dimension(x);
    Shape made = x.type.shape;
    if (choices_.once_in(3)) {
        const int64_t first = choices_.below(made[d] + 1), second = made[d] - first;
        std::vector<Value> parts;
        for (int64_t part : {first, second}) {
            made[d] = part;
            parts.push_back({.name = "", .type = {real_, made}});
        }
        return results(fmt::format("split_sizes({}, sizes: [{}, {}], axis: {})", x.name, first, second, d), parts);
    }
    Shape other = made;
    other[d] = choices_.once_in(2) ? size() : made[d];
    if (!fits(other)) other[d] = made[d];
    const Value y = take(like(x, other));
    if (other[d] == made[d] && choices_.once_in(3)) {
        made.insert(made.begin() + static_cast<int64_t>(d), 2);
        return result(fmt::format("stack([{}, {}], axis: {})", x.name, y.name, d), {real_, made});
    }
    made[d] += other[d];
    result(fmt::format("concat([{}, {}], axis: {})", x.name, y.name, d), {real_, made});
}

void RandomCalls::choosing() {
    const Value x = take(of_rank(1, 4));
    const size_t d = dimension(x);
    Shape made = x.type.shape;
    if (made[d] == 0) return;
    switch (choices_.below(5)) {
    case 0: {
        const int64_t count = choices_.once_in(2) ? size() : made[d];
        const int64_t limit = made[d];
        made[d] = count;
        if (!fits(made)) return;
        const Value ids = take(indices({count}, limit));
        return result(fmt::format("gather({}, {}, axis: {})", x.name, ids.name, d), {real_, made});
    }
    case 1: {
        const int64_t limit = made[d];
        made[d] = 1 + choices_.below(5);
        const Value ids = take(indices(made, limit));
        return result(fmt::format("gather_elements({}, {}, axis: {})", x.name, ids.name, d), {real_, made});
    }
    case 2: {
        static const std::vector<std::string> ways = {"scatter_elements_add", "scatter_elements_max",
                                                      "scatter_elements"};
        Shape updated = made;
        updated[d] = 1 + choices_.below(5);
        const Value ids = take(indices(updated, made[d])), updates = take(like(x, updated));
        return result(fmt::format("{}({}, {}, {}, axis: {})", choices_.one_of(ways), x.name, ids.name, updates.name, d),
                      {real_, made});
    }
    case 3: {
        static const std::vector<std::string> ways = {"scatter_nd_add", "scatter_nd", "scatter_nd_max"};
        const int64_t count = size();
        Shape updated = made;
        updated[0] = count;
        if (made[0] == 0 || !fits(updated)) return;
        const Value ids = take(indices({count, 1}, made[0])), updates = take(like(x, updated));
        return result(fmt::format("{}({}, {}, {})", choices_.one_of(ways), x.name, ids.name, updates.name),
                      {real_, made});
    }
    default: {
        const int64_t classes = 1 + choices_.below(9), count = size();
        const Value ids = take(indices({count}, classes));
        const Value pair = take(like(x, {2}));
        return result(fmt::format("one_hot({}, {}, depth: {})", ids.name, pair.name, classes),
                      {real_, {count, classes}});
    }
    }
}

void RandomCalls::ordering() {
    const Value x = take(of_rank(1, 4));
    const size_t d = dimension(x);
    Shape made = x.type.shape;
    const int64_t n = made[d];
    if (n == 0) return;
    switch (choices_.below(3)) {
    case 0: {
        const int64_t k = choices_.once_in(8) ? 0 : 1 + choices_.below(std::min<int64_t>(n, 6));
        made[d] = k;
        return results(
            fmt::format("{}({}, k: {}, axis: {}, largest: {})", choices_.once_in(2) ? "top_k_by_threshold" : "top_k",
                        x.name, k, d, truth(!choices_.once_in(3))),
            {{.name = "", .type = {real_, made}}, {.name = "", .type = {DType::int64, made}, .limit = n}});
    }
    case 1: {
        const std::string order = fmt::format("({}, axis: {}, largest: {})", x.name, d, truth(choices_.once_in(2)));
        if (choices_.once_in(2)) return result("argsort" + order, {DType::int64, made}, n);
        return result("sort" + order, {real_, made});
    }
    default: {
        made[d] = 1;
        return result(fmt::format("{}({}, axis: {}, last: {})", choices_.once_in(2) ? "argmin" : "argmax", x.name, d,
                                  truth(choices_.once_in(3))),
                      {DType::int64, made}, n);
    }
    }
}

void RandomCalls::cumulation() {
    const Value x = take(of_rank(1, 4));
    const size_t d = dimension(x);
    const std::string options =
        fmt::format("exclusive: {}, reverse: {}", truth(choices_.once_in(3)), truth(choices_.once_in(3)));
    switch (choices_.below(4)) {
    case 0: return result(fmt::format("cumsum({}, axis: {}, {})", x.name, d, options), x.type);
    case 1: return result(fmt::format("cum_sum({}, axis: {}, {})", x.name, d, options), x.type);
    case 2: {
        const Value a = take(like(x, x.type.shape));
        const std::string fading = inner(fmt::format("sigmoid({})", a.name), x.type);
        return result(fmt::format("linear_recurrence({}, {}, axis: {})", fading, x.name, d), x.type);
    }
    default: {
        const std::string small = inner(fmt::format("tanh({})", x.name), x.type);
        return result(fmt::format("cumprod({}, axis: {}, {})", small, d, options), x.type);
    }
    }
}

void RandomCalls::reduction() {
    static const std::vector<std::string> ways = {"reduce_sum", "reduce_max",  "reduce_mean",       "reduce_min",
                                                  "reduce_l2",  "reduce_prod", "reduce_log_sum_exp"};
    const Value x = take(of_rank(1, 6));
    const std::string way = choices_.one_of(ways);
    Shape axes, made;
    const bool keep = choices_.once_in(2);
    const size_t first = dimension(x);
    for (size_t d = 0; d < x.type.shape.size(); d++) {
        const bool reduced = d == first || choices_.once_in(4);
        if (reduced) axes.push_back(static_cast<int64_t>(d));
        if (!reduced || keep) made.push_back(reduced ? 1 : x.type.shape[d]);
    }
    result(fmt::format("{}({}, axes: {}, keepdims: {})", way, x.name, list(axes), truth(keep)), {real_, made});
}

Program RandomCalls::finish() {
    std::vector<Value> outputs;
    for (const Value& value : made_) {
        if (!value.input && (!value.read || choices_.once_in(6))) outputs.push_back(value);
    }
    // Nothing was made: what there is, at least.
    if (outputs.empty()) {
        const Value x = take(made_.front());
        result(fmt::format("neg({})", x.name), x.type);
        outputs = {made_.back()};
    }
    Program program;
    for (const Value& value : outputs) program.outputs.push_back(value.name);
    program.inputs = inputs_;
    program.calls = calls_;
    program.templates = templates_;
    program = without_unused(program);
    const bool real = std::ranges::any_of(outputs, [&](const Value& value) { return is_float(value.type.dtype); });
    const bool inputs_are_real =
        std::ranges::any_of(program.inputs, [](const Input& input) { return is_float(input.type.dtype); });
    program.adjoint = real && inputs_are_real && choices_.once_in(4);
    program.unfused = choices_.once_in(3);
    program.tangent = real && inputs_are_real && !program.adjoint && choices_.once_in(6);
    program.batched = !program.inputs.empty() && choices_.once_in(8);
    return program;
}

}  // namespace heddle::random
