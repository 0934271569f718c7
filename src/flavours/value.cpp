#include "flavours/value.h"

#include <cassert>

namespace heddle::flavours {

Value::Value(Type type, TensorType tensor, Placement placement, RecordedId recorded)
    : type_(std::move(type)), tensor_(std::move(tensor)), placement_(std::move(placement)), recorded_(recorded) {}

Value::Value(Type type, TensorData data, Placement placement, RecordedId recorded)
    : type_(std::move(type)),
      tensor_{data.dtype(), {data.shape().begin(), data.shape().end()}},
      placement_(std::move(placement)),
      data_(std::move(data)),
      recorded_(recorded) {}

Value::Value(Type type, TensorType tensor, Placement placement, std::vector<Value> parts)
    : type_(std::move(type)),
      tensor_(std::move(tensor)),
      placement_(std::move(placement)),
      parts_(std::make_shared<const std::vector<Value>>(std::move(parts))) {}

Opened::Opened(const Value& concrete) : value_(concrete) { assert(concrete.concrete()); }

const std::vector<Value>& Opened::parts() const {
    static const std::vector<Value> none;
    return value_.parts_ ? *value_.parts_ : none;
}

const Value& Opened::part(size_t index) const {
    static const Value none;
    return index < parts().size() ? parts()[index] : none;
}

}  // namespace heddle::flavours
