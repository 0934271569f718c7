#include "language/fragment.h"

#include <algorithm>

namespace heddle {

size_t Fragment::source_offset(size_t text_offset) const {
    auto after = std::upper_bound(segments.begin(), segments.end(), text_offset,
                                  [](size_t offset, const Segment& segment) { return offset < segment.text_offset; });
    if (after == segments.begin()) return text_offset;
    const Segment& segment = *(after - 1);
    size_t offset = segment.source_offset + (text_offset - segment.text_offset);
    return source ? std::min(offset, source->text().size()) : offset;
}

Place Fragment::place(size_t text_offset, size_t length) const {
    size_t begin = source_offset(text_offset);
    size_t end = length == 0 ? begin : source_offset(text_offset + length - 1) + 1;
    return Place{source, begin, end > begin ? end - begin : 0};
}

Fragment fragment_of(std::shared_ptr<const SourceText> source) {
    Fragment fragment;
    fragment.text = std::string(source->text());
    fragment.segments.push_back({0, 0});
    fragment.source = std::move(source);
    return fragment;
}

void DiagnosticSink::add(Complaint complaint) {
    if (full()) return;
    Diagnostic diagnostic;
    diagnostic.code = std::move(complaint.code);
    diagnostic.summary = std::move(complaint.summary);
    diagnostic.place = std::move(complaint.place);
    diagnostic.expected = std::move(complaint.expected);
    diagnostic.found = std::move(complaint.found);
    diagnostic.reason = std::move(complaint.reason);
    diagnostic.remedy = std::move(complaint.remedy);
    diagnostic.contexts = std::move(complaint.contexts);
    append(std::move(diagnostic));
}

void DiagnosticSink::append(Diagnostic diagnostic) {
    if (full()) return;
    for (const Diagnostic& other : list_) {
        if (other.place.offset == diagnostic.place.offset && other.place.source == diagnostic.place.source &&
            other.code == diagnostic.code && other.summary == diagnostic.summary) {
            return;
        }
    }
    list_.push_back(std::move(diagnostic));
}

}  // namespace heddle
