// The flat parameters as an update sees them: ranges that are updated alike, cut into pieces of about one size.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "models/ops/parameter_kernels.h"
#include "train/optimizers/optimizer.h"

namespace ttt::train {

struct UpdateRange {
  std::int64_t begin = 0, end = 0;  // of the flat parameters
  std::int64_t group = 0;           // kPerParameter: the parameter, in memory order; else 0
  double lr_factor = 1, weight_decay = 0;
};

enum class Grouping {
  kAlike,        // consecutive parameters of one rate and decay are one range: norms are not asked for
  kPerParameter  // each parameter is a range and a group
};
std::vector<UpdateRange> update_ranges(
    const model::ParameterStore& store, const OptimizerConfig& config, Grouping grouping);

// Biases (names ending in "bias") have a learning rate and a decay of their own.
bool is_bias(const model::Parameter& p);

// Ranges as a kernel is told of them. `Piece`: kernels::SgdTensor or AdamTensor.
template <class Piece> class PieceTable {
 public:
  // fill(piece, at): the arrays of `piece`, which begins at value `at` of the flat parameters
  template <class Fill> PieceTable(const at::Device& device, std::span<const UpdateRange> ranges, const Fill& fill) {
    std::vector<Piece> pieces;
    for (const UpdateRange& r : ranges)
      for (std::int64_t at = r.begin; at < r.end; at += kPiece) {
        Piece piece{};
        fill(piece, at, r);
        piece.size = std::min(kPiece, r.end - at);
        piece.lr_factor = static_cast<float>(r.lr_factor);
        largest_ = std::max(largest_, piece.size);
        pieces.push_back(piece);
      }
    count_ = std::ssize(pieces);
    bytes_ = model::bytes_on(device, std::as_bytes(std::span(pieces)));
  }
  const Piece* data() const { return static_cast<const Piece*>(bytes_.const_data_ptr()); }
  std::int64_t count() const { return count_; }
  std::int64_t largest() const { return largest_; }

 private:
  // Of a launch's blocks none is without work where all pieces are of one size; a host's loop does not notice.
  static constexpr std::int64_t kPiece = 1 << 15;
  std::int64_t count_ = 0, largest_ = 0;
  at::Tensor bytes_;  // [count * sizeof(Piece)] uint8, where the parameters lie
};

}  // namespace ttt::train
