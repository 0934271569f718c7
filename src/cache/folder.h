// A folder that keeps what was computed, by key, for later processes (docs/cache.md). Whatever happens to it, results
// stay the same: what is not there, or not as it was written, is computed again; what cannot be written is not kept.
// Several processes and threads may use one folder at once, and may be killed at any moment.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "support/descriptor.h"
#include "support/diagnostic.h"
#include "support/file.h"

namespace heddle::cache {

// What is kept; also how the names of its files end.
enum class Kind : uint8_t {
    kernel,   // the code of one kernel
    model,    // the digest of a model's file
    program,  // a prepared program: plan and code
    weights,  // memory that programs prepared, by its contents
    machine,  // what was measured of a machine
};
std::string_view name(Kind kind);

// One file, for people.
struct Kept {
    Kind kind = Kind::kernel;
    std::string label;
    int64_t bytes = 0;
    int64_t last_used = 0;  // seconds since 1970
};

inline constexpr int64_t default_limit = 1'000'000'000;

// $XDG_CACHE_HOME/heddle, else $HOME/.cache/heddle; empty where neither is set, or the home is another user's.
std::string default_path();

class Folder {
public:
    // Makes the folder if it is not there. Codes: cache.folder (it cannot be made or opened), cache.not_ours (another
    // user owns it or may write in it: what lies there could be anybody's code).
    static Result<std::shared_ptr<Folder>> open(const std::string& path);

    const std::string& path() const { return path_; }

    // What was stored under this key, at a multiple of 64 bytes and with as many behind. What is damaged is removed,
    // and nothing is found.
    std::optional<MappedFile> find(Kind kind, std::string_view key);
    // Whether something is stored; it is not checked.
    bool has(Kind kind, std::string_view key) const;
    // `label` says to people what it is. What was used least recently goes, where the folder would become too large.
    void store(Kind kind, std::string_view key, std::string_view label, std::span<const std::byte> contents);

    // All files together have at most so many bytes. It is kept in the folder. Code cache.write.
    int64_t limit() const { return limit_; }
    Result<void> set_limit(int64_t bytes);
    // The one used last in front.
    std::vector<Kept> list() const;
    // Removes all that is kept, and what killed processes left; the bytes that were freed.
    int64_t clear();

    // What went wrong since the last call: cache.damaged, once for all files.
    Diagnostics take_notes();

private:
    Folder(std::string path, Descriptor folder);
    struct File;
    std::vector<File> files() const;
    Descriptor write_part(const std::string& part, std::string_view header, std::span<const std::byte> contents) const;
    bool make_room(int64_t bytes);
    int64_t evict(int64_t goal) const;
    int64_t remove_leftovers() const;
    void drop_damaged(const std::string& file);

    const std::string path_;
    const Descriptor folder_, parts_;  // parts: files that are being written. Not open: nothing can be
    std::atomic<int64_t> limit_ = default_limit;
    std::mutex mutex_;
    int64_t damaged_ = 0;
    std::string first_damaged_;
};

// The folder of this path, or the user's if it is empty. Null where it cannot be used: `notes` says why, but of a
// user's folder that cannot be made.
std::shared_ptr<Folder> open_folder(const std::string& path, Diagnostics& notes);

}  // namespace heddle::cache
