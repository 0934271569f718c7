// The cover rule: all equations together write each element of each output once. Left sides that are no boxes have been
// proved and joined where the body was made (left_sides.h), so each equation writes one box, injectively; the boxes are
// disjoint and their volumes add up to the output.
#include <fmt/format.h>

#include <algorithm>

#include "symbolic/projection.h"
#include "zspace/cover.h"

namespace heddle {
namespace {

constexpr int64_t most_cover_steps = int64_t{1} << 22;  // to find an element that nothing writes

Diagnostic cover_error(const Environment& environment, const ProjectedBody& body, size_t equation,
                       std::string summary) {
    Diagnostic diagnostic = environment.diagnostic("symbolic.cover", *body.places[equation], std::move(summary));
    diagnostic.params.emplace_back("output",
                                   body.outputs[static_cast<size_t>(body.body->equations[equation].output)].name);
    return diagnostic;
}

std::string printed(std::span<const int64_t> point) { return fmt::format("[{}]", fmt::join(point, ", ")); }
std::string printed(const Corner& corner) { return printed(std::span<const int64_t>(numbers_of(corner))); }

std::string printed(const Box& box) { return fmt::format("{} .. {}", printed(box.start), printed(box.end)); }

}  // namespace

Result<std::optional<EquationBox>> equation_box(const Environment& environment, const ProjectedBody& projected,
                                                RangeEvaluator& ranges, size_t number) {
    const Body& body = *projected.body;
    const BodyEquation& equation = body.equations[number];
    const ProjectedTensor& output = projected.outputs[static_cast<size_t>(equation.output)];
    EquationBox written{projected.references[static_cast<size_t>(equation.output)], {}, projected.places[number]};
    for (VariableId id : equation.variables)
        if (body.variable(id).extent <= 0) return std::nullopt;
    InlineVector<bool, 16> used(body.variables.size(), false);
    for (size_t i = 0; i < equation.left.size(); ++i) {
        const ValueRange& value = ranges.of(equation.left[i]);
        if (!value.affine) {
            Diagnostic diagnostic = cover_error(environment, projected, number,
                                                fmt::format("coordinate {} of '{}' is not affine", i, output.name));
            diagnostic.expected = "a sum of coordinates, enclosing variables and static values, with static factors";
            diagnostic.remedy =
                "compute the position on the right side instead: an output's equation says which value each element "
                "has";
            return fail(std::move(diagnostic));
        }
        for (const auto& [variable, coefficient] : value.affine->terms)
            if (body.variable(variable).extent > 1) used[static_cast<size_t>(variable)] = true;
        written.box.start.push_back(value.interval.low);
        written.box.end.push_back(value.interval.high + 1);
        const Size& extent = output.extents[i];
        if (value.interval.low < 0 || value.interval.high >= extent) {
            Diagnostic diagnostic =
                cover_error(environment, projected, number,
                            fmt::format("'{}' is written outside its shape in dimension {}", output.name, i));
            diagnostic.expected = fmt::format("coordinates in 0 .. {}", (extent - 1).number());
            diagnostic.found = fmt::format("{} .. {}", value.interval.low.number(), value.interval.high.number());
            return fail(std::move(diagnostic));
        }
    }
    for (VariableId id : equation.variables) {
        const Variable& variable = body.variable(id);
        if (variable.extent <= 1 || used[static_cast<size_t>(id)]) continue;
        Diagnostic diagnostic =
            cover_error(environment, projected, number,
                        fmt::format("'{}' is written once for each value of axis '{}'", output.name, variable.name));
        diagnostic.expected = fmt::format("every axis of extent > 1 in a coordinate of '{}'", output.name);
        bool forgotten = std::any_of(equation.variables.begin(), equation.variables.end(), [&](VariableId other) {
            return other != id && body.variable(other).kind == Variable::Kind::parallel &&
                   body.variable(other).name == variable.name;
        });
        diagnostic.remedy =
            forgotten
                ? fmt::format("did you mean @{}?", variable.name)
                : fmt::format("use @{0} on the left, or take it from the index and reduce over it", variable.name);
        diagnostic.params.emplace_back("axis", variable.name);
        return fail(std::move(diagnostic));
    }
    return written;
}

Diagnostic left_fault(const Environment& environment, std::span<const LeftSide> sides, const LeftFault& fault,
                      const std::string& output, std::span<const Place* const> places) {
    const auto of = [&](size_t side) { return places[sides[side].equation]; };
    if (fault.equations.empty()) {
        const auto odd = std::ranges::find_if(sides, [](const LeftSide& side) { return !gap_remedy(side).empty(); });
        const size_t side = odd == sides.end() ? 0 : static_cast<size_t>(odd - sides.begin());
        Diagnostic diagnostic = environment.diagnostic("symbolic.cover", *of(side),
                                                       fmt::format("not every element of '{}' is written", output));
        diagnostic.found = fmt::format("nothing writes {}", printed(std::span<const int64_t>(fault.element)));
        diagnostic.remedy = odd == sides.end() ? "add an equation for the rest" : gap_remedy(*odd);
        diagnostic.params.emplace_back("output", output);
        return diagnostic;
    }
    const bool itself = fault.equations.size() == 1;
    Diagnostic diagnostic = environment.diagnostic(
        "symbolic.cover", *of(fault.equations.back()),
        itself ? fmt::format("'{}' is written twice at one element", output)
               : fmt::format("two equations write the same elements of '{}'", output));
    diagnostic.found = fmt::format("{} is written by {}", printed(std::span<const int64_t>(fault.element)),
                                   itself ? "two points of the index and the blocks around it" : "both");
    diagnostic.remedy = itself ? "write each element at one point: of two axes in a coordinate, the one has the other's "
                                 "extent for its factor"
                               : "let each write a part of its own, or join them: condition ? value : other";
    if (!itself) diagnostic.contexts.push_back({"the other equation", *of(fault.equations[0])});
    diagnostic.params.emplace_back("output", output);
    return diagnostic;
}

Result<void> check_cover(const Environment& environment, const std::vector<EquationBox>& written) {
    Diagnostics diagnostics;
    const auto& outputs = environment.outputs();
    for (size_t position = 0; position < outputs.size(); ++position) {
        const BoundOutput& output = outputs[position];
        for (size_t element = 0; output.requested && element < output.types.size(); ++element) {
            TensorReference reference{static_cast<int32_t>(position), static_cast<int32_t>(element)};
            std::vector<Box> boxes;
            InlineVector<const Place*, 8> places;
            for (const EquationBox& equation : written) {
                if (!(equation.output == reference)) continue;
                boxes.push_back(equation.box);
                places.push_back(equation.place);
            }
            const Box whole = Box::whole(extents_of(output.types[element]));
            if (auto pair = overlapping(boxes)) {
                const auto [first, second] = *pair;
                Diagnostic diagnostic = environment.diagnostic(
                    "symbolic.cover", *places[second],
                    fmt::format("two equations write the same elements of '{}'", output.spec->name));
                diagnostic.expected = "disjoint boxes";
                diagnostic.found = fmt::format("{} and {}", printed(boxes[first]), printed(boxes[second]));
                diagnostic.remedy = "let each write a part of its own, or join them: condition ? value : other";
                diagnostic.contexts.push_back({"the other equation", *places[first]});
                diagnostics.push_back(std::move(diagnostic));
                continue;
            }
            if (total_volume(boxes) == whole.volume()) continue;
            const Place& place = boxes.empty() ? output.spec->place : *places[0];
            Diagnostic diagnostic = environment.diagnostic(
                "symbolic.cover", place, fmt::format("not every element of '{}' is written", output.spec->name));
            diagnostic.expected = fmt::format("all of {}", printed(whole.end));
            int64_t budget = most_cover_steps;
            if (const Cover found = cover(whole, boxes, budget); !found.gaps.empty())
                diagnostic.found = fmt::format("nothing writes {}", printed(found.gaps[0].start));
            diagnostic.remedy = "add an equation for the rest, or make the index larger";
            diagnostics.push_back(std::move(diagnostic));
        }
    }
    if (!diagnostics.empty()) return fail(std::move(diagnostics));
    return {};
}

}  // namespace heddle
