#include "plan/class_proof.h"

#include <algorithm>

#include <fmt/format.h>

#include "schedules/access_proof.h"
#include "zspace/premises.h"

namespace heddle::plan {
namespace {

class Prover {
public:
    explicit Prover(const Plan& plan) : plan_(plan) {
        if (!plan.facts) return;
        for (const SizeFact& fact : plan.facts->list()) {
            if (fact.relation == SizeFact::Relation::not_zero) premises_.add_not_zero(fact.size);
        }
        for (const SizeFact& fact : plan.facts->list()) {
            if (fact.relation == SizeFact::Relation::zero) premises_.add_zero(premises_.of(fact.size));
        }
        std::vector<Polynomial> others;
        for (const SizeFact& fact : plan.facts->list()) {
            if (fact.relation == SizeFact::Relation::not_negative) others.push_back(premises_.of(fact.size));
        }
        // What says most first: of others like it nothing is new then.
        std::ranges::stable_sort(others, {}, &Polynomial::constant);
        for (const Polynomial& size : others) {
            if (!proves(size)) premises_.add(size);
        }
    }

    ClassProof prove() {
        for (const Buffer& buffer : plan_.buffers) prove_map(buffer);
        for (const auto* phase : {&plan_.prepare, &plan_.run}) {
            for (const Batch& batch : *phase) {
                for (const Launch& launch : batch) prove_launch(launch), prove_memory(launch);
            }
        }
        return std::move(proof_);
    }

private:
    void claim(bool holds, const std::string& what, const Size& size, const char* relation) {
        proof_.statements++;
        if (!holds) proof_.unproved.push_back(fmt::format("{}: {} {} 0", what, size.text(), relation));
    }
    bool proves(const Polynomial& not_negative) { return premises_.proves(not_negative); }
    bool are_equal(const Size& a, const Size& b) {
        const Polynomial difference = premises_.of(a) - premises_.of(b);
        return proves(difference) && proves(-difference);
    }
    void claim_equal(const Size& a, const Size& b, const std::string& what) { claim(are_equal(a, b), what, a - b, "=="); }
    void claim_not_negative(const Size& size, const std::string& what) {
        claim(proves(premises_.of(size)), what, size, ">=");
    }

    // Accesses of all kernels. What is packed has no map, but bytes.
    void prove_memory(const Launch& launch) {
        const schedules::Tree& tree = *plan_.trees[static_cast<size_t>(launch.tree)];
        std::vector<schedules::Room> rooms;
        for (int32_t b : launch.buffers) {
            const Buffer& buffer = plan_.buffers[static_cast<size_t>(b)];
            rooms.push_back({buffer.base, buffer.bytes - buffer.base});
        }
        const auto place = [&](const schedules::Memory& array) {
            return array.offset.launch ? launch.numbers[static_cast<size_t>(array.offset.value)] : Size(array.offset.value);
        };
        for (size_t m = rooms.size(); m < tree.memories.size(); m++) {
            size_t next = m + 1;
            while (next < tree.memories.size() && place(tree.memories[next]).same_as(place(tree.memories[m]))) next++;
            const Size end = next < tree.memories.size() ? place(tree.memories[next]) : launch.scratch_bytes;
            rooms.push_back({0, end - place(tree.memories[m])});
        }
        schedules::AccessProof found = schedules::prove_accesses(tree, launch.numbers, rooms, premises_);
        proof_.statements += found.statements;
        for (const std::string& what : found.unproved)
            proof_.unproved.push_back(fmt::format("'{}' accesses nothing {}", launch.name, what));
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
        std::vector<Digit> axes, digits;
        const size_t before = premises_.mark();
        for (const auto& axis : tree.tasks) {
            claim_not_negative(value(axis.step) - 1, "steps of tasks " + of);
            claim_not_negative(value(axis.step) * value(axis.count) - value(axis.extent), "tasks cover their axis " + of);
            claim_no_tasks(value(axis.extent), launch.tasks, of);
            axes.push_back({value(axis.divisor), value(axis.count)});
        }
        for (const auto& axis : tree.tasks) premises_.add(premises_.of(value(axis.extent)) - 1);
        for (const Digit& axis : axes) {
            if (!are_equal(axis.count, 1)) digits.push_back(axis);
        }
        const bool ordered = are_digits(digits, launch.tasks);
        premises_.forget(before);
        std::string all;
        for (const Digit& digit : digits) all += digit.count.text() + " from " + digit.divisor.text() + ", ";
        claim(ordered, "digits of tasks " + of + ": " + all + "all", launch.tasks, "- tasks ==");
    }

    // Where an axis is empty nothing runs.
    void claim_no_tasks(const Size& extent, const Size& tasks, const std::string& of) {
        if (!extent.named() && extent.number() > 0) return;
        const size_t before = premises_.mark();
        const Polynomial size = premises_.of(extent);
        if (proves(size - 1)) return;
        premises_.add(-size);
        claim(proves(-premises_.of(tasks)), "tasks of what is empty " + of + ", " + extent.text(), tasks, "<=");
        premises_.forget(before);
    }

    struct Digit {
        Size divisor, count;
    };
    // Whether they stand in an order in which each divisor is the product of the counts before; all of these are the tasks.
    bool are_digits(std::vector<Digit> left, const Size& tasks, const Size& before = 1) {
        if (left.empty()) return are_equal(before, tasks);
        for (size_t i = 0; i < left.size(); i++) {
            if (!are_equal(left[i].divisor, before)) continue;
            std::vector<Digit> others = left;
            others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
            if (are_digits(std::move(others), tasks, before * left[i].count)) return true;
        }
        return false;
    }

    const Plan& plan_;
    Premises premises_;
    ClassProof proof_;
};

}  // namespace

ClassProof prove_class(const Plan& plan) {
    const PausedFacts paused;
    return Prover(plan).prove();
}

}  // namespace heddle::plan
