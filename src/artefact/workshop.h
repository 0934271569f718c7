// Where files are made before they are moved to the folder that is asked for, all or none.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "artefact/artefact.h"
#include "support/diagnostic.h"

namespace heddle::artefact {

// A folder in the one that is asked for, which is gone in the end; so is that one, if it was made and nothing came of it.
class Workshop {
public:
    Workshop() = default;
    ~Workshop();
    Workshop(const Workshop&) = delete;
    Workshop& operator=(const Workshop&) = delete;

    // Code artefact.folder.
    Result<void> open(const std::filesystem::path& folder);
    std::string file(const std::string& name) const { return (path_ / name).string(); }
    std::string path() const { return path_.string(); }
    // Files of these names, to the folder. Code artefact.folder.
    Result<void> move_all(const std::vector<std::string>& names) const;
    // What the file will be, with its bytes.
    WrittenFile written(const std::string& name) const;
    // Of their names and contents.
    Result<std::string> digest_of(const std::vector<std::string>& names) const;

private:
    std::filesystem::path folder_, path_, made_;
};

}  // namespace heddle::artefact
