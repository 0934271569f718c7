#include "language/library_state.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "language/checks.h"
#include "language/library_files.h"

namespace heddle {

static constexpr size_t most_suggested = 4;  // names in a remedy

void collect_templates(const LoadedFile& file, std::vector<const Template*>& into) {
    for (const TemplatePointer& made : file.templates) into.push_back(made.get());
    for (const auto& imported : file.imports) collect_templates(*imported, into);
}

const LoadedFile* Library::State::open(FolderFile& file) {
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

const Template* Library::State::find_in_library(const UserLibrary& library, const std::string& name) {
    for (auto file = library.files.rbegin(); file != library.files.rend(); ++file) {
        std::vector<const Template*> templates;
        collect_templates(**file, templates);
        for (const Template* made : templates) {
            if (made->name == name) return made;
        }
    }
    return nullptr;
}

const UserLibrary* Library::State::library_named(const std::string& name) const {
    for (const UserLibrary& library : libraries) {
        if (library.name == name) return &library;
    }
    return nullptr;
}

const Template* Library::State::find_in_users(const std::string& name, Diagnostics& errors) const {
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

const Template* Library::State::find_qualified(const std::string& full, size_t colons, Diagnostics& errors) {
    std::string space = full.substr(0, colons), name = full.substr(colons + 2);
    if (space == core_library) return find_in_folders(Namespace::core, name, errors);
    if (const UserLibrary* library = library_named(space)) return find_in_library(*library, name);
    std::vector<std::string> names{std::string(core_library)};
    for (const UserLibrary& library : libraries) names.push_back(library.name);
    errors.push_back(complaint("language.unknown_library", fmt::format("no library is named `{}`", space), {},
                               fmt::format("the libraries are {}; give another by --library", fmt::join(names, ", "))));
    return nullptr;
}

const Template* Library::State::find_in_folders(Namespace space, const std::string& name, Diagnostics& errors) {
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

const Template* Library::State::find_core(const std::string& name, Diagnostics& errors) {
    if (size_t colons = name.find("::"); colons != std::string::npos) return find_qualified(name, colons, errors);
    if (const Template* made = find_in_users(name, errors); made || !errors.empty()) return made;
    return find_in_folders(Namespace::core, name, errors);
}

const Template* Library::State::find_for(const Template& composition, const std::string& name, Diagnostics& errors) {
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

std::vector<const Template*> Library::State::all_templates(Namespace space, bool with_users) {
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

std::vector<std::string> Library::State::core_names() {
    std::set<std::string> names;
    for (const Template* made : all_templates(Namespace::core, true)) names.insert(made->name);
    return {names.begin(), names.end()};
}

Diagnostic Library::State::unknown_operator(const std::string& name, const Place& place) {
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

// ---------------------------------------------------------------- compositions

void Library::State::check_arguments(const Syntax& call, const Template& target, Diagnostics& errors) {
    for (const NamedArgument& argument : call.named) {
        if (target.parameter(argument.name)) continue;
        std::vector<std::string> names;
        for (const Parameter& parameter : target.params) names.push_back(parameter.name);
        std::string nearest = nearest_name(argument.name, names);
        errors.push_back(complaint("language.unknown_parameter",
                                   fmt::format("`{}` has no parameter `{}`", target.name, argument.name),
                                   argument.place, nearest.empty() ? "" : fmt::format("did you mean {}?", nearest)));
    }
    bool variadic = !target.inputs.empty() && target.inputs.back().variadic;
    if (variadic || call.children.size() <= target.inputs.size()) return;
    errors.push_back(complaint("language.operator_arguments",
                               fmt::format("`{}` takes {} tensors", target.name, target.inputs.size()), call.place,
                               "parameters are written after their names: axis: 1"));
    errors.back().found = std::to_string(call.children.size());
}

void Library::State::check_combiner(const Template& made, const Reduces& reduces, Diagnostics& errors) {
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

const Diagnostics& Library::State::check_composition(const Template& composition) {
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

std::string Library::State::key_of(const Template& made) {
    return made.space == Namespace::onnx ? "onnx " + made.name
           : made.library.empty()        ? made.name
                                         : made.library + "::" + made.name;
}

void Library::State::check_cycle(const Template& start, Diagnostics& errors) {
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

Result<const Template*> Library::State::checked_answer(const Template* made) {
    if (!made->is_composition() && made->grad.empty() && made->reduces.empty()) return made;
    const Diagnostics& errors = check_composition(*made);
    if (!errors.empty()) return fail(errors);
    return made;
}

// ---------------------------------------------------------------- ONNX

void Library::State::add_onnx(const LoadedFile& file, const std::string& domain, const std::string& name,
                              std::vector<const Template*>& found) const {
    std::vector<const Template*> templates;
    collect_templates(file, templates);
    for (const Template* made : templates) {
        if (made->onnx && made->onnx->domain == domain && made->onnx->name == name) found.push_back(made);
    }
}

std::vector<const Template*> Library::State::onnx_candidates(const std::string& domain, const std::string& name,
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

std::vector<const Template*> Library::State::all_onnx() {
    std::vector<const Template*> templates = all_templates(Namespace::onnx, true);
    std::erase_if(templates, [](const Template* made) { return !made->onnx; });
    return templates;
}

}  // namespace heddle
