// Compiles C text with gcc into a shared object and loads it. Tests only.
#pragma once

#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <memory>
#include <string>

namespace heddle::backends {

class GccLibrary {
public:
    // Null functions if gcc refused the text; its words are then in `error`.
    explicit GccLibrary(const std::string& text, const std::string& flags = "-O1") {
        char folder[] = "/tmp/heddle_gcc_XXXXXX";
        if (!mkdtemp(folder)) return;
        const std::string base = std::string(folder) + "/kernels";
        std::ofstream(base + ".c") << text;
        const std::string command = "gcc " + flags +
                                    " -march=native -ffp-contract=off -w -Wno-psabi -fPIC -shared -o " + base + ".so " +
                                    base + ".c -lm 2> " + base + ".txt";
        if (std::system(command.c_str()) == 0) library_ = dlopen((base + ".so").c_str(), RTLD_NOW | RTLD_LOCAL);
        std::ifstream words(base + ".txt");
        error.assign(std::istreambuf_iterator<char>(words), {});
        for (const char* ending : {".c", ".so", ".txt"}) unlink((base + ending).c_str());
        rmdir(folder);
    }
    ~GccLibrary() {
        if (library_) dlclose(library_);
    }
    GccLibrary(const GccLibrary&) = delete;
    GccLibrary& operator=(const GccLibrary&) = delete;

    template <typename Function>
    Function function(const std::string& name) const {
        return library_ ? reinterpret_cast<Function>(dlsym(library_, name.c_str())) : nullptr;
    }

    std::string error;

private:
    void* library_ = nullptr;
};

}  // namespace heddle::backends
