// A scalar of a YAML file with the way back to the source: each byte of the text knows the byte it was written as.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "support/diagnostic.h"
#include "support/source_text.h"

namespace heddle {

struct Fragment {
    // From `text_offset` on (until the next segment), text byte t stands at source byte source_offset + (t -
    // text_offset).
    struct Segment {
        size_t text_offset = 0;
        size_t source_offset = 0;
    };

    std::shared_ptr<const SourceText> source;
    std::string text;
    std::vector<Segment> segments;  // ascending; the first begins at 0

    size_t source_offset(size_t text_offset) const;
    Place place(size_t text_offset, size_t length) const;
    Place whole() const { return place(0, text.size()); }
};

// The whole of a source as one fragment.
Fragment fragment_of(std::shared_ptr<const SourceText> source);

// A diagnostic as this room writes it: what is not known stays out.
struct Complaint {
    std::string code;
    std::string summary = {};
    Place place = {};
    std::string expected = {};
    std::string found = {};
    std::string reason = {};
    std::string remedy = {};
    std::vector<DiagnosticContext> contexts = {};
};

// Collects the diagnostics of one file: a complaint said twice at one place is kept once, and a file that is wrong all
// over stops being reported after `limit`.
class DiagnosticSink {
public:
    static constexpr size_t limit = 100;
    void add(Complaint complaint);
    void append(Diagnostic diagnostic);
    bool empty() const { return list_.empty(); }
    bool full() const { return list_.size() >= limit; }
    Diagnostics take() { return std::move(list_); }

private:
    Diagnostics list_;
};

}  // namespace heddle
