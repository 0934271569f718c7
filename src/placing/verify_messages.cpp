// Whether processes' sends and receives fit together: all are run, with types for values.
#include <algorithm>
#include <deque>
#include <map>
#include <set>

#include <fmt/format.h>

#include "placing/processes.h"

namespace heddle::placing {
namespace {

class Meeting {
public:
    explicit Meeting(const std::vector<Module>& processes) {
        for (const Module& module : processes) {
            const auto entry = std::ranges::find(module.functions, true, &Function::entry);
            if (entry != module.functions.end()) processes_.push_back({&*entry});
        }
        complete_ = processes_.size() == processes.size();
    }

    Result<void> verify() {
        if (!complete_) wrong("a process has no entry");
        for (Process& process : processes_)
            for (ValueId v : process.function->parameters) process.has.insert(v);
        while (problems_.empty() && step_all()) {
        }
        for (size_t p = 0; p < processes_.size() && problems_.empty(); p++) {
            if (processes_[p].next < processes_[p].function->steps.size())
                wrong(fmt::format("process {} waits for a message that nobody sends", p));
            for (ValueId v : processes_[p].function->results) read(p, v);
        }
        for (const auto& [way, waiting] : on_the_way_)
            if (!waiting.empty() && problems_.empty())
                wrong(fmt::format("what {} sends to {} is not received", way.first, way.second));
        if (!problems_.empty()) return fail(std::move(problems_));
        return {};
    }

private:
    struct Process {
        const Function* function;
        size_t next = 0;
        std::set<ValueId> has = {};
    };

    void wrong(std::string summary) {
        problems_.push_back({.code = "placing.broken",
                             .summary = std::move(summary),
                             .remedy = "report it: it is a mistake of the compiler"});
    }

    // Whether any process came further.
    bool step_all() {
        bool moved = false;
        for (size_t p = 0; p < processes_.size(); p++)
            while (problems_.empty() && step(p)) moved = true;
        return moved;
    }

    bool step(size_t p) {
        Process& process = processes_[p];
        if (process.next == process.function->steps.size()) return false;
        const Step& step = process.function->steps[process.next];
        if (step.kind == Step::Kind::receive && !receive(p, step)) return false;
        for (ValueId v : step.inputs) read(p, v);
        if (step.kind == Step::Kind::send) {
            auto& message = on_the_way_[{p, static_cast<size_t>(step.process)}].emplace_back();
            for (ValueId v : step.inputs) message.push_back(process.function->value(v).type);
        }
        for (ValueId v : step.outputs)
            if (!process.has.insert(v).second)
                wrong(fmt::format("process {} has '{}' twice", p, process.function->value(v).name));
        process.next++;
        return true;
    }

    bool receive(size_t p, const Step& step) {
        auto& waiting = on_the_way_[{static_cast<size_t>(step.process), p}];
        if (waiting.empty()) return false;
        const std::vector<TensorType> sent = std::move(waiting.front());
        waiting.pop_front();
        bool same = sent.size() == step.outputs.size();
        for (size_t i = 0; same && i < sent.size(); i++) {
            const TensorType& type = processes_[p].function->value(step.outputs[i]).type;
            same = sent[i].dtype == type.dtype && sent[i].extents() == type.extents();
        }
        if (!same) wrong(fmt::format("process {} does not receive what {} sends", p, step.process));
        return true;
    }

    void read(size_t p, ValueId v) {
        const Value& value = processes_[p].function->value(v);
        if (!value.constant && !processes_[p].has.contains(v))
            wrong(fmt::format("process {} reads '{}', which it has not", p, value.name));
    }

    std::vector<Process> processes_;
    bool complete_ = false;
    std::map<std::pair<size_t, size_t>, std::deque<std::vector<TensorType>>> on_the_way_;
    Diagnostics problems_;
};

}  // namespace

Result<void> verify_messages(const std::vector<Module>& processes) { return Meeting(processes).verify(); }

}  // namespace heddle::placing
