// Words of the tree's text form.
#pragma once

#include "schedules/tree.h"

namespace heddle::schedules::tree_names {

inline const char* memory_kind(Memory::Kind kind) {
    static constexpr const char* names[] = {"input", "output", "in_out", "array"};
    return names[static_cast<size_t>(kind)];
}
inline const char* access(Access access) {
    static constexpr const char* names[] = {"uniform", "contiguous",  "packed",     "interleaved", "strided",
                                            "indexed", "consecutive", "compressed", "transposed"};
    return names[static_cast<size_t>(access)];
}
inline const char* mask(Lanes::Mask mask) {
    static constexpr const char* names[] = {"edge", "tail", "last", "shifted", "always"};
    return names[static_cast<size_t>(mask)];
}

inline const char* rows_mode(Rows::Mode mode) {
    static constexpr const char* names[] = {"balanced", "transpose"};
    return names[static_cast<size_t>(mode)];
}

}  // namespace heddle::schedules::tree_names
