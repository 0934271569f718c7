// Small ONNX models as bytes, written without any library. Field numbers: onnx.proto3.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace heddle {

class Message {
public:
    Message& number(int field, int64_t value) {
        key(field, 0);
        varint(static_cast<uint64_t>(value));
        return *this;
    }
    Message& real(int field, float value) {
        key(field, 5);
        bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
        return *this;
    }
    Message& text(int field, const std::string& value) {
        key(field, 2);
        varint(value.size());
        bytes_ += value;
        return *this;
    }
    Message& part(int field, const Message& message) { return text(field, message.bytes_); }
    const std::string& bytes() const { return bytes_; }
    // What stands before `size` bytes of a field.
    static std::string begin(int field, int64_t size) {
        Message message;
        message.key(field, 2);
        message.varint(static_cast<uint64_t>(size));
        return message.bytes_;
    }

private:
    void key(int field, int wire) { varint(static_cast<uint64_t>(field << 3 | wire)); }
    void varint(uint64_t value) {
        for (; value >= 128; value >>= 7) bytes_ += static_cast<char>(value | 128);
        bytes_ += static_cast<char>(value);
    }
    std::string bytes_;
};

// A dimension is a number, or a name.
struct ModelValue {
    std::string name;
    std::vector<std::string> shape;
    int type = 1;  // float32

    Message message() const {
        Message dimensions;
        for (const std::string& size : shape) {
            bool number = !size.empty() && size.find_first_not_of("0123456789") == std::string::npos;
            Message dimension;
            if (number)
                dimension.number(1, std::stoll(size));
            else
                dimension.text(2, size);
            dimensions.part(1, dimension);
        }
        return Message().text(1, name).part(2, Message().part(1, Message().number(1, type).part(2, dimensions)));
    }
};

struct ModelWriter {
    std::vector<ModelValue> inputs, outputs;
    Message graph;

    void node(const std::string& operator_type, const std::vector<std::string>& from,
              const std::vector<std::string>& to,
              const std::vector<std::pair<std::string, std::vector<int64_t>>>& integer_lists = {}) {
        Message node;
        for (const auto& name : from) node.text(1, name);
        for (const auto& name : to) node.text(2, name);
        node.text(3, operator_type + "_" + to.front()).text(4, operator_type);
        for (const auto& [name, values] : integer_lists) {
            Message attribute;
            attribute.text(1, name).number(20, 7);
            for (int64_t value : values) attribute.number(8, value);
            node.part(5, attribute);
        }
        graph.part(1, node);
    }
    void weight(const std::string& name, const std::vector<int64_t>& shape, const std::vector<float>& values) {
        Message tensor;
        for (int64_t size : shape) tensor.number(1, size);
        std::string raw(values.size() * sizeof(float), '\0');
        std::memcpy(raw.data(), values.data(), raw.size());
        graph.part(5, tensor.number(2, 1).text(8, name).text(9, raw));
    }
    std::string bytes() const {
        Message whole = graph;
        whole.text(2, "test");
        for (const auto& input : inputs) whole.part(11, input.message());
        for (const auto& output : outputs) whole.part(12, output.message());
        return Message().number(1, 8).part(7, whole).part(8, Message().number(2, 17)).bytes();
    }
};

}  // namespace heddle
