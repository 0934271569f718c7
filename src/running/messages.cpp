#include "running/messages.h"

#include <algorithm>
#include <chrono>
#include <map>

#include <fmt/format.h>

namespace heddle::running {

using placing::Exchange;
using placing::ValueId;

Result<void> LiveValues::make(ValueId v) {
    auto memory = allocate(v);
    if (!memory) return fail(std::move(memory.error()));
    (*this)[v] = std::move(*memory);
    return {};
}

const std::vector<std::span<std::byte>>& Messages::parts(const std::vector<ValueId>& values) {
    parts_.clear();
    for (ValueId v : values) {
        // What is sent is only read.
        auto* data = const_cast<std::byte*>(static_cast<const std::byte*>(values_[v].data()));
        parts_.emplace_back(data, static_cast<size_t>(values_[v].byte_size()));
    }
    return parts_;
}

Result<void> Messages::expect(int32_t process, const std::vector<ValueId>& values) {
    for (ValueId v : values)
        if (auto made = values_.make(v); !made) return made;
    return transport_->expect(process, parts(values));
}

Result<void> Messages::send(int32_t process, const std::vector<ValueId>& values) {
    for (ValueId v : values) sent_.push_back(values_[v]);
    return transport_->send(process, parts(values));
}

Result<void> Messages::finish() {
    if (sent_.empty()) return {};
    auto done = transport_->finish();
    sent_.clear();
    return done;
}

namespace {

// By input or output the first and the last batch that touches it, and the last one that writes it.
struct Touched {
    size_t first = SIZE_MAX, last = 0, made = 0;
    bool any() const { return first != SIZE_MAX; }
};

void find_touched(const plan::Plan& plan, std::vector<Touched>& inputs, std::vector<Touched>& outputs) {
    using Kind = plan::Buffer::Kind;
    for (size_t b = 0; b < plan.run.size(); b++) {
        for (const plan::Launch& launch : plan.run[b]) {
            for (size_t i = 0; i < launch.buffers.size(); i++) {
                const plan::Buffer& buffer = plan.buffers[static_cast<size_t>(launch.buffers[i])];
                if (buffer.kind != Kind::input && buffer.kind != Kind::output) continue;
                Touched& touched = (buffer.kind == Kind::input ? inputs : outputs)[static_cast<size_t>(buffer.index)];
                touched.first = std::min(touched.first, b);
                touched.last = b;
                if (plan::writes(plan, launch, i)) touched.made = b;
            }
        }
    }
}

}  // namespace

ExchangeTimes::ExchangeTimes(const plan::Plan& plan, const placing::Step& step, const std::vector<ValueId>& last_read) {
    const auto goes = [&](ValueId v) {
        return std::ranges::find(last_read, v) != last_read.end() &&
               std::ranges::none_of(step.exchanges, [&](const Exchange& exchange) {
                   return !exchange.comes && std::ranges::find(exchange.values, v) != exchange.values.end();
               });
    };
    std::vector<Touched> inputs(step.inputs.size()), outputs(step.outputs.size());
    find_touched(plan, inputs, outputs);
    batches_.resize(plan.run.size());
    std::map<ValueId, const Touched*> of;
    for (size_t i = 0; i < inputs.size(); i++) {
        of[step.inputs[i]] = &inputs[i];
        if (inputs[i].any() && goes(step.inputs[i])) batches_[inputs[i].last].ends.push_back(i);
    }
    for (size_t i = 0; i < outputs.size(); i++) {
        of[step.outputs[i]] = &outputs[i];
        outputs[i].any() ? batches_[outputs[i].first].begins.push_back(i) : untouched_.push_back(i);
    }
    std::vector<size_t> completed(batches_.size(), SIZE_MAX);  // the first exchange that waits for the batch
    for (size_t e = 0; e < step.exchanges.size(); e++) {
        for (ValueId v : step.exchanges[e].values) {
            const auto found = of.find(v);
            if (found == of.end() || !found->second->any()) continue;
            if (step.exchanges[e].comes)
                batches_[found->second->first].over = std::max(batches_[found->second->first].over, e + 1);
            else
                completed[found->second->made] = std::min(completed[found->second->made], e);
        }
    }
    size_t over = 0, complete = step.exchanges.size();
    for (OfBatch& batch : batches_) over = batch.over = std::max(over, batch.over);
    // Behind a batch all is complete that no later batch makes.
    for (size_t b = batches_.size(); b-- > 0; complete = std::min(complete, completed[b]))
        batches_[b].complete = complete;
    find_expected(step);
    find_handed_on(step);
}

void ExchangeTimes::find_expected(const placing::Step& step) {
    for (size_t b = batches_.size(), next = step.exchanges.size(); b-- > 0; batches_[b].expected = next)
        if (b + 1 < batches_.size() && batches_[b + 1].over != batches_[b].over) next = batches_[b + 1].over;
    // Others have come about as far: for each message that has left one more may arrive.
    std::vector<size_t> comes;
    for (size_t e = 0; e < step.exchanges.size(); e++)
        if (step.exchanges[e].comes) comes.push_back(e + 1);
    size_t left = 0, seen = 0;
    for (size_t b = 1; b < batches_.size() && !comes.empty(); b++) {
        for (; seen < batches_[b - 1].complete; seen++) left += !step.exchanges[seen].comes;
        batches_[b].expected = std::max(batches_[b].expected, comes[std::min(left, comes.size() - 1)]);
    }
}

void ExchangeTimes::find_handed_on(const placing::Step& step) {
    std::map<ValueId, size_t> inputs, brought;
    for (size_t i = 0; i < step.inputs.size(); i++) inputs[step.inputs[i]] = i;
    exchanges_.resize(step.exchanges.size());
    for (size_t e = 0; e < exchanges_.size(); e++) {
        for (ValueId v : step.exchanges[e].values) {
            if (!step.exchanges[e].comes) {
                if (const auto from = brought.find(v); from != brought.end())
                    exchanges_[e].handed_on = std::max(exchanges_[e].handed_on, from->second);
                continue;
            }
            brought[v] = e + 1;
            if (const auto input = inputs.find(v); input != inputs.end()) exchanges_[e].inputs.push_back(*input);
        }
    }
}

ExchangingRun::ExchangingRun(const placing::Step& step, const ExchangeTimes& times, LiveValues& values,
                             Messages& messages, RunReport* report)
    : step_(step),
      times_(times),
      values_(values),
      messages_(messages),
      report_(report),
      inputs_(step.inputs.size()),
      outputs_(step.outputs.size()),
      is_over_(step.exchanges.size()) {}

Result<void> ExchangingRun::begin() {
    for (size_t i = 0; i < inputs_.size(); i++) inputs_[i] = values_[step_.inputs[i]].data();
    if (auto made = make_outputs(times_.untouched()); !made) return made;
    return times_.batches().empty() ? expect(step_.exchanges.size()) : Result<void>();
}

Result<void> ExchangingRun::before(size_t batch) {
    const ExchangeTimes::OfBatch& at = times_.batches()[batch];
    if (auto done = expect(at.expected); !done) return done;
    if (auto done = finish(at.over); !done) return done;
    return make_outputs(at.begins);
}

Result<void> ExchangingRun::behind(size_t batch) {
    const ExchangeTimes::OfBatch& at = times_.batches()[batch];
    for (size_t i : at.ends) values_[step_.inputs[i]] = TensorData();
    return send(at.complete);
}

Result<void> ExchangingRun::end() { return finish(step_.exchanges.size()); }

Result<void> ExchangingRun::make_outputs(const std::vector<size_t>& outputs) {
    for (size_t i : outputs) {
        if (auto made = values_.make(step_.outputs[i]); !made) return made;
        outputs_[i] = values_[step_.outputs[i]];
    }
    return {};
}

Result<void> ExchangingRun::expect(size_t count) {
    for (; expected_ < count; expected_++) {
        const Exchange& next = exchange(expected_);
        if (!next.comes) continue;
        if (auto done = messages_.expect(next.process, next.values); !done) return done;
        for (const auto& [v, input] : times_.exchanges()[expected_].inputs) inputs_[input] = values_[v].data();
    }
    return {};
}

// All of the first so many, in order.
Result<void> ExchangingRun::finish(size_t count) {
    for (; over_ < count; over_++) {
        if (is_over_[over_]) continue;
        const Exchange& next = exchange(over_);
        auto done = next.comes ? reported("receive from", next, [&] { return messages_.await(next.process); })
                               : send(over_ + 1);
        if (!done) return done;
        is_over_[over_] = true;
    }
    return {};
}

// Of the first so many those that leave, in order, until one sends on what has not come.
Result<void> ExchangingRun::send(size_t count) {
    for (; sent_ < count; sent_++) {
        const Exchange& next = exchange(sent_);
        if (next.comes) continue;
        if (times_.exchanges()[sent_].handed_on > over_) return {};
        if (auto done = reported("send to", next, [&] { return messages_.send(next.process, next.values); }); !done)
            return done;
        is_over_[sent_] = true;
    }
    return {};
}

Result<void> ExchangingRun::reported(const char* what, const Exchange& exchange,
                                     const std::function<Result<void>()>& act) {
    if (!report_) return act();
    const auto begin = std::chrono::steady_clock::now();
    auto done = act();
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
    int64_t bytes = 0;
    for (ValueId v : exchange.values) bytes += exchange.comes ? 0 : values_[v].byte_size();
    report_->lines.push_back({fmt::format("{} process {}", what, exchange.process), time.count(), bytes});
    return done;
}

}  // namespace heddle::running
