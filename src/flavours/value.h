// Values of a session. Symbolically a value is a *handle* (its type and producer are known) or *concrete* (its parts,
// or its value, are known); in an eager session every value is concrete.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "flavours/type.h"
#include "graph/graph.h"

namespace heddle::flavours {

using RecordedId = StrongId<struct RecordedTag>;  // of Computation::tensors

// Cheap to copy. Nothing here opens the value: a kernel that takes a `Value` passes it on.
class Value {
public:
    Value() = default;  // no value: what a kernel gets after an error (Context)
    // A handle.
    Value(Type type, TensorType tensor, Placement placement, RecordedId recorded);
    // Known: the data of one host's tensor. `recorded` is below zero in an eager session.
    Value(Type type, TensorData data, Placement placement, RecordedId recorded = no_id);
    // Made of parts, which are handles or not.
    Value(Type type, TensorType tensor, Placement placement, std::vector<Value> parts);

    const Type& type() const { return type_; }
    const TensorType& tensor() const { return tensor_; }  // of the value as a whole, as the template sees it
    const Placement& placement() const { return placement_; }
    bool concrete() const { return parts_ || data_; }
    RecordedId recorded() const { return recorded_; }  // below zero: has parts, or is of an eager session

private:
    friend class Opened;
    Type type_;
    TensorType tensor_;
    Placement placement_;
    std::shared_ptr<const std::vector<Value>> parts_;
    std::optional<TensorData> data_;
    RecordedId recorded_ = no_id;
};

// A concrete value, opened: what a kernel takes for an argument of flavour `concrete`.
class Opened {
public:
    Opened() = default;                      // no value, as above
    explicit Opened(const Value& concrete);  // the caller has looked

    const Value& value() const { return value_; }
    const TensorType& tensor() const { return value_.tensor_; }
    const Placement& placement() const { return value_.placement_; }
    const std::vector<Value>& parts() const;                         // empty if it is data
    const Value& part(size_t index) const;                           // no value if there is none
    std::optional<TensorData> data() const { return value_.data_; }  // shares memory

private:
    Value value_;
};

}  // namespace heddle::flavours
