// Plugins that cannot be used are refused with diagnostics, and what they throw goes nowhere.
#include "plugins/load_plugin.h"

#include <gtest/gtest.h>

#include <dlfcn.h>

#include <fstream>

#include "codegen/device.h"
#include "helpers/codes.h"
#include "helpers/test_folder.h"
#include "schedules/tree.h"
#include "support/progress.h"
#include "support/tensor_data.h"

namespace heddle::plugins {
namespace {

std::string library(const std::string& name) { return std::string(HEDDLE_TEST_PLUGINS) + "/lib" + name + ".so"; }

std::string found_by(const std::string& name) {
    auto loaded = load_plugin(library(name));
    return loaded ? "" : loaded.error().front().found;
}

TEST(LoadPlugin, RefusesWhatCannotBeUsed) {
    EXPECT_EQ(code_of(load_plugin("no/such/plugin.so")), "plugins.no_file");
    EXPECT_EQ(code_of(load_plugin(HEDDLE_TEST_PLUGINS)), "plugins.no_file") << "a folder";
    EXPECT_EQ(code_of(load_plugin(library("plugin_no_version"))), "plugins.no_symbol");
    EXPECT_EQ(code_of(load_plugin(library("plugin_no_open"))), "plugins.no_symbol");
    EXPECT_EQ(code_of(load_plugin(library("plugin_version"))), "plugins.version");
    EXPECT_EQ(found_by("plugin_version"), "2");
    EXPECT_EQ(code_of(load_plugin(library("plugin_refuses"))), "plugins.refused");
    EXPECT_EQ(found_by("plugin_refuses"), "there is no device");
    EXPECT_EQ(code_of(load_plugin(library("plugin_incomplete"))), "plugins.incomplete");
    EXPECT_EQ(code_of(load_plugin(library("plugin_size"))), "plugins.incomplete");
    EXPECT_EQ(code_of(load_plugin(library("plugin_target"))), "target.unknown_key");
    EXPECT_EQ(code_of(load_plugin(library("plugin_open_throws"))), "plugins.threw");
}

TEST(PluginBackend, MaySayWhatItIsScheduledFor) {
    const auto plain = load_plugin(library("plugin_plain")), narrow = load_plugin(library("plugin_config"));
    ASSERT_TRUE(plain && narrow);
    Target machine;
    machine.name = "this one";
    EXPECT_EQ(print((*plain)->target(machine)), print(machine));
    EXPECT_EQ((*narrow)->target(machine).name, "narrow");
    EXPECT_EQ((*narrow)->target(machine).vector_bytes, 16);
}

TEST(LoadPlugin, RefusesAFileThatIsNoLibrary) {
    const TestFolder folder;
    std::filesystem::create_directories(folder.path);
    const std::string file = (folder.path / "text.so").string();
    std::ofstream(file) << "no library";
    const auto found = load_plugin(file);
    ASSERT_EQ(code_of(found), "plugins.not_loadable");
    EXPECT_FALSE(found.error().front().found.empty());
}

TEST(CompileJobs3, APluginHasAConfigOnlyIfItSaysSo) {
    const auto without = load_plugin(library("plugin_plain"));
    ASSERT_TRUE(without) << render(without.error());
    EXPECT_EQ((*without)->name(), "wrong");
    const auto none = compile_config_for(**without, {});
    ASSERT_EQ(code_of(none), "backends.no_compile_config");
    EXPECT_NE(none.error().front().summary.find("'wrong'"), std::string::npos);

    const auto with = load_plugin(library("plugin_config"));
    ASSERT_TRUE(with) << render(with.error());
    CompileRequest request{
        .derivation = {.mode = Derivation::Mode::reverse, .activities = {Activity::duplicated, Activity::constant}}};
    const auto config = compile_config_for(**with, request);
    ASSERT_TRUE(config) << render(config.error());
    EXPECT_EQ(config->backend, "wrong");
    EXPECT_EQ(config->target, print(request.target));
    EXPECT_TRUE(config->version.starts_with("20, ")) << config->version;
    request.derivation.mode = Derivation::Mode::forward;
    const auto refused = compile_config_for(**with, request);
    ASSERT_EQ(code_of(refused), "plugins.failed");
    EXPECT_EQ(refused.error().front().found, "no forward mode");

    const auto throwing = load_plugin(library("plugin_config_throws"));
    ASSERT_TRUE(throwing) << render(throwing.error());
    EXPECT_EQ(code_of(compile_config_for(**throwing, {})), "plugins.threw");
}

TEST(CompileJobs3, NothingIsThrownOutOfAPlugin) {
    auto loaded = load_plugin(library("plugin_config"));
    ASSERT_TRUE(loaded) << render(loaded.error());
    schedules::Tree tree;
    tree.name = "empty";
    for (int threads : {1, 3}) {
        const auto code = (*loaded)->objects({&tree, &tree, &tree}, Target(), threads);
        ASSERT_EQ(code_of(code), "plugins.failed");
        EXPECT_EQ(code.error().front().found, "no compiler");
    }
    EXPECT_EQ(code_of((*loaded)->link({"code"})), "plugins.failed");
    EXPECT_EQ((*loaded)->objects({}, Target(), 2)->size(), 0u);
    Progress progress;
    progress.cancel();
    EXPECT_EQ(code_of((*loaded)->objects({&tree}, Target(), 2, &progress)), "support.cancelled");

    const auto device = (*loaded)->device();
    ASSERT_TRUE(device);
    EXPECT_FALSE(device->allocate(1'000'000));
    const auto memory = device->allocate(100);
    ASSERT_TRUE(memory);
    std::byte bytes[4] = {};
    EXPECT_EQ(code_of(device->copy_to(memory.get(), bytes)), "ok");
    const auto back = device->copy_from(bytes, memory.get());
    ASSERT_EQ(code_of(back), "plugins.failed");
    EXPECT_EQ(back.error().front().found, "it is lost");

    auto endless = load_plugin(library("plugin_code_size"));
    ASSERT_TRUE(endless) << render(endless.error());
    EXPECT_EQ(code_of((*endless)->objects({&tree}, Target(), 1)), "plugins.failed");

    auto throwing = load_plugin(library("plugin_compile_throws"));
    ASSERT_TRUE(throwing) << render(throwing.error());
    EXPECT_EQ(code_of((*throwing)->objects({&tree, &tree}, Target(), 2)), "plugins.threw");
}

// Memory of the device outlives the backend, and the plugin's last call comes behind both.
TEST(PluginBackend, ClosesBehindItsMemory) {
    void* kept = ::dlopen(library("plugin_plain").c_str(), RTLD_NOW | RTLD_LOCAL);
    ASSERT_TRUE(kept) << ::dlerror();
    const int* closed = static_cast<int*>(::dlsym(kept, "heddle_test_closed"));
    ASSERT_TRUE(closed);
    const int before = *closed;
    std::shared_ptr<std::byte> memory;
    {
        auto loaded = load_plugin(library("plugin_plain"));
        ASSERT_TRUE(loaded) << render(loaded.error());
        memory = (*loaded)->device()->allocate(10);
    }
    EXPECT_EQ(*closed, before);
    memory.reset();
    EXPECT_EQ(*closed, before + 1);
    ::dlclose(kept);
}

}  // namespace
}  // namespace heddle::plugins
