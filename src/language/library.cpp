#include "language/library.h"

#include <algorithm>
#include <functional>
#include <sstream>

#include <fmt/format.h>

#include "language/library_files.h"
#include "language/library_index.h"
#include "language/library_state.h"

namespace heddle {

namespace fs = std::filesystem;

namespace {

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

}  // namespace

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
    state_->forget_answers();
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
    state_->forget_answers();
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
    state_->forget_answers();
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

namespace {

struct AbsentOnnx {
    const char *reason, *remedy, *names;
};

// Null: a template could stand for it.
const AbsentOnnx* find_absent(const std::string& name) {
    static constexpr AbsentOnnx rows[] = {
#define HEDDLE_ABSENT(reason, remedy, names) {reason, remedy, names},
#include "language/absent_onnx.def"
#undef HEDDLE_ABSENT
    };
    for (const AbsentOnnx& row : rows) {
        std::istringstream words(row.names);
        for (std::string word; words >> word;) {
            if (word == name) return &row;
        }
    }
    return nullptr;
}

}  // namespace

Result<const Template*> Library::find_onnx(const std::string& domain, const std::string& name, int64_t opset) const {
    std::lock_guard lock(state_->mutex);
    std::string plain_domain = domain == "ai.onnx" ? "" : domain;
    const std::tuple asked(plain_domain, name, opset);
    if (const auto known = state_->onnx_found.find(asked); known != state_->onnx_found.end())
        return state_->checked_answer(known->second);
    Diagnostics errors;
    std::vector<const Template*> found = state_->onnx_candidates(plain_domain, name, errors);
    const Template* best = nullptr;
    for (const Template* made : found) {
        if (made->onnx->since <= opset && (!best || made->onnx->since > best->onnx->since)) best = made;
    }
    if (best) {
        state_->onnx_found.emplace(asked, best);
        return state_->checked_answer(best);
    }
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
    const AbsentOnnx* absent = plain_domain.empty() ? find_absent(name) : nullptr;
    if (absent) diagnostic.reason = absent->reason, diagnostic.remedy = absent->remedy;
    if (!nearest.empty() && !absent)
        diagnostic.remedy = fmt::format("did you mean {}? Or ", nearest) + diagnostic.remedy;
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
