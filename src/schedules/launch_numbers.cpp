#include "schedules/launch_numbers.h"

#include <bit>

#include <fmt/format.h>

#include "schedules/schedule.h"

namespace heddle::schedules {

std::string NumberTable::text_of(const NumberSubject& subject) const {
    using Kind = NumberSubject::Kind;
    std::string text;
    switch (subject.kind) {
    case Kind::none: return "";
    case Kind::axis: text = kernel_.axis(AxisId(subject.index)).name; break;
    case Kind::fused_rows: text = fmt::format("rows up to {}", kernel_.axis(AxisId(subject.index)).name); break;
    case Kind::tensor: text = kernel_.tensor(TensorIndex(subject.index)).name; break;
    case Kind::packed: text = fmt::format("{} packed", kernel_.tensor(TensorIndex(subject.index)).name); break;
    case Kind::value: text = fmt::format("value {}", subject.index); break;
    case Kind::store: text = fmt::format("a store to {}", kernel_.tensor(TensorIndex(subject.index)).name); break;
    case Kind::rounds: return subject.index < 0 ? "rounds" : fmt::format("rounds of phase {}", subject.index);
    case Kind::parts: return "parts";
    case Kind::bands: return fmt::format("bands of phase {}", subject.index);
    case Kind::accumulator: text = fmt::format("index of {}", kernel_.tensor(TensorIndex(subject.index)).name); break;
    }
    return subject.dimension < 0 ? text : fmt::format("{} dimension {}", text, subject.dimension);
}

std::string NumberTable::text_of(const NumberId& id) const {
    static constexpr const char* roles[] = {
        "literal of",
        "extent of",
        "step of",
        "count of",
        "divisor of",
        "stride of",
        "depth of",
        "panel of",
        "place of",
        "offset of",
        "constant of",
        "bound of",
        "coefficient of",
        "coefficient of a value in",
        "stride of a value in",
        "first point inside of",
        "end of the points inside of",
        "points from the first inside to the end of",
        "lower clip of",
        "upper clip of",
        "clip divisor of",
        "prefetch of",
        "prefetch of a task of",
        "prefetch step of",
    };
    std::string text = fmt::format("{} {}", roles[static_cast<size_t>(id.role)], text_of(id.subject));
    return id.along < 0 ? text : fmt::format("{} along {}", text, kernel_.axis(id.along).name);
}

Number NumberTable::add(const Size& bits, DType dtype, const NumberId& id) {
    std::vector<int64_t>& same = known_[id];
    for (int64_t number : same) {
        if (launch_.numbers[static_cast<size_t>(number)].same_as(bits)) return {true, number};
    }
    same.push_back(static_cast<int64_t>(launch_.numbers.size()));
    launch_.numbers.push_back(bits);
    std::string text = text_of(id);
    tree_.numbers.push_back({same.size() == 1 ? text : fmt::format("{} #{}", text, same.size()), dtype});
    return {true, same.back()};
}

NumberSubject NumberTable::value(Expr value) {
    return {NumberSubject::Kind::value,
            values_.try_emplace(value->id, static_cast<int32_t>(values_.size())).first->second};
}

Number NumberTable::integer(const Size& value, const NumberId& id) { return add(value, DType::int64, id); }
Number NumberTable::real(double value, const NumberId& id) {
    return add(std::bit_cast<int64_t>(value), DType::float64, id);
}

}  // namespace heddle::schedules
