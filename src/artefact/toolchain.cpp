#include "artefact/toolchain.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "support/descriptor.h"

extern char** environ;

namespace heddle::artefact {
namespace {

constexpr size_t most_words = 4000;  // of what a tool says

Diagnostic failed(const std::string& tool, std::string reason) {
    return {.code = "artefact.compiler",
            .summary = fmt::format("'{}' did not do its work", tool),
            .reason = std::move(reason),
            .remedy = "install a C compiler, or name one: --cc PROGRAM; or write C: --emit c",
            .params = {{"tool", tool}}};
}

std::string all_of(int descriptor) {
    std::string text;
    char part[4096];
    for (ssize_t count; (count = read(descriptor, part, sizeof part)) != 0;) {
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) break;
        if (text.size() < most_words) text.append(part, static_cast<size_t>(count));
    }
    if (text.size() > most_words) text.resize(most_words);
    return text;
}

}  // namespace

Result<void> run_tool(const std::vector<std::string>& command) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return fail(failed(command[0], std::strerror(errno)));
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
    std::vector<char*> words;
    for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
    words.push_back(nullptr);
    pid_t child = 0;
    const int problem = posix_spawnp(&child, words[0], &actions, nullptr, words.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    const std::string said = problem == 0 ? all_of(ends[0]) : "";
    close(ends[0]);
    if (problem != 0) return fail(failed(command[0], std::strerror(problem)));
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
    return fail(failed(command[0], fmt::format("{}\nof: {}", said, fmt::join(command, " "))));
}

}  // namespace heddle::artefact
