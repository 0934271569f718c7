#include "support/child_process.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <sstream>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

namespace heddle {
namespace {

// All is read, so that nobody waits for room to write.
std::string first_bytes(int descriptor, size_t most) {
    std::string text;
    char part[4096];
    for (;;) {
        const ssize_t count = ::read(descriptor, part, sizeof part);
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) return text;
        text.append(part, std::min(static_cast<size_t>(count), most - text.size()));
    }
}

int status_of(pid_t process) {
    int status = 0;
    while (::waitpid(process, &status, 0) < 0) {
        if (errno != EINTR) return -1;
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace

FinishedProcess run_to_end(const std::vector<std::string>& command, size_t most_bytes) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return {-1, std::strerror(errno)};
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
    std::vector<char*> words;
    for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
    words.push_back(nullptr);
    pid_t process = 0;
    const int problem = ::posix_spawnp(&process, words[0], &actions, nullptr, words.data(), environ);
    ::posix_spawn_file_actions_destroy(&actions);
    ::close(ends[1]);
    FinishedProcess finished{-1, problem == 0 ? first_bytes(ends[0], most_bytes) : std::strerror(problem)};
    ::close(ends[0]);
    if (problem == 0) finished.status = status_of(process);
    return finished;
}

bool is_on_path(const std::string& program) {
    const char* path = std::getenv("PATH");
    std::istringstream folders(path ? path : "");
    for (std::string folder; std::getline(folders, folder, ':');) {
        if (::access((folder + "/" + program).c_str(), X_OK) == 0) return true;
    }
    return false;
}

}  // namespace heddle
