// Random programs over named dimensions n and m, the same ones for all sizes of them. Tests only.
#pragma once

#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "helpers/running.h"
#include "zspace/size_facts.h"

namespace heddle {

using SizeNames = std::map<std::string, int64_t>;

class SizedProgram {
public:
    // The latter: also those whose plan was of fewer sizes than a class once.
    enum class Forms : uint8_t { common, of_class };
    explicit SizedProgram(uint64_t seed, Forms forms = Forms::common) : seed_(seed), forms_(forms) {}

    // With what the sizes have decided; nothing where an operator rules them out.
    std::optional<Graph> at(const SizeNames& sizes) {
        SizeFacts facts;
        const RecordingFacts recording(facts);
        Session session(library());
        session_ = &session;
        random_.seed(seed_);
        applied_.clear();
        fits_ = true;
        n_ = named_size("n", sizes.at("n"));
        m_ = named_size("m", sizes.at("m"));
        std::vector<TensorId> outputs = built();
        session_ = nullptr;
        if (!fits_) return std::nullopt;
        Graph graph = session.finish(std::move(outputs));
        graph.dimension_names = sizes;
        graph.facts = std::move(facts);
        return graph;
    }

    // Of the last graph: its operators.
    const std::string& applied() const { return applied_; }

private:
    using Parameters = std::map<std::string, StaticValue>;

    // No choice looks at a size: it would be another program for another one.
    int64_t pick(int64_t count) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(count)); }
    int64_t either(std::vector<int64_t> of) { return of[static_cast<size_t>(pick(std::ssize(of)))]; }
    static StaticValue list(std::vector<int64_t> values) { return StaticValue::of_integers(std::move(values)); }
    static StaticValue one(int64_t value) { return StaticValue::of(value); }
    static StaticValue reals(const std::vector<double>& values) {
        StaticValue::List all;
        for (double value : values) all.push_back(StaticValue::of(value));
        return StaticValue::of(std::move(all));
    }
    TensorId weights(std::vector<int64_t> shape) {
        const uint64_t seed = random_();
        return session_->add_constant("w" + std::to_string(seed % 1000), random_tensor(std::move(shape), seed, 0.3));
    }
    TensorId integers(std::vector<int64_t> values) {
        TensorData data(DType::int64, {std::ssize(values)});
        for (int64_t i = 0; i < data.size(); i++) data.set_integer(i, values[static_cast<size_t>(i)]);
        return session_->add_constant("i" + std::to_string(random_() % 1000), std::move(data));
    }
    TensorId input(std::vector<Size> shape) {
        return session_->add_input("x" + std::to_string(inputs_++), {DType::float32, std::move(shape)});
    }
    TensorId apply(const std::string& name, const std::vector<Argument>& inputs, const Parameters& parameters = {}) {
        if (!fits_) return TensorId(0);
        applied_ += " " + name;
        const auto found = library().find(name);
        EXPECT_TRUE(found) << name;
        auto made = found ? session_->apply(**found, inputs, parameters) : fail(found.error());
        if (!made) refusal_ = render(made.error());
        fits_ = fits_ && made;
        return made ? made->front() : TensorId(0);
    }
    size_t rank(TensorId x) const { return session_->graph().tensor(x).type.shape.size(); }

    std::vector<TensorId> built() {
        inputs_ = 0;
        std::vector<TensorId> made;
        const bool image = pick(2) == 0;
        const int64_t inside = either({1, 6, 16, 24});
        channels_ = either({1, 3, 8});
        std::vector<std::vector<Size>> shapes = image
            ? std::vector<std::vector<Size>>{{1, channels_, n_, m_}, {2, channels_, m_, n_}, {n_, channels_, 12, m_}}
            : std::vector<std::vector<Size>>{{n_, inside}, {n_, m_}, {n_, m_, inside}, {m_, n_, inside}, {2, n_, inside}, {n_}};
        TensorId x = input(shapes[static_cast<size_t>(pick(std::ssize(shapes)))]);
        last_ = inside;
        const int64_t steps = 2 + pick(7);
        for (int64_t i = 0; i < steps && fits_; i++) {
            if (pick(5) == 0) made.push_back(x);
            if (forms_ == Forms::of_class && pick(2) == 0)
                x = image && rank(x) == 4 ? of_odd_image(x) : with_ends(x);
            else
                x = image && rank(x) == 4 ? of_image(x) : of_rows(x);
        }
        made.push_back(x);
        return made;
    }

    // [batch, channels_, height, width].
    TensorId of_image(TensorId x) {
        switch (pick(13)) {
        case 0:
        case 1: {
            const int64_t out = either({4, 8, 16}), size = either({1, 3, 5}), pad = pick(3), stride = 1 + pick(2);
            const TensorId w = weights({out, channels_, size, size});
            channels_ = out;
            return apply("conv", {x, w}, {{"pads", list({pad, pad, pad, pad})}, {"strides", list({stride, stride})}});
        }
        case 2: {
            const int64_t pad = pick(2), dilation = 1 + pick(2);
            return apply("conv", {x, weights({channels_, 1, 3, 3})},
                         {{"group", one(channels_)}, {"pads", list({pad, 1, pad, 1})}, {"dilations", list({dilation, dilation})}});
        }
        case 3:
        case 4: {
            const int64_t size = 2 + pick(2), stride = 1 + pick(3), pad = pick(2);
            return apply(pick(2) ? "max_pool" : "avg_pool", {x},
                         {{"kernel", list({size, size})}, {"strides", list({stride, stride})}, {"pads", list({pad, pad, pad, 0})}, {"ceil_mode", one(pick(2))}});
        }
        case 5: return apply("relu", {x});
        case 6: return apply("instance_norm", {x, weights({channels_}), weights({channels_})});
        case 7: return apply(pick(2) ? "resize_nearest" : "resize_linear", {x},
                             {{"scales", reals(std::vector<std::vector<double>>{{1, 1, 2, 2}, {1, 1, 0.5, 1.5}, {1, 1, 1, 3}}[static_cast<size_t>(pick(3))])}});
        case 8: return apply("add", {x, apply("global_avg_pool", {x})});
        case 9: return apply("pad", {x}, {{"pads", list({0, 0, pick(3), 1, 0, 0, 1, pick(3)})}, {"mode", StaticValue::of(std::vector<std::string>{"constant", "reflect", "edge"}[static_cast<size_t>(pick(3))])}});
        case 10: {
            const TensorId w = weights({channels_, channels_, 2, 2});
            return apply("conv_transpose", {x, w}, {{"strides", list({2, 2})}});
        }
        case 11: return apply("add", {x, of_shape(x)});
        default: return moved(x);
        }
    }

    // Odd sizes are halved, and margins are of one element at some sizes.
    TensorId of_odd_image(TensorId x) {
        switch (pick(7)) {
        case 0:
        case 1: {
            const int64_t out = either({3, 4, 16}), size = either({2, 3, 3, 5}), stride = either({2, 2, 3});
            const TensorId w = weights({out, channels_, size, size});
            channels_ = out;
            return apply("conv", {x, w},
                         {{"pads", list({pick(2), pick(2), pick(3), pick(3)})},
                          {"strides", list({stride, either({1, stride})})}});
        }
        case 2:
            return apply(
                "conv", {x, weights({channels_, 1, 3, 3})},
                {{"group", one(channels_)}, {"pads", list({1, 1, 1, 1})}, {"strides", list({2, either({1, 2})})}});
        case 3:
            return apply(pick(2) ? "max_pool" : "avg_pool", {x},
                         {{"kernel", list({2, 2})}, {"strides", list({2, 2})}, {"ceil_mode", one(pick(2))}});
        case 4: {
            const TensorId half = apply("resize_linear", {x}, {{"scales", reals({1, 1, 0.5, 0.5})}});
            return pick(2) ? half : apply("resize_nearest", {half}, {{"scales", reals({1, 1, 2, 2})}});
        }
        case 5: return apply("reshape", {x, integers({0, 0, -1})});
        default: return with_ends(x);
        }
    }

    // As many as there are, up to a number in the middle of a class.
    TensorId with_ends(TensorId x) {
        const auto rank = static_cast<int64_t>(this->rank(x));
        if (rank == 0) return apply("relu", {x});
        const int64_t axis = rank > 2 ? rank - 1 - pick(2) : pick(rank);
        const auto part = [&](TensorId from) {
            return apply("slice", {from},
                         {{"starts", list({either({0, 2, -24, -40, 18})})},
                          {"ends", list({either({20, 30, 48, -18, 1000000})})},
                          {"axes", list({axis})}});
        };
        switch (pick(4)) {
        case 0: return apply("concat", {{std::vector{part(x), part(x)}}}, {{"axis", one(axis)}});
        case 1: return apply("concat", {{std::vector{x, part(x)}}}, {{"axis", one(axis)}});
        default: return part(x);
        }
    }

    // Of the same shape.
    TensorId of_shape(TensorId x) {
        const auto axis = [&] { return one(pick(static_cast<int64_t>(rank(x)))); };
        switch (pick(5)) {
        case 0: return apply("softmax", {x}, {{"axis", axis()}});
        case 1: return apply("cumsum", {x}, {{"axis", axis()}, {"reverse", one(pick(2))}});
        case 2: return apply("sigmoid", {x});
        case 3: {
            const StaticValue along = axis();
            return apply("sub", {x, apply(pick(2) ? "reduce_mean" : "reduce_max", {x}, {{"axes", StaticValue::of(StaticValue::List{along})}})});
        }
        default: return apply("relu", {x});
        }
    }

    // Elements at other places, along one axis behind the second, if there is one.
    TensorId moved(TensorId x) {
        const auto last = static_cast<int64_t>(rank(x)) - 1;
        const int64_t axis = last > 1 ? last - pick(2) : 0;
        switch (pick(6)) {
        case 0: return apply("slice", {x}, {{"starts", list({either({0, 1, -5, 3})})}, {"ends", list({either({1000000, -1, 7, -2})})}, {"axes", list({axis})}, {"steps", list({either({1, 1, 2, 3})})}});
        case 1: return apply("slice", {x}, {{"starts", list({-1})}, {"ends", list({-1000000})}, {"axes", list({axis})}, {"steps", list({either({-1, -2})})}});
        case 2: return apply("concat", {{std::vector{x, of_shape(x), x}}}, {{"axis", one(axis)}});
        case 3: return apply("gather", {x, integers({0, -1, 1, 0})}, {{"axis", one(axis)}});
        case 4: return apply("pad", {x}, {{"pads", list({pick(3), pick(4)})}, {"axes", list({axis})}});
        default: return apply("top_k", {x}, {{"k", one(either({1, 2, 5}))}, {"axis", one(axis)}});
        }
    }

    // Whether its last dimension is a number that all sizes have.
    bool ends_with_number(TensorId x) const { return !session_->graph().tensor(x).type.shape.back().named(); }

    TensorId of_rows(TensorId x) {
        const size_t rank = this->rank(x);
        if (rank == 0) return apply("relu", {x});
        switch (pick(14)) {
        case 0:
        case 1: {
            if (rank < 2) return of_shape(x);
            const TensorId scores = apply("numpy_matmul", {x, turned(x)});
            return pick(2) ? scores : apply("numpy_matmul", {apply("softmax", {scores}), x});
        }
        case 2:
        case 3: {
            if (!ends_with_number(x)) return of_shape(x);
            const int64_t columns = either({1, 8, 33});
            return apply("numpy_matmul", {x, weights({session_->graph().tensor(x).type.shape.back().number(), columns})});
        }
        case 4: return rank < 2 ? of_shape(x) : turned(x);
        case 5: return apply("reshape", {x, integers({-1})});
        case 6: return rank < 3 ? apply("reshape", {x, integers({1, 0, -1})}) : apply("reshape", {x, integers({0, -1})});
        case 7: return apply(pick(2) ? "reduce_mean" : "reduce_sum", {x}, {{"axes", list({pick(static_cast<int64_t>(rank))})}, {"keepdims", one(pick(3) > 0)}});
        case 8: {
            if (rank != 3 || !ends_with_number(x)) return of_shape(x);
            const int64_t hidden = either({3, 8}), inside = session_->graph().tensor(x).type.shape.back().number();
            return apply("reshape", {apply(pick(2) ? "lstm" : "lstm", {x, weights({1, 4 * hidden, inside}), weights({1, 4 * hidden, hidden})}), integers({0, -1, hidden})});
        }
        case 9: return rank < 3 ? of_shape(x) : with_cache(x);
        case 10: return apply("add", {x, of_shape(x)});
        case 11: return apply("unsqueeze", {x}, {{"axes", list({0})}});
        default: return pick(2) ? of_shape(x) : moved(x);
        }
    }

    TensorId turned(TensorId x) {
        const auto rank = static_cast<int64_t>(this->rank(x));
        std::vector<int64_t> order;
        for (int64_t d = 0; d + 2 < rank; d++) order.push_back(d);
        order.insert(order.end(), {rank - 1, rank - 2});
        return apply("transpose", {x}, {{"perm", list(std::move(order))}});
    }

    // Attention to rows that were there before.
    TensorId with_cache(TensorId x) {
        const std::vector<Size>& shape = session_->graph().tensor(x).type.shape;
        std::vector<Size> kept = shape;
        kept[kept.size() - 2] = pick(2) ? n_ : m_;
        const TensorId all = apply("concat", {{std::vector{input(std::move(kept)), x}}}, {{"axis", one(static_cast<int64_t>(rank(x)) - 2)}});
        return apply("numpy_matmul", {apply("softmax", {apply("numpy_matmul", {x, turned(all)})}), all});
    }

    uint64_t seed_;
    Forms forms_;
    std::mt19937_64 random_;
    Session* session_ = nullptr;
    Size n_, m_;
    int64_t channels_ = 0, last_ = 0;
    int inputs_ = 0;
    bool fits_ = true;
    std::string applied_, refusal_;

public:
    const std::string& refusal() const { return refusal_; }
};

}  // namespace heddle
