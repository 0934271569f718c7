#include "placing/constant_reads.h"

#include <map>

#include "placing/layouts.h"
#include "sharding/regions.h"

namespace heddle::placing {
namespace {

struct Reads {
    TensorData constant;
    std::map<Box, std::set<int32_t>> readers;  // boxes may overlap
};

using ByName = std::map<std::string, Reads>;

void add(ByName& all, const std::string& name, const TensorData& constant, const Box& box, int32_t process) {
    if (box.is_empty()) return;
    Reads& reads = all.try_emplace(name, Reads{constant, {}}).first->second;
    reads.readers[box].insert(process);
}

void add_step(ByName& all, const Graph& graph, int32_t process) {
    for (const Operation& operation : graph.operations) {
        for (size_t i = 0; i < operation.inputs.size(); i++) {
            const Tensor& tensor = graph.tensor(operation.inputs[i]);
            if (tensor.constant)
                add(all, tensor.name, *tensor.constant, sharding::read_region(graph, operation, i), process);
        }
    }
    for (TensorId t : graph.outputs) {
        const Tensor& tensor = graph.tensor(t);
        if (tensor.constant && tensor.producer == no_id)
            add(all, tensor.name, *tensor.constant, Box::whole(tensor.type.shape), process);
    }
}

void add_module(ByName& all, const Module& module, int32_t process) {
    for (const Function& function : module.functions) {
        for (const Value& value : function.values)
            if (value.constant) add(all, value.name, *value.constant, Box::whole(value.type.shape), process);
        for (const Step& step : function.steps)
            if (step.graph) add_step(all, *step.graph, process);
    }
}

using Part = std::pair<Box, std::set<int32_t>>;

// Of parts that share no point, and one more box: again such parts.
std::vector<Part> with(std::vector<Part> parts, const Box& box, const std::set<int32_t>& readers) {
    std::vector<Part> made;
    std::vector<Box> held;
    for (Part& part : parts) {
        held.push_back(part.first);
        if (!overlap(part.first, box)) {
            made.push_back(std::move(part));
            continue;
        }
        const Box common = intersection(part.first, box);
        for (Box& other : difference(part.first, common)) made.emplace_back(std::move(other), part.second);
        part.second.insert(readers.begin(), readers.end());
        made.emplace_back(common, std::move(part.second));
    }
    for (Box& each : without(box, held)) made.emplace_back(std::move(each), readers);
    return made;
}

}  // namespace

std::vector<ConstantRead> constant_reads(const std::vector<Module>& processes) {
    ByName all;
    for (size_t p = 0; p < processes.size(); p++) add_module(all, processes[p], static_cast<int32_t>(p));
    std::vector<ConstantRead> list;
    for (const auto& [name, reads] : all) {
        std::vector<Part> parts;
        for (const auto& [box, readers] : reads.readers) parts = with(std::move(parts), box, readers);
        for (Part& part : parts) list.push_back({name, reads.constant, std::move(part.first), std::move(part.second)});
    }
    return list;
}

}  // namespace heddle::placing
