// What makes two applications equal: template, types with origins, values of opened inputs, parameters, wanted outputs.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "symbolic/session_state.h"

namespace heddle {

// Equal keys, equal applications. Bytes, not text. Replaces what `key` holds.
void write_application_key(const Session::State& session, const Template& metakernel, const BoundArguments& arguments,
                           const std::map<std::string, StaticValue>& parameters, const std::vector<bool>& requested,
                           std::string& key);

}  // namespace heddle
