#include "random/shrink.h"

#include <algorithm>
#include <cctype>
#include <set>

namespace heddle::random {
namespace {

using Made = std::vector<uint32_t>;

class Shrinking {
public:
    Shrinking(Made choices, const Outcome& outcome, int attempts, const Limits& limits, Library& library)
        : best_(std::move(choices)),
          signature_(outcome.signature()),
          left_(attempts),
          limits_(limits),
          library_(library) {
        Choices replay(best_);
        result_ = {random_program(replay), outcome, 0};
        best_ = replay.made();
    }

    // By choices, then by parts of the text that they made: each finds what the other cannot.
    Shrunk run() {
        const int attempts = left_;
        left_ = attempts / 2;
        for (bool better = true; better && left_ > 0;) {
            better = without_parts();
            better = with_smaller_choices() || better;
        }
        left_ += attempts - attempts / 2;
        for (bool better = true; better && left_ > 0;) {
            better = with_fewer_outputs();
            better = with_fewer_calls() || better;
            better = with_fewer_lines() || better;
            better = with_shorter_expressions() || better;
        }
        return result_;
    }

private:
    bool without_parts() {
        bool better = false;
        for (size_t length = std::max<size_t>(1, best_.size() / 2); length > 0 && left_ > 0; length /= 2) {
            for (size_t end = best_.size(); end >= length && left_ > 0;) {
                Made made = best_;
                made.erase(made.begin() + static_cast<int64_t>(end - length), made.begin() + static_cast<int64_t>(end));
                if (attempt(std::move(made))) {
                    better = true;
                    end = std::min(end, best_.size());
                } else {
                    end -= std::min(end, length);
                }
            }
        }
        return better;
    }
    bool with_smaller_choices() {
        bool better = false;
        for (size_t i = 0; i < best_.size() && left_ > 0; i++) {
            for (uint32_t to : {0u, best_[i] / 2, best_[i] - 1}) {
                if (i >= best_.size() || best_[i] == 0 || to >= best_[i]) continue;
                Made made = best_;
                made[i] = to;
                better = attempt(std::move(made)) || better;
            }
        }
        return better;
    }

    // Whether these choices make a smaller program with the same finding.
    bool attempt(Made choices) {
        Choices replay(std::move(choices));
        Program program = random_program(replay);
        const Made& made = replay.made();
        const bool smaller = made.size() < best_.size() || (made.size() == best_.size() && made < best_);
        if (!smaller || !attempt(program)) return false;
        best_ = made;
        return true;
    }

    // --- Parts of the program ---

    bool with_fewer_outputs() {
        bool better = false;
        for (size_t i = 0; i < result_.program.outputs.size() && result_.program.outputs.size() > 1; i++) {
            Program one = result_.program;
            one.outputs = {one.outputs[i]};
            if (attempt(without_unused(one))) return true;
        }
        for (size_t i = result_.program.outputs.size(); i-- > 0 && result_.program.outputs.size() > 1;) {
            Program fewer = result_.program;
            fewer.outputs.erase(fewer.outputs.begin() + static_cast<int64_t>(i));
            better = attempt(without_unused(fewer)) || better;
        }
        return better;
    }
    // Inputs for the results of a call.
    bool with_fewer_calls() {
        bool better = false;
        for (size_t i = 0; i < result_.program.calls.size();) {
            Program fewer = result_.program;
            const Call call = fewer.calls[i];
            fewer.calls.erase(fewer.calls.begin() + static_cast<int64_t>(i));
            for (size_t r = 0; r < call.types.size(); r++)
                fewer.inputs.push_back({call.results[r], call.types[r], Input::Values::whole, 0});
            if (call.types.size() == call.results.size() && attempt(without_unused(fewer))) {
                better = true;
            } else {
                i++;
            }
        }
        for (bool Program::* part : {&Program::adjoint, &Program::tangent, &Program::batched, &Program::unfused}) {
            Program without = result_.program;
            without.*part = false;
            better = (result_.program.*part && attempt(without)) || better;
        }
        return better;
    }
    // With one of the parts of a template's text (begin and length) replaced; the last is tried first.
    template <typename Parts>
    bool with_changed_text(const Parts& parts, const std::string& by) {
        bool better = false;
        for (size_t t = 0; t < result_.program.templates.size(); t++) {
            const std::vector<std::pair<size_t, size_t>> all = parts(result_.program.templates[t].text);
            for (size_t i = all.size(); i-- > 0 && left_ > 0;) {
                Program changed = result_.program;
                std::string& text = changed.templates[t].text;
                if (all[i].first + all[i].second > text.size()) continue;
                text.replace(all[i].first, all[i].second, by);
                better = attempt(changed) || better;
            }
        }
        return better;
    }
    static size_t begin_of_body(const std::string& text) { return text.find("  body: |\n") + 10; }
    bool with_fewer_lines() {
        return with_changed_text(
            [](const std::string& text) {
                std::vector<std::pair<size_t, size_t>> lines;
                for (size_t at = begin_of_body(text); at < text.size();) {
                    const size_t end = text.find('\n', at) + 1;
                    lines.emplace_back(at, end - at);
                    at = end;
                }
                return lines;
            },
            "");
    }
    // What stands in parentheses, with the name of a function before it.
    bool with_shorter_expressions() {
        return with_changed_text(
            [](const std::string& text) {
                std::vector<std::pair<size_t, size_t>> spans;
                std::vector<size_t> open;
                for (size_t at = begin_of_body(text); at < text.size(); at++) {
                    if (text[at] == '(') open.push_back(at);
                    if (text[at] != ')' || open.empty()) continue;
                    size_t begin = open.back();
                    open.pop_back();
                    while (std::isalnum(static_cast<unsigned char>(text[begin - 1]))) begin--;
                    spans.emplace_back(begin, at + 1 - begin);
                }
                // The last is tried first: the shortest of those that hold one another come last.
                std::ranges::stable_sort(spans, {}, [](const auto& span) { return span.second; });
                return spans;
            },
            "1");
    }

    // Whether this program shows the same finding; then it is the best.
    bool attempt(const Program& program) {
        if (left_ <= 0 || !tried_.insert(print(program)).second) return false;
        left_--;
        result_.attempts++;
        bool same = false;
        run_isolated(
            1, 1, limits_, library_, [&](size_t) { return program; },
            [&](size_t, const Outcome& outcome) {
                same = outcome.signature() == signature_;
                if (same) result_.outcome = outcome;
            });
        if (same) result_.program = program;
        return same;
    }

    Made best_;
    std::string signature_;
    int left_;
    Limits limits_;
    Library& library_;
    std::set<std::string> tried_;
    Shrunk result_;
};

}  // namespace

Shrunk shrink(std::vector<uint32_t> choices, const Outcome& outcome, int attempts, const Limits& limits,
              Library& library) {
    return Shrinking(std::move(choices), outcome, attempts, limits, library).run();
}

}  // namespace heddle::random
