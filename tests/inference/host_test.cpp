// Speeds of this machine: measured once, found by later processes, measured again where what was kept is damaged.
#include "inference/host.h"

#include <fstream>

#include <gtest/gtest.h>

#include "helpers/test_folder.h"
#include "target/measure_host.h"

namespace heddle::inference {
namespace {

class HostTest : public testing::Test {
protected:
    void SetUp() override {
        if (!can_measure_speed(detect_host())) GTEST_SKIP() << "no way is known on this CPU";
    }
    // As another process has it.
    std::shared_ptr<cache::Folder> folder() const {
        auto folder = cache::Folder::open(path_.path);
        EXPECT_TRUE(folder);
        return *folder;
    }
    const TestFolder path_;
};

TEST_F(HostTest, what_was_measured_is_kept) {
    EXPECT_FALSE(kept_host(*folder()));
    const Target measured = measure_host(folder().get());
    const auto kept = kept_host(*folder());
    ASSERT_TRUE(kept);
    EXPECT_EQ(print(*kept), print(measured));
    EXPECT_EQ(folder()->list().front().kind, cache::Kind::machine);
}

TEST_F(HostTest, what_is_damaged_is_not_used) {
    measure_host(folder().get());
    for (const auto& entry : std::filesystem::directory_iterator(path_.path)) {
        if (entry.path().extension() == ".machine")
            std::fstream(entry.path(), std::ios::binary | std::ios::in | std::ios::out).seekp(300).put('\xff');
    }
    const auto damaged = folder();
    EXPECT_FALSE(kept_host(*damaged));
    EXPECT_EQ(damaged->take_notes().size(), 1u);
}

TEST_F(HostTest, a_process_has_one_target) {
    const Target target = host_target(nullptr);
    EXPECT_EQ(print(host_target(nullptr)), print(target));
    EXPECT_EQ(print(host_target(folder().get())), print(target));
}

}  // namespace
}  // namespace heddle::inference
