// From the YAML of one metakernel to its sections. What is wrong is reported and left out.
#pragma once

#include <set>
#include <string>

#include "language/template.h"
#include "language/yaml_document.h"

namespace heddle {

// A template on its way. Checks that would only echo an error already reported stay silent.
struct Draft {
    Template made;
    std::set<std::string> failed;  // names (without sigil) whose definition did not parse
    bool incomplete = false;       // a section that binds names did not parse
    const YamlNode* family = nullptr;
};

// `incomplete`: keys of the file are missing because YAML refused them.
Draft read_template(const YamlEntry& entry, bool incomplete, DiagnosticSink& sink);
// `{domain, name, since}`; a name left out is `default_name`.
std::optional<OnnxKey> read_onnx(const YamlNode& node, const std::string& default_name, DiagnosticSink& sink);
std::vector<Parameter> read_parameters(const YamlNode& node, Draft& draft, DiagnosticSink& sink);
std::vector<StaticLet> read_static_lets(const YamlNode& node, Draft& draft, DiagnosticSink& sink);

// A list of pairs of a condition and a message.
std::vector<Requirement> read_requirements(const YamlNode& node, DiagnosticSink& sink);

// The text of a scalar that holds an expression, or null if it is none (reported). `what` for messages.
const Fragment* expression_text(const YamlNode& node, const std::string& what, DiagnosticSink& sink);
bool expect_mapping(const YamlNode& node, const std::string& what, DiagnosticSink& sink);
// A key that names something of the template: a word that is not reserved.
bool check_name(const YamlNode& key, const std::string& what, DiagnosticSink& sink);
void report_unknown_key(const YamlNode& key, const std::string& where, const std::vector<std::string>& known,
                        DiagnosticSink& sink);

}  // namespace heddle
