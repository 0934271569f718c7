// The operators that a session knows: folders of template files, and the user's own libraries.
//
// Names. A user's library is a file or a folder and has a namespace: `mine::swish` is the operator of `mine` alone, and
// `core::swish` that of the core folders. A bare name is looked for in the library of the composition that uses it (the
// core folders, if it is one of theirs), then in all of the user's libraries (in two of them: an error that names
// both), then in the core folders in the order added. A program of calls belongs to no library: the user's come first.
// ONNX folders are a namespace of their own, found by `find_onnx` (user files with an `onnx:` key too, and they win). A
// name inside a `graph:` is looked up by `find_from`; if it is unknown so far and the composition is an ONNX template,
// in the ONNX namespace. So an ONNX composition may use core operators of any name, and helpers of its own folder whose
// names are not core names.
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
    // A user's library: a file, or all *.yaml of a folder, read whole at once. Its operators override the core's. An
    // import is looked up next to the file. The namespace is `name`, by default the file's or folder's name as an
    // identifier. The same path again changes nothing. Answers the namespace. Code language.library_name: a namespace
    // that is taken, or no identifier.
    Result<std::string> add_library(const std::filesystem::path& path, const std::string& name = {});
    // The same from memory (imports are not possible); another source of the same name overrides it.
    Result<void> add_source(std::shared_ptr<const SourceText> source);

    // Codes: language.unknown_operator, language.ambiguous_operator, language.unknown_library; whatever the file holds;
    // language.composition_cycle and language.unknown_operator inside a composition, checked when it is first handed
    // out.
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
    // Rewrite rules: those of core folders, then those of the user's libraries, in order. Files with errors have none.
    std::vector<const RewriteRule*> rewrites() const;
    // The texts that the library has read, with what they import, in an order that is always the same: all that
    // operators follow from. Folders' files import nothing that is not among them.
    std::vector<std::shared_ptr<const SourceText>> sources() const;
    // Opens and checks every file and composition: all errors of the library.
    Result<void> check_all() const;

private:
    struct State;
    std::unique_ptr<State> state_;
};

// The folder of the operator library that the program comes with, with its ONNX folder if there is one.
Result<Library> open_library(const std::filesystem::path& operators_folder);

}  // namespace heddle
