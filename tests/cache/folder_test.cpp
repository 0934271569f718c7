// The folder of the cache: what is stored is found, and nothing else, whatever others do to its files.
#include "cache/folder.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <random>

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "cache/identity.h"
#include "cache_test.h"

namespace heddle::cache {
namespace {

namespace fs = std::filesystem;

class CacheFolder : public CacheTest {};

TEST_F(CacheFolder, finds_what_is_stored) {
    auto folder = open();
    EXPECT_FALSE(found(*folder, "a"));
    store(*folder, "a", "first");
    store(*folder, "b", std::string(100000, 'b'));
    folder->store(Kind::program, "a", "another kind", {});
    EXPECT_EQ(found(*folder, "a"), "first");
    EXPECT_EQ(found(*folder, "b"), std::string(100000, 'b'));
    EXPECT_FALSE(found(*folder, "c"));
    auto other = open();  // another process
    EXPECT_EQ(found(*other, "a"), "first");
    auto mapped = other->find(Kind::kernel, "b");
    ASSERT_TRUE(mapped);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(mapped->bytes.data()) % 64, 0u);
    EXPECT_TRUE(other->has(Kind::program, "a"));
    EXPECT_FALSE(other->has(Kind::weights, "a"));
    store(*other, "a", "second");
    EXPECT_EQ(found(*folder, "a"), "second");
    EXPECT_TRUE(folder->take_notes().empty());
    EXPECT_TRUE(other->take_notes().empty());
}

TEST_F(CacheFolder, lists_and_clears) {
    auto folder = open();
    EXPECT_TRUE(folder->list().empty());
    store(*folder, "a", "first");
    folder->store(Kind::weights, "a", "a tensor", {});
    set_age("kernel", 100);
    auto kept = folder->list();
    ASSERT_EQ(kept.size(), 2u);
    EXPECT_EQ(kept[0].kind, Kind::weights);
    EXPECT_EQ(kept[0].label, "a tensor");
    EXPECT_EQ(kept[1].kind, Kind::kernel);
    EXPECT_EQ(kept[1].label, "label of a");
    EXPECT_EQ(kept[1].bytes + kept[0].bytes, bytes());
    EXPECT_NEAR(static_cast<double>(kept[0].last_used - kept[1].last_used), 100, 50);
    const int64_t before = bytes();
    EXPECT_EQ(folder->clear(), before);
    EXPECT_TRUE(folder->list().empty());
    EXPECT_FALSE(found(*folder, "a"));
    EXPECT_EQ(bytes(), 0);
}

// A wrong byte anywhere, a lost end: nothing is found, one note for all, and the file makes way for a right one.
TEST_F(CacheFolder, refuses_damage) {
    auto folder = open();
    std::mt19937 random(7);
    for (int i = 0; i < 200; i++) {
        const std::string contents(random() % 5000, static_cast<char>(random()));
        store(*folder, "a", contents);
        ASSERT_EQ(found(*folder, "a"), contents);
        const fs::path file = only_file();
        if (i % 4 == 3) {
            fs::resize_file(file, random() % fs::file_size(file));
        } else {
            std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
            stream.seekg(static_cast<std::streamoff>(random() % fs::file_size(file)));
            const auto place = stream.tellg();
            const auto byte = static_cast<char>(stream.get() ^ (1 + random() % 255));
            stream.seekp(place);
            stream.put(byte);
        }
        ASSERT_FALSE(found(*folder, "a"));
        EXPECT_FALSE(fs::exists(file));
        ASSERT_FALSE(found(*folder, "a")) << "there is none any more";
        if (i % 2 == 0) continue;
        auto notes = folder->take_notes();
        ASSERT_EQ(notes.size(), 1u);
        EXPECT_EQ(notes[0].code, "cache.damaged");
        EXPECT_NE(notes[0].summary.find("2 files"), std::string::npos) << notes[0].summary;
        EXPECT_TRUE(folder->take_notes().empty());
    }
}

// One file in another's place is not what its name says.
TEST_F(CacheFolder, refuses_a_file_of_another_name) {
    auto folder = open();
    store(*folder, "a", "first");
    const fs::path first = only_file();
    fs::rename(first, path() / "kept");
    store(*folder, "b", "second");
    fs::rename(path() / "kept", only_file());
    EXPECT_FALSE(found(*folder, "b"));
    EXPECT_EQ(folder->take_notes().size(), 1u);
}

// Entries that are no files of ours: never followed, waited for, or read whole.
TEST_F(CacheFolder, refuses_what_is_no_file) {
    auto folder = open();
    store(*folder, "a", "first");
    const fs::path file = only_file(), elsewhere = path().string() + ".elsewhere";
    const auto refused = [&](const char* what) {
        EXPECT_FALSE(found(*folder, "a")) << what;
        EXPECT_EQ(folder->take_notes().size(), 1u) << what;
        fs::remove_all(file);
    };
    fs::rename(file, elsewhere);  // what is right in itself
    fs::create_symlink(elsewhere, file);
    refused("a link");
    EXPECT_TRUE(fs::exists(elsewhere));
    fs::create_directory(file);
    refused("a folder");
    ASSERT_EQ(::mkfifo(file.c_str(), 0600), 0);
    refused("a pipe");
    std::ofstream(file).close();
    refused("no bytes");
    fs::copy_file(elsewhere, file);
    fs::resize_file(file, uintmax_t{1} << 40);
    refused("a file of a terabyte");
    fs::remove(elsewhere);
    store(*folder, "a", "second");
    EXPECT_EQ(found(*folder, "a"), "second");
}

TEST_F(CacheFolder, is_not_used_where_others_may_write) {
    const auto code = [&](const fs::path& path) {
        auto folder = Folder::open(path);
        return folder ? "" : folder.error().front().code;
    };
    EXPECT_EQ(code(path()), "");
    EXPECT_EQ(fs::status(path()).permissions(), fs::perms::owner_all);
    fs::permissions(path(), fs::perms::all);
    EXPECT_EQ(code(path()), "cache.not_ours");
    fs::permissions(path(), fs::perms::owner_all);
    if (::geteuid() == 0) {
        ASSERT_EQ(::chown(path().c_str(), 12345, 12345), 0);
        EXPECT_EQ(code(path()), "cache.not_ours");
    }
    std::ofstream(path() / "file") << "no folder";
    EXPECT_EQ(code(path() / "file"), "cache.folder");
    EXPECT_EQ(code(path() / "file/below"), "cache.folder");
    EXPECT_EQ(code(""), "cache.folder");
    Diagnostics notes;
    EXPECT_FALSE(open_folder(path() / "file", notes));
    EXPECT_EQ(notes.size(), 1u);
}

// As a user who may read but not write.
TEST_F(CacheFolder, is_read_where_it_cannot_be_written) {
    auto folder = open();
    store(*folder, "a", "first");
    if (::geteuid() == 0) {
        for (const auto& entry : fs::recursive_directory_iterator(path()))
            ASSERT_EQ(::chown(entry.path().c_str(), 65534, 65534), 0);
        ASSERT_EQ(::chown(path().c_str(), 65534, 65534), 0);
    }
    fs::permissions(path() / "parts", fs::perms::owner_read | fs::perms::owner_exec);
    fs::permissions(path(), fs::perms::owner_read | fs::perms::owner_exec);
    EXPECT_EQ(in_child([&] {
                  if (::geteuid() == 0 && ::setuid(65534) != 0) return 1;
                  auto read_only = Folder::open(path());
                  if (!read_only || found(**read_only, "a") != "first") return 2;
                  store(**read_only, "b", "second");
                  if (found(**read_only, "b") || !(*read_only)->take_notes().empty()) return 3;
                  return (*read_only)->set_limit(100).error().front().code == "cache.write" ? 0 : 4;
              }),
              0);
    fs::permissions(path(), fs::perms::owner_all);
    fs::permissions(path() / "parts", fs::perms::owner_all);
}

TEST_F(CacheFolder, keeps_nothing_beyond_the_size_of_files_that_the_process_may_write) {
    EXPECT_EQ(in_child([&] {
                  const rlimit limit = {10000, 10000};
                  if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) return 1;
                  auto folder = open();
                  store(*folder, "a", std::string(20000, 'a'));  // would end the process
                  if (found(*folder, "a")) return 2;
                  store(*folder, "b", "second");
                  return found(*folder, "b") == "second" ? 0 : 3;
              }),
              0);
    EXPECT_EQ(parts(), 0u);
}

// A disk of 256 kB, where the system lets us make one.
TEST_F(CacheFolder, keeps_less_on_a_full_disk) {
    constexpr int not_possible = 77;
    const int status = in_child([&] {
        open();
        if (::unshare(CLONE_NEWNS) != 0 && ::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return not_possible;
        ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr);
        if (::mount("none", path().c_str(), "tmpfs", 0, "size=256k,mode=0700") != 0) return not_possible;
        auto folder = open();
        int64_t kept = 0;
        for (int i = 0; i < 40; i++) store(*folder, std::to_string(i), std::string(20000, static_cast<char>(i)));
        for (int i = 0; i < 40; i++) {
            const auto contents = found(*folder, std::to_string(i));
            if (contents && *contents != std::string(20000, static_cast<char>(i))) return 2;
            kept += contents.has_value();
        }
        if (!folder->take_notes().empty() || parts() != 0) return 3;
        return kept >= 5 && kept < 13 ? 0 : 4;
    });
    if (status == not_possible) GTEST_SKIP() << "this user may mount nothing";
    EXPECT_EQ(status, 0);
}

TEST_F(CacheFolder, lets_go_of_what_was_used_longest_ago) {
    auto folder = open();
    ASSERT_TRUE(folder->set_limit(100000));
    store(*folder, "old", std::string(10000, 'o'));
    store(*folder, "used", std::string(10000, 'u'));
    set_age("", 10000);
    EXPECT_TRUE(found(*folder, "used"));  // now
    for (int i = 0; i < 8; i++) {
        store(*folder, std::to_string(i), std::string(10000, static_cast<char>(i)));
        EXPECT_LE(bytes(), 100000);
    }
    EXPECT_FALSE(found(*folder, "old"));
    EXPECT_TRUE(found(*folder, "used"));
    EXPECT_TRUE(found(*folder, "7"));
    for (int i = 8; i < 100; i++) {
        store(*folder, std::to_string(i), std::string(static_cast<size_t>(i) * 700, 'x'));
        EXPECT_LE(bytes(), 100000);
        EXPECT_TRUE(found(*folder, std::to_string(i)));
    }
    store(*folder, "huge", std::string(100000, 'h'));
    EXPECT_FALSE(found(*folder, "huge")) << "more than the limit";
    EXPECT_EQ(open()->limit(), 100000) << "it is kept";
    ASSERT_TRUE(open()->set_limit(1000));
    EXPECT_LE(bytes(), 1000) << "at once";
}

// The total is a help; it may be anything.
TEST_F(CacheFolder, counts_anew_where_the_total_is_lost) {
    auto folder = open();
    ASSERT_TRUE(folder->set_limit(50000));
    for (const char* total : {"", "abc", "-5\n", "99999999999999999999999999\n", "00000000000000049999\n", "7"}) {
        std::ofstream(path() / "total") << total;
        for (int i = 0; i < 10; i++) store(*folder, std::to_string(i), std::string(10000, 'x'));
        EXPECT_LE(bytes(), 50000) << total;
        EXPECT_TRUE(found(*folder, "9")) << total;
    }
    std::ofstream(path() / "limit") << "no number";
    EXPECT_EQ(open()->limit(), default_limit);
}

TEST(CacheIdentity, names_builds) {
    EXPECT_NE(identity().find("LLVM 19."), std::string::npos) << identity();
    EXPECT_EQ(identity().find("bytes at"), std::string::npos) << "a build id is missing: " << identity();
    EXPECT_EQ(identity().rfind("heddle ", 0), 0u);
}

TEST(CachePath, follows_the_environment) {
    const char* home = std::getenv("HOME");
    const std::string kept = home ? home : "";
    ::setenv("XDG_CACHE_HOME", "/somewhere", 1);
    EXPECT_EQ(default_path(), "/somewhere/heddle");
    ::setenv("XDG_CACHE_HOME", "relative", 1);
    ::setenv("HOME", testing::TempDir().c_str(), 1);
    const std::string temporary = testing::TempDir();
    struct stat status = {};
    ASSERT_EQ(::stat(temporary.c_str(), &status), 0);
    EXPECT_EQ(default_path(), status.st_uid == ::geteuid() ? temporary + "/.cache/heddle" : "");
    ::unsetenv("XDG_CACHE_HOME");
    ::unsetenv("HOME");
    EXPECT_EQ(default_path(), "");
    Diagnostics notes;
    EXPECT_FALSE(open_folder("", notes));
    EXPECT_TRUE(notes.empty()) << "nobody asked for one";
    if (home) ::setenv("HOME", kept.c_str(), 1);
}

}  // namespace
}  // namespace heddle::cache
