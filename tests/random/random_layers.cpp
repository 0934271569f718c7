// Calls of what networks are made of: normalisations, products, windows, recurrences, attention.
#include <fmt/format.h>

#include "random/random_calls.h"

namespace heddle::random {

void RandomCalls::normalisation() {
    const Value x = take(of_rank(1, 4));
    const size_t d = dimension(x);
    const Shape norm(x.type.shape.begin() + static_cast<int64_t>(d), x.type.shape.end());
    switch (choices_.below(6)) {
    case 0: return result(fmt::format("softmax({}, axis: {})", x.name, d), x.type);
    case 1: return result(fmt::format("log_softmax({}, axis: {})", x.name, d), x.type);
    case 2: {
        const Value scale = take(like(x, norm)), bias = take(like(x, norm));
        return result(fmt::format("layer_norm({}, {}, {}, axis: {})", x.name, scale.name, bias.name, d), x.type);
    }
    case 3: {
        const Value scale = take(like(x, norm));
        return result(fmt::format("rms_norm({}, {}, axis: {})", x.name, scale.name, d), x.type);
    }
    case 4:
        if (x.type.shape[d] == 0) return;
        return result(fmt::format("hardmax({}, axis: {})", x.name, d), x.type);
    default: return result(fmt::format("lp_norm({}, axis: {})", x.name, d), x.type);
    }
}

void RandomCalls::contraction() {
    const Value x = take(of_rank(1, 4));
    Shape made = x.type.shape;
    const int64_t inner = made.back(), columns = size();
    switch (choices_.below(6)) {
    case 0: {
        made.back() = columns;
        if (!fits(made) || !fits({inner, columns})) return;
        const Value w = take(like(x, {inner, columns}));
        return result(fmt::format("numpy_matmul({}, {})", x.name, w.name), {real_, made});
    }
    case 1: {
        if (made.size() != 2) return;
        const bool a = choices_.once_in(2), b = choices_.once_in(2);
        const int64_t rows = a ? made[1] : made[0], k = a ? made[0] : made[1];
        if (!fits({rows, columns}) || !fits({k, columns})) return;
        const Value w = take(like(x, b ? Shape{columns, k} : Shape{k, columns})), bias = take(like(x, {columns}));
        return result(
            fmt::format("gemm({}, {}, {}, trans_a: {}, trans_b: {})", x.name, w.name, bias.name, truth(a), truth(b)),
            {real_, {rows, columns}});
    }
    case 2: {
        if (made.size() != 2 || !fits({made[0], columns}) || !fits({inner, columns})) return;
        const Value w = take(like(x, {inner, columns}));
        return result(fmt::format("max_plus({}, {})", x.name, w.name), {real_, {made[0], columns}});
    }
    case 3: {
        if (made.size() != 3 || !fits({made[0], made[1], columns})) return;
        const Value w = take(like(x, {made[0], inner, columns}));
        return result(fmt::format("matmul({}, {})", x.name, w.name), {real_, {made[0], made[1], columns}});
    }
    case 4:  // with itself
        if (made.size() != 2 || !fits({made[0], made[0]})) return;
        return result(fmt::format("einsum([{0}, {0}], equation: 'ik,jk->ij')", x.name), {real_, {made[0], made[0]}});
    default: return contraction_of_contraction();
    }
}

// Products whose lanes are the rows of the next ones, with what indices choose: the adjoint of a deformable convolution.
void RandomCalls::contraction_of_contraction() {
    const Value g = take(of_rank(3, 3));
    const int64_t features = g.type.shape[0], height = g.type.shape[1], width = g.type.shape[2];
    const int64_t channels = choices_.once_in(2) ? features : size(), taps = 1 + choices_.below(9);
    const Shape points = {2 * taps, height, width};
    if (height == 0 || width == 0 || !fits({features, channels, taps}) || !fits({channels, height, width})) return;
    if (!fits(points) || product(points) * features * channels > 700'000) return;  // the interpreter does it all
    const Value w = take(like(g, {features, channels, taps})), x = take(like(g, {channels, height, width}));
    const Value rows = take(indices({taps, height, width}, height));
    const Value columns = take(indices({taps, height, width}, width));
    const std::string name = fmt::format("t{}", names_++);
    static constexpr const char* form = R"({0}:
  inputs: {{g: "$T[$o, $h, $w]", f: "$T[$o, $c, $k]", x: "$T[$c, ($h), ($w)]", a: "int64[$k, $h, $w]", b: "int64[$k, $h, $w]"}}
  index: "[p = 2 * $k, $h, $w]"
  outputs: {{y: "$T"}}
  body: |
    let q = (@p - 1) // 2
    let r = @p // 2
    let first = sum(c < $c : sum(o < $o : g[o, @h, @w] * f[o, c, q]) * (x[c, a[q, @h, @w], b[q, @h, @w]]{1}))
    let second = sum(c < $c : sum(o < $o : g[o, @h, @w] * f[o, c, r]) * (x[c, a[r, @h, @w], b[r, @h, @w]]{1}))
    y = {2} ? (@p % 2 == 1 ? first : 0) + second : 0
)";
    std::string condition = "@p % 2 == 1";
    if (!choices_.once_in(3)) condition += fmt::format(" || @p == {}", 2 * choices_.below(taps));
    templates_.push_back({name, fmt::format(form, name, choices_.once_in(2) ? " ?? 0" : "", condition)});
    result(fmt::format("{}({}, {}, {}, {}, {})", name, g.name, w.name, x.name, rows.name, columns.name),
           {real_, points});
}

void RandomCalls::window() {
    const int64_t channels = 1 + choices_.below(5), height = size(), width = choices_.once_in(2) ? size() : height;
    const int64_t batch = 1 + choices_.below(2);
    if (height == 0 || width == 0 || !fits({batch, channels, height, width})) return;
    // What has four dimensions already, or a new one.
    Value x = of_rank(4, 4);
    if (x.type.elements() == 0 || choices_.once_in(3)) x = input({real_, {batch, channels, height, width}});
    x = take(x);
    const Shape& in = x.type.shape;
    const int64_t kernel = 1 + choices_.below(3), stride = 1 + choices_.below(2), pad = choices_.below(2);
    auto out = [&](int64_t extent) { return (extent + 2 * pad - kernel) / stride + 1; };
    const std::string options = fmt::format("strides: {}, pads: {}", stride, pad);
    if (in[2] + 2 * pad < kernel || in[3] + 2 * pad < kernel) return;
    switch (choices_.below(4)) {
    case 0: {
        const int64_t group = choices_.once_in(3) ? in[1] : 1, features = group * (1 + choices_.below(large_ ? 24 : 4));
        const Shape made = {in[0], features, out(in[2]), out(in[3])};
        if (!fits(made)) return;
        const Value w = take(like(x, {features, in[1] / group, kernel, kernel})), b = take(like(x, {features}));
        return result(fmt::format("conv({}, {}, {}, group: {}, {})", x.name, w.name, b.name, group, options),
                      {real_, made});
    }
    case 1:
        if (pad >= kernel) return;
        return result(fmt::format("max_pool({}, kernel: {}, {})", x.name, kernel, options),
                      {real_, {in[0], in[1], out(in[2]), out(in[3])}});
    case 2:
        if (pad >= kernel) return;
        return result(fmt::format("avg_pool({}, kernel: {}, {})", x.name, kernel, options),
                      {real_, {in[0], in[1], out(in[2]), out(in[3])}});
    default: {
        const int64_t features = 1 + choices_.below(4);
        auto spread = [&](int64_t extent) { return (extent - 1) * stride + kernel - 2 * pad; };
        const Shape made = {in[0], features, spread(in[2]), spread(in[3])};
        if (made[2] < 1 || made[3] < 1 || !fits(made)) return;
        const Value w = take(like(x, {in[1], features, kernel, kernel}));
        return result(fmt::format("conv_transpose({}, {}, {})", x.name, w.name, options), {real_, made});
    }
    }
}

// Layers over [steps, batch, features], with the state before the first step absent, given or constant.
void RandomCalls::recurrence() {
    static const std::vector<std::pair<std::string, int64_t>> layers = {{"rnn", 1}, {"gru", 3}, {"lstm", 4}};
    Value x = of_rank(3, 3);
    if (choices_.once_in(3)) x = input({real_, {1 + choices_.below(4), 1 + choices_.below(3), 1 + choices_.below(5)}});
    x = take(x);
    const Shape& in = x.type.shape;
    const auto& [name, gates] = choices_.one_of(layers);
    const int64_t hidden = 1 + choices_.below(5);
    if (x.type.elements() == 0 || x.type.elements() > 600) return;
    const Value w = take(like(x, {1, gates * hidden, in[2]})), r = take(like(x, {1, gates * hidden, hidden}));
    const Shape state = {1, in[1], hidden};
    std::string initial = "none";
    switch (choices_.below(3)) {
    case 0: break;
    case 1: initial = take(like(x, state)).name; break;
    default:
        initial = inner(
            fmt::format("fill(shape: {}, value: {}, dtype: {})", list(state), choices_.below(2), heddle::name(real_)),
            {real_, state});
    }
    std::vector<Value> types = {{.name = "", .type = {real_, {in[0], 1, in[1], hidden}}},
                                {.name = "", .type = {real_, state}}};
    if (name == "lstm") types.push_back(types.back());
    results(fmt::format("{}({}, {}, {}, none, none, {}, backward: {})", name, x.name, w.name, r.name, initial,
                        truth(choices_.once_in(3))),
            types);
}

void RandomCalls::attention() {
    const int64_t heads = 1 + choices_.below(2), steps = std::min<int64_t>(size(), 33), keys = 1 + choices_.below(6);
    const int64_t features = 1 + choices_.below(6);
    if (steps == 0) return;
    const bool linear = choices_.once_in(3);
    const Value q = take(input({real_, {1, heads, steps, keys}})), k = take(input({real_, {1, heads, steps, keys}}));
    const Value v = take(input({real_, {1, heads, steps, features}}));
    if (!linear) {
        return result(
            fmt::format("attention({}, {}, {}, causal: {})", q.name, k.name, v.name, truth(choices_.once_in(2))),
            {real_, {1, heads, steps, features}});
    }
    results(fmt::format("linear_attention({}, {}, {})", q.name, k.name, v.name),
            {{.name = "", .type = {real_, {1, heads, 1, steps, features}}},
             {.name = "", .type = {real_, {1, heads, keys, features}}}});
}

}  // namespace heddle::random
