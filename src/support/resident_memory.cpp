#include "support/resident_memory.h"

#include <fstream>
#include <sstream>
#include <string>

namespace heddle {
namespace {

int64_t status_bytes(const std::string& name) {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);) {
        if (!line.starts_with(name + ":")) continue;
        std::istringstream text(line.substr(name.size() + 1));
        int64_t kilobytes = 0;
        text >> kilobytes;
        return kilobytes * 1024;
    }
    return 0;
}

}  // namespace

int64_t resident_bytes() { return status_bytes("VmRSS"); }

int64_t peak_resident_bytes() { return status_bytes("VmHWM"); }

}  // namespace heddle
