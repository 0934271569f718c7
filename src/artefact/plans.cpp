#include "artefact/plans.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runtime/prepare_here.h"
#include "zspace/size_class.h"
#include "zspace/size_program.h"

namespace heddle::artefact {

std::string text_of(const Argument& argument) {
    return fmt::format("{}{}{}[{}]", argument.may_be_absent ? "perhaps " : "", argument.is_list ? "a list of " : "",
                       name(argument.dtype), fmt::join(argument.sizes, ", "));
}

namespace {

std::unexpected<Diagnostics> not_open(const std::string& name, std::string found) {
    return fail({.code = "artefact.dimension",
                 .summary = fmt::format("the dimension '{}' cannot be taken from the inputs' shapes", name),
                 .expected = "an input with an axis of just this size",
                 .found = std::move(found),
                 .remedy = fmt::format("give it one size: {}=SIZE", name),
                 .params = {{"dimension", name}}});
}

class PlansMaker {
public:
    PlansMaker(const PlansRequest& request, const Preparing& preparing) : request_(request), preparing_(preparing) {}

    Result<std::vector<Interface>> make() {
        for (const Dimension& dimension : request_.dimensions) {
            if (dimension.count() > 1)
                dimensions_.push_back(dimension);
            else
                fixed_[dimension.name] = dimension.from;
        }
        if (request_.progress) request_.progress->begin(Stage::plan, classes() * std::ssize(request_.targets));
        auto all = cover(dimensions_, fixed_, [&](const SizeNames& sizes) { return plans_for(sizes); });
        if (!all) return fail(std::move(all.error()));
        return std::move(made_);
    }

private:
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

    Interface& interface_of(int64_t tag) {
        const auto known = std::ranges::find(made_, tag, &Interface::tag);
        if (known != made_.end()) return *known;
        made_.push_back({.tag = tag, .dimensions = dimensions_, .inputs = {}, .outputs = {}});
        // Open ones are as long as there is a plan.
        for (Dimension& dimension : made_.back().dimensions)
            if (dimension.is_open) dimension.to = dimension.from;
        return made_.back();
    }

    Result<MadePlan> made_for(const Graph& graph, const Target& target) {
        auto plan = plan::make_plan(graph, target);
        if (!plan) return fail(std::move(plan.error()));
        const auto& [host, pool, kernels, store] = preparing_;
        auto prepared = runtime::prepare_here(*plan, host, kernels, pool, store);
        if (!prepared) return fail(std::move(prepared.error()));
        if (auto wanted = step_done(request_.progress); !wanted) return fail(std::move(wanted.error()));
        return MadePlan{std::move(*plan), std::move(*prepared)};
    }

    // A plan of each target: all of them hold where the facts of all do.
    Result<SizeDomain> plans_for(const SizeNames& sizes) {
        auto graph = request_.graph(sizes);
        if (!graph) return fail(std::move(graph.error()));
        if (graph->tag == left_out_tag) return domain_of(graph->facts->list(), dimensions_, fixed_);
        if (auto fine = plan::check_placements(*graph); !fine) return fail(std::move(fine.error()));
        std::vector<MadePlan> made;
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
        Interface& interface = interface_of(graph->tag);
        if (auto taken = take_arguments(interface, made[0].plan); !taken) return fail(std::move(taken.error()));
        auto domain = request_.take(dimensions_, domain_of(facts, dimensions_, fixed_), std::move(made));
        if (!domain) return domain;
        for (size_t d = 0; d < dimensions_.size(); d++) {
            Dimension& dimension = interface.dimensions[d];
            if (dimension.is_open) dimension.to = std::max(dimension.to, domain->ranges[d].most);
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
    Result<void> take_arguments(Interface& made, const plan::Plan& plan) const {
        if (!made.inputs.empty() || !made.outputs.empty()) {
            name_sizes(made, plan);
            return {};
        }
        std::set<std::string> bound;
        for (size_t i = 0; i < plan.input_types.size(); i++) {
            Argument& input = made.inputs.emplace_back(argument_of(plan.input_names[i], plan.input_types[i]));
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
            made.outputs.push_back(argument_of(plan.output_names[i], plan.output_types[i]));
        name_sizes(made, plan);
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
        if (!depends_on_dimensions(size)) return -1;
        return not_open(text, fmt::format("'{}' of input '{}'", text, input.name));
    }

    void name_sizes(Interface& made, const plan::Plan& plan) const {
        for (size_t o = 0; o < made.outputs.size(); o++) {
            const std::vector<Size>& shape = plan.output_types[o].shape;
            for (size_t d = 0; d < shape.size(); d++) {
                if (depends_on_dimensions(shape[d])) made.outputs[o].sizes[d] = shape[d].text();
            }
        }
    }

    bool depends_on_dimensions(const Size& size) const {
        SizeProgram steps;
        for (const auto& [name, number] : fixed_) steps.fix(name, number);
        return !steps.constant_at(steps.place_of(size));
    }

    const PlansRequest& request_;
    const Preparing& preparing_;
    std::vector<Dimension> dimensions_;  // that stay open
    SizeNames fixed_;
    std::vector<Interface> made_;
};

}  // namespace

Result<std::vector<Interface>> make_tagged_plans(const PlansRequest& request, const Preparing& preparing) {
    return PlansMaker(request, preparing).make();
}

Result<Interface> make_plans(const PlansRequest& request, const Preparing& preparing) {
    auto interfaces = make_tagged_plans(request, preparing);
    if (!interfaces) return fail(std::move(interfaces.error()));
    return std::move(interfaces->front());
}

}  // namespace heddle::artefact
