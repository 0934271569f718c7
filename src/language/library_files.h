// Finding and reading the files of a library.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "support/diagnostic.h"

namespace heddle {

Diagnostic complaint(std::string code, std::string summary, Place place, std::string remedy);

// Codes: language.file, language.too_large.
Result<std::shared_ptr<const SourceText>> read_text(const std::filesystem::path& path, const Place& place);

// All *.yaml of a folder itself, in name order. Code: language.file.
Result<std::vector<std::filesystem::path>> template_files(const std::filesystem::path& folder);

// What the file of `place` imports: files beside it or below it. Codes: language.import, and those of read_text.
Result<std::shared_ptr<const SourceText>> read_beside(const std::string& name, const Place& place);

}  // namespace heddle
