#include "backends/llvm/image.h"

#include <llvm/BinaryFormat/ELF.h>
#include <llvm/Object/ELFObjectFile.h>
#include <llvm/Support/Error.h>

#include <bit>
#include <cerrno>
#include <cstring>
#include <limits>
#include <map>

#include <sys/mman.h>

namespace heddle::backends {
namespace {

constexpr uint64_t image_magic = 0x3165676163694448;
constexpr uint64_t alignment = 64;

// Before the code, which begins at a multiple of the alignment as seen from here.
struct ImageHeader {
    uint64_t magic = image_magic;
    uint64_t bytes = 0;  // of the code
    uint64_t entry = 0;  // of the function, in the code
    uint64_t unused[5] = {};
};
static_assert(sizeof(ImageHeader) == alignment);

uint64_t aligned(uint64_t size) { return (size + alignment - 1) / alignment * alignment; }

std::unexpected<Diagnostics> unusable(std::string found) {
    return fail({.code = "backends.link", .summary = "object code does not link", .found = std::move(found)});
}

// An object file's sections one behind another, and references between them.
class Layout {
public:
    // Errors are LLVM's, or say what an object has that no kernel may have.
    llvm::Error place(const llvm::object::ObjectFile& object) {
        using namespace llvm::ELF;
        for (const llvm::object::ELFSectionRef section : object.sections()) {
            if ((section.getFlags() & SHF_ALLOC) == 0 || section.getSize() == 0) continue;
            if ((section.getFlags() & SHF_WRITE) != 0) return error("it has data of its own");
            if (section.getAlignment().value() > alignment) return error("it asks for too large an alignment");
            auto contents = section.getContents();
            if (!contents) return contents.takeError();
            const uint64_t step = section.getAlignment().value();
            code_.resize((code_.size() + step - 1) / step * step);
            begins_[section.getIndex()] = code_.size();
            code_.append(contents->data(), contents->size());
        }
        return llvm::Error::success();
    }

    llvm::Error resolve(const llvm::object::ObjectFile& object) {
        for (const llvm::object::SectionRef relocations : object.sections()) {
            auto section = relocations.getRelocatedSection();
            if (!section) return section.takeError();
            if (*section == object.section_end() || !begins_.contains((*section)->getIndex())) continue;
            const uint64_t begin = begins_.at((*section)->getIndex());
            for (const llvm::object::RelocationRef relocation : relocations.relocations()) {
                if (auto problem = resolve(begin + relocation.getOffset(), relocation)) return problem;
            }
        }
        return llvm::Error::success();
    }

    // Where a symbol stands in the code.
    llvm::Expected<uint64_t> place_of(const llvm::object::SymbolRef& symbol) const {
        auto section = symbol.getSection();
        if (!section) return section.takeError();
        auto value = symbol.getValue();
        if (!value) return value.takeError();
        if (*section == symbol.getObject()->section_end() || !begins_.contains((*section)->getIndex()))
            return error("it refers to what is not in it");
        return begins_.at((*section)->getIndex()) + *value;
    }

    const std::string& code() const { return code_; }

private:
    static llvm::Error error(const char* text) { return llvm::createStringError(llvm::inconvertibleErrorCode(), text); }

    llvm::Error resolve(uint64_t place, const llvm::object::RelocationRef& relocation) {
        if (relocation.getType() != llvm::ELF::R_X86_64_PC32 && relocation.getType() != llvm::ELF::R_X86_64_PLT32)
            return error("it refers to an absolute address");
        auto target = place_of(*relocation.getSymbol());
        if (!target) return target.takeError();
        auto addend = llvm::object::ELFRelocationRef(relocation).getAddend();
        if (!addend) return addend.takeError();
        const auto distance = static_cast<int64_t>(*target) + *addend - static_cast<int64_t>(place);
        if (distance != static_cast<int32_t>(distance) || place + sizeof(int32_t) > code_.size())
            return error("it refers too far");
        const auto value = static_cast<int32_t>(distance);
        std::memcpy(code_.data() + place, &value, sizeof value);
        return llvm::Error::success();
    }

    std::map<uint64_t, uint64_t> begins_;  // by section
    std::string code_;
};

llvm::Expected<std::string> make_image(std::string_view text, const std::string& function) {
    const llvm::MemoryBufferRef buffer(llvm::StringRef(text.data(), text.size()), "kernel");
    auto object = llvm::object::ObjectFile::createELFObjectFile(buffer);
    if (!object) return object.takeError();
    Layout layout;
    if (auto problem = layout.place(**object)) return problem;
    if (auto problem = layout.resolve(**object)) return problem;
    for (const llvm::object::SymbolRef symbol : (*object)->symbols()) {
        auto name = symbol.getName();
        if (!name) return name.takeError();
        auto type = symbol.getType();
        if (!type) return type.takeError();
        if (*name != function || *type != llvm::object::SymbolRef::ST_Function) continue;
        auto entry = layout.place_of(symbol);
        if (!entry) return entry.takeError();
        ImageHeader header{.bytes = layout.code().size(), .entry = *entry};
        return std::string(reinterpret_cast<const char*>(&header), sizeof header) + layout.code();
    }
    return llvm::createStringError(llvm::inconvertibleErrorCode(), "it has no function " + function);
}

class LoadedImages : public codegen::CompiledKernels {
public:
    LoadedImages(std::shared_ptr<std::byte> memory, std::vector<uint64_t> entries)
        : memory_(std::move(memory)), entries_(std::move(entries)) {}
    codegen::KernelFunction function(size_t index) const override {
        return reinterpret_cast<codegen::KernelFunction>(memory_.get() + entries_[index]);
    }

private:
    std::shared_ptr<std::byte> memory_;
    std::vector<uint64_t> entries_;
};

bool is_image(std::string_view image) {
    ImageHeader header;
    if (image.size() < sizeof header) return false;
    std::memcpy(&header, image.data(), sizeof header);
    return header.magic == image_magic && header.bytes == image.size() - sizeof header && header.entry < header.bytes;
}

}  // namespace

Result<std::string> image_of(std::string_view object, const std::string& function) {
    auto image = make_image(object, function);
    if (!image) return unusable(llvm::toString(image.takeError()));
    return std::move(*image);
}

Result<std::shared_ptr<codegen::CompiledKernels>> load_images(const std::vector<std::string_view>& images) {
    size_t bytes = 0;
    for (std::string_view image : images) {
        if (!is_image(image)) return unusable("what is given is no image of a kernel");
        bytes += aligned(image.size());
    }
    if (bytes == 0) return std::make_shared<LoadedImages>(nullptr, std::vector<uint64_t>());
    void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return unusable(std::strerror(errno));
    std::shared_ptr<std::byte> owner(static_cast<std::byte*>(memory), [bytes](std::byte* p) { ::munmap(p, bytes); });
    std::vector<uint64_t> entries;
    size_t begin = 0;
    for (std::string_view image : images) {
        ImageHeader header;
        std::memcpy(&header, image.data(), sizeof header);
        std::memcpy(owner.get() + begin, image.data(), image.size());
        entries.push_back(begin + sizeof header + header.entry);
        begin += aligned(image.size());
    }
    // Never writable and executable at once.
    if (::mprotect(memory, bytes, PROT_READ | PROT_EXEC) != 0) return unusable(std::strerror(errno));
    return std::make_shared<LoadedImages>(std::move(owner), std::move(entries));
}

}  // namespace heddle::backends
