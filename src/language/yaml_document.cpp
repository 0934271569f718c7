#include "language/yaml_document.h"

#include <algorithm>
#include <istream>
#include <map>
#include <streambuf>

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include "language/yaml_scalar.h"
#include "support/utf8.h"

namespace heddle {

const YamlEntry* YamlNode::entry(const std::string& key) const {
    for (const YamlEntry& entry : entries) {
        if (entry.name() == key) return &entry;
    }
    return nullptr;
}

std::string_view YamlNode::kind_name() const {
    switch (kind) {
    case Kind::empty: return "nothing";
    case Kind::scalar: return "text";
    case Kind::sequence: return "a list";
    case Kind::mapping: return "a mapping";
    }
    return "";
}

namespace {

constexpr const char* quote_remedy = "quote the expression: YAML gives this character a meaning of its own";

// Thrown to leave the YAML parser once a limit is passed; caught in read_yaml.
struct Stop {};

// Reads a text without copying it.
class ViewBuffer : public std::streambuf {
public:
    explicit ViewBuffer(std::string_view text) {
        char* begin = const_cast<char*>(text.data());  // streambuf never writes to a get area
        setg(begin, begin, begin + text.size());
    }
};

class Builder : public YAML::EventHandler {
public:
    Builder(const std::shared_ptr<const SourceText>& source, DiagnosticSink& sink) : source_(source), sink_(sink) {}

    YamlNode take() { return std::move(root_); }

    void OnDocumentStart(const YAML::Mark& mark) override {
        if (documents_++ > 0) {
            report(mark, "language.yaml_feature", "a template file holds one document",
                   "remove the `---` or `...` and what follows, or move it to a file of its own");
            throw Stop{};
        }
    }
    void OnDocumentEnd() override {}

    void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
        refuse_anchor(mark, anchor);
        YamlNode node;
        node.place = place(mark);
        add(std::move(node));
    }
    void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
        report(mark, "language.yaml_feature", "a YAML alias is not part of a template", quote_remedy);
        YamlNode node;
        node.kind = YamlNode::Kind::scalar;
        node.refused = true;
        node.place = place(mark);
        add(std::move(node));
    }
    void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  const std::string& value) override {
        refuse_anchor(mark, anchor);
        YamlNode node;
        node.kind = YamlNode::Kind::scalar;
        locate_scalar(source_, offset(mark), value, node);
        bool tagged =
            source_->text().substr(offset(mark)).starts_with('!') || !(tag.empty() || tag == "?" || tag == "!");
        if (tagged) refuse_tag(mark);
        node.refused = tagged || anchor;
        add(std::move(node));
    }
    void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                         YAML::EmitterStyle::value) override {
        open(mark, tag, anchor, YamlNode::Kind::sequence);
    }
    void OnSequenceEnd() override { close(); }
    void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                    YAML::EmitterStyle::value style) override {
        open(mark, tag, anchor, YamlNode::Kind::mapping);
        stack_.back().flow = style == YAML::EmitterStyle::Flow;
    }
    void OnMapEnd() override { close(); }

private:
    struct Open {
        YamlNode node;
        std::vector<YamlNode> parts;  // of a mapping: key, value, key, value ...
        bool flow = false;
    };

    size_t offset(const YAML::Mark& mark) const {
        return mark.pos < 0 ? 0 : std::min(static_cast<size_t>(mark.pos), source_->text().size());
    }
    Place place(const YAML::Mark& mark) const { return Place{source_, offset(mark), 1}; }

    void report(const YAML::Mark& mark, const char* code, std::string summary, std::string remedy) {
        sink_.add({.code = code, .summary = std::move(summary), .place = place(mark), .remedy = std::move(remedy)});
    }
    void refuse_tag(const YAML::Mark& mark) {
        report(mark, "language.yaml_feature", "a YAML tag is not part of a template", quote_remedy);
    }
    void refuse_anchor(const YAML::Mark& mark, YAML::anchor_t anchor) {
        if (anchor) report(mark, "language.yaml_feature", "a YAML anchor is not part of a template", quote_remedy);
    }
    void open(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, YamlNode::Kind kind) {
        refuse_anchor(mark, anchor);
        if (!(tag.empty() || tag == "?" || tag == "!")) refuse_tag(mark);
        if (stack_.size() >= static_cast<size_t>(yaml_depth_limit)) {
            report(mark, "language.too_deep", fmt::format("YAML nested deeper than {} levels", yaml_depth_limit),
                   "a template needs five levels; is a bracket not quoted?");
            throw Stop{};
        }
        Open next;
        next.node.kind = kind;
        next.node.place = place(mark);
        stack_.push_back(std::move(next));
    }
    void close() {
        Open done = std::move(stack_.back());
        stack_.pop_back();
        if (done.node.is_sequence()) {
            done.node.items = std::move(done.parts);
        } else {
            std::map<std::string, Place> seen;
            for (size_t i = 0; i + 1 < done.parts.size(); i += 2) {
                add_entry(done, seen, std::move(done.parts[i]), std::move(done.parts[i + 1]));
            }
        }
        add(std::move(done.node));
    }
    void add_entry(Open& mapping, std::map<std::string, Place>& seen, YamlNode key, YamlNode value) {
        if (!key.is_scalar() || key.folded) {
            sink_.add({.code = "language.yaml_feature",
                       .summary = "a key must be one word",
                       .place = key.place,
                       .found = std::string(key.kind_name()),
                       .remedy = quote_remedy});
            return;
        }
        if (key.scalar.text == "<<") {
            sink_.add({.code = "language.yaml_feature",
                       .summary = "a YAML merge key is not part of a template",
                       .place = key.place,
                       .remedy = "write the keys out, or use `family`"});
            return;
        }
        if (value.kind == YamlNode::Kind::empty) value.place = key.place;
        if (mapping.flow && value.kind == YamlNode::Kind::empty) {
            if (!mapping.node.entries.empty()) mapping.node.entries.back().value.refused = true;
            sink_.add({.code = "language.unquoted",
                       .summary = fmt::format("`{}` has no value", key.scalar.text),
                       .place = key.place,
                       .reason = "inside { } YAML splits text at every comma, also within an expression",
                       .remedy = "quote the expression: {f: \"max(x, 0)\"}"});
            return;
        }
        auto [first, fresh] = seen.try_emplace(key.scalar.text, key.place);
        if (!fresh) {
            sink_.add({.code = "language.duplicate_key",
                       .summary = fmt::format("the key `{}` occurs twice", key.scalar.text),
                       .place = key.place,
                       .remedy = "remove one of the two",
                       .contexts = {{"the first is here", first->second}}});
            return;
        }
        mapping.node.entries.push_back({std::move(key), std::move(value)});
    }
    void add(YamlNode node) {
        if (++nodes_ > yaml_node_limit) {
            sink_.add({.code = "language.too_large",
                       .summary = fmt::format("more than {} YAML nodes", yaml_node_limit),
                       .place = node.place,
                       .remedy = "split the file"});
            throw Stop{};
        }
        if (stack_.empty()) {
            root_ = std::move(node);
        } else {
            stack_.back().parts.push_back(std::move(node));
        }
    }

    std::shared_ptr<const SourceText> source_;
    DiagnosticSink& sink_;
    YamlNode root_;
    std::vector<Open> stack_;
    size_t nodes_ = 0;
    int documents_ = 0;
};

// Text that YAML would silently change (byte order marks, other encodings, control characters) is refused first, so
// that every offset that YAML reports is a byte of the source.
bool check_encoding(const std::shared_ptr<const SourceText>& source, DiagnosticSink& sink) {
    std::string_view text = source->text();
    auto complain = [&](size_t at, const char* code, std::string summary, std::string remedy) {
        sink.add({.code = code, .summary = std::move(summary), .place = {source, at, 1}, .remedy = std::move(remedy)});
        return false;
    };
    if (text.size() > yaml_text_limit) {
        return complain(0, "language.too_large", fmt::format("a template file of more than {} bytes", yaml_text_limit),
                        "split the file");
    }
    if (text.starts_with("\xEF\xBB\xBF")) {
        return complain(0, "language.encoding", "the file begins with a byte order mark", "save it as plain UTF-8");
    }
    for (size_t at = 0; at < text.size();) {
        size_t length = utf8_length(text, at);
        auto byte = static_cast<unsigned char>(text[at]);
        bool control = (byte < 0x20 && byte != '\n' && byte != '\t' && byte != '\r') || byte == 0x7F;
        if (length == 0 || control) {
            return complain(at, "language.encoding", fmt::format("byte 0x{:02x} is not UTF-8 text", byte),
                            "save the file as plain UTF-8 without control characters");
        }
        at += length;
    }
    return true;
}

Complaint yaml_error(const std::shared_ptr<const SourceText>& source, const YAML::Exception& error) {
    size_t at = error.mark.pos < 0 ? 0 : std::min(static_cast<size_t>(error.mark.pos), source->text().size());
    Complaint diagnostic;
    diagnostic.place = {source, at, 1};
    if (error.msg.starts_with(YAML::ErrorMsg::UNKNOWN_ANCHOR) || error.msg == YAML::ErrorMsg::ALIAS_NOT_FOUND) {
        diagnostic.code = "language.yaml_feature";
        diagnostic.summary = "a YAML alias is not part of a template";
        diagnostic.remedy = quote_remedy;
        return diagnostic;
    }
    diagnostic.code = "language.yaml";
    std::string_view text = source->text();
    size_t begin = at == 0 ? 0 : text.rfind('\n', at - 1) + 1;  // npos + 1 is 0
    std::string_view line = text.substr(begin, text.find('\n', begin) - begin);
    size_t indent = line.find_first_not_of(" \t");
    if (size_t tab = line.substr(0, indent).find('\t'); tab != std::string_view::npos) {
        diagnostic.place = {source, begin + tab, 1};
        diagnostic.summary = "the line is indented by a tab";
        diagnostic.remedy = "indent by spaces: YAML allows no others";
        return diagnostic;
    }
    diagnostic.summary = "this is not YAML: " + error.msg;
    size_t sigil = line.find('$');
    if (sigil != std::string_view::npos && std::count(line.begin(), line.begin() + sigil, '"') % 2 == 0) {
        diagnostic.place = {source, begin + sigil, 1};
        diagnostic.remedy = "quote the expression that begins here: \"$T[$n]\"";
        return diagnostic;
    }
    diagnostic.remedy = "check the indentation and the brackets here, and quote every expression";
    return diagnostic;
}

}  // namespace

YamlNode read_yaml(const std::shared_ptr<const SourceText>& source, DiagnosticSink& sink) {
    if (!check_encoding(source, sink)) return {};
    Builder builder(source, sink);
    ViewBuffer buffer(source->text());
    std::istream stream(&buffer);
    try {
        YAML::Parser parser(stream);
        while (parser.HandleNextDocument(builder)) {
        }
    } catch (const Stop&) {
        return {};
    } catch (const YAML::Exception& error) {
        sink.add(yaml_error(source, error));
        return {};
    }
    return builder.take();
}

}  // namespace heddle
