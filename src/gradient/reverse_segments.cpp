#include "gradient/reverse_segments.h"

#include <algorithm>
#include <set>

namespace heddle::gradient {

Segments::Segments(Reverse& reverse, Reverse::Scan& scan)
    : reverse_(reverse),
      terms_(reverse.terms_),
      nodes_(reverse.nodes_),
      body_(reverse.body_),
      scan_(scan),
      checkpoints_(*reverse.request_.checkpoints),
      steps_(body_.variable(scan.axis).extent),
      count_(segments_of(steps_, checkpoints_.every)),
      total_((count_ + Size(1)) * Size(checkpoints_.every)),
      axis_(nodes_.add_variable(body_.variable(scan.axis).name + "_back", Variable::Kind::ordered, total_)) {
    const int64_t every = checkpoints_.every;
    const NodeId step = nodes_.variable(axis_), zero = number(0), one = number(1), end = terms_.size(steps_);
    const NodeId last = scalar(ScalarOp::subtract, {end, one});
    const NodeId turn = scalar(ScalarOp::floor_divide, {step, number(every)}),
                 within = scalar(ScalarOp::modulo, {step, number(every)});
    const NodeId of_two = scalar(ScalarOp::modulo, {step, number(2 * every)});
    slot_ = scalar(ScalarOp::minimum, {of_two, scalar(ScalarOp::subtract, {number(2 * every - 1), of_two})});
    begins_ = scalar(ScalarOp::equal, {within, number(every - 1)});  // the next step begins a turn
    const NodeId segment = scalar(ScalarOp::subtract, {terms_.size(count_ - Size(1)), turn});
    kept_next_ = scalar(ScalarOp::maximum, {scalar(ScalarOp::subtract, {segment, one}), zero});
    const NodeId again = scalar(ScalarOp::add, {scalar(ScalarOp::multiply, {segment, number(every)}), within});
    advances_ = scalar(ScalarOp::logical_and,
                       {scalar(ScalarOp::greater_equal, {segment, zero}), scalar(ScalarOp::less, {again, end})});
    const NodeId back = scalar(ScalarOp::subtract, {terms_.size(total_ - Size(1)), step});
    goes_back_ = scalar(ScalarOp::less, {back, end});
    // Where they do nothing, they read at some step.
    again_.variables[scan.step] = scalar(ScalarOp::maximum, {scalar(ScalarOp::minimum, {again, last}), zero});
    back_.variables[scan.step] = scalar(ScalarOp::minimum, {back, last});
    again_.step = back_.step = scan.step;
    for (auto [state, output] : checkpoints_.outputs) outputs_.emplace(terms_.copied(state), output);
    const NodeId present = scalar(ScalarOp::add, {step, nodes_.integer(1, DType::int64, true)});
    for (auto [state, value] : scan.values) {
        if (!outputs_.contains(state)) continue;
        add_again(state);
        again_.states[{state, 0}] = {true, states_[state].present, {}};
        again_.states[{state, 1}] = {false, states_[state].present, {present}};
        back_.states[{state, 0}] = element_before(state);
        back_.states[{state, 1}] = {true, states_[state].next, {}};
    }
}

// What is kept of a state, at its own coordinates.
NodeId Segments::kept(LocalId state, NodeId element) {
    const auto& given = reverse_.request_.given;
    const int64_t first = static_cast<int64_t>(reverse_.request_.inputs.size()) + std::ranges::count(given, true);
    NodeList at = own(state);
    at.insert(at.begin(), element);
    return nodes_.read(TensorIndex(first + outputs_.at(state)), body_.local(state).dtype, std::move(at));
}

NodeList Segments::own(LocalId state) {
    NodeList at;
    for (VariableId axis : Reverse::own_of(body_.local(state))) at.push_back(nodes_.variable(axis));
    return at;
}

// A state of this scan; its values follow.
LocalId Segments::add_state(const std::string& name, DType dtype, VariableList own) {
    own.insert(own.begin(), axis_);
    body_.locals.push_back({name, dtype, std::move(own), NodeId(0), NodeId(0)});
    return last_id<LocalId>(body_.locals);
}

void Segments::set(LocalId state, NodeId value, NodeId initial) {
    Local& local = body_.locals[static_cast<size_t>(state)];
    local.value = value;
    local.initial = initial;
}

void Segments::add_again(LocalId state) {
    const Local of = body_.local(state);
    VariableList places = Reverse::own_of(of);
    places.insert(places.begin(), nodes_.add_variable("place", Variable::Kind::parallel, Size(checkpoints_.every)));
    states_[state] = {add_state(of.name + "_again", of.dtype, Reverse::own_of(of)),
                      add_state(of.name + "_turn", of.dtype, std::move(places)),
                      add_state(of.name + "_next", of.dtype, Reverse::own_of(of))};
}

// The state before the step that is gone back through: an array, which is read before the place has another state.
Element Segments::element_before(LocalId state) {
    const Local of = body_.local(state);
    const LocalId turn = states_[state].turn;
    if (of.variables.size() == 1) return {true, turn, {slot_}};
    Local before{of.name + "_before", of.dtype, {}, no_id};
    NodeList at = {slot_};
    for (VariableId axis : Reverse::own_of(of)) {
        const Variable from = body_.variable(axis);
        before.variables.push_back(nodes_.add_variable(from.name, Variable::Kind::parallel, from.extent));
        at.push_back(nodes_.variable(before.variables.back()));
    }
    before.value = nodes_.previous(turn, of.dtype, std::move(at));
    body_.locals.push_back(std::move(before));
    return {false, last_id<LocalId>(body_.locals), {}};
}

void Segments::work_out_again(LocalId state, NodeId value) {
    const DType dtype = body_.local(state).dtype;
    const auto [present, turn, next] = states_.at(state);
    const NodeId before = nodes_.previous(present, dtype, own(state));
    const NodeId advanced = nodes_.select(advances_, terms_.substitute(value, again_), before);
    const NodeId last = terms_.size(count_ - Size(1)), end = terms_.size(count_);
    set(present, nodes_.select(begins_, kept(state, kept_next_), advanced), kept(state, last));

    NodeList at = own(state);
    const NodeId place = nodes_.variable(body_.local(turn).variables[1]);
    at.insert(at.begin(), place);
    const NodeId is_here = scalar(ScalarOp::equal, {place, slot_});
    // Before it is filled it is read where nothing goes back; there are integers among the state's own.
    const NodeId unfilled = is_float(dtype) ? nodes_.real(0, dtype, true) : kept(state, last);
    set(turn, nodes_.select(is_here, before, nodes_.previous(turn, dtype, std::move(at))), unfilled);

    const NodeId taken = read(back_.states.at({state, 0}), state);
    set(next, nodes_.select(goes_back_, taken, nodes_.previous(next, dtype, own(state))), kept(state, end));
}

NodeId Segments::read(const Element& element, LocalId state) {
    NodeList at = own(state);
    at.insert(at.begin(), element.first.begin(), element.first.end());
    const DType dtype = body_.local(state).dtype;
    return element.previous ? nodes_.previous(element.local, dtype, std::move(at))
                            : nodes_.local(element.local, dtype, std::move(at));
}

// The adjoint of a state before step t, of that behind it.
void Segments::go_back(const Reverse::State& state) {
    const Local adjoint = body_.local(state.adjoint);
    NodeList at(state.target_nodes.begin() + 1, state.target_nodes.end());
    const NodeId zero = nodes_.real(0, adjoint.dtype, true);
    NodeId value = no_id, initial = zero;
    if (state.previous) value = terms_.substitute(reverse_.value_of(*state.previous), back_);
    if (state.after) {
        Substitution element;
        element.variables[state.targets[0]] = back_.variables.at(scan_.step);
        const NodeId after = terms_.substitute(reverse_.value_of(*state.after), element);
        value = value < 0 ? after : scalar(ScalarOp::add, {after, value});
        element.variables[state.targets[0]] = terms_.size(steps_);
        initial = terms_.substitute(reverse_.value_of(*state.after), element);
    }
    const NodeId otherwise = nodes_.previous(state.adjoint, adjoint.dtype, std::move(at));
    set(state.adjoint, nodes_.select(goes_back_, value < 0 ? zero : value, otherwise), initial);
}

// Axes of a state's own, which `by` puts in the place of others.
VariableList Segments::renewed(std::span<const VariableId> from, Substitution& by) {
    VariableList made;
    for (VariableId axis : from) {
        const Variable old = body_.variable(axis);
        made.push_back(nodes_.add_variable(old.name, Variable::Kind::parallel, old.extent));
        by.variables[axis] = nodes_.variable(made.back());
    }
    return made;
}

// The sum over all steps, or (`is_sum` false) what each step has.
LocalId Segments::state_of(const Part& part, std::span<const VariableId> axes, bool is_sum) {
    Substitution by = back_;
    const VariableList own = renewed(axes, by);
    const NodeId value = terms_.substitute(reverse_.value_of(part), by);
    const DType dtype = terms_.node(value).dtype;
    const LocalId made = add_state(is_sum ? "sum" : "part", dtype, own);
    NodeList at;
    for (VariableId axis : own) at.push_back(nodes_.variable(axis));
    const NodeId before = nodes_.previous(made, dtype, std::move(at));
    const NodeId next = is_sum ? scalar(ScalarOp::add, {before, value}) : value;
    set(made, nodes_.select(goes_back_, next, before), nodes_.real(0, dtype, true));
    return made;
}

// A state of this scan behind its step before `step`.
NodeId Segments::behind(LocalId state, NodeId step, std::span<const VariableId> axes) {
    NodeList at = {step};
    for (VariableId axis : axes) at.push_back(nodes_.variable(axis));
    return nodes_.local(state, body_.local(state).dtype, std::move(at));
}

// Than an array over these axes.
bool Segments::is_smaller(const Reverse::Wanted& wanted, std::span<const VariableId> axes) const {
    double points = 1, elements = 1;
    for (VariableId axis : axes) points *= static_cast<double>(body_.variable(axis).extent.value());
    for (VariableId axis : wanted.targets) elements *= static_cast<double>(body_.variable(axis).extent.value());
    return elements < points;
}

// Whether an operand of the read is worked out of states.
bool Segments::is_at_states(const Node& read) const {
    const auto used = used_by(body_, read.operands);
    for (NodeId id(0); id < next_id<NodeId>(body_.nodes); ++id) {
        const Node& node = body_.node(id);
        const auto is_state = [&](const auto& of) { return of.first == node.local(); };
        if (used[static_cast<size_t>(id)] && node.kind == Node::Kind::local &&
            std::ranges::any_of(scan_.values, is_state))
            return true;
    }
    return false;
}

void Segments::finish() {
    for (auto [state, value] : scan_.values)
        if (states_.contains(state)) work_out_again(state, value);
    for (const Reverse::State& state : scan_.states) go_back(state);
    // All values of the scan come before the first that is read behind it.
    for (Given& given : given_) add_given(given);
    for (const Given& given : given_) give(given);
    for (const Reverse::State& state : scan_.states) reverse_.give_initial(state, terms_.size(total_));
}

// A sum has the axes of its node, or of the input that is read there if this has fewer elements, or if the states say
// which of them is read. What each step has, has the node's axes but the step.
void Segments::add_given(Given& given) {
    const Node node = terms_.node(given.id);
    given.axes = terms_.free(given.id);
    std::erase(given.axes, scan_.step);
    given.is_sum = !terms_.depends(given.id, scan_.step);
    given.wanted = node.kind == Node::Kind::read || !given.is_sum ? reverse_.wanted(node.tensor()) : nullptr;
    const bool by_element = given.wanted && (given.is_sum ? is_smaller(*given.wanted, given.axes) : is_at_states(node));
    if (!by_element) {
        given.wanted = nullptr;
    } else {
        given.part = reverse_.part_of_input(*given.wanted, node, given.axes, given.part);
        given.axes.assign(given.wanted->targets.begin(), given.wanted->targets.end());
        given.is_sum = true;
    }
    given.state = state_of(given.part, given.axes, given.is_sum);
}

// Behind the scan.
void Segments::give(const Given& given) {
    const NodeId end = terms_.size(total_);
    if (given.wanted) return reverse_.add_result(*given.wanted, {{}, behind(given.state, end, given.axes)});
    if (given.is_sum) {
        reverse_.parts_[given.id].push_back({{}, behind(given.state, end, given.axes)});
        return;
    }
    Substitution by;
    const NodeId step = nodes_.variable(reverse_.free_step(scan_.axis));
    by.variables[scan_.step] = step;
    const NodeId read = terms_.substitute(given.id, by);
    const NodeId value = behind(given.state, scalar(ScalarOp::subtract, {end, step}), given.axes);
    reverse_.gather_read(Node(terms_.node(read)), std::vector(terms_.free(read)), {{}, value});
}

// Where an equation reads no states but those before and behind one step: that step, in the place of its own.
std::optional<Substitution> Reverse::step_of(const BodyEquation& equation, const Scan& scan) {
    std::optional<VariableId> step;
    std::set<NodeId> seen;
    NodeList stack = {terms_.copied(equation.value)};
    while (!stack.empty()) {
        const NodeId id = stack.back();
        stack.pop_back();
        if (!seen.insert(id).second) continue;
        const Node& node = terms_.node(id);
        stack.insert(stack.end(), node.operands.begin(), node.operands.end());
        if (node.kind == Node::Kind::local && !local(node).is_state()) stack.push_back(local(node).value);
        const bool is_state =
            node.kind == Node::Kind::previous || (node.kind == Node::Kind::local && local(node).is_state());
        if (!is_state) continue;
        std::optional<std::pair<VariableId, int64_t>> place = std::pair(scan.axis, int64_t{0});
        if (node.kind == Node::Kind::local) place = terms_.place_of(node.operands[0]);
        if (!place || place->second < 0 || place->second > 1 || (step && *step != place->first)) return std::nullopt;
        step = place->first;
    }
    if (!step || std::ranges::find(equation.variables, *step) == equation.variables.end() ||
        !body_.variable(*step).extent.same_as(body_.variable(scan.axis).extent))
        return std::nullopt;
    Substitution by;
    by.variables[*step] = nodes_.variable(scan.step);
    return by;
}

// No state of the forward scan is left, and what is kept of one is read.
bool Reverse::is_by_segments(const std::vector<BodyEquation>& equations, const Scan& scan) const {
    NodeList roots;
    for (const BodyEquation& equation : equations) roots.push_back(equation.value);
    const auto used = used_by(body_, std::move(roots));
    const auto first = static_cast<int64_t>(request_.inputs.size()) + std::ranges::count(request_.given, true);
    bool kept = false;
    for (NodeId id(0); id < next_id<NodeId>(body_.nodes); ++id) {
        const Node& node = body_.node(id);
        if (!used[static_cast<size_t>(id)]) continue;
        const bool local = node.kind == Node::Kind::local || node.kind == Node::Kind::previous;
        const auto is_read = [&](const auto& of) { return of.first == node.local(); };
        if (local && std::ranges::any_of(scan.values, is_read)) return false;
        for (auto [state, output] : request_.checkpoints->outputs)
            kept = kept || (node.is_read() && node.index == first + output);
    }
    return kept;
}

std::optional<std::vector<BodyEquation>> Reverse::run_by_segments() {
    find_scans();
    if (scans_.size() != 1) return std::nullopt;
    struct Seed {
        const BodyEquation* equation = nullptr;
        NodeId value;
        Substitution by;
    };
    std::vector<Seed> of_steps, behind;
    for (const BodyEquation& equation : forward_.equations) {
        auto step = step_of(equation, scans_[0]);
        Seed seed{&equation, no_id, step ? *step : after_};
        seed.value = terms_.substitute(terms_.copied(equation.value), seed.by);
        (step ? of_steps : behind).push_back(std::move(seed));
    }
    find_active();
    for (const Seed& one : behind) seed(*one.equation, one.value, one.by);
    while (!parts_.empty() && parts_.rbegin()->first >= scans_[0].last) propagate_last();
    Scan scan = std::move(scans_[0]);
    scans_.clear();
    running_ = &scan;
    Segments segments(*this, scan);
    add_adjoints(scan, segments.axis());
    auto parts = std::exchange(parts_, {});
    segments_ = &segments;
    stepping_ = true;
    give_step(scan);
    for (const Seed& one : of_steps) seed(*one.equation, one.value, one.by);
    while (!parts_.empty()) propagate_last();
    stepping_ = false;
    segments_ = nullptr;
    running_ = nullptr;
    parts_ = std::move(parts);
    if (segments.refused()) return std::nullopt;
    segments.finish();
    while (!parts_.empty()) propagate_last();
    std::vector<BodyEquation> equations = results();
    if (!is_by_segments(equations, scan)) return std::nullopt;
    return equations;
}

}  // namespace heddle::gradient
