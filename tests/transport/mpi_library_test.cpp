// Plug-ins for MPI that cannot be used are refused, and what launchers leave in the environment is understood.
#include "transport/mpi_library.h"

#include <gtest/gtest.h>

#include <fstream>
#include <map>

#include "helpers/codes.h"
#include "helpers/test_folder.h"

namespace heddle::transport {
namespace {

std::string library(const std::string& name) { return std::string(HEDDLE_TEST_PLUGINS) + "/libmpi_" + name + ".so"; }

std::string found_by(const std::string& name, std::optional<LaunchedRanks> launched = {}) {
    auto opened = open_mpi(library(name), launched);
    return opened ? "" : opened.error().front().found;
}

TEST(MpiLibrary, RefusesWhatCannotBeUsed) {
    EXPECT_EQ(code_of(open_mpi("no/such/library.so", {})), "transport.mpi_library");
    EXPECT_EQ(code_of(open_mpi(HEDDLE_TEST_PLUGINS, {})), "transport.mpi_library") << "a folder";
    EXPECT_EQ(code_of(open_mpi(library("no_open"), {})), "transport.mpi_library");
    EXPECT_EQ(code_of(open_mpi(library("version"), {})), "transport.mpi_version");
    EXPECT_EQ(found_by("version"), "3");
    EXPECT_EQ(code_of(open_mpi(library("refuses"), {})), "transport.mpi");
    EXPECT_EQ(found_by("refuses"), "there is no network");
    EXPECT_EQ(code_of(open_mpi(library("size"), {})), "transport.mpi");
    EXPECT_EQ(code_of(open_mpi(library("plain"), {})), "ok");
}

TEST(MpiLibrary, RefusesAFileThatIsNoLibrary) {
    const TestFolder folder;
    std::filesystem::create_directories(folder.path);
    const std::string file = (folder.path / "text.so").string();
    std::ofstream(file) << "no library";
    const auto found = open_mpi(file, {});
    ASSERT_EQ(code_of(found), "transport.mpi_library");
    EXPECT_FALSE(found.error().front().found.empty());
    EXPECT_NE(found.error().front().remedy.find("mpicc"), std::string::npos);
}

TEST(MpiLibrary, RefusesTheMpiOfAnotherLauncher) {
    const LaunchedRanks two{.rank = 0, .size = 2, .launcher = "Open MPI", .library = "openmpi"};
    EXPECT_EQ(code_of(open_mpi(library("plain"), two)), "transport.mpi");
    EXPECT_EQ(found_by("plain", two), "1 processes, by one process, always");
}

// Nothing comes back from it, so the process ends.
TEST(MpiLibraryDeathTest, EndsWhereMpiDoesNotStart) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT((void)open_mpi(library("waits"), {}, std::chrono::milliseconds(100)), testing::ExitedWithCode(1),
                "transport.mpi_start");
}

TEST(MpiLibrary, RefusesALauncherThatDoesNotHelpItToStart) {
    const LaunchedRanks slurm{.rank = 0, .size = 2, .launcher = "Slurm", .library = ""};
    const auto found = open_mpi("", slurm);
    ASSERT_EQ(code_of(found), "transport.mpi");
    EXPECT_NE(found.error().front().remedy.find("--mpi=pmix"), std::string::npos);
}

TEST(MpiLibrary, SaysWhereItLooked) {
    const LaunchedRanks strange{.rank = 0, .size = 2, .launcher = "Another", .library = "another"};
    const auto found = open_mpi("", strange);
    ASSERT_EQ(code_of(found), "transport.mpi_library");
    EXPECT_NE(found.error().front().found.find("libheddle_mpi_another.so"), std::string::npos);
}

std::string launched(const std::map<std::string, std::string>& environment) {
    const auto found = launched_ranks([&](const char* name) -> const char* {
        const auto value = environment.find(name);
        return value == environment.end() ? nullptr : value->second.c_str();
    });
    if (!found) return "";
    return std::to_string(found->rank) + " of " + std::to_string(found->size) + " " + found->library;
}

TEST(Launched, FollowsFromTheEnvironmentAlone) {
    EXPECT_EQ(launched({}), "");
    EXPECT_EQ(launched({{"OMPI_COMM_WORLD_RANK", "3"}, {"OMPI_COMM_WORLD_SIZE", "4"}}), "3 of 4 openmpi");
    EXPECT_EQ(launched({{"PMI_RANK", "0"}, {"PMI_SIZE", "2"}}), "0 of 2 mpich");
    EXPECT_EQ(launched({{"SLURM_PROCID", "1"}, {"SLURM_STEP_NUM_TASKS", "2"}, {"PMIX_RANK", "1"}}), "1 of 2 openmpi");
    EXPECT_EQ(launched({{"SLURM_PROCID", "1"}, {"SLURM_STEP_NUM_TASKS", "2"}}), "1 of 2 ");
}

TEST(Launched, IsNotAProcessAlone) {
    EXPECT_EQ(launched({{"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "1"}}), "");
    // A batch script of Slurm, which starts others.
    EXPECT_EQ(launched({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "8"}}), "");
    EXPECT_EQ(launched({{"OMPI_COMM_WORLD_SIZE", "4"}}), "");
    EXPECT_EQ(launched({{"PMI_RANK", "x"}, {"PMI_SIZE", "2"}}), "");
    EXPECT_EQ(launched({{"PMI_RANK", "2"}, {"PMI_SIZE", "2"}}), "");
    EXPECT_EQ(launched({{"PMI_RANK", "0"}, {"PMI_SIZE", "99999999999999"}}), "");
}

}  // namespace
}  // namespace heddle::transport
