#include "plan/plan.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace heddle::plan {
namespace {

bool only_layout(const Batch& batch) {
    return std::all_of(batch.begin(), batch.end(), [](const Launch& l) { return l.layout; });
}

std::unexpected<Diagnostics> broken(std::string what, std::string found) {
    return fail({.code = "plan.broken",
                 .summary = std::move(what),
                 .found = std::move(found),
                 .reason = "this is a mistake of the compiler, not of the model"});
}

bool writes(const Plan& plan, const Launch& launch, size_t position) {
    const auto& tree = *plan.trees[static_cast<size_t>(launch.tree)];
    return tree.memories[position].kind != schedules::Memory::Kind::input;
}

Result<void> verify_launch(const Plan& plan, const Launch& launch) {
    if (launch.tree < 0 || launch.tree >= static_cast<int32_t>(plan.trees.size()))
        return broken("a launch has no tree", launch.name);
    const auto& tree = *plan.trees[static_cast<size_t>(launch.tree)];
    if (tree.buffers() != launch.buffers.size()) return broken("a launch's buffers do not fit its tree", launch.name);
    if (tree.numbers.size() != launch.numbers.size())
        return broken("a launch's numbers do not fit its tree", launch.name);
    for (size_t i = 0; i < launch.buffers.size(); i++) {
        if (launch.buffers[i] < 0 || launch.buffers[i] >= static_cast<int32_t>(plan.buffers.size())) {
            return broken("a launch uses a buffer that is not there", launch.name);
        }
        auto kind = plan.buffers[static_cast<size_t>(launch.buffers[i])].kind;
        bool read_only = kind == Buffer::Kind::input || kind == Buffer::Kind::constant;
        if (read_only && writes(plan, launch, i)) return broken("a launch writes what is read-only", launch.name);
    }
    return {};
}

bool reads(const Plan& plan, const Launch& launch, int32_t buffer) {
    const auto& tree = *plan.trees[static_cast<size_t>(launch.tree)];
    for (size_t i = 0; i < launch.buffers.size(); i++) {
        if (launch.buffers[i] == buffer && tree.memories[i].kind != schedules::Memory::Kind::output) return true;
    }
    return false;
}

// No launch of a batch reads what another of it writes. Several may write one buffer: pieces of one tensor are disjoint.
Result<void> verify_apart(const Plan& plan, const Batch& batch) {
    for (const Launch& writer : batch) {
        for (size_t i = 0; i < writer.buffers.size(); i++) {
            if (!writes(plan, writer, i)) continue;
            for (const Launch& other : batch) {
                if (&other != &writer && reads(plan, other, writer.buffers[i]))
                    return broken("launches of one batch depend on each other", writer.name + " and " + other.name);
            }
        }
    }
    return {};
}

// Reads come after writes, and launches of one batch leave each other's results alone.
Result<void> verify_order(const Plan& plan, const std::vector<Batch>& phase, std::set<int32_t>& written) {
    for (const Batch& batch : phase) {
        std::set<int32_t> here;
        for (const Launch& launch : batch) {
            if (auto fine = verify_launch(plan, launch); !fine) return fine;
            for (size_t i = 0; i < launch.buffers.size(); i++) {
                if (writes(plan, launch, i)) here.insert(launch.buffers[i]);
            }
        }
        for (const Launch& launch : batch) {
            for (size_t i = 0; i < launch.buffers.size(); i++) {
                int32_t b = launch.buffers[i];
                const Buffer& buffer = plan.buffers[static_cast<size_t>(b)];
                bool given = buffer.kind == Buffer::Kind::input || buffer.kind == Buffer::Kind::constant;
                if (!writes(plan, launch, i) && !given && !written.contains(b)) {
                    return broken("a launch reads what nothing has written", launch.name + " reads " + buffer.name);
                }
            }
        }
        if (auto apart = verify_apart(plan, batch); !apart) return apart;
        written.merge(here);
    }
    return {};
}

bool of_session(const Buffer& buffer) {
    return buffer.first >= 0 && (buffer.kind == Buffer::Kind::workspace || buffer.kind == Buffer::Kind::margins);
}

// A buffer of the session lives in every batch that uses it.
Result<void> verify_lifetimes(const Plan& plan) {
    for (size_t b = 0; b < plan.run.size(); b++) {
        for (const Launch& launch : plan.run[b]) {
            for (int32_t index : launch.buffers) {
                const Buffer& buffer = plan.buffers[static_cast<size_t>(index)];
                bool of_session = buffer.kind == Buffer::Kind::workspace || buffer.kind == Buffer::Kind::margins;
                bool lives = buffer.first >= 0 && buffer.first <= static_cast<int32_t>(b) &&
                             static_cast<int32_t>(b) <= buffer.last;
                if (of_session && !lives)
                    return broken("a launch uses a buffer outside of its lifetime",
                                  launch.name + " uses " + buffer.name);
            }
        }
    }
    return {};
}

bool overlap(const Buffer& a, const Buffer& b) {
    return a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes;
}

// Buffer i lies inside of its memory, and apart from those behind it in the table that live when it does.
Result<void> verify_place(const Plan& plan, size_t i) {
    const Buffer& a = plan.buffers[i];
    bool prepared = a.kind == Buffer::Kind::prepared;
    if (!prepared && !of_session(a)) return {};
    if (a.offset < 0 || a.offset + a.bytes > (prepared ? plan.prepared_bytes : plan.workspace_bytes)) {
        return broken(
            prepared ? "a buffer lies outside of the prepared memory" : "a buffer lies outside of the workspace",
            a.name);
    }
    for (size_t j = i + 1; j < plan.buffers.size(); j++) {
        const Buffer& b = plan.buffers[j];
        if (prepared != (b.kind == Buffer::Kind::prepared) || (!prepared && !of_session(b)) || !overlap(a, b)) continue;
        bool both_live = prepared || (a.first <= b.last && b.first <= a.last);
        // A border stays for good: only an equal buffer with margins may ever come to lie in it.
        bool border = (a.kind == Buffer::Kind::margins || b.kind == Buffer::Kind::margins) &&
                      (a.kind != b.kind || a.offset != b.offset || a.storage != b.storage || a.filling != b.filling);
        if (both_live || border) return broken("two live buffers share bytes", a.name + " and " + b.name);
    }
    return {};
}

}  // namespace

int64_t Plan::launches() const {
    return std::count_if(run.begin(), run.end(), [](const Batch& batch) { return !only_layout(batch); });
}

int64_t Plan::layout_launches() const { return std::count_if(run.begin(), run.end(), only_layout); }

int64_t Plan::most_live_bytes() const {
    int64_t most = 0;
    for (int32_t b = 0; b < static_cast<int32_t>(run.size()); b++) {
        int64_t live = 0;
        for (const Buffer& buffer : buffers) {
            if (of_session(buffer) && buffer.first <= b && b <= buffer.last) live += buffer.bytes;
        }
        most = std::max(most, live);
    }
    return most;
}

Result<void> verify(const Plan& plan) {
    std::set<int32_t> written;
    if (auto fine = verify_order(plan, plan.prepare, written); !fine) return fine;
    if (auto fine = verify_order(plan, plan.run, written); !fine) return fine;
    if (auto fine = verify_lifetimes(plan); !fine) return fine;
    for (size_t i = 0; i < plan.buffers.size(); i++) {
        if (auto fine = verify_place(plan, i); !fine) return fine;
    }
    return {};
}

std::string print(const Plan& plan) {
    std::string text = fmt::format(
        "plan: {} launches, {} layout launches, {} kernels, workspace {} bytes (most live {}), prepared {} bytes\n",
        plan.launches(), plan.layout_launches(), plan.trees.size(), plan.workspace_bytes, plan.most_live_bytes(),
        plan.prepared_bytes);
    constexpr const char* kinds[] = {"input", "output", "constant", "prepared", "workspace", "margins"};
    for (size_t i = 0; i < plan.buffers.size(); i++) {
        const Buffer& b = plan.buffers[i];
        std::string shape;
        for (const Size& size : b.sizes) shape += (shape.empty() ? "" : ", ") + size.text();
        text += fmt::format("  buffer {} {} {} {}[{}] {} bytes at {} batches {}..{} map {}\n", i, b.name,
                            kinds[static_cast<size_t>(b.kind)], name(b.dtype), shape, b.bytes, b.offset, b.first,
                            b.last, b.packed.empty() ? b.storage.text() : b.packed);
    }
    auto phase = [&](const char* title, const std::vector<Batch>& batches) {
        for (size_t b = 0; b < batches.size(); b++) {
            for (const Launch& launch : batches[b]) {
                text += fmt::format("  {} {}: {}{} kernel {} tasks {} buffers {} numbers {}\n", title, b, launch.name,
                                    launch.layout ? " (layout)" : "",
                                    plan.keys[static_cast<size_t>(launch.tree)].substr(0, 8), launch.tasks,
                                    fmt::join(launch.buffers, " "), fmt::join(launch.numbers, " "));
            }
        }
    };
    phase("prepare", plan.prepare);
    phase("run", plan.run);
    return text;
}

}  // namespace heddle::plan
