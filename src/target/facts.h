// What is known of kinds of devices, instruction sets and CPUs, from the data files targets/facts/*.json, which are
// part of the library: nothing is looked for at run time.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "support/json_tree.h"
#include "target/schema.h"

namespace heddle {

// The text of targets/PATH as it was built in; empty: there is none.
std::string_view built_in_target_file(std::string_view path);
// The files directly under targets/: tags.
std::vector<std::string> built_in_tag_files();

// One entry of targets/facts/kinds.json.
struct KindFacts {
    std::string name, means;
    TargetLevel level = TargetLevel::device;
    std::vector<std::string> groups;  // of fields (schema.h)
    bool launches = false;            // it can be the host of other devices
    bool needs_host = false;
    std::string default_host;                        // JSON, where it needs one
    std::vector<std::string> instruction_sets;       // of machine code: each has a file of CPUs
    std::map<std::string, JsonValue> architectures;  // of other kinds: figures that follow from each
    std::vector<std::string> features;
    std::vector<std::string> required;  // fields

    bool has_group(std::string_view group) const;
    std::vector<std::string> architecture_names() const;
};
const std::vector<KindFacts>& target_kinds();
const KindFacts* find_kind(std::string_view name);
// The kind that a target is of: code may leave it out of machines and clusters.
std::string kind_of(const Target& target);

// An instruction set, with the CPUs that LLVM knows of it.
struct InstructionSet {
    std::string name, means;
    std::string baseline;             // the CPU whose features all have
    std::vector<std::string> levels;  // CPU names that say what there is at least, and not which CPU it is
    std::vector<std::string> abis;
    std::vector<JsonValue> compilers;         // rules: {"os", "abi", "program", "package"}; the first that holds
    std::vector<JsonValue> triples, vectors;  // rules: {"all": [features], what follows}; the first that holds
    std::set<std::string, std::less<>> features;
    std::map<std::string, std::string, std::less<>> implied;  // by features: others, with blanks between
    std::map<std::string, std::string, std::less<>> cpus;     // features with blanks between
    std::map<std::string, JsonValue, std::less<>> figures;    // of CPUs: fields of a target
};
// Null: no such instruction set.
const InstructionSet* find_instruction_set(std::string_view arch);

// What a field may be for a target of this kind (and architecture and so on, where it says so); empty: anything.
std::vector<std::string> names_for(Vocabulary vocabulary, const Target& target);

// All features that a target has: those of its CPU, or of the least one of its instruction set, and its own, with what
// these imply; without those that it excludes, and what implies them.
std::set<std::string, std::less<>> features_of(const Target& target);
// Of a "+a,-b" list: names with their signs, '+' where there is none.
std::map<std::string, char, std::less<>> signed_features(std::string_view features);
// The same as what its CPU does not say, and what of its CPU is excluded: equal for equal sets of features.
std::string features_beside_cpu(const Target& target);

// How features are found out, and which of them no kernel uses: an entry of targets/facts/detection.json. Null: there is none.
const JsonValue* detection_facts(std::string_view arch);
// Those of `wanted` that kernels may use and a machine of this instruction set that has `present` has not. What only
// operating systems use does not count, nor what no machine is asked for: it may be hidden from programs.
std::vector<std::string> missing_features(std::string_view arch, const std::set<std::string, std::less<>>& wanted,
                                          const std::set<std::string, std::less<>>& present);
// The CPUs of an instruction set whose code runs where these features are, the longest lists of features alone.
std::vector<std::string> cpus_within(std::string_view arch, const std::set<std::string, std::less<>>& present);

// Fills what follows from other fields and is not known: a name, the architecture from the CPU's name; vectors, caches, speeds
// of a core and limits of workgroups from these names and features. `target.origins` says what from what.
void derive(Target& target);

// The C compiler that makes programs for a target on another machine, and Debian's package of it, if there is one.
struct CrossCompiler {
    std::string program, package;
};
// Null: none is known.
std::optional<CrossCompiler> cross_compiler(const Target& target);

// LLVM's triple of machine code, as "thumbv7em-none-eabihf"; empty where the architecture is not known.
std::string llvm_triple(const Target& target);

}  // namespace heddle
