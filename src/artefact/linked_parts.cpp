#include "artefact/linked_parts.h"

#include "artefact/c_compiler.h"
#include "support/file.h"

namespace heddle::artefact {

Result<void> LinkedParts::add_text(const std::string& name, const std::string& text) {
    made_.push_back(name);
    return write_file(workshop_.file(name), text);
}

Result<void> LinkedParts::add(const Program& part, Emit emit, const std::vector<std::string>& flags) {
    ArtefactOptions options = options_;
    options.emit = emit;
    options.weights_beside = false;
    const std::string& name = part.name;
    auto files = write_artefact(part, workshop_.path(), options);
    if (!files) return fail(std::move(files.error()));
    made_.push_back(name + ".h");
    made_.push_back(name + (emit == Emit::c ? ".c" : ".o"));
    if (emit != Emit::c) {
        objects_.push_back(workshop_.file(name + ".o"));
        return {};
    }
    std::vector<std::string> command{options_.compiler};
    command.insert(command.end(), flags.begin(), flags.end());
    command.insert(command.end(), options_.flags.begin(), options_.flags.end());
    objects_.push_back(workshop_.file(name + ".c.o"));
    for (const char* flag : {"-std=gnu11", "-fPIC", "-w", "-fvisibility=hidden", "-c"}) command.push_back(flag);
    command.insert(command.end(), {workshop_.file(name + ".c"), "-o", objects_.back()});
    return run_c_compiler(command, name + ".c");
}

Result<void> LinkedParts::link(const std::string& name) {
    const std::string made = "lib" + name + ".so";
    std::vector<std::string> command{options_.compiler};
    command.insert(command.end(), options_.flags.begin(), options_.flags.end());
    for (const char* flag : {"-std=gnu11", "-O2", "-fPIC", "-fvisibility=hidden", "-fno-builtin", "-shared",
                             "-nostdlib", "-Wl,--build-id=none", "-Wl,-z,noexecstack", "-Wl,-s"})
        command.push_back(flag);
    command.insert(command.end(), {"-Wl,-soname," + made, "-I" + workshop_.path(), workshop_.file(name + ".c")});
    command.insert(command.end(), objects_.begin(), objects_.end());
    command.insert(command.end(), {"-o", workshop_.file(made), "-lgcc"});
    made_.push_back(made);
    return run_c_compiler(command, made);
}

}  // namespace heddle::artefact
