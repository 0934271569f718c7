#include "backends/llvm/image.h"

#include <llvm/BinaryFormat/ELF.h>
#include <llvm/Object/ELF.h>
#include <llvm/Support/Error.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <optional>
#include <vector>

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

using ObjectFile = llvm::object::ELFFile<llvm::object::ELF64LE>;
using Section = ObjectFile::Elf_Shdr;
using Symbol = ObjectFile::Elf_Sym;
using Relocation = ObjectFile::Elf_Rela;

llvm::Error error(const char* text) { return llvm::createStringError(llvm::inconvertibleErrorCode(), text); }

// An object file's sections one behind another, and references between them.
class Layout {
public:
    // Errors are LLVM's, or say what an object has that no kernel may have.
    llvm::Error place(const ObjectFile& object) {
        auto sections = object.sections();
        if (!sections) return sections.takeError();
        for (const Section& section : *sections) {
            begins_.emplace_back();
            if ((section.sh_flags & llvm::ELF::SHF_ALLOC) == 0 || section.sh_size == 0) continue;
            if ((section.sh_flags & llvm::ELF::SHF_WRITE) != 0) return error("it has data of its own");
            if (section.sh_addralign > alignment) return error("it asks for too large an alignment");
            auto contents = object.getSectionContents(section);
            if (!contents) return contents.takeError();
            const uint64_t step = std::max<uint64_t>(1, section.sh_addralign);
            code_.resize((code_.size() + step - 1) / step * step);
            begins_.back() = code_.size();
            code_.append(reinterpret_cast<const char*>(contents->data()), contents->size());
        }
        return llvm::Error::success();
    }

    llvm::Error resolve(const ObjectFile& object) {
        auto sections = object.sections();
        if (!sections) return sections.takeError();
        for (const Section& section : *sections) {
            if (section.sh_type != llvm::ELF::SHT_RELA || !begin_of(section.sh_info)) continue;
            auto symbols = object.getSection(section.sh_link);
            if (!symbols) return symbols.takeError();
            auto relocations = object.relas(section);
            if (!relocations) return relocations.takeError();
            for (const Relocation& relocation : *relocations) {
                auto symbol = object.getRelocationSymbol(relocation, *symbols);
                if (!symbol) return symbol.takeError();
                if (auto problem = resolve(*begin_of(section.sh_info) + relocation.r_offset, relocation, *symbol))
                    return problem;
            }
        }
        return llvm::Error::success();
    }

    // Where a symbol stands in the code.
    llvm::Expected<uint64_t> place_of(const Symbol* symbol) const {
        const auto begin = symbol ? begin_of(symbol->st_shndx) : std::nullopt;
        if (!begin) return error("it refers to what is not in it");
        return *begin + symbol->st_value;
    }

    const std::string& code() const { return code_; }

private:
    std::optional<uint64_t> begin_of(uint64_t section) const {
        return section < begins_.size() ? begins_[section] : std::nullopt;
    }

    llvm::Error resolve(uint64_t place, const Relocation& relocation, const Symbol* symbol) {
        const uint32_t type = relocation.getType(false);
        if (type != llvm::ELF::R_X86_64_PC32 && type != llvm::ELF::R_X86_64_PLT32)
            return error("it refers to an absolute address");
        auto target = place_of(symbol);
        if (!target) return target.takeError();
        const auto distance = static_cast<int64_t>(*target + relocation.r_addend - place);
        if (distance != static_cast<int32_t>(distance) || place + sizeof(int32_t) > code_.size())
            return error("it refers too far");
        const auto value = static_cast<int32_t>(distance);
        std::memcpy(code_.data() + place, &value, sizeof value);
        return llvm::Error::success();
    }

    std::vector<std::optional<uint64_t>> begins_;  // by section: in the code; nothing if it is not part of it
    std::string code_;
};

// The function's symbol; null: there is none.
llvm::Expected<const Symbol*> symbol_of(const ObjectFile& object, const std::string& function) {
    auto sections = object.sections();
    if (!sections) return sections.takeError();
    for (const Section& section : *sections) {
        if (section.sh_type != llvm::ELF::SHT_SYMTAB) continue;
        auto names = object.getStringTableForSymtab(section);
        if (!names) return names.takeError();
        auto symbols = object.symbols(&section);
        if (!symbols) return symbols.takeError();
        for (const Symbol& symbol : *symbols) {
            auto name = symbol.getName(*names);
            if (!name) return name.takeError();
            if (*name == function && symbol.getType() == llvm::ELF::STT_FUNC) return &symbol;
        }
    }
    return nullptr;
}

llvm::Expected<std::string> make_image(std::string_view text, const std::string& function) {
    auto object = ObjectFile::create(llvm::StringRef(text.data(), text.size()));
    if (!object) return object.takeError();
    Layout layout;
    if (auto problem = layout.place(*object)) return problem;
    if (auto problem = layout.resolve(*object)) return problem;
    auto symbol = symbol_of(*object, function);
    if (!symbol) return symbol.takeError();
    if (!*symbol) return llvm::createStringError(llvm::inconvertibleErrorCode(), "it has no function " + function);
    auto entry = layout.place_of(*symbol);
    if (!entry) return entry.takeError();
    const ImageHeader header{.bytes = layout.code().size(), .entry = *entry};
    return std::string(reinterpret_cast<const char*>(&header), sizeof header) + layout.code();
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
