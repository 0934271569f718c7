// Who means what: the names that an expression may use, and the walk that finds those it may not.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "language/fragment.h"
#include "language/template.h"

namespace heddle {

// What a bare name stands for.
struct BareName {
    enum class Kind : uint8_t { input, output, let, local, state, variable, result };
    Kind kind = Kind::variable;
    Place place;
};

std::string_view name(BareName::Kind kind);

class NameChecker {
public:
    NameChecker(const FunctionTable& functions, DiagnosticSink& sink) : functions_(functions), sink_(sink) {}

    // $names, and the axes that @names may be.
    std::map<std::string, Place> statics;
    std::set<std::string> axes;
    // Bare names now in scope.
    std::map<std::string, BareName> scope;
    // What `has` may ask for.
    std::set<std::string> presence;
    // Names that failed elsewhere: their users stay silent. `quiet` silences all.
    std::set<std::string> failed;
    bool quiet = false;
    // Where the walk is.
    bool coordinates_allowed = false;  // @ has a value here
    bool fill_allowed = false;         // `1...` takes the size of the tensor described
    bool static_only = false;          // there are no elements here, unless coordinates are allowed

    // All names and calls of an expression (or element, or a dimension of a pattern).
    void check(const SyntaxPointer& syntax);
    void check_static_name(const std::string& name, const Place& place);
    // The value part of a composition's line: calls are operators, whose names the library knows.
    void check_graph(const SyntaxPointer& syntax);
    // The extents of generators are static, then their variables are in scope for `inside`.
    template <typename Inside>
    void with_generators(const std::vector<Generator>& generators, const Inside& inside) {
        std::vector<std::string> added;
        for (const Generator& generator : generators) {
            check_extent(generator);
            if (declare(generator.name, BareName::Kind::variable, generator.place)) added.push_back(generator.name);
            check(generator.first);
            check(generator.end);
        }
        inside();
        for (const std::string& name : added) scope.erase(name);
    }
    // False, and reported, if the name already means something.
    bool declare(const std::string& name, BareName::Kind kind, const Place& place);
    void report(Complaint complaint) {
        if (!quiet) sink_.add(std::move(complaint));
    }

private:
    void check_extent(const Generator& generator);
    void check_bare_name(const Syntax& node);
    void check_coordinate(const Syntax& node);
    void check_call(const Syntax& node);
    void check_reducer(const Syntax& node);
    void check_presence(const Syntax& node);
    void check_elements_allowed(const Syntax& node);
    void check_argument_count(const Syntax& node, int least, int most);
    void check_children(const Syntax& node);

    const FunctionTable& functions_;
    DiagnosticSink& sink_;
};

// All names of a template's functions that a call may use.
std::vector<std::string> callable_names(const FunctionTable& functions);

}  // namespace heddle
