#include "support/run_program.h"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/descriptor.h"

extern char** environ;

namespace heddle {
namespace {

constexpr size_t most_words = 4000;  // of what it says

// To the end, so that it is not kept waiting.
std::string all_of(const Descriptor& file) {
    std::string text;
    char part[4096];
    for (ssize_t count; (count = ::read(file.number(), part, sizeof part)) != 0;) {
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) break;
        if (text.size() < most_words) text.append(part, static_cast<size_t>(count));
    }
    if (text.size() > most_words) text.resize(most_words);
    return text;
}

}  // namespace

ProgramEnd run_program(const std::vector<std::string>& command) {
    ProgramEnd end;
    int numbers[2];
    if (::pipe2(numbers, O_CLOEXEC) != 0) {
        end.problem = std::strerror(errno);
        return end;
    }
    const Descriptor from(numbers[0]);
    Descriptor to(numbers[1]);
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    ::posix_spawn_file_actions_adddup2(&actions, to.number(), STDOUT_FILENO);
    ::posix_spawn_file_actions_adddup2(&actions, to.number(), STDERR_FILENO);
    std::vector<std::string> texts = command;
    std::vector<char*> words;
    for (std::string& text : texts) words.push_back(text.data());
    words.push_back(nullptr);
    pid_t child = 0;
    const int problem = ::posix_spawnp(&child, words[0], &actions, nullptr, words.data(), environ);
    ::posix_spawn_file_actions_destroy(&actions);
    to.close();
    if (problem != 0) {
        end.problem = std::strerror(problem);
        return end;
    }
    end.said = all_of(from);
    int status = 0;
    while (::waitpid(child, &status, 0) < 0) {
        if (errno != EINTR) return end;
    }
    if (WIFEXITED(status)) end.status = WEXITSTATUS(status);
    return end;
}

}  // namespace heddle
