// An environment of graph documents: which types of nodes and tags, which dtypes and which kernels are legal.
// Environments are data, files environments/NAME.json:
//
//     {"doc": "...", "node_types": ["Tensor", "Operation"], "tag_types": ["IPFIndex"], "dtypes": ["int32"],
//      "kernels": ["builtins:*", "op:add"], "library": true}
//
// A name that ends in * stands for all names that begin so. With `library`, the operators of the library are legal
// kernels too, and validation applies them again. (In C++ an environment is a dialect: symbolic/environment.h is
// another thing.)
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "support/diagnostic.h"

namespace heddle::interchange {

struct Dialect {
    std::string name;
    std::string doc;
    std::vector<std::string> node_types, tag_types, dtypes, kernels;
    bool library = false;
};

// `name` says where it comes from in messages. Codes: those of reading JSON (interchange/json_tree.h),
// interchange.environment.
Result<Dialect> parse_dialect(const std::string& name, const std::shared_ptr<const SourceText>& source);

// The same from a file, named after it. Codes: also those of reading files.
Result<Dialect> load_dialect(const std::filesystem::path& file);

// A file NAME.json, or one of `folder` by its name alone. Codes: as above, and interchange.unknown_environment.
Result<Dialect> open_dialect(const std::string& name, const std::filesystem::path& folder);

// Whether `list` holds the name, or the beginning of it with a *.
bool allows(const std::vector<std::string>& list, const std::string& name);

}  // namespace heddle::interchange
