#include "placing/sharded.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "placing/parts.h"

namespace heddle::placing {
namespace {

// What messages have in place of what the search has reckoned with: less where parts of results are never read.
Result<void> count_bytes(ShardedProgram& program) {
    Cutting& cutting = program.cutting;
    const int64_t modelled = std::exchange(cutting.bytes, 0);
    std::ranges::fill(cutting.out, 0);
    std::ranges::fill(cutting.in, 0);
    for (const Message& message : program.messages) {
        cutting.bytes += message.bytes;
        cutting.out[static_cast<size_t>(message.from)] += message.bytes;
        cutting.in[static_cast<size_t>(message.to)] += message.bytes;
    }
    if (cutting.bytes <= modelled) return {};
    return fail({.code = "placing.broken",
                 .summary = "messages have other bytes than the model of their costs",
                 .expected = fmt::format("at most {} bytes", modelled),
                 .found = fmt::format("{} bytes", cutting.bytes),
                 .remedy = "report it: it is a mistake of the compiler"});
}

}  // namespace

Result<ShardedProgram> sharded(const Graph& graph, const SaidCuts& said, System system,
                               const std::vector<sharding::PlaceId>& readers, const SaidParts& parts) {
    ShardedProgram program{.system = std::make_shared<const System>(std::move(system))};
    auto cutting = choose_cuts(graph, said, *program.system, readers, parts);
    if (!cutting) return fail(std::move(cutting.error()));
    program.cutting = std::move(*cutting);
    const auto placed = sharding::place(graph, program.cutting.cuts, readers, program.cutting.spreads);
    if (!placed) return fail(placed.error());
    const auto placement = placement_of(*placed, *program.system, readers);
    const Function mixed = mixed_function("main", placed->graph, *program.system, placement);
    const auto target = program.system->devices.front().target;
    Processes made = by_process(mixed, *program.system, target);
    program.messages = std::move(made.messages);
    program.collectives = collectives_of(*placed);
    for (const Module& module : made.modules) {
        if (auto sound = verify(module); !sound) return fail(std::move(sound.error()));
        auto own = split(module);
        if (!own) return fail(std::move(own.error()));
        for (Function& function : own->functions)
            if (function.side == Function::Side::host) function = joined(function);
        if (auto sound = verify(*own); !sound) return fail(std::move(sound.error()));
        program.processes.push_back(std::move(*own));
    }
    if (auto sound = verify_messages(program.processes); !sound) return fail(std::move(sound.error()));
    if (auto fine = count_bytes(program); !fine) return fail(std::move(fine.error()));
    return program;
}

}  // namespace heddle::placing
