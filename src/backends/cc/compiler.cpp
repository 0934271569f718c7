#include "backends/cc/compiler.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include <fmt/format.h>

#include "support/file.h"

extern char** environ;

namespace heddle::backends {
namespace {

namespace fs = std::filesystem;

// A folder of this process alone, which goes with all that is in it.
class TemporaryFolder {
public:
    TemporaryFolder() {
        std::string path = "/tmp/heddle_cc_XXXXXX";
        if (::mkdtemp(path.data())) path_ = path;
    }
    ~TemporaryFolder() {
        std::error_code ignored;
        if (!path_.empty()) fs::remove_all(path_, ignored);
    }
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;
    bool exists() const { return !path_.empty(); }
    std::string file(const char* name) const { return path_ + "/" + name; }

private:
    std::string path_;
};

// Its exit status; what it says goes to this file. Below zero: it does not run.
int run(const std::string& program, const std::vector<std::string>& arguments, const std::string& words) {
    std::vector<std::string> texts{program};
    texts.insert(texts.end(), arguments.begin(), arguments.end());
    std::vector<char*> pointers;
    for (std::string& text : texts) pointers.push_back(text.data());
    pointers.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    ::posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, words.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    ::posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
    pid_t process = 0;
    const int problem = ::posix_spawn(&process, program.c_str(), &actions, nullptr, pointers.data(), environ);
    ::posix_spawn_file_actions_destroy(&actions);
    if (problem != 0) return -1;
    int status = 0;
    while (::waitpid(process, &status, 0) < 0) {
        if (errno != EINTR) return -1;
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

std::string first_lines(const std::string& path, size_t lines) {
    std::ifstream file(path);
    std::string text, line;
    for (size_t i = 0; i < lines && std::getline(file, line); i++) text += (i ? "\n" : "") + line;
    return text;
}

}  // namespace

LoadedLibrary::~LoadedLibrary() {
    if (handle_) ::dlclose(handle_);
}

void* LoadedLibrary::find(const std::string& name) const { return ::dlsym(handle_, name.c_str()); }

std::optional<CCompiler> CCompiler::find() {
    const TemporaryFolder folder;
    if (!folder.exists()) return std::nullopt;
    for (const char* program : {"/usr/bin/gcc", "/usr/bin/clang", "/usr/local/bin/gcc", "/usr/local/bin/clang"}) {
        if (::access(program, X_OK) != 0) continue;
        const std::string words = folder.file("version.txt");
        if (run(program, {"--version"}, words) != 0) continue;
        CCompiler compiler{program, first_lines(words, 1)};
        if (!compiler.version.empty()) return compiler;
    }
    return std::nullopt;
}

Result<std::shared_ptr<LoadedLibrary>> CCompiler::compile(const std::string& text,
                                                          const std::vector<std::string>& flags) const {
    const TemporaryFolder folder;
    const auto refused = [&](std::string found) {
        return fail({.code = "backends.c_compiler",
                     .summary = fmt::format("{} does not compile the kernels' C", program),
                     .found = std::move(found),
                     .remedy = "check that the compiler works, and that there is room under /tmp"});
    };
    if (!folder.exists()) return refused("no folder can be made under /tmp");
    const std::string source = folder.file("kernels.c"), library = folder.file("kernels.so");
    if (auto written = write_file(source, text); !written) return fail(std::move(written.error()));
    std::vector<std::string> arguments = flags;
    arguments.insert(arguments.end(),
                     {"-ffp-contract=off", "-w", "-Wno-psabi", "-fPIC", "-shared", "-o", library, source, "-lm"});
    const std::string words = folder.file("words.txt");
    if (run(program, arguments, words) != 0) return refused(first_lines(words, 5));
    void* handle = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
        const char* reason = ::dlerror();
        return fail({.code = "backends.link",
                     .summary = "compiled code does not link into the process",
                     .reason = reason ? reason : ""});
    }
    return std::make_shared<LoadedLibrary>(handle);
}

}  // namespace heddle::backends
