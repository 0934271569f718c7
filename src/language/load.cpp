// One template file: its top level, functions, imports, and the checks of each template.
#include <algorithm>

#include <fmt/format.h>

#include "language/checks.h"
#include "language/family.h"
#include "language/functions.h"
#include "language/keys.h"
#include "language/parser.h"

namespace heddle {
namespace {

constexpr size_t import_limit = 64;

// What the files of one load share: each imported file is read once.
struct ImportState {
    const ImportReader& reader;
    std::map<std::string, std::shared_ptr<const LoadedFile>> done;  // null: failed, and reported
    std::vector<std::string> open;
};

class FileLoader {
public:
    FileLoader(std::shared_ptr<const SourceText> source, Namespace space, const std::string& library,
               ImportState& imports, DiagnosticSink& sink)
        : space_(space), library_(library), imports_(imports), sink_(sink) {
        file_.source = std::move(source);
    }

    LoadedFile load() {
        root_ = read_yaml(file_.source, sink_);
        incomplete_ = !sink_.empty();
        if (root_.is_mapping()) {
            read_top();
        } else if (!incomplete_) {
            sink_.add({.code = "language.yaml_kind",
                       .summary = "a template file is a mapping from names to metakernels",
                       .place = {file_.source, 0, 1},
                       .found = std::string(root_.kind_name()),
                       .remedy = "write `name:` and the metakernel's sections indented below it"});
        }
        return std::move(file_);
    }

private:
    void read_top() {
        auto functions = std::make_shared<FunctionTable>();
        if (const YamlEntry* entry = root_.entry("import")) read_imports(entry->value, *functions);
        if (const YamlEntry* entry = root_.entry("let")) read_functions(entry->value, *functions);
        file_.functions = functions;
        check_functions(own_functions_, *functions, failed_functions_, sink_);
        for (const YamlEntry& entry : root_.entries) {
            if (entry.name() == "doc") {
                if (entry.value.is_scalar()) file_.doc = entry.value.scalar.text;
            } else if (entry.name() == "rewrites") {
                read_rewrites(entry.value);
            } else if (entry.name() != "import" && entry.name() != "let") {
                read_metakernel(entry);
            }
        }
        if (space_ == Namespace::core) check_composition_cycles();
    }

    // ---- functions and imports

    void read_functions(const YamlNode& node, FunctionTable& table) {
        const Fragment* text = expression_text(node, "let", sink_);
        std::vector<std::string> failed;
        if (!text) {
            incomplete_ = true;
            return;
        }
        for (auto& line : parse_function_lets(*text, sink_, failed)) {
            FunctionLet function{line.name, line.parameters, line.value, line.place, line.neutral};
            bool known =
                function_named(function.name) || is_reduction_name(function.name) || is_dtype_name(function.name);
            auto [other, fresh] = table.try_emplace(function.name, function);
            if (known || !fresh) {
                Complaint complaint{.code = "language.duplicate_name",
                                    .summary = fmt::format("the function `{}` exists already", function.name),
                                    .place = function.place,
                                    .remedy = "choose another name"};
                if (!fresh) complaint.contexts.push_back({"the other is here", other->second.place});
                sink_.add(std::move(complaint));
                continue;
            }
            own_functions_.push_back(std::move(function));
        }
        failed_functions_.insert(failed.begin(), failed.end());
    }

    void read_imports(const YamlNode& node, FunctionTable& table) {
        if (!node.is_sequence()) {
            sink_.add({.code = "language.yaml_kind",
                       .summary = "import must be a list of files",
                       .place = node.place,
                       .found = std::string(node.kind_name()),
                       .remedy = "write import: [shared.yaml]"});
            return;
        }
        for (const YamlNode& item : node.items) {
            auto imported = item.is_scalar() ? read_import(item) : nullptr;
            if (!imported) {
                incomplete_ = true;
                continue;
            }
            table.insert(imported->functions->begin(), imported->functions->end());
            file_.imports.push_back(std::move(imported));
        }
    }

    void refuse_import(const YamlNode& item, std::string summary, std::string remedy) {
        sink_.add({.code = "language.import",
                   .summary = std::move(summary),
                   .place = item.place,
                   .remedy = std::move(remedy)});
    }

    std::shared_ptr<const LoadedFile> read_import(const YamlNode& item) {
        const std::string& path = item.scalar.text;
        if (!imports_.reader) {
            refuse_import(item, fmt::format("`{}` cannot be read here", path),
                          "a text without a file has no files beside it");
            return nullptr;
        }
        auto source = imports_.reader(path, item.place);
        if (!source) {
            for (Diagnostic& diagnostic : source.error()) sink_.append(std::move(diagnostic));
            return nullptr;
        }
        const std::string& name = (*source)->name();
        if (auto done = imports_.done.find(name); done != imports_.done.end()) return done->second;
        if (std::find(imports_.open.begin(), imports_.open.end(), name) != imports_.open.end()) {
            refuse_import(item, fmt::format("`{}` imports itself", path), "move what both files need to a third");
            return nullptr;
        }
        if (imports_.done.size() >= import_limit) {
            refuse_import(item, fmt::format("more than {} imported files", import_limit), "join some of them");
            return nullptr;
        }
        return load_import(*source);
    }

    std::shared_ptr<const LoadedFile> load_import(const std::shared_ptr<const SourceText>& source) {
        DiagnosticSink sink;
        imports_.open.push_back(source->name());
        auto file = std::make_shared<LoadedFile>(FileLoader(source, space_, library_, imports_, sink).load());
        imports_.open.pop_back();
        bool sound = sink.empty();
        for (Diagnostic& diagnostic : sink.take()) sink_.append(std::move(diagnostic));
        if (!sound) file = nullptr;
        imports_.done.emplace(source->name(), file);
        return file;
    }

    // ---- metakernels

    void read_metakernel(const YamlEntry& entry) {
        if (!check_name(entry.key, "an operator", sink_)) return;
        Draft base = read_template(entry, incomplete_, sink_);
        base.failed.insert(failed_functions_.begin(), failed_functions_.end());
        base.made.space = space_;
        base.made.library = library_;
        base.made.functions = file_.functions;
        for (Draft& draft : expand_family(std::move(base), sink_)) {
            check_template(draft, *file_.functions, sink_);
            auto [other, fresh] = names_.try_emplace(draft.made.name, draft.made.place);
            if (!fresh) {
                sink_.add({.code = "language.duplicate_operator",
                           .summary = fmt::format("two operators are named `{}`", draft.made.name),
                           .place = draft.made.place,
                           .remedy = "rename one of the two",
                           .contexts = {{"the other is here", other->second}}});
                continue;
            }
            file_.templates.push_back(std::make_shared<const Template>(std::move(draft.made)));
        }
    }

    void check_composition_cycles() {
        std::map<std::string, std::vector<std::string>> uses;
        std::vector<std::string> order;
        for (const auto& made : file_.templates) {
            if (made->graph.empty()) continue;
            order.push_back(made->name);
            for (const Syntax* call : operator_calls(*made)) uses[made->name].push_back(call->text);
        }
        find_cycles(order, uses, [&](const std::vector<std::string>& cycle) {
            sink_.add({.code = "language.composition_cycle",
                       .summary = fmt::format("the composition `{}` is made of itself", cycle.front()),
                       .place = names_.at(cycle.front()),
                       .reason = fmt::format("{} uses {}", fmt::join(cycle, " uses "), cycle.front()),
                       .remedy = "give one of them a body"});
        });
    }

    // ---- rewrite rules

    void read_rewrites(const YamlNode& node) {
        if (!expect_mapping(node, "rewrites", sink_)) return;
        for (const YamlEntry& entry : node.entries) {
            if (!expect_mapping(entry.value, fmt::format("the rule `{}`", entry.name()), sink_)) continue;
            RewriteRule rule;
            rule.name = entry.name();
            rule.place = entry.key.place;
            rule.functions = file_.functions;
            rule.library = library_;
            for (const YamlEntry& field : entry.value.entries) read_rule_field(field, rule);
            for (const char* key : {"match", "replace"}) {
                if (entry.value.entry(key) || incomplete_) continue;
                sink_.add({.code = "language.missing_key",
                           .summary = fmt::format("the rule `{}` has no `{}`", rule.name, key),
                           .place = rule.place,
                           .remedy = "write both match and replace"});
            }
            file_.rewrites.push_back(std::move(rule));
        }
    }

    void read_rule_field(const YamlEntry& field, RewriteRule& rule) {
        Draft names;
        auto expression = [&]() -> SyntaxPointer {
            const Fragment* text = expression_text(field.value, field.name(), sink_);
            return text ? parse_expression(*text, sink_) : nullptr;
        };
        if (field.name() == "match") {
            rule.match = expression();
        } else if (field.name() == "replace") {
            rule.replace = expression();
        } else if (field.name() == "params") {
            rule.params = read_parameters(field.value, names, sink_);
        } else if (field.name() == "let") {
            rule.lets = read_static_lets(field.value, names, sink_);
        } else if (field.name() == "require") {
            rule.requirements = read_requirements(field.value, sink_);
        } else if (field.name() == "doc") {
            if (field.value.is_scalar()) rule.doc = field.value.scalar.text;
        } else {
            report_unknown_key(field.key, "a rule", key_names(KeyOwner::rule), sink_);
        }
    }

    Namespace space_;
    std::string library_;
    ImportState& imports_;
    DiagnosticSink& sink_;
    LoadedFile file_;
    YamlNode root_;
    bool incomplete_ = false;
    std::vector<FunctionLet> own_functions_;
    std::set<std::string> failed_functions_;
    std::map<std::string, Place> names_;
};

}  // namespace

Result<LoadedFile> load_template_file(std::shared_ptr<const SourceText> source, Namespace space,
                                      const ImportReader& reader, const std::string& library) {
    DiagnosticSink sink;
    ImportState imports{reader, {}, {source->name()}};
    LoadedFile file = FileLoader(std::move(source), space, library, imports, sink).load();
    if (!sink.empty()) return fail(sink.take());
    return file;
}

}  // namespace heddle
