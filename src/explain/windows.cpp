#include "explain/windows.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace heddle::explain {

namespace {

using Kind = Bound::Kind;

Kind opposite(Kind kind) {
    return kind == Kind::minimum ? Kind::maximum : kind == Kind::maximum ? Kind::minimum : Kind::affine;
}

class Bounds {
public:
    explicit Bounds(const Body& body) : body_(body), forms_(affine_forms(body)) {}

    // The least or greatest value at a point of the index.
    std::optional<Bound> of(NodeId id, bool greatest) const {
        if (const auto& form = forms_[static_cast<size_t>(id)]) return of_form(*form, greatest);
        const Node& node = body_.node(id);
        if (node.kind != Node::Kind::scalar || node.operands.size() != 2) return std::nullopt;
        const NodeId left = node.operands[0], right = node.operands[1];
        switch (node.op) {
        case ScalarOp::minimum:
        case ScalarOp::maximum: {
            auto a = of(left, greatest), b = of(right, greatest);
            if (!a || !b) return std::nullopt;
            return joined(node.op == ScalarOp::minimum ? Kind::minimum : Kind::maximum, {std::move(*a), std::move(*b)});
        }
        case ScalarOp::add: return sum(of(left, greatest), of(right, greatest), 1);
        case ScalarOp::subtract: return sum(of(left, greatest), of(right, !greatest), -1);
        default: return std::nullopt;
        }
    }

    // Without parts that another one makes needless.
    std::optional<Bound> joined(Kind kind, std::vector<Bound> given) const {
        std::vector<Bound> parts, kept;
        for (Bound& bound : given) {
            if (bound.kind == kind)
                std::ranges::move(bound.parts, std::back_inserter(parts));
            else
                parts.push_back(std::move(bound));
        }
        for (size_t i = 0; i < parts.size(); ++i) {
            const auto needless = [&](size_t j) {
                if (i == j) return false;
                const bool other = kind == Kind::minimum ? at_most(parts[j], parts[i]) : at_most(parts[i], parts[j]);
                const bool same = kind == Kind::minimum ? at_most(parts[i], parts[j]) : at_most(parts[j], parts[i]);
                return other && (!same || j < i);
            };
            bool drop = false;
            for (size_t j = 0; j < parts.size() && !drop; ++j) drop = needless(j);
            if (!drop) kept.push_back(parts[i]);
        }
        if (kept.size() == 1) return kept[0];
        return Bound{kind, {}, std::move(kept)};
    }

    bool at_most(const Bound& a, const Bound& b) const {
        const auto one_of = [](const Bound& of, const auto& holds) { return std::ranges::any_of(of.parts, holds); };
        const auto all_of = [](const Bound& of, const auto& holds) { return std::ranges::all_of(of.parts, holds); };
        const auto below = [&](const Bound& part) { return at_most(part, b); };
        const auto above = [&](const Bound& part) { return at_most(a, part); };
        if (a.kind == Kind::maximum) return all_of(a, below);
        if (b.kind == Kind::minimum) return all_of(b, above);
        if (a.kind == Kind::minimum && one_of(a, below)) return true;
        if (b.kind == Kind::maximum && one_of(b, above)) return true;
        if (a.kind != Kind::affine || b.kind != Kind::affine) return false;
        const auto difference = linear_sum(b.form, a.form, -1);
        return difference && interval_of(*difference, body_).low >= 0;
    }

private:
    std::optional<Bound> of_form(const AffineForm& form, bool greatest) const {
        Bound bound;
        bound.form.constant = form.constant;
        for (const auto& [variable, factor] : form.terms) {
            if (body_.variable(variable).kind == Variable::Kind::index) {
                bound.form.terms.emplace_back(variable, factor);
            } else if ((factor > 0) == greatest) {
                const auto far =
                    checked_multiply(factor, std::max<int64_t>(0, body_.variable(variable).extent.value() - 1));
                const auto constant = far ? checked_add(bound.form.constant, *far) : std::nullopt;
                if (!constant) return std::nullopt;
                bound.form.constant = *constant;
            }
        }
        return bound;
    }

    // One of the two is affine, and goes into the parts of the other.
    std::optional<Bound> sum(std::optional<Bound> a, std::optional<Bound> b, int64_t factor) const {
        if (!a || !b) return std::nullopt;
        if (b->kind == Kind::affine) return moved(std::move(*a), 1, b->form, factor);
        if (a->kind == Kind::affine) return moved(std::move(*b), factor, a->form, 1);
        return std::nullopt;
    }
    // factor * bound + other_factor * other; factors are 1 or -1.
    std::optional<Bound> moved(Bound bound, int64_t factor, const AffineForm& other, int64_t other_factor) const {
        if (bound.kind == Kind::affine) {
            const auto scaled = linear_sum(AffineForm{}, bound.form, factor);
            const auto form = scaled ? linear_sum(*scaled, other, other_factor) : std::nullopt;
            if (!form) return std::nullopt;
            bound.form = *form;
            return bound;
        }
        if (factor < 0) bound.kind = opposite(bound.kind);
        for (Bound& part : bound.parts) {
            auto one = moved(std::move(part), factor, other, other_factor);
            if (!one) return std::nullopt;
            part = std::move(*one);
        }
        return bound;
    }

    const Body& body_;
    std::vector<std::optional<AffineForm>> forms_;
};

Bound number(int64_t value) {
    Bound bound;
    bound.form.constant = value;
    return bound;
}

bool is_number(const Bound& bound, int64_t value) {
    return bound.kind == Kind::affine && bound.form.terms.empty() && bound.form.constant == value;
}

std::string text(const Bound& bound, const Body& body, int64_t start) {
    if (bound.kind != Kind::affine) {
        std::vector<std::string> parts;
        for (const Bound& part : bound.parts) parts.push_back(text(part, body, start));
        return fmt::format("{}({})", bound.kind == Kind::minimum ? "min" : "max", fmt::join(parts, ", "));
    }
    std::string result;
    for (const auto& [variable, factor] : bound.form.terms) {
        const int64_t size = factor < 0 ? -factor : factor;
        result += result.empty() ? (factor < 0 ? "-" : "") : factor < 0 ? " - " : " + ";
        result += fmt::format("{}@{}", size == 1 ? "" : fmt::format("{} * ", size), body.variable(variable).name);
    }
    const int64_t constant = bound.form.constant + start;
    if (result.empty()) return std::to_string(constant);
    if (constant != 0) result += fmt::format(" {} {}", constant < 0 ? "-" : "+", constant < 0 ? -constant : constant);
    return result;
}

int64_t value_at(const Bound& bound, const Body& body, std::span<const int64_t> point) {
    if (bound.kind == Kind::affine) {
        int64_t value = bound.form.constant;
        for (const auto& [variable, factor] : bound.form.terms) {
            // Index axes are the first variables, in order.
            const auto axis = static_cast<size_t>(variable);
            value += factor * (axis < point.size() ? point[axis] : 0);
        }
        return value;
    }
    int64_t value = value_at(bound.parts[0], body, point);
    for (const Bound& part : bound.parts) {
        const int64_t other = value_at(part, body, point);
        value = bound.kind == Kind::minimum ? std::min(value, other) : std::max(value, other);
    }
    return value;
}

}  // namespace

std::optional<Window> clamped_window(const Operation& operation, size_t input, size_t dimension, int64_t extent) {
    if (!operation.body) return std::nullopt;
    const Body& body = *operation.body;
    const Bounds bounds(body);
    std::vector<Bound> first, last;
    for (const Node& node : body.nodes) {
        if (!node.is_read() || static_cast<size_t>(node.tensor()) != input) continue;
        auto low = bounds.of(node.operands[dimension], false), high = bounds.of(node.operands[dimension], true);
        if (!low || !high) return std::nullopt;
        if (node.kind == Node::Kind::guarded_read) {  // nothing is read outside
            low = bounds.joined(Kind::maximum, {std::move(*low), number(0)});
            high = bounds.joined(Kind::minimum, {std::move(*high), number(extent - 1)});
        }
        first.push_back(std::move(*low));
        last.push_back(std::move(*high));
    }
    if (first.empty()) return std::nullopt;
    Window window{*bounds.joined(Kind::minimum, std::move(first)), *bounds.joined(Kind::maximum, std::move(last))};
    if (is_number(window.first, 0) && is_number(window.last, extent - 1)) return std::nullopt;
    return window;
}

std::string window_text(const Window& window, const Body& body, int64_t start) {
    return fmt::format("{} .. {}", text(window.first, body, start), text(window.last, body, start));
}

std::pair<int64_t, int64_t> window_at(const Window& window, const Body& body, std::span<const int64_t> point) {
    return {value_at(window.first, body, point), value_at(window.last, body, point) + 1};
}

}  // namespace heddle::explain
