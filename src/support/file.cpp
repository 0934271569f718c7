#include "support/file.h"

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/descriptor.h"

namespace heddle {
namespace {

Diagnostic problem(const char* code, std::string summary, const std::string& path, int error = 0) {
    Diagnostic diagnostic;
    diagnostic.code = code;
    diagnostic.summary = std::move(summary);
    if (error != 0) diagnostic.reason = std::strerror(error);
    diagnostic.params.emplace_back("path", path);
    return diagnostic;
}

struct OpenFile {
    Descriptor descriptor;
    int64_t size;
    std::string stamp;
};

Result<OpenFile> open_regular(const std::string& path) {
    Descriptor descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (descriptor.number() < 0)
        return fail(problem("support.file_open", fmt::format("cannot open '{}'", path), path, errno));
    struct stat status;
    if (::fstat(descriptor.number(), &status) != 0)
        return fail(problem("support.file_open", fmt::format("cannot examine '{}'", path), path, errno));
    if (!S_ISREG(status.st_mode))
        return fail(problem("support.file_open", fmt::format("'{}' is not a regular file", path), path));
    return OpenFile{std::move(descriptor), static_cast<int64_t>(status.st_size), stamp_of(status)};
}

}  // namespace

Result<std::string> read_file(const std::string& path, int64_t maximum_bytes) {
    auto file = open_regular(path);
    if (!file) return fail(std::move(file.error()));
    if (file->size > maximum_bytes) {
        Diagnostic diagnostic = problem("support.file_too_large", fmt::format("'{}' is too large", path), path);
        diagnostic.expected = fmt::format("at most {} bytes", maximum_bytes);
        diagnostic.found = fmt::format("{} bytes", file->size);
        return fail(std::move(diagnostic));
    }
    std::string text(static_cast<size_t>(file->size), '\0');
    size_t done = 0;
    while (done < text.size()) {
        ssize_t count = ::read(file->descriptor.number(), text.data() + done, text.size() - done);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return fail(problem("support.file_open", fmt::format("cannot read '{}'", path), path, errno));
        if (count == 0) break;  // it became shorter meanwhile
        done += static_cast<size_t>(count);
    }
    text.resize(done);
    return text;
}

namespace {

// Files that are mapped at this moment, by stamp.
struct MappedFiles {
    std::mutex mutex;
    std::map<std::string, std::weak_ptr<const void>> owners;
};

MappedFiles& mapped_files() {
    static auto& files = *new MappedFiles;  // never destroyed: threads may open files while a process ends
    return files;
}

}  // namespace

Result<MappedFile> map_file(const std::string& path) {
    auto file = open_regular(path);
    if (!file) return fail(std::move(file.error()));
    auto size = static_cast<size_t>(file->size);
    if (size == 0) return MappedFile{};  // nothing can be mapped, and nothing need be kept
    MappedFiles& files = mapped_files();
    std::lock_guard lock(files.mutex);
    std::erase_if(files.owners, [](const auto& known) { return known.second.expired(); });
    auto owner = files.owners[file->stamp].lock();
    if (!owner) owner = map_read_only(file->descriptor, size, false);
    files.owners[file->stamp] = owner;
    if (!owner) return fail(problem("support.file_open", fmt::format("cannot map '{}'", path), path, errno));
    const std::span bytes(static_cast<const std::byte*>(owner.get()), size);
    return MappedFile{std::move(owner), bytes};
}

Result<void> write_file(const std::string& path, std::string_view bytes) {
    // Two writers of one path, in this process or in others, never share a temporary file.
    static std::atomic<unsigned> counter{0};
    // A device or a pipe is written to: a file must not take its place.
    struct stat status;
    const bool special = ::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode);
    std::string temporary = special ? path : fmt::format("{}.{}.{}.part", path, ::getpid(), counter++);
    Descriptor descriptor(::open(temporary.c_str(), O_WRONLY | O_CLOEXEC | (special ? 0 : O_CREAT | O_EXCL), 0666));
    if (descriptor.number() < 0)
        return fail(problem("support.file_write", fmt::format("cannot create '{}'", path), path, errno));
    auto give_up = [&](const char* what) {
        Diagnostic diagnostic = problem("support.file_write", fmt::format("cannot {} '{}'", what, path), path, errno);
        if (!special) ::unlink(temporary.c_str());
        return fail(std::move(diagnostic));
    };
    if (!write_all(descriptor, bytes.data(), bytes.size())) return give_up("write");
    if (!descriptor.close()) return give_up("write");
    if (!special && ::rename(temporary.c_str(), path.c_str()) != 0) return give_up("replace");
    return {};
}

}  // namespace heddle
