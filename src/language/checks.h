// The checks of a template that need no tensors (docs/language.md): every name is bound once and used rightly.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "language/names.h"
#include "language/sections.h"

namespace heddle {

void check_template(const Draft& draft, const FunctionTable& functions, DiagnosticSink& sink);

// Bodies and compositions (check_body.cpp). `names` knows the template's static names and tensors.
void check_body(const Template& made, NameChecker& names);
void check_graph(const Template& made, NameChecker& names);
void check_gradient(const Template& made, NameChecker& names);

// A file's own functions: their bodies see their parameters only, and they do not call themselves.
void check_functions(const std::vector<FunctionLet>& own, const FunctionTable& functions,
                     const std::set<std::string>& failed, DiagnosticSink& sink);

// Cycles of a graph of names: calls report(cycle) with each cycle found first, in the order of `order`.
void find_cycles(const std::vector<std::string>& order, const std::map<std::string, std::vector<std::string>>& uses,
                 const std::function<void(const std::vector<std::string>&)>& report);

}  // namespace heddle
