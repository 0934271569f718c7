#include "equations/fusion_groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "target/choice_numbers.h"

namespace heddle::equations {

std::string text_of(const Refusal& refusal) {
    switch (refusal.why) {
    case Refusal::Why::no_gain:
        return fmt::format("no gain: one kernel of {:.0f} tasks would take {:.1f} us longer", refusal.tasks,
                           -refusal.gain * 1e6);
    case Refusal::Why::idle: return "it would save a launch, and leave cores without a task";
    case Refusal::Why::locals: return "the locals of one task would fill more than half of the L2 cache";
    case Refusal::Why::second_contraction:
        return "a second contraction, and the tensor between is not more than twice its operands";
    case Refusal::Why::pieces_apart: return "a kernel makes all equations of a name that it reads, or none";
    case Refusal::Why::margins: return "a guarded read of a local: locals have no margins";
    case Refusal::Why::equations: return "more equations than a kernel may hold";
    case Refusal::Why::buffers: return "more buffers than a kernel may have";
    case Refusal::Why::phases: return "made of constants only: computed once, in the prepare phase";
    case Refusal::Why::parts: return "parts of a reduction are tasks, which their sum waits for";
    case Refusal::Why::stored: return "it was asked to be stored";
    case Refusal::Why::opaque: return "an opaque operation";
    case Refusal::Why::message:
        return "one of them would wait for a message, or a message for it, that the other does not need";
    case Refusal::Why::path: return "another kernel stands between";
    case Refusal::Why::apart: return "a kernel of theirs could not be made";
    }
    return "";
}

Grouping::Grouping(const FusionGraph& graph, const Target& target, const FusionOptions& options)
    : graph_(graph), target_(target), options_(options), model_(graph, target) {
    const size_t count = graph.nodes.size();
    version_.assign(count, 0);
    cost_.resize(count);
    cost_version_.assign(count, -1);
    seen_.assign(count, 0);
    for (size_t n = 0; n < count; n++) {
        const auto node = static_cast<int32_t>(n);
        group_.push_back(node);
        members_.push_back({node});
        due_.push_back(graph.node(node).due);
        awaits_.push_back(graph.node(node).awaits);
        order_.push_back(node);
        rank_.push_back(node);
    }
    // A producer stands before its readers.
    before_.assign(count, 0);
    after_.assign(count, 0);
    for (size_t n = 0; n < count; n++) {
        for (int32_t reader : graph.nodes[n].readers) {
            int32_t& length = before_[static_cast<size_t>(reader)];
            length = std::max(length, before_[n] + 1);
        }
    }
    for (size_t n = count; n-- > 0;) {
        for (int32_t reader : graph.nodes[n].readers)
            after_[n] = std::max(after_[n], after_[static_cast<size_t>(reader)] + 1);
    }
    keep_scans_together();
}

// A scan is one kernel, with all that makes the names that it reads of itself: their initial values.
void Grouping::keep_scans_together() {
    std::map<int32_t, int32_t> first;  // node of each scan
    const auto join = [&](int32_t node, int32_t scan) {
        const int32_t with = group_of(first.try_emplace(scan, node).first->second);
        if (with != group_of(node)) merge(with, group_of(node), 0);
    };
    for (size_t n = 0; n < graph_.nodes.size(); n++) {
        const FusionNode& node = graph_.nodes[n];
        if (node.scan < 0) continue;
        join(static_cast<int32_t>(n), node.scan);
        for (const NodeRead& read : node.reads) {
            const auto& makers = graph_.makers[static_cast<size_t>(read.tensor)];
            const bool own = std::any_of(makers.begin(), makers.end(),
                                         [&](int32_t maker) { return graph_.node(maker).scan == node.scan; });
            for (int32_t maker : makers) {
                if (own) join(maker, node.scan);
            }
        }
    }
}

std::vector<int32_t> Grouping::united(int32_t a, int32_t b) const {
    std::vector<int32_t> result;
    std::merge(members(a).begin(), members(a).end(), members(b).begin(), members(b).end(), std::back_inserter(result));
    return result;
}

std::vector<int32_t> Grouping::neighbours(int32_t group, bool readers) const {
    std::vector<int32_t> result;
    for (int32_t member : members(group)) {
        const FusionNode& node = graph_.node(member);
        for (int32_t other : readers ? node.readers : node.sources) {
            if (group_of(other) != group) result.push_back(group_of(other));
        }
    }
    std::sort(result.begin(), result.end());
    result.erase(std::unique(result.begin(), result.end()), result.end());
    return result;
}

const KernelCost& Grouping::cost_of(int32_t group) {
    const auto g = static_cast<size_t>(group);
    if (cost_version_[g] != version_[g]) {
        const bool opaque = graph_.node(members(group)[0]).equation < 0;
        cost_[g] = opaque ? model_.opaque_cost() : model_.cost(members(group));
        cost_version_[g] = version_[g];
    }
    return cost_[g];
}

// Reads a name of several equations of which it makes a part only.
bool Grouping::is_torn(const std::vector<int32_t>& members) const {
    const auto inside = [&](int32_t node) { return std::binary_search(members.begin(), members.end(), node); };
    for (int32_t member : members) {
        for (const NodeRead& read : graph_.node(member).reads) {
            const auto& makers = graph_.makers[static_cast<size_t>(read.tensor)];
            if (makers.size() < 2) continue;
            const auto own = std::count_if(makers.begin(), makers.end(), inside);
            if (own > 0 && own < static_cast<std::ptrdiff_t>(makers.size())) return true;
        }
    }
    return false;
}

bool Grouping::reads_margin_of_local(const std::vector<int32_t>& members) const {
    for (int32_t member : members) {
        for (const NodeRead& read : graph_.node(member).reads) {
            if (!read.guarded) continue;
            for (int32_t maker : read.makers) {
                if (std::binary_search(members.begin(), members.end(), maker)) return true;
            }
        }
    }
    return false;
}

size_t Grouping::buffers(const std::vector<int32_t>& members) const {
    const auto inside = [&](int32_t node) { return std::binary_search(members.begin(), members.end(), node); };
    std::set<TensorIndex> tensors;
    for (int32_t member : members) {
        const FusionNode& node = graph_.node(member);
        for (const NodeRead& read : node.reads) {
            if (read.makers.empty() || !std::all_of(read.makers.begin(), read.makers.end(), inside))
                tensors.insert(read.tensor);
        }
        if (node.output || !std::all_of(node.readers.begin(), node.readers.end(), inside)) tensors.insert(node.tensor);
    }
    return tensors.size();
}

bool Grouping::sums_parts(const std::vector<int32_t>& members) const {
    return std::ranges::any_of(members, [&](int32_t member) {
        const FusionNode& node = graph_.node(member);
        return node.in_parts && std::ranges::find_first_of(node.readers, members) != node.readers.end();
    });
}

bool Grouping::reads_stored(const std::vector<int32_t>& members) const {
    return std::ranges::any_of(members, [&](int32_t member) {
        const FusionNode& node = graph_.node(member);
        return node.stored && std::ranges::find_first_of(node.readers, members) != node.readers.end();
    });
}

bool Grouping::structure_allows(int32_t a, int32_t b, const std::vector<int32_t>& members, Refusal::Why& why) const {
    const FusionNode& first = graph_.node(this->members(a)[0]);
    const FusionNode& second = graph_.node(this->members(b)[0]);
    const auto refuse = [&](Refusal::Why reason) {
        why = reason;
        return false;
    };
    if (first.equation < 0 || second.equation < 0) return refuse(Refusal::Why::opaque);
    const auto apart = [&](int32_t member) { return options_.apart.contains(graph_.node(member).equation); };
    if (!options_.apart.empty() && std::ranges::any_of(members, apart)) return refuse(Refusal::Why::apart);
    if (first.prepared != second.prepared) return refuse(Refusal::Why::phases);
    if (reads_stored(members)) return refuse(Refusal::Why::stored);
    if (sums_parts(members)) return refuse(Refusal::Why::parts);
    if (members.size() > static_cast<size_t>(target_.maximum_equations)) return refuse(Refusal::Why::equations);
    if (is_torn(members)) return refuse(Refusal::Why::pieces_apart);
    if (reads_margin_of_local(members)) return refuse(Refusal::Why::margins);
    if (buffers(members) > static_cast<size_t>(target_.maximum_buffers)) return refuse(Refusal::Why::buffers);
    return true;
}

// A small producer that others read too (a mask) takes common axes from a large reader: a launch is not worth them, as
// long as the reader could be joined with others over those axes, which saves far more (scores with their softmax).
bool Grouping::saves_only_a_launch(int32_t a, int32_t b, const KernelCost& joined, double gain) {
    const bool first_is_larger = cost_of(a).seconds > cost_of(b).seconds;
    const KernelCost &larger = cost_of(first_is_larger ? a : b), &smaller = cost_of(first_is_larger ? b : a);
    const double many = choice_numbers::small_producer * choice_numbers::seconds_of_a_kernel(target_);
    return gain <= choice_numbers::hardly_a_launch * choice_numbers::seconds_of_a_kernel(target_) &&
           smaller.seconds <= many && larger.seconds > many && joined.tasks < larger.tasks;
}

// What is done to a contraction's elements alone, once each, in registers, with nothing else that is computed: a bias. By
// costs a reader that is joined with it saves as much, within what speeds are measured to, but may compute it often.
bool Grouping::finishes(int32_t a, int32_t b, const KernelCost& joined) {
    if (cost_of(a).contractions == 0 || joined.tasks < cost_of(a).tasks) return false;
    const auto is_streamed = [&](int32_t member) {
        const FusionNode& node = graph_.node(member);
        const auto is_own = [&](int32_t source) { return group_of(source) == a || group_of(source) == b; };
        return !node.reduction && node.scan < 0 && !node.scatter && std::ranges::all_of(node.sources, is_own);
    };
    const auto leads_there = [&](int32_t member) {
        return std::ranges::all_of(graph_.node(member).readers,
                                   [&](int32_t r) { return group_of(r) == a || group_of(r) == b; });
    };
    return std::ranges::all_of(members(b), is_streamed) && std::ranges::all_of(members(a), leads_there);
}

// A launch is not worth the cores that would have no task at the least sizes of the class (a batch of one), where there is
// work for them.
bool Grouping::leaves_cores_idle(int32_t a, int32_t b, const KernelCost& joined, double gain) {
    const double launch = choice_numbers::seconds_of_a_kernel(target_);
    const KernelCost& larger = cost_of(cost_of(a).seconds > cost_of(b).seconds ? a : b);
    return gain <= choice_numbers::hardly_a_launch * launch && larger.seconds > 2 * launch &&
           joined.least_tasks < target_.cores && joined.least_tasks < larger.least_tasks;
}

// Joining two contractions pays where the tensor between them is larger than what stays: attention's scores. At the
// greatest sizes of the class: there most is to be gained, and at the least sizes a launch is lost at most.
bool Grouping::refuses_second_contraction(int32_t a, int32_t b, const KernelCost& joined) {
    if (!options_.one_contraction || joined.contractions < 2) return false;
    if (cost_of(a).contractions == 0 || cost_of(b).contractions == 0) return false;
    double between = 0, outside = 1;
    for (int32_t member : members(a)) {
        const FusionNode& node = graph_.node(member);
        const bool read =
            std::any_of(node.readers.begin(), node.readers.end(), [&](int32_t r) { return group_of(r) == b; });
        if (read) between = std::max(between, graph_.most_bytes[static_cast<size_t>(node.tensor)]);
    }
    for (int32_t group : {a, b}) {
        for (int32_t member : members(group)) {
            for (const NodeRead& read : graph_.node(member).reads) {
                const bool inside = std::any_of(read.makers.begin(), read.makers.end(), [&](int32_t maker) {
                    return group_of(maker) == a || group_of(maker) == b;
                });
                if (!inside) outside = std::max(outside, graph_.most_bytes[static_cast<size_t>(read.tensor)]);
            }
        }
    }
    if (between <= choice_numbers::between_two_contractions * outside) return true;
    // An operand that every task reads whole must stay in the cache, or serve many rows at a time.
    return joined.packed_bytes > static_cast<double>(choice_numbers::kept_in_l2(target_)) &&
           joined.tile < choice_numbers::largest_tile;
}

// Of groups that different messages need, the later one is done with the earlier one only where it reads that, and nothing
// that would have to be computed for it first.
bool Grouping::holds_up_a_message(int32_t a, int32_t b) const {
    if (due(a) == due(b)) return false;
    const int32_t first = due(a) < due(b) ? a : b, later = first == a ? b : a;
    bool reads = false;
    for (int32_t member : members(later)) {
        for (int32_t source : graph_.node(member).sources) {
            const int32_t group = group_of(source);
            reads = reads || group == first;
            if (group != a && group != b && graph_.node(source).due > due(first)) return true;
        }
    }
    return !reads;
}

// Of groups that need different messages, the earlier one is done with the later one only where nobody waits for it who needs
// less, and where that gains as much as what can be computed meanwhile.
bool Grouping::waits_for_a_message(int32_t a, int32_t b, double gain) {
    if (awaits(a) == awaits(b)) return false;
    const int32_t first = awaits(a) < awaits(b) ? a : b, later = first == a ? b : a;
    if (cost_of(first).seconds > 2 * gain) return true;
    return std::ranges::any_of(members(first), [&](int32_t member) {
        return std::ranges::any_of(graph_.node(member).readers, [&](int32_t reader) {
            return group_of(reader) != first && group_of(reader) != later && graph_.node(reader).awaits < awaits(later);
        });
    });
}

// From `from` to `to` other than by an edge between the two.
bool Grouping::path_through_others(int32_t from, int32_t to) {
    search_++;
    std::vector<int32_t> stack;
    const auto visit = [&](int32_t group) {
        for (int32_t next : neighbours(group, true)) {
            if (group == from && next == to) continue;
            if (rank_[static_cast<size_t>(next)] > rank_[static_cast<size_t>(to)]) continue;  // behind it
            if (std::exchange(seen_[static_cast<size_t>(next)], search_) != search_) stack.push_back(next);
        }
    };
    visit(from);
    while (!stack.empty()) {
        const int32_t group = stack.back();
        stack.pop_back();
        if (group == to) return true;
        visit(group);
    }
    return false;
}

// In edges; of an edge between the two groups. 0: there is none.
int32_t Grouping::longest_path_through(int32_t a, int32_t b) const {
    int32_t longest = 0;
    for (int32_t member : members(a)) {
        for (int32_t reader : graph_.node(member).readers) {
            if (group_of(reader) != b) continue;
            longest = std::max(longest, before_[static_cast<size_t>(member)] + 1 + after_[static_cast<size_t>(reader)]);
        }
    }
    return longest;
}

void Grouping::offer(int32_t a, int32_t b) {
    if (a == b) return;
    Refusal& refusal = refusals_[key(a, b)];
    refusal = {};
    const auto members = united(a, b);
    if (!structure_allows(a, b, members, refusal.why)) return;
    if (holds_up_a_message(a, b)) {
        refusal.why = Refusal::Why::message;
        return;
    }
    const double apart = cost_of(a).seconds + cost_of(b).seconds;
    const KernelCost joined = model_.cost(members);
    refusal.gain = apart - joined.seconds;
    refusal.tasks = joined.tasks;
    if (joined.local_bytes > static_cast<double>(choice_numbers::kept_in_l2(target_))) {
        refusal.why = Refusal::Why::locals;
    } else if (refusal.gain <= 0) {
        refusal.why = Refusal::Why::no_gain;
    } else if (waits_for_a_message(a, b, refusal.gain)) {
        refusal.why = Refusal::Why::message;
    } else if (leaves_cores_idle(a, b, joined, refusal.gain)) {
        refusal.why = Refusal::Why::idle;
    } else if (refuses_second_contraction(a, b, joined)) {
        refusal.why = Refusal::Why::second_contraction;
    } else {
        refusal.why = Refusal::Why::path;  // all that can still stand against it
        const bool late = saves_only_a_launch(a, b, joined, refusal.gain);
        // To a nanosecond: what sums of seconds round off must not decide between equals.
        heap_.push_back({late, finishes(a, b, joined), std::round(refusal.gain * 1e9), longest_path_through(a, b), offers_++, a, b,
                         version_[static_cast<size_t>(a)], version_[static_cast<size_t>(b)]});
        std::push_heap(heap_.begin(), heap_.end());
    }
}

void Grouping::offer_neighbours(int32_t group) {
    for (int32_t source : neighbours(group, false)) offer(source, group);
    for (int32_t reader : neighbours(group, true)) offer(group, reader);
    std::set<int32_t> beside;  // groups that make another piece of a name, or a sibling
    for (int32_t member : members(group)) {
        const auto& makers = graph_.makers[static_cast<size_t>(graph_.node(member).tensor)];
        const auto own = std::find(makers.begin(), makers.end(), member) - makers.begin();
        for (auto k : {own - 1, own + 1}) {
            if (k < 0 || k >= static_cast<std::ptrdiff_t>(makers.size())) continue;
            const int32_t other = group_of(makers[static_cast<size_t>(k)]);
            if (other != group) beside.insert(other);
        }
        for (int32_t sibling : graph_.node(member).siblings) {
            if (group_of(sibling) != group) beside.insert(group_of(sibling));
        }
    }
    for (int32_t other : beside) offer(std::min(group, other), std::max(group, other));
}

// `b` holds `a` now. Of the groups between the two places, those that one of them leads to go behind `b`, and the
// others before it: no path leads through them from one place to the other.
void Grouping::keep_order(int32_t a, int32_t b) {
    const int32_t low = std::min(rank_[static_cast<size_t>(a)], rank_[static_cast<size_t>(b)]);
    const int32_t high = std::max(rank_[static_cast<size_t>(a)], rank_[static_cast<size_t>(b)]);
    search_++;
    std::vector<int32_t> stack = {b};
    while (!stack.empty()) {
        const int32_t group = stack.back();
        stack.pop_back();
        for (int32_t next : neighbours(group, true)) {
            if (rank_[static_cast<size_t>(next)] >= high || next == b) continue;
            if (std::exchange(seen_[static_cast<size_t>(next)], search_) != search_) stack.push_back(next);
        }
    }
    std::vector<int32_t> behind;
    int32_t place = low;
    const auto put = [&](int32_t group) {
        order_[static_cast<size_t>(place)] = group;
        if (group >= 0) rank_[static_cast<size_t>(group)] = place;
        place++;
    };
    for (int32_t rank = low; rank <= high; rank++) {
        const int32_t group = order_[static_cast<size_t>(rank)];
        if (group == a || group == b) continue;
        const bool led_to = group >= 0 && seen_[static_cast<size_t>(group)] == search_;
        if (led_to)
            behind.push_back(group);
        else
            put(group);
    }
    put(b);
    for (int32_t group : behind) put(group);
    while (place <= high) put(-1);
}

void Grouping::merge(int32_t a, int32_t b, double gain) {
    for (int32_t member : members(a)) {
        for (int32_t reader : graph_.node(member).readers) {
            if (group_of(reader) == b) gains_[key(member, reader)] = gain;
        }
        for (int32_t source : graph_.node(member).sources) {
            if (group_of(source) == b) gains_[key(source, member)] = gain;
        }
    }
    const auto x = static_cast<size_t>(a), y = static_cast<size_t>(b);
    members_[y] = united(a, b);
    members_[x].clear();
    for (int32_t member : members_[y]) group_[static_cast<size_t>(member)] = b;
    keep_order(a, b);
    due_[y] = std::min(due_[x], due_[y]);
    awaits_[y] = std::max(awaits_[x], awaits_[y]);
    version_[x] = -1;
    version_[y]++;
}

void Grouping::run() {
    for (size_t n = 0; n < graph_.nodes.size(); n++) {
        const auto group = static_cast<int32_t>(n);
        if (version_[n] < 0) continue;
        for (int32_t reader : neighbours(group, true)) offer(group, reader);
    }
    for (const auto& makers : graph_.makers) {
        for (size_t k = 1; k < makers.size(); k++) {
            const int32_t a = group_of(makers[k - 1]), b = group_of(makers[k]);
            offer(std::min(a, b), std::max(a, b));
        }
    }
    for (size_t n = 0; n < graph_.nodes.size(); n++) {
        for (int32_t sibling : graph_.nodes[n].siblings) {
            if (sibling < static_cast<int32_t>(n)) offer(group_of(sibling), group_of(static_cast<int32_t>(n)));
        }
    }
    while (!heap_.empty()) {
        std::pop_heap(heap_.begin(), heap_.end());
        const Offer best = heap_.back();
        heap_.pop_back();
        if (version_[static_cast<size_t>(best.a)] != best.version_a) continue;
        if (version_[static_cast<size_t>(best.b)] != best.version_b) continue;
        if (path_through_others(best.a, best.b) || path_through_others(best.b, best.a)) continue;
        merge(best.a, best.b, best.gain * 1e-9);
        offer_neighbours(best.b);
    }
}

const Refusal* Grouping::refusal(int32_t producer_group, int32_t reader_group) const {
    auto found = refusals_.find(key(producer_group, reader_group));
    return found == refusals_.end() ? nullptr : &found->second;
}

double Grouping::gain_of_edge(int32_t producer, int32_t reader) const {
    auto found = gains_.find(key(producer, reader));
    return found == gains_.end() ? 0 : found->second;
}

}  // namespace heddle::equations
