#include "codegen/backend.h"

#include "schedules/tree.h"

namespace heddle::codegen {
namespace {

class WorkAtLast : public KernelWork {
public:
    WorkAtLast(Backend& backend, const Target& target, int threads)
        : backend_(backend), target_(target), threads_(threads) {}

    void add(std::shared_ptr<const Tree> tree) override { trees_.push_back(std::move(tree)); }

    Result<std::vector<std::string>> take(const std::vector<size_t>& wanted, Progress* progress) override {
        std::vector<const Tree*> trees;
        for (size_t place : wanted) trees.push_back(trees_[place].get());
        auto owner = std::make_shared<std::vector<std::shared_ptr<const Tree>>>(trees_);
        return backend_.objects(trees, target_, threads_, progress, std::move(owner));
    }

private:
    Backend& backend_;
    const Target target_;
    const int threads_;
    std::vector<std::shared_ptr<const Tree>> trees_;
};

}  // namespace

std::unique_ptr<KernelWork> Backend::begin(const Target& target, int threads) {
    return std::make_unique<WorkAtLast>(*this, target, threads);
}

}  // namespace heddle::codegen
