// The edge of a room that only a mistake of ours can break through.
#pragma once

#include <exception>
#include <new>
#include <type_traits>

#include "support/diagnostic.h"

namespace heddle {

// What `work` gives, which is a Result; an exception as an error of this code. Memory that the system has not is no
// mistake of ours: std::bad_alloc passes.
template <typename Work>
std::invoke_result_t<Work> guarded(const char* code, Work work) {
    try {
        return work();
    } catch (const std::bad_alloc&) {
        throw;
    } catch (const std::exception& problem) {
        return fail({.code = code,
                     .summary = "the compiler lost its way",
                     .found = problem.what(),
                     .reason = "this is a mistake of the compiler, not of the model"});
    }
}

}  // namespace heddle
