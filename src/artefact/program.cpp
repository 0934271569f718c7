#include "artefact/program.h"

#include <algorithm>
#include <thread>

#include <fmt/format.h>

#include "backends/llvm/llvm_backend.h"
#include "plan/stack.h"

namespace heddle::artefact {
namespace {

using Kind = plan::Buffer::Kind;

// A failing kernel writes the point into the first bytes, whatever scratch it asked for.
constexpr int64_t least_scratch = 64;

bool is_weight(Kind kind) { return kind == Kind::constant || kind == Kind::prepared; }

using OriginKind = Origin::Kind;

// Its rows. Numbers are places of the group's steps.
class GroupMaker {
public:
    GroupMaker(const plan::Plan& plan, const std::vector<runtime::Block>& prepared, WeightPool& weights,
               Variant& variant, std::map<std::string, int32_t>& kernels)
        : plan_(plan),
          prepared_(prepared),
          weights_(weights),
          variant_(variant),
          kernels_(kernels),
          row_of_(plan.buffers.size(), -1) {}

    Group make(const std::vector<Dimension>& dimensions, const SizeDomain& domain) {
        group_.made_for = plan_.names;
        group_.domain = domain;
        for (const Dimension& dimension : dimensions) group_.steps.place_of_name(dimension.name);
        for (const auto& [name, size] : plan_.names) {
            if (std::ranges::find(dimensions, name, &Dimension::name) == dimensions.end()) group_.steps.fix(name, size);
        }
        for (const SizeFact& fact : domain.facts)
            group_.facts.push_back({fact.relation, group_.steps.place_of(fact.size)});
        for (const TensorType& type : plan_.output_types)
            for (const Size& size : type.shape) group_.shapes.push_back(group_.steps.place_of(size));
        place_memory();
        group_.first_steps = group_.steps.steps().size();
        for (const plan::Batch& batch : plan_.run) {
            for (size_t i = 0; i < batch.size(); i++) add_launch(batch[i], i + 1 == batch.size());
        }
        return std::move(group_);
    }

private:
    int32_t greater(int32_t a, int32_t b) { return a == b ? a : group_.steps.place_of(OriginKind::maximum, a, b); }
    int32_t number(int64_t value) { return group_.steps.place_of(Size(value)); }

    // A buffer begins where the highest of those below it ends.
    void place_memory() {
        begin_.resize(plan_.buffers.size(), number(0));
        group_.workspace = number(0);
        std::vector<int32_t> end(plan_.buffers.size());
        for (const plan::Stacked& stacked : plan_.stack) {
            const auto b = static_cast<size_t>(stacked.buffer);
            for (int32_t below : stacked.below) begin_[b] = greater(begin_[b], end[static_cast<size_t>(below)]);
            const int32_t room = group_.steps.place_of(plan::room(plan_.buffers[b]));
            end[b] = group_.steps.place_of(OriginKind::add, begin_[b], room);
            group_.workspace = greater(group_.workspace, end[b]);
        }
        group_.scratch = number(least_scratch);
        for (const plan::Batch& batch : plan_.run)
            for (const plan::Launch& launch : batch)
                group_.scratch = greater(group_.scratch, group_.steps.place_of(launch.scratch_bytes));
        group_.workspace_text = plan::workspace_text(plan_);
        if (group_.workspace_text.empty()) group_.workspace_text = text_at(group_.workspace);
        group_.scratch_text = text_at(group_.scratch);
    }

    // "4096", or "4096 at n = 8".
    std::string text_at(int32_t place) const {
        if (const auto value = group_.steps.constant_at(place)) return std::to_string(*value);
        std::vector<int64_t> values = group_.steps.begin();
        for (const auto& [name, at] : group_.steps.names()) values[static_cast<size_t>(at)] = plan_.names.at(name);
        group_.steps.run(values, 0, group_.steps.steps().size());
        return fmt::format("{} at {}", values[static_cast<size_t>(place)], text_of(plan_.names));
    }

    int32_t place_of(int32_t b) {
        const plan::Buffer& buffer = plan_.buffers[static_cast<size_t>(b)];
        if (!is_weight(buffer.kind)) return begin_[static_cast<size_t>(b)];
        const runtime::Block& block = prepared_[static_cast<size_t>(b)];
        if (block) return number(weights_.add({block.get(), static_cast<size_t>(buffer.bytes)}, block));
        auto constant = std::make_shared<TensorData>(*buffer.constant);
        return number(weights_.add({constant->data(), static_cast<size_t>(constant->byte_size())}, constant));
    }

    int32_t row_of(int32_t b) {
        int32_t& row = row_of_[static_cast<size_t>(b)];
        if (row >= 0) return row;
        const plan::Buffer& buffer = plan_.buffers[static_cast<size_t>(b)];
        row = static_cast<int32_t>(group_.buffers.size());
        group_.buffers.push_back({.kind = is_weight(buffer.kind) ? Kind::prepared : buffer.kind,
                                  .index = std::max(buffer.index, 0),
                                  .place = place_of(b),
                                  .base = group_.steps.place_of(buffer.base)});
        return row;
    }

    int32_t kernel_of(int32_t tree) {
        const auto t = static_cast<size_t>(tree);
        const auto [found, added] = kernels_.try_emplace(plan_.keys[t], static_cast<int32_t>(variant_.kernels.size()));
        if (added) variant_.kernels.push_back({plan_.trees[t], plan_.keys[t]});
        return found->second;
    }

    void add_launch(const plan::Launch& launch, bool ends_batch) {
        LaunchRow row{.name = launch.name, .kernel = kernel_of(launch.tree), .ends_batch = ends_batch};
        for (int32_t b : launch.buffers) row.buffers.push_back(row_of(b));
        row.tasks = group_.steps.place_of(launch.tasks);
        row.rounds = group_.steps.place_of(launch.rounds);
        for (const Size& size : launch.numbers) row.numbers.push_back(group_.steps.place_of(size));
        group_.launches.push_back(std::move(row));
    }

    const plan::Plan& plan_;
    const std::vector<runtime::Block>& prepared_;
    WeightPool& weights_;
    Variant& variant_;
    std::map<std::string, int32_t>& kernels_;
    std::vector<int32_t> row_of_, begin_;  // by the plan's buffer
    Group group_;
};

// Groups of all variants, as plans come.
class ProgramMaker {
public:
    explicit ProgramMaker(const ProgramRequest& request) : kernel_of_(request.targets.size()) {
        program_.name = request.name;
        for (const Target& target : request.targets) program_.variants.push_back({.target = target});
    }

    void add(const std::vector<Dimension>& open, const SizeDomain& domain, const std::vector<MadePlan>& plans) {
        for (size_t v = 0; v < plans.size(); v++) {
            Variant& variant = program_.variants[v];
            GroupMaker maker(plans[v].plan, plans[v].prepared, program_.weights, variant, kernel_of_[v]);
            variant.groups.push_back(maker.make(open, domain));
        }
    }

    Program made(Interface interface) {
        program_.tag = interface.tag;
        program_.dimensions = std::move(interface.dimensions);
        program_.inputs = std::move(interface.inputs);
        program_.outputs = std::move(interface.outputs);
        return std::move(program_);
    }

private:
    Program program_;
    std::vector<std::map<std::string, int32_t>> kernel_of_;  // by variant, by key
};

}  // namespace

Result<std::vector<Program>> make_programs(const ProgramRequest& request) {
    const Target host = detect_host();
    ThreadPool pool(static_cast<int>(std::max(1u, std::thread::hardware_concurrency())));
    runtime::KernelCache kernels(std::make_shared<backends::LlvmBackend>());
    runtime::PreparedStore store;
    std::map<int64_t, ProgramMaker> makers;  // by tag
    const auto take = [&](const std::vector<Dimension>& open, SizeDomain domain,
                          std::vector<MadePlan> plans) -> Result<SizeDomain> {
        makers.try_emplace(plans[0].plan.tag, request).first->second.add(open, domain, plans);
        return domain;
    };
    auto interfaces = make_tagged_plans({.dimensions = request.dimensions,
                                         .targets = request.targets,
                                         .graph = request.graph,
                                         .progress = request.progress,
                                         .take = take},
                                        {host, pool, kernels, store});
    if (!interfaces) return fail(std::move(interfaces.error()));
    std::vector<Program> programs;
    for (Interface& interface : *interfaces) programs.push_back(makers.at(interface.tag).made(std::move(interface)));
    return programs;
}

Result<Program> make_program(const ProgramRequest& request) {
    auto programs = make_programs(request);
    if (!programs) return fail(std::move(programs.error()));
    return std::move(programs->front());
}

}  // namespace heddle::artefact
