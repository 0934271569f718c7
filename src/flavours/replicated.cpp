// Replicated secret sharing of the ring of 64 bits by three hosts, semi-honest (Araki et al., 2016; docs/flavours.md).
//
// x = x0 + x1 + x2, and host i holds x_i and x_(i+1): part 2i and part 2i + 1 of a replicated value. Keys lie alike:
// k_i is known to hosts i and i - 1.
#include <fmt/format.h>

#include <algorithm>
#include <cassert>

#include "flavours/session.h"
#include "flavours/siphash.h"

namespace heddle::flavours {
namespace {

constexpr size_t hosts = 3;
constexpr const char* ring_tensor = "HostRing64Tensor";
constexpr const char* shared_tensor = "ReplicatedRing64Tensor";

Placement party(const Placement& replicated, size_t number) { return host(replicated.hosts[number % hosts]); }

// What host `holder` holds of x: share `holder` or the next one.
const Value& share_at(const Opened& x, size_t share, size_t holder) {
    return x.part(2 * (holder % hosts) + (share + hosts - holder) % hosts);
}

bool check_hosts(Context& context, const Placement& placement) {
    if (placement.hosts.size() == hosts) return true;
    context.fail({{.code = "flavours.hosts",
                   .summary = fmt::format("{} has {} hosts", placement.name, placement.hosts.size()),
                   .expected = fmt::format("{}", hosts)}});
    return false;
}

std::vector<Value> keys_of(Context& context, const Placement& replicated) {
    return context.once(replicated, "keys", [&] {
        std::vector<Value> own, held;
        for (size_t i = 0; i < hosts; ++i) own.push_back(context.apply("prf_key", party(replicated, i), {}));
        for (size_t i = 0; i < hosts; ++i) {
            held.push_back(own[i]);
            held.push_back(own[(i + 1) % hosts]);
        }
        return held;
    });
}

// What hosts that share a key draw alike, for one operation.
class Draw {
public:
    Draw(Context& context, const Placement& replicated, const TensorType& like)
        : context_(context), replicated_(replicated), keys_(keys_of(context, replicated)) {
        sync_ = {{"sync", StaticValue::of(context.fresh())}};
        shape_ = {{"shape", StaticValue::of_sizes(like.shape)}};
    }
    Value seed(size_t key, size_t holder) const {
        return context_.apply("derive_seed", party(replicated_, holder),
                              {keys_[2 * (holder % hosts) + (key + hosts - holder) % hosts]}, sync_);
    }
    Value elements(const Value& seed, const Placement& where) const {
        return context_.apply("ring_random", where, {seed}, shape_);
    }
    Value elements(size_t key, size_t holder) const { return elements(seed(key, holder), party(replicated_, holder)); }

private:
    Context& context_;
    const Placement& replicated_;
    std::vector<Value> keys_;
    Parameters sync_, shape_;
};

// A host of the placement masks its value by what it and the host before it draw; the third share is zero. An outsider
// is sent two seeds, and two hosts what is left.
Opened share(Context& context, const Value& x) {
    const Placement& replicated = context.placement();
    if (!check_hosts(context, replicated)) return {};
    Draw draw(context, replicated, x.tensor());
    const auto& names = replicated.hosts;
    size_t owner = static_cast<size_t>(std::ranges::find(names, x.placement().name) - names.begin());
    std::vector<Value> parts(2 * hosts);
    auto set = [&](size_t share, size_t holder, Value value) {
        parts[2 * (holder % hosts) + (share + hosts - holder % hosts) % hosts] = std::move(value);
    };
    if (owner < hosts) {
        size_t next = owner + 1, before = owner + 2;
        Value mask = draw.elements(owner, owner);
        Value rest = context.apply("ring_sub", x.placement(), {x, mask});
        TensorData zeros(DType::uint64, x.tensor().extents());
        set(owner, owner, mask);
        set(owner, before, draw.elements(owner, before % hosts));
        set(next, owner, rest);
        set(next, next, rest);
        set(before, next, context.constant(ring_tensor, zeros, party(replicated, next)));
        set(before, before, context.constant(ring_tensor, zeros, party(replicated, before)));
    } else {
        Value rest = x;
        for (size_t i = 0; i < 2; ++i) {
            Value seed = draw.seed(i, i);
            rest = context.apply("ring_sub", x.placement(), {rest, draw.elements(seed, x.placement())});
            set(i, i, draw.elements(seed, party(replicated, i)));
            set(i, i + 2, draw.elements(i, (i + 2) % hosts));
        }
        set(2, 1, rest);
        set(2, 2, rest);
    }
    return context.compose(shared_tensor, x.tensor(), std::move(parts));
}

Value reveal(Context& context, const Opened& x) {
    if (!check_hosts(context, x.placement())) return {};
    const Placement& receiver = context.placement();
    const auto& names = x.placement().hosts;
    size_t first = static_cast<size_t>(std::ranges::find(names, receiver.name) - names.begin()) % hosts;
    Value sum =
        context.apply("ring_add", receiver, {share_at(x, first, first), share_at(x, (first + 1) % hosts, first)});
    return context.apply("ring_add", receiver, {sum, share_at(x, (first + 2) % hosts, (first + 1) % hosts)});
}

// Share by share, on each host that holds it.
Opened linear(Context& context, const char* operation, const Opened& x, const Opened& y) {
    std::vector<Value> parts;
    if (!check_hosts(context, context.placement())) return {};
    for (size_t i = 0; i < 2 * hosts; ++i)
        parts.push_back(context.apply(operation, party(context.placement(), i / 2), {x.part(i), y.part(i)}));
    TensorType tensor = parts[0].tensor();
    return context.compose(shared_tensor, std::move(tensor), std::move(parts));
}

// Host i computes x_i y_i + x_i y_(i+1) + x_(i+1) y_i, adds its part of a sharing of zero, and sends it to host i - 1.
Opened multiply(Context& context, const Opened& x, const Opened& y) {
    const Placement& replicated = context.placement();
    if (!check_hosts(context, replicated)) return {};
    std::vector<Value> products;
    for (size_t i = 0; i < hosts; ++i) {
        size_t next = (i + 1) % hosts;
        auto apply = [&](const char* name, const Value& a, const Value& b) {
            return context.apply(name, party(replicated, i), {a, b});
        };
        const Value &x0 = share_at(x, i, i), &x1 = share_at(x, next, i);
        const Value &y0 = share_at(y, i, i), &y1 = share_at(y, next, i);
        Value cross = apply("ring_add", apply("ring_mul", x0, y1), apply("ring_mul", x1, y0));
        products.push_back(apply("ring_add", apply("ring_mul", x0, y0), cross));
    }
    Draw draw(context, replicated, products[0].tensor());
    for (size_t i = 0; i < hosts; ++i) {
        Placement where = party(replicated, i);
        Value zero = context.apply("ring_sub", where, {draw.elements(i, i), draw.elements((i + 1) % hosts, i)});
        products[i] = context.apply("ring_add", where, {products[i], zero});
    }
    std::vector<Value> parts;
    for (size_t i = 0; i < hosts; ++i) {
        parts.push_back(products[i]);
        parts.push_back(products[(i + 1) % hosts]);
    }
    return context.compose(shared_tensor, products[0].tensor(), std::move(parts));
}

// selector (x - y) + y
Opened mux(Context& context, const Opened& selector, const Opened& x, const Opened& y) {
    const Placement& where = context.placement();
    Value difference = context.apply("ring_sub", where, {x.value(), y.value()});
    Value chosen = context.apply("ring_mul", where, {selector.value(), difference});
    return context.opened(context.apply("ring_add", where, {chosen, y.value()}));
}

Opened mux_by_host(Context& context, const Value& selector, const Opened& x, const Opened& y) {
    return mux(context, context.opened(context.apply("share", context.placement(), {selector})), x, y);
}

// ---- on one host

PrfKey key_of(const Call& call) { return {call.inputs[0].as<uint64_t>()[0], call.inputs[0].as<uint64_t>()[1]}; }

Result<std::vector<TensorData>> new_key(const Call& call) {
    TensorData key(DType::uint64, {2});
    for (size_t i = 0; i < 2; ++i) key.mutable_as<uint64_t>()[i] = call.random();
    return {{key}};
}

// Keys are new in every run, so a key and the number of an operation are never used twice.
Result<std::vector<TensorData>> derive_seed(const Call& call) {
    TensorData seed(DType::uint64, {2});
    for (uint64_t i = 0; i < 2; ++i) {
        std::array<uint64_t, 2> words = {static_cast<uint64_t>(call.parameters.at("sync").integer()), i};
        seed.mutable_as<uint64_t>()[i] = siphash(key_of(call), words);
    }
    return {{seed}};
}

Result<std::vector<TensorData>> random_elements(const Call& call) {
    TensorData elements(DType::uint64, call.outputs[0].extents());
    PrfKey seed = key_of(call);
    for (uint64_t i = 0; i < static_cast<uint64_t>(elements.size()); ++i)
        elements.mutable_as<uint64_t>()[i] = siphash(seed, std::array{i});
    return {{elements}};
}

}  // namespace

void add_replicated_kernels(Registry& registry) {
    [[maybe_unused]] bool fine =
        registry.add("ring_share", share) && registry.add("ring_reveal", reveal) &&
        registry.add(
            "ring_add_shares",
            +[](Context& context, const Opened& x, const Opened& y) { return linear(context, "ring_add", x, y); }) &&
        registry.add(
            "ring_sub_shares",
            +[](Context& context, const Opened& x, const Opened& y) { return linear(context, "ring_sub", x, y); }) &&
        registry.add("ring_mul_shares", multiply) && registry.add("ring_mux", mux) &&
        registry.add("ring_mux_by_host", mux_by_host) && registry.add("prf_key", new_key) &&
        registry.add("derive_seed", derive_seed) && registry.add("ring_random", random_elements);
    assert(fine);
}

}  // namespace heddle::flavours
