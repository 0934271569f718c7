// The URLs of the published layout of graph documents.
#pragma once

#include <array>
#include <string>

namespace heddle::interchange::document_names {

inline const std::string schema = "http://tensortapestry.org/schemas/loom/2024-01/";
inline const std::string node_types = schema + "node_types.jsd#/nodes/";
inline const std::string tag_types = schema + "tag_types.jsd#/tags/";
inline const std::string old_tag_types = schema + "annotation_types.jsd#/annotations/";
// In the order of DocumentNode's body.
inline const std::array<std::string, 4> nodes = {"Note", "Tensor", "Operation", "Application"};
inline const std::string signature = "IPFSignature", index = "IPFIndex", sequence_point = "IOSequencePoint";

}  // namespace heddle::interchange::document_names
