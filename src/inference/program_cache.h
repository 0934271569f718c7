// Programs compiled when tensors of new shapes come, and kept. A graph's shapes are numbers, and it may hold for some
// values of its inputs alone (graph.h: decided inputs); so what a caller sees as one program is several.
#pragma once

#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "inference/engine.h"
#include "inference/kept_program.h"
#include "inference/value.h"

namespace heddle::inference {

// A graph for given tensors, one an input. It may be decided by values of inputs, but keeps no borrowed memory of them.
// `progress` may be null.
using Specialise = std::function<Result<Graph>(const std::vector<TensorData>& inputs, Progress* progress)>;

// Whether their elements have the same bytes; of tensors of one type.
bool same_value(const TensorData& a, const TensorData& b);

// Of what programs keep beside the one that ran last.
inline constexpr int64_t default_program_bytes = 512'000'000;

class ProgramCache {
public:
    // Programs used least recently go where the others keep more than `limit` bytes that the one used last does not
    // share with them: code, packed weights, plans. On disk, where the engine has a folder, those of `source` with a
    // key are kept as well; it says all that `specialise` follows from but `key` and `inputs`.
    // `donations`: of each of its programs.
    ProgramCache(std::shared_ptr<Engine> engine, ProgramSource source = {}, int64_t limit = default_program_bytes,
                 std::vector<plan::Donation> donations = {})
        : engine_(std::move(engine)), source_(std::move(source)), limit_(limit), donations_(std::move(donations)) {}

    ProgramCache(const ProgramCache&) = delete;
    ProgramCache& operator=(const ProgramCache&) = delete;

    // Results for inputs that are only read while this runs, but for donated ones, which become results. `key` tells apart what `specialise` makes of the same
    // inputs.
    // Threads may call at once: one waits for the other. `progress` is told if a program is made, and can end that; the
    // programs that are there stay, and the next call makes it anew. `profile` gets the time of each launch. Codes:
    // those of `specialise`, of compiling, of Session::run; support.cancelled.
    Result<std::vector<TensorData>> run(const std::string& key, const std::vector<TensorData>& inputs,
                                        const Specialise& specialise, Progress* progress = nullptr,
                                        std::vector<runtime::LaunchTime>* profile = nullptr);

    // The same of values. With `grow`, results that may do so grow in the memory of inputs which were results before
    // (growing_run.h). Code onnx.step: an input is a list.
    Result<std::vector<Value>> run(const std::vector<Value>& inputs, bool grow, const Specialise& specialise,
                                   Progress* progress = nullptr, std::vector<runtime::LaunchTime>* profile = nullptr);

    // A part of a program (staged_model.h). Its graph follows from the numbers of `names`, too, which it holds as sizes;
    // a program for others is made for these where it can be. Such programs are not kept on disk.
    struct Part {
        std::string key;
        std::map<std::string, int64_t> names;
        bool grow = false;  // as above
    };
    struct Results {
        std::vector<Value> values;  // of a part with the sizes' origins, where they have some
        int64_t tag = 0;            // of the graph that gave them
        double operations = 0;      // scalar ones, of the sizes that the program was made for
    };
    // Inputs are tensors. They are only read.
    Result<Results> run(const Part& part, std::span<const Value* const> inputs, const Specialise& specialise,
                        Progress* progress = nullptr, std::vector<runtime::LaunchTime>* profile = nullptr);

    WorkLimit limit_of_work() const;        // of the engine
    size_t compiled() const { return compiled_; }  // programs so far
    runtime::KernelCounts kernels() const;          // of all programs that are there
    // What all programs that are there keep, what they share once.
    runtime::MemoryInUse memory() const;
    void set_limit(int64_t limit);
    // The engine's; programs that are there go. Null: they run here. `states`: inputs and the outputs that they are the next
    // time, beside those of donations (places.h).
    void use_places(std::shared_ptr<Places> places, std::vector<plan::Donation> states = {});
    bool has_places() const { return engine_->places != nullptr; }
    // What plans made since the last call have to say (plan.h), and the folder of the cache.
    Diagnostics take_notes();

private:
    struct Entry {
        std::string key;
        std::vector<TensorType> types;
        std::map<int32_t, TensorData> decided;  // as in plan.h
        bool grows = false;                     // where it can
        std::unique_ptr<runtime::Session> session;
        double operations = 0;  // of the graph
    };
    struct Wanted;  // what is run
    // The entry for the sizes that it had last, where it is for this: a loop asks for it again and again.
    Entry* repeated(const Part& part, std::span<const Value* const> inputs);
    static Result<Results> run_again(Entry& entry, std::span<const Value* const> inputs, Progress* progress);
    static bool fits(const Entry& entry, const Wanted& wanted);
    static bool has_types_and_values(const Entry& entry, const Wanted& wanted);
    // An entry that is one for these inputs now; the end: none can be.
    std::list<Entry>::iterator resized(const Wanted& wanted);
    plan::PlanOptions options(const Wanted& wanted, Progress* progress) const;
    Result<std::shared_ptr<const runtime::Executable>> compiled(const std::vector<TensorData>& inputs,
                                                                const Specialise& specialise, const plan::PlanOptions& options,
                                                                double& operations);
    Result<Entry> make(const Wanted& wanted, const Specialise& specialise, Progress* progress);
    Result<Results> run(const Wanted& wanted, const Specialise& specialise, Progress* progress,
                        std::vector<runtime::LaunchTime>* profile);  // locked
    bool lock(std::unique_lock<std::timed_mutex>& lock, Progress* progress) const;

    Result<Results> run_on_places(const Wanted& wanted, const Specialise& specialise, Progress* progress);
    static Result<Results> run_in(runtime::Session& session, const Wanted& wanted, Progress* progress);
    void make_room();

    std::shared_ptr<Engine> engine_;
    ProgramSource source_;
    int64_t limit_;
    std::vector<plan::Donation> donations_;
    std::list<Entry> entries_;  // the one used last in front
    // Where the engine has places: programs for exactly these types and values, the one used last in front.
    struct Placed {
        std::string key;
        std::vector<TensorData> inputs;  // of which only decided ones have memory
        std::map<std::string, int64_t> names;
        std::shared_ptr<PlacedProgram> program;
        int64_t tag = 0;
        double operations = 0;
    };
    std::list<Placed> placed_;
    std::vector<plan::Donation> states_;
    size_t compiled_ = 0;
    Diagnostics notes_;
};

}  // namespace heddle::inference
