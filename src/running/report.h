// What a run did.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "transport/transport.h"

namespace heddle::running {

struct RunReport {
    struct Line {
        std::string what;  // "launch main@gpu0", "copy x to gpu0", "compute main"
        double seconds = 0;
        int64_t bytes = 0;  // of a copy or a message
    };
    std::vector<Line> lines;
    int64_t launches = 0;         // of functions on other devices than the host
    int64_t kernel_launches = 0;  // by the plans of all functions that ran
    int64_t copies = 0, copied_bytes = 0;
    std::vector<transport::Sent> sent;  // by process, to it; empty: there is one
};

}  // namespace heddle::running
