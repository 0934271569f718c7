// What fits together in a machine and in a cluster.
#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "target/canonical.h"
#include "target/facts.h"
#include "target/hosts.h"
#include "target/read_target.h"
#include "target/write_target.h"

namespace heddle {
namespace {

class Check {
public:
    Check(Target& target, const std::string& path) : target_(target), path_(path) {}

    Diagnostics problems;

    void machine() {
        names(target_.devices, "devices");
        for (SystemDevice& device : target_.devices) level(device);
        if (!problems.empty()) return;
        for (SystemDevice& device : target_.devices) host(device);
        for (size_t i = 0; i < target_.devices.size(); i++) {
            for (size_t j = 0; j < i; j++) same(target_.devices[j], target_.devices[i]);
            names(target_.devices[i].scopes, "scopes");
        }
        for (size_t i = 0; i < target_.links.size(); i++) link(i);
    }

    void cluster() {
        counts();
        if (!problems.empty()) return;
        for (const ClusterMachine& machine : target_.machines) {
            if (!machine.target) problem("target.system", "machines." + machine.name, "the target is missing");
            if (!machine.target || machine.target->level() != TargetLevel::cluster) continue;
            problem("target.level", "machines." + machine.name, "a cluster is not part of another one");
        }
        for (size_t i = 0; i < target_.links.size(); i++) link(i);
    }

private:
    void problem(const char* code, const std::string& where, const std::string& summary,
                 const std::string& nearest = {}) {
        const std::string path = path_ + "." + where;
        const std::string guess = nearest.empty() ? "" : fmt::format("; the nearest is '{}'", nearest);
        Diagnostic found{.code = code, .summary = path + ": " + summary + guess};
        found.params = {{"path", path}};
        problems.push_back(std::move(found));
    }

    template <typename Entry>
    void names(const std::vector<Entry>& entries, const std::string& where) {
        std::set<std::string> seen;
        for (const Entry& entry : entries) {
            if (!seen.insert(entry.name).second)
                problem("target.system", where, fmt::format("the name '{}' occurs twice", entry.name));
        }
    }

    // So many machines, each with a name of its own.
    void counts() {
        int64_t all = 0;
        for (const ClusterMachine& machine : target_.machines) {
            if (machine.count < 1) problem("target.system", "machines." + machine.name, "there are none of it");
            all += machine.count;
        }
        if (all > most_machines)
            problem("target.limit", "machines", fmt::format("{} machines are more than {}", all, most_machines));
        names(target_.machines, "machines");
        if (!problems.empty()) return;
        std::map<std::string, const ClusterMachine*> several;
        for (const ClusterMachine& machine : target_.machines) {
            if (machine.count > 1) several.emplace(machine.name, &machine);
        }
        for (const ClusterMachine& machine : target_.machines) {
            for (size_t end = machine.name.size(); end > 0 && is_digit(machine.name[end - 1]); end--) {
                const auto other = several.find(machine.name.substr(0, end - 1));
                if (other != several.end()) names_apart(*other->second, machine);
            }
        }
    }

    static bool is_digit(char character) { return character >= '0' && character <= '9'; }

    // `machine` is called as `several` with digits behind it, and so may be some of its own machines: of several ones
    // the first is the first to be.
    void names_apart(const ClusterMachine& several, const ClusterMachine& machine) {
        const std::string name = machine.machine_name(0), digits = name.substr(several.name.size());
        constexpr size_t longest = 9;
        const bool is_number = digits.size() <= longest && (digits[0] != '0' || digits.size() == 1);
        if (is_number && std::stoi(digits) < several.count)
            problem("target.system", "machines", fmt::format("the name '{}' occurs twice", name));
    }

    void level(const SystemDevice& device) {
        if (!device.target) return problem("target.system", "devices." + device.name, "the target is missing");
        if (device.target->level() <= TargetLevel::device_with_host) return;
        problem("target.level", "devices." + device.name + ".target", "a device has no devices of its own");
    }

    std::vector<std::string> device_names() const {
        std::vector<std::string> all;
        for (const SystemDevice& device : target_.devices) all.push_back(device.name);
        return all;
    }

    const SystemDevice* find(const std::string& name) const {
        const auto found = std::ranges::find(target_.devices, name, &SystemDevice::name);
        return found == target_.devices.end() ? nullptr : &*found;
    }

    static bool launches(const SystemDevice& device) {
        const KindFacts* kind = device.target ? find_kind(kind_of(*device.target)) : nullptr;
        return kind && kind->launches;
    }

    std::vector<std::string> host_names() const {
        std::vector<std::string> all;
        for (const SystemDevice& device : target_.devices) {
            if (launches(device)) all.push_back(device.name);
        }
        return all;
    }

    // The one that is named, else the only one of the machine that can be it.
    void host(SystemDevice& device) {
        if (!device.target) return;  // of which the reader has said what is wrong
        const std::string where = "devices." + device.name + ".host";
        const KindFacts* kind = find_kind(kind_of(*device.target));
        if (device.host.empty() && kind && kind->needs_host) {
            const auto hosts = host_names();
            if (hosts.empty())
                return problem("target.system", where, "no device of the machine launches its kernels: add a 'cpu'");
            if (hosts.size() > 1) {
                return problem("target.system", where,
                               fmt::format("it is to name the device that launches its kernels, one of {}",
                                           fmt::join(hosts, ", ")));
            }
            device.host = hosts.front();
        }
        if (device.host.empty() && !device.target->host) return;
        const SystemDevice* host = find(device.host);
        if (device.host.empty())
            return problem("target.system", where, "a device of a machine is hosted by another one");
        if (!host) {
            return problem("target.system", where, fmt::format("there is no device '{}'", device.host),
                           nearest_name(device.host, device_names()));
        }
        if (host == &device || !launches(*host))
            return problem("target.system", where, fmt::format("'{}' launches no kernels of others", device.host));
        if (!device.target->host) return;
        if (!is_same(*device.target->host, *host->target)) {
            return problem("target.host_conflict", where,
                           fmt::format("the device has the host '{}', and in the machine '{}', which is '{}'",
                                       short_text(*device.target->host), device.host, short_text(*host->target)));
        }
        // The machine says it once.
        Target alone = *device.target;
        alone.host = nullptr;
        alone.origins.erase("host");
        device.target = std::make_shared<const Target>(std::move(alone));
    }

    void same(const SystemDevice& a, const SystemDevice& b) {
        if (a.id != b.id || !is_same(*a.target, *b.target)) return;
        problem("target.system", "devices." + b.name, fmt::format("it is '{}' again: the same target and id", a.name));
    }

    // ---- links

    void link(size_t number) {
        const SystemLink& link = target_.links[number];
        const std::string where = fmt::format("links[{}]", number);
        end(link.from, where + ".from");
        end(link.to, where + ".to");
        if (link.from == link.to && !is_several(link.from)) problem("target.system", where, "its ends are one");
    }

    // Whether an end stands for several machines of a cluster.
    bool is_several(const std::string& end) const {
        const std::string name = end.substr(0, end.find('/'));
        const auto machine = std::ranges::find(target_.machines, name, &ClusterMachine::name);
        return machine != target_.machines.end() && machine->count > 1;
    }

    void end(const std::string& text, const std::string& where) {
        if (!target_.machines.empty()) {
            const size_t slash = std::min(text.find('/'), text.size());
            const std::string name = text.substr(0, slash);
            const auto machine = std::ranges::find(target_.machines, name, &ClusterMachine::name);
            if (machine == target_.machines.end()) return no_end(name, where);
            if (slash == text.size() || !machine->target) return;
            const auto& devices = machine->target->devices;
            const std::string device = text.substr(slash + 1);
            if (std::ranges::find(devices, device, &SystemDevice::name) == devices.end())
                problem("target.system", where, fmt::format("the machine '{}' has no device '{}'", name, device));
            return;
        }
        const size_t colon = std::min(text.find(':'), text.size());
        const SystemDevice* device = find(text.substr(0, colon));
        if (!device) return no_end(text.substr(0, colon), where);
        if (colon == text.size()) return;
        const std::string scope = text.substr(colon + 1);
        const auto& scopes = device->scopes;
        const bool own = scopes.empty() && scope == "global";
        if (!own && std::ranges::find(scopes, scope, &MemoryScope::name) == scopes.end())
            problem("target.system", where, fmt::format("the device '{}' has no scope '{}'", device->name, scope));
    }

    void no_end(const std::string& name, const std::string& where) {
        std::vector<std::string> known = device_names();
        for (const ClusterMachine& machine : target_.machines) known.push_back(machine.name);
        problem("target.system", where, fmt::format("there is no '{}'", name), nearest_name(name, known));
    }

    Target& target_;
    const std::string& path_;
};

}  // namespace

Diagnostics check_system(Target& target, const std::string& path) {
    Check check(target, path);
    if (target.level() == TargetLevel::machine) check.machine();
    if (target.level() == TargetLevel::cluster) check.cluster();
    return std::move(check.problems);
}

}  // namespace heddle
