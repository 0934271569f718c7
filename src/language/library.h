// The operators that a session knows: folders of template files, and the user's own files.
//
// Names. Core folders and user files share one namespace: `find` looks in the user's files, last added first, then in the
// core folders in the order added. ONNX folders are a namespace of their own, found by `find_onnx` (user files with an
// `onnx:` key too, and they win). A name inside a `graph:` is looked up by `find_from`: the core namespace first; if it is
// unknown there and the composition is an ONNX template, the ONNX namespace. So an ONNX composition may use core operators
// of any name, and helpers of its own folder whose names are not core names.
//
// Files of folders are opened when a name that occurs in them as a key is first asked for; adding a folder only lists
// words. Answers point into the library, stay valid as long as it lives, and do not depend on the order of questions.
// Functions may be called from several threads.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "language/template.h"

namespace heddle {

class Library {
public:
    Library();
    ~Library();
    Library(Library&&) noexcept;
    Library& operator=(Library&&) noexcept;

    // All *.yaml of the folder itself (not of folders below it), in name order.
    Result<void> add_folder(const std::filesystem::path& folder, Namespace space = Namespace::core);
    // A user's file: read whole at once. Its operators override those of the same name. An import is looked up next to it.
    Result<void> add_file(const std::filesystem::path& file);
    // The same from memory (imports are not possible).
    Result<void> add_source(std::shared_ptr<const SourceText> source);

    // Codes: language.unknown_operator; whatever the file holds; language.composition_cycle and
    // language.unknown_operator inside a composition, checked when it is first handed out.
    Result<const Template*> find(const std::string& name) const;
    // The template for a bare operator name in the `graph:` of `composition`.
    Result<const Template*> find_from(const Template& composition, const std::string& name) const;
    // Of several with one name the greatest `since` not above `opset`. "ai.onnx" is the domain "".
    // Codes: language.unknown_onnx_operator, language.onnx_version.
    Result<const Template*> find_onnx(const std::string& domain, const std::string& name, int64_t opset) const;

    // Sorted names of the core namespace. Opens every file; a file with errors contributes nothing.
    std::vector<std::string> names() const;
    // Sorted "domain::name" (or "name") of all ONNX operators. Opens every file.
    std::vector<std::string> onnx_names() const;
    // Rewrite rules of the user's files, in order.
    std::vector<const RewriteRule*> rewrites() const;
    // Opens and checks every file and composition: all errors of the library.
    Result<void> check_all() const;

private:
    struct State;
    std::unique_ptr<State> state_;
};

// The folder of the operator library that the program comes with, with its ONNX folder if there is one.
Result<Library> open_library(const std::filesystem::path& operators_folder);

}  // namespace heddle
