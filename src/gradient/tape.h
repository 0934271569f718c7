// What a program hands on from its forward to its reverse pass, known before there is any code.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "graph/graph.h"

namespace heddle::gradient {

// A tensor that the forward pass keeps. It is addressed by the index points of its operation, however either pass is
// cut into tasks.
struct TapeEntry {
    std::string name;  // of the tensor in the forward graph
    TensorType type;
    int64_t offset = 0;  // bytes from the beginning of the tape, a multiple of tape_alignment
    int64_t bytes = 0;
    std::string reason;  // who asks for it
};

struct TapeLayout {
    std::vector<TapeEntry> entries;
    int64_t bytes = 0;  // of all, with what alignment adds

    // The bytes of the entries as an expression of the sizes with names: "16 * cells + 4".
    std::string bytes_text() const;
};

inline constexpr int64_t tape_alignment = 64;

// A value that could be kept.
struct TapeCandidate {
    std::string name;
    const TensorType* type = nullptr;
    int64_t operations = 0;  // about what it takes to work it out again, its inputs given
};

struct TapePolicy {
    enum class Kind {
        balanced,       // what takes more to work out again than to write and read
        save_all,       // whatever adjoints ask for
        recompute_all,  // nothing but inputs that are overwritten
        fewest_bytes,   // the minimum cut: the fewest bytes of all
        budget,         // at most `bytes`, and within these the least work again (budget_cut.h)
        chosen,         // what `keeps` says of a value; of the others the minimum cut
    };
    Kind kind = Kind::balanced;
    int64_t bytes = 0;
    std::function<bool(const TapeCandidate&)> keeps;
    // Every so many-th state of a scan may be kept, and what lies between is worked out again, segment by segment
    // (checkpoints.h); 0: about the square root of the steps. Without it the reverse pass runs a scan again that it
    // needs and holds all its states, but where these are more than `bytes` under `budget`, and under `balanced` more
    // than 1 MiB, in 32 steps or more: there it is 0.
    std::optional<int64_t> every = std::nullopt;
};

}  // namespace heddle::gradient
