#include "support/memory_source.h"

#include <utility>

namespace heddle {
namespace {

std::shared_ptr<MemorySource>& current() noexcept {
    static thread_local std::shared_ptr<MemorySource> source;
    return source;
}

}  // namespace

MemorySourceScope::MemorySourceScope(std::shared_ptr<MemorySource> source) noexcept
    : before_(std::exchange(current(), std::move(source))) {}

MemorySourceScope::~MemorySourceScope() { current() = std::move(before_); }

const std::shared_ptr<MemorySource>& memory_source() noexcept { return current(); }

}  // namespace heddle
