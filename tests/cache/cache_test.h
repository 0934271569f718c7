// A folder of the cache for one test.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cache/folder.h"
#include "helpers/test_folder.h"

namespace heddle::cache {

class CacheTest : public testing::Test {
protected:
    CacheTest() { open(); }

    const std::filesystem::path& path() const { return path_; }
    std::shared_ptr<Folder> open() const {
        auto folder = Folder::open(path_);
        EXPECT_TRUE(folder) << (folder ? "" : render(folder.error()));
        return *folder;
    }

    static void store(Folder& folder, const std::string& key, const std::string& contents) {
        folder.store(Kind::kernel, key, "label of " + key, std::as_bytes(std::span(contents)));
    }
    static std::optional<std::string> found(Folder& folder, const std::string& key) {
        const auto file = folder.find(Kind::kernel, key);
        if (!file) return std::nullopt;
        return std::string(reinterpret_cast<const char*>(file->bytes.data()), file->bytes.size());
    }

    // Files that keep something: not the folder's own.
    std::vector<std::filesystem::path> files() const {
        std::vector<std::filesystem::path> files;
        for (const auto& entry : std::filesystem::directory_iterator(path_)) {
            if (entry.path().has_extension()) files.push_back(entry.path());
        }
        return files;
    }
    std::filesystem::path only_file() const {
        EXPECT_EQ(files().size(), 1u);
        return files().front();
    }
    int64_t bytes() const {
        int64_t sum = 0;
        for (const auto& file : files()) sum += static_cast<int64_t>(std::filesystem::file_size(file));
        return sum;
    }
    size_t parts() const {
        return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(path_ / "parts"), {}));
    }
    // As if files of this kind, or all, had been used so many seconds ago.
    void set_age(const std::string& kind, int seconds) const {
        for (const auto& file : files()) {
            if (!kind.empty() && file.extension() != "." + kind) continue;
            timespec times[2] = {{time(nullptr) - seconds, 0}, {time(nullptr) - seconds, 0}};
            EXPECT_EQ(::utimensat(AT_FDCWD, file.c_str(), times, 0), 0);
        }
    }

    // The exit status of a process that does this; below zero: a signal has ended it.
    template <typename Work>
    static int in_child(Work work) {
        const pid_t child = ::fork();
        if (child == 0) ::_exit(work());
        int status = 0;
        EXPECT_EQ(::waitpid(child, &status, 0), child);
        return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    }

    const TestFolder folder_;
    const std::filesystem::path& path_ = folder_.path;
};

}  // namespace heddle::cache
