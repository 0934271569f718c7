// Several processes in one folder at once, and processes that are killed at any moment.
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <random>
#include <thread>

#include <fcntl.h>

#include "cache_test.h"

namespace heddle::cache {
namespace {

class CacheProcesses : public CacheTest {
protected:
    static constexpr int keys = 20;

    // What is right under a key, of some kB.
    static std::string contents_of(int key) {
        std::string contents;
        std::mt19937 random(static_cast<unsigned>(key));
        for (int i = 0; i < 2000 + 1000 * key; i++) contents += static_cast<char>(random());
        return contents;
    }

    // Looks for keys and stores those that are not there, as long as `rounds` say; 0 if all that it found was right.
    int work(unsigned seed, int rounds) const {
        auto folder = open();
        std::mt19937 random(seed);
        for (int i = 0; i < rounds; i++) {
            const int key = static_cast<int>(random() % keys);
            const auto contents = found(*folder, std::to_string(key));
            if (contents && *contents != contents_of(key)) return 1;
            if (!contents || random() % 2 == 0) store(*folder, std::to_string(key), contents_of(key));
        }
        return folder->take_notes().empty() ? 0 : 2;
    }

    void expect_all_right() const {
        auto folder = open();
        for (int key = 0; key < keys; key++) {
            const auto contents = found(*folder, std::to_string(key));
            if (contents) {
                EXPECT_EQ(*contents, contents_of(key)) << key;
            }
        }
        const Diagnostics notes = folder->take_notes();
        EXPECT_TRUE(notes.empty()) << render(notes);
        EXPECT_EQ(parts(), 0u) << "leftovers";
    }
};

TEST_F(CacheProcesses, several_at_once) {
    for (const int64_t limit : {default_limit, int64_t{100000}}) {
        ASSERT_TRUE(open()->set_limit(limit));
        std::vector<pid_t> children;
        for (unsigned seed = 0; seed < 4; seed++) {
            const pid_t child = ::fork();
            if (child == 0) ::_exit(work(seed, 300));
            children.push_back(child);
        }
        for (pid_t child : children) {
            int status = 0;
            ASSERT_EQ(::waitpid(child, &status, 0), child);
            EXPECT_EQ(status, 0);
        }
        expect_all_right();
        EXPECT_LE(bytes(), limit);
    }
}

// SIGKILL at random moments, in one of two processes.
TEST_F(CacheProcesses, are_killed) {
    ASSERT_TRUE(open()->set_limit(150000));
    std::mt19937 random(11);
    int killed_writing = 0;
    for (int i = 0; i < 150; i++) {
        const pid_t child = ::fork();
        if (child == 0) ::_exit(work(random(), 1 << 20));
        std::this_thread::sleep_for(std::chrono::microseconds(500 + random() % 6000));
        ASSERT_EQ(::kill(child, SIGKILL), 0);
        int status = 0;
        ASSERT_EQ(::waitpid(child, &status, 0), child);
        EXPECT_TRUE(WIFSIGNALED(status)) << "it ended itself: " << status;
        killed_writing += parts() > 0;
        EXPECT_EQ(in_child([&] { return work(random(), 3); }), 0);
        EXPECT_LE(bytes(), 150000);
        expect_all_right();
        if (HasFailure()) return;
    }
    RecordProperty("killed_writing", killed_writing);
}

// What a killed process leaves is removed by the next; what one that lives is writing is not.
TEST_F(CacheProcesses, leftovers_are_removed_and_work_is_not) {
    std::ofstream(path() / "parts" / "123.0.456") << "half";
    int ready[2], done[2];
    ASSERT_EQ(::pipe(ready), 0);
    ASSERT_EQ(::pipe(done), 0);
    const pid_t child = ::fork();
    char byte = 0;
    if (child == 0) {
        const int part = ::open((path() / "parts" / "124.0.456").c_str(), O_CREAT | O_WRONLY, 0600);
        const bool locked = part >= 0 && ::flock(part, LOCK_EX) == 0;
        ::_exit(locked && ::write(ready[1], "r", 1) == 1 && ::read(done[0], &byte, 1) == 1 ? 0 : 1);
    }
    ASSERT_EQ(::read(ready[0], &byte, 1), 1);
    open();
    EXPECT_FALSE(std::filesystem::exists(path() / "parts" / "123.0.456"));
    EXPECT_TRUE(std::filesystem::exists(path() / "parts" / "124.0.456"));
    ASSERT_EQ(::write(done[1], "d", 1), 1);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    open();
    EXPECT_EQ(parts(), 0u);
    for (int end : {ready[0], ready[1], done[0], done[1]}) ::close(end);
}

}  // namespace
}  // namespace heddle::cache
