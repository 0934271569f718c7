// An open file of the system, closed at the end of its scope.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include <unistd.h>

struct stat;

namespace heddle {

class Descriptor {
public:
    Descriptor() = default;
    explicit Descriptor(int number) : number_(number) {}
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
    Descriptor& operator=(Descriptor&& other) noexcept {
        std::swap(number_, other.number_);
        return *this;
    }
    ~Descriptor() {
        if (number_ >= 0) ::close(number_);
    }
    bool open() const { return number_ >= 0; }
    int number() const { return number_; }
    // Errors of earlier writes may show only here.
    bool close() { return ::close(std::exchange(number_, -1)) == 0; }

private:
    int number_ = -1;
};

// What tells a file from any other, and from itself once it has changed: device, number, size and times.
std::string stamp_of(const struct stat& status);

// Whether all of the bytes were written; else `errno` says why not.
bool write_all(const Descriptor& file, const void* bytes, size_t count);

// The file's first `size` bytes, read-only, as long as someone keeps the pointer; all read at once if `now`. Null:
// `errno` says why not.
std::shared_ptr<const void> map_read_only(const Descriptor& file, size_t size, bool now);

// Of bytes of a mapped file, which `owner` keeps: the whole pages among them need not stay in memory. They are read
// from the file again if anybody looks at them. Bytes of any other owner stay as they are.
void give_back_pages(const std::shared_ptr<const void>& owner, std::span<const std::byte> bytes);

}  // namespace heddle
