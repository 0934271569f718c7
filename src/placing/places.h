// The places of a target: where the processes of a program that is cut over several devices run, one on each, and what
// a message from one to another takes (docs/targets.md). Nothing here touches a device.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "placing/devices.h"

namespace heddle::placing {

// Of machines between which no link leads: 10-gigabit Ethernet and a message of TCP. Of devices of one machine it is
// devices.h's assumed_link, over their host.
inline constexpr double assumed_network_bandwidth = 1.25e9;
inline constexpr double assumed_network_latency = 50e-6;
// What a way is chosen by where several lead there: the one that is fastest for so many bytes.
inline constexpr int64_t usual_message_bytes = 1 << 20;

struct Place {
    std::string name;                      // "node3/gpu1", in a machine alone "gpu1": unique
    std::string machine;                   // "node3"; empty: there is one
    std::string device;                    // as its machine names it
    std::shared_ptr<const Target> target;  // the device, with its host where it has one
    int64_t memory_bytes = 0;              // that its tensors may lie in; 0: not known
};

// What a message takes from one place to another. Bytes stream through what is on the way: the narrowest link is the
// bandwidth, and latencies add up. (A copy of placement.h waits at each memory for the whole tensor.)
struct PlaceLink {
    double bandwidth = 0, latency = 0;  // bytes a second, seconds
    bool is_said = false;               // by the target's links; else the figures are those assumed above
    double seconds(int64_t bytes) const { return latency + static_cast<double>(bytes) / bandwidth; }
};

// Places that are alike: a device of an entry of a cluster, in each of the entry's machines.
struct PlaceGroup {
    std::string entry;  // of the cluster; empty: the target is no cluster
    std::string device;
    std::shared_ptr<const Target> target;
    int64_t memory_bytes = 0;
    int machines = 1;
};

class Places {
public:
    size_t size() const { return size_; }
    // In the order of entries by name, then of machines, then of devices by kind, id and name: the number is what a
    // process has that is started once on each, machine by machine.
    Place at(size_t place) const;
    // Of a place to itself: no time at all.
    PlaceLink link(size_t from, size_t to) const;
    // The names of devices on the way, both ends included: "node0/gpu0", "node0/gpu1", "node1/gpu1". Empty: it is not
    // said. Names are those of the first machines that are so linked.
    std::vector<std::string> way(size_t from, size_t to) const;

    // Of places that are alike, all links are: what is said of many places is short.
    const std::vector<PlaceGroup>& groups() const { return groups_; }
    struct LinkClass {
        size_t from = 0, to = 0;  // places that are so linked
        int64_t pairs = 0;        // how many there are, each direction one
        PlaceLink link;
    };
    // Fastest first, those that have the same figures together. Of all pairs of different places.
    std::vector<LinkClass> link_classes() const;

private:
    friend class PlacesBuilder;

    struct Entry {
        ClusterMachine machine;  // without its target; no name: the target is no cluster
        size_t first_place = 0, first_group = 0, groups = 0;
    };
    // Where a place is: in which machine of which entry, and of which group.
    struct Seat {
        size_t entry = 0, group = 0;
        int machine = 0;
        bool is_beside(const Seat& other) const { return entry == other.entry && machine == other.machine; }
    };
    struct Way {
        PlaceLink link;
        std::vector<MemoryId> memories;  // of `system_`, both ends included; none where it is assumed
    };
    // Two groups, in one machine or in two.
    const Way& between(size_t from, size_t to, bool beside) const;
    Seat seat(size_t place) const;
    size_t place_of(size_t entry, size_t group, int machine) const;

    size_t size_ = 0;
    std::vector<Entry> entries_;
    std::vector<PlaceGroup> groups_;
    std::vector<size_t> group_entries_;
    // A few machines of each entry stand for all: what is between any two is between two of these.
    System system_;
    std::vector<std::vector<MemoryId>> memories_;  // by group, by machine of those
    std::vector<Way> within_, across_;             // by groups, row by row
};

// Of a target of any level: the devices of a machine, of each machine of a cluster, whatever its entry's count; but
// those that launch others' kernels, and libraries, which have no memory of their own. With a `kind` the devices of this
// kind, whatever they launch. Two targets of one device are one place, by the first one's. Fewer processes than places
// take the first ones. Codes: placing.places (there is no such device), placing.locations (too many kinds of
// machines to find the ways between), those of system_of.
Result<Places> places_of(const Target& target, const std::string& kind = {});

}  // namespace heddle::placing
