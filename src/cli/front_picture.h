// The picture of a Pareto front: what each way to cut a program takes in time and in memory.
#pragma once

#include <string>
#include <vector>

#include "placing/cut_front.h"

namespace heddle::cli {

// As SVG. By time, as search_front has it; the first one is marked as what is chosen. There is one at least.
std::string draw_front(const std::vector<placing::FrontPoint>& front);

// "2 x 4"
std::string mesh_text(const placing::Mesh& mesh);
// "batch (12), none (3)": by what operations are cut, the most first. By OperationId and dimension of the mesh; empty: none.
std::string cuts_text(const std::vector<std::vector<std::string>>& axes);

}  // namespace heddle::cli
