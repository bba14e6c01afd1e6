#include "comm/all_reduce.h"

#include <algorithm>
#include <cstring>

namespace ttt::comm {
namespace {

// Up to here (bytes of one rank times ranks) the number of messages costs more than their size.
constexpr std::size_t kSmallBytes = 32 << 10;
// Bytes of one rank's slice of a segment: two segments' staging stay in a second-level cache for a few ranks.
constexpr std::size_t kSliceBytes = 256 << 10;

// out[i] = op(op(in[0][i], in[1][i]), ...). `out` may be one of the inputs: the sums are built in a block that aliases
// nothing, so that the loops vectorise.
template <class T, class Op>
void combine_in_rank_order(T* out, const std::vector<const T*>& in, std::size_t count, Op op) {
  constexpr std::size_t kBlock = 2048;
  T block[kBlock];
  for (std::size_t begin = 0; begin < count; begin += kBlock) {
    const std::size_t n = std::min(kBlock, count - begin);
    const T* a = in[0] + begin;
    const T* b = in[1] + begin;
    for (std::size_t i = 0; i < n; ++i) block[i] = op(a[i], b[i]);
    for (std::size_t k = 2; k < in.size(); ++k) {
      const T* x = in[k] + begin;
      for (std::size_t i = 0; i < n; ++i) block[i] = op(block[i], x[i]);
    }
    std::memcpy(out + begin, block, n * sizeof(T));
  }
}

template <class T> T* room(Scratch& scratch, std::size_t count) {
  if (scratch.size() < count * sizeof(T)) scratch.resize(count * sizeof(T));
  return reinterpret_cast<T*>(scratch.data());
}

// Bruck, Ho, Kipnis, Upfal, Weathersby 1997: after round k, slot j holds the values of rank (rank + j) % size for
// j < 2^(k+1).
template <class T, class Op>
void small_all_reduce(const Channel& ch, const Call& call, T* data, std::size_t count, Scratch& scratch, Op op) {
  T* slots = room<T>(scratch, count * ch.size);
  std::memcpy(slots, data, count * sizeof(T));
  Messages messages(ch, call);
  for (int have = 1; have < ch.size; have *= 2) {
    const std::size_t more = static_cast<std::size_t>(std::min(have, ch.size - have)) * count;
    messages.send(slots, more * sizeof(T), (ch.rank - have + ch.size) % ch.size, call.tag);
    messages.receive(slots + have * count, more * sizeof(T), (ch.rank + have) % ch.size, call.tag);
    messages.wait();
  }
  std::vector<const T*> in(ch.size);
  for (int r = 0; r < ch.size; ++r) in[r] = slots + static_cast<std::size_t>((r - ch.rank + ch.size) % ch.size) * count;
  combine_in_rank_order(data, in, count, op);
}

// A buffer's segment, cut into one slice per rank.
template <class T> struct Segment {
  T* data;
  std::size_t count;
  int ranks;
  T* slice(int r) const { return data + count * r / ranks; }
  std::size_t slice_count(int r) const { return slice(r + 1) - slice(r); }
};

template <class T, class Op> class LargeAllReduce {
 public:
  LargeAllReduce(const Channel& ch, const Call& call, Scratch& scratch)
      : ch_(ch), call_(call), slice_cap_(kSliceBytes / sizeof(T)),
        staging_(room<T>(scratch, 2 * ch.size * slice_cap_)) {}

  void run(T* data, std::size_t count, Op op) {
    // floor(count * (r+1) / n) - floor(count * r / n) <= ceil(count / n): a slice never exceeds slice_cap_.
    const std::size_t per_segment = slice_cap_ * ch_.size;
    const std::size_t segments = (count + per_segment - 1) / per_segment;
    auto segment = [&](std::size_t s) {
      return Segment<T>{data + s * per_segment, std::min(per_segment, count - s * per_segment), ch_.size};
    };
    Messages in_a(ch_, call_), in_b(ch_, call_), out(ch_, call_);
    Messages* scatter[2] = {&in_a, &in_b};
    post_scatter(*scatter[0], segment(0), 0);
    for (std::size_t s = 0; s < segments; ++s) {
      if (s + 1 < segments) post_scatter(*scatter[(s + 1) % 2], segment(s + 1), (s + 1) % 2);
      scatter[s % 2]->wait();  // our slices have left, so the sums may be received in their place
      add(segment(s), s % 2, op);
      out.wait();
      post_gather(out, segment(s));
    }
    out.wait();
  }

 private:
  T* staged(int half, int r) const { return staging_ + (static_cast<std::size_t>(half) * ch_.size + r) * slice_cap_; }

  // Peers in rotated order: no rank is everybody's first.
  void post_scatter(Messages& messages, const Segment<T>& seg, int half) {
    const std::size_t own = seg.slice_count(ch_.rank);
    for (int d = 1; d < ch_.size; ++d) {
      const int from = (ch_.rank - d + ch_.size) % ch_.size, to = (ch_.rank + d) % ch_.size;
      if (own > 0) messages.receive(staged(half, from), own * sizeof(T), from, call_.tag);
      if (seg.slice_count(to) > 0) messages.send(seg.slice(to), seg.slice_count(to) * sizeof(T), to, call_.tag);
    }
  }

  void add(const Segment<T>& seg, int half, Op op) {
    std::vector<const T*> in(ch_.size);
    for (int r = 0; r < ch_.size; ++r) in[r] = r == ch_.rank ? seg.slice(r) : staged(half, r);
    combine_in_rank_order(seg.slice(ch_.rank), in, seg.slice_count(ch_.rank), op);
  }

  void post_gather(Messages& messages, const Segment<T>& seg) {
    const std::size_t own = seg.slice_count(ch_.rank);
    for (int d = 1; d < ch_.size; ++d) {
      const int from = (ch_.rank - d + ch_.size) % ch_.size, to = (ch_.rank + d) % ch_.size;
      if (seg.slice_count(from) > 0)
        messages.receive(seg.slice(from), seg.slice_count(from) * sizeof(T), from, call_.tag + 1);
      if (own > 0) messages.send(seg.slice(ch_.rank), own * sizeof(T), to, call_.tag + 1);
    }
  }

  const Channel& ch_;
  const Call& call_;
  const std::size_t slice_cap_;
  T* const staging_;
};

}  // namespace

template <class T, class Op>
void all_reduce(const Channel& channel, const Call& call, T* data, std::size_t count, Scratch& scratch) {
  if (channel.size == 1 || count == 0) return;
  if (count * sizeof(T) * channel.size <= kSmallBytes) {
    small_all_reduce(channel, call, data, count, scratch, Op());
  } else {
    LargeAllReduce<T, Op>(channel, call, scratch).run(data, count, Op());
  }
}

template void all_reduce<float, Sum>(const Channel&, const Call&, float*, std::size_t, Scratch&);
template void all_reduce<double, Sum>(const Channel&, const Call&, double*, std::size_t, Scratch&);
template void all_reduce<double, Max>(const Channel&, const Call&, double*, std::size_t, Scratch&);

}  // namespace ttt::comm
