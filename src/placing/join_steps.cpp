#include <algorithm>
#include <map>
#include <set>

#include "placing/module.h"

namespace heddle::placing {
namespace {

bool is_message(const Step& step) { return step.kind == Step::Kind::send || step.kind == Step::Kind::receive; }

// Steps of one function, which follow one another, as one. Their graphs are parts of one graph: tensors and operations of one
// name are the same (each part slices constants for itself).
class Joiner {
public:
    explicit Joiner(const std::set<ValueId>& read_later) : read_later_(read_later) {}

    void add(const Step& step) {
        if (is_message(step)) {
            const bool comes = step.kind == Step::Kind::receive;
            const auto& values = comes ? step.outputs : step.inputs;
            joined_.exchanges.push_back({comes, step.process, values});
            if (!comes) wanted_.insert(values.begin(), values.end());
            return;
        }
        if (graph_->operations.empty()) {
            graph_->dimension_names = step.graph->dimension_names;
            graph_->facts = step.graph->facts;
        }
        std::vector<TensorId> own;
        for (const Tensor& tensor : step.graph->tensors) own.push_back(joint(tensor));
        for (const Operation& operation : step.graph->operations) add(operation, own);
        for (size_t i = 0; i < step.inputs.size(); i++) {
            const TensorId t = own[step.graph->inputs[i].number()];
            if (of_.contains(step.inputs[i])) continue;  // an earlier part makes it, or reads it too
            of_[step.inputs[i]] = t;
            graph_->inputs.push_back(t);
            joined_.inputs.push_back(step.inputs[i]);
        }
        for (size_t i = 0; i < step.outputs.size(); i++) {
            of_[step.outputs[i]] = own[step.graph->outputs[i].number()];
            made_.push_back(step.outputs[i]);
        }
    }

    Step take() {
        for (ValueId v : made_) {
            if (!wanted_.contains(v) && !read_later_.contains(v)) continue;
            graph_->outputs.push_back(of_.at(v));
            joined_.outputs.push_back(v);
        }
        joined_.graph = std::move(graph_);
        return std::move(joined_);
    }

private:
    TensorId joint(const Tensor& tensor) {
        const auto [known, fresh] = tensors_.try_emplace(tensor.name);
        if (fresh) {
            graph_->tensors.push_back(tensor);
            graph_->tensors.back().producer = no_id;
            known->second = last_id<TensorId>(graph_->tensors);
        }
        return known->second;
    }

    void add(Operation operation, const std::vector<TensorId>& own) {
        if (!operations_.insert(operation.name).second) return;
        for (auto* list : {&operation.inputs, &operation.outputs})
            for (TensorId& t : *list) t = own[t.number()];
        graph_->add_operation(std::move(operation));
    }

    const std::set<ValueId>& read_later_;
    std::shared_ptr<Graph> graph_ = std::make_shared<Graph>();
    Step joined_;
    std::map<std::string, TensorId> tensors_;
    std::set<std::string> operations_;
    std::map<ValueId, TensorId> of_;
    std::vector<ValueId> made_;
    std::set<ValueId> wanted_;
};

}  // namespace

Function joined(const Function& function) {
    const auto joins = [](const Step& step) { return is_message(step) || step.kind == Step::Kind::compute; };
    Function made = function;
    made.steps.clear();
    for (auto from = function.steps.begin(); from != function.steps.end();) {
        const auto to = std::find_if_not(from, function.steps.end(), joins);
        const auto computing =
            std::count_if(from, to, [](const Step& step) { return step.kind == Step::Kind::compute; });
        if (computing == 0 || computing == to - from) {
            const auto end = std::max(to, from + 1);
            made.steps.insert(made.steps.end(), from, end);
            from = end;
            continue;
        }
        std::set<ValueId> read_later(function.results.begin(), function.results.end());
        for (auto step = to; step != function.steps.end(); ++step)
            read_later.insert(step->inputs.begin(), step->inputs.end());
        Joiner joiner(read_later);
        for (; from != to; ++from) joiner.add(*from);
        made.steps.push_back(joiner.take());
    }
    return made;
}

}  // namespace heddle::placing
