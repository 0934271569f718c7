// Declared index projections: rows, diagonal and structured notation evaluated to matrices, and compared with what a
// body really reads (docs/language.md, "Projections").
#include <fmt/format.h>

#include <algorithm>

#include "symbolic/body_expression.h"
#include "symbolic/projection.h"

namespace heddle {
namespace {

class DeclaredProjection {
public:
    DeclaredProjection(Environment& environment, const ProjectedTensor& tensor, Body& body,
                       std::unique_ptr<BodyExpressions>& expressions)
        : environment_(environment), tensor_(tensor), body_(body), expressions_(expressions) {
        for (const BoundAxis& axis : environment.index()) axes_ += axis.extents.size();
    }

    IndexProjection evaluate() {
        const Syntax& ipf = *tensor_.spec->ipf;
        switch (ipf.kind) {
        case Syntax::Kind::rows: rows(ipf); break;
        case Syntax::Kind::diagonal: diagonal(ipf); break;
        default: structured(ipf); break;
        }
        if (result_.projection.size() != rank())
            refuse(ipf.place, fmt::format("{} rows for a tensor of rank {}", result_.projection.size(), rank()),
                   "one row a dimension");
        return std::move(result_);
    }

private:
    struct Entry {
        bool whole = false;
        int64_t start = 0, extent = 1;
        std::optional<size_t> moving;  // the start, where it is no number: its place in `moving_`
        const Place* place = nullptr;
    };
    using Entries = InlineVector<Entry, 6>;

    using Coefficients = InlineVector<int64_t, 8>;  // of the index axes

    size_t rank() const { return tensor_.extents.size(); }
    size_t axes() const { return axes_; }
    BodyExpressions& expressions() {
        if (!expressions_) expressions_ = std::make_unique<BodyExpressions>(environment_, body_);
        return *expressions_;
    }

    [[noreturn]] void refuse(const Place& place, std::string summary, std::string expected, std::string remedy = {}) {
        Diagnostic diagnostic = environment_.diagnostic("symbolic.ipf", place, std::move(summary));
        diagnostic.expected = std::move(expected);
        diagnostic.remedy = std::move(remedy);
        diagnostic.params.emplace_back("tensor", tensor_.name);
        throw EvaluationFailure{{std::move(diagnostic)}};
    }

    Value value(const Syntax& syntax) {
        if (syntax.kind == Syntax::Kind::integer) return Value::of(syntax.integer);
        if (syntax.kind != Syntax::Kind::static_name)
            return expressions().evaluate_filled(syntax, static_cast<int64_t>(rank()));
        return unwrapped(environment_.lookup(syntax.text, syntax.place)).with_from_template(false);
    }
    // Here, as of derived projections: no plan follows from it.
    int64_t integer(const Value& value, const Place& place) {
        return value.is_integer() ? value.size().number()
                                  : expressions().operations().integer(value, "an entry of a projection", place);
    }

    int64_t fixed_start(const Entry& entry, const Place& place) {
        return entry.moving ? integer(moving_[*entry.moving], place) : entry.start;
    }

    // Elements with spreads expanded and a fill filled up to `size`.
    Entries expanded(const std::vector<SyntaxPointer>& children, size_t size) {
        Entries result;
        std::optional<size_t> fill;
        for (const SyntaxPointer& child : children) {
            bool spread = child->kind == Syntax::Kind::spread;
            size_t first = result.size();
            bool listed = add_entries(spread ? *child->children[0] : *child, result);
            if (!spread && listed)
                refuse(child->place, "a list inside a list", "one entry", "write ... after it to expand it");
            if (spread && !listed && child->children.size() > 1) {
                int64_t count = std::max<int64_t>(integer(value(*child->children[1]), child->place), 0);
                expressions().operations().spend(count, child->place);
                result.resize(first + static_cast<size_t>(count), Entry(result.back()));
            } else if (spread && !listed) {
                if (fill) refuse(child->place, "two fills in one list", "one");
                fill = first;
            }
        }
        if (fill) {
            size_t others = result.size() - 1;
            Entry entry = result[*fill];
            result.erase(result.begin() + *fill);
            for (size_t i = others; i < size; ++i) result.insert(result.begin() + *fill, entry);
        }
        return result;
    }

    // The entries of one element: several if it is a list, which is the answer.
    bool add_entries(const Syntax& element, Entries& result) {
        Entry one;
        one.place = &element.place;
        if (element.kind == Syntax::Kind::whole) {
            one.whole = true;
            result.push_back(one);
            return false;
        }
        if (element.kind == Syntax::Kind::integer) {  // mostly
            one.start = element.integer;
            result.push_back(one);
            return false;
        }
        bool ranged = element.kind == Syntax::Kind::ranged;
        if (ranged && element.children[0]->kind == Syntax::Kind::whole)
            refuse(element.place, "* is the whole dimension and has no extent", "a start before :>");
        Value start = value(ranged ? *element.children[0] : element);
        Value extent = ranged ? value(*element.children[1]) : Value::of(1);
        auto add = [&](const Value& own_start, const Value& own_extent) {
            one.moving.reset();
            if (own_start.is_integer()) {
                one.start = own_start.size().number();
            } else {
                one.moving = moving_.size();
                moving_.push_back(own_start);
            }
            one.extent = integer(own_extent, element.place);
            result.push_back(one);
        };
        if (!start.is_list() && !extent.is_list()) {
            add(start, extent);
            return false;
        }
        const size_t count = (start.is_list() ? start : extent).list().size();
        if (start.is_list() && extent.is_list() && extent.list().size() != count)
            refuse(element.place, fmt::format("{} starts and {} extents", count, extent.list().size()),
                   "as many extents as starts");
        for (size_t i = 0; i < count; ++i) add(start.at(i), extent.at(i));
        return true;
    }

    void add_whole(int64_t extent) {
        result_.projection.push_zeros(axes());
        result_.offset.push_back(0);
        result_.shape.push_back(extent);
        result_.whole.push_back(true);
    }

    void add_row(std::span<const int64_t> coefficients, int64_t offset, int64_t extent, const Place& place) {
        if (extent < 0) refuse(place, fmt::format("the extent {} is negative", extent), "0 or more");
        result_.projection.push_back(coefficients);
        result_.offset.push_back(offset);
        result_.shape.push_back(extent);
        result_.whole.push_back(false);
    }

    void rows(const Syntax& ipf) {
        Entries entries = expanded(ipf.children, rank());
        if (entries.size() != rank())
            refuse(ipf.place, fmt::format("{} rows for a tensor of rank {}", entries.size(), rank()),
                   "one row a dimension");
        for (size_t i = 0; i < entries.size(); ++i) {
            const Place& place = *entries[i].place;
            if (entries[i].whole) {
                add_whole(tensor_.extents[i].number());
                continue;
            }
            Coefficients coefficients(axes(), 0);
            int64_t offset =
                entries[i].moving ? affine_start(moving_[*entries[i].moving], place, coefficients) : entries[i].start;
            add_row(coefficients, offset, entries[i].extent, place);
        }
    }

    // The offset of a start that moves with the index, and its coefficients.
    int64_t affine_start(const Value& start, const Place& place, Coefficients& coefficients) {
        NodeId node = expressions().coordinate(start, place);
        int64_t budget = 10'000;
        RangeEvaluator ranges(body_, full_region(body_), &budget);
        const ValueRange& range = ranges.of(node);
        if (!range.affine)
            refuse(place, "the start of a row is not affine", "static factors of coordinates, and a static offset",
                   "write * for the whole dimension");
        for (size_t axis = 0; axis < axes(); ++axis)
            coefficients[axis] = range.affine->coefficient(expressions().index_variables()[axis]).number();
        return range.affine->constant.number();
    }

    // Entry j is the coefficient of the next index dimension; `*` is a tensor dimension without one.
    void diagonal(const Syntax& ipf) {
        Entries entries = expanded(ipf.children, rank());
        std::optional<Entries> extents, offsets;
        if (ipf.extents) extents = expanded(ipf.extents->children, rank());
        if (ipf.offset) offsets = expanded(ipf.offset->children, rank());
        if (entries.size() != rank() || (extents && extents->size() != rank()) ||
            (offsets && offsets->size() != rank()))
            refuse(ipf.place, fmt::format("{} entries for a tensor of rank {}", entries.size(), rank()),
                   "one coefficient, offset and extent a dimension");
        size_t axis = 0;
        for (size_t i = 0; i < rank(); ++i) {
            if (entries[i].whole) {
                add_whole(tensor_.extents[i].number());
                continue;
            }
            if (axis >= axes())
                refuse(*entries[i].place, fmt::format("more entries than the index has dimensions, {}", axes()),
                       "one entry an index dimension", "mark the tensor dimensions without one by *");
            Coefficients coefficients(axes(), 0);
            coefficients[axis++] = fixed_start(entries[i], *entries[i].place);
            int64_t offset = offsets && !(*offsets)[i].whole ? fixed_start((*offsets)[i], ipf.offset->place) : 0;
            int64_t extent = !extents              ? 1
                             : (*extents)[i].whole ? tensor_.extents[i].number()
                                                   : fixed_start((*extents)[i], ipf.extents->place);
            add_row(coefficients, offset, extent, *entries[i].place);
        }
        if (axis != axes())
            refuse(ipf.place, fmt::format("{} index dimensions have no entry", axes() - axis),
                   "one entry an index dimension", "write the rows form, as in [@row, *]");
    }

    std::vector<int64_t> integers(const Value& list, const Place& place) {
        std::vector<int64_t> result;
        for (const Value& item : expressions().operations().list(list, place)) result.push_back(integer(item, place));
        return result;
    }

    std::vector<std::vector<int64_t>> matrix(const Syntax& syntax) {
        std::vector<std::vector<int64_t>> result;
        const Value rows = value(syntax);
        for (const Value& row : expressions().operations().list(rows, syntax.place))
            result.push_back(integers(row, syntax.place));
        return result;
    }

    // A map of one list: `{map: [..., 1, 0], shape: [..., 1, $inner]}` are coefficients, one an index dimension.
    static bool is_of_coefficients(const Syntax& map) {
        return map.kind == Syntax::Kind::list && std::ranges::any_of(map.children, [](const SyntaxPointer& entry) {
                   return entry->kind == Syntax::Kind::spread || entry->kind == Syntax::Kind::integer;
               });
    }

    void structured(const Syntax& ipf) {
        const auto map = std::ranges::find(ipf.named, "map", &NamedArgument::name);
        if (map != ipf.named.end() && is_of_coefficients(*map->value)) {
            Syntax written = *map->value;
            for (const NamedArgument& field : ipf.named) {
                if (field.name == "shape") written.extents = field.value;
                if (field.name == "offset") written.offset = field.value;
            }
            return diagonal(written);
        }
        std::vector<std::vector<int64_t>> coefficients;
        std::vector<int64_t> offset(rank(), 0), shape(rank(), 1);
        for (const NamedArgument& field : ipf.named) {
            if (field.name == "projection" || field.name == "map") coefficients = matrix(*field.value);
            if (field.name == "offset") offset = integers(value(*field.value), field.place);
            if (field.name == "shape") shape = integers(value(*field.value), field.place);
        }
        if (coefficients.size() != rank() || offset.size() != rank() || shape.size() != rank())
            refuse(ipf.place, fmt::format("{} rows for a tensor of rank {}", coefficients.size(), rank()),
                   "one row, offset and extent a dimension");
        for (size_t i = 0; i < rank(); ++i) {
            // `map` may carry the offset as a last column.
            if (coefficients[i].size() == axes() + 1) {
                offset[i] += coefficients[i].back();
                coefficients[i].pop_back();
            }
            if (coefficients[i].size() != axes())
                refuse(ipf.place, fmt::format("row {} has {} entries", i, coefficients[i].size()),
                       fmt::format("{}, one an index dimension", axes()));
            add_row(coefficients[i], offset[i], shape[i], ipf.place);
        }
    }

    Environment& environment_;
    const ProjectedTensor& tensor_;
    Body& body_;
    std::unique_ptr<BodyExpressions>& expressions_;
    size_t axes_ = 0;
    std::vector<Value> moving_;
    IndexProjection result_;
};

struct Range {
    __int128 low, high;  // half open
};

Range range_at(const IndexProjection& projection, size_t row, const std::vector<int64_t>& point, int64_t extent) {
    if (projection.whole[row]) return {0, extent};
    __int128 start = projection.offset[row];
    for (size_t axis = 0; axis < point.size(); ++axis)
        start += __int128(projection.projection[row][axis]) * point[axis];
    return {start, start + projection.shape[row]};
}

// Points that decide whether one row holds another everywhere. The differences of starts and of ends are affine: their
// extremes are at corners. Clipping bends them: then every point of the axes that matter, as far as that is possible;
// beyond, what clipping would excuse is not excused.
std::vector<std::vector<int64_t>> telling_points(const IndexProjection& declared, const IndexProjection& derived,
                                                 size_t row, std::span<const int64_t> index, bool& clipped) {
    constexpr int64_t most_points = 16'384;
    std::vector<std::vector<int64_t>> points(1, std::vector<int64_t>(index.size(), 0));
    points.push_back(points[0]);
    int64_t count = 1;
    std::vector<size_t> axes;
    for (size_t axis = 0; axis < index.size(); ++axis) {
        int64_t inner = derived.whole[row] ? 0 : derived.projection[row][axis];
        int64_t outer = declared.whole[row] ? 0 : declared.projection[row][axis];
        points[inner < outer ? 0 : 1][axis] = index[axis] - 1;
        if (inner == 0 && outer == 0) continue;
        axes.push_back(axis);
        count = index[axis] > most_points ? most_points + 1 : std::min(count * index[axis], most_points + 1);
    }
    if (!clipped) return points;
    if (count > most_points) {
        clipped = false;
        return points;
    }
    points.assign(1, std::vector<int64_t>(index.size(), 0));
    for (size_t axis : axes) {
        std::vector<std::vector<int64_t>> more;
        for (const auto& point : points)
            for (int64_t value = 0; value < index[axis]; ++value) {
                more.push_back(point);
                more.back()[axis] = value;
            }
        points = std::move(more);
    }
    return points;
}

}  // namespace

IpfEvaluator::IpfEvaluator(Environment& environment) : environment_(environment) {}
IpfEvaluator::~IpfEvaluator() = default;

Result<IndexProjection> IpfEvaluator::of(const ProjectedTensor& tensor) {
    try {
        return DeclaredProjection(environment_, tensor, body_, expressions_).evaluate();
    } catch (EvaluationFailure& failure) {
        return fail(std::move(failure.diagnostics));
    }
}

Result<Diagnostics> check_declared(const Environment& environment, const ProjectedTensor& tensor,
                                   const IndexProjection& declared, const IndexProjection& derived,
                                   std::span<const int64_t> index, bool clipped) {
    Diagnostics notes;
    if (std::any_of(index.begin(), index.end(), [](int64_t extent) { return extent <= 0; })) return notes;
    const Place& place = tensor.spec->ipf->place;
    bool loose = false;
    for (size_t row = 0; row < tensor.extents.size(); ++row) {
        if (std::ranges::equal(derived.projection[row], declared.projection[row]) &&
            derived.offset[row] == declared.offset[row] && derived.shape[row] == declared.shape[row] &&
            derived.whole[row] == declared.whole[row])
            continue;
        const int64_t extent = tensor.extents[row].number();
        bool excused = clipped;
        for (const std::vector<int64_t>& point : telling_points(declared, derived, row, index, excused)) {
            Range inner = range_at(derived, row, point, extent), outer = range_at(declared, row, point, extent);
            loose = loose || inner.low != outer.low || inner.high != outer.high;
            if (inner.high <= inner.low) continue;
            if (excused) inner = {std::max<__int128>(inner.low, 0), std::min<__int128>(inner.high, extent)};
            if (inner.high <= inner.low || (inner.low >= outer.low && inner.high <= outer.high)) continue;
            int64_t coordinate = static_cast<int64_t>(inner.low < outer.low ? inner.low : inner.high - 1);
            Diagnostic diagnostic = environment.diagnostic(
                "symbolic.ipf", place,
                fmt::format("the body reaches outside the declared projection of '{}': at [{}], coordinate {} is {}",
                            tensor.name, fmt::join(point, ", "), row, coordinate));
            diagnostic.expected =
                fmt::format("inside {} .. {}", static_cast<int64_t>(outer.low), static_cast<int64_t>(outer.high) - 1);
            diagnostic.found =
                fmt::format("{} .. {}", static_cast<int64_t>(inner.low), static_cast<int64_t>(inner.high) - 1);
            diagnostic.remedy = "declare what the body reads, or leave `ipf` out: it is derived";
            diagnostic.params.emplace_back("tensor", tensor.name);
            return fail(std::move(diagnostic));
        }
    }
    if (loose) {
        auto cells = [](const IndexProjection& projection) {
            __int128 count = 1;
            for (int64_t extent : projection.shape) count = std::min<__int128>(count * extent, INT64_MAX);
            return static_cast<int64_t>(count);
        };
        Diagnostic note = environment.diagnostic(
            "symbolic.ipf_loose", place,
            fmt::format("the declared projection of '{}' is larger than what the body reads", tensor.name));
        auto counted = [&](const IndexProjection& projection) {
            int64_t count = cells(projection);
            return fmt::format("{} element{} a point", count, count == 1 ? "" : "s");
        };
        note.expected = counted(derived);
        note.found = counted(declared);
        notes.push_back(std::move(note));
    }
    return notes;
}

IndexProjection projection_by_name(const Environment& environment, const BoundTensor& tensor) {
    size_t axes = 0;
    for (const BoundAxis& axis : environment.index()) axes += axis.extents.size();
    size_t rank = tensor.type.shape.size();
    IndexProjection result;
    std::vector<int64_t> axis_of(rank, -1);
    bool any = false;
    for (const PatternCoordinate& coordinate : tensor.coordinates) {
        if (coordinate.dimension < 0) continue;
        size_t first = 0;
        for (const BoundAxis& axis : environment.index()) {
            bool own = !axis.name.empty() && axis.name == coordinate.name && axis.spread == coordinate.spread;
            bool grouped = !axis.name.empty() && axis.name == coordinate.group && axis.spread;
            auto position = static_cast<size_t>(own ? coordinate.position : coordinate.group_position);
            if ((own || grouped) && position < axis.extents.size()) {
                any = true;
                axis_of[static_cast<size_t>(coordinate.dimension)] =
                    coordinate.zero ? -2 : static_cast<int64_t>(first + position);
            }
            first += axis.extents.size();
        }
    }
    if (!any && rank == axes)
        for (size_t i = 0; i < rank; ++i) axis_of[i] = static_cast<int64_t>(i);
    for (size_t i = 0; i < rank; ++i) {
        result.projection.push_zeros(axes);
        if (axis_of[i] >= 0) result.projection[i][static_cast<size_t>(axis_of[i])] = 1;
        result.offset.push_back(0);
        result.shape.push_back(axis_of[i] == -1 ? tensor.type.shape[i].value() : 1);
        result.whole.push_back(axis_of[i] == -1);
    }
    return result;
}

namespace {

// Without a body nothing else proves it: at no point of the index the box leaves the tensor, unless it is clipped.
std::optional<Diagnostic> box_outside(const Environment& environment, const ProjectedTensor& tensor,
                                      const IndexProjection& declared, std::span<const int64_t> index) {
    const Syntax& ipf = *tensor.spec->ipf;
    if (std::ranges::find(index, 0) != index.end()) return std::nullopt;
    if (std::ranges::find(ipf.named, "clip", &NamedArgument::name) != ipf.named.end()) return std::nullopt;
    for (size_t row = 0; row < tensor.extents.size(); ++row) {
        if (declared.whole[row]) continue;
        std::vector<int64_t> first(index.size(), 0), last(index.size(), 0);
        for (size_t axis = 0; axis < index.size(); ++axis)
            (declared.projection[row][axis] < 0 ? first : last)[axis] = index[axis] - 1;
        for (const std::vector<int64_t>& point : {first, last}) {
            const Range box = range_at(declared, row, point, tensor.extents[row]);
            if (box.low >= 0 && box.high <= tensor.extents[row]) continue;
            Diagnostic diagnostic = environment.diagnostic(
                "symbolic.ipf", ipf.place,
                fmt::format("the declared projection of '{}' leaves the tensor: at [{}], dimension {} is {} .. {}",
                            tensor.name, fmt::join(point, ", "), row, static_cast<int64_t>(box.low),
                            static_cast<int64_t>(box.high) - 1));
            diagnostic.expected = fmt::format("inside 0 .. {}", tensor.extents[row] - 1);
            diagnostic.found =
                fmt::format("{} .. {}", static_cast<int64_t>(box.low), static_cast<int64_t>(box.high) - 1);
            diagnostic.reason = "there is no body that says what is outside";
            diagnostic.remedy = "declare what is read inside; if boxes end at the tensor's border, write the structured form with `clip`";
            diagnostic.params.emplace_back("tensor", tensor.name);
            return diagnostic;
        }
    }
    return std::nullopt;
}

// Which tensors of a variadic input one operation of an `each` reads.
Result<std::vector<int64_t>> elements_read(Environment& environment, const BoundInput& input) {
    std::vector<int64_t> elements;
    if (!input.spec->reads) {
        for (size_t i = 0; i < input.tensors.size(); ++i) elements.push_back(static_cast<int64_t>(i));
        return elements;
    }
    auto value = environment.evaluate(*input.spec->reads);
    if (!value) return fail(std::move(value.error()));
    const auto count = static_cast<int64_t>(input.tensors.size());
    const std::vector<Value> list = value->is_list() ? std::vector<Value>(value->list()) : std::vector<Value>{*value};
    for (const Value& element : list) {
        if (element.is_integer() && element.integer() >= 0 && element.integer() < count) {
            elements.push_back(element.integer());
            continue;
        }
        Diagnostic diagnostic =
            environment.diagnostic("symbolic.range", input.spec->reads->place,
                                   fmt::format("tensor {} of {} in '{}'", element.print(), count, input.spec->name));
        diagnostic.expected = fmt::format("0 .. {}", count - 1);
        return fail(std::move(diagnostic));
    }
    return elements;
}

}  // namespace

Result<DeclaredProjections> declared_projections(Environment& environment) {
    DeclaredProjections result;
    IpfEvaluator declarations(environment);
    Diagnostics diagnostics;
    std::vector<int64_t> index;
    for (const BoundAxis& axis : environment.index())
        for (size_t i = 0; i < axis.extents.size(); ++i) {
            bool listed = axis.spread || axis.name.empty();
            std::string name = axis.name.empty() ? fmt::format("axis{}", index.size())
                               : listed          ? fmt::format("{}{}", axis.name, i)
                                                 : axis.name;
            result.projections.index.push_back({std::move(name), axis.extents[i], std::nullopt});
            index.push_back(axis.extents[i].value());
        }
    auto add = [&](const TensorSpec& spec, const BoundTensor& tensor, std::vector<IndexProjection>& to) {
        if (!spec.ipf) {
            to.push_back(projection_by_name(environment, tensor));
            return;
        }
        const ProjectedTensor projected{tensor.name, extents_of(tensor.type), &spec};
        auto declared = declarations.of(projected);
        if (!declared) {
            diagnostics.insert(diagnostics.end(), declared.error().begin(), declared.error().end());
            return;
        }
        if (auto outside = box_outside(environment, projected, *declared, index)) diagnostics.push_back(std::move(*outside));
        to.push_back(std::move(*declared));
    };
    for (size_t position = 0; position < environment.inputs().size(); ++position) {
        const BoundInput& input = environment.inputs()[position];
        auto elements = elements_read(environment, input);
        if (!elements) return fail(std::move(elements.error()));
        for (int64_t element : *elements) {
            result.inputs.push_back({static_cast<int32_t>(position), static_cast<int32_t>(element)});
            add(*input.spec, input.tensors[static_cast<size_t>(element)], result.projections.inputs);
        }
    }
    for (size_t position = 0; position < environment.outputs().size(); ++position) {
        const BoundOutput& output = environment.outputs()[position];
        if (!output.requested) continue;
        auto element = static_cast<size_t>(output.spec->variadic ? environment.each_value() : 0);
        if (element >= output.types.size()) continue;
        result.outputs.push_back({static_cast<int32_t>(position), static_cast<int32_t>(element)});
        add(*output.spec, {output.spec->name, output.types[element], {}, std::nullopt}, result.projections.outputs);
    }
    if (!diagnostics.empty()) return fail(std::move(diagnostics));
    return result;
}

}  // namespace heddle
