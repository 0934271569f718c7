// The rows of `kernels` with their words resolved: types, stages, kernels. Loading a row checks its annotation.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "flavours/registry.h"
#include "language/library.h"

namespace heddle::flavours {

// A conversion before or after the kernel: an operator of one input, applied where the value is.
struct Stage {
    std::string operator_name;
    std::vector<size_t> positions;  // the arguments (or results) that it converts: those of its type
};

struct Row {
    const KernelRow* written = nullptr;  // null: the row of an operator without rows, which has a body
    std::string placement;               // kind
    std::vector<Type> arguments, results;
    std::vector<Flavour> argument_flavours, result_flavours;  // empty if `runtime`
    std::vector<Stage> before, after;
    std::string kernel_name;
    const Kernel* kernel = nullptr;  // null: the body, or not registered
    bool runtime = false;

    bool body() const { return kernel_name == "body"; }
    // "[transparent -> concrete]"
    std::string flavours() const;
    const Type& argument(size_t position) const { return arguments[std::min(position, arguments.size() - 1)]; }
    const Type& result(size_t position) const { return results[std::min(position, results.size() - 1)]; }
    Flavour argument_flavour(size_t position) const;
};

struct OperatorRows {
    std::string name;  // as it was asked for: perhaps with its library's
    const Template* metakernel = nullptr;
    std::vector<Row> rows;

    // The first row that fits; null if there is none.
    const Row* row_for(const Placement& placement, const std::vector<Value>& arguments) const;
};

class KernelMatrix {
public:
    // Both outlive it.
    KernelMatrix(const Library& library, const Registry& registry);

    const Library& library() const { return library_; }
    const Registry& registry() const { return registry_; }

    // An operator's rows, loaded when first asked for. An operator without rows that has a body or a graph runs it on
    // any host. Codes: those of Library::find; flavours.type_word, flavours.row_types (more or fewer types than the
    // template has tensors, or results elsewhere), flavours.stage (no operator, or one that converts nothing here),
    // flavours.contradiction (the annotation is not what the kernel and its stages do).
    Result<const OperatorRows*> find(const std::string& operator_name) const;
    // All errors of these operators' rows.
    Diagnostics check(const std::vector<std::string>& operators) const;

    // The matrix as a document: rows by operator, then coverage by operator and placement. Operators without rows are
    // counted only.
    std::string markdown(const std::vector<std::string>& operators) const;
    std::string json(const std::vector<std::string>& operators) const;

private:
    const Library& library_;
    const Registry& registry_;
    mutable std::map<std::string, std::unique_ptr<OperatorRows>> loaded_;
};

}  // namespace heddle::flavours
