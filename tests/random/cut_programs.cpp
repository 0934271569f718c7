#include "random/cut_programs.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "running/spread.h"
#include "running/together.h"
#include "evaluate/compare.h"
#include "evaluate/evaluate.h"
#include "evaluate/work.h"
#include "graph/verify.h"
#include "placing/sharded.h"
#include "placing/parts.h"
#include "random/trial.h"

namespace heddle::random {
namespace {

using placing::Mesh;
using sharding::Axis;
using sharding::PlaceId;

constexpr double most_operations = 1e9;  // of the interpreter, some seconds

// Whether floats are added or multiplied up: the order of that is free, for the interpreter too.
bool rounds(const Graph& graph) {
    return std::ranges::any_of(graph.operations, [](const Operation& operation) {
        return operation.body && std::ranges::any_of(operation.body->nodes, [](const Node& node) {
                   const bool adds = node.reducer == Reducer::sum || node.reducer == Reducer::product;
                   return node.kind == Node::Kind::reduce && adds && !is_integer(node.dtype) && !is_bool(node.dtype);
               });
    });
}

class CutPrograms {
public:
    explicit CutPrograms(Library& library, size_t run_one_in) : library_(library), run_one_in_(run_one_in) {}

    // What is wrong; empty: nothing.
    std::string check(const Program& program, Choices& choices, bool runs) {
        auto prepared = prepare(program, library_, [](const char*) {});
        if (!prepared) return render(prepared.error());
        if (scalar_operations(prepared->graph) > most_operations) return "";
        const auto whole = evaluate_graph(prepared->graph, prepared->feeds, Precision::body);
        if (!whole) return "";  // an index that is out of range, or too much work
        const Mesh mesh = choices.one_of(std::vector<Mesh>{{2}, {3}, {4}, {2, 2}, {2, 3}});
        mesh_ = mesh;
        const auto said = random_cuts(prepared->graph, mesh, choices);
        const auto count = static_cast<int32_t>(placing::place_count(mesh));
        std::vector<PlaceId> readers = {PlaceId(choices.below(count))};
        if (choices.below(2) == 0) readers = {PlaceId(0), PlaceId(count - 1)};
        const placing::SaidParts parts = random_parts(prepared->graph, count, choices);
        auto made = placing::sharded(prepared->graph, said, system_for(count, choices.below(2) * 1e-3), readers, parts);
        if (!made) return render(made.error());
        auto wrong = of_collectives(*made);
        if (wrong.empty()) wrong = interpreted(*prepared, *made, readers, *whole);
        if (wrong.empty() && runs) wrong = run(*prepared, std::move(*made), readers);
        return wrong;
    }

    void print_counts() const {
        fmt::print(
            "{} operations cut along {} axes, {} bit for bit; {} messages, {} bytes; {} inputs and {} outputs in "
            "parts\n",
            operations_, axes_, exactly_, messages_, bytes_, spread_inputs_, spread_outputs_);
        for (const auto& [kind, count] : kinds_) fmt::print("{} {}\n", count, kind);
    }

private:
    placing::SaidCuts random_cuts(const Graph& graph, const Mesh& mesh, Choices& choices) {
        placing::SaidCuts said{mesh, {}};
        for (const Operation& operation : graph.operations) {
            operations_++;
            if (choices.below(8) == 0) continue;  // as costs choose: any axis
            const auto axes = sharding::axes_of(graph, operation);
            const auto random_axis = [&]() -> std::string {
                const auto axis = static_cast<size_t>(choices.below(static_cast<int64_t>(axes.size()) + 1));
                const bool cut = axis < axes.size() && !axes[axis].refusal &&
                                 std::ranges::count(axes, axes[axis].name, &Axis::name) == 1;
                return cut ? axes[axis].name : "";
            };
            for (size_t d = 0; d < mesh.size(); d++) {
                const bool stays = choices.below(8) == 0;  // at one place
                said.cuts.push_back(
                    {operation.name, stays ? fmt::format("@{}", choices.below(mesh[d])) : random_axis(), d});
                axes_ += !stays && !said.cuts.back().axis.empty();
            }
            if (const std::string axis = choices.below(4) == 0 ? random_axis() : ""; !axis.empty())
                said.turns.push_back({operation.name, axis, 1 + choices.below(3)});
        }
        return said;
    }

    // In half of the programs some inputs lie in parts, and some outputs stay.
    placing::SaidParts random_parts(const Graph& graph, int32_t count, Choices& choices) {
        placing::SaidParts parts;
        if (choices.below(2) == 0) return parts;
        for (size_t i = 0; i < graph.inputs.size(); i++) {
            const TensorType& type = graph.tensor(graph.inputs[i]).type;
            if (choices.below(2) == 0 && type.elements() > 0) parts.inputs[i] = random_spread(type, count, choices);
            const auto output = static_cast<size_t>(choices.below(static_cast<int64_t>(graph.outputs.size())));
            const bool is_free =
                std::ranges::find(parts.states, output, &std::pair<size_t, size_t>::second) == parts.states.end();
            if (is_free && choices.below(2) == 0) parts.states.emplace_back(i, output);
        }
        return parts;
    }

    // Each element at one place, or all at all.
    static sharding::Spread random_spread(const TensorType& type, int32_t count, Choices& choices) {
        const auto dimension = static_cast<size_t>(choices.below(static_cast<int64_t>(type.shape.size()) + 1));
        sharding::Spread spread;
        for (int32_t place = 0; place < count; place++) {
            Box box = Box::whole(type.shape);
            if (dimension < type.shape.size()) {
                const int64_t extent = type.shape[dimension].number(), length = (extent + count - 1) / count;
                box.start[dimension] = std::min(extent, place * length);
                box.end[dimension] = std::min(extent, (place + 1) * length);
            }
            if (!box.is_empty()) spread.emplace_back(place, box);
        }
        return spread;
    }

    // What a place takes, of the program's inputs: all that is whole, then its parts; of all places where it is none.
    static std::vector<TensorData> arguments(const Prepared& prepared, const sharding::Spreads& spreads,
                                             int32_t place = -1) {
        std::vector<TensorData> arguments;
        const auto& inputs = prepared.graph.inputs;
        for (size_t i = 0; i < inputs.size(); i++)
            if (!spreads.inputs.contains(inputs[i])) arguments.push_back(prepared.feeds[i]);
        for (size_t i = 0; i < inputs.size(); i++) {
            const auto spread = spreads.inputs.find(inputs[i]);
            if (spread == spreads.inputs.end()) continue;
            for (const auto& [at, box] : spread->second)
                if (place < 0 || at == PlaceId(place)) arguments.push_back(running::box_of(prepared.feeds[i], box));
        }
        return arguments;
    }

    // Where links answer late, partial results are combined at once.
    static placing::System system_for(int32_t count, double latency) {
        auto system = *placing::system_of_processes(detect_host(), count);
        for (placing::Link& link : system.links) link.latency = latency;
        return system;
    }

    std::string interpreted(const Prepared& prepared, const placing::ShardedProgram& made,
                            const std::vector<PlaceId>& readers, const std::vector<TensorData>& whole) {
        const sharding::Spreads& spreads = made.cutting.spreads;
        spread_inputs_ += spreads.inputs.size();
        spread_outputs_ += spreads.outputs.size();
        const auto placed = sharding::place(prepared.graph, made.cutting.cuts, readers, spreads);
        if (!placed) return render(placed.error());
        if (auto sound = verify(placed->graph); !sound) return render(sound.error()) + print(placed->graph);
        for (const placing::Message& message : made.messages) bytes_ += message.bytes;
        messages_ += made.messages.size();
        const auto values = evaluate_graph(placed->graph, arguments(prepared, spreads), Precision::body);
        if (!values) return render(values.error());
        const bool exact = !rounds(prepared.graph);
        exactly_ += exact;
        std::vector<Found> all;
        for (size_t r = 0; r < readers.size(); r++) add_whole(prepared, spreads, placed->outputs[r], *values, all);
        size_t next = 0;
        for (const auto& [i, spread] : spreads.outputs)
            for (const auto& [at, box] : spread)
                all.push_back({i, box, (*values)[static_cast<size_t>(placed->kept[next++].second)]});
        for (const auto& [i, box, own] : all) {
            const TensorData expected = running::box_of(whole[static_cast<size_t>(prepared.graph.outputs[i])], box);
            const bool same = own.shape() == expected.shape() &&
                              (own.byte_size() == 0 ||
                               std::memcmp(own.data(), expected.data(), static_cast<size_t>(own.byte_size())) == 0);
            if (exact && !same)
                return fmt::format("output {} has other bits, {} {}\n{}", i, fmt::join(mesh_, ", "),
                                   prepared.graph.tensor(prepared.graph.outputs[i]).name, cuts_text(prepared, made));
        }
        return exact ? "" : within_bounds(prepared, all);
    }

    // A box of an output.
    struct Found {
        size_t output;
        Box box;
        TensorData value;
    };

    template <typename Ids, typename Values>
    static void add_whole(const Prepared& prepared, const sharding::Spreads& spreads, const Ids& ids,
                          const Values& values, std::vector<Found>& all) {
        size_t next = 0;
        for (size_t i = 0; i < prepared.graph.outputs.size(); i++) {
            if (spreads.outputs.contains(i)) continue;
            const TensorId output = prepared.graph.outputs[i];
            all.push_back(
                {i, Box::whole(prepared.graph.tensor(output).type.shape), values[static_cast<size_t>(ids[next++])]});
        }
    }

    // All that is sent belongs to one, and no place does more than all.
    std::string of_collectives(const placing::ShardedProgram& made) {
        int64_t sent = 0, known = 0;
        for (const placing::Message& message : made.messages) sent += message.bytes;
        for (const placing::Collective& collective : made.collectives) {
            known += collective.bytes;
            kinds_[placing::name(collective.kind)]++;
            if (collective.busiest <= 0 || collective.busiest > collective.bytes)
                return "busiest place: " + text(collective);
            size_t places = 0;
            std::set<PlaceId> distinct;
            for (const auto& group : collective.groups) {
                places += group.size();
                distinct.insert(group.begin(), group.end());
            }
            if (places != distinct.size() || places < 2) return "groups of places overlap: " + text(collective);
        }
        return sent == known ? "" : fmt::format("{} bytes are sent, {} of them by collectives", sent, known);
    }

    static std::string cuts_text(const Prepared& prepared, const placing::ShardedProgram& made) {
        std::string text;
        for (size_t o = 0; o < prepared.graph.operations.size(); o++)
            text += fmt::format("  {}: {}\n", prepared.graph.operations[o].name, fmt::join(made.cutting.axes[o], ", "));
        return text;
    }

    static std::string within_bounds(const Prepared& prepared, const std::vector<Found>& all) {
        auto bounded = evaluate_graph_bounded(prepared.graph, prepared.feeds);
        if (!bounded) return "";
        for (const auto& [i, box, value] : all) {
            BoundedTensor expected = (*bounded)[static_cast<size_t>(prepared.graph.outputs[i])];
            for (TensorData* part : {&expected.value, &expected.bound})
                if (part->data()) *part = running::box_of(*part, box);
            const auto compared = compare_bounded(value, expected);
            if (!compared.equal) return fmt::format("output {}: {}", i, compared.text());
        }
        return "";
    }

    std::string run(const Prepared& prepared, placing::ShardedProgram made, const std::vector<PlaceId>& readers) {
        const auto here = running::inventories_here(made.processes.size(), 2);
        auto together = running::Together::load(std::move(made.processes), here);
        if (!together) return render(together.error());
        const sharding::Spreads& spreads = made.cutting.spreads;
        std::vector<std::vector<TensorData>> given;
        for (size_t place = 0; place < here.size(); place++)
            given.push_back(arguments(prepared, spreads, static_cast<int32_t>(place)));
        const auto results = (*together)->run(given);
        if (!results) return render(results.error());
        std::vector<Found> all;
        std::vector<size_t> next(here.size(), 0);
        std::vector<int32_t> numbers(prepared.graph.outputs.size());
        std::iota(numbers.begin(), numbers.end(), 0);
        for (PlaceId reader : readers) {
            add_whole(prepared, spreads, numbers, (*results)[reader], all);
            next[reader] = prepared.graph.outputs.size() - spreads.outputs.size();
        }
        for (const auto& [i, spread] : spreads.outputs)
            for (const auto& [at, box] : spread) all.push_back({i, box, (*results)[at][next[at]++]});
        return within_bounds(prepared, all);
    }

    Library& library_;
    size_t run_one_in_;
    Mesh mesh_;
    size_t operations_ = 0, axes_ = 0, exactly_ = 0, messages_ = 0, spread_inputs_ = 0, spread_outputs_ = 0;
    int64_t bytes_ = 0;
    std::map<std::string_view, size_t> kinds_;
};

}  // namespace

int check_cut_programs(uint64_t seed, size_t count, size_t run_one_in, Library& library) {
    CutPrograms programs(library, run_one_in);
    size_t wrong = 0;
    for (size_t i = 0; i < count; i++) {
        Choices choices(seed + i);
        const Program program = random_program(choices);
        std::string found;
        try {
            found = programs.check(program, choices, run_one_in > 0 && i % run_one_in == 0);
        } catch (const std::exception& problem) {
            found = problem.what();
        }
        if (found.empty()) continue;
        wrong++;
        fmt::print("seed {}: {}\n", seed + i, found);
        std::fflush(stdout);
    }
    programs.print_counts();
    fmt::print("{} programs from seed {}, {} wrong\n", count, seed, wrong);
    return wrong == 0 ? 0 : 1;
}

}  // namespace heddle::random
