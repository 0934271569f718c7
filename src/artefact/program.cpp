#include "artefact/program.h"

#include <algorithm>
#include <set>
#include <thread>

#include <fmt/format.h>

#include "backends/llvm/llvm_backend.h"
#include "plan/stack.h"
#include "runtime/prepare_here.h"
#include "zspace/size_class.h"

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

std::unexpected<Diagnostics> not_open(const std::string& name, std::string found) {
    return fail({.code = "artefact.dimension",
                 .summary = fmt::format("the dimension '{}' cannot be taken from the inputs' shapes", name),
                 .expected = "an input with an axis of just this size",
                 .found = std::move(found),
                 .remedy = fmt::format("give it one size: {}=SIZE", name),
                 .params = {{"dimension", name}}});
}

class ProgramMaker {
public:
    explicit ProgramMaker(const ProgramRequest& request)
        : request_(request),
          pool_(static_cast<int>(std::max(1u, std::thread::hardware_concurrency()))),
          backend_kernels_(std::make_shared<backends::LlvmBackend>()) {}

    Result<std::vector<Program>> make() {
        for (const Dimension& dimension : request_.dimensions) {
            if (dimension.count() > 1)
                dimensions_.push_back(dimension);
            else
                fixed_[dimension.name] = dimension.from;
        }
        if (request_.progress) request_.progress->begin(Stage::plan, classes() * std::ssize(request_.targets));
        auto all = cover(dimensions_, fixed_, [&](const SizeNames& sizes) { return add_group(sizes); });
        if (!all) return fail(std::move(all.error()));
        std::vector<Program> programs;
        for (Making& making : made_) {
            end_dimensions(making.program);
            programs.push_back(std::move(making.program));
        }
        return programs;
    }

private:
    struct Making {
        Program program;
        std::vector<std::map<std::string, int32_t>> kernel_of;  // by variant, by key
    };
    struct Made {
        plan::Plan plan;
        std::vector<runtime::Block> prepared;
    };

    // Of all dimensions together: about as many plans are made.
    int64_t classes() const {
        int64_t all = 1;
        for (const Dimension& dimension : dimensions_) {
            int64_t own = 0;
            for (int64_t size = dimension.from; size <= dimension.to; size = size_class(size).most + 1) own++;
            all = std::min<int64_t>(all * own, 1 << 20);
        }
        return all;
    }

    // Open ones are as long as there is a plan.
    static void end_dimensions(Program& program) {
        for (size_t d = 0; d < program.dimensions.size(); d++) {
            Dimension& dimension = program.dimensions[d];
            if (dimension.is_open) dimension.to = dimension.from;
            for (const Group& group : program.variants[0].groups)
                if (dimension.is_open) dimension.to = std::max(dimension.to, group.domain.ranges[d].most);
        }
    }

    Making& making_of(int64_t tag) {
        const auto known = std::ranges::find(made_, tag, [](const Making& making) { return making.program.tag; });
        if (known != made_.end()) return *known;
        Making& making = made_.emplace_back();
        making.program.name = request_.name;
        making.program.tag = tag;
        making.program.dimensions = dimensions_;
        for (const Target& target : request_.targets) making.program.variants.push_back({.target = target});
        making.kernel_of.resize(request_.targets.size());
        return making;
    }

    Result<Made> made_for(const Graph& graph, const Target& target) {
        auto plan = plan::make_plan(graph, target);
        if (!plan) return fail(std::move(plan.error()));
        auto prepared = runtime::prepare_here(*plan, host_, backend_kernels_, pool_, prepared_);
        if (!prepared) return fail(std::move(prepared.error()));
        if (auto wanted = step_done(request_.progress); !wanted) return fail(std::move(wanted.error()));
        return Made{std::move(*plan), std::move(*prepared)};
    }

    // A plan of each target: all of them hold where the facts of all do.
    Result<SizeDomain> add_group(const SizeNames& sizes) {
        auto graph = request_.graph(sizes);
        if (!graph) return fail(std::move(graph.error()));
        if (graph->tag == left_out_tag) return domain_of(graph->facts->list(), dimensions_, fixed_);
        if (auto fine = plan::check_placements(*graph); !fine) return fail(std::move(fine.error()));
        std::vector<Made> made;
        std::vector<SizeFact> facts;
        for (const Target& target : request_.targets) {
            auto one = made_for(*graph, target);
            if (!one) return fail(std::move(one.error()));
            if (one->plan.facts)
                facts.insert(facts.end(), one->plan.facts->list().begin(), one->plan.facts->list().end());
            else
                add_numbers(facts, sizes);
            one->plan.names.insert(sizes.begin(), sizes.end());
            made.push_back(std::move(*one));
        }
        Making& making = making_of(graph->tag);
        Program& program = making.program;
        if (auto taken = take_arguments(program, made[0].plan); !taken) return fail(std::move(taken.error()));
        SizeDomain domain = domain_of(facts, dimensions_, fixed_);
        for (size_t v = 0; v < made.size(); v++) {
            Variant& variant = program.variants[v];
            GroupMaker maker(made[v].plan, made[v].prepared, program.weights, variant, making.kernel_of[v]);
            variant.groups.push_back(maker.make(dimensions_, domain));
        }
        return domain;
    }

    // Of a plan that holds for its numbers alone.
    static void add_numbers(std::vector<SizeFact>& facts, const SizeNames& sizes) {
        for (const auto& [name, size] : sizes)
            facts.push_back({(named_size(name, size) - size).origin(), SizeFact::Relation::zero});
    }

    static Argument argument_of(const std::string& name, const TensorType& type) {
        Argument argument{
            .name = name, .dtype = type.dtype, .shape = numbers_of(type.shape), .axes = {}, .sizes = {}, .value = {}};
        for (int64_t size : argument.shape) argument.sizes.push_back(std::to_string(size));
        return argument;
    }

    // As the first plan says them; how outputs' sizes follow from the dimensions, where one says it.
    Result<void> take_arguments(Program& program, const plan::Plan& plan) const {
        if (!program.inputs.empty() || !program.outputs.empty()) {
            name_sizes(program, plan);
            return {};
        }
        std::set<std::string> bound;
        for (size_t i = 0; i < plan.input_types.size(); i++) {
            Argument& input = program.inputs.emplace_back(argument_of(plan.input_names[i], plan.input_types[i]));
            if (const auto value = plan.decided.find(static_cast<int32_t>(i)); value != plan.decided.end())
                input.value = value->second;
            for (const Size& size : plan.input_types[i].shape) {
                auto axis = axis_of(size, input);
                if (!axis) return fail(std::move(axis.error()));
                input.axes.push_back(*axis);
                if (*axis < 0) continue;
                bound.insert(size.origin()->text());
                input.sizes[input.axes.size() - 1] = size.origin()->text();
            }
        }
        for (size_t i = 0; i < plan.output_types.size(); i++)
            program.outputs.push_back(argument_of(plan.output_names[i], plan.output_types[i]));
        name_sizes(program, plan);
        for (const Dimension& dimension : dimensions_) {
            if (!bound.contains(dimension.name)) return not_open(dimension.name, "none");
        }
        return {};
    }

    // The number of the dimension whose size it is; -1: it is always the same.
    Result<int32_t> axis_of(const Size& size, const Argument& input) const {
        if (!size.origin()) return -1;
        const std::string text = size.origin()->text();
        const auto found = std::ranges::find(dimensions_, text, &Dimension::name);
        if (found != dimensions_.end()) return static_cast<int32_t>(found - dimensions_.begin());
        if (size.origin()->kind() == Origin::Kind::name) return -1;
        return not_open(text, fmt::format("'{}' of input '{}'", text, input.name));
    }

    void name_sizes(Program& program, const plan::Plan& plan) const {
        for (size_t o = 0; o < program.outputs.size(); o++) {
            const std::vector<Size>& shape = plan.output_types[o].shape;
            for (size_t d = 0; d < shape.size(); d++) {
                if (depends_on_dimensions(shape[d])) program.outputs[o].sizes[d] = shape[d].text();
            }
        }
    }

    bool depends_on_dimensions(const Size& size) const {
        SizeProgram steps;
        for (const auto& [name, number] : fixed_) steps.fix(name, number);
        return !steps.constant_at(steps.place_of(size));
    }

    const ProgramRequest& request_;
    std::vector<Dimension> dimensions_;  // that stay open
    std::map<std::string, int64_t> fixed_;
    std::vector<Making> made_;
    // Weights are made ready on this machine; what two plans make alike is made once.
    const Target host_ = detect_host();
    ThreadPool pool_;
    runtime::KernelCache backend_kernels_;
    runtime::PreparedStore prepared_;
};

}  // namespace

Result<std::vector<Program>> make_programs(const ProgramRequest& request) { return ProgramMaker(request).make(); }

Result<Program> make_program(const ProgramRequest& request) {
    auto programs = make_programs(request);
    if (!programs) return fail(std::move(programs.error()));
    return std::move(programs->front());
}

}  // namespace heddle::artefact
