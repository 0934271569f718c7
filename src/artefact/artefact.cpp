#include "artefact/artefact.h"

#include <cctype>
#include <filesystem>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "artefact/c_writer.h"
#include "artefact/linked_code.h"
#include "artefact/manifest.h"
#include "artefact/workshop.h"
#include "support/file.h"

namespace heddle::artefact {
namespace {

namespace fs = std::filesystem;

class ArtefactWriter {
public:
    ArtefactWriter(const Program& program, const std::string& folder, const ArtefactOptions& options)
        : program_(program), folder_(folder), options_(options) {}

    Result<std::vector<WrittenFile>> write() {
        auto driver = read_driver(options_.driver_folder);
        if (!driver) return fail(std::move(driver.error()));
        driver_ = std::move(*driver);
        if (auto open = workshop_.open(folder_); !open) return fail(std::move(open.error()));
        if (auto made = make_files(); !made) return fail(std::move(made.error()));
        for (const std::string& name : made_) files_.push_back(workshop_.written(name));
        auto digest = workshop_.digest_of(made_);
        if (!digest) return fail(std::move(digest.error()));
        const std::string manifest = program_.name + ".json";
        const std::string text = manifest_text(manifest_of(program_, options_, files_, *digest));
        if (auto done = add(manifest, text); !done) return fail(std::move(done.error()));
        files_.push_back(workshop_.written(manifest));
        if (auto moved = workshop_.move_all(made_); !moved) return fail(std::move(moved.error()));
        return std::move(files_);
    }

private:
    Result<void> add(const std::string& name, std::string_view text) {
        made_.push_back(name);
        return write_file(workshop_.file(name), text);
    }

    Result<void> make_files() {
        const std::string& name = program_.name;
        if (auto done = add(name + ".h", header_text(program_, driver_)); !done) return done;
        const bool in_c = options_.emit == Emit::c;
        if (options_.weights_beside || !in_c) {
            if (auto done = write_weights({&program_, 1}, workshop_.file(name + ".weights")); !done) return done;
        }
        if (options_.weights_beside) made_.push_back(name + ".weights");
        const WeightsIn weights = options_.weights_beside ? WeightsIn::beside
                                  : in_c                  ? WeightsIn::text
                                                          : WeightsIn::assembly;
        const std::string text = c_text(program_, driver_, {in_c, weights, workshop_.file(name + ".weights")});
        if (in_c) return add(name + ".c", text);
        if (auto done = write_file(workshop_.file(name + ".c"), text); !done) return done;
        return link();
    }

    Result<void> link() {
        auto kernels = write_kernels(program_, workshop_, options_);
        if (!kernels) return fail(std::move(kernels.error()));
        auto made = link_code(program_.name, *kernels, workshop_, options_);
        if (!made) return fail(std::move(made.error()));
        made_.push_back(std::move(*made));
        return {};
    }

    const Program& program_;
    const fs::path folder_;
    const ArtefactOptions& options_;
    DriverTexts driver_;
    Workshop workshop_;
    std::vector<std::string> made_;
    std::vector<WrittenFile> files_;
};

}  // namespace

Result<std::vector<WrittenFile>> write_artefact(const Program& program, const std::string& folder,
                                                const ArtefactOptions& options) {
    return ArtefactWriter(program, folder, options).write();
}

std::string identifier_of(const std::string& text) {
    std::string name;
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        const bool word = byte < 0x80 && std::isalnum(byte) != 0;
        if (word)
            name += static_cast<char>(std::tolower(byte));
        else if (!name.empty() && name.back() != '_')
            name += '_';
    }
    while (name.ends_with('_')) name.pop_back();
    if (name.empty() || std::isdigit(static_cast<unsigned char>(name[0])) != 0) name.insert(0, "program_");
    return name;
}

}  // namespace heddle::artefact
