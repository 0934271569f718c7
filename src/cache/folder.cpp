#include "cache/folder.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <thread>
#include <tuple>

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "cache/entry.h"

namespace heddle::cache {
namespace {

constexpr std::array<std::string_view, 5> kind_names = {"kernel", "model", "program", "weights", "machine"};
constexpr const char* parts_name = "parts";
constexpr const char* total_name = "total";  // the bytes of all files, or more; locked by who changes it
constexpr const char* limit_name = "limit";

// "DIGEST.KIND"
std::string file_name(Kind kind, std::string_view key) {
    return fmt::format("{}.{}", digest(fmt::format("{} {}", name(kind), key)), name(kind));
}

std::optional<Kind> kind_of(std::string_view file) {
    if (file.size() <= name_bytes || file[name_bytes] != '.') return std::nullopt;
    const auto found = std::ranges::find(kind_names, file.substr(name_bytes + 1));
    if (found == kind_names.end()) return std::nullopt;
    return static_cast<Kind>(found - kind_names.begin());
}

std::unexpected<Diagnostics> problem(const char* code, std::string summary, const std::string& path, int error) {
    return fail({.code = code,
                 .summary = std::move(summary),
                 .reason = error != 0 ? std::strerror(error) : "",
                 .params = {{"path", path}}});
}

// Never through a link, never waiting for who writes a pipe.
Descriptor open_at(const Descriptor& folder, const char* name, int flags) {
    return Descriptor(::openat(folder.number(), name, flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600));
}

Descriptor open_parts(const Descriptor& folder) {
    ::mkdirat(folder.number(), parts_name, 0700);
    return open_at(folder, parts_name, O_RDONLY | O_DIRECTORY);
}

// A number as decimal digits and a new line; nothing if there is none.
std::optional<int64_t> read_number(const Descriptor& file) {
    char text[32];
    const ssize_t count = ::pread(file.number(), text, sizeof text, 0);
    int64_t number = 0;
    if (count <= 0) return std::nullopt;
    const auto [end, error] = std::from_chars(text, text + count, number);
    if (error != std::errc() || end == text + count || *end != '\n' || number < 0) return std::nullopt;
    return number;
}

// Always as many digits, so that a new number takes the place of an old one.
bool write_number(const Descriptor& file, int64_t number) {
    const std::string text = fmt::format("{:020}\n", number);
    return ::pwrite(file.number(), text.data(), text.size(), 0) == static_cast<ssize_t>(text.size());
}

// Waits for others, who have the lock for some milliseconds at most; not for one that is stopped.
bool lock(const Descriptor& file) {
    using namespace std::chrono_literals;
    for (int tries = 0; tries < 300; tries++) {
        if (::flock(file.number(), LOCK_EX | LOCK_NB) == 0) return true;
        std::this_thread::sleep_for(1ms);
    }
    return false;
}

// The names in a folder.
std::vector<std::string> names_in(const Descriptor& folder) {
    std::vector<std::string> names;
    const int again = ::openat(folder.number(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR* listed = again < 0 ? nullptr : ::fdopendir(again);
    if (!listed) return names;
    while (const dirent* entry = ::readdir(listed)) names.emplace_back(entry->d_name);
    ::closedir(listed);
    return names;
}

// A write beyond the process's limit would end it.
bool may_write(int64_t bytes) {
    rlimit limit = {};
    return ::getrlimit(RLIMIT_FSIZE, &limit) == 0 && static_cast<uint64_t>(bytes) <= limit.rlim_cur;
}

}  // namespace

std::string_view name(Kind kind) { return kind_names[static_cast<size_t>(kind)]; }

std::string default_path() {
    // A relative path is to be ignored, says the XDG specification.
    if (const char* folder = std::getenv("XDG_CACHE_HOME"); folder && *folder == '/')
        return std::string(folder) + "/heddle";
    const char* home = std::getenv("HOME");
    struct stat status = {};
    // Root with the home of another leaves nothing there that its owner could not change.
    if (!home || *home != '/' || ::stat(home, &status) != 0 || status.st_uid != ::geteuid()) return {};
    return std::string(home) + "/.cache/heddle";
}

Folder::Folder(std::string path, Descriptor folder)
    : path_(std::move(path)), folder_(std::move(folder)), parts_(open_parts(folder_)) {
    if (auto file = open_at(folder_, limit_name, O_RDONLY); file.open())
        limit_ = read_number(file).value_or(default_limit);
    remove_leftovers();
}

Result<std::shared_ptr<Folder>> Folder::open(const std::string& path) {
    if (path.empty()) {
        auto error = problem("cache.folder", "there is no place for a cache", path, 0);
        error.error().front().reason = "neither XDG_CACHE_HOME nor a HOME of this user is set";
        error.error().front().remedy = "name a folder by --cache-dir";
        return error;
    }
    std::error_code ignored;
    std::filesystem::create_directories(std::filesystem::path(path).parent_path(), ignored);
    ::mkdir(path.c_str(), 0700);
    Descriptor folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    struct stat status = {};
    if (!folder.open() || ::fstat(folder.number(), &status) != 0)
        return problem("cache.folder", fmt::format("the cache '{}' cannot be used", path), path, errno);
    if (status.st_uid != ::geteuid() || (status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
        auto error = problem("cache.not_ours", fmt::format("the cache '{}' is not used", path), path, 0);
        error.error().front().reason = "another user owns it, or may write in it: what lies there would be run as code";
        error.error().front().remedy = "name a folder of your own by --cache-dir, or 'chmod go-w' this one";
        return error;
    }
    return std::shared_ptr<Folder>(new Folder(path, std::move(folder)));
}

std::shared_ptr<Folder> open_folder(const std::string& path, Diagnostics& notes) {
    const std::string chosen = path.empty() ? default_path() : path;
    if (chosen.empty()) return nullptr;
    auto folder = Folder::open(chosen);
    if (folder) return *folder;
    const bool asked_for = !path.empty() || folder.error().front().code != "cache.folder";
    if (asked_for) notes.insert(notes.end(), folder.error().begin(), folder.error().end());
    return nullptr;
}

// ---- reading

std::optional<MappedFile> Folder::find(Kind kind, std::string_view key) {
    const std::string file = file_name(kind, key);
    Descriptor descriptor = open_at(folder_, file.c_str(), O_RDONLY);
    if (!descriptor.open() && errno != ELOOP) return std::nullopt;
    struct stat status = {};
    const bool plausible = descriptor.open() && ::fstat(descriptor.number(), &status) == 0 && S_ISREG(status.st_mode) &&
                           status.st_uid == ::geteuid() && status.st_size > 0 &&
                           status.st_size <= std::max(limit_.load(), default_limit);
    if (!plausible) return drop_damaged(file), std::nullopt;
    const auto size = static_cast<size_t>(status.st_size);
    auto memory = map_read_only(descriptor, size, true);
    if (!memory) return std::nullopt;
    const auto entry = read_entry({static_cast<const std::byte*>(memory.get()), size});
    if (!entry || entry->name != std::string_view(file).substr(0, name_bytes)) return drop_damaged(file), std::nullopt;
    if (std::time(nullptr) - status.st_mtime > 60) ::futimens(descriptor.number(), nullptr);  // used now
    return MappedFile{std::move(memory), entry->contents};
}

bool Folder::has(Kind kind, std::string_view key) const {
    struct stat status = {};
    return ::fstatat(folder_.number(), file_name(kind, key).c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0;
}

void Folder::drop_damaged(const std::string& file) {
    ::unlinkat(folder_.number(), file.c_str(), 0);
    std::lock_guard guard(mutex_);
    if (damaged_++ == 0) first_damaged_ = file;
}

Diagnostics Folder::take_notes() {
    std::lock_guard guard(mutex_);
    const int64_t damaged = std::exchange(damaged_, 0);
    if (damaged == 0) return {};
    const std::string file = damaged == 1 ? "a file" : fmt::format("{} files", damaged);
    return {{.code = "cache.damaged",
             .summary = fmt::format("{} of the cache '{}' ({}{}) {} damaged: made again", file, path_, first_damaged_,
                                    damaged == 1 ? "" : " first", damaged == 1 ? "was" : "were"),
             .params = {{"path", path_}, {"file", first_damaged_}}}};
}

// ---- writing

// A file of `parts`, locked while it is written, so that who cleans up can tell it from what a killed process left.
Descriptor Folder::write_part(const std::string& part, std::string_view header,
                              std::span<const std::byte> contents) const {
    constexpr std::array<std::byte, trailing_zeros> zeros = {};
    Descriptor file = open_at(parts_, part.c_str(), O_WRONLY | O_CREAT | O_EXCL);
    if (!file.open()) return {};
    const bool written =
        ::flock(file.number(), LOCK_EX | LOCK_NB) == 0 && write_all(file, header.data(), header.size()) &&
        write_all(file, contents.data(), contents.size()) && write_all(file, zeros.data(), zeros.size());
    if (written) return file;
    ::unlinkat(parts_.number(), part.c_str(), 0);
    return {};
}

void Folder::store(Kind kind, std::string_view key, std::string_view label, std::span<const std::byte> contents) {
    static std::atomic<unsigned> counter{0};
    if (!parts_.open()) return;
    const std::string file = file_name(kind, key);
    const std::string begin = header(std::string_view(file).substr(0, name_bytes), label, contents);
    const auto bytes = static_cast<int64_t>(begin.size() + contents.size() + trailing_zeros);
    if (bytes > limit_ || !may_write(bytes)) return;
    const auto now = std::chrono::system_clock::now().time_since_epoch().count();
    const std::string part = fmt::format("{}.{}.{}", ::getpid(), counter++, now);
    const Descriptor written = write_part(part, begin, contents);
    if (!written.open()) return;
    // The total first: who is killed between the two leaves it too large, never too small.
    if (!make_room(bytes) || ::renameat(parts_.number(), part.c_str(), folder_.number(), file.c_str()) != 0)
        ::unlinkat(parts_.number(), part.c_str(), 0);
}

struct Folder::File {
    std::string name;
    int64_t bytes = 0;
    timespec used = {};
};

// Those used longest ago in front.
std::vector<Folder::File> Folder::files() const {
    std::vector<File> files;
    for (std::string& name : names_in(folder_)) {
        struct stat status = {};
        if (!kind_of(name) || ::fstatat(folder_.number(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) continue;
        if (S_ISREG(status.st_mode)) files.push_back({std::move(name), status.st_size, status.st_mtim});
    }
    std::ranges::sort(files, {}, [](const File& file) {
        return std::tuple(file.used.tv_sec, file.used.tv_nsec, std::string_view(file.name));
    });
    return files;
}

// Removes what was used longest ago until all files together have at most `goal` bytes; how many they have then.
int64_t Folder::evict(int64_t goal) const {
    remove_leftovers();
    const std::vector<File> all = files();
    int64_t total = 0;
    for (const File& file : all) total += file.bytes;
    for (const File& file : all) {
        if (total <= goal) break;
        if (::unlinkat(folder_.number(), file.name.c_str(), 0) == 0) total -= file.bytes;
    }
    return total;
}

// Whether so many bytes may be added; they are counted already then.
bool Folder::make_room(int64_t bytes) {
    const Descriptor file = open_at(folder_, total_name, O_RDWR | O_CREAT);
    if (!file.open() || !lock(file)) return false;
    auto total = read_number(file);
    // Where it is too full, more than is needed goes, so that this is not done each time.
    if (!total || *total + bytes > limit_) total = evict(std::min(limit_ / 4 * 3, limit_ - bytes));
    return *total + bytes <= limit_ && write_number(file, *total + bytes);
}

int64_t Folder::remove_leftovers() const {
    if (!parts_.open()) return 0;
    int64_t bytes = 0;
    for (const std::string& part : names_in(parts_)) {
        struct stat status = {};
        Descriptor file = open_at(parts_, part.c_str(), O_RDONLY);
        if (::fstatat(parts_.number(), part.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) continue;
        // A lock ends with the process that has it.
        if (file.open() && S_ISREG(status.st_mode) && ::flock(file.number(), LOCK_EX | LOCK_NB) != 0) continue;
        if (::unlinkat(parts_.number(), part.c_str(), 0) == 0) bytes += status.st_size;
    }
    return bytes;
}

// ---- for people

Result<void> Folder::set_limit(int64_t bytes) {
    limit_ = bytes;
    const Descriptor file = open_at(folder_, limit_name, O_WRONLY | O_CREAT);
    if (!file.open() || !write_number(file, bytes))
        return problem("cache.write", fmt::format("the cache '{}' cannot be changed", path_), path_, errno);
    make_room(0);
    return {};
}

std::vector<Kept> Folder::list() const {
    std::vector<Kept> result;
    std::vector<std::byte> begin(longest_header);
    for (const File& file : files()) {
        Kept kept{*kind_of(file.name), {}, file.bytes, file.used.tv_sec};
        const Descriptor descriptor = open_at(folder_, file.name.c_str(), O_RDONLY);
        const ssize_t count = ::pread(descriptor.number(), begin.data(), begin.size(), 0);
        const auto read = std::span(begin).first(static_cast<size_t>(std::max<ssize_t>(count, 0)));
        const auto entry = read_header(read, static_cast<uint64_t>(file.bytes));
        kept.label = entry ? entry->label : "(damaged)";
        result.push_back(std::move(kept));
    }
    std::ranges::reverse(result);
    return result;
}

int64_t Folder::clear() {
    const Descriptor file = open_at(folder_, total_name, O_RDWR | O_CREAT);
    const bool locked = file.open() && lock(file);
    int64_t before = remove_leftovers();
    for (const File& kept : files()) before += kept.bytes;
    const int64_t after = evict(0);
    if (locked) write_number(file, after);
    return before - after;
}

}  // namespace heddle::cache
