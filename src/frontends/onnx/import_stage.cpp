// What of a model can be computed before more is known: an import that stops where a value is asked for.
#include <list>

#include "frontends/onnx/flatten.h"
#include "frontends/onnx/importer.h"
#include "frontends/onnx/order.h"

namespace heddle::onnx {
namespace {

class StageImporter : public Importer {
public:
    StageImporter(const OnnxModel& model, const Library& library, const ImportOptions& options,
                  const StageOptions& stage)
        : Importer(model, library, options), stage_(stage) {}

    Result<ImportedStage> run() {
        session_.ask();
        const auto count = static_cast<int64_t>(model_.graph.nodes.size());
        if (auto wanted = begin_stage(options_.progress, Stage::symbolic, count); !wanted) return fail(wanted.error());
        add_inputs();
        for (const auto& [name, data] : stage_.known) define(name, add_known(name, data));
        for (const std::string& name : stage_.lists) scope_.values.emplace(name, waiting);
        add_constants(model_.graph);
        nodes_.assign(model_.graph.nodes.begin(), model_.graph.nodes.end());
        for (auto node = nodes_.begin(); node != nodes_.end(); ++node) {
            add_in_stage(node);
            if (auto wanted = step_done(options_.progress); !wanted) return fail(wanted.error());
        }
        if (!problems_.empty()) return fail(std::move(problems_));
        return finish_stage();
    }

private:
    using Nodes = std::list<OnnxNode>;

    // A value that sizes follow from.
    TensorId add_known(const std::string& name, const TensorData& data) {
        const auto names = size_names(name, data);
        std::vector<SizeQuotient> sizes;
        for (size_t i = 0; i < names->size(); i++) {
            const int64_t number = data.integer_at(static_cast<int64_t>(i));
            if (!(*names)[i].empty()) names_[(*names)[i]] = number;
            sizes.push_back((*names)[i].empty() ? Size(number) : named_size((*names)[i], number));
        }
        return session_.add_sizes(name, {data.dtype(), {data.shape().begin(), data.shape().end()}}, std::move(sizes));
    }

    void add_in_stage(Nodes::iterator position) {
        const OnnxNode& node = *position;
        const bool waits = std::ranges::any_of(reads_of(node), [&](std::string_view name) {
            const auto value = scope_.values.find(std::string(name));
            return value != scope_.values.end() && value->second == waiting;
        });
        if (waits || is_step(node)) return defer(node);
        const OnnxNode* around = std::exchange(at_, &node);
        is_branch(node) ? write_branch(position) : add_node(node);
        at_ = around;
    }

    // What is told of values that the node asks for itself: the first result's name with a number.
    std::vector<TensorId> answers_for(const OnnxNode& node) const override {
        std::vector<TensorId> answers;
        for (;;) {
            const auto answer = scope_.values.find(question_of(node, answers.size()));
            if (answer == scope_.values.end()) return answers;
            answers.push_back(answer->second);
        }
    }
    static std::string question_of(const OnnxNode& node, size_t number) {
        const auto named = std::ranges::find_if(node.outputs, [](const std::string& name) { return !name.empty(); });
        return fmt::format("{}#{}", named == node.outputs.end() ? node.label() : *named, number);
    }

    void defer(const OnnxNode& node) {
        waiting_.insert(&node);
        for (const std::string& output : node.outputs) {
            if (!output.empty()) scope_.values.insert_or_assign(output, waiting);
        }
    }

    bool takes_all_inputs() const override { return true; }

    bool waits_for(const OnnxNode& node, TensorId value, const Diagnostics& why) override {
        auto name = question_of(node, answers_for(node).size());
        for (const std::string& input : node.inputs) {
            const auto own = scope_.values.find(input);
            if (own != scope_.values.end() && own->second == value) name = input;
        }
        questions_.emplace(name, value);
        std::ranges::copy(why, std::back_inserter(why_));
        defer(node);
        return true;
    }

    // The nodes of the branch that the condition takes are the next ones.
    void write_branch(Nodes::iterator position) {
        const OnnxNode& node = *position;
        const auto condition = condition_of(node);
        if (!condition) return;
        FlatGraph flat = written_out(model_, node, *condition);
        for (OnnxTensor& tensor : flat.initializers) {
            define(tensor.name, tensor.data ? add_weight(tensor.name, *tensor.data) : failed);
            initializers_.push_back(std::move(tensor));
        }
        nodes_.insert(std::next(position), flat.nodes.begin(), flat.nodes.end());
        written_.insert(&node);
    }

    // What waits, what it reads of this stage, and the nodes that are made again for it, since they follow from sizes.
    Result<ImportedStage> finish_stage() {
        std::map<std::string, const OnnxNode*> producers;
        for (const OnnxNode& node : nodes_) {
            if (waiting_.contains(&node) || written_.contains(&node)) continue;
            for (const std::string& output : node.outputs) producers.emplace(output, &node);
        }
        std::map<std::string, TensorId> results;
        std::vector<const OnnxNode*> open(waiting_.begin(), waiting_.end());
        const auto read = [&](const std::string& name, bool by_step) {
            const auto producer = producers.find(name);
            if (producer == producers.end()) return;
            const TensorId tensor = scope_.values.at(name);
            if (tensor < 0) return;
            if (!by_step && session_.known_value(tensor)) {
                if (waiting_.insert(producer->second).second) open.push_back(producer->second);
            } else {
                results.emplace(name, tensor);
            }
        };
        while (!open.empty()) {
            const OnnxNode& node = *open.back();
            open.pop_back();
            const auto node_reads = reads_of(node);
            // A step reads values; so does a node that a list makes one.
            const bool by_step = is_step(node) || std::ranges::any_of(node_reads, [&](std::string_view name) {
                                     return stage_.lists.contains(std::string(name));
                                 });
            for (const std::string_view name : node_reads) read(std::string(name), by_step);
        }
        for (const std::string& name : stage_.wanted) read(name, true);
        ImportedStage imported{.graph = {}, .results = {}, .rest = {}, .initializers = std::move(initializers_),
                               .asked = {}, .has_written = !written_.empty(),
                               .waiting = std::move(why_)};
        for (const auto& [name, tensor] : questions_) {
            imported.asked.push_back(name);
            const Tensor& asked = session_.graph().tensor(tensor);
            if (asked.producer >= 0 || asked.constant) results.emplace(name, tensor);
        }
        for (const OnnxNode& node : nodes_)
            if (waiting_.contains(&node)) imported.rest.push_back(node);
        std::vector<TensorId> outputs;
        for (const auto& [name, tensor] : results) {
            imported.results.push_back(name);
            outputs.push_back(tensor);
        }
        imported.graph = session_.finish(std::move(outputs));
        imported.graph.dimension_names = std::move(names_);
        return imported;
    }

    static constexpr TensorId waiting{-3};  // of a later stage
    const StageOptions& stage_;
    Nodes nodes_;
    std::set<const OnnxNode*> waiting_, written_;  // written: their branch stands behind them
    std::map<std::string, TensorId> questions_;
    std::vector<OnnxTensor> initializers_;
    Diagnostics why_;
};

}  // namespace

std::optional<std::vector<std::string>> size_names(const std::string& value, const TensorData& data) {
    constexpr int64_t most = 64;
    if (!is_integer(data.dtype()) || data.shape().size() > 1 || data.size() > most) return std::nullopt;
    std::vector<std::string> names;
    for (int64_t i = 0; i < data.size(); i++) {
        const std::string name = data.shape().empty() ? value + "#" : fmt::format("{}#{}", value, i);
        names.push_back(data.integer_at(i) < 0 ? std::string() : name);
    }
    return names;
}

Result<ImportedStage> import_stage(const OnnxModel& model, const Library& library, const ImportOptions& options,
                                   const StageOptions& stage) {
    return StageImporter(model, library, options, stage).run();
}

}  // namespace heddle::onnx
