#include "comm/mpi_communicator.h"

#include <exception>
#include <utility>

#include "comm/all_reduce.h"
#include "comm/progress_thread.h"
#include "core/error.h"

namespace ttt::comm {
namespace {

// Binomial tree: after round k the root and 2^k - 1 others have the bytes.
void tree_broadcast(const Channel& ch, const Call& call, void* data, std::size_t bytes, int root) {
  const int relative = (ch.rank - root + ch.size) % ch.size;
  Messages messages(ch, call);
  int reach = 1;
  while (reach < ch.size && !(relative & reach)) reach *= 2;
  if (relative != 0) {
    messages.receive(data, bytes, (relative - reach + root) % ch.size, call.tag);
    messages.wait();
  }
  for (reach /= 2; reach > 0; reach /= 2)
    if (relative + reach < ch.size) messages.send(data, bytes, (relative + reach + root) % ch.size, call.tag);
  messages.wait();
}

std::vector<std::string> gather_strings(const Channel& ch, const Call& call, const std::string& bytes, int root) {
  Messages messages(ch, call);
  std::size_t own = bytes.size();
  if (ch.rank != root) {
    messages.send(&own, sizeof(own), root, call.tag);
    if (own > 0) messages.send(bytes.data(), own, root, call.tag + 1);
    messages.wait();
    return {};
  }
  std::vector<std::size_t> sizes(ch.size, own);
  for (int r = 0; r < ch.size; ++r)
    if (r != root) messages.receive(&sizes[r], sizeof(own), r, call.tag);
  messages.wait();
  std::vector<std::string> all(ch.size);
  all[root] = bytes;
  for (int r = 0; r < ch.size; ++r) {
    if (r == root || sizes[r] == 0) continue;
    all[r].resize(sizes[r]);
    messages.receive(all[r].data(), sizes[r], r, call.tag + 1);
  }
  messages.wait();
  return all;
}

// Dissemination barrier (Hensgen, Finkel, Manber 1988).
void disseminate(const Channel& ch, const Call& call) {
  Messages messages(ch, call);
  char unused = 0;
  for (int d = 1; d < ch.size; d *= 2) {
    messages.send(&unused, 0, (ch.rank + d) % ch.size, call.tag);
    messages.receive(&unused, 0, (ch.rank - d + ch.size) % ch.size, call.tag);
    messages.wait();
  }
}

// Says that the calling thread is in a collective.
class Waiting {
 public:
  Waiting(std::atomic<const char*>& shown, const char* what) : shown_(shown) {
    shown_.store(what, std::memory_order_relaxed);
  }
  ~Waiting() { shown_.store(nullptr, std::memory_order_relaxed); }
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;

 private:
  std::atomic<const char*>& shown_;
};

class MpiCommunicator final : public Communicator {
 public:
  explicit MpiCommunicator(const Channel& channel) : channel_(channel) {}

  ~MpiCommunicator() override {
    progress_.reset();
    // Freeing is collective, and after an error the others do not come.
    if (error_ || std::uncaught_exceptions() > 0) return;
    std::lock_guard lock(*channel_.lock);
    MPI_Comm_free(&channel_.comm);
  }

  int rank() const override { return channel_.rank; }
  int size() const override { return channel_.size; }
  std::string name() const override { return "mpi"; }

  void all_reduce_sum(float* data, std::size_t count) override {
    run(next("all_reduce_sum(float)", count * sizeof(float)),
        [=, this, number = number_](const Call& call) { sum(call, data, count, number); });
  }
  void all_reduce_sum(double* data, std::size_t count) override {
    run(next("all_reduce_sum(double)", count * sizeof(double)),
        [=, this](const Call& call) { all_reduce<double, Sum>(channel_, call, data, count, scratch_); });
  }
  void all_reduce_max(double* data, std::size_t count) override {
    run(next("all_reduce_max(double)", count * sizeof(double)),
        [=, this](const Call& call) { all_reduce<double, Max>(channel_, call, data, count, scratch_); });
  }

  std::unique_ptr<Work> all_reduce_sum_async(float* data, std::size_t count) override {
    if (!progress_) progress_ = std::make_unique<ProgressThread>(channel_.cancelled);
    Call call = next("all_reduce_sum_async(float)", count * sizeof(float));
    call.policy = kBackground;
    return progress_->start(
        [=, this, number = number_, call = std::move(call)] { guarded([&] { sum(call, data, count, number); }); });
  }

  void broadcast(void* data, std::size_t bytes, int root) override {
    check_root(root);
    run(next("broadcast", bytes), [=, this](const Call& call) { tree_broadcast(channel_, call, data, bytes, root); });
  }

  std::vector<std::string> gather(const std::string& bytes, int root) override {
    check_root(root);
    std::vector<std::string> all;
    run(next("gather", bytes.size()), [&](const Call& call) { all = gather_strings(channel_, call, bytes, root); });
    return all;
  }

  void barrier() override {
    run(next("barrier", 0), [this](const Call& call) { disseminate(channel_, call); });
  }

 private:
  // A tag of its own for each collective keeps a late message of one from being taken for another's.
  Call next(const char* what, std::size_t bytes) {
    sequence_ = (sequence_ + 1) % 8192;  // MPI guarantees tags up to 32767
    return Call{.what = what, .bytes = bytes, .tag = 2 * sequence_, .policy = kForeground};
  }

  void check_root(int root) const {
    if (root < 0 || root >= channel_.size)
      throw Error("Root rank " + std::to_string(root) + " is outside this communicator: use 0 to " +
                  std::to_string(channel_.size - 1) + ".");
  }

  void sum(const Call& call, float* data, std::size_t count, std::int32_t number) {
    const trace::Scope span(lane_, trace::Event::kAllReduce, number, static_cast<std::int64_t>(call.bytes));
    all_reduce<float, Sum>(channel_, call, data, count, scratch_);
  }

  template <class Body> void guarded(Body body) {
    if (error_) std::rethrow_exception(error_);
    try {
      body();
    } catch (...) {
      error_ = std::current_exception();
      throw;
    }
  }

  // On the calling thread, unless started work must come first: then behind it, on the same thread.
  template <class Body> void run(const Call& call, Body body) {
    const Waiting waiting(*channel_.collective, call.what);
    if (!progress_ || progress_->idle()) {
      guarded([&] { body(call); });
    } else {
      progress_->start([&] { guarded([&] { body(call); }); })->wait();
    }
  }

  Channel channel_;
  Scratch scratch_;  // of whichever collective runs; there is only one at a time
  int sequence_ = 0;
  std::exception_ptr error_;  // written by the thread that runs collectives; idle() orders it before later reads
  std::unique_ptr<ProgressThread> progress_;
};

}  // namespace

std::unique_ptr<Communicator> make_mpi(const Channel& channel) { return std::make_unique<MpiCommunicator>(channel); }

}  // namespace ttt::comm
