// What a library holds, and how it finds and checks operators: of library.cpp alone.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <tuple>
#include <string_view>
#include <vector>

#include "language/library.h"

namespace heddle {

using TemplatePointer = std::shared_ptr<const Template>;

inline constexpr std::string_view core_library = "core";

// A file of a folder: its words are known, its templates when asked for.
struct FolderFile {
    std::shared_ptr<const SourceText> source;
    Namespace space = Namespace::core;
    std::set<std::string> words;
    bool opened = false;
    LoadedFile loaded;
    Diagnostics errors;
};

struct UserLibrary {
    std::string name;
    std::filesystem::path path;  // empty: from memory
    std::vector<std::unique_ptr<LoadedFile>> files;
};

// With those of what it imports.
void collect_templates(const LoadedFile& file, std::vector<const Template*>& into);

struct Library::State {
    mutable std::mutex mutex;
    std::vector<std::unique_ptr<FolderFile>> folder_files;  // in the order of look-up
    std::vector<UserLibrary> libraries;                     // in the order added
    std::map<const Template*, Diagnostics> checked;         // compositions, with what is wrong with them
    std::map<std::tuple<std::string, std::string, int64_t>, const Template*> onnx_found;  // by domain, name, opset

    void forget_answers() { checked.clear(), onnx_found.clear(); }

    static const LoadedFile* open(FolderFile& file);
    static const Template* find_in_library(const UserLibrary& library, const std::string& name);
    const UserLibrary* library_named(const std::string& name) const;
    const Template* find_in_users(const std::string& name, Diagnostics& errors) const;
    // `library::name`.
    const Template* find_qualified(const std::string& full, size_t colons, Diagnostics& errors);
    // Null if unknown. The errors of files that could have defined the name are added to `errors`.
    const Template* find_in_folders(Namespace space, const std::string& name, Diagnostics& errors);
    const Template* find_core(const std::string& name, Diagnostics& errors);
    // Without the check of what is found.
    const Template* find_for(const Template& composition, const std::string& name, Diagnostics& errors);
    std::vector<const Template*> all_templates(Namespace space, bool with_users);
    std::vector<std::string> core_names();
    Diagnostic unknown_operator(const std::string& name, const Place& place);

    // A call's arguments against the operator's signature.
    static void check_arguments(const Syntax& call, const Template& target, Diagnostics& errors);
    // An operator that joins partial results takes two tensors and gives one.
    void check_combiner(const Template& made, const Reduces& reduces, Diagnostics& errors);
    // All operators that a composition, a gradient rule or `reduces` names exist and take what they are given, and
    // those of a composition do not lead back to it.
    const Diagnostics& check_composition(const Template& composition);
    static std::string key_of(const Template& made);
    void check_cycle(const Template& start, Diagnostics& errors);
    Result<const Template*> checked_answer(const Template* made);

    void add_onnx(const LoadedFile& file, const std::string& domain, const std::string& name,
                  std::vector<const Template*>& found) const;
    // Candidates of any version; the user's own, if there are any, hide the library's.
    std::vector<const Template*> onnx_candidates(const std::string& domain, const std::string& name,
                                                 Diagnostics& errors);
    std::vector<const Template*> all_onnx();
};

}  // namespace heddle
