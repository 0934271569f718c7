#include "backends/cc/compiler.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>

#include <fmt/format.h>

#include "support/file.h"
#include "support/run_program.h"

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

std::string first_lines(const std::string& text, size_t lines) {
    size_t end = 0;
    for (size_t i = 0; i < lines && end != std::string::npos; i++) end = text.find('\n', end + (i > 0));
    return text.substr(0, end);
}

}  // namespace

LoadedLibrary::~LoadedLibrary() {
    if (handle_) ::dlclose(handle_);
}

void* LoadedLibrary::find(const std::string& name) const { return ::dlsym(handle_, name.c_str()); }

std::optional<CCompiler> CCompiler::find() {
    for (const char* program : {"/usr/bin/gcc", "/usr/bin/clang", "/usr/local/bin/gcc", "/usr/local/bin/clang"}) {
        if (::access(program, X_OK) != 0) continue;
        const ProgramEnd end = run_program({program, "--version"});
        if (!end.succeeded()) continue;
        CCompiler compiler{program, first_lines(end.said, 1)};
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
    std::vector<std::string> command{program};
    command.insert(command.end(), flags.begin(), flags.end());
    for (const char* flag : {"-ffp-contract=off", "-w", "-Wno-psabi", "-fPIC", "-shared", "-o"})
        command.push_back(flag);
    command.insert(command.end(), {library, source, "-lm"});
    const ProgramEnd end = run_program(command);
    if (!end.succeeded()) return refused(end.problem.empty() ? first_lines(end.said, 5) : end.problem);
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
