#include "plan/plan.h"

#include <algorithm>
#include <bit>
#include <map>
#include <set>

#include "graph/complex.h"
#include "plan/kernel_former.h"
#include "plan/stack.h"
#include "schedules/in_place.h"
#include "zspace/checked.h"

namespace heddle::plan {
bool writes(const Plan& plan, const Launch& launch, size_t position) {
    const auto& tree = *plan.trees[static_cast<size_t>(launch.tree)];
    return tree.memories[position].kind != schedules::Memory::Kind::input;
}

namespace {

bool only_layout(const Batch& batch) {
    return std::all_of(batch.begin(), batch.end(), [](const Launch& l) { return l.layout; });
}

std::unexpected<Diagnostics> broken(std::string what, const char* kind, const std::string& name,
                                    const std::string& more = "") {
    return fail({.code = "plan.broken",
                 .summary = std::move(what),
                 .found = name + more,
                 .reason = "this is a mistake of the compiler, not of the model",
                 .params = {{kind, name}}});
}

std::unexpected<Diagnostics> broken(std::string what, const Launch& launch, const std::string& more = "") {
    return broken(std::move(what), "launch", launch.name, more);
}

std::unexpected<Diagnostics> broken(std::string what, const Buffer& buffer, const std::string& more = "") {
    return broken(std::move(what), "buffer", buffer.name, more);
}

// Elements with margins; nothing if the map is no map of the sizes.
std::optional<int64_t> elements(const StorageMap& map, const std::vector<Size>& sizes) {
    const size_t rank = sizes.size();
    if (map.extent.size() != rank || map.order.size() != rank || map.margin_before.size() != rank ||
        map.margin_after.size() != rank || map.room.size() != rank)
        return std::nullopt;
    std::set<int32_t> dimensions(map.order.begin(), map.order.end());
    if (rank > 0 && (dimensions.size() != rank || *dimensions.begin() != 0 ||
                     *dimensions.rbegin() + 1 != static_cast<int32_t>(rank)))
        return std::nullopt;
    constexpr int64_t most = int64_t(1) << 48;  // far from where sums of products overflow
    int64_t all = 1, nonzero = 1;               // strides are products without what is outside, which may be empty
    for (size_t d = 0; d < rank; d++) {
        const int64_t parts[] = {map.extent[d], map.margin_before[d], map.margin_after[d], map.room[d]};
        int64_t extent = 0;
        for (int64_t part : parts) {
            if (part < 0 || part > most) return std::nullopt;
            extent += part;
        }
        auto product = checked_multiply(nonzero, std::max<int64_t>(extent, 1));
        if (map.extent[d] != sizes[d].value() || !product || *product > most) return std::nullopt;
        nonzero = *product;
        all *= extent;
    }
    return all;
}

// How tasks are cut is chosen at the sizes that a plan is made for, and `schedules::verify` has seen that they are all.
bool same_but_cuts(const schedules::Tree& tree, const std::vector<Size>& a, const std::vector<Size>& b) {
    std::set<size_t> cuts;
    for (const auto& axis : tree.tasks) {
        for (const schedules::Number& number : {axis.step, axis.count, axis.divisor}) {
            if (number.launch) cuts.insert(static_cast<size_t>(number.value));
        }
    }
    if (a.size() != b.size()) return false;
    for (size_t i = 0; i < a.size(); i++) {
        if (a[i] != b[i] && !cuts.contains(i)) return false;
    }
    return true;
}

// What fills margins is what is made for this map, in the first batch that uses the buffer: before anything reads it.
Result<void> verify_filling(const Plan& plan, size_t index) {
    const Buffer& buffer = plan.buffers[index];
    const auto uses = [&](const Launch& launch) {
        return std::ranges::find(launch.buffers, static_cast<int32_t>(index)) != launch.buffers.end();
    };
    const auto first = std::ranges::find_if(plan.run, [&](const Batch& batch) { return std::ranges::any_of(batch, uses); });
    if (first == plan.run.end()) return {};
    const auto filling =
        std::ranges::find_if(*first, [&](const Launch& launch) { return launch.fills && uses(launch); });
    if (filling == first->end()) return broken("nothing fills the margins of a buffer", buffer);
    const auto made = schedules::schedule(form_margins(buffer.storage, buffer.dtype), plan.target);
    if (!made) return fail(made.error());
    const bool same = plan.keys[static_cast<size_t>(filling->tree)] == schedules::key(made->tree, plan.target) &&
                      same_but_cuts(made->tree, filling->numbers, made->launch.numbers);
    return same ? Result<void>() : broken("other margins than those of a buffer are filled", buffer);
}

// Whether a buffer lies as its tensor and its map say.
Result<void> verify_storage(const Buffer& buffer) {
    const int64_t width = bytes(buffer.dtype);
    if (!buffer.packed.empty()) {
        if (buffer.bytes < 0 || buffer.base != 0) return broken("a packed buffer has no bytes, or a base", buffer);
        return {};
    }
    auto count = elements(buffer.storage, buffer.sizes);
    if (!count) return broken("a buffer's map is none of its tensor's shape", buffer);
    if (*count * width != buffer.bytes || buffer.storage.offset() * width != buffer.base)
        return broken("a buffer's bytes are not those of its map", buffer);
    if (std::bit_cast<uint64_t>(buffer.filling) != std::bit_cast<uint64_t>(buffer.storage.filling))
        return broken("a buffer is not filled as its map says", buffer);
    return {};
}

const Buffer* buffer_of(const Plan& plan, Buffer::Kind kind, int32_t index) {
    const auto found = std::ranges::find_if(
        plan.buffers, [&](const Buffer& buffer) { return buffer.kind == kind && buffer.index == index; });
    return found == plan.buffers.end() ? nullptr : &*found;
}

bool grows(const Plan& plan, const Buffer& buffer) {
    return std::ranges::any_of(plan.growths, [&](const Growth& growth) {
        return buffer.index == (buffer.kind == Buffer::Kind::input ? growth.input : growth.output);
    });
}

// Whether what is given from outside is of the buffer's type.
Result<void> verify_given(const Plan& plan, const Buffer& buffer) {
    if (buffer.kind == Buffer::Kind::constant) {
        const bool fits = buffer.constant && buffer.constant->dtype() == buffer.dtype &&
                          buffer.constant->byte_size() == buffer.bytes && buffer.base == 0;
        return fits ? Result<void>() : broken("a constant is not as large as its buffer", buffer);
    }
    if (buffer.kind != Buffer::Kind::input && buffer.kind != Buffer::Kind::output) return {};
    const auto& types = buffer.kind == Buffer::Kind::input ? plan.input_types : plan.output_types;
    if (buffer.index < 0 || buffer.index >= static_cast<int32_t>(types.size()))
        return broken("a buffer is an input or output that the plan does not have", buffer);
    const TensorType type = stored_type(types[static_cast<size_t>(buffer.index)]);
    StorageMap dense = buffer.storage;
    if (grows(plan, buffer)) dense.room.assign(dense.room.size(), 0);
    if (type.dtype != buffer.dtype || numbers_of(type.shape) != numbers_of(buffer.storage.extent) || !dense.is_row_major())
        return broken("an input or output does not lie as its owner sees it", buffer, ", " + type.text());
    return {};
}

Result<void> verify_tables(const Plan& plan) {
    const std::set<std::string> keys(plan.keys.begin(), plan.keys.end());
    if (plan.keys.size() != plan.trees.size() || keys.size() != plan.keys.size())
        return broken("two kernels have one key", "kernels", std::to_string(plan.keys.size()));
    if (plan.graph_tensor.size() != plan.buffers.size() || plan.input_names.size() != plan.input_types.size() ||
        plan.output_names.size() != plan.output_types.size())
        return broken("tables differ in length", "buffers", std::to_string(plan.buffers.size()));
    for (const auto& [input, value] : plan.decided) {
        const bool exists = input >= 0 && static_cast<size_t>(input) < plan.input_types.size();
        const TensorType type = exists ? stored_type(plan.input_types[static_cast<size_t>(input)]) : TensorType{};
        if (!exists || value.dtype() != type.dtype || value.shape() != type.extents())
            return broken("a value is not of the type of the input that must have it", "input", std::to_string(input));
    }
    std::set<int32_t> outputs;
    for (const Buffer& buffer : plan.buffers) {
        if (auto fine = verify_storage(buffer); !fine) return fine;
        if (auto fine = verify_given(plan, buffer); !fine) return fine;
        if (buffer.kind == Buffer::Kind::output) outputs.insert(buffer.index);
    }
    if (outputs.size() != plan.output_types.size())
        return broken("an output has no buffer", "outputs", std::to_string(outputs.size()));
    return {};
}

// 64-byte addresses of coordinate zero, and as many readable bytes behind the buffer.
bool lies_well(const Buffer& buffer) {
    if (buffer.kind == Buffer::Kind::constant) return buffer.constant->owned() || !buffer.constant->data();
    return buffer.kind != Buffer::Kind::input && buffer.kind != Buffer::Kind::output;
}

Result<void> verify_launch(const Plan& plan, const Launch& launch) {
    if (launch.tree < 0 || launch.tree >= static_cast<int32_t>(plan.trees.size()))
        return broken("a launch has no tree", launch);
    const auto& tree = *plan.trees[static_cast<size_t>(launch.tree)];
    if (tree.buffers() != launch.buffers.size()) return broken("a launch's buffers do not fit its tree", launch);
    if (launch.tasks < 0 || launch.scratch_bytes < 0 || launch.scratch_bytes > plan.scratch_bytes)
        return broken("a launch has less than no tasks, or more scratch than the plan", launch);
    if (auto fine = schedules::verify(tree, launch.numbers, launch.tasks, launch.rounds); !fine) {
        const Diagnostic& problem = fine.error().front();
        return broken("a launch's numbers do not fit its tree", launch,
                      ": not " + problem.expected + ", but " + problem.found);
    }
    for (size_t i = 0; i < launch.buffers.size(); i++) {
        if (launch.buffers[i] < 0 || launch.buffers[i] >= static_cast<int32_t>(plan.buffers.size())) {
            return broken("a launch uses a buffer that is not there", launch);
        }
        const Buffer& buffer = plan.buffers[static_cast<size_t>(launch.buffers[i])];
        const schedules::Memory& memory = tree.memories[i];
        bool read_only = buffer.kind == Buffer::Kind::input || buffer.kind == Buffer::Kind::constant;
        if (read_only && writes(plan, launch, i)) return broken("a launch writes what is read-only", launch);
        if (memory.dtype != buffer.dtype) return broken("a launch takes a buffer for another dtype", launch);
        if ((memory.aligned || memory.slack) && !lies_well(buffer))
            return broken("a launch relies on the place of what is not ours", launch, ": " + buffer.name);
        if (memory.aligned && buffer.base % 64 != 0)
            return broken("a launch relies on a base that is not aligned", launch, ": " + buffer.name);
    }
    return {};
}

bool reads(const Plan& plan, const Launch& launch, size_t position) {
    const auto& tree = *plan.trees[static_cast<size_t>(launch.tree)];
    return tree.memories[position].kind != schedules::Memory::Kind::output;
}

// No launch of a batch reads what another of it writes. Several may write one buffer: pieces of one tensor are
// disjoint.
Result<void> verify_apart(const Plan& plan, const Batch& batch) {
    std::map<int32_t, std::set<const Launch*>> readers;
    for (const Launch& launch : batch) {
        for (size_t i = 0; i < launch.buffers.size(); i++) {
            if (reads(plan, launch, i)) readers[launch.buffers[i]].insert(&launch);
        }
    }
    for (const Launch& writer : batch) {
        for (size_t i = 0; i < writer.buffers.size(); i++) {
            auto found = readers.find(writer.buffers[i]);
            if (!writes(plan, writer, i) || found == readers.end()) continue;
            const size_t others = found->second.size() - found->second.count(&writer);
            if (others > 0) {
                return broken("launches of one batch depend on each other", writer,
                              " writes " + plan.buffers[static_cast<size_t>(writer.buffers[i])].name);
            }
        }
    }
    return {};
}

// Reads come after writes, and launches of one batch leave each other's results alone.
Result<void> verify_order(const Plan& plan, const std::vector<Batch>& phase, std::set<int32_t>& written) {
    for (const Batch& batch : phase) {
        std::set<int32_t> here;
        for (const Launch& launch : batch) {
            if (auto fine = verify_launch(plan, launch); !fine) return fine;
            for (size_t i = 0; i < launch.buffers.size(); i++) {
                if (writes(plan, launch, i) && !launch.fills) here.insert(launch.buffers[i]);
            }
        }
        for (const Launch& launch : batch) {
            for (size_t i = 0; i < launch.buffers.size(); i++) {
                int32_t b = launch.buffers[i];
                const Buffer& buffer = plan.buffers[static_cast<size_t>(b)];
                // Nobody writes a tensor without elements.
                bool given = buffer.kind == Buffer::Kind::input || buffer.kind == Buffer::Kind::constant ||
                             std::ranges::any_of(buffer.sizes, [](const Size& size) { return size.value() == 0; });
                if (!writes(plan, launch, i) && !given && !written.contains(b)) {
                    return broken("a launch reads what nothing has written", launch, " reads " + buffer.name);
                }
            }
        }
        if (auto apart = verify_apart(plan, batch); !apart) return apart;
        written.merge(here);
    }
    return {};
}

// In the memory of an input an output is written when nothing reads the input any more, but what it overwrites.
Result<void> verify_donation(const Plan& plan, const Donation& donation) {
    const auto is = [&](int32_t b, Buffer::Kind kind, int32_t index) {
        const Buffer& buffer = plan.buffers[static_cast<size_t>(b)];
        return buffer.kind == kind && buffer.index == index;
    };
    const Launch* early = nullptr;  // of the batches so far, what has written the output
    for (const Batch& batch : plan.run) {
        std::vector<const Launch*> writers, readers;
        for (const Launch& launch : batch) {
            const auto& tree = *plan.trees[static_cast<size_t>(launch.tree)];
            for (size_t i = 0; i < launch.buffers.size(); i++) {
                if (is(launch.buffers[i], Buffer::Kind::input, donation.input)) readers.push_back(&launch);
                if (!is(launch.buffers[i], Buffer::Kind::output, donation.output) || !writes(plan, launch, i)) continue;
                writers.push_back(&launch);
                for (size_t j = 0; j < launch.buffers.size(); j++) {
                    if (!is(launch.buffers[j], Buffer::Kind::input, donation.input) || launch.tasks == 0) continue;
                    const auto problem = schedules::overwrites_early(tree, launch.numbers, schedules::MemoryId(j),
                                                                     schedules::MemoryId(i));
                    if (problem) return broken("a launch overwrites what it reads", launch, ": " + *problem);
                }
            }
        }
        for (const Launch* reader : readers) {
            const bool other = std::ranges::any_of(writers, [&](const Launch* writer) { return writer != reader; });
            if (early || other) return broken("a launch reads an input that may be overwritten", *reader);
        }
        if (!writers.empty()) early = writers.front();
    }
    return {};
}

Result<void> verify_donations(const Plan& plan) {
    std::set<int32_t> outputs, inputs;
    for (const Donation& donation : plan.donations) {
        const auto [output, input] = donation;
        const bool exist = output >= 0 && static_cast<size_t>(output) < plan.output_types.size() && input >= 0 &&
                           static_cast<size_t>(input) < plan.input_types.size();
        if (!exist || !outputs.insert(output).second || !inputs.insert(input).second)
            return broken("memory is taken over that is not there, or twice", "output", std::to_string(output));
        const TensorType &to = plan.output_types[static_cast<size_t>(output)],
                         &from = plan.input_types[static_cast<size_t>(input)];
        if (to.dtype != from.dtype || to.extents() != from.extents())
            return broken("an output takes over memory of another type", "output", std::to_string(output));
        if (auto fine = verify_donation(plan, donation); !fine) return fine;
    }
    return {};
}

// Whether the input is the output's begin along the dimension, in one memory: with as many places in all.
bool is_begin(const Plan& plan, const Growth& growth) {
    const TensorType from = stored_type(plan.input_types[static_cast<size_t>(growth.input)]);
    const Buffer& to = *buffer_of(plan, Buffer::Kind::output, growth.output);
    const auto d = static_cast<size_t>(growth.dimension);
    StorageMap begin = to.storage;
    if (growth.dimension < 0 || d >= from.shape.size() || from.shape.size() != begin.extent.size() || from.dtype != to.dtype)
        return false;
    begin.room[d] = begin.extent[d].number() + begin.room[d].number() - from.shape[d].number();
    begin.extent[d] = from.shape[d].number();
    const Buffer* read = buffer_of(plan, Buffer::Kind::input, growth.input);  // null: nothing reads it
    const auto lies_so = [&](const StorageMap& map) { return numbers_of(map.strides()) == numbers_of(begin.strides()); };
    return begin.room[d] >= to.storage.room[d].number() && numbers_of(begin.extent) == numbers_of(from.shape) &&
           (!read || lies_so(read->storage));
}

// That launches write only what is behind the input is how they were made (growth.h), and not checked here.
Result<void> verify_growths(const Plan& plan) {
    std::set<int32_t> outputs, inputs;
    for (const Growth& growth : plan.growths) {
        const auto [output, input, dimension] = growth;
        const bool exist = output >= 0 && static_cast<size_t>(output) < plan.output_types.size() && input >= 0 &&
                           static_cast<size_t>(input) < plan.input_types.size();
        if (!exist || !outputs.insert(output).second || !inputs.insert(input).second || plan.input_below(output) >= 0 ||
            !is_begin(plan, growth) ||
            plan.capacity_of(growth).number() != plan.capacity_of(plan.growths.front()).number())
            return broken("an output does not grow as its input lies", "output", std::to_string(output));
    }
    return {};
}

bool of_session(const Buffer& buffer) {
    return buffer.first >= 0 && buffer.kind == Buffer::Kind::workspace;
}

// A buffer lives in every batch that uses it.
Result<void> verify_lifetimes(const Plan& plan) {
    for (size_t b = 0; b < plan.run.size(); b++) {
        for (const Launch& launch : plan.run[b]) {
            for (int32_t index : launch.buffers) {
                const Buffer& buffer = plan.buffers[static_cast<size_t>(index)];
                bool lives = buffer.first >= 0 && buffer.first <= static_cast<int32_t>(b) &&
                             static_cast<int32_t>(b) <= buffer.last;
                if (!lives)
                    return broken("a launch uses a buffer outside of its lifetime", launch, " uses " + buffer.name);
            }
        }
    }
    return {};
}

bool overlap(const Buffer& a, const Buffer& b) {
    return a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes;
}

// A buffer lies inside of its memory.
Result<void> verify_inside(const Plan& plan, const Buffer& buffer) {
    if (!of_session(buffer)) return {};
    const int64_t all = plan.workspace_bytes;
    if (buffer.offset < 0 || buffer.bytes > all || buffer.offset > all - buffer.bytes)
        return broken("a buffer lies outside of the workspace", buffer);
    if (buffer.offset % 64 != 0) return broken("a buffer is not aligned", buffer);
    return {};
}

// Buffer i lies apart from those behind it in the table that live when it does.
Result<void> verify_apart(const Plan& plan, size_t i) {
    const Buffer& a = plan.buffers[i];
    if (!of_session(a)) return {};
    for (size_t j = i + 1; j < plan.buffers.size(); j++) {
        const Buffer& b = plan.buffers[j];
        if (!of_session(b) || !overlap(a, b)) continue;
        bool both_live = a.first <= b.last && b.first <= a.last;
        if (both_live) return broken("two live buffers share bytes", a, " and " + b.name);
    }
    return {};
}

}  // namespace

int64_t Plan::launches() const {
    return std::count_if(run.begin(), run.end(), [](const Batch& batch) { return !only_layout(batch); });
}

int64_t Plan::layout_launches() const { return std::count_if(run.begin(), run.end(), only_layout); }

int64_t Plan::most_live_bytes() const {
    int64_t most = 0;
    for (int32_t b = 0; b < static_cast<int32_t>(run.size()); b++) {
        int64_t live = 0;
        for (const Buffer& buffer : buffers) {
            if (of_session(buffer) && buffer.first <= b && b <= buffer.last) live += buffer.bytes;
        }
        most = std::max(most, live);
    }
    return most;
}

const Growth* Plan::growth_of(int32_t output) const {
    const auto found = std::ranges::find(growths, output, &Growth::output);
    return found == growths.end() ? nullptr : &*found;
}

Size Plan::capacity_of(const Growth& growth) const {
    const StorageMap& storage = buffer_of(*this, Buffer::Kind::output, growth.output)->storage;
    const auto d = static_cast<size_t>(growth.dimension);
    return storage.extent[d] + storage.room[d];
}

int32_t Plan::input_below(int32_t output) const {
    const auto found = std::ranges::find(donations, output, &Donation::output);
    return found == donations.end() ? -1 : found->input;
}

bool Plan::is_in_place(const Donation& donation) const {
    for (const Batch& batch : run) {
        for (const Launch& launch : batch) {
            for (size_t i = 0; i < launch.buffers.size(); i++) {
                const Buffer& buffer = buffers[static_cast<size_t>(launch.buffers[i])];
                const bool is_output = buffer.kind == Buffer::Kind::output && buffer.index == donation.output;
                if (is_output && launch.layout && writes(*this, launch, i)) return false;
            }
        }
    }
    return true;
}

int64_t Plan::prepared_bytes() const {
    int64_t bytes = 0;
    for (const Buffer& buffer : buffers) bytes += buffer.kind == Buffer::Kind::prepared ? buffer.bytes.number() : 0;
    return bytes;
}

namespace {

// What is prepared may be shared with other plans.
Result<void> verify_prepared(const Plan& plan) {
    for (const Batch& batch : plan.run) {
        for (const Launch& launch : batch) {
            for (size_t i = 0; i < launch.buffers.size(); i++) {
                const Buffer& buffer = plan.buffers[static_cast<size_t>(launch.buffers[i])];
                if (buffer.kind == Buffer::Kind::prepared && writes(plan, launch, i))
                    return broken("a launch writes what is read-only", launch, " writes " + buffer.name);
            }
        }
    }
    return {};
}

// For other sizes buffers lie by the stack.
Result<void> verify_stack(const Plan& plan) {
    if (const auto problem = problem_of_stack(plan)) {
        const bool exists = problem->buffer >= 0 && static_cast<size_t>(problem->buffer) < plan.buffers.size();
        return exists ? broken(problem->what, plan.buffers[static_cast<size_t>(problem->buffer)])
                      : broken(problem->what, "buffer", std::to_string(problem->buffer));
    }
    for (const Buffer& buffer : plan.buffers) {
        if (of_session(buffer) && buffer.bytes > most_buffer_bytes) return broken("a buffer is larger than any memory", buffer);
    }
    const Places found = places(plan);
    for (size_t i = 0; i < plan.stack.size(); i++) {
        const Buffer& buffer = plan.buffers[static_cast<size_t>(plan.stack[i].buffer)];
        if (buffer.offset != found.begin[i]) return broken("a buffer does not lie where the stack has it", buffer);
    }
    if (plan.workspace_bytes == found.height) return {};
    return broken("the workspace is not as large as the stack is high", "bytes", std::to_string(plan.workspace_bytes));
}

}  // namespace

Result<void> verify(const Plan& plan) {
    if (auto fine = verify_tables(plan); !fine) return fine;
    std::set<int32_t> written;
    if (auto fine = verify_order(plan, plan.prepare, written); !fine) return fine;
    if (auto fine = verify_order(plan, plan.run, written); !fine) return fine;
    for (size_t i = 0; i < plan.buffers.size(); i++) {
        const Buffer& buffer = plan.buffers[i];
        // What an input gives lies there already.
        if (buffer.kind == Buffer::Kind::output && buffer.bytes > 0 && plan.input_below(buffer.index) < 0 &&
            !written.contains(static_cast<int32_t>(i)))
            return broken("an output is not written", buffer);
    }
    if (auto fine = verify_prepared(plan); !fine) return fine;
    if (auto fine = verify_donations(plan); !fine) return fine;
    if (auto fine = verify_growths(plan); !fine) return fine;
    if (auto fine = verify_lifetimes(plan); !fine) return fine;
    for (size_t i = 0; i < plan.buffers.size(); i++) {
        if (auto fine = verify_inside(plan, plan.buffers[i]); !fine) return fine;
        if (!plan.buffers[i].is_filled()) continue;
        if (auto fine = verify_filling(plan, i); !fine) return fine;
    }
    for (size_t i = 0; i < plan.buffers.size(); i++) {
        if (auto fine = verify_apart(plan, i); !fine) return fine;
    }
    return verify_stack(plan);
}

}  // namespace heddle::plan
