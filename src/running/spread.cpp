#include "running/spread.h"

#include <cstring>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cache/hash.h"
#include "sharding/pieces.h"
#include "transport/agree.h"

namespace heddle::running {
namespace {

using inference::SpreadTensor;
using sharding::PlaceId;

// The elements of the box, from memory that holds `from` to memory that holds `to`; both hold the box.
void copy_box(const Box& box, size_t bytes, const std::byte* source, const Box& from, std::byte* target, const Box& to,
              size_t dimension = 0) {
    if (dimension == box.rank()) {
        std::memcpy(target, source, bytes);
        return;
    }
    size_t source_step = bytes, target_step = bytes;
    bool is_row = true;  // one behind the other in both
    for (size_t d = dimension + 1; d < box.rank(); d++) {
        is_row = is_row && from.extent(d) == box.extent(d) && to.extent(d) == box.extent(d);
        source_step *= static_cast<size_t>(from.extent(d).value());
        target_step *= static_cast<size_t>(to.extent(d).value());
    }
    const auto count = static_cast<size_t>(box.extent(dimension).value());
    source += static_cast<size_t>(box.start[dimension] - from.start[dimension]) * source_step;
    target += static_cast<size_t>(box.start[dimension] - to.start[dimension]) * target_step;
    if (is_row) {
        std::memcpy(target, source, count * source_step);
        return;
    }
    for (size_t i = 0; i < count; i++)
        copy_box(box, bytes, source + i * source_step, from, target + i * target_step, to, dimension + 1);
}

Box whole_of(const TensorData& tensor) { return Box::whole({tensor.shape().begin(), tensor.shape().end()}); }

// A box of a tensor that is itself the box `holds`.
TensorData box_within(const TensorData& tensor, const Box& holds, const Box& box) {
    if (holds == box) return tensor;
    const Corner shape = box.shape();
    TensorData part(tensor.dtype(), {shape.begin(), shape.end()});
    if (part.size() > 0)
        copy_box(box, static_cast<size_t>(bytes(tensor.dtype())), tensor.data(), holds, part.mutable_data(), box);
    return part;
}

std::string digest_of(const SpreadTensor& tensor) {
    std::string text = fmt::format("{} {}[{}]", tensor.name, name(tensor.dtype), fmt::join(tensor.shape, ", "));
    for (const SpreadTensor::Part& part : tensor.parts)
        text += fmt::format(" {}{}", part.place, heddle::text(part.box));
    return "to be gathered " + cache::digest(text);  // of another length than what runs send
}

// Pieces and boxes of them that make up all of the tensor, at a place; `here`: of those that are in this process.
std::vector<std::pair<size_t, Box>> sources_at(const SpreadTensor& tensor, int32_t place, bool here = false) {
    sharding::Pieces pieces;
    const TensorId only(0);
    for (size_t i = 0; i < tensor.parts.size(); i++)
        if (!here || tensor.parts[i].here.data())
            pieces.add(only,
                       {tensor.parts[i].box, PlaceId(tensor.parts[i].place), TensorId(i), tensor.parts[i].box.start});
    std::vector<std::pair<size_t, Box>> sources;
    const Box whole = Box::whole({tensor.shape.begin(), tensor.shape.end()});
    if (whole.is_empty()) return sources;
    for (const auto& [piece, box] : pieces.sources(only, whole, PlaceId(place)))
        sources.emplace_back(static_cast<size_t>(piece.own.number()), box);
    return sources;
}

class Gathering {
public:
    explicit Gathering(const SpreadTensor& tensor) : tensor_(tensor), whole_(tensor.dtype, tensor.shape) {}

    Result<void> exchange(transport::Transport& transport) {
        const std::string digest = digest_of(tensor_);
        if (auto same = transport::agree(transport, "array to gather", std::as_bytes(std::span(digest))); !same)
            return same;
        for (int32_t to = 0; to < transport.size(); to++) {
            if (to == transport.rank()) continue;
            std::vector<TensorData>& sent = parts_[to];
            for (const auto& [part, box] : sources_at(tensor_, to))
                if (tensor_.parts[part].place == transport.rank()) sent.push_back(held(part, box));
            if (sent.empty()) continue;
            if (auto done = transport.send(to, memory_of(sent)); !done) return done;
        }
        if (auto done = receive(transport); !done) return done;
        return transport.finish();
    }

    TensorData whole(int32_t place, bool here) {
        for (const auto& [part, box] : sources_at(tensor_, place, here))
            if (tensor_.parts[part].here.data()) put(held(part, box), box);
        return std::move(whole_);
    }

private:
    TensorData held(size_t part, const Box& box) const {
        return box_within(tensor_.parts[part].here, tensor_.parts[part].box, box);
    }

    Result<void> receive(transport::Transport& transport) {
        std::map<int32_t, std::vector<std::pair<TensorData, Box>>> awaited;
        for (const auto& [part, box] : sources_at(tensor_, transport.rank())) {
            const Corner shape = box.shape();
            const int32_t from = tensor_.parts[part].place;
            if (from != transport.rank())
                awaited[from].emplace_back(TensorData(tensor_.dtype, {shape.begin(), shape.end()}), box);
        }
        for (auto& [from, parts] : awaited) {
            std::vector<TensorData> tensors;
            for (auto& [tensor, box] : parts) tensors.push_back(tensor);
            if (auto placed = transport.expect(from, memory_of(tensors)); !placed) return placed;
        }
        for (auto& [from, parts] : awaited) {
            if (auto there = transport.await(from); !there) return there;
            for (auto& [tensor, box] : parts) put(tensor, box);
        }
        return {};
    }

    const std::vector<std::span<std::byte>>& memory_of(const std::vector<TensorData>& tensors) {
        memory_.clear();
        for (const TensorData& tensor : tensors)  // what is sent is only read
            memory_.emplace_back(const_cast<std::byte*>(tensor.data()), static_cast<size_t>(tensor.byte_size()));
        return memory_;
    }

    void put(const TensorData& part, const Box& box) {
        copy_box(box, static_cast<size_t>(bytes(tensor_.dtype)), part.data(), box, whole_.mutable_data(),
                 whole_of(whole_));
    }

    const SpreadTensor& tensor_;
    TensorData whole_;
    std::map<int32_t, std::vector<TensorData>> parts_;  // as long as they are sent
    std::vector<std::span<std::byte>> memory_;
};

}  // namespace

TensorData box_of(const TensorData& tensor, const Box& box) { return box_within(tensor, whole_of(tensor), box); }

Result<TensorData> gathered(const SpreadTensor& tensor, transport::Transport* transport) {
    Gathering gathering(tensor);
    if (!transport) return gathering.whole(0, true);
    if (auto done = gathering.exchange(*transport); !done) {
        Diagnostics problems = std::move(done.error());
        problems.push_back(
            {.code = "running.gather",
             .summary = fmt::format("'{}' was being gathered from {} processes", tensor.name, transport->size()),
             .expected = "all of them gather it, at the same point",
             .remedy = "call gather() in all processes, not in one alone",
             .params = {{"tensor", tensor.name}}});
        transport->fail(problems);
        return fail(std::move(problems));
    }
    return gathering.whole(transport->rank(), false);
}

}  // namespace heddle::running
