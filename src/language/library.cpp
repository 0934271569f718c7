#include "language/library.h"

#include <algorithm>
#include <functional>
#include <map>
#include <mutex>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "language/checks.h"
#include "language/library_files.h"
#include "language/library_index.h"

namespace heddle {

namespace fs = std::filesystem;

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
    fs::path path;  // empty: from memory
    std::vector<std::unique_ptr<LoadedFile>> files;
};

namespace {

using TemplatePointer = std::shared_ptr<const Template>;

constexpr std::string_view core_library = "core";
constexpr size_t most_suggested = 4;  // names in a remedy

// "ops" of "path/to/ops.yaml" or "path/to/ops", with _ for what no identifier has.
std::string namespace_of(const fs::path& path) {
    fs::path named = path.has_filename() ? path : path.parent_path();
    std::string name = named.extension() == ".yaml" ? named.stem().string() : named.filename().string();
    for (char& letter : name) {
        if (!std::isalnum(static_cast<unsigned char>(letter))) letter = '_';
    }
    if (name.empty() || std::isdigit(static_cast<unsigned char>(name[0]))) name.insert(0, "_");
    return name;
}

void collect_templates(const LoadedFile& file, std::vector<const Template*>& into) {
    for (const TemplatePointer& made : file.templates) into.push_back(made.get());
    for (const auto& imported : file.imports) collect_templates(*imported, into);
}

}  // namespace

// ---------------------------------------------------------------- look-up

struct Library::State {
    mutable std::mutex mutex;
    std::vector<std::unique_ptr<FolderFile>> folder_files;  // in the order of look-up
    std::vector<UserLibrary> libraries;                     // in the order added
    std::map<const Template*, Diagnostics> checked;         // compositions, with what is wrong with them

    static const LoadedFile* open(FolderFile& file) {
        if (!file.opened) {
            file.opened = true;
            auto loaded = load_template_file(file.source, file.space, read_beside);
            if (loaded) {
                file.loaded = std::move(*loaded);
            } else {
                file.errors = std::move(loaded.error());
            }
        }
        return file.errors.empty() ? &file.loaded : nullptr;
    }

    static const Template* find_in_library(const UserLibrary& library, const std::string& name) {
        for (auto file = library.files.rbegin(); file != library.files.rend(); ++file) {
            std::vector<const Template*> templates;
            collect_templates(**file, templates);
            for (const Template* made : templates) {
                if (made->name == name) return made;
            }
        }
        return nullptr;
    }

    const UserLibrary* library_named(const std::string& name) const {
        for (const UserLibrary& library : libraries) {
            if (library.name == name) return &library;
        }
        return nullptr;
    }

    const Template* find_in_users(const std::string& name, Diagnostics& errors) const {
        std::vector<const Template*> found;
        for (const UserLibrary& library : libraries) {
            if (const Template* made = find_in_library(library, name)) found.push_back(made);
        }
        if (found.size() < 2) return found.empty() ? nullptr : found[0];
        std::vector<std::string> full;
        for (const Template* made : found) full.push_back(made->library + "::" + name);
        errors.push_back(complaint("language.ambiguous_operator",
                                   fmt::format("{} libraries have an operator `{}`", found.size(), name), {},
                                   fmt::format("write {}", fmt::join(full, " or "))));
        for (const Template* made : found)
            errors.back().contexts.push_back({fmt::format("of {} here", made->library), made->place});
        return nullptr;
    }

    // `library::name`.
    const Template* find_qualified(const std::string& full, size_t colons, Diagnostics& errors) {
        std::string space = full.substr(0, colons), name = full.substr(colons + 2);
        if (space == core_library) return find_in_folders(Namespace::core, name, errors);
        if (const UserLibrary* library = library_named(space)) return find_in_library(*library, name);
        std::vector<std::string> names{std::string(core_library)};
        for (const UserLibrary& library : libraries) names.push_back(library.name);
        errors.push_back(
            complaint("language.unknown_library", fmt::format("no library is named `{}`", space), {},
                      fmt::format("the libraries are {}; give another by --library", fmt::join(names, ", "))));
        return nullptr;
    }

    // Null if unknown. The errors of files that could have defined the name are added to `errors`.
    const Template* find_in_folders(Namespace space, const std::string& name, Diagnostics& errors) {
        for (auto& file : folder_files) {
            if (file->space != space || !file->words.contains(name)) continue;
            const LoadedFile* loaded = open(*file);
            if (!loaded) {
                errors.insert(errors.end(), file->errors.begin(), file->errors.end());
                continue;
            }
            for (const TemplatePointer& made : loaded->templates) {
                if (made->name == name) return made.get();
            }
        }
        return nullptr;
    }

    const Template* find_core(const std::string& name, Diagnostics& errors) {
        if (size_t colons = name.find("::"); colons != std::string::npos) return find_qualified(name, colons, errors);
        if (const Template* made = find_in_users(name, errors); made || !errors.empty()) return made;
        return find_in_folders(Namespace::core, name, errors);
    }

    // Without the check of what is found.
    const Template* find_for(const Template& composition, const std::string& name, Diagnostics& errors) {
        if (const UserLibrary* own = composition.library.empty() ? nullptr : library_named(composition.library)) {
            if (const Template* made = find_in_library(*own, name)) return made;
        }
        // What we ship means what we ship, whatever names users give to theirs.
        const bool shipped = composition.library.empty() && !composition.is_program;
        if (shipped && name.find("::") == std::string::npos) {
            if (const Template* made = find_in_folders(Namespace::core, name, errors)) return made;
        }
        if (const Template* made = find_core(name, errors); made || !errors.empty()) return made;
        return composition.space == Namespace::onnx ? find_in_folders(Namespace::onnx, name, errors) : nullptr;
    }

    std::vector<const Template*> all_templates(Namespace space, bool with_users) {
        std::vector<const Template*> templates;
        if (with_users) {
            for (const UserLibrary& library : libraries) {
                for (const auto& file : library.files) collect_templates(*file, templates);
            }
        }
        for (auto& file : folder_files) {
            if (file->space != space) continue;
            if (const LoadedFile* loaded = open(*file)) {
                for (const TemplatePointer& made : loaded->templates) templates.push_back(made.get());
            }
        }
        return templates;
    }

    std::vector<std::string> core_names() {
        std::set<std::string> names;
        for (const Template* made : all_templates(Namespace::core, true)) names.insert(made->name);
        return {names.begin(), names.end()};
    }

    Diagnostic unknown_operator(const std::string& name, const Place& place) {
        std::vector<std::string> known = core_names();
        std::string nearest = nearest_name(name, known);
        // reduce_sum for sum: names that have the whole word are closer than one with few other letters.
        std::vector<std::string> longer;
        std::ranges::copy_if(known, std::back_inserter(longer), [&](const std::string& candidate) {
            return candidate.ends_with("_" + name) || candidate.starts_with(name + "_");
        });
        if (longer.size() > most_suggested) longer.resize(most_suggested);
        if (!longer.empty()) nearest = fmt::format("{}", fmt::join(longer, " or "));
        Diagnostic diagnostic = complaint(
            "language.unknown_operator", fmt::format("no operator is named `{}`", name), place,
            nearest.empty() ? "give the file that defines it by --library" : fmt::format("did you mean {}?", nearest));
        diagnostic.params = {{"operator", name}};
        if (!nearest.empty()) diagnostic.params.emplace_back("nearest", nearest);
        return diagnostic;
    }

    // ---- compositions

    // A call's arguments against the operator's signature.
    static void check_arguments(const Syntax& call, const Template& target, Diagnostics& errors) {
        for (const NamedArgument& argument : call.named) {
            if (target.parameter(argument.name)) continue;
            std::vector<std::string> names;
            for (const Parameter& parameter : target.params) names.push_back(parameter.name);
            std::string nearest = nearest_name(argument.name, names);
            errors.push_back(complaint(
                "language.unknown_parameter", fmt::format("`{}` has no parameter `{}`", target.name, argument.name),
                argument.place, nearest.empty() ? "" : fmt::format("did you mean {}?", nearest)));
        }
        bool variadic = !target.inputs.empty() && target.inputs.back().variadic;
        if (variadic || call.children.size() <= target.inputs.size()) return;
        errors.push_back(complaint("language.operator_arguments",
                                   fmt::format("`{}` takes {} tensors", target.name, target.inputs.size()), call.place,
                                   "parameters are written after their names: axis: 1"));
        errors.back().found = std::to_string(call.children.size());
    }

    // An operator that joins partial results takes two tensors and gives one.
    void check_combiner(const Template& made, const Reduces& reduces, Diagnostics& errors) {
        if (is_combiner(reduces.combiner)) return;
        Diagnostics file_errors;
        const Template* target = find_for(made, reduces.combiner, file_errors);
        if (!target) {
            errors.insert(errors.end(), file_errors.begin(), file_errors.end());
            if (file_errors.empty()) errors.push_back(unknown_operator(reduces.combiner, reduces.combiner_place));
            return;
        }
        bool lists = std::ranges::any_of(target->inputs, &TensorSpec::variadic);
        if (target->inputs.size() == 2 && !lists && target->outputs.size() == 1) return;
        errors.push_back(complaint("language.reduces",
                                   fmt::format("`{}` does not join two partial results", reduces.combiner),
                                   reduces.combiner_place, "name an operator of two tensors that gives one"));
        errors.back().found =
            fmt::format("{} inputs and {} outputs", lists ? "any number of" : std::to_string(target->inputs.size()),
                        target->outputs.size());
        errors.back().expected = "2 inputs and 1 output";
    }

    // All operators that a composition, a gradient rule or `reduces` names exist and take what they are given, and
    // those of a composition do not lead back to it.
    const Diagnostics& check_composition(const Template& composition) {
        auto [known, fresh] = checked.try_emplace(&composition);
        if (!fresh) return known->second;
        Diagnostics errors;
        for (const Syntax* call : operator_calls(composition)) {
            Diagnostics file_errors;
            if (const Template* target = find_for(composition, call->text, file_errors)) {
                check_arguments(*call, *target, errors);
            } else if (!file_errors.empty()) {
                errors.insert(errors.end(), file_errors.begin(), file_errors.end());
            } else {
                errors.push_back(unknown_operator(call->text, call->mark));
            }
        }
        for (const Reduces& reduces : composition.reduces) check_combiner(composition, reduces, errors);
        if (composition.is_composition()) check_cycle(composition, errors);
        known->second = std::move(errors);
        return known->second;
    }

    static std::string key_of(const Template& made) {
        return made.space == Namespace::onnx ? "onnx " + made.name
               : made.library.empty()        ? made.name
                                             : made.library + "::" + made.name;
    }

    void check_cycle(const Template& start, Diagnostics& errors) {
        std::map<std::string, std::vector<std::string>> uses;
        std::vector<const Template*> open = {&start};
        while (!open.empty()) {
            const Template* made = open.back();
            open.pop_back();
            auto [list, fresh] = uses.try_emplace(key_of(*made));
            if (!fresh) continue;
            for (const Syntax* call : operator_calls(*made)) {
                Diagnostics ignored;
                const Template* target = find_for(*made, call->text, ignored);
                if (!target || !target->is_composition()) continue;
                list->second.push_back(key_of(*target));
                open.push_back(target);
            }
        }
        find_cycles({key_of(start)}, uses, [&](const std::vector<std::string>& cycle) {
            errors.push_back(complaint("language.composition_cycle",
                                       fmt::format("the composition `{}` is made of itself", start.name), start.place,
                                       "give one of them a body"));
            errors.back().reason = fmt::format("{} uses {}", fmt::join(cycle, " uses "), cycle.front());
        });
    }

    Result<const Template*> checked_answer(const Template* made) {
        if (!made->is_composition() && made->grad.empty() && made->reduces.empty()) return made;
        const Diagnostics& errors = check_composition(*made);
        if (!errors.empty()) return fail(errors);
        return made;
    }

    // ---- ONNX

    void add_onnx(const LoadedFile& file, const std::string& domain, const std::string& name,
                  std::vector<const Template*>& found) const {
        std::vector<const Template*> templates;
        collect_templates(file, templates);
        for (const Template* made : templates) {
            if (made->onnx && made->onnx->domain == domain && made->onnx->name == name) found.push_back(made);
        }
    }

    // Candidates of any version; the user's own, if there are any, hide the library's.
    std::vector<const Template*> onnx_candidates(const std::string& domain, const std::string& name,
                                                 Diagnostics& errors) {
        std::vector<const Template*> found;
        for (auto library = libraries.rbegin(); library != libraries.rend() && found.empty(); ++library) {
            for (const auto& file : library->files) add_onnx(*file, domain, name, found);
        }
        if (!found.empty()) return found;
        for (auto& file : folder_files) {
            if (file->space != Namespace::onnx || !file->words.contains(name)) continue;
            if (const LoadedFile* loaded = open(*file)) {
                add_onnx(*loaded, domain, name, found);
            } else {
                errors.insert(errors.end(), file->errors.begin(), file->errors.end());
            }
        }
        return found;
    }

    std::vector<const Template*> all_onnx() {
        std::vector<const Template*> templates = all_templates(Namespace::onnx, true);
        std::erase_if(templates, [](const Template* made) { return !made->onnx; });
        return templates;
    }
};

// ---------------------------------------------------------------- interface

Library::Library() : state_(std::make_unique<State>()) {}
Library::~Library() = default;
Library::Library(Library&&) noexcept = default;
Library& Library::operator=(Library&&) noexcept = default;

Result<void> Library::add_folder(const fs::path& folder, Namespace space) {
    std::lock_guard lock(state_->mutex);
    auto paths = template_files(folder);
    if (!paths) return fail(std::move(paths.error()));
    for (const fs::path& path : *paths) {
        auto source = read_text(path, {});
        if (!source) return fail(std::move(source.error()));
        auto file = std::make_unique<FolderFile>();
        file->source = std::move(*source);
        file->space = space;
        file->words = index_words(file->source->text());
        state_->folder_files.push_back(std::move(file));
    }
    state_->checked.clear();
    return {};
}

namespace {

// An operator may be defined once in a library; what several files import is one definition.
void check_duplicates(const UserLibrary& library, Diagnostics& problems) {
    std::map<std::string, const Template*> seen;
    for (const auto& file : library.files) {
        std::vector<const Template*> templates;
        collect_templates(*file, templates);
        for (const Template* made : templates) {
            auto [other, fresh] = seen.try_emplace(made->name, made);
            const Place &a = other->second->place, &b = made->place;
            if (fresh || (a.source->name() == b.source->name() && a.offset == b.offset)) continue;
            if (library.files.size() == 1) continue;  // a file's own operators hide those that it imports
            problems.push_back(complaint("language.duplicate_operator",
                                         fmt::format("two operators of `{}` are named `{}`", library.name, made->name),
                                         b, "rename one of the two"));
            problems.back().contexts.push_back({"the other is here", a});
        }
    }
}

}  // namespace

Result<std::string> Library::add_library(const fs::path& path, const std::string& name) {
    UserLibrary library{name.empty() ? namespace_of(path) : name, path.lexically_normal(), {}};
    std::lock_guard lock(state_->mutex);
    const UserLibrary* taken = state_->library_named(library.name);
    if (taken && taken->path == library.path) return library.name;
    if (taken || library.name == core_library || namespace_of(library.name) != library.name) {
        return fail(complaint("language.library_name",
                              taken ? fmt::format("two libraries are named `{}`", library.name)
                                    : fmt::format("`{}` cannot be the name of a library", library.name),
                              {}, fmt::format("name it: other_name={}", path.string())));
    }
    std::error_code status;
    auto paths = fs::is_directory(path, status) ? template_files(path) : Result<std::vector<fs::path>>({path});
    if (!paths) return fail(std::move(paths.error()));
    Diagnostics problems;
    for (const fs::path& file : *paths) {
        auto source = read_text(file, {});
        auto loaded = source ? load_template_file(*source, Namespace::core, read_beside, library.name)
                             : Result<LoadedFile>(std::unexpected(source.error()));
        if (loaded)
            library.files.push_back(std::make_unique<LoadedFile>(std::move(*loaded)));
        else
            problems.insert(problems.end(), loaded.error().begin(), loaded.error().end());
    }
    check_duplicates(library, problems);
    if (!problems.empty()) return fail(std::move(problems));
    state_->libraries.push_back(std::move(library));
    state_->checked.clear();
    return state_->libraries.back().name;
}

Result<void> Library::add_source(std::shared_ptr<const SourceText> source) {
    std::string name = namespace_of(source->name());
    auto loaded = load_template_file(std::move(source), Namespace::core, {}, name);
    if (!loaded) return fail(std::move(loaded.error()));
    std::lock_guard lock(state_->mutex);
    auto same = std::find_if(state_->libraries.begin(), state_->libraries.end(),
                             [&](const UserLibrary& library) { return library.name == name; });
    if (same == state_->libraries.end()) same = state_->libraries.insert(same, UserLibrary{name, {}, {}});
    same->files.push_back(std::make_unique<LoadedFile>(std::move(*loaded)));
    state_->checked.clear();
    return {};
}

Result<const Template*> Library::find(const std::string& name) const {
    std::lock_guard lock(state_->mutex);
    Diagnostics errors;
    if (const Template* made = state_->find_core(name, errors)) return state_->checked_answer(made);
    if (!errors.empty()) return fail(std::move(errors));
    return fail(state_->unknown_operator(name, {}));
}

Result<const Template*> Library::find_from(const Template& composition, const std::string& name) const {
    std::lock_guard lock(state_->mutex);
    Diagnostics errors;
    if (const Template* made = state_->find_for(composition, name, errors)) return state_->checked_answer(made);
    if (!errors.empty()) return fail(std::move(errors));
    return fail(state_->unknown_operator(name, composition.place));
}

Result<const Template*> Library::find_onnx(const std::string& domain, const std::string& name, int64_t opset) const {
    std::lock_guard lock(state_->mutex);
    std::string plain_domain = domain == "ai.onnx" ? "" : domain;
    Diagnostics errors;
    std::vector<const Template*> found = state_->onnx_candidates(plain_domain, name, errors);
    const Template* best = nullptr;
    for (const Template* made : found) {
        if (made->onnx->since <= opset && (!best || made->onnx->since > best->onnx->since)) best = made;
    }
    if (best) return state_->checked_answer(best);
    if (!errors.empty()) return fail(std::move(errors));
    if (!found.empty()) {
        return fail(complaint("language.onnx_version",
                              fmt::format("no template stands for {} of opset {}", name, opset), found.front()->place,
                              "convert the model to a newer opset, or write a template with a lower `since`"));
    }
    std::vector<std::string> names;
    for (const Template* made : state_->all_onnx()) {
        if (made->onnx->domain == plain_domain) names.push_back(made->onnx->name);
    }
    std::sort(names.begin(), names.end());
    std::string nearest = nearest_name(name, names);
    std::string full = plain_domain.empty() ? name : plain_domain + "::" + name;
    Diagnostic diagnostic = complaint(
        "language.unknown_onnx_operator", fmt::format("no template stands for the ONNX operator {}", full), {},
        fmt::format("write a template with onnx: {{domain: \"{}\", name: {}, since: {}}}", plain_domain, name, opset));
    if (!nearest.empty()) diagnostic.remedy = fmt::format("did you mean {}? Or ", nearest) + diagnostic.remedy;
    diagnostic.params = {{"domain", plain_domain}, {"operator", name}, {"opset", std::to_string(opset)}};
    return fail(std::move(diagnostic));
}

std::vector<std::string> Library::names() const {
    std::lock_guard lock(state_->mutex);
    return state_->core_names();
}

std::vector<std::string> Library::onnx_names() const {
    std::lock_guard lock(state_->mutex);
    std::set<std::string> names;
    for (const Template* made : state_->all_onnx()) {
        const OnnxKey& key = *made->onnx;
        names.insert(key.domain.empty() ? key.name : key.domain + "::" + key.name);
    }
    return {names.begin(), names.end()};
}

std::vector<const RewriteRule*> Library::rewrites() const {
    std::lock_guard lock(state_->mutex);
    std::vector<const RewriteRule*> rules;
    auto add = [&](const LoadedFile& file) {
        for (const RewriteRule& rule : file.rewrites) rules.push_back(&rule);
    };
    for (auto& file : state_->folder_files) {
        if (file->space != Namespace::core || !file->words.contains("rewrites")) continue;
        if (const LoadedFile* loaded = State::open(*file)) add(*loaded);
    }
    for (const UserLibrary& library : state_->libraries) {
        for (const auto& file : library.files) add(*file);
    }
    return rules;
}

std::vector<std::shared_ptr<const SourceText>> Library::sources() const {
    std::vector<std::shared_ptr<const SourceText>> texts;
    const std::function<void(const LoadedFile&)> add = [&](const LoadedFile& file) {
        texts.push_back(file.source);
        for (const auto& imported : file.imports) add(*imported);
    };
    std::lock_guard lock(state_->mutex);
    for (const auto& file : state_->folder_files) texts.push_back(file->source);
    for (const UserLibrary& library : state_->libraries) {
        for (const auto& file : library.files) add(*file);
    }
    return texts;
}

Result<void> Library::check_all() const {
    std::lock_guard lock(state_->mutex);
    Diagnostics errors;
    std::map<std::pair<Namespace, std::string>, const Template*> seen;
    for (auto& file : state_->folder_files) {
        const LoadedFile* loaded = State::open(*file);
        if (!loaded) {
            errors.insert(errors.end(), file->errors.begin(), file->errors.end());
            continue;
        }
        for (const TemplatePointer& made : loaded->templates) {
            auto [other, fresh] = seen.try_emplace({file->space, made->name}, made.get());
            if (!fresh) {
                errors.push_back(complaint("language.duplicate_operator",
                                           fmt::format("two operators are named `{}`", made->name), made->place,
                                           "rename one of the two"));
                errors.back().contexts.push_back({"the other is here", other->second->place});
            }
        }
    }
    std::vector<const Template*> templates = state_->all_templates(Namespace::core, true);
    for (const Template* made : state_->all_templates(Namespace::onnx, false)) templates.push_back(made);
    for (const Template* made : templates) {
        if (!made->is_composition()) continue;
        const Diagnostics& wrong = state_->check_composition(*made);
        errors.insert(errors.end(), wrong.begin(), wrong.end());
    }
    if (!errors.empty()) return fail(std::move(errors));
    return {};
}

Result<Library> open_library(const fs::path& operators_folder) {
    Library library;
    if (auto added = library.add_folder(operators_folder); !added) return fail(std::move(added.error()));
    std::error_code status;
    fs::path onnx = operators_folder / "onnx";
    if (fs::is_directory(onnx, status)) {
        if (auto added = library.add_folder(onnx, Namespace::onnx); !added) return fail(std::move(added.error()));
    }
    return library;
}

}  // namespace heddle
