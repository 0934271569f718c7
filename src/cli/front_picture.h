// The picture of a Pareto front: what each way to cut a program takes in time and in memory.
#pragma once

#include <string>
#include <vector>

#include "placement/cut_front.h"

namespace heddle::cli {

// As SVG.
std::string draw_front(const std::vector<placement::FrontPoint>& front);

// "2 x 4"
std::string mesh_text(const placement::Mesh& mesh);

}  // namespace heddle::cli
