#include <algorithm>
#include <limits>
#include <map>

#include <fmt/format.h>

#include "equations/system.h"
#include "graph/complex.h"
#include "plan/instantiate.h"
#include "plan/numbers.h"
#include "plan/plan.h"
#include "plan/plan_names.h"
#include "plan/stack.h"
#include "support/text_reader.h"

namespace heddle::plan {
namespace {

constexpr size_t most_buffers = 1 << 15;  // the verifier compares them in pairs

class Parser {
public:
    Parser(std::shared_ptr<const SourceText> source, const Constants& constants)
        : source_(std::move(source)), constants_(constants), reader_(source_, "schedules.syntax") {}

    Result<Plan> parse() {
        reader_.next_line();
        header_place_ = reader_.place();
        const std::vector<int64_t> counts = header();
        while (errors_.empty() && reader_.next_line()) declaration();
        if (!errors_.empty()) return fail(std::move(errors_));
        if (reader_.failed()) return reader_.failure();
        bind_constants();
        if (!errors_.empty()) return fail(std::move(errors_));
        std::ranges::stable_sort(plan_.stack, {}, [this](const Stacked& stacked) {
            return plan_.buffers[static_cast<size_t>(stacked.buffer)].offset;
        });
        if (auto fine = verify(plan_); !fine) return fail(located(std::move(fine.error())));
        check_header(counts);
        check_keys();
        if (!errors_.empty()) return fail(std::move(errors_));
        return std::move(plan_);
    }

private:
    // ---- small things
    // -------------------------------------------------------------------------------------------------
    int64_t natural(int64_t most = std::numeric_limits<int64_t>::max()) {
        return reader_.natural("a number that is not negative, and in its range", most);
    }
    int32_t index() { return static_cast<int32_t>(natural(std::numeric_limits<int32_t>::max())); }
    // The number of a table's next entry.
    void in_order(size_t next) {
        if (reader_.peek().integer != static_cast<int64_t>(next)) reader_.error("number " + std::to_string(next));
        natural();
    }
    void error(std::string code, std::string summary, Place place, std::string expected = "", std::string found = "") {
        errors_.push_back({.code = std::move(code),
                           .summary = std::move(summary),
                           .place = std::move(place),
                           .expected = std::move(expected),
                           .found = std::move(found)});
    }
    // A part of the text in a language of its own: what is wrong there is wrong here.
    std::shared_ptr<const SourceText> part(const Place& place) const {
        return std::make_shared<SourceText>(source_->name(),
                                            std::string(source_->text().substr(place.offset, place.length)));
    }
    void add_errors(Diagnostics found, const Place& part, const Place& heading) {
        for (Diagnostic& diagnostic : found) {
            const size_t length = diagnostic.place.length;
            diagnostic.place =
                diagnostic.place.source ? Place{source_, part.offset + diagnostic.place.offset, length} : heading;
            errors_.push_back(std::move(diagnostic));
        }
    }

    // ---- lines
    // --------------------------------------------------------------------------------------------------------
    std::vector<int64_t> header() {
        std::vector<int64_t> counts;
        auto count = [&](std::initializer_list<const char*> before, const char* behind) {
            for (const char* word : before) reader_.expect(word);
            counts.push_back(natural());
            reader_.expect(behind);
        };
        count({"plan", ":"}, "launches");
        count({","}, "layout");
        count({"launches", ","}, "kernels");
        count({",", "workspace"}, "bytes");
        count({"(", "most", "live"}, ")");
        count({",", "prepared"}, "bytes");
        count({",", "scratch"}, "bytes");
        plan_.workspace_bytes = counts[3];
        plan_.scratch_bytes = counts[6];
        return counts;
    }

    void declaration() {
        if (reader_.take("input")) {
            interface(plan_.input_names, plan_.input_types);
            if (reader_.take("decided")) decided_places_[plan_.input_names.size() - 1] = reader_.place();
        } else if (reader_.take("output")) {
            interface(plan_.output_names, plan_.output_types);
            if (reader_.take("in")) {
                reader_.expect("input");
                plan_.donations.push_back({static_cast<int32_t>(plan_.output_names.size()) - 1, index()});
            } else if (reader_.take("grows")) {
                reader_.expect("input");
                const int32_t input = index();
                reader_.expect("along");
                plan_.growths.push_back({static_cast<int32_t>(plan_.output_names.size()) - 1, input, index()});
                reader_.expect("to");
                plan_.capacity = reader_.text("a name of a size");
            }
        } else if (reader_.take("sizes")) {
            names();
        } else if (reader_.take("where")) {
            facts();
        } else if (reader_.take("workspace")) {
            workspace_place_ = reader_.place();
            while (!reader_.failed() && !reader_.at_line()) workspace_.push_back(size());
        } else if (reader_.take("buffer")) {
            buffer();
        } else if (reader_.take("prepare")) {
            launch(plan_.prepare);
        } else if (reader_.take("run")) {
            launch(plan_.run);
        } else if (reader_.take("target")) {
            target();
        } else if (reader_.take("kernel")) {
            kernel();
        } else {
            reader_.error("sizes, where, workspace, input, output, buffer, prepare, run, target or kernel");
        }
    }

    void interface(std::vector<std::string>& names, std::vector<TensorType>& types) {
        in_order(types.size());
        names.push_back(reader_.text("a name in quotes"));
        reader_.expect(":");
        types.push_back(type());
    }

    TensorType type() {
        TensorType type;
        type.dtype = reader_.dtype(true);
        type.shape = reader_.list("[", "]", [&] { return size(); });
        return type;
    }

    // What the plan's names stand for; what they have in common with all sizes for which it holds.
    void names() {
        plan_.facts.emplace();
        while (!reader_.failed() && !reader_.at_line()) {
            const std::string name = reader_.name("a name of a size");
            reader_.expect("=");
            plan_.names[name] = natural();
        }
    }
    void facts() {
        using Relation = SizeFact::Relation;
        if (!plan_.facts) reader_.error("\"sizes\" before");
        while (!reader_.failed() && !reader_.at_line()) {
            const OriginPointer size = origin();
            const Relation relation = reader_.take("==")   ? Relation::zero
                                      : reader_.take("!=") ? Relation::not_zero
                                                           : Relation::not_negative;
            if (relation == Relation::not_negative) reader_.expect(">=");
            reader_.natural("0", 0);
            if (!reader_.failed()) plan_.facts->add({size, relation});
        }
    }

    // Not below zero, but where it may be.
    Size size(bool may_be_negative = false) {
        const auto number = [&] { return may_be_negative ? reader_.integer("a number") : natural(); };
        if (reader_.at_number()) return number();
        const OriginPointer from = origin();
        reader_.expect("=");
        const int64_t value = number();
        if (from && from->is_constant() && from->constant_value() != value) reader_.error("its value before");
        return from ? Size(value, from) : Size(0);
    }

    // Null after an error.
    OriginPointer origin() {
        OriginPointer result = reader_.nested([&] { return origin_inside(); });
        return reader_.failed() ? nullptr : result;
    }
    OriginPointer origin_inside() {
        if (reader_.at_number()) return Origin::of_constant(reader_.integer("a number"));
        if (reader_.take("(")) {
            OriginPointer a = origin();
            for (auto [mark, kind] : names::operators) {
                if (reader_.take(mark)) return operation(kind, a);
            }
            reader_.error("+, -, *, // or %");
            return nullptr;
        }
        if (reader_.at_text()) return Origin::of_name(reader_.text("a size"));
        std::string word = reader_.word("a size");
        if (!reader_.is("(")) return Origin::of_name(std::move(word));
        if (word != "min" && word != "max") reader_.error("min or max before");
        reader_.expect("(");
        OriginPointer a = origin();
        reader_.expect(",");
        return operation(word == "min" ? Origin::Kind::minimum : Origin::Kind::maximum, a);
    }
    // Its second operand, and the bracket behind.
    OriginPointer operation(Origin::Kind kind, OriginPointer a) {
        OriginPointer b = origin();
        reader_.expect(")");
        if (!a || !b) return nullptr;
        return Origin::of(kind, a, b);
    }

    void buffer() {
        if (plan_.buffers.size() == most_buffers) reader_.error("fewer buffers");
        in_order(plan_.buffers.size());
        Buffer b;
        const Place place = reader_.place();
        b.name = reader_.text("a name in quotes");
        const std::string kind = reader_.word("a kind of buffer");
        auto found = std::find(names::kinds.begin(), names::kinds.end(), kind);
        if (found == names::kinds.end()) reader_.error("a kind of buffer before");
        b.kind = static_cast<Buffer::Kind>(found - names::kinds.begin());
        if (b.kind == Buffer::Kind::input || b.kind == Buffer::Kind::output) b.index = index();
        reader_.expect(":");
        TensorType tensor = type();
        b.dtype = tensor.dtype;
        b.bytes = size();
        reader_.expect("bytes");
        if (reader_.take("at")) b.offset = natural();
        Stacked stacked{static_cast<int32_t>(plan_.buffers.size()), {}};
        if (reader_.take("above")) {
            while (reader_.at_number()) stacked.below.push_back(index());
        }
        if (reader_.take("base")) b.base = size();
        if (reader_.take("batches")) {
            b.first = index();
            reader_.expect("..");
            b.last = index();
        }
        if (reader_.take("packed")) {
            b.packed = reader_.text("a map in quotes");
            if (b.packed.empty()) reader_.error("a map before");
        } else {
            b.storage = map(tensor.shape);
        }
        if (reader_.take("filling")) b.filling = reader_.real("a number");
        if (b.packed.empty()) b.storage.filling = b.filling;
        b.sizes = std::move(tensor.shape);
        plan_.graph_tensor.push_back(reader_.take("tensor") ? TensorId(index()) : no_id);
        buffer_places_.push_back(place);
        places_.emplace("buffer " + b.name, place);
        if (b.kind == Buffer::Kind::workspace && b.first >= 0) plan_.stack.push_back(std::move(stacked));
        plan_.buffers.push_back(std::move(b));
    }

    StorageMap map(std::vector<Size> extents) {
        StorageMap map = StorageMap::row_major(std::move(extents));
        if (reader_.take("order")) {
            for (int32_t& dimension : map.order) dimension = index();
        } else {
            for (const char* word : {"row", "-", "major"}) reader_.expect(word);
        }
        if (reader_.take("margins")) {
            do {
                const auto d = dimension(map);
                if (reader_.failed()) break;
                map.margin_before[d] = size();
                map.margin_after[d] = size();
            } while (reader_.take(","));
        }
        if (reader_.take("room")) {
            const auto d = dimension(map);
            if (!reader_.failed()) map.room[d] = size();
        }
        return map;
    }

    size_t dimension(const StorageMap& map) {
        if (reader_.peek().integer >= static_cast<int64_t>(map.extent.size())) reader_.error("a dimension");
        const auto dimension = static_cast<size_t>(natural());
        reader_.expect(":");
        return dimension;
    }

    void launch(std::vector<Batch>& batches) {
        const bool same = !batches.empty() && reader_.peek().integer + 1 == static_cast<int64_t>(batches.size());
        in_order(batches.size() - (same ? 1 : 0));
        if (!same) batches.emplace_back();
        Launch launch;
        const Place place = reader_.place();
        launch.name = reader_.text("a name in quotes");
        reader_.expect(":");
        reader_.expect("kernel");
        launch.tree = index();
        reader_.expect("tasks");
        launch.tasks = size();
        if (reader_.take("rounds")) launch.rounds = size();
        reader_.expect("scratch");
        launch.scratch_bytes = size();
        launch.fills = reader_.take("fills");
        launch.layout = launch.fills || reader_.take("layout");
        reader_.expect("buffers");
        while (reader_.at_number()) launch.buffers.push_back(index());
        reader_.expect("numbers");
        while (!reader_.failed() && !reader_.at_line()) launch.numbers.push_back(size(true));
        places_.emplace("launch " + launch.name, place);
        batches.back().push_back(std::move(launch));
    }

    void target() {
        const Place text = reader_.skip_block(std::numeric_limits<int>::max());
        const auto json = joined_lines(source_->text().substr(text.offset, text.length));
        auto target = parse_target(std::make_shared<SourceText>(source_->name(), json));
        if (!target) return add_errors(std::move(target.error()), text, text);
        plan_.target = std::move(*target);
    }

    void kernel() {
        in_order(plan_.trees.size());
        const Place place = reader_.place();
        plan_.keys.push_back(reader_.text("a key in quotes"));
        if (reader_.failed()) return;
        const Place text = reader_.skip_block(reader_.indentation());
        auto tree = schedules::parse_tree(part(text));
        if (!tree) return add_errors(std::move(tree.error()), text, place);
        plan_.trees.push_back(std::move(*tree));
        key_places_.push_back(place);
    }

    // ---- what lines say together
    // --------------------------------------------------------------------------------------
    void bind_constants() {
        for (size_t i = 0; i < plan_.buffers.size(); i++) {
            Buffer& buffer = plan_.buffers[i];
            if (buffer.kind != Buffer::Kind::constant) continue;
            if (const TensorData* data = constant(buffer.name, {buffer.dtype, buffer.sizes}, buffer_places_[i]))
                buffer.constant = needs_own_memory(i) ? data->clone() : *data;
        }
        for (const auto& [i, place] : decided_places_) {
            if (const TensorData* data = constant(plan_.input_names[i], stored_type(plan_.input_types[i]), place))
                plan_.decided.emplace(static_cast<int32_t>(i), *data);
        }
    }

    // Null after an error.
    const TensorData* constant(const std::string& name, const TensorType& type, const Place& place) {
        auto found = constants_.find(name);
        if (found == constants_.end()) {
            error("plan.constant", "a constant is not there", place, type.text());
            return nullptr;
        }
        const TensorData& data = found->second;
        if (data.dtype() == type.dtype && data.shape() == type.extents()) return &data;
        const TensorType other{data.dtype(), {data.shape().begin(), data.shape().end()}};
        error("plan.constant", "a constant is not of its type", place, type.text(), other.text());
        return nullptr;
    }

    // Kernels were made for aligned memory with slack behind.
    bool needs_own_memory(size_t buffer) const {
        const TensorData& data = constants_.at(plan_.buffers[buffer].name);
        if (data.owned() || !data.data()) return false;
        for (const auto* phase : {&plan_.prepare, &plan_.run}) {
            for (const Batch& batch : *phase) {
                for (const Launch& launch : batch) {
                    if (relies_on_own_memory(launch, buffer)) return true;
                }
            }
        }
        return false;
    }
    bool relies_on_own_memory(const Launch& launch, size_t buffer) const {
        if (static_cast<size_t>(launch.tree) >= plan_.trees.size()) return false;
        const auto& memories = plan_.trees[static_cast<size_t>(launch.tree)]->memories;
        for (size_t i = 0; i < launch.buffers.size() && i < memories.size(); i++) {
            const bool used = static_cast<size_t>(launch.buffers[i]) == buffer;
            if (used && (memories[i].aligned || memories[i].slack)) return true;
        }
        return false;
    }

    // The counts in the first line follow from the rest: a lost line is noticed.
    void check_header(const std::vector<int64_t>& counts) {
        const std::vector<int64_t> found = {
            plan_.launches(),      plan_.layout_launches(), static_cast<int64_t>(plan_.trees.size()),
            plan_.workspace_bytes, plan_.most_live_bytes(), plan_.prepared_bytes(),
            plan_.scratch_bytes};
        check_sizes();
        if (found == counts) return;
        error("plan.broken", "the first line does not fit what follows", header_place_,
              fmt::format("{} launches, {} layout launches, {} kernels, most live {}", found[0], found[1], found[2],
                          found[4]));
    }

    // Expressions have their numbers where the plan stands, and facts hold there.
    void check_sizes() {
        if (!plan_.facts) return;
        if (const SizeFact* fact = plan_.facts->broken_by(plan_.names))
            error("plan.broken", "the plan does not hold for its own sizes", header_place_, fact->text());
        Plan again = plan_;
        if (!instantiate(again, plan_.names) || Numbers(again) != Numbers(plan_))
            error("plan.broken", "an expression has another number for the plan's sizes", header_place_);
        // For people: a plan runs by its stack. To find the expressions again would take a third of the time to read a plan.
        const auto greatest = std::ranges::max_element(workspace_, {}, &Size::number);
        const bool same = workspace_.empty() || greatest->number() == plan_.workspace_bytes;
        if (!same) error("plan.broken", "the expression of the workspace has another number", workspace_place_);
    }

    // Compiled code is looked up by keys: a wrong one would run another kernel.
    void check_keys() {
        for (size_t i = 0; i < plan_.trees.size(); i++) {
            const std::string key = schedules::key(*plan_.trees[i], plan_.target);
            if (key != plan_.keys[i])
                error("plan.key", "a kernel's key is not that of its tree and the target", key_places_[i], key,
                      plan_.keys[i]);
        }
    }

    Diagnostics located(Diagnostics diagnostics) const {
        for (Diagnostic& diagnostic : diagnostics) {
            diagnostic.place = header_place_;
            diagnostic.reason = "no plan prints so";
            for (const auto& [kind, name] : diagnostic.params) {
                if (auto found = places_.find(kind + " " + name); found != places_.end())
                    diagnostic.place = found->second;
            }
        }
        return diagnostics;
    }

    const std::shared_ptr<const SourceText> source_;
    const Constants& constants_;
    TextReader reader_;
    Plan plan_;
    Diagnostics errors_;
    Place header_place_, workspace_place_;
    std::vector<Size> workspace_;
    std::vector<Place> buffer_places_, key_places_;
    std::map<size_t, Place> decided_places_;  // by input
    std::map<std::string, Place> places_;     // the first "buffer NAME" and "launch NAME", for what `verify` finds
};

}  // namespace

Result<Plan> parse_plan(std::shared_ptr<const SourceText> text, const Constants& constants) {
    return Parser(std::move(text), constants).parse();
}

Result<Constants> constants_of(const Graph& graph) {
    auto system = equations::lower(graph);
    if (!system) return fail(std::move(system.error()));
    Constants constants;
    for (const equations::SystemTensor& tensor : system->tensors) {
        if (tensor.constant) constants.emplace(tensor.name, *tensor.constant);
    }
    return constants;
}

}  // namespace heddle::plan
