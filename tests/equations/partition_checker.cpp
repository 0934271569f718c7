// Runs a partition as a machine might: each kernel's tasks apart, in random blocks of its common axes and in either
// order, everything that the kernel makes poisoned before each task. A local that a task reads where another task made
// it gives NaN (or an odd integer): a wrong common axis shows.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <random>

#include "helpers/run_system.h"
#include "partition_checker.h"

namespace heddle::equations {
namespace {

constexpr int64_t poison_integer = 0x5a5a5a5b;

TensorData poisoned(const SystemTensor& tensor) {
    TensorData data(tensor.dtype, numbers_of(tensor.shape));
    for (int64_t i = 0; i < data.size(); i++) {
        if (is_float(tensor.dtype))
            data.set_real(i, std::nan(""));
        else
            data.set_integer(i, is_bool(tensor.dtype) ? 1 : poison_integer);
    }
    return data;
}

struct Range {
    int64_t low = 0, high = 0;  // low <= value < high
};
using Task = std::vector<Range>;  // one a common axis

// Every common axis cut at one random place; all combinations.
std::vector<Task> random_tasks(const Kernel& kernel, std::mt19937_64& random) {
    std::vector<Task> tasks = {{}};
    for (const Kernel::CommonAxis& axis : kernel.common) {
        std::vector<Range> ranges = {{0, axis.extent}};
        if (axis.extent > 1) {
            const int64_t cut = 1 + static_cast<int64_t>(random() % static_cast<uint64_t>(axis.extent - 1));
            ranges = {{0, cut}, {cut, axis.extent}};
        }
        std::vector<Task> longer;
        for (const Task& task : tasks) {
            for (const Range& range : ranges) {
                longer.push_back(task);
                longer.back().push_back(range);
            }
        }
        tasks = std::move(longer);
    }
    if (random() % 2 == 1) std::reverse(tasks.begin(), tasks.end());
    return tasks;
}

// The equation over the points of one task. Its left side may leave gaps in a mixed radix then: the caller places
// values.
Equation restricted(const System& system, const Kernel& kernel, int32_t index, const Task& task) {
    Arena& arena = *system.arena;
    Equation equation = system.equation(index);
    Arena::Substitution substitution;
    for (size_t t = 0; t < task.size(); t++) {
        auto found = kernel.common[t].axis_of.find(index);
        if (found == kernel.common[t].axis_of.end()) continue;
        Axis own = arena.axis(found->second);
        if (task[t].high - task[t].low == own.extent) continue;
        own.extent = task[t].high - task[t].low;
        own.named = false;
        const AxisId part = arena.add_axis(std::move(own));
        substitution[found->second] = arena.add(arena.axis_value(part), arena.integer(task[t].low));
        std::replace(equation.axes.begin(), equation.axes.end(), found->second, part);
    }
    for (Expr& left : equation.left) left = arena.substitute(left, substitution);
    equation.right = arena.substitute(equation.right, substitution);
    return equation;
}

// Its values, a dimension an axis.
Result<TensorData> values_of(const System& system, const Equation& equation, const std::vector<TensorData>& tensors) {
    Equation dense = equation;
    dense.left.clear();
    std::vector<int64_t> shape;
    for (AxisId axis : equation.axes) {
        dense.left.push_back(system.arena->axis_value(axis));
        shape.push_back(system.arena->extent(axis));
    }
    const EquationBody made = body_of(system, dense);
    std::vector<TensorData> inputs;
    for (TensorIndex tensor : made.inputs) inputs.push_back(tensors[static_cast<size_t>(tensor)]);
    std::vector<TensorData> outputs = {TensorData(system.tensor(equation.tensor).dtype, shape)};
    if (auto done = evaluate_body(made.body, inputs, outputs, Precision::body); !done) return fail(done.error());
    return outputs[0];
}

// Writes the values where the left side says.
void place(const Arena& arena, const Equation& equation, const TensorData& values, TensorData& tensor) {
    const size_t element = static_cast<size_t>(bytes(tensor.dtype()));
    for (int64_t i = 0; i < values.size(); i++) {
        std::map<AxisId, int64_t> at;
        int64_t rest = i;
        for (size_t a = equation.axes.size(); a-- > 0;) {
            const int64_t extent = arena.extent(equation.axes[a]);
            at[equation.axes[a]] = rest % extent;
            rest /= extent;
        }
        int64_t address = 0;
        for (size_t d = 0; d < equation.left.size(); d++) {
            const CoordinateForm form = linear_form(equation.left[d]);
            int64_t coordinate = form.constant;
            for (const auto& [atom, factor] : form.terms) coordinate += factor * at.at(atom->axes[0]);
            address = address * tensor.shape()[d] + coordinate;
        }
        std::memcpy(tensor.mutable_data() + static_cast<size_t>(address) * element,
                    values.data() + static_cast<size_t>(i) * element, element);
    }
}

bool contains(const std::vector<TensorIndex>& list, TensorIndex tensor) {
    return std::find(list.begin(), list.end(), tensor) != list.end();
}

Result<void> run_task(const System& system, const Kernel& kernel, const Task& task, std::vector<TensorData>& buffers) {
    std::vector<TensorData> own = buffers;
    for (int32_t index : kernel.equations) {
        const TensorIndex tensor = system.equation(index).tensor;
        // A name that others also write a part of is a buffer: its other boxes are there to be read.
        if (!contains(kernel.inputs, tensor)) own[static_cast<size_t>(tensor)] = poisoned(system.tensor(tensor));
    }
    return for_each_step(system, kernel.equations, [&](int32_t index, int64_t step) -> Result<void> {
        Equation equation = restricted(system, kernel, index, task);
        if (equation.scan >= 0) equation = at_step(*system.arena, std::move(equation), step);
        const auto values = values_of(system, equation, own);
        if (!values) return fail(values.error());
        const auto t = static_cast<size_t>(equation.tensor);
        place(*system.arena, equation, *values, own[t]);
        if (contains(kernel.outputs, equation.tensor)) place(*system.arena, equation, *values, buffers[t]);
        return {};
    });
}

Result<void> check_batches(const System& system, const Partition& partition) {
    for (size_t b = 0; b < partition.batches.size(); b++) {
        for (int32_t reader : partition.batches[b]) {
            for (int32_t writer : partition.batches[b]) {
                if (reader == writer) continue;
                for (TensorIndex tensor : partition.kernels[static_cast<size_t>(reader)].inputs) {
                    if (!contains(partition.kernels[static_cast<size_t>(writer)].outputs, tensor)) continue;
                    return fail(Diagnostic{
                        .code = "test.batch_conflict",
                        .summary =
                            fmt::format("kernels {} and {} share launch {}, and one reads '{}', which the other writes",
                                        reader, writer, b, system.tensor(tensor).name),
                        .place = {}});
                }
            }
        }
    }
    return {};
}

}  // namespace

Result<std::vector<TensorData>> run_partition(const System& system, const Partition& partition,
                                              const std::vector<TensorData>& feeds, uint64_t seed) {
    if (auto sound = check_batches(system, partition); !sound) return fail(sound.error());
    auto values = initial_values(system, feeds);
    if (!values) return values;
    for (size_t t = 0; t < system.tensors.size(); t++) {
        const SystemTensor& tensor = system.tensors[t];
        if (tensor.kind == SystemTensor::Kind::computed) (*values)[t] = poisoned(tensor);
    }
    std::mt19937_64 random(seed);
    for (const Kernel& kernel : partition.kernels) {
        for (const Task& task : random_tasks(kernel, random)) {
            if (auto done = run_task(system, kernel, task, *values); !done) return fail(done.error());
        }
    }
    return values;
}

}  // namespace heddle::equations
