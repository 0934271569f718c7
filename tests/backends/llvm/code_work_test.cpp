// Code is made of trees as they come, and only of those that are wanted.
#include "backends/llvm/code_work.h"

#include <gtest/gtest.h>

#include <set>
#include <stdexcept>
#include <thread>

#include "helpers/codes.h"
#include "support/progress.h"

namespace heddle::backends {
namespace {

using Tree = schedules::Tree;

std::shared_ptr<const Tree> tree_of(size_t expressions) {
    auto tree = std::make_shared<Tree>();
    tree->expressions.resize(expressions);
    return tree;
}

// What has been made, and in which order.
struct Record {
    std::mutex mutex;
    std::condition_variable changed;
    std::vector<size_t> made;

    CodeWork::Maker maker() {
        return [this](size_t place, const Tree&) -> Result<std::string> {
            std::lock_guard lock(mutex);
            made.push_back(place);
            changed.notify_all();
            if (place == 7) throw std::runtime_error("seven");
            if (place == 8) return fail(Diagnostic{.code = "backends.internal", .summary = "eight"});
            return std::to_string(place);
        };
    }
    void wait_for(size_t number) {
        std::unique_lock lock(mutex);
        changed.wait(lock, [&] { return made.size() >= number; });
    }
};

struct Started {
    Record record;
    CodeWork work{[this](Gate&) { return record.maker(); }};
    std::vector<std::jthread> threads;

    explicit Started(int number) {
        for (int t = 0; t < number; t++) threads.emplace_back([this] { work.run(); });
    }
    Result<std::vector<std::string>> taken() {
        threads.clear();
        return work.take();
    }
};

TEST(CodeWork, BeginsBeforeAllTreesAreThere) {
    Started started(1);
    started.work.add(tree_of(1));
    started.record.wait_for(1);  // nothing has been closed
    started.work.add(tree_of(1));
    started.record.wait_for(2);
    started.work.add(tree_of(1));
    started.work.close({0, 1, 2});
    EXPECT_EQ(started.taken().value(), (std::vector<std::string>{"0", "1", "2"}));
}

TEST(CodeWork, TakesTheGreatestFirst) {
    Started started(0);
    for (size_t size : {2, 9, 1, 5}) started.work.add(tree_of(size));
    started.work.close({0, 1, 2, 3});
    started.work.run();
    EXPECT_EQ(started.record.made, (std::vector<size_t>{1, 3, 0, 2}));
}

TEST(CodeWork, MakesOnlyWhatIsWanted) {
    Started started(0);
    for (int i = 0; i < 9; i++) started.work.add(tree_of(1));
    started.work.close({5, 2});
    started.work.run();
    EXPECT_EQ(started.taken().value(), (std::vector<std::string>{"5", "2"}));
    EXPECT_EQ(started.record.made.size(), 2u);
}

// A kernel of a plan that came to nothing is no fault of the next one's.
TEST(CodeWork, TellsFaultsOfWhatIsWantedAlone) {
    for (const bool fault : {false, true}) {
        Started started(2);
        for (int i = 0; i < 9; i++) started.work.add(tree_of(1));
        started.record.wait_for(9);
        started.work.close(fault ? std::vector<size_t>{0, 8} : std::vector<size_t>{0});
        EXPECT_EQ(code_of(started.taken()), fault ? "backends.internal" : "ok");
    }
    Started started(2);
    for (int i = 0; i < 8; i++) started.work.add(tree_of(1));
    started.work.close({7});
    started.threads.clear();
    EXPECT_THROW((void)started.work.take(), std::runtime_error);
}

TEST(CodeWork, IsGivenUp) {
    Started started(2);
    for (int i = 0; i < 5; i++) started.work.add(tree_of(1));
    started.work.give_up();
    EXPECT_EQ(code_of(started.taken()), "support.cancelled");
}

TEST(CodeWork, TellsWhatIsMadeAndAsksWhetherToGoOn) {
    struct Counted : Progress {
        int64_t most = 0;
        void told(const State& state) override { most = std::max(most, state.done); }
    } progress;
    Started started(2);
    for (int i = 0; i < 6; i++) started.work.add(tree_of(1));
    started.work.close({0, 1, 2, 3});
    progress.begin(Stage::code, 4);
    started.work.wait(progress);
    EXPECT_EQ(progress.most, 4);
    EXPECT_EQ(started.taken()->size(), 4u);

    Started cancelled(0);
    cancelled.work.add(tree_of(1));
    cancelled.work.close({0});
    progress.cancel();
    cancelled.work.wait(progress);  // nobody makes it, and nobody waits for it
    EXPECT_FALSE(cancelled.work.is_wanted());
}

}  // namespace
}  // namespace heddle::backends
