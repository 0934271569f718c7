// Models over several places: threads of this process, or processes of a cluster (docs/machines.md). Since 1.2.
#ifndef HEDDLE_MACHINES_H
#define HEDDLE_MACHINES_H

#include <memory>
#include <string>
#include <vector>

#include "heddle/heddle.h"

namespace heddle {
inline namespace v1 {

// The processes that run a program together. Each makes the same models, and runs them with the same inputs, in the same
// order; each gets all outputs.
class Machines {
public:
    // Those that mpirun or srun has started. `library`: a plug-in's file of MPI; empty: the launcher's own. MPI starts once in
    // a process.
    static Result<Machines> mpi(double timeout_seconds = 60, const std::string& library = {}) {
        heddle_machines_options options = {};
        options.size = sizeof options;
        options.library = library.empty() ? nullptr : library.c_str();
        options.timeout = timeout_seconds;
        return detail::make<Machines>(static_cast<heddle_machines*>(nullptr), heddle_machines_connect, &options);
    }
    // Those of a file with an address a line; this one is line `rank`.
    static Result<Machines> hosts(const std::string& file, int rank, double timeout_seconds = 60) {
        heddle_machines_options options = {};
        options.size = sizeof options;
        options.hosts = file.c_str();
        options.rank = rank;
        options.timeout = timeout_seconds;
        return detail::make<Machines>(static_cast<heddle_machines*>(nullptr), heddle_machines_connect, &options);
    }
    explicit Machines(heddle_machines* handle) : handle_(handle, heddle_machines_release) {}

    int rank() const { return heddle_machines_rank(get()); }
    int size() const { return heddle_machines_size(get()); }
    // Tells the others that this process cannot go on, and why.
    void fail(const std::string& why) const { heddle_machines_fail(get(), why.c_str()); }
    heddle_machines* get() const { return handle_.get(); }

private:
    std::shared_ptr<heddle_machines> handle_;
};

// From now on Model::run cuts models of the runtime over places: threads of this process, or `machines`. `cuts`: "batch=2",
// "4"; what they do not say is chosen by cost.
inline Result<Done> shard(const Runtime& runtime, const std::vector<std::string>& cuts,
                          const Machines* machines = nullptr) {
    std::vector<const char*> texts;
    for (const std::string& cut : cuts) texts.push_back(cut.c_str());
    return detail::call(heddle_runtime_shard, runtime.get(), texts.data(), texts.size(),
                        machines ? machines->get() : nullptr);
}

}  // namespace v1
}  // namespace heddle

#endif  // HEDDLE_MACHINES_H
