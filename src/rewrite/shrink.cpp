// The smallest instance that still fails, by greedy steps: dimensions that are equal stay equal, alone or together.
#include <algorithm>
#include <set>

#include "rewrite/verify.h"

namespace heddle::rewrite {
namespace {

constexpr int64_t most_checks = 1'500;

int64_t weight(const StaticValue& value) {
    if (value.is_integer()) return std::abs(value.integer());
    if (value.is_boolean()) return value.boolean();
    int64_t sum = 0;
    if (value.is_list()) {
        for (const StaticValue& element : value.list()) sum += 1 + weight(element);
    }
    return sum;
}

// Smaller is easier to read: fewer tensors and dimensions first, then small numbers.
int64_t weight(const Instance& instance) {
    int64_t sum = 0;
    for (const auto& [name, types] : instance.tensors) {
        sum += 1'000 * static_cast<int64_t>(types.size());
        for (const TensorType& type : types) {
            for (int64_t extent : type.extents()) sum += 100 + (extent == 0 ? 50 : extent);
        }
    }
    for (const auto& [name, value] : instance.values) sum += weight(value);
    return sum;
}

template <typename Function>
void each_extent(Instance& instance, const Function& function) {
    for (auto& [name, types] : instance.tensors) {
        for (TensorType& type : types) {
            for (Size& size : type.shape) function(size);
        }
    }
}

class Shrinker {
public:
    Shrinker(Instance instance, const std::function<bool(const Instance&)>& fails)
        : best_(std::move(instance)), fails_(fails) {}

    Instance run() {
        while (checks_ < most_checks &&
               (fewer_tensors() || fewer_dimensions() || smaller_extents() || smaller_values())) {
        }
        return best_;
    }

private:
    bool accept(Instance candidate) {
        if (checks_ >= most_checks || weight(candidate) >= weight(best_)) return false;
        ++checks_;
        if (!fails_(candidate)) return false;
        best_ = std::move(candidate);
        return true;
    }

    bool fewer_tensors() {
        for (const auto& [name, types] : best_.tensors) {
            if (types.size() < 2) continue;
            Instance candidate = best_;
            candidate.tensors[name].pop_back();
            if (accept(std::move(candidate))) return true;
        }
        return false;
    }

    bool fewer_dimensions() {
        for (bool last : {false, true}) {
            auto drop = [&](TensorType& type) {
                if (!type.shape.empty()) type.shape.erase(last ? type.shape.end() - 1 : type.shape.begin());
            };
            Instance all = best_;
            for (auto& [name, types] : all.tensors) std::for_each(types.begin(), types.end(), drop);
            if (accept(std::move(all))) return true;
            for (const auto& [name, types] : best_.tensors) {
                Instance one = best_;
                std::for_each(one.tensors[name].begin(), one.tensors[name].end(), drop);
                if (accept(std::move(one))) return true;
            }
        }
        return false;
    }

    bool smaller_extents() {
        std::vector<int64_t> extents;
        each_extent(best_, [&](Size& size) { extents.push_back(size.value()); });
        std::set<int64_t> distinct(extents.begin(), extents.end());
        auto changed = [&](auto choose, int64_t to) {
            Instance candidate = best_;
            size_t at = 0;
            each_extent(candidate, [&](Size& size) {
                if (choose(at++)) size = Size(to);
            });
            return candidate;
        };
        for (int64_t value : distinct) {
            for (int64_t to : {int64_t(1), value / 2, value - 1}) {
                if (to >= 0 && accept(changed([&](size_t i) { return extents[i] == value; }, to))) return true;
            }
        }
        for (size_t a = 0; a < extents.size(); ++a) {
            for (size_t b = a; b < extents.size(); ++b) {
                if (extents[a] != extents[b]) continue;
                for (int64_t to : {int64_t(1), extents[a] - 1}) {
                    if (to >= 0 && accept(changed([&](size_t i) { return i == a || i == b; }, to))) return true;
                }
            }
        }
        return false;
    }

    bool smaller_values() {
        for (const auto& [name, value] : best_.values) {
            std::vector<StaticValue> smaller;
            if (value.is_integer()) {
                for (int64_t to : {int64_t(0), int64_t(1), value.integer() - 1, value.integer() + 1})
                    smaller.push_back(StaticValue::of(to));
            } else if (value.is_boolean()) {
                smaller.push_back(StaticValue::of(false));
            } else if (value.is_list()) {
                for (size_t i = 0; i < value.list().size(); ++i) {
                    StaticValue::List shorter = value.list(), less = value.list();
                    shorter.erase(shorter.begin() + static_cast<std::ptrdiff_t>(i));
                    smaller.push_back(StaticValue::of(std::move(shorter)));
                    if (!less[i].is_integer()) continue;
                    less[i] = StaticValue::of(less[i].integer() - (less[i].integer() > 0 ? 1 : -1));
                    smaller.push_back(StaticValue::of(std::move(less)));
                }
            }
            for (const StaticValue& one : smaller) {
                Instance candidate = best_;
                candidate.values[name] = one;
                if (accept(std::move(candidate))) return true;
            }
        }
        return false;
    }

    Instance best_;
    const std::function<bool(const Instance&)>& fails_;
    int64_t checks_ = 0;
};

}  // namespace

Instance shrink(Instance instance, const std::function<bool(const Instance&)>& fails) {
    each_extent(instance, [](Size& size) { size = Size(size.value()); });  // numbers alone
    return Shrinker(std::move(instance), fails).run();
}

}  // namespace heddle::rewrite
