#include "rewrite/made_up.h"

#include <fmt/format.h>

#include <algorithm>

#include "rewrite/instance.h"
#include "rewrite/made_up_values.h"
#include "rewrite/repair.h"
#include "symbolic/environment_state.h"

namespace heddle::rewrite {
namespace {

using Kind = Syntax::Kind;

constexpr size_t most_tries = 4'000;
constexpr int most_repairs = 24;

// What an open list of dimensions is chosen by: its name, or the input where it has none.
std::string rank_name(const TensorSpec& input, const Syntax& open) {
    return open.kind == Kind::dimensions ? "$" + open.text : input.name;
}

}  // namespace

// ---- choices

MadeUpUses::MadeUpUses(const Template& metakernel, const Library& library, bool whole)
    : metakernel_(metakernel), loose_(metakernel), library_(library), whole_(whole) {
    loose_.requirements.clear();
    for (const TensorSpec& input : metakernel.inputs)
        if (input.flavour == Flavour::concrete) valued_.insert(input.name);
    begin();
}

void MadeUpUses::fix(const std::string& parameter, StaticValue value) {
    fixed_.insert_or_assign(parameter, std::move(value));
    begin();
}

std::vector<DType> MadeUpUses::dtypes_of(const std::string& variable) const {
    std::vector<DType> allowed;
    for (const DTypeConstraint& constraint : metakernel_.dtypes) {
        if (constraint.name != variable) continue;
        for (const std::string& name : constraint.dtype_names)
            if (const auto dtype = dtype_named(name)) allowed.push_back(*dtype);
    }
    auto place = [](DType dtype) { return std::ranges::find(usual_dtypes, dtype) - usual_dtypes.begin(); };
    std::ranges::stable_sort(allowed, {}, place);
    if (allowed.empty()) allowed.assign(usual_dtypes.begin(), usual_dtypes.end());
    return allowed;
}

void MadeUpUses::find_choices() {
    using enum Choice::Kind;
    choices_ = {{sizes, "", schemes.size()}};
    auto add = [&](Choice::Kind kind, const std::string& name, size_t candidates) {
        auto same = [&](const Choice& choice) { return choice.kind == kind && choice.name == name; };
        if (candidates > 1 && std::ranges::none_of(choices_, same)) choices_.push_back({kind, name, candidates});
    };
    constexpr size_t ranks = 5, of_all = 4;
    for (const TensorSpec& input : metakernel_.inputs) {
        if (input.optional && !whole_) continue;
        if (input.dtype && input.dtype->kind == Kind::static_name)
            add(dtype, input.dtype->text, dtypes_of(input.dtype->text).size());
        if (!input.dtype) add(dtype, input.name, usual_dtypes.size());
        if (input.variadic) add(count, input.name, 3);
        if (!input.shape) add(rank, input.name, ranks);
        if (input.shape)
            for (const SyntaxPointer& dimension : flat(input.shape->children))
                if (is_open(*dimension)) add(rank, rank_name(input, *dimension), ranks);
        if (!valued_.contains(input.name)) continue;
        add(value, input.name, value_candidates);
        add(length, input.name, length_candidates);
    }
    if (std::ranges::count(choices_, rank, &Choice::kind) > 1) add(rank, "", of_all);  // of all that have none of their own
    for (const Parameter& parameter : metakernel_.params) {
        if (fixed_.contains(parameter.name)) continue;
        const ParameterType& type = parameter.type;
        const bool is_list = type.kind == ParameterType::Kind::axes || (type.is_list && !type.length);
        const size_t count = is_list ? most_candidates : scalars_of(metakernel_, type).size();
        add(Choice::Kind::parameter, parameter.name, count + (parameter.default_value ? 1 : 0));
    }
}

void MadeUpUses::begin() {
    find_choices();
    steps_ = {{Choices(choices_.size(), 0)}};
    next_step_ = tries_ = 0;
    last_.clear();
    random_.seed(1);
    tried_.clear();
    known_.clear();
    failures_.clear();
}

// The likeliest candidate of each choice first.
std::optional<MadeUpUses::Choices> MadeUpUses::neighbour(Step& step) const {
    const size_t most = std::ranges::max(choices_, {}, &Choice::candidates).candidates;
    for (; step.candidate < most; ++step.candidate, step.choice = 0) {
        while (step.choice < choices_.size()) {
            const size_t choice = step.choice++;
            if (step.candidate >= choices_[choice].candidates) continue;
            Choices chosen = step.from;
            chosen[choice] = static_cast<uint8_t>(chosen[choice] == step.candidate ? 0 : step.candidate);
            if (!tried_.contains(chosen)) return chosen;
        }
    }
    return std::nullopt;
}

// Neighbours of all steps in turn; those of the plainest use before any others.
std::optional<MadeUpUses::Choices> MadeUpUses::next_choices() {
    if (tries_++ >= most_tries) return std::nullopt;
    if (tries_ == 1) return steps_[0].from;
    if (auto chosen = neighbour(steps_[0])) return chosen;
    for (size_t looked_at = 1; looked_at < steps_.size(); ++looked_at) {
        next_step_ = next_step_ + 1 < steps_.size() ? next_step_ + 1 : 1;
        if (auto chosen = neighbour(steps_[next_step_])) return chosen;
    }
    if (choices_.size() < 3) return std::nullopt;
    Choices chosen;
    for (const Choice& choice : choices_)
        chosen.push_back(static_cast<uint8_t>(random_() % 2 == 0 ? 0 : random_() % choice.candidates));
    return chosen;
}

std::optional<MadeUpUse> MadeUpUses::mended(MadeUpUse use, const Diagnostics& problems) {
    if (!repair(use, problems[0]) || !fits(use) || !known_.insert(use.text()).second) return std::nullopt;
    return use;
}

void MadeUpUses::failed(const Diagnostics& problems) {
    const Diagnostic& first = problems[0];
    if (failures_.insert(fmt::format("{} {} {}", first.code, first.place.offset, problems.size())).second &&
        last_ != steps_[0].from)
        steps_.push_back({last_});
}

// ---- tensors and parameters of choices

class Draft {
public:
    Draft(const MadeUpUses& from, const MadeUpUses::Choices& chosen) : from_(from), chosen_(chosen) {}

    MadeUpUse made() {
        const Template& metakernel = from_.metakernel_;
        use_.choices = chosen_;
        for (size_t i = 0; i < chosen_.size(); ++i)
            use_.usual = use_.usual && (from_.choices_[i].kind != Choice::Kind::dtype || chosen_[i] == 0);
        use_.plain = chosen_[0] < plain_schemes;
        for (const Parameter& parameter : metakernel.params) add_parameter(parameter, true);
        for (bool concrete : {false, true})  // their lengths are often the ranks of others
            for (const TensorSpec& input : metakernel.inputs) {
                if ((input.optional && !from_.whole_) || from_.valued_.contains(input.name) != concrete) continue;
                add_tensors(input, concrete);
            }
        for (const Parameter& parameter : metakernel.params) add_parameter(parameter, false);
        return std::move(use_);
    }

private:
    using Choice = MadeUpUses::Choice;

    size_t chosen(Choice::Kind kind, const std::string& name) const {
        for (size_t i = 0; i < from_.choices_.size(); ++i)
            if (from_.choices_[i].kind == kind && from_.choices_[i].name == name) return chosen_[i];
        return 0;
    }

    int64_t fresh() {
        const auto& scheme = schemes[chosen_[0]];
        return scheme[next_size_++ % scheme.size()];
    }

    // Those that counts in patterns may ask for are made before the tensors, and lists after them.
    void add_parameter(const Parameter& parameter, bool before) {
        const bool is_list = parameter.type.is_list || parameter.type.kind == ParameterType::Kind::axes;
        if (before == is_list) return;
        if (const auto fixed = from_.fixed_.find(parameter.name); fixed != from_.fixed_.end()) {
            use_.parameters.insert_or_assign(parameter.name, fixed->second);
            return;
        }
        size_t candidate = chosen(Choice::Kind::parameter, parameter.name);
        if (parameter.default_value && candidate == 0) return;
        candidate -= parameter.default_value ? 1 : 0;
        const auto values = values_of(from_.metakernel_, parameter.type, first_shape_);
        if (candidate < values.size()) use_.parameters.insert_or_assign(parameter.name, values[candidate]);
    }

    DType dtype_of(const TensorSpec& input) const {
        if (!input.dtype) return usual_dtypes[chosen(Choice::Kind::dtype, input.name)];
        if (input.dtype->kind == Kind::name) return dtype_named(input.dtype->text).value_or(DType::float32);
        if (input.dtype->kind != Kind::static_name) return DType::float32;
        return from_.dtypes_of(input.dtype->text)[chosen(Choice::Kind::dtype, input.dtype->text)];
    }

    int64_t rank_of(const std::string& name, bool alone, bool concrete) const {
        constexpr std::array<int64_t, 5> among = {1, 2, 0, 3, 4}, whole = {2, 1, 3, 0, 4};
        constexpr std::array<int64_t, 4> of_all = {-1, 0, 2, 3};
        if (concrete) return chosen(Choice::Kind::rank, name) == 0 ? 0 : 1;  // an axis, or a list of them
        const size_t own = chosen(Choice::Kind::rank, name), all = chosen(Choice::Kind::rank, "");
        return own == 0 && all > 0 ? of_all[all] : (alone ? whole : among)[own];
    }

    void add_tensors(const TensorSpec& input, bool concrete) {
        constexpr std::array<size_t, 3> counts = {2, 1, 3};
        const size_t count = input.variadic ? counts[chosen(Choice::Kind::count, input.name)] : 1;
        for (size_t i = 0; i < count; ++i) {
            TensorType type{dtype_of(input), {}};
            if (input.shape)
                add_dimensions(input, i, concrete, type);
            else
                for (int64_t rank = rank_of(input.name, true, concrete); rank > 0; --rank) type.shape.emplace_back(fresh());
            if (!concrete && first_shape_.empty()) first_shape_ = type.extents();
            use_.tensors[input.name].push_back(std::move(type));
        }
        if (!concrete) return;
        if (auto value = value_for(use_.tensors[input.name][0], chosen(Choice::Kind::value, input.name), first_shape_))
            use_.values.insert_or_assign(input.name, std::move(*value));
    }

    void add_dimensions(const TensorSpec& input, size_t tensor, bool concrete, TensorType& type) {
        const auto dimensions = flat(input.shape->children);
        auto add = [&](const std::string& name, int64_t size) {
            if (!name.empty()) use_.named.insert({name, {input.name, tensor, type.shape.size()}});
            type.shape.emplace_back(size);
        };
        for (const SyntaxPointer& dimension : dimensions) {
            if (is_open(*dimension)) {
                const auto& sizes = several(input, *dimension, dimensions.size() == 1, concrete);
                for (size_t i = 0; i < sizes.size(); ++i) add(fmt::format("{}...{}", dimension->text, i), sizes[i]);
            } else if (dimension->kind == Kind::dimension && dimension->collector.empty()) {
                if (concrete) {
                    const auto rank = static_cast<int64_t>(first_shape_.size());
                    const std::array<int64_t, length_candidates> lengths = {rank > 0 ? rank : 2, 2 * rank, 1, 2};
                    single_.try_emplace(dimension->text, lengths[chosen(Choice::Kind::length, input.name)]);
                }
                add(dimension->text, known(dimension->text));
            } else if (dimension->kind == Kind::dimension || dimension->kind == Kind::any_dimension) {
                add("", fresh());
            } else {
                add("", value_of(*dimension).value_or(4));
            }
        }
    }

    std::vector<int64_t> several(const TensorSpec& input, const Syntax& open, bool alone, bool concrete) {
        const bool shared = open.kind == Kind::dimensions && open.collector.empty();
        if (shared)
            if (const auto known = several_.find(open.text); known != several_.end()) return known->second;
        int64_t count = rank_of(rank_name(input, open), alone, concrete);
        if (!open.children.empty()) count = std::clamp<int64_t>(value_of(*open.children[0]).value_or(count), 0, 8);
        std::vector<int64_t> sizes;
        for (; count > 0; --count) sizes.push_back(fresh());
        if (shared) several_.emplace(open.text, sizes);
        return sizes;
    }

    int64_t known(const std::string& name) {
        const auto found = single_.find(name);
        return found != single_.end() ? found->second : (single_[name] = fresh());
    }

    // Of names that are bound, or are bound here.
    std::optional<int64_t> value_of(const Syntax& written) {
        if (written.kind == Kind::integer) return written.integer;
        if (written.kind == Kind::static_name) {
            const auto given = use_.parameters.find(written.text);
            if (given != use_.parameters.end())
                return given->second.is_integer() ? std::optional(given->second.integer()) : std::nullopt;
            const Template& metakernel = from_.metakernel_;
            if (const Parameter* parameter = metakernel.parameter(written.text))
                return parameter->default_value ? value_of(*parameter->default_value) : std::nullopt;
            for (const StaticLet& let : metakernel.lets)
                if (let.name == written.text) return value_of(*let.value);
            return known(written.text);
        }
        if (written.kind != Kind::binary) return std::nullopt;
        const auto left = value_of(*written.children[0]), right = value_of(*written.children[1]);
        if (!left || !right) return std::nullopt;
        if (written.text == "+") return *left + *right;
        if (written.text == "-") return *left - *right;
        if (written.text == "*") return *left * *right;
        if (written.text == "//" || written.text == "/") return *right > 0 ? std::optional(*left / *right) : std::nullopt;
        return std::nullopt;
    }

    const MadeUpUses& from_;
    const MadeUpUses::Choices& chosen_;
    MadeUpUse use_;
    size_t next_size_ = 0;
    std::vector<int64_t> first_shape_;
    std::map<std::string, int64_t> single_;
    std::map<std::string, std::vector<int64_t>> several_;
};

// Mended until it fits, or nothing more is known.
bool MadeUpUses::fits(MadeUpUse& use) {
    for (int repairs = 0; repairs < most_repairs; ++repairs) {
        for (auto& [name, value] : use.values) {  // a mended type has a value of its own
            const TensorType& type = use.tensors.at(name)[0];
            if (value.dtype() == type.dtype && value.shape() == type.extents()) continue;
            TensorData again(type.dtype, type.extents());
            for (int64_t i = 0; i < again.size(); ++i)
                again.set_real(i, value.size() > 0 ? value.real_at(std::min(i, value.size() - 1)) : 1);
            value = std::move(again);
        }
        AppliedUse loose(loose_, library_, use);
        auto environment = loose.bind();
        if (!environment) {
            misfit_ = std::move(environment.error());
            if (!repair(use, misfit_[0])) return false;
            continue;
        }
        bool all = true, changed = false;
        for (const Requirement& requirement : metakernel_.requirements) {
            const auto holds = (*environment)->evaluate(*requirement.condition);
            if (holds && holds->is_boolean() && holds->boolean()) continue;
            all = false;
            changed = holds && repair(use, *requirement.condition, **environment);
            break;
        }
        if (!all && changed) continue;
        AppliedUse applied(metakernel_, library_, use);
        auto bound = applied.bind();
        if (!bound) misfit_ = std::move(bound.error());
        return bound.has_value();
    }
    return false;
}

std::optional<MadeUpUse> MadeUpUses::next() {
    while (const auto chosen = next_choices()) {
        tried_.insert(*chosen);
        last_ = *chosen;
        MadeUpUse use = Draft(*this, *chosen).made();
        if (fits(use)) {
            if (known_.insert(use.text()).second) return use;
        } else if (!misfit_.empty()) {  // there is none where requirements were mended to the end
            failed(misfit_);
        }
    }
    return std::nullopt;
}

// Whether an open list of dimensions has none in a use.
bool MadeUpUses::is_empty(const MadeUpUse& use, const Choice& rank) const {
    const auto bound = AppliedUse(metakernel_, library_, use).bind();
    if (!bound) return false;
    const auto sizes = (*bound)->lookup(rank.name.substr(1), metakernel_.place);
    return sizes && sizes->is_list() && sizes->list().empty();
}

// Likely to have some: by the choice itself, or by an axis that an ellipsis is counted by.
std::vector<MadeUpUses::Choices> MadeUpUses::with_dimensions(const Choices& of, size_t rank) const {
    std::vector<Choices> all;
    for (const uint8_t scheme : {0, 1})
        for (const uint8_t dimensions : {0, 1}) {
            all.push_back(of);
            all.back()[0] = scheme;
            all.back()[rank] = dimensions;
        }
    for (size_t i = 0, plain = all.size(); i < choices_.size(); ++i) {
        const Parameter* parameter =
            choices_[i].kind == Choice::Kind::parameter ? metakernel_.parameter(choices_[i].name) : nullptr;
        if (!parameter || parameter->type.kind != ParameterType::Kind::axis) continue;
        for (size_t at = 0; at < plain; ++at)
            for (const int axis : {0, 1}) {
                all.push_back(all[at]);
                all.back()[i] = static_cast<uint8_t>(axis + (parameter->default_value ? 1 : 0));
            }
    }
    return all;
}

bool MadeUpUses::is_of_values(const std::string& open) const {
    bool found = false;
    for (const TensorSpec& input : metakernel_.inputs)
        if (valued_.contains(input.name))
            visit_all(input.shape, [&](const Syntax& node) { found = found || node.text == open; });
    return found;
}

void MadeUpUses::add_if_it_fits(const Choices& chosen, std::vector<MadeUpUse>& uses) {
    MadeUpUse use = Draft(*this, chosen).made();
    if (fits(use)) uses.push_back(std::move(use));
}

std::vector<Chance> MadeUpUses::chances_of(const MadeUpUse& use) {
    std::vector<Chance> chances;
    if (std::ranges::find(different_schemes, use.choices[0]) == different_schemes.end()) {
        Chance& sizes = chances.emplace_back(Chance{"equal sizes of what has different names", {}});
        Choices chosen = use.choices;
        for (const uint8_t scheme : different_schemes) {
            chosen[0] = scheme;
            add_if_it_fits(chosen, sizes.others);
        }
    }
    // A text that was made up may say itself how many dimensions there are.
    const bool has_text = std::ranges::any_of(metakernel_.params, [](const Parameter& parameter) {
        return parameter.type.kind == ParameterType::Kind::string && !parameter.default_value;
    });
    for (size_t i = 0; i < choices_.size() && !has_text; ++i) {
        const std::string& name = choices_[i].name;
        if (choices_[i].kind != Choice::Kind::rank || !name.starts_with("$") || is_of_values(name.substr(1))) continue;
        if (!is_empty(use, choices_[i])) continue;
        Chance& rank = chances.emplace_back(Chance{"no dimensions of " + name, {}});
        for (const Choices& chosen : with_dimensions(use.choices, i)) add_if_it_fits(chosen, rank.others);
        std::erase_if(rank.others, [&](const MadeUpUse& other) { return is_empty(other, choices_[i]); });
    }
    return chances;
}

}  // namespace heddle::rewrite
