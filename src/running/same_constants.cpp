#include "running/same_constants.h"

#include <map>
#include <set>
#include <span>

#include "cache/hash.h"
#include "placing/constant_reads.h"
#include "transport/agree.h"

namespace heddle::running {
namespace {

using placing::ConstantRead;

// The bytes of the box, in the order in which they lie; no others are touched.
void add(cache::Digest& digest, const ConstantRead& read) {
    const std::vector<int64_t>& shape = read.constant.shape();
    const Box& box = read.box;
    int64_t run = bytes(read.constant.dtype()), runs = 1;
    size_t outer = shape.size();  // dimensions in which runs are apart
    while (outer > 0 && box.extent(outer - 1) == shape[outer - 1]) run *= shape[--outer];
    if (outer > 0) run *= box.extent(--outer);
    for (size_t d = 0; d < outer; d++) runs *= box.extent(d);
    for (Corner at = box.start; runs > 0; runs--) {
        int64_t first = 0;
        for (size_t d = 0; d < shape.size(); d++) first = first * shape[d] + at[d];
        digest.add({read.constant.data() + first * bytes(read.constant.dtype()), static_cast<size_t>(run)},
                   read.constant.lender());
        for (size_t d = outer; d-- > 0 && ++at[d] == box.end[d];) at[d] = box.start[d];
    }
}

// Elements are shared out by who uses them: each belongs to the one set of all its users. A set is *held* by its users; by
// the next process, too, where there is one user. All holders of a set say a digest of all its elements.
//
// So files that differ in a byte that anybody uses are found: the byte belongs to one set, of which its user is a holder, and
// there is another. If a user's byte is not that of all other users, two holders of one set differ in it, and so their
// digests do. Where all are equal, all that use a byte have the same; and one that is used once is what another's file has.
//
// Which is wrong is asked only then: all processes say a digest of the sets that differ, whether they hold them or not, and
// who differs from most is named.
class ConstantComparison {
public:
    ConstantComparison(transport::Transport& transport, std::vector<ConstantRead> reads)
        : transport_(transport), reads_(std::move(reads)) {
        for (const ConstantRead& read : reads_) sets_[read.readers].push_back(&read);
    }

    Result<void> run() {
        std::string own;
        for (const auto& [users, reads] : sets_) {
            cache::Digest digest;
            if (holders(users).contains(transport_.rank()))
                for (const ConstantRead* read : reads) add(digest, *read);
            own += digest.text();
        }
        const auto all = transport::exchanged(transport_, std::as_bytes(std::span(own)));
        if (!all) return fail(all.error());
        const auto differing = differing_sets(*all);
        if (differing.empty()) return {};
        cache::Digest digest;
        for (const auto* reads : differing)
            for (const ConstantRead* read : *reads) add(digest, *read);
        const std::string text = digest.text();
        return transport::agree(transport_, "set of weights", std::as_bytes(std::span(text)));
    }

private:
    using Users = std::set<int32_t>;
    using Reads = std::vector<const ConstantRead*>;

    Users holders(const Users& users) const {
        Users holders = users;
        if (users.size() == 1) holders.insert((*users.begin() + 1) % transport_.size());
        return holders;
    }

    std::vector<const Reads*> differing_sets(const std::vector<transport::Bytes>& digests) const {
        std::vector<const Reads*> differing;
        size_t at = 0;
        const size_t length = digests.front().size() / std::max<size_t>(sets_.size(), 1);
        for (const auto& [users, reads] : sets_) {
            std::set<std::vector<std::byte>> said;
            for (int32_t holder : holders(users)) {
                const std::span<const std::byte> own =
                    std::span(digests[static_cast<size_t>(holder)]).subspan(at, length);
                said.emplace(own.begin(), own.end());
            }
            if (said.size() > 1) differing.push_back(&reads);
            at += length;
        }
        return differing;
    }

    transport::Transport& transport_;
    const std::vector<ConstantRead> reads_;
    std::map<Users, Reads> sets_;
};

}  // namespace

Result<void> agree_on_constants(transport::Transport& transport, const std::vector<placing::Module>& processes) {
    return ConstantComparison(transport, placing::constant_reads(processes)).run();
}

}  // namespace heddle::running
