// From equations to a plan: fusion, storage, kernels, schedules, launches.
#include "plan/build.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "plan/donation.h"
#include "plan/growth.h"
#include "plan/kernel_former.h"
#include "plan/memory.h"
#include "plan/scheduled_kernels.h"
#include "support/progress.h"

namespace heddle::plan {

using namespace equations;

namespace {

// Constants up to this size are copied to aligned memory with slack behind: kernels then need no masks for them.
constexpr int64_t copied_constant_bytes = 64 << 10;

class PlanBuilder {
public:
    PlanBuilder(const Graph& graph, const Target& target, const PlanOptions& options, Attempt& attempt)
        : graph_(graph),
          target_(target),
          options_(options),
          attempt_(attempt),
          system_(attempt.system),
          partition_(attempt.partition) {}

    Result<Plan> build() {
        if (options_.passes) options_.passes(system_);
        if (auto wanted = step_done(options_.progress); !wanted) return fail(wanted.error());
        limit_buffers(system_, target_.maximum_buffers);
        order_exchanges();
        if (options_.grow && options_.donations.empty()) find_growths();
        partition_ = fuse(system_, target_, {.fuse = options_.fuse, .apart = attempt_.apart});
        if (auto wanted = step_done(options_.progress); !wanted) return fail(wanted.error());
        const auto kernels = static_cast<int64_t>(partition_.kernels.size());
        if (auto wanted = begin_stage(options_.progress, Stage::plan, kernels); !wanted) return fail(wanted.error());
        kept_ = kept_steps(system_);
        maps_ = choose_storage(system_, partition_, kept_);
        for (const GrowingTensor& growing : growing_) {
            for (TensorIndex t : {growing.output, growing.input})
                maps_[static_cast<size_t>(t)] = with_capacity(system_.tensor(t).shape, growing.dimension, capacity_);
        }
        plan_.target = target_;
        if (graph_.facts) {
            plan_.names = graph_.dimension_names;
            if (!growing_.empty()) plan_.names[plan_.capacity] = capacity_.number();
        }
        name_interface();
        find_users();
        find_takeovers();
        buffer_of_.assign(system_.tensors.size(), -1);
        copy_inputs();
        if (!options_.keep_all) find_overwrites();
        if (auto done = add_kernels(); !done) return fail(std::move(done.error()));
        if (auto done = copy_outputs(); !done) return fail(std::move(done.error()));
        find_lifetimes(plan_);
        if (auto done = add_fillings(); !done) return fail(std::move(done.error()));
        place_memory(plan_, options_.keep_all);
        return std::move(plan_);
    }

private:
    void name_interface() {
        for (TensorId t : graph_.inputs) {
            plan_.input_types.push_back(graph_.tensor(t).type);
            plan_.input_names.push_back(graph_.tensor(t).name);
            if (const auto& value = graph_.tensor(t).constant)
                plan_.decided.emplace(static_cast<int32_t>(plan_.input_names.size()) - 1, value->reals());
        }
        for (TensorId t : graph_.outputs) {
            plan_.output_types.push_back(graph_.tensor(t).type);
            plan_.output_names.push_back(graph_.tensor(t).name);
        }
    }

    // Of what comes, each waits for what comes before it and what leaves between the two.
    void order_exchanges() {
        std::vector<TensorIndex> before;
        for (size_t e = 0; e < options_.exchanges.size(); e++) {
            const Exchange& exchange = options_.exchanges[e];
            const std::vector<TensorIndex> awaited = before;
            if (exchange.comes && !exchange.tensors.empty()) before.clear();
            for (int32_t number : exchange.tensors) {
                const auto n = static_cast<size_t>(number);
                const TensorIndex t = exchange.comes ? system_.inputs[n] : system_.outputs[n];
                SystemTensor& tensor = system_.tensor(t);
                before.push_back(t);
                int32_t& message = exchange.comes ? tensor.comes : tensor.leaves;
                if (message < 0) message = static_cast<int32_t>(e);
                if (exchange.comes) tensor.opaque_inputs = awaited;
            }
        }
    }

    // Outputs and inputs that are of one memory, and what they all have places for: a name that is none of the graph's.
    void find_growths() {
        growing_ = take_out_growths(system_, graph_);
        int64_t longest = 0;
        for (const auto& [output, input, dimension] : growing_) {
            const auto place = [](const std::vector<TensorIndex>& list, TensorIndex t) {
                return static_cast<int32_t>(std::ranges::find(list, t) - list.begin());
            };
            const int32_t to = place(system_.outputs, output), from = place(system_.inputs, input);
            plan_.growths.push_back({to, from, static_cast<int32_t>(dimension)});
            input_of_[input] = from;
            output_of_[output] = to;
            longest = std::max(longest, system_.tensor(output).shape[dimension].number());
        }
        if (growing_.empty()) return;
        plan_.capacity = "capacity";
        while (graph_.dimension_names.contains(plan_.capacity)) plan_.capacity += "'";
        capacity_ = named_size(plan_.capacity, capacity_for(longest));
    }

    // An input whose value is known is read as the constant that it is.
    bool is_decided(TensorIndex t) const { return system_.tensor(t).kind == SystemTensor::Kind::constant; }

    const StorageMap& map_of(TensorIndex t) {
        auto& map = maps_[static_cast<size_t>(t)];
        if (!map) map = StorageMap::row_major(system_.tensor(t).shape);
        return *map;
    }

    // Which system tensors lie directly in the caller's memory: row-major inputs, and row-major outputs at their first
    // place.
    void find_users() {
        for (size_t i = 0; i < system_.inputs.size(); i++) {
            TensorIndex t = system_.inputs[i];
            if (!is_decided(t) && map_of(t).is_row_major()) input_of_[t] = static_cast<int32_t>(i);
        }
        for (size_t i = 0; i < system_.outputs.size(); i++) {
            TensorIndex t = system_.outputs[i];
            bool computed = system_.tensor(t).kind == SystemTensor::Kind::computed && !system_.tensor(t).prepared;
            if (computed && map_of(t).is_row_major()) output_of_.try_emplace(t, static_cast<int32_t>(i));
        }
    }

    // Which outputs are made where an input lies: those of which nothing asks for the input's old values afterwards. The
    // others are made elsewhere.
    void find_takeovers() {
        plan_.donations = options_.donations;
        std::ranges::sort(plan_.donations, {}, &Donation::output);
        std::vector<Takeover> wanted;
        for (const Donation& donation : options_.donations) {
            const TensorIndex to = system_.outputs[static_cast<size_t>(donation.output)];
            const TensorIndex from = system_.inputs[static_cast<size_t>(donation.input)];
            const auto direct = output_of_.find(to);
            if (direct == output_of_.end() || direct->second != donation.output) continue;
            if (!holds(system_.outputs, from)) wanted.push_back({to, from});
            output_of_.erase(direct);
        }
        for (const Takeover& takeover : put_behind_readers(system_, partition_, wanted)) {
            const auto output = std::ranges::find(system_.outputs, takeover.output) - system_.outputs.begin();
            output_of_.emplace(takeover.output, static_cast<int32_t>(output));
            taken_over_.emplace(takeover.output, takeover.input);
        }
    }

    bool is_donated(int32_t output) const { return plan_.input_below(output) >= 0; }

    // Tensors that are updated where their old values lie: these die there, and both have one buffer, or the caller's
    // memory.
    void find_overwrites() {
        std::map<int32_t, size_t> batch_of;  // by equation, of `run`
        for (size_t b = 0; b < partition_.batches.size(); b++) {
            for (int32_t k : partition_.batches[b]) {
                for (int32_t e : partition_.kernels[static_cast<size_t>(k)].equations) batch_of[e] = b;
            }
        }
        const auto readers = system_.readers();
        for (auto [e, batch] : batch_of) {
            const auto into = overwriting(system_, system_.equation(e));
            if (!into) continue;
            const TensorIndex from = into->initial->tensor(), to = system_.equation(e).tensor;
            const bool dies =
                std::ranges::all_of(readers[static_cast<size_t>(from)], [&, own = e, here = batch](int32_t r) {
                    return r == own || (batch_of.contains(r) && batch_of.at(r) < here);
                });
            if (!dies || !may_be_overwritten(from, to) || !updates_buffer(e, *into)) continue;
            if (!is_taken_over(from, to)) overwritten_[from] = to;
            in_place_.insert(to);
        }
    }

    template <typename T>
    static bool holds(const std::vector<T>& list, T value) {
        return std::ranges::find(list, value) != list.end();
    }

    // The old values come in a buffer, the new ones leave in one, and the update is all in the equation's kernel.
    bool updates_buffer(int32_t equation, const ScatterInto& into) const {
        const auto kernel =
            std::ranges::find_if(partition_.kernels, [&](const Kernel& k) { return holds(k.equations, equation); });
        return holds(kernel->outputs, system_.equation(equation).tensor) &&
               holds(kernel->inputs, into.initial->tensor()) &&
               (into.scatter < 0 || holds(kernel->equations, into.scatter));
    }

    bool is_taken_over(TensorIndex from, TensorIndex to) const {
        const auto found = taken_over_.find(to);
        return found != taken_over_.end() && found->second == from;
    }

    bool may_be_overwritten(TensorIndex from, TensorIndex to) {
        const SystemTensor& tensor = system_.tensor(from);
        const bool ours = tensor.kind == SystemTensor::Kind::computed && !tensor.prepared && !tensor.is_output;
        if (!ours && !(is_taken_over(from, to) && input_of_.contains(from))) return false;
        for (const SystemTensor& other : system_.tensors) {
            if (holds(other.opaque_inputs, from)) return false;
        }
        const StorageMap &a = map_of(from), &b = map_of(to);
        return a == b && !a.has_margins();
    }

    // Of what is stored: of a scan's steps those that are kept.
    std::vector<Size> stored_sizes(TensorIndex t) const {
        const SystemTensor& tensor = system_.tensor(t);
        std::vector<Size> sizes = tensor.shape;
        if (const KeptSteps& kept = kept_[static_cast<size_t>(t)]; kept.places > 0) sizes[kept.dimension] = kept.places;
        return sizes;
    }

    std::vector<int64_t> hint_shape(TensorIndex t) const {
        std::vector<int64_t> shape;
        for (const Size& size : stored_sizes(t)) {
            shape.push_back(size.at(system_.representatives));
        }
        return shape;
    }

    std::vector<bool> named(TensorIndex t) const {
        std::vector<bool> result;
        for (const Size& size : stored_sizes(t)) result.push_back(size.named());
        return result;
    }

    // ---- buffers
    // ------------------------------------------------------------------------------------------------------
    int32_t add_buffer(Buffer buffer, TensorIndex t = no_id) {
        plan_.buffers.push_back(std::move(buffer));
        const bool whole = t >= 0 && kept_[static_cast<size_t>(t)].places == 0;
        plan_.graph_tensor.push_back(whole ? system_.tensor(t).graph_tensor : no_id);
        return static_cast<int32_t>(plan_.buffers.size() - 1);
    }

    // The buffer of a tensor of the system in the map that kernels use; made when first asked for.
    int32_t buffer(TensorIndex t) {
        if (auto found = overwritten_.find(t); found != overwritten_.end()) return buffer(found->second);
        int32_t& known = buffer_of_[static_cast<size_t>(t)];
        if (known >= 0) return known;
        const SystemTensor& tensor = system_.tensor(t);
        const StorageMap& map = map_of(t);
        Buffer buffer{.name = tensor.name,
                      .dtype = tensor.dtype,
                      .bytes = map.elements() * bytes(tensor.dtype),
                      .base = map.offset() * bytes(tensor.dtype),
                      .filling = map.filling,
                      .sizes = stored_sizes(t),
                      .storage = map};
        using Kind = Buffer::Kind;
        if (tensor.kind == SystemTensor::Kind::constant) {
            buffer.kind = Kind::constant;
            buffer.constant = constant_data(*tensor.constant);
        } else if (tensor.prepared) {
            buffer.kind = Kind::prepared;
        } else if (input_of_.contains(t)) {
            buffer.kind = Kind::input;
            buffer.index = input_of_.at(t);
        } else if (output_of_.contains(t)) {
            buffer.kind = Kind::output;
            buffer.index = output_of_.at(t);
        } else {
            buffer.kind = Kind::workspace;
        }
        return known = add_buffer(std::move(buffer), t);
    }

    static TensorData constant_data(const TensorData& data) {
        return !data.owned() && data.byte_size() <= copied_constant_bytes ? data.clone() : data;
    }

    bool has_slack(const Buffer& buffer) const {
        if (buffer.kind == Buffer::Kind::constant) return buffer.constant->owned();
        return buffer.kind != Buffer::Kind::input && buffer.kind != Buffer::Kind::output;
    }

    // ---- launches
    // -----------------------------------------------------------------------------------------------------
    int32_t tree_index(schedules::Tree tree) {
        std::string key = schedules::key(tree, target_);
        auto [found, added] = tree_of_.try_emplace(key, static_cast<int32_t>(plan_.trees.size()));
        if (added) {
            plan_.keys.push_back(key);
            plan_.trees.push_back(std::make_shared<const schedules::Tree>(std::move(tree)));
            if (options_.kernel_made) options_.kernel_made(key, plan_.trees.back());
        }
        return found->second;
    }

    struct Placed {
        Launch launch;
        std::vector<std::pair<Launch, bool>> before;  // copies that it needs, and whether they belong to `prepare`
    };

    // `sources`: the buffer of each tensor of the kernel that is one, in order. `memory`: where all else it needs lies.
    Result<Placed> place(schedules::Kernel kernel, const std::vector<int32_t>& sources, std::string name, bool layout,
                         Buffer::Kind memory = Buffer::Kind::workspace) {
        for (size_t i = 0; i < sources.size(); i++) {
            const Buffer& buffer = plan_.buffers[static_cast<size_t>(sources[i])];
            if (!has_slack(buffer)) kernel.tensors[i].aligned = kernel.tensors[i].slack = false;
        }
        auto scheduled = schedule(kernel, sources);
        if (!scheduled) return fail(std::move(scheduled.error()));
        Placed placed;
        std::vector<int32_t> packed;
        for (const auto& packing : scheduled->packings) {
            auto buffer = pack(packing, sources[static_cast<size_t>(packing.tensor)], placed);
            if (!buffer) return fail(std::move(buffer.error()));
            packed.push_back(*buffer);
        }
        const std::shared_ptr<const schedules::Tree> tree = plan_.trees[static_cast<size_t>(scheduled->tree)];
        for (size_t i = 0; i < scheduled->buffers.size(); i++) {
            const auto& source = scheduled->buffers[i];
            placed.launch.buffers.push_back(source.packing >= 0 ? packed[static_cast<size_t>(source.packing)]
                                            : source.elements >= 0
                                                ? own_buffer(tree->memories[i], source.elements, memory)
                                                : sources[static_cast<size_t>(source.tensor)]);
        }
        placed.launch.name = std::move(name);
        placed.launch.numbers = std::move(scheduled->launch.numbers);
        placed.launch.tasks = scheduled->launch.tasks;
        placed.launch.rounds = scheduled->launch.rounds;
        placed.launch.scratch_bytes = scheduled->launch.scratch_bytes;
        placed.launch.layout = layout;
        placed.launch.tree = scheduled->tree;
        return placed;
    }

    // Inputs of a kernel, and the outputs that take their memory.
    std::vector<InPlacePair> pairs_of(const std::vector<int32_t>& sources) const {
        std::vector<InPlacePair> pairs;
        for (size_t o = 0; o < sources.size(); o++) {
            const Buffer& output = plan_.buffers[static_cast<size_t>(sources[o])];
            if (output.kind != Buffer::Kind::output || !is_donated(output.index)) continue;
            for (size_t i = 0; i < sources.size(); i++) {
                const Buffer& input = plan_.buffers[static_cast<size_t>(sources[i])];
                if (input.kind == Buffer::Kind::input && input.index == plan_.input_below(output.index))
                    pairs.push_back({schedules::TensorIndex(i), schedules::TensorIndex(o)});
            }
        }
        return pairs;
    }

    // Outputs that the kernel may not make where its inputs lie are made elsewhere.
    Result<ScheduledKernel> schedule(schedules::Kernel& kernel, const std::vector<int32_t>& sources) {
        for (;;) {
            const std::vector<InPlacePair> pairs = pairs_of(sources);
            if (const ScheduledKernel* known = pairs.empty() ? scheduled_.find(kernel) : nullptr) return *known;
            auto made = schedule_in_place(kernel, pairs, target_, options_.schedule);
            if (!made) return fail(std::move(made.error()));
            if (!made->wrong) {
                schedules::Scheduled& s = made->scheduled;
                ScheduledKernel scheduled{tree_index(std::move(s.tree)), std::move(s.launch), std::move(s.buffers),
                                          std::move(s.packings)};
                if (pairs.empty()) scheduled_.add(std::move(kernel), scheduled);
                return scheduled;
            }
            Buffer& elsewhere = plan_.buffers[static_cast<size_t>(sources[static_cast<size_t>(made->wrong->output)])];
            std::erase_if(output_of_, [&](const auto& direct) { return direct.second == elsewhere.index; });
            elsewhere.kind = Buffer::Kind::workspace;
            elsewhere.index = -1;
        }
    }

    // What tasks of one launch share, and nobody else knows.
    int32_t own_buffer(const schedules::Memory& local, const Size& elements, Buffer::Kind memory) {
        return add_buffer({.name = local.name,
                           .kind = memory,
                           .dtype = local.dtype,
                           .bytes = elements * bytes(local.dtype),
                           .sizes = {elements},
                           .storage = StorageMap::row_major({elements})});
    }

    // Equal requests of the graph share one packed buffer and one launch.
    Result<int32_t> pack(const schedules::Packing& packing, int32_t source, Placed& placed) {
        auto key = std::make_pair(source, packing.map);
        if (auto found = packed_.find(key); found != packed_.end()) return found->second;
        const Buffer& from = plan_.buffers[static_cast<size_t>(source)];  // until a buffer is added
        std::string name = from.name + " packed";
        int32_t to = add_buffer({.name = name,
                                 .kind = packing.constant ? Buffer::Kind::prepared : Buffer::Kind::workspace,
                                 .dtype = packing.dtype,
                                 .bytes = packing.elements * bytes(packing.dtype),
                                 .sizes = from.sizes,
                                 .packed = packing.map});
        auto copy = place(packing.copy, {source, to}, std::move(name), true);
        if (!copy) return fail(std::move(copy.error()));
        placed.before.push_back({std::move(copy->launch), packing.constant});
        packed_[key] = to;
        return to;
    }

    // Copies that one launch, or one batch, needs do not depend on one another: in `run` they share a batch.
    void add_copies(Placed& placed, Batch& shared) {
        for (auto& [launch, in_prepare] : placed.before) {
            if (in_prepare) {
                plan_.prepare.push_back({std::move(launch)});
            } else {
                shared.push_back(std::move(launch));
            }
        }
    }

    void copy_inputs() {
        for (size_t i = 0; i < system_.inputs.size(); i++) {
            TensorIndex t = system_.inputs[i];
            if (input_of_.contains(t) || is_decided(t)) continue;
            pending_inputs_[t] = plain_buffer(t, Buffer::Kind::input, static_cast<int32_t>(i));
        }
    }

    Size tensor_bytes(TensorIndex t) const {
        return StorageMap::row_major(system_.tensor(t).shape).elements() * bytes(system_.tensor(t).dtype);
    }

    // Of the whole tensor, row-major.
    int32_t plain_buffer(TensorIndex t, Buffer::Kind kind, int32_t index = -1) {
        const SystemTensor& tensor = system_.tensor(t);
        Buffer buffer{.name = tensor.name,
                      .kind = kind,
                      .dtype = tensor.dtype,
                      .bytes = tensor_bytes(t),
                      .index = index,
                      .sizes = tensor.shape,
                      .storage = StorageMap::row_major(tensor.shape)};
        if (kind == Buffer::Kind::constant) buffer.constant = constant_data(*tensor.constant);
        return add_buffer(std::move(buffer), kind == Buffer::Kind::output ? no_id : t);
    }

    // From one buffer to another, which have other maps.
    Result<void> copy(TensorIndex t, int32_t from, int32_t to, std::vector<Batch>& phase) {
        const SystemTensor& tensor = system_.tensor(t);
        const StorageMap source = plan_.buffers[static_cast<size_t>(from)].storage,
                         target = plan_.buffers[static_cast<size_t>(to)].storage;
        auto placed = place(form_copy(source, target, tensor.dtype, hint_shape(t), named(t), system_.representatives),
                            {from, to}, tensor.name + " layout", true);
        if (!placed) return fail(std::move(placed.error()));
        if (placed->launch.tasks > 0) phase.push_back({std::move(placed->launch)});
        return {};
    }

    // An input is copied to its own layout just before its first reader.
    Result<void> copy_input(TensorIndex t) {
        auto pending = pending_inputs_.find(t);
        if (pending == pending_inputs_.end()) return {};
        int32_t from = pending->second;
        pending_inputs_.erase(pending);
        return copy(t, from, buffer(t), plan_.run);
    }

    // A weight that its readers want in another layout is copied to it once.
    Result<void> prepare_constant(TensorIndex t) {
        const SystemTensor& tensor = system_.tensor(t);
        const StorageMap& map = map_of(t);
        bool done = buffer_of_[static_cast<size_t>(t)] >= 0;
        if (tensor.kind != SystemTensor::Kind::constant || map.is_row_major() || done) return {};
        const int32_t from = plain_buffer(t, Buffer::Kind::constant);
        int32_t to = add_buffer({.name = tensor.name + " layout",
                                 .kind = Buffer::Kind::prepared,
                                 .dtype = tensor.dtype,
                                 .bytes = tensor_bytes(t),
                                 .sizes = tensor.shape,
                                 .storage = map});
        buffer_of_[static_cast<size_t>(t)] = to;
        return copy(t, from, to, plan_.prepare);
    }

    Result<void> add_kernels() {
        for (size_t k = 0; k < partition_.kernels.size(); k++) {
            if (!partition_.prepared[k]) continue;
            auto placed = place_kernel(static_cast<int32_t>(k));
            if (!placed) return fail(std::move(placed.error()));
            Batch shared;
            add_copies(*placed, shared);
            if (!shared.empty()) plan_.prepare.push_back(std::move(shared));
            if (placed->launch.tasks > 0) plan_.prepare.push_back({std::move(placed->launch)});
        }
        for (const Kernel& kernel : partition_.kernels)
            for (TensorIndex t : kernel.outputs) makers_left_[t] += !system_.tensor(t).prepared;
        const std::set<TensorIndex> outputs(system_.outputs.begin(), system_.outputs.end());
        for (TensorIndex t : outputs) {
            if (makers_left_[t] > 0) continue;
            if (auto done = copy_leaving(t); !done) return done;
        }
        for (const auto& members : partition_.batches) {
            Batch batch, copies;
            for (int32_t k : members) {
                const Kernel& kernel = partition_.kernels[static_cast<size_t>(k)];
                for (TensorIndex t : kernel.inputs) {
                    if (auto done = copy_input(t); !done) return done;
                }
                auto placed = place_kernel(k);
                if (!placed) return fail(std::move(placed.error()));
                add_copies(*placed, copies);
                if (placed->launch.tasks > 0) batch.push_back(std::move(placed->launch));
            }
            if (!copies.empty()) plan_.run.push_back(std::move(copies));
            if (!batch.empty()) plan_.run.push_back(std::move(batch));
            for (int32_t k : members) {
                for (TensorIndex t : partition_.kernels[static_cast<size_t>(k)].outputs)
                    if (auto done = copy_leaving(t); !done) return done;
            }
        }
        return {};
    }

    // What leaves before the end, and does not lie where its owner wants it, is copied as soon as all of it is there.
    Result<void> copy_leaving(TensorIndex t) {
        if (system_.tensor(t).leaves < 0 || --makers_left_[t] > 0) return {};
        for (size_t i = 0; i < system_.outputs.size(); i++) {
            const auto output = static_cast<int32_t>(i);
            const auto direct = output_of_.find(t);
            if (system_.outputs[i] != t || (direct != output_of_.end() && direct->second == output)) continue;
            if (auto done = copy_input(t); !done) return done;
            const int32_t from = buffer(t);
            if (auto done = copy(t, from, plain_buffer(t, Buffer::Kind::output, output), plan_.run); !done) return done;
            left_.insert(output);
        }
        return {};
    }

    Result<Placed> place_kernel(int32_t index) {
        attempt_.kernel = index;
        const auto k = static_cast<size_t>(index);
        auto placed = place_kernel(partition_.kernels[k],
                                   partition_.prepared[k] ? Buffer::Kind::prepared : Buffer::Kind::workspace);
        if (!placed) return placed;
        attempt_.kernel = -1;
        if (auto wanted = step_done(options_.progress); !wanted) return fail(wanted.error());
        return placed;
    }

    Result<Placed> place_kernel(const Kernel& kernel, Buffer::Kind memory) {
        for (const auto* list : {&kernel.inputs, &kernel.outputs}) {
            for (TensorIndex t : *list) {
                if (auto done = prepare_constant(t); !done) return fail(std::move(done.error()));
            }
        }
        auto formed =
            form_kernel({system_, kernel, maps_, [this](TensorIndex t) { return hint_shape(t); }, kept_, in_place_});
        std::vector<int32_t> sources;
        for (TensorIndex t : formed.buffers) sources.push_back(buffer(t));
        std::string name;
        for (TensorIndex t : kernel.outputs) name += (name.empty() ? "" : ", ") + system_.tensor(t).name;
        auto placed = place(std::move(formed.kernel), sources, std::move(name), false, memory);
        if (!placed) return placed;
        for (TensorIndex t : formed.locals) placed->launch.locals.push_back(system_.tensor(t).name);
        return placed;
    }

    // Outputs that lie elsewhere than their owner wants them: in another layout, under two names, inputs and constants.
    // Into the memory of inputs they come when nothing reads inputs any more.
    Result<void> copy_outputs() {
        struct Last {
            TensorIndex tensor;
            int32_t from, to;
        };
        std::vector<Last> last;
        for (size_t i = 0; i < system_.outputs.size(); i++) {
            TensorIndex t = system_.outputs[i];
            const auto output = static_cast<int32_t>(i);
            auto direct = output_of_.find(t);
            if (direct != output_of_.end() && direct->second == output) {
                buffer(t);  // nothing has asked for it if it has no elements
                continue;
            }
            if (left_.contains(output)) continue;
            const int32_t to = plain_buffer(t, Buffer::Kind::output, output);
            if (is_donated(output) && system_.inputs[static_cast<size_t>(plan_.input_below(output))] == t) continue;
            if (auto done = copy_input(t); !done) return done;
            const int32_t from = buffer(t);
            const bool is_input = plan_.buffers[static_cast<size_t>(from)].kind == Buffer::Kind::input;
            const int32_t beside = is_donated(output) && is_input ? plain_buffer(t, Buffer::Kind::workspace) : to;
            if (is_donated(output)) last.push_back({t, is_input ? beside : from, to});
            if (is_donated(output) && !is_input) continue;
            if (auto done = copy(t, from, beside, plan_.run); !done) return done;
        }
        for (const Last& one : last) {
            if (auto done = copy(one.tensor, one.from, one.to, plan_.run); !done) return done;
        }
        return {};
    }

    // Beside what first writes inside of them.
    Result<void> add_fillings() {
        for (TensorIndex t(0); t < next_id<TensorIndex>(system_.tensors); t++) {
            const int32_t index = buffer_of_[static_cast<size_t>(t)];
            if (index < 0) continue;
            const Buffer& buffer = plan_.buffers[static_cast<size_t>(index)];
            if (!buffer.is_filled()) continue;
            auto placed = place(form_margins(buffer.storage, buffer.dtype), {index}, buffer.name + " margins", true);
            if (!placed) return fail(std::move(placed.error()));
            placed->launch.fills = true;
            plan_.run[static_cast<size_t>(buffer.first)].push_back(std::move(placed->launch));
        }
        return {};
    }

    const Graph& graph_;
    const Target& target_;
    const PlanOptions& options_;
    Attempt& attempt_;
    System& system_;
    Partition& partition_;
    std::vector<KeptSteps> kept_;  // by tensor
    std::vector<std::optional<StorageMap>> maps_;
    std::vector<GrowingTensor> growing_;
    Size capacity_;  // of what grows
    std::vector<int32_t> buffer_of_;
    std::map<TensorIndex, int32_t> input_of_, output_of_, pending_inputs_;
    std::map<TensorIndex, TensorIndex> taken_over_;   // outputs in the memory of inputs
    std::map<TensorIndex, TensorIndex> overwritten_;  // by what takes its buffer
    std::set<TensorIndex> in_place_;                  // what does
    std::map<TensorIndex, int> makers_left_;          // of what leaves: kernels that have no launch yet
    std::set<int32_t> left_;                          // outputs that were copied for that
    std::map<std::pair<int32_t, std::string>, int32_t> packed_;
    std::map<std::string, int32_t> tree_of_;
    ScheduledKernels scheduled_;
    Plan plan_;
};

}  // namespace

Result<Plan> build_plan(const Graph& graph, const Target& target, const PlanOptions& options, Attempt& attempt) {
    return PlanBuilder(graph, target, options, attempt).build();
}

}  // namespace heddle::plan
