#include <algorithm>

#include "language/checks.h"

namespace heddle {
namespace {

// Depth first with an explicit stack: a chain of names may be as long as the file.
class CycleFinder {
public:
    using Uses = std::map<std::string, std::vector<std::string>>;
    using Report = std::function<void(const std::vector<std::string>&)>;
    CycleFinder(const Uses& uses, const Report& report) : uses_(uses), report_(report) {}

    void visit(const std::string& start) {
        if (state_[start] != State::fresh) return;
        push(start);
        while (!path_.empty()) {
            Step& step = path_.back();
            auto found = uses_.find(step.name);
            if (found == uses_.end() || step.next == found->second.size()) {
                state_[step.name] = State::done;
                path_.pop_back();
                continue;
            }
            const std::string& next = found->second[step.next++];
            State state = state_[next];
            if (state == State::fresh) {
                push(next);
            } else if (state == State::open) {
                report_(cycle_from(next));
            }
        }
    }

private:
    enum class State { fresh, open, done };
    struct Step {
        std::string name;
        size_t next = 0;
    };

    void push(const std::string& name) {
        state_[name] = State::open;
        path_.push_back({name, 0});
    }
    std::vector<std::string> cycle_from(const std::string& name) const {
        std::vector<std::string> cycle;
        auto first = std::find_if(path_.begin(), path_.end(), [&](const Step& step) { return step.name == name; });
        for (; first != path_.end(); ++first) cycle.push_back(first->name);
        return cycle;
    }

    const Uses& uses_;
    const Report& report_;
    std::map<std::string, State> state_;
    std::vector<Step> path_;
};

}  // namespace

void find_cycles(const std::vector<std::string>& order, const std::map<std::string, std::vector<std::string>>& uses,
                 const std::function<void(const std::vector<std::string>&)>& report) {
    CycleFinder finder(uses, report);
    for (const std::string& name : order) finder.visit(name);
}

}  // namespace heddle
