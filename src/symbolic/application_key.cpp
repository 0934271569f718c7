#include "symbolic/application_key.h"

#include <cstring>

namespace heddle {
namespace {

template <typename Number>
void append(std::string& key, Number number) {
    char bytes[sizeof number];
    std::memcpy(bytes, &number, sizeof number);
    key.append(bytes, sizeof number);
}

void append_text(std::string& key, std::string_view text) {
    append(key, text.size());
    key += text;
}

void append_size(std::string& key, const Size& size) {
    append(key, size.number());
    append(key, size.origin());
}

void append_value(std::string& key, const StaticValue& value) {
    append(key, value.kind());
    switch (value.kind()) {
    case StaticValue::Kind::none: break;
    case StaticValue::Kind::boolean: append(key, value.boolean()); break;
    case StaticValue::Kind::integer: append_size(key, value.size()); break;
    case StaticValue::Kind::real:
        append(key, value.is_of_sizes());
        if (value.is_of_sizes()) {
            append_size(key, value.quotient()->above);
            append_size(key, value.quotient()->below);
        } else {
            append(key, value.real());
        }
        break;
    case StaticValue::Kind::text: append_text(key, value.text()); break;
    case StaticValue::Kind::dtype: append(key, value.dtype()); break;
    case StaticValue::Kind::tensor: append(key, &value.tensor()); break;
    case StaticValue::Kind::list:
        append(key, value.list().size());
        for (const StaticValue& element : value.list()) append_value(key, element);
        break;
    default: break;  // a static value is none of the others
    }
}

void append_tensor(std::string& key, const Session::State& session, const TensorSpec& specification, TensorId tensor) {
    const TensorType& type = session.graph.tensor(tensor).type;
    append(key, type.dtype);
    append(key, type.shape.size());
    for (const Size& size : type.shape) append_size(key, size);
    if (specification.flavour != Flavour::concrete) return;
    const TensorData* data = session.known_value(tensor);
    append(key, data != nullptr);
    // One too large to be opened is an error anyway.
    if (data && data->size() <= largest_static_list)
        append_value(key, static_value_of(*data, session.known_sizes(tensor)));
}

}  // namespace

void write_application_key(const Session::State& session, const Template& metakernel, const BoundArguments& arguments,
                           const std::map<std::string, StaticValue>& parameters, const std::vector<bool>& requested,
                           std::string& key) {
    key.clear();
    append(key, &metakernel);
    for (size_t position = 0; position < arguments.tensors.size(); ++position) {
        append(key, static_cast<bool>(arguments.given[position]));
        append(key, arguments.tensors[position].size());
        for (TensorId tensor : arguments.tensors[position])
            append_tensor(key, session, metakernel.inputs[position], tensor);
    }
    append(key, parameters.size());
    for (const auto& [name, value] : parameters) {
        append_text(key, name);
        append_value(key, value);
    }
    for (bool wanted : requested) key += wanted ? '1' : '0';
}

}  // namespace heddle
