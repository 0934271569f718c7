// Tensors that lie over places as boxes of them: the boxes of a whole one, and the whole one of boxes.
#pragma once

#include "inference/places.h"
#include "transport/transport.h"

namespace heddle::running {

// A box of a tensor, as a tensor of its own: the same memory where it is all of it.
TensorData box_of(const TensorData& tensor, const Box& box);

// All of it. What other processes have comes from them: all call it, at the same point. Codes: those of transport::agree, with
// running.gather behind them, which says what was being gathered. Null: all of it is here.
Result<TensorData> gathered(const inference::SpreadTensor& tensor, transport::Transport* transport);

}  // namespace heddle::running
