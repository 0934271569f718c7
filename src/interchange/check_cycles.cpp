// All simple cycles of tensors and operations, after Johnson, "Finding all the elementary circuits of a directed graph"
// (1975): from each vertex in turn, within what is left strongly connected (Tarjan 1972), a path that does not enter
// blocked vertices. Both without recursion: paths may be as long as the document.
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "interchange/issues.h"

namespace heddle::interchange {
namespace {

using Vertices = std::vector<size_t>;

// Vertices are nodes of the document. An edge goes from a tensor to an operation that reads it, and on to what it
// writes.
struct Edges {
    std::vector<Vertices> out;
};

Edges edges_of(const Checked& checked) {
    Edges edges;
    edges.out.resize(checked.document.nodes.size());
    for (size_t i = 0; i < checked.document.nodes.size(); i++) {
        const auto* body = std::get_if<OperationBody>(&checked.node(i).body);
        if (!body) continue;
        auto add = [&](const char* side, const std::optional<DocumentSelections>& selections, bool input) {
            each_selection(selections, i, side,
                           [&](const auto&, const auto&, size_t, const DocumentSelection& selection) {
                               auto tensor = checked.find<TensorBody>(selection.tensor_id);
                               if (tensor) edges.out[input ? *tensor : i].push_back(input ? i : *tensor);
                           });
        };
        add("inputs", body->inputs, true);
        add("outputs", body->outputs, false);
    }
    for (Vertices& list : edges.out) {
        std::ranges::sort(list);
        list.erase(std::unique(list.begin(), list.end()), list.end());
    }
    return edges;
}

// The strongly connected components of more than one vertex among `vertices`, each sorted. `member` says for every
// vertex whether it is one of them.
std::vector<Vertices> components(const Edges& edges, const Vertices& vertices, const std::vector<bool>& member) {
    constexpr size_t unseen = SIZE_MAX;
    struct Frame {
        size_t vertex, next;
    };
    std::vector<size_t> number(edges.out.size(), unseen), low(edges.out.size(), 0);
    std::vector<bool> open(edges.out.size(), false);
    Vertices stack;
    std::vector<Vertices> result;
    size_t count = 0;
    for (size_t root : vertices) {
        if (number[root] != unseen) continue;
        std::vector<Frame> frames = {{root, 0}};
        while (!frames.empty()) {
            auto& [vertex, next] = frames.back();
            if (next == 0) {
                number[vertex] = low[vertex] = count++;
                stack.push_back(vertex);
                open[vertex] = true;
            }
            if (next < edges.out[vertex].size()) {
                size_t other = edges.out[vertex][next++];
                if (!member[other]) continue;
                if (number[other] == unseen)
                    frames.push_back({other, 0});
                else if (open[other])
                    low[vertex] = std::min(low[vertex], number[other]);
                continue;
            }
            size_t done = vertex;
            if (low[done] == number[done]) {
                Vertices component;
                for (size_t last = SIZE_MAX; last != done;) {
                    last = stack.back();
                    stack.pop_back();
                    open[last] = false;
                    component.push_back(last);
                }
                std::ranges::sort(component);
                if (component.size() > 1) result.push_back(std::move(component));
            }
            frames.pop_back();
            if (!frames.empty()) low[frames.back().vertex] = std::min(low[frames.back().vertex], low[done]);
        }
    }
    std::ranges::sort(result);
    return result;
}

class Cycles {
public:
    explicit Cycles(const Edges& edges)
        : edges_(edges),
          member_(edges.out.size(), true),
          blocked_(edges.out.size(), false),
          waiting_(edges.out.size()) {
        Vertices all(edges.out.size());
        for (size_t i = 0; i < all.size(); i++) all[i] = i;
        todo_ = components(edges_, all, member_);
        std::ranges::reverse(todo_);
        member_.assign(edges.out.size(), false);
    }

    std::vector<Vertices> found;
    bool complete = true;

    void run() {
        while (!todo_.empty() && complete) {
            Vertices component = std::move(todo_.back());
            todo_.pop_back();
            for (size_t vertex : component) member_[vertex] = true;
            from(component[0]);
            member_[component[0]] = false;
            Vertices rest(component.begin() + 1, component.end());
            auto more = components(edges_, rest, member_);
            for (size_t vertex : component) {
                member_[vertex] = false;
                blocked_[vertex] = false;
                waiting_[vertex].clear();
            }
            todo_.insert(todo_.end(), std::make_move_iterator(more.rbegin()), std::make_move_iterator(more.rend()));
        }
    }

private:
    // All cycles through `start` within the members.
    void from(size_t start) {
        struct Frame {
            size_t vertex, next = 0;
            bool closed = false;  // a cycle was found from here
        };
        std::vector<Frame> path = {{start}};
        blocked_[start] = true;
        while (!path.empty()) {
            Frame& frame = path.back();
            if (frame.next < edges_.out[frame.vertex].size()) {
                size_t other = edges_.out[frame.vertex][frame.next++];
                if (!member_[other]) continue;
                if (other == start) {
                    if (found.size() == most_cycles) {
                        complete = false;
                        return;
                    }
                    Vertices& cycle = found.emplace_back();
                    for (const Frame& step : path) cycle.push_back(step.vertex);
                    frame.closed = true;
                } else if (!blocked_[other]) {
                    blocked_[other] = true;
                    path.push_back({other});
                }
                continue;
            }
            Frame done = frame;
            path.pop_back();
            if (done.closed) {
                unblock(done.vertex);
                if (!path.empty()) path.back().closed = true;
            } else {
                for (size_t other : edges_.out[done.vertex]) {
                    if (member_[other]) waiting_[other].insert(done.vertex);
                }
            }
        }
    }

    void unblock(size_t vertex) {
        Vertices list = {vertex};
        while (!list.empty()) {
            size_t next = list.back();
            list.pop_back();
            if (!blocked_[next]) continue;
            blocked_[next] = false;
            list.insert(list.end(), waiting_[next].begin(), waiting_[next].end());
            waiting_[next].clear();
        }
    }

    const Edges& edges_;
    std::vector<bool> member_, blocked_;
    std::vector<std::set<size_t>> waiting_;  // for a vertex to be unblocked
    std::vector<Vertices> todo_;
};

}  // namespace

void check_cycles(Checked& checked) {
    Edges edges = edges_of(checked);
    Cycles cycles(edges);
    cycles.run();
    for (const Vertices& cycle : cycles.found) {
        Issue issue{.code = "interchange.cycle",
                    .summary = fmt::format("{} depends on itself", checked.title(cycle[0])),
                    .part = {cycle[0], {}},
                    .expected = "no operation that reads what it makes, by way of others or not"};
        std::string ids;
        for (size_t vertex : cycle) {
            ids += (ids.empty() ? "" : " ") + checked.node(vertex).id;
            issue.contexts.emplace_back(checked.title(vertex), PartOfNode{vertex, {}});
        }
        issue.found = fmt::format("a cycle of {} nodes", cycle.size());
        issue.params = {{"cycle", ids}};
        checked.add(std::move(issue));
    }
    if (!cycles.complete) {
        checked.add({.code = "interchange.limit",
                     .summary = fmt::format("there are more than {} cycles; the others are not listed", most_cycles),
                     .part = {cycles.found[0][0], {}}});
    }
}

}  // namespace heddle::interchange
