#include "schedules/nest_builder.h"

#include <algorithm>

#include "target/choice_numbers.h"

namespace heddle::schedules {
namespace {

using Role = NumberId::Role;
using Subject = NumberSubject::Kind;

}  // namespace

void Nest::take(RightSides sides) {
    sides_ = std::move(sides);
    expressions_.clear_guards(sides_.inside);
}

Block Nest::serial(std::vector<AxisId> axes, const Inner& inner) {
    if (axes.empty()) return inner();
    AxisId axis = axes.front();
    axes.erase(axes.begin());
    For loop;
    loop.variable = assembly_.variable(assembly_.axis_name(axis), Variable::Kind::loop);
    loop.range = range(axis);
    expressions_.bind(axis, loop.variable);
    loop.body = serial(std::move(axes), inner);
    expressions_.unbind(axis);
    return {Statement{std::move(loop)}};
}

// One masked copy of the code serves where masks cost nothing beside the rest, where all that lanes read is packed, or
// where there is hardly more than one block.
Lanes::Mask Nest::mask() const {
    const Lanes::Mask tail = assembly_.target.has_mask_registers() ? Lanes::Mask::tail : Lanes::Mask::last;
    if (group_.lanes_reduced) return tail;
    const bool stream = group_.reductions.empty() && !group_.transposed;
    const bool by_vectors = stream && !group_.in_turn && !assembly_.target.has_mask_registers();
    const bool in_own_border = part_.border && part_.border->axis == group_.lanes;
    const bool fills_vector = assembly_.kernel.hint(group_.lanes) >= group_.width;
    if (by_vectors && fills_vector && !in_own_border && may_repeat_lanes()) return Lanes::Mask::shifted;
    if (part_.border || assembly_.target.has_workgroups()) return Lanes::Mask::always;
    const int64_t least = (by_vectors ? 1 : int64_t{group_.vectors}) * group_.width;
    if (assembly_.kernel.hint(group_.lanes) < least) return Lanes::Mask::always;
    if (stream) {
        const bool long_term = 2 * group_.term_size > choice_numbers::tile_code;
        if ((long_term || group_.little) && assembly_.target.has_mask_registers()) return Lanes::Mask::always;
        return group_.in_turn ? Lanes::Mask::edge : tail;  // steps take as long for one vector as for all
    }
    if (assembly_.target.has_mask_registers() && group_.vectors <= choice_numbers::most_masks)
        return Lanes::Mask::always;
    if (group_.packed.empty()) return Lanes::Mask::edge;
    Movements movements(assembly_.kernel, assembly_.storage);
    for (EquationIndex index : group_.reductions) {
        for (const ReadAccess& read : reads_of(equation(index).right)) {
            bool packed = std::any_of(group_.packed.begin(), group_.packed.end(),
                                      [&](const PackedOperand& p) { return p.read == read.value; });
            if (!packed && movements.of(read.value, group_.lanes) != Movement::still) return Lanes::Mask::edge;
        }
    }
    return Lanes::Mask::always;
}

// Where an element lies, of a tensor that may share the memory of another.
static TensorIndex memory_of(const std::vector<LocalStorage>& storage, TensorIndex tensor) {
    const LocalStorage& local = storage[static_cast<size_t>(tensor)];
    const bool shares = local.kind == LocalStorage::Kind::alias || local.kind == LocalStorage::Kind::output;
    return shares ? memory_of(storage, local.target) : tensor;
}

// What is stored once more is what was: nothing is read that lies where the nest writes, but what it has just made for
// the same point, and other steps of a scan. By plain accesses, which a single lane has, too.
bool Nest::may_repeat_lanes() const {
    if (group_.update || group_.vector_steps >= 0 || group_.rows >= 0 || !group_.fused.empty()) return false;
    const Kernel& kernel = assembly_.kernel;
    const Movements movements(kernel, assembly_.storage);
    const auto is_plain = [](Movement moves) { return moves == Movement::still || moves == Movement::unit; };
    const std::vector<EquationIndex> equations = group_.equations();
    for (size_t reader = 0; reader < equations.size(); reader++) {
        const KernelEquation& made = equation(equations[reader]);
        if (movements.of(made.tensor, made.left, group_.lanes) != Movement::unit) return false;
        for (const ReadAccess& read : reads_of(right(equations[reader]))) {
            if (!is_plain(movements.of(read.value, group_.lanes))) return false;
            if (std::ranges::any_of(coordinates_of(read.value), &expr::Interned::has_reads))
                return false;  // checked where lanes ask
            for (size_t writer = 0; writer < equations.size(); writer++) {
                const KernelEquation& written = equation(equations[writer]);
                const bool same = read.tensor == written.tensor;
                const bool just_made = same && writer < reader && coordinates_of(read.value) == written.left;
                if (just_made || (same && reads_other_step(written, read.value))) continue;
                const bool may_alias = kernel.tensor(read.tensor).shares == written.tensor;
                if (may_alias ||
                    memory_of(assembly_.storage, read.tensor) == memory_of(assembly_.storage, written.tensor))
                    return false;
            }
        }
    }
    return true;
}

Block Nest::lanes(const Inner& inner) {
    if (group_.lanes < 0) return inner();
    Lanes lanes;
    lanes.variable = assembly_.variable(assembly_.axis_name(group_.lanes), Variable::Kind::lane);
    lanes.range = range(group_.lanes);
    narrow(lanes.range, group_.lanes);
    lanes.vectors = group_.vectors;
    lanes.width = group_.width;
    lanes.mask = mask();
    lanes.reduced = group_.lanes_reduced;
    expressions_.bind(group_.lanes, lanes.variable);
    lanes.body = inner();
    lanes.until = ends_of_reduction(lanes.body, true);
    expressions_.unbind(group_.lanes);
    return {Statement{std::move(lanes)}};
}

Block Nest::rows(const Inner& inner) {
    if (group_.rows < 0) return inner();
    if (!group_.fused.empty()) return fused_rows(inner);
    const Interior inside = interior_along(assembly_.kernel, sides_, group_.rows);
    const bool clips = std::any_of(guards_.begin(), guards_.end(), [](const ClippedGuard& g) { return g.on_rows; });
    if (!group_.transposed && (clips || inside.decides)) return cut_rows(inside, inner);
    return {Statement{row_tiles(range(group_.rows), group_.row_sizes, inner)}};
}

Rows Nest::row_tiles(Range range, std::vector<int> sizes, const Inner& inner) {
    Rows rows;
    rows.variable = assembly_.variable(assembly_.axis_name(group_.rows), Variable::Kind::row);
    rows.range = std::move(range);
    rows.mode = group_.transposed ? Rows::Mode::transpose : Rows::Mode::balanced;
    rows.sizes = std::move(sizes);
    expressions_.bind(group_.rows, rows.variable);
    rows.body = inner();
    expressions_.unbind(group_.rows);
    return rows;
}

// Border, interior, border: a border's rows come one at a time, with clipped windows.
Block Nest::cut_rows(const Interior& decided, const Inner& inner) {
    const InteriorRows clipped = interior_rows(assembly_.kernel, group_.rows, guards_);
    const Size begin = maximum(clipped.first, decided.first);
    const Size end = maximum(begin, minimum(clipped.last, decided.last));
    const Number first = this->inside(Role::first_inside, group_.rows, begin);
    const Number last = this->inside(Role::end_inside, group_.rows, end);
    const RightSides general = sides_;
    Range whole = range(group_.rows), before = whole, inside = whole, behind = whole;
    before.upper.push_back(bound(first));
    inside.lower.push_back(bound(first));
    inside.upper.push_back(bound(last));
    behind.lower.push_back(bound(last));
    Block block;
    border_ = true;
    block.push_back({row_tiles(before, {1}, inner)});
    border_ = false;
    take(decided.sides);
    block.push_back({row_tiles(inside, group_.row_sizes, inner)});
    take(general);
    border_ = true;
    block.push_back({row_tiles(behind, {1}, inner)});
    border_ = false;
    return block;
}

Block Nest::fused_rows(const Inner& inner) {
    Rows rows;
    rows.range = range(group_.rows);
    rows.variable = assembly_.variable("row", Variable::Kind::row);
    row_variable_ = rows.variable;
    rows.sizes = group_.row_sizes;
    for (AxisId axis : group_.fused) {
        VariableId digit = assembly_.variable(assembly_.axis_name(axis), Variable::Kind::fused_row);
        rows.fused.push_back({digit, assembly_.extent(axis)});
        expressions_.bind(axis, digit);
    }
    rows.body = inner();
    for (AxisId axis : group_.fused) expressions_.unbind(axis);
    return {Statement{std::move(rows)}};
}

// Windows are written out from the innermost one on, as long as the code stays short.
bool Nest::may_unroll(const Block& body, int64_t extent) const {
    if (border_) return false;
    int64_t updates = extent * group_.vectors * group_.maximum_rows;
    for (const Block* block = &body; !block->empty();) {
        const auto* loop = std::get_if<For>(&block->front().node);
        if (!loop) break;
        updates *= loop->unrolled;  // 0: it stays a loop
        block = &loop->body;
    }
    int64_t written = updates;
    if (group_.rows >= 0) {
        written = 0;
        for (int rows : group_.row_sizes) written += updates / group_.maximum_rows * rows;
    }
    const bool shares_loads = group_.windowed || !group_.contraction;
    return extent > 0 && extent <= choice_numbers::longest_unrolled && updates > 0 &&
           written * group_.term_size <= choice_numbers::unrolled_code &&
           updates <= (shares_loads ? choice_numbers::unrolled_window_updates : choice_numbers::unrolled_updates);
}

void Nest::define(Block& block, EquationIndex index, ExpressionId value) {
    const KernelEquation& e = equation(index);
    const KernelTensor& tensor = assembly_.kernel.tensor(e.tensor);
    tree_.lets.push_back({tensor.name, expressions_.cast(value, tensor.dtype)});
    auto let = last_id<LetId>(tree_.lets);
    block.push_back({Define{let}});
    Expression use;
    use.kind = Expression::Kind::let;
    use.dtype = tensor.dtype;
    use.target = let;
    ExpressionId id = assembly_.intern(use);
    auto kind = assembly_.storage[static_cast<size_t>(e.tensor)].kind;
    if (kind != LocalStorage::Kind::in_register && kind != LocalStorage::Kind::unused) {
        Store store;
        store.address = expressions_.store_address(e);
        store.value = id;
        store.non_temporal = group_.non_temporal && store.address.access == Access::contiguous && !tensor.may_alias();
        if (tensor.may_alias() && group_.vector_steps < 0)
            in_place_.emplace_back(index, std::move(store));
        else
            add_store(block, index, std::move(store));
    }
    expressions_.define(e, id);
}

// What lies in the memory of what the nest reads is written when all of it is read.
void Nest::add_stores_in_place(Block& block) {
    for (auto& [index, store] : in_place_) add_store(block, index, std::move(store));
    in_place_.clear();
}

// Interleaved stores that fill a vector together become one, behind the last of their values.
void Nest::add_store(Block& block, EquationIndex index, Store store) {
    const auto filling = std::ranges::find_if(
        fillings_, [&](const auto& filling) { return std::ranges::find(filling, index) != filling.end(); });
    if (filling == fillings_.end() || store.address.access != Access::interleaved) return block.push_back({store});
    waiting_[index] = std::move(store);
    if (std::ranges::any_of(*filling, [&](EquationIndex other) { return !waiting_.contains(other); })) return;
    Store whole = waiting_.at(filling->front());
    for (size_t i = 1; i < filling->size(); i++) whole.beside.push_back(waiting_.at((*filling)[i]).value);
    for (EquationIndex other : *filling) waiting_.erase(other);
    block.push_back({std::move(whole)});
}

void Nest::add_accumulators(Block& block) {
    accumulators_.clear();
    for (EquationIndex index : group_.reductions) {
        const KernelEquation& e = equation(index);
        const DType term = e.right->dtype;
        Accumulator accumulator;
        accumulator.name = assembly_.kernel.tensor(e.tensor).name;
        accumulator.reducer = *e.reducer;
        bool adds = *e.reducer == Reducer::sum || *e.reducer == Reducer::product;
        accumulator.dtype = adds ? info(term).accumulator : info(term).arithmetic;
        accumulator.index_dtype = group_.width * 8 > assembly_.target.vector_bytes ? DType::int32 : DType::int64;
        accumulator.vectors = group_.vectors;
        accumulator.width = group_.lanes < 0 ? 1 : group_.width;
        accumulator.reduced_lanes = group_.lanes_reduced;
        tree_.accumulators.push_back(accumulator);
        accumulators_.push_back(last_id<AccumulatorId>(tree_.accumulators));
        block.push_back({Start{accumulators_.back()}});
    }
}

Update Nest::update(EquationIndex index) {
    const KernelEquation& e = equation(index);
    auto position = std::find(group_.reductions.begin(), group_.reductions.end(), index) - group_.reductions.begin();
    Update update;
    update.accumulator = accumulators_[static_cast<size_t>(position)];
    const Accumulator& accumulator = tree_.accumulator(update.accumulator);
    update.value = expressions_.cast(expressions_.value(right(index)), accumulator.dtype);
    const Expression& term = tree_.expression(update.value);
    update.fused = accumulator.reducer == Reducer::sum && is_float(accumulator.dtype) &&
                   term.kind == Expression::Kind::scalar && term.op == ScalarOp::multiply;
    if (!is_argument(accumulator.reducer)) return update;
    CoordinateParts place;  // row-major over the reduced axes
    for (AxisId axis : e.reduced) {
        const Size& extent = assembly_.kernel.axis(axis).extent;  // of none there is no term to number
        for (auto& [outer, factor] : place.axes) factor *= extent.same_as(0) ? Size(1) : extent;
        place.axes.emplace_back(axis, 1);
    }
    update.index = expressions_.index(place, accumulator.index_dtype, {Subject::accumulator, e.tensor});
    return update;
}

Block Nest::body() {
    Block block;
    add_prefetches(block);
    for (EquationIndex index : group_.before) define(block, index, expressions_.value(right(index)));
    for (EquationIndex index : group_.reductions) block.push_back({update(index)});
    add_stores_in_place(block);
    return block;
}

Block Nest::core() {
    Block block;
    const size_t first_expression = assembly_.result.tree.expressions.size();
    add_accumulators(block);
    if (group_.prefetch_panel) add_prefetch_start(block);
    if (!group_.reductions.empty()) {
        Block loops = reduced_loops(0, [&] { return group_.lanes_reduced ? lanes([&] { return body(); }) : body(); });
        block.insert(block.end(), std::make_move_iterator(loops.begin()), std::make_move_iterator(loops.end()));
    }
    for (AccumulatorId accumulator : accumulators_) block.push_back({Finish{accumulator}});
    if (!loops_over_rows()) {
        epilogue(block);
        prefetch_next_rows(block, first_expression);
        prefetch_row_of_band(block, first_expression);
    } else {
        EachRow each;
        epilogue(each.body);
        block.push_back({std::move(each)});
    }
    return block;
}

// Keeping results takes a store and a load for each: little beside so many updates, or so long an epilogue. The code
// then has the epilogue of one row, in place of those of all rows of all tiles.
bool Nest::loops_over_rows() const {
    if (group_.rows < 0 || group_.transposed || group_.row_sizes.front() == 1 || group_.reductions.empty() ||
        !loops_along_rows().empty())
        return false;
    int64_t operations = 1;
    for (AxisId axis : group_.reduced) operations *= std::max<int64_t>(1, assembly_.kernel.hint(axis));
    if (group_.lanes_reduced) operations /= int64_t{group_.vectors} * group_.width;
    for (EquationIndex index : group_.after) {
        for (Expr e : walk(equation(index).right)) {
            if (e->kind != expr::Kind::scalar) continue;
            operations += is_expensive(e->op) ? std::max(info(e->op).cost, info(e->op).size) : info(e->op).cost;
        }
    }
    return operations >= choice_numbers::operations_for_row_loop;
}

void Nest::epilogue(Block& block) {
    for (size_t i = 0; i < group_.reductions.size(); i++) {
        define(block, group_.reductions[i], of_accumulator(Expression::Kind::accumulator, accumulators_[i]));
    }
    for (EquationIndex index : group_.after) define(block, index, expressions_.value(right(index)));
    add_stores_in_place(block);
}

Block Nest::store_update(EquationIndex index) {
    const KernelEquation& e = equation(index);
    expressions_.trust(e.tensor);
    if (e.all_inside) expressions_.trust_data();
    Store store;
    const Expr condition = right(index)->parts()[0];
    if (condition->kind != Kind::integer) store.guard = expressions_.value(condition);
    ExpressionId value = expressions_.value(right(index)->parts()[1], store.guard);
    store.value = expressions_.cast(value, assembly_.kernel.tensor(e.tensor).dtype);
    const bool ascends = group_.lanes >= 0 && group_.lanes == e.ascending;
    store.address = expressions_.store_address(e, ascends ? no_id : store.guard);  // lane 0 says where, active or not
    if (ascends) compress(store, e);
    return {Statement{store}};
}

void Nest::compress(Store& store, const KernelEquation& e) {
    Arena& arena = *assembly_.kernel.arena;
    store.address.access = Access::compressed;
    store.filling = expressions_.cast(expressions_.value(e.filling), assembly_.kernel.tensor(e.tensor).dtype);
    const Expr last = arena.add(e.left.back(), arena.integer(group_.width - 1));
    store.fits = expressions_.value(arena.inside(last, assembly_.kernel.tensor(e.tensor).dimensions.back().extent));
}

// The reduced axes run in order around those behind the first dimension that values choose, so that what is updated
// together lies together.
Block Nest::update_loops() {
    const KernelEquation& e = equation(group_.after.front());
    const auto chosen = std::find_if(e.left.begin(), e.left.end(), [](Expr c) { return !parts_of(c).values.empty(); });
    std::vector<AxisId> outside, inside;
    for (AxisId axis : e.axes) {
        if (axis == group_.lanes) continue;
        const bool before = std::any_of(e.left.begin(), chosen, [&](Expr c) { return coefficient(c, axis) != 0; });
        (before ? outside : inside).push_back(axis);
    }
    std::vector<AxisId> reduced = e.reduced;
    std::erase(reduced, group_.lanes);
    const bool by_lanes = group_.lanes >= 0 && group_.lanes != e.ascending;
    if (!inside.empty() || by_lanes) {
        ask_outside(by_lanes ? group_.lanes : inside.back());
    } else if (!outside
                    .empty()) {  // where few updates are asked for, those of one point of the reduced axes go together
        ask_outside(outside.back());
        if (!asked_.empty()) std::swap(outside, inside);
    }
    return serial(outside, [&] {
        return serial(reduced, [&] {
            return where_asked([&] {
                return serial(inside, [&] { return lanes([&] { return store_update(group_.after.front()); }); });
            });
        });
    });
}

Block Nest::build() {
    if (group_.update) return update_loops();
    if (!part_.border || contains(around_, part_.border->axis)) return loops();  // or a nest around has both sides
    For sides;
    sides.variable = side_ =
        assembly_.variable(assembly_.axis_name(part_.border->axis) + "_side", Variable::Kind::loop);
    sides.range = {{bound(Number{})}, {bound(Number{false, 2})}};
    sides.body = loops();
    return {Statement{std::move(sides)}};
}

std::vector<AxisId> Nest::loops_around() const {
    std::vector<AxisId> outside;
    for (AxisId axis : group_.axes) {
        bool inside = axis == group_.rows || axis == group_.vector_steps ||
                      (axis == group_.lanes && !group_.lanes_reduced) || contains(group_.fused, axis);
        if (!inside && !contains(around_, axis)) outside.push_back(axis);
    }
    return outside;
}

// Of reduced lanes a row of results lies along another one of an operand: a tile of rows is walked along it, as prefetchers
// follow; not all rows for each of its points.
std::vector<AxisId> Nest::loops_along_rows() const {
    std::vector<AxisId> along;
    if (!group_.lanes_reduced || group_.rows < 0 || !group_.fused.empty()) return along;
    const auto dimension = [](const std::vector<Expr>& coordinates, AxisId axis) {
        return std::ranges::find_if(coordinates, [&](Expr c) { return depends_on(c, axis); });
    };
    for (AxisId axis : loops_around()) {
        const bool follows = std::ranges::any_of(group_.reductions, [&](EquationIndex index) {
            return std::ranges::any_of(reads_of(equation(index).right), [&](const ReadAccess& read) {
                const std::vector<Expr> at = coordinates_of(read.value);
                const auto row = dimension(at, group_.rows), own = dimension(at, axis);
                return row < own && own != at.end();
            });
        });
        if (follows) along.push_back(axis);
    }
    return along;
}

Block Nest::loops() {
    const std::vector<AxisId> along = loops_along_rows();
    std::vector<AxisId> around = loops_around();
    std::erase_if(around, [&](AxisId axis) { return contains(along, axis); });
    return serial(std::move(around), [&] {
        if (!along.empty()) return rows([&] { return serial(along, [&] { return core(); }); });
        if (group_.in_turn) return lanes([&] { return steps_in_turn(); });
        if (group_.vector_steps >= 0) return vector_steps();
        if (group_.lanes_reduced) return rows([&] { return core(); });
        if (fills_rows_of_buffer()) return rows([&] { return lanes([&] { return core(); }); });
        Block block = lanes([&] { return rows([&] { return core(); }); });
        for (const NestPlan& beside : plan_.beside) append(block, beside_lanes(beside));
        return block;
    });
}

ExpressionId Nest::of_accumulator(Expression::Kind kind, AccumulatorId accumulator) {
    const Accumulator& of = tree_.accumulator(accumulator);
    Expression e;
    e.kind = kind;
    e.dtype = is_argument(of.reducer) ? of.index_dtype : of.dtype;
    e.target = static_cast<int32_t>(accumulator);
    return assembly_.intern(e);
}

Block Nest::beside_lanes(const NestPlan& plan) {
    Nest nest(assembly_, plan);
    nest.around_ = loops_around();
    for (AxisId axis : nest.around_) nest.expressions_.bind(axis, expressions_.variable_of(axis));
    return nest.build();
}

Block build_nest(Assembly& assembly, const NestPlan& plan) { return Nest(assembly, plan).build(); }

}  // namespace heddle::schedules
