#include "support/json_tree.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace heddle {
namespace {

// Tells how far the reader has come: its events carry no places.
struct CountingIterator {
    using value_type = char;
    using difference_type = std::ptrdiff_t;
    using pointer = const char*;
    using reference = const char&;
    using iterator_category = std::input_iterator_tag;

    const char* at = nullptr;
    size_t* read = nullptr;

    reference operator*() const { return *at; }
    CountingIterator& operator++() {
        ++at;
        ++*read;
        return *this;
    }
    CountingIterator operator++(int) {
        CountingIterator old = *this;
        ++*this;
        return old;
    }
    bool operator==(const CountingIterator& other) const { return at == other.at; }
};

class TreeBuilder : public nlohmann::json_sax<nlohmann::json> {
public:
    TreeBuilder(const std::shared_ptr<const SourceText>& source, const JsonLimits& limits)
        : source_(source), limits_(limits) {
        open_.push_back(&top_);
    }

    size_t read = 0;  // bytes
    Diagnostics errors;
    JsonValue take() { return std::move(top_.items[0]); }

    bool null() override { return scalar(JsonValue::Kind::null, "null"); }
    bool boolean(bool value) override { return scalar(JsonValue::Kind::boolean, value ? "true" : "false"); }
    bool number_integer(int64_t value) override { return integer(value); }
    bool number_unsigned(uint64_t value) override {
        if (value > INT64_MAX) return scalar(JsonValue::Kind::number, std::to_string(value));
        return integer(static_cast<int64_t>(value));
    }
    bool number_float(double, const std::string& text) override { return scalar(JsonValue::Kind::number, text); }
    bool string(std::string& text) override { return scalar(JsonValue::Kind::string, text); }
    bool binary(nlohmann::json::binary_t&) override { return false; }
    bool start_object(size_t) override { return start(JsonValue::Kind::object); }
    bool start_array(size_t) override { return start(JsonValue::Kind::array); }
    bool key(std::string& name) override {
        name_ = name;
        next_token();
        return true;
    }
    bool end_object() override {
        std::vector<const JsonValue*> members;
        for (const JsonValue& member : open_.back()->items) members.push_back(&member);
        auto less = [](const JsonValue* a, const JsonValue* b) { return a->name < b->name; };
        std::stable_sort(members.begin(), members.end(), less);
        for (size_t i = 1; i < members.size(); i++) {
            if (members[i]->name != members[i - 1]->name) continue;
            return error(limits_.key, fmt::format("the key '{}' occurs twice", members[i]->name), members[i]->offset);
        }
        return end_array();
    }
    bool end_array() override {
        settle(*open_.back());
        open_.pop_back();
        next_token();
        return true;
    }
    bool parse_error(size_t position, const std::string&, const nlohmann::json::exception& exception) override {
        std::string message = exception.what();
        size_t colon = message.find("syntax error");
        error(limits_.syntax, "the text is not JSON", position > 0 ? position - 1 : 0);
        std::string& reason = errors.back().reason;
        reason = colon == std::string::npos ? message : message.substr(colon);
        constexpr size_t longest = 300;  // it quotes what was read last
        if (reason.size() > longest) {
            reason.resize(longest);
            reason += "...";
        }
        return false;
    }

private:
    // The reader stands behind the token, and one further after a number.
    std::pair<size_t, size_t> next_token() {
        size_t begin = source_->text().find_first_not_of(" \t\r\n,:\xEF\xBB\xBF", previous_end_);
        previous_end_ = read;
        if (begin == std::string::npos || begin >= read) return {read, 0};
        return {begin, read - begin};
    }

    // What has come to its end takes no more memory than it needs.
    void settle(JsonValue& value) {
        std::vector<JsonValue>& items = value.items;
        memory_ -= items.capacity() * sizeof(JsonValue);
        auto integer = [](const JsonValue& item) { return item.kind == JsonValue::Kind::integer; };
        if (value.kind == JsonValue::Kind::array && std::ranges::all_of(items, integer)) {
            for (const JsonValue& item : items) value.numbers.push_back(item.integer);
            items.clear();
            value.numbers.shrink_to_fit();
        }
        items.shrink_to_fit();
        memory_ += items.size() * sizeof(JsonValue) + value.numbers.size() * sizeof(int64_t);
    }

    bool error(const char* code, std::string summary, size_t offset) {
        Diagnostic diagnostic{.code = code, .summary = std::move(summary)};
        diagnostic.place = {source_, std::min(offset, source_->text().size()), 1};
        errors.push_back(std::move(diagnostic));
        return false;
    }

    bool add(JsonValue value) {
        auto [offset, length] = next_token();
        value.offset = static_cast<uint32_t>(offset);
        value.length = static_cast<uint32_t>(length);
        value.name = std::exchange(name_, {});
        std::vector<JsonValue>& items = open_.back()->items;
        size_t capacity = items.size() < items.capacity() ? items.capacity() : std::max<size_t>(1, 2 * items.size());
        memory_ += (capacity - items.capacity()) * sizeof(JsonValue) + value.name.size() + value.text.size();
        if (memory_ > limits_.memory) {
            return error(limits_.limit,
                         fmt::format("the document takes more than {} MiB of memory", limits_.memory >> 20),
                         value.offset);
        }
        items.reserve(capacity);
        items.push_back(std::move(value));
        return true;
    }

    bool scalar(JsonValue::Kind kind, std::string text) { return add({.kind = kind, .text = std::move(text)}); }
    bool integer(int64_t value) { return add({.kind = JsonValue::Kind::integer, .integer = value}); }

    bool start(JsonValue::Kind kind) {
        if (!add({.kind = kind})) return false;
        open_.push_back(&open_.back()->items.back());
        if (open_.size() <= limits_.depth + 1) return true;
        return error(limits_.limit, fmt::format("the document is nested deeper than {} levels", limits_.depth),
                     open_.back()->offset);
    }

    std::shared_ptr<const SourceText> source_;
    JsonValue top_;
    std::vector<JsonValue*> open_;  // an open value's items are at rest while its last one is open
    std::string name_;
    size_t previous_end_ = 0, memory_ = 0;
    const JsonLimits& limits_;
};

}  // namespace

const JsonValue* member(const JsonValue& object, std::string_view name) {
    const auto found = std::ranges::find(object.items, name, &JsonValue::name);
    return object.kind == JsonValue::Kind::object && found != object.items.end() ? &*found : nullptr;
}

const char* kind_name(JsonValue::Kind kind) {
    switch (kind) {
    case JsonValue::Kind::null: return "null";
    case JsonValue::Kind::boolean: return "a boolean";
    case JsonValue::Kind::integer: return "an integer";
    case JsonValue::Kind::number: return "a number";
    case JsonValue::Kind::string: return "a string";
    case JsonValue::Kind::array: return "an array";
    case JsonValue::Kind::object: return "an object";
    }
    return "";
}

Result<JsonValue> read_json_tree(const std::shared_ptr<const SourceText>& source, const JsonLimits& limits) {
    std::string_view text = source->text();
    if (text.size() > limits.text) {
        return fail({.code = limits.limit,
                     .summary = fmt::format("the document is larger than {} MiB", limits.text >> 20),
                     .place = {source, 0, 0}});
    }
    TreeBuilder builder(source, limits);
    CountingIterator begin{text.data(), &builder.read}, end{text.data() + text.size(), &builder.read};
    if (!nlohmann::json::sax_parse(begin, end, &builder)) return fail(std::move(builder.errors));
    return builder.take();
}

}  // namespace heddle
