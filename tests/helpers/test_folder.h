// A folder for the test that runs now. It is gone with the object.
#pragma once

#include <filesystem>
#include <string>
#include <system_error>

#include <gtest/gtest.h>
#include <unistd.h>

namespace heddle {

struct TestFolder {
    // Named by the test, and by the process: the same test may run twice at once. Nothing is made yet.
    TestFolder() {
        const auto* test = testing::UnitTest::GetInstance()->current_test_info();
        path = std::filesystem::path(testing::TempDir()) / (std::string("heddle_") + test->test_suite_name() + "_" +
                                                            test->name() + "_" + std::to_string(::getpid()));
    }
    ~TestFolder() {
        std::error_code ignored;
        std::filesystem::remove_all(path, ignored);
    }
    TestFolder(const TestFolder&) = delete;
    TestFolder& operator=(const TestFolder&) = delete;

    std::filesystem::path path;
};

}  // namespace heddle
