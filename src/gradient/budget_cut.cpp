#include "gradient/budget_cut.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace heddle::gradient {
namespace {

struct Choice {
    std::vector<bool> kept;  // of what is asked for
    int64_t bytes = 0, work = never;
};

enum class Branch : uint8_t { open, kept, not_kept };

class BudgetSearch {
public:
    BudgetSearch(const std::vector<CutValue>& values, int64_t budget, int64_t effort)
        : values_(values), budget_(budget), effort_left_(effort) {
        for (const CutValue& value : values) {
            if (value.again < never) all_work_ += static_cast<double>(value.again);
            if (value.keep < never) all_bytes_ += static_cast<double>(value.keep);
        }
    }

    std::optional<std::vector<bool>> found() {
        std::vector<std::vector<Branch>> open = {std::vector<Branch>(values_.size())};
        while (!open.empty()) {
            std::vector<Branch> branches = std::move(open.back());
            open.pop_back();
            const std::optional<size_t> between = explore(branches);
            if (!between) continue;
            branches[*between] = Branch::not_kept;
            open.push_back(branches);
            branches[*between] = Branch::kept;  // this one first: it fills the budget
            open.push_back(std::move(branches));
        }
        if (best_.work >= never) return std::nullopt;
        if (effort_left_ <= 0) improve(filled(best_));
        return best_.kept;
    }

private:
    // A value to branch at; none if nothing better is to be found here.
    std::optional<size_t> explore(const std::vector<Branch>& branches) {
        const bool is_first = best_.work >= never;
        if (!is_first && effort_left_ <= 0) return std::nullopt;
        const Part part = allowed(branches);
        Choice low = cut(part, 1, 0);  // the fewest bytes
        if (low.work >= never || low.bytes > part.budget) return std::nullopt;
        Choice high = cut(part, 1 / (all_bytes_ + 1), 1);  // the least work
        double bound = static_cast<double>(high.work);
        // Between both the choice at each price; that of the greatest bound lies beside the budget.
        while (high.bytes > part.budget && low.work > high.work && (is_first || effort_left_ > 0)) {
            const double price =
                static_cast<double>(low.work - high.work) / static_cast<double>(high.bytes - low.bytes);
            const auto at_price = [&](const Choice& choice) {
                return static_cast<double>(choice.work) + price * static_cast<double>(choice.bytes);
            };
            Choice next = cut(part, price, 1);
            bound = std::max(bound, at_price(next) - price * static_cast<double>(part.budget));
            if (at_price(next) >= at_price(low) - least_gain() / 2) break;
            (next.bytes > part.budget ? high : low) = std::move(next);
        }
        const bool is_solved = high.bytes <= part.budget;
        improve(of(values_, is_solved ? high.kept : low.kept));
        if (is_first) improve(filled(best_));
        if (is_solved || bound > static_cast<double>(best_.work) - least_gain()) return std::nullopt;
        return largest_of(high, low, branches);
    }

    // Work is counted in whole numbers, and cuts in 64 bits.
    double least_gain() const { return std::max(0.5, 1e-9 * all_work_); }

    // The problem of a branch: what is kept already costs nothing more, and what does not fit beside it is not kept.
    struct Part {
        std::vector<CutValue> values;
        int64_t budget = 0;
    };

    Part allowed(const std::vector<Branch>& branches) const {
        Part part{values_, budget_};
        for (size_t i = 0; i < branches.size(); ++i)
            if (branches[i] == Branch::kept) part.budget -= std::exchange(part.values[i].keep, 0);
        for (size_t i = 0; i < branches.size(); ++i) {
            int64_t& keep = part.values[i].keep;
            if (branches[i] == Branch::not_kept || keep > part.budget) keep = never;
        }
        return part;
    }

    Choice cut(const Part& part, double per_byte, double per_work) {
        effort_left_ -= static_cast<int64_t>(values_.size());
        const double scale = std::ldexp(1, 55) / (per_byte * all_bytes_ + per_work * all_work_ + 1e-30);
        std::vector<CutValue> values = part.values;
        for (CutValue& value : values) {
            const auto scaled = [&](int64_t cost, double price) {
                return cost >= never ? never : std::llround(static_cast<double>(cost) * price * scale);
            };
            value.keep = scaled(value.keep, per_byte);
            value.again = scaled(value.again, per_work);
        }
        return of(part.values, cheapest_to_keep(values));
    }

    // Of what is kept that which is asked for, and what that costs.
    static Choice of(const std::vector<CutValue>& values, const std::vector<bool>& kept) {
        Choice choice{std::vector<bool>(values.size()), 0, 0};
        std::vector<bool> asked(values.size());
        std::vector<size_t> open;
        const auto ask = [&](size_t value) {
            if (!asked[value]) open.push_back(value);
            asked[value] = true;
        };
        for (size_t i = 0; i < values.size(); ++i)
            if (values[i].needed) ask(i);
        while (!open.empty()) {
            const size_t i = open.back();
            open.pop_back();
            choice.kept[i] = kept[i];
            int64_t& sum = kept[i] ? choice.bytes : choice.work;
            sum = std::min(never, sum + (kept[i] ? values[i].keep : values[i].again));
            if (kept[i]) continue;
            for (size_t input : values[i].inputs) ask(input);
        }
        return choice;
    }

    void improve(Choice choice) {
        const bool is_better =
            choice.work < best_.work || (choice.work == best_.work && choice.bytes < best_.bytes);
        if (choice.bytes <= budget_ && is_better) best_ = std::move(choice);
    }

    // Also keeps what saves most a byte and still fits.
    Choice filled(Choice choice) const {
        struct Saving {
            size_t value;
            double per_byte;
        };
        std::vector<Saving> savings;
        const auto with = [&](size_t value) {
            std::vector<bool> kept = choice.kept;
            kept[value] = true;
            return of(values_, kept);
        };
        for (size_t i = 0; i < values_.size(); ++i) {
            if (choice.kept[i] || values_[i].keep > budget_ - choice.bytes) continue;
            const int64_t saved = choice.work - with(i).work;
            if (saved > 0)
                savings.push_back({i, static_cast<double>(saved) / static_cast<double>(values_[i].keep + 1)});
        }
        std::ranges::stable_sort(savings, std::ranges::greater(), &Saving::per_byte);
        for (const Saving& saving : savings) {
            Choice more = with(saving.value);
            if (more.bytes <= budget_ && more.work < choice.work) choice = std::move(more);
        }
        return choice;
    }

    // Of those that a choice beyond the budget keeps and that nothing is said of yet, for these alone are beyond it; if
    // there are any, of those that a choice within does not keep.
    std::optional<size_t> largest_of(const Choice& high, const Choice& low, const std::vector<Branch>& branches) const {
        std::optional<size_t> largest;
        const auto rank = [&](size_t i) { return std::pair(!low.kept[i], values_[i].keep); };
        for (size_t i = 0; i < values_.size(); ++i) {
            if (!high.kept[i] || branches[i] != Branch::open || values_[i].keep == 0) continue;
            if (!largest || rank(i) > rank(*largest)) largest = i;
        }
        return largest;
    }

    const std::vector<CutValue>& values_;
    const int64_t budget_;
    int64_t effort_left_;
    double all_work_ = 0, all_bytes_ = 0;
    Choice best_;
};

}  // namespace

std::optional<std::vector<bool>> cheapest_within(const std::vector<CutValue>& values, int64_t budget, int64_t effort) {
    return BudgetSearch(values, budget, effort).found();
}

}  // namespace heddle::gradient
