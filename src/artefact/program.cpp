#include "artefact/program.h"

#include <algorithm>
#include <list>
#include <numeric>
#include <optional>
#include <set>
#include <thread>

#include <fmt/format.h>

#include "backends/llvm/llvm_backend.h"
#include "plan/instantiate.h"
#include "runtime/prepare_here.h"

namespace heddle::artefact {
namespace {

using Kind = plan::Buffer::Kind;

// A failing kernel writes the point into the first bytes, whatever scratch it asked for.
constexpr int64_t least_scratch = 64;

bool is_weight(Kind kind) { return kind == Kind::constant || kind == Kind::prepared; }

// The plan of one size as a structure, which sizes of a group share, and the numbers that they do not.
struct Planned {
    Group structure;  // rows without columns
    std::string text;
    std::vector<int64_t> numbers;
};

// The rows of a plan. Numbers are counted as they come.
class Reader {
public:
    Reader(const plan::Plan& plan, const std::vector<runtime::Block>& prepared, WeightPool& weights, Variant& variant,
           std::map<std::string, int32_t>& kernels)
        : plan_(plan),
          prepared_(prepared),
          weights_(weights),
          variant_(variant),
          kernels_(kernels),
          row_of_(plan.buffers.size(), -1) {}

    Planned read() {
        number(plan_.workspace_bytes);
        number(std::max(plan_.scratch_bytes, least_scratch));
        for (const TensorType& type : plan_.output_types)
            for (const Size& size : type.shape) number(size.value());
        for (const plan::Batch& batch : plan_.run) {
            for (size_t i = 0; i < batch.size(); i++) add_launch(batch[i], i + 1 == batch.size());
        }
        return std::move(planned_);
    }

private:
    int32_t number(int64_t value) {
        planned_.numbers.push_back(value);
        return static_cast<int32_t>(planned_.numbers.size()) - 1;
    }

    int64_t place_of(int32_t b) {
        const plan::Buffer& buffer = plan_.buffers[static_cast<size_t>(b)];
        if (!is_weight(buffer.kind)) return buffer.offset;
        const runtime::Block& block = prepared_[static_cast<size_t>(b)];
        if (block) return weights_.add({block.get(), static_cast<size_t>(buffer.bytes)}, block);
        auto constant = std::make_shared<TensorData>(*buffer.constant);
        return weights_.add({constant->data(), static_cast<size_t>(constant->byte_size())}, constant);
    }

    int32_t row_of(int32_t b) {
        int32_t& row = row_of_[static_cast<size_t>(b)];
        if (row >= 0) return row;
        const plan::Buffer& buffer = plan_.buffers[static_cast<size_t>(b)];
        BufferRow made{.kind = is_weight(buffer.kind) ? Kind::prepared : buffer.kind,
                       .index = std::max(buffer.index, 0)};
        made.place = number(place_of(b));
        made.base = number(buffer.base);
        planned_.text += fmt::format("buffer {} {}\n", static_cast<int>(made.kind), made.index);
        row = static_cast<int32_t>(planned_.structure.buffers.size());
        planned_.structure.buffers.push_back(made);
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
        planned_.text += fmt::format("launch {} {} {}", row.kernel, launch.numbers.size(), ends_batch);
        for (int32_t b : launch.buffers) row.buffers.push_back(row_of(b));
        for (int32_t b : row.buffers) planned_.text += fmt::format(" {}", b);
        planned_.text += '\n';
        row.tasks = number(launch.tasks);
        row.rounds = number(launch.rounds);
        row.numbers = static_cast<int32_t>(planned_.numbers.size());
        for (int64_t value : launch.numbers) number(value);
        planned_.structure.launches.push_back(std::move(row));
    }

    const plan::Plan& plan_;
    const std::vector<runtime::Block>& prepared_;
    WeightPool& weights_;
    Variant& variant_;
    std::map<std::string, int32_t>& kernels_;
    std::vector<int32_t> row_of_;
    Planned planned_;
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
          kernels_(std::make_shared<backends::LlvmBackend>()) {}

    Result<Program> make() {
        program_.name = request_.name;
        std::vector<Dimension> open;
        for (const Dimension& dimension : request_.dimensions) {
            if (dimension.count() > 1)
                open.push_back(dimension);
            else
                fixed_[dimension.name] = dimension.from;
        }
        auto grid = SizeGrid::make(std::move(open));
        if (!grid) return fail(std::move(grid.error()));
        program_.grid = std::move(*grid);
        if (request_.progress) {
            const auto targets = static_cast<int64_t>(request_.targets.size());
            request_.progress->begin(Stage::plan, program_.grid.count() * targets);
        }
        for (const Target& target : request_.targets) program_.variants.push_back({.target = target});
        made_.resize(request_.targets.size());
        for (int64_t size = 0; size < program_.grid.count(); size++) {
            if (auto added = add_size(size); !added) return fail(std::move(added.error()));
        }
        for (size_t v = 0; v < made_.size(); v++) {
            std::vector<Group>& groups = program_.variants[v].groups;
            for (size_t g = 0; g < groups.size(); g++) add_columns(groups[g], made_[v].values[g]);
        }
        name_sizes();
        return std::move(program_);
    }

private:
    // A plan, for the sizes that it was last given, and what it prepares.
    struct Kept {
        plan::Plan plan;
        std::vector<runtime::Block> prepared;
    };
    // What a variant is made of, besides what is in it.
    struct Making {
        std::list<Kept> plans;
        std::map<std::string, int32_t> kernels, group_of;       // by key, by structure
        std::vector<std::vector<std::vector<int64_t>>> values;  // by group, by size: its numbers
    };

    // A plan that holds for these sizes, with their numbers now; null: there is none yet.
    static Kept* known_plan(Making& making, const std::map<std::string, int64_t>& bindings) {
        for (Kept& kept : making.plans) {
            if (!kept.plan.facts || kept.plan.facts->broken_by(bindings)) continue;
            if (plan::instantiate(kept.plan, bindings)) return &kept;
        }
        return nullptr;
    }

    // The graph of a size serves all targets, and so does a plan all sizes for which it holds.
    Result<Kept*> plan_of(size_t v, const std::map<std::string, int64_t>& bindings, std::optional<Graph>& graph) {
        if (Kept* known = known_plan(made_[v], bindings)) return known;
        if (!graph) {
            auto made = request_.graph(bindings);
            if (!made) return fail(std::move(made.error()));
            if (auto fine = plan::check_placements(*made); !fine) return fail(std::move(fine.error()));
            graph = std::move(*made);
        }
        auto plan = plan::make_plan(*graph, program_.variants[v].target);
        if (!plan) return fail(std::move(plan.error()));
        auto prepared = runtime::prepare_here(*plan, host_, kernels_, pool_, prepared_);
        if (!prepared) return fail(std::move(prepared.error()));
        return &made_[v].plans.emplace_back(std::move(*plan), std::move(*prepared));
    }

    Result<void> add_size(int64_t size) {
        std::map<std::string, int64_t> bindings = program_.grid.bindings(size);
        bindings.insert(fixed_.begin(), fixed_.end());
        std::optional<Graph> graph;
        for (size_t v = 0; v < made_.size(); v++) {
            auto kept = plan_of(v, bindings, graph);
            if (!kept) return fail(std::move(kept.error()));
            const plan::Plan& plan = (*kept)->plan;
            if (size == 0 && v == 0) {
                if (auto taken = take_arguments(plan); !taken) return taken;
            }
            if (v == 0) {
                std::vector<int64_t>& sizes = output_sizes_.emplace_back();
                for (const TensorType& type : plan.output_types)
                    for (const Size& extent : type.shape) sizes.push_back(extent.value());
            }
            Variant& variant = program_.variants[v];
            add_planned(size, variant, made_[v],
                        Reader(plan, (*kept)->prepared, program_.weights, variant, made_[v].kernels).read());
            if (auto wanted = step_done(request_.progress); !wanted) return wanted;
        }
        return {};
    }

    static void add_planned(int64_t size, Variant& variant, Making& making, Planned planned) {
        const auto [found, added] =
            making.group_of.try_emplace(planned.text, static_cast<int32_t>(variant.groups.size()));
        if (added) {
            variant.groups.push_back(std::move(planned.structure));
            making.values.emplace_back();
        }
        const auto g = static_cast<size_t>(found->second);
        variant.group_of.push_back(found->second);
        variant.rank_of.push_back(static_cast<int32_t>(variant.groups[g].sizes.size()));
        variant.groups[g].sizes.push_back(size);
        making.values[g].push_back(std::move(planned.numbers));
    }

    static Argument argument_of(const std::string& name, const TensorType& type) {
        Argument argument{
            .name = name, .dtype = type.dtype, .shape = type.extents(), .axes = {}, .sizes = {}, .value = {}};
        for (int64_t size : argument.shape) argument.sizes.push_back(std::to_string(size));
        return argument;
    }

    Result<void> take_arguments(const plan::Plan& plan) {
        std::set<std::string> bound;
        for (size_t i = 0; i < plan.input_types.size(); i++) {
            Argument& input = program_.inputs.emplace_back(argument_of(plan.input_names[i], plan.input_types[i]));
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
            program_.outputs.push_back(argument_of(plan.output_names[i], plan.output_types[i]));
        for (const Dimension& dimension : program_.grid.dimensions()) {
            if (!bound.contains(dimension.name)) return not_open(dimension.name, "none");
        }
        return {};
    }

    // The number of the dimension whose size it is; -1: it is always the same.
    Result<int32_t> axis_of(const Size& size, const Argument& input) const {
        if (!size.origin()) return -1;
        const std::string text = size.origin()->text();
        const std::vector<Dimension>& dimensions = program_.grid.dimensions();
        const auto found = std::ranges::find(dimensions, text, &Dimension::name);
        if (found != dimensions.end()) return static_cast<int32_t>(found - dimensions.begin());
        if (size.origin()->kind() == Origin::Kind::name) return -1;
        return not_open(text, fmt::format("'{}' of input '{}'", text, input.name));
    }

    // Of outputs, by what they are for all sizes.
    void name_sizes() {
        std::vector<int64_t> all(output_sizes_.size()), table, column(output_sizes_.size());
        std::iota(all.begin(), all.end(), int64_t{0});
        ColumnBuilder builder(program_.grid, all, table);
        size_t n = 0;
        for (Argument& output : program_.outputs) {
            for (std::string& text : output.sizes) {
                for (size_t s = 0; s < column.size(); s++) column[s] = output_sizes_[s][n];
                text = builder.text(builder.add(column));
                n++;
            }
        }
    }

    void add_columns(Group& group, const std::vector<std::vector<int64_t>>& values) {
        ColumnBuilder builder(program_.grid, group.sizes, program_.table);
        std::vector<int64_t> column(values.size());
        for (size_t n = 0; n < values[0].size(); n++) {
            for (size_t s = 0; s < values.size(); s++) column[s] = values[s][n];
            group.columns_of.push_back(builder.add(column));
        }
        group.columns = builder.columns();
        group.first_sizes = builder.first_sizes();
        group.workspace_text = builder.text(group.columns_of[0]);
        group.scratch_text = builder.text(group.columns_of[1]);
    }

    const ProgramRequest& request_;
    Program program_;
    std::map<std::string, int64_t> fixed_;
    std::vector<Making> made_;                        // by variant
    std::vector<std::vector<int64_t>> output_sizes_;  // by size
    // Weights are made ready on this machine; what two plans make alike is made once.
    const Target host_ = detect_host();
    ThreadPool pool_;
    runtime::KernelCache kernels_;
    runtime::PreparedStore prepared_;
};

}  // namespace

Result<Program> make_program(const ProgramRequest& request) { return ProgramMaker(request).make(); }

}  // namespace heddle::artefact
