// The C compiler of this machine, as a program that is called.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "support/diagnostic.h"

namespace heddle::backends {

// What is loaded from a shared library; its functions live as long.
class LoadedLibrary {
public:
    explicit LoadedLibrary(void* handle) : handle_(handle) {}
    ~LoadedLibrary();
    LoadedLibrary(const LoadedLibrary&) = delete;
    LoadedLibrary& operator=(const LoadedLibrary&) = delete;
    void* find(const std::string& name) const;  // null: it has no such function

private:
    void* handle_ = nullptr;
};

struct CCompiler {
    std::string program;  // its file
    std::string version;  // the first line of what it says of itself

    // GCC or clang, which know the vector extensions that our C uses: the first of a few files of /usr/bin. None: there is
    // no such compiler.
    static std::optional<CCompiler> find();
    // One file of C as a library of this process. Codes: backends.c_compiler (it does not run, or refuses the text),
    // backends.link (what it made does not load).
    Result<std::shared_ptr<LoadedLibrary>> compile(const std::string& text,
                                                   const std::vector<std::string>& flags) const;
};

}  // namespace heddle::backends
