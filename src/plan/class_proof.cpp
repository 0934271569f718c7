#include "plan/class_proof.h"

#include <algorithm>

#include <fmt/format.h>

#include "zspace/origin_bounds.h"

namespace heddle::plan {
namespace {

class Prover {
public:
    explicit Prover(const Plan& plan) : plan_(plan), classes_(plan.names) { classes_.erase(plan.capacity); }

    ClassProof prove() {
        for (const Buffer& buffer : plan_.buffers) prove_map(buffer);
        for (const Batch& batch : plan_.run) {
            for (const Launch& launch : batch) prove_launch(launch);
        }
        return std::move(proof_);
    }

private:
    void claim(bool holds, const std::string& what, const Size& size, const char* relation) {
        proof_.statements++;
        if (!holds) proof_.unproved.push_back(fmt::format("{}: {} {} 0", what, size.text(), relation));
    }
    // Equal sizes are one expression, but where a fact says that they are.
    void claim_equal(const Size& a, const Size& b, const std::string& what) {
        const Size difference = a - b;
        claim(difference.same_as(0) || is_fact(difference, SizeFact::Relation::zero), what, difference, "==");
    }
    void claim_not_negative(const Size& size, const std::string& what) {
        claim(is_not_negative(size) || is_fact(size, SizeFact::Relation::not_negative), what, size, ">=");
    }

    bool is_not_negative(const Size& size) const {
        return size.named() ? is_never_negative(size.origin(), classes_) : size.number() >= 0;
    }
    bool is_fact(const Size& size, SizeFact::Relation relation) const {
        if (!plan_.facts || !size.named()) return false;
        return std::ranges::find(plan_.facts->list(), SizeFact{size.origin(), relation}) != plan_.facts->list().end();
    }

    void prove_map(const Buffer& buffer) {
        if (!buffer.packed.empty()) return;  // its bytes are the packed map's, which no plan says as an expression
        const std::string of = fmt::format("'{}'", buffer.name);
        const int64_t width = bytes(buffer.dtype);
        for (size_t d = 0; d < buffer.sizes.size(); d++) {
            claim_equal(buffer.storage.extent[d], buffer.sizes[d], "the extent of " + of);
            const StorageMap& map = buffer.storage;
            for (const Size* part : {&buffer.sizes[d], &map.margin_before[d], &map.margin_after[d]})
                claim_not_negative(*part, "a part of " + of);
        }
        claim_equal(buffer.storage.elements() * width, buffer.bytes, "the bytes of " + of);
        claim_equal(buffer.storage.offset() * width, buffer.base, "the base of " + of);
    }

    void prove_launch(const Launch& launch) {
        const std::string of = fmt::format("of '{}'", launch.name);
        const auto& tree = *plan_.trees[static_cast<size_t>(launch.tree)];
        for (size_t i = 0; i < launch.buffers.size(); i++) {
            const Buffer& buffer = plan_.buffers[static_cast<size_t>(launch.buffers[i])];
            if (tree.memories[i].aligned) claim(divides(64, buffer.base), "an aligned base " + of, buffer.base, "% 64 ==");
        }
        const auto value = [&](const schedules::Number& number) {
            return number.launch ? launch.numbers[static_cast<size_t>(number.value)] : Size(number.value);
        };
        std::vector<Digit> digits;
        for (const auto& axis : tree.tasks) {
            claim_not_negative(value(axis.step) - 1, "steps of tasks " + of);
            claim_not_negative(value(axis.step) * value(axis.count) - value(axis.extent), "tasks cover their axis " + of);
            digits.push_back({value(axis.divisor), value(axis.count)});
        }
        const bool ordered = are_digits(digits, launch.tasks);
        claim(ordered, "numbers of tasks that have a digit for each axis " + of, launch.tasks, "digits ==");
    }

    struct Digit {
        Size divisor, count;
    };
    // Whether they stand in an order in which each divisor is the product of the counts before; all of these are the tasks.
    static bool are_digits(std::vector<Digit> left, const Size& tasks, const Size& before = 1) {
        if (left.empty()) return before.same_as(tasks);
        for (size_t i = 0; i < left.size(); i++) {
            if (!left[i].divisor.same_as(before)) continue;
            std::vector<Digit> others = left;
            others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
            if (are_digits(std::move(others), tasks, before * left[i].count)) return true;
        }
        return false;
    }

    const Plan& plan_;
    std::map<std::string, int64_t> classes_;  // names that are of one class, each with a size of it
    ClassProof proof_;
};

}  // namespace

ClassProof prove_class(const Plan& plan) {
    const PausedFacts paused;
    return Prover(plan).prove();
}

}  // namespace heddle::plan
