// The picture of a Pareto front: what each way to cut a program takes in time and in memory.
#pragma once

#include <string>
#include <vector>

#include "placing/cut_front.h"

namespace heddle::cli {

// As SVG.
std::string draw_front(const std::vector<placing::FrontPoint>& front);

// "2 x 4"
std::string mesh_text(const placing::Mesh& mesh);

}  // namespace heddle::cli
