#include "train/optimizers/update_pieces.h"

namespace ttt::train {

bool is_bias(const model::Parameter& p) { return p.name.ends_with(".bias"); }

std::vector<UpdateRange> update_ranges(
    const model::ParameterStore& store, const OptimizerConfig& config, Grouping grouping) {
  std::vector<UpdateRange> ranges;
  bool last_is_bias = false;
  std::int64_t parameter = 0;
  for (const model::Parameter* p : store.trainable()) {
    const bool bias = is_bias(*p);
    const std::int64_t end = p->offset + p->count;
    // The padding behind a parameter stays zero under any update: it may belong to either range.
    if (grouping == Grouping::kAlike && !ranges.empty() && last_is_bias == bias) ranges.back().end = end;
    else
      ranges.push_back({.begin = p->offset,
          .end = end,
          .group = grouping == Grouping::kPerParameter ? parameter : 0,
          .lr_factor = bias ? config.bias_lr_factor : 1.0,
          .weight_decay = bias && !config.decay_bias ? 0.0 : config.weight_decay});
    last_is_bias = bias;
    ++parameter;
  }
  return ranges;
}

}  // namespace ttt::train
