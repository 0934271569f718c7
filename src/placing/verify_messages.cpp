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
        size_t next = 0, exchanges = 0;  // steps that are over, and messages of the next one
        std::set<ValueId> has = {};
        std::map<ValueId, size_t> behind = {};  // of what the next step makes: how many of its messages it needs
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
        if (step.kind == Step::Kind::send) {
            send(p, step.process, step.inputs);
        } else if (step.kind == Step::Kind::receive) {
            if (!receive(p, step.process, step.outputs)) return false;
        } else {
            if (process.exchanges == 0) begin(process, step);
            if (process.exchanges < step.exchanges.size()) return exchange(p, step);
            for (ValueId v : step.inputs) read(p, v);
            for (ValueId v : step.outputs) have(p, v);
        }
        process.next++;
        process.exchanges = 0;
        process.behind.clear();
        return true;
    }

    // What each of its results needs of the messages: through all operations that lead to it.
    static void begin(Process& process, const Step& step) {
        process.behind.clear();
        if (step.exchanges.empty()) return;
        std::map<ValueId, size_t> comes;
        for (size_t e = 0; e < step.exchanges.size(); e++)
            if (step.exchanges[e].comes)
                for (ValueId v : step.exchanges[e].values) comes[v] = e + 1;
        std::vector<size_t> needs(step.graph->tensors.size(), 0);
        for (size_t i = 0; i < step.inputs.size(); i++)
            if (comes.contains(step.inputs[i]))
                needs[static_cast<size_t>(step.graph->inputs[i].number())] = comes.at(step.inputs[i]);
        for (const Operation& operation : step.graph->operations) {
            size_t most = 0;
            for (TensorId t : operation.inputs) most = std::max(most, needs[static_cast<size_t>(t.number())]);
            for (TensorId t : operation.outputs) {
                size_t& own = needs[static_cast<size_t>(t.number())];
                own = std::max(own, most);
            }
        }
        for (size_t i = 0; i < step.outputs.size(); i++)
            process.behind[step.outputs[i]] = needs[static_cast<size_t>(step.graph->outputs[i].number())];
    }

    bool exchange(size_t p, const Step& step) {
        Process& process = processes_[p];
        const Exchange& next = step.exchanges[process.exchanges];
        if (next.comes) {
            if (!receive(p, next.process, next.values)) return false;
        } else {
            for (ValueId v : next.values) {
                const auto made = process.behind.find(v);
                if (made != process.behind.end() && made->second > process.exchanges)
                    wrong(fmt::format("process {} sends '{}' before it has what that needs", p,
                                      process.function->value(v).name));
            }
            send(p, next.process, next.values);
        }
        process.exchanges++;
        return true;
    }

    void have(size_t p, ValueId v) {
        if (!processes_[p].has.insert(v).second)
            wrong(fmt::format("process {} has '{}' twice", p, processes_[p].function->value(v).name));
    }

    void send(size_t p, int32_t to, const std::vector<ValueId>& values) {
        auto& message = on_the_way_[{p, static_cast<size_t>(to)}].emplace_back();
        for (ValueId v : values) {
            if (!processes_[p].behind.contains(v)) read(p, v);
            message.push_back(processes_[p].function->value(v).type);
        }
    }

    bool receive(size_t p, int32_t from, const std::vector<ValueId>& values) {
        auto& waiting = on_the_way_[{static_cast<size_t>(from), p}];
        if (waiting.empty()) return false;
        const std::vector<TensorType> sent = std::move(waiting.front());
        waiting.pop_front();
        bool same = sent.size() == values.size();
        for (size_t i = 0; same && i < sent.size(); i++) {
            const TensorType& type = processes_[p].function->value(values[i]).type;
            same = sent[i].dtype == type.dtype && sent[i].extents() == type.extents();
        }
        if (!same) wrong(fmt::format("process {} does not receive what {} sends", p, from));
        for (ValueId v : values) have(p, v);
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
