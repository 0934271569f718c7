// What one run sends and receives, and when, if that is while a plan runs.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "placing/module.h"
#include "plan/plan.h"
#include "running/report.h"
#include "runtime/executable.h"
#include "support/tensor_data.h"
#include "transport/transport.h"

namespace heddle::running {

// The values of a function, as they come and go.
struct LiveValues {
    std::vector<TensorData> data;  // by ValueId
    std::function<Result<TensorData>(placing::ValueId)> allocate;

    TensorData& operator[](placing::ValueId v) { return data[static_cast<size_t>(v.number())]; }
    const TensorData& operator[](placing::ValueId v) const { return data[static_cast<size_t>(v.number())]; }
    Result<void> make(placing::ValueId v);  // memory for it. Codes of `allocate`
};

class Messages {
public:
    Messages(LiveValues& values, transport::Transport* transport) : values_(values), transport_(transport) {}

    // Its values get memory. Codes of transport.h, of allocating.
    Result<void> expect(int32_t process, const std::vector<placing::ValueId>& values);
    Result<void> await(int32_t process) { return transport_->await(process); }
    Result<void> send(int32_t process, const std::vector<placing::ValueId>& values);
    // Waits until all that was sent has left its memory, which stays until then.
    Result<void> finish();

private:
    const std::vector<std::span<std::byte>>& parts(const std::vector<placing::ValueId>& values);

    LiveValues& values_;
    transport::Transport* const transport_;  // null: there is one process
    std::vector<TensorData> sent_;
    std::vector<std::span<std::byte>> parts_;
};

// For a step with exchanges: which of them, and what memory, each batch of its plan begins and ends. All exchanges before
// one that a batch needs are over before that batch, in the order of all processes: so nobody waits in a circle. What
// leaves does so behind the batch that completes it. What comes has memory from the batch before that waits for something, or
// once as many messages have left as come before it, so that it arrives while others run; until its last reader.
class ExchangeTimes {
public:
    // `last_read`: the values that nothing reads behind the step.
    ExchangeTimes(const plan::Plan& plan, const placing::Step& step, const std::vector<placing::ValueId>& last_read);

    struct OfBatch {
        size_t over = 0;             // so many exchanges are over before it
        size_t expected = 0;         // what comes with so many has memory before it
        size_t complete = 0;         // what leaves with so many is made behind it
        std::vector<size_t> begins;  // outputs, by number, that it is the first to touch
        std::vector<size_t> ends;    // inputs that nothing behind it reads
    };
    struct OfExchange {
        std::vector<std::pair<placing::ValueId, size_t>> inputs;  // what comes, and the number of the input that it is
        size_t handed_on = 0;  // of what leaves: so many exchanges bring what it only hands on
    };
    const std::vector<OfBatch>& batches() const { return batches_; }
    const std::vector<OfExchange>& exchanges() const { return exchanges_; }
    const std::vector<size_t>& untouched() const { return untouched_; }  // outputs that no batch touches

private:
    void find_handed_on(const placing::Step& step);
    void find_expected(const placing::Step& step);

    std::vector<OfBatch> batches_;
    std::vector<OfExchange> exchanges_;
    std::vector<size_t> untouched_;
};

// One run of such a step.
class ExchangingRun : public runtime::BetweenBatches {
public:
    // `report`: null, or what gets a line for each message.
    ExchangingRun(const placing::Step& step, const ExchangeTimes& times, LiveValues& values, Messages& messages,
                  RunReport* report);

    Result<void> begin();
    Result<void> before(size_t batch) override;
    Result<void> behind(size_t batch) override;
    Result<void> end();

    std::span<const std::byte* const> inputs() const { return inputs_; }
    std::vector<TensorData>& outputs() { return outputs_; }

private:
    const placing::Exchange& exchange(size_t number) const { return step_.exchanges[number]; }
    Result<void> make_outputs(const std::vector<size_t>& outputs);
    Result<void> expect(size_t count);
    Result<void> finish(size_t count);
    Result<void> send(size_t count);
    Result<void> reported(const char* what, const placing::Exchange& exchange,
                          const std::function<Result<void>()>& act);

    const placing::Step& step_;
    const ExchangeTimes& times_;
    LiveValues& values_;
    Messages& messages_;
    RunReport* const report_;
    std::vector<const std::byte*> inputs_;
    std::vector<TensorData> outputs_;
    std::vector<bool> is_over_;  // by exchange
    size_t over_ = 0, expected_ = 0, sent_ = 0;
};

}  // namespace heddle::running
