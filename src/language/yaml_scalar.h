// How a YAML scalar's text maps back to the bytes it was written as.
#pragma once

#include "language/yaml_document.h"

namespace heddle {

// `value` is what YAML made of the scalar that begins at byte `begin` of the source. Sets text, segments, folded,
// quoted and place of `node`.
void locate_scalar(const std::shared_ptr<const SourceText>& source, size_t begin, const std::string& value,
                   YamlNode& node);

}  // namespace heddle
