#include "comm/nccl.h"

#include <cuda_runtime_api.h>
#include <nccl.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/clock.h"
#include "core/error.h"

namespace ttt::comm {
namespace {

void check(cudaError_t status, const std::string& what) {
  if (status != cudaSuccess)
    throw Error(what + " failed on the GPU: " + cudaGetErrorString(status) + ". Look at the rank that failed first.");
}

// Null where NCCL has no such function: it is announced to go.
#pragma weak ncclResetDebugInit
auto reopen_log() -> void (*)() {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  return ncclResetDebugInit;
#pragma GCC diagnostic pop
}

// An event without a clock, freed with its last owner: a collective's end, awaited by streams and by the watchdog.
class Event {
 public:
  Event() { check(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming), "Creating an event"); }
  ~Event() { cudaEventDestroy(event_); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  cudaEvent_t get() const { return event_; }

 private:
  cudaEvent_t event_ = nullptr;
};

std::string sized(const std::string& what, std::size_t bytes) {
  return what + (bytes > 0 ? " of " + std::to_string(bytes) + " bytes" : "");
}

struct Started {
  std::shared_ptr<Event> done;
  std::string what;
  double begin_s;
  bool replay = false;  // of what was recorded
};

// One NCCL communicator. It is non-blocking, so that a peer that never comes cannot hold the thread that calls. A
// watchdog aborts it when a collective is late, which also frees the streams that wait for it.
class NcclLink {
 public:
  NcclLink(Communicator& host, const NcclOptions& options) : options_(options), rank_(host.rank()) {
    check(cudaSetDevice(options_.device), "Selecting the device");
    int loaded = 0;
    ncclGetVersion(&loaded);
    if (loaded / 10000 != NCCL_VERSION_CODE / 10000)
      throw NotSupported("NCCL " + std::to_string(loaded) + " was loaded, but this was compiled for " +
                         std::to_string(NCCL_VERSION_CODE) + ". Remove the other libnccl.so.2 from LD_LIBRARY_PATH.");
    ScopedEnvironment environment;
    const bool tuned = host.size() > 1 && options_.tuning.asks();
    if (tuned) ask_by_environment(options_.tuning, environment);
    if (tuned && rank_ == 0) log_.emplace(environment, reopen_log());
    ncclUniqueId id{};
    if (rank_ == 0) expect_success(ncclGetUniqueId(&id), "ncclGetUniqueId", 0);
    host.broadcast(&id, sizeof(id), 0);
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    if (tuned && options_.tuning.channels > 0)
      config.minCTAs = config.maxCTAs = static_cast<int>(options_.tuning.channels);
    const ncclResult_t result = ncclCommInitRankConfig(&comm_, host.size(), id, rank_, &config);
    try {
      settle(result, "ncclCommInitRank", 0);
      if (log_) log_->check_channels(options_.tuning);
    } catch (...) {
      if (comm_ && !aborted_) ncclCommAbort(comm_);
      throw;
    }
    watchdog_ = std::thread([this] { watch(); });
  }

  ~NcclLink() {
    {
      std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    wake_.notify_one();
    watchdog_.join();
    if (aborted_) return;
    // Finalising waits for the peers; where this rank fails they may never come.
    ncclResult_t state = std::uncaught_exceptions() > 0 ? ncclInternalError : ncclCommFinalize(comm_);
    const double begin = now_s();
    while (state == ncclInProgress && now_s() - begin < options_.timeout_s) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      if (const ncclResult_t asked = ncclCommGetAsyncError(comm_, &state); asked != ncclSuccess) state = asked;
    }
    state == ncclSuccess ? ncclCommDestroy(comm_) : ncclCommAbort(comm_);
  }

  // Starts `call` (a function of the communicator) and returns when it is enqueued.
  template <class Call> void start(const std::string& what, std::size_t bytes, Call call) {
    throw_if_aborted();
    ncclResult_t result;
    {
      std::lock_guard lock(mutex_);
      result = call(comm_);
    }
    settle(result, what, bytes);
  }

  // What was started last was an all-reduce.
  void check_all_reduce(std::size_t bytes) {
    if (log_) log_->check_all_reduce(options_.tuning, bytes);
  }

  void track(Started started) {
    std::lock_guard lock(mutex_);
    recorded_all_ = recorded_all_ || started.replay;
    started_.push_back(std::move(started));
  }
  // What replays are said to be: between two recordings there is one. Of several (one for each size of images) the
  // last, with the same buckets.
  void note_recorded(std::string what) {
    std::lock_guard lock(mutex_);
    if (std::exchange(recorded_all_, false)) recorded_.clear();
    recorded_.push_back(std::move(what));
  }

  void throw_if_aborted() {
    if (!aborted_) return;
    std::lock_guard lock(mutex_);
    throw Error(reason_);
  }

 private:
  static void expect_success(ncclResult_t result, const std::string& what, std::size_t bytes) {
    if (result != ncclSuccess && result != ncclInProgress)
      throw Error(what + " of " + std::to_string(bytes) + " bytes failed: " + ncclGetErrorString(result) +
                  ". Set NCCL_DEBUG=WARN to see why.");
  }

  void settle(ncclResult_t result, const std::string& what, std::size_t bytes) {
    const double begin = now_s();
    while (result == ncclInProgress) {
      std::this_thread::yield();
      throw_if_aborted();
      std::lock_guard lock(mutex_);
      if (aborted_) continue;
      expect_success(ncclCommGetAsyncError(comm_, &result), what, bytes);
      if (result == ncclInProgress && now_s() - begin > options_.timeout_s) abort(late(sized(what, bytes)));
    }
    expect_success(result, what, bytes);
  }

  // Under the lock: no other thread may be inside NCCL with this communicator, which is gone afterwards.
  void abort(const std::string& reason) {
    reason_ = reason;
    ncclCommAbort(comm_);
    aborted_ = true;
  }

  std::string late(const std::string& what) const {
    return "Rank " + std::to_string(rank_) + " waited " + std::to_string(static_cast<long>(options_.timeout_s)) +
           " s in " + what + ", where another rank did not arrive: look at the others' logs for what hangs.";
  }
  // The device alone knows how far a replay came.
  std::string replayed(const std::string& what) const {
    std::string all;
    for (const std::string& one : recorded_) all += (all.empty() ? "" : ", ") + one;
    return all.empty() ? what : what + ", in " + (recorded_.size() > 1 ? "one of " : "") + all;
  }

  void watch() {
    cudaSetDevice(options_.device);
    // Asking for an event's state would break another thread's graph capture in the default mode.
    cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    cudaThreadExchangeStreamCaptureMode(&mode);
    std::unique_lock lock(mutex_);
    while (!stopping_ && !aborted_) {
      wake_.wait_for(lock, std::chrono::milliseconds(100));
      while (!started_.empty() && cudaEventQuery(started_.front().done->get()) == cudaSuccess) started_.pop_front();
      ncclResult_t state = ncclSuccess;
      const ncclResult_t asked = ncclCommGetAsyncError(comm_, &state);
      const bool failed = asked != ncclSuccess || (state != ncclSuccess && state != ncclInProgress);
      const bool overdue = !started_.empty() && now_s() - started_.front().begin_s > options_.timeout_s;
      if (!failed && !overdue) continue;
      abort(failed ? std::string("NCCL reported an error of another rank or the network: ") +
                         ncclGetErrorString(state) + ". Set NCCL_DEBUG=WARN to see which."
                   : late(started_.front().replay ? replayed(started_.front().what) : started_.front().what));
    }
  }

  const NcclOptions options_;
  const int rank_;
  std::optional<NcclLog> log_;  // where NCCL is held to a tuning
  ncclComm_t comm_ = nullptr;
  std::thread watchdog_;
  std::mutex mutex_;  // of comm_ and the members below
  std::condition_variable wake_;
  std::list<Started> started_;
  std::vector<std::string> recorded_;  // collectives
  bool recorded_all_ = false;          // they have been replayed: the next one belongs to another recording
  std::string reason_;
  bool stopping_ = false;
  std::atomic<bool> aborted_ = false;
};

class NcclCommunicator final : public Communicator {
 public:
  NcclCommunicator(Communicator& host, const NcclOptions& options)
      : host_(host), options_(options), link_(host, options) {
    // Highest priority: a small all-reduce must not queue behind a layer's worth of waiting blocks.
    int least = 0, greatest = 0;
    check(cudaDeviceGetStreamPriorityRange(&least, &greatest), "Reading the stream priorities");
    check(cudaStreamCreateWithPriority(&stream_, cudaStreamNonBlocking, greatest), "Creating the communication stream");
  }
  ~NcclCommunicator() override {
    if (std::uncaught_exceptions() == 0) cudaStreamSynchronize(stream_);
    cudaStreamDestroy(stream_);
  }

  int rank() const override { return host_.rank(); }
  int size() const override { return host_.size(); }
  std::string name() const override { return "nccl"; }

  void all_reduce_sum(float* data, std::size_t count) override { all_reduce_sum_async(data, count)->wait(); }
  void all_reduce_sum(double* data, std::size_t count) override {
    reduce("all_reduce_sum(double)", data, count, ncclFloat64, ncclSum)->wait();
  }
  void all_reduce_max(double* data, std::size_t count) override {
    reduce("all_reduce_max(double)", data, count, ncclFloat64, ncclMax)->wait();
  }
  std::unique_ptr<Work> all_reduce_sum_async(float* data, std::size_t count) override {
    return reduce("all_reduce_sum(float) number " + std::to_string(number_), data, count, ncclFloat32, ncclSum);
  }
  void broadcast(void* data, std::size_t bytes, int root) override {
    enqueue("broadcast", bytes, [=, this](ncclComm_t comm) {
      return ncclBroadcast(data, data, bytes, ncclUint8, root, comm, stream_);
    })->wait();
  }
  std::vector<std::string> gather(const std::string& bytes, int root) override { return host_.gather(bytes, root); }
  void barrier() override {
    check(cudaStreamSynchronize(current()), "Waiting for the stream at a barrier");
    link_.throw_if_aborted();
    host_.barrier();
  }
  bool on_device() const override { return true; }
  void watch(const std::string& what) override {
    link_.throw_if_aborted();
    auto done = std::make_shared<Event>();
    check(cudaEventRecord(done->get(), current()), what);
    link_.track({std::move(done), what, now_s(), /*replay=*/true});
  }

 private:
  class StreamWork final : public Work {
   public:
    StreamWork(NcclCommunicator& owner, std::shared_ptr<Event> done) : owner_(owner), done_(std::move(done)) {}
    ~StreamWork() override { hold_back(); }
    void wait() override {
      owner_.link_.throw_if_aborted();
      check(hold_back(), "Waiting for a collective");
    }

   private:
    cudaError_t hold_back() {
      if (!done_) return cudaSuccess;
      const cudaError_t status = cudaStreamWaitEvent(owner_.current(), done_->get(), 0);
      done_.reset();
      return status;
    }
    NcclCommunicator& owner_;
    std::shared_ptr<Event> done_;
  };

  cudaStream_t current() const { return static_cast<cudaStream_t>(options_.current_stream(options_.device)); }

  template <class T> std::unique_ptr<Work> reduce(
      const std::string& what, T* data, std::size_t count, ncclDataType_t type, ncclRedOp_t op) {
    auto work = enqueue(what, count * sizeof(T),
        [=, this](ncclComm_t comm) { return ncclAllReduce(data, data, count, type, op, comm, stream_); });
    link_.check_all_reduce(count * sizeof(T));
    return work;
  }

  // After what the current stream holds now, on the communication stream.
  template <class Call> std::unique_ptr<Work> enqueue(const std::string& what, std::size_t bytes, Call call) {
    Event ready;
    check(cudaEventRecord(ready.get(), current()), what);
    check(cudaStreamWaitEvent(stream_, ready.get(), 0), what);
    link_.start(what, bytes, call);
    auto done = std::make_shared<Event>();
    check(cudaEventRecord(done->get(), stream_), what);
    // Under capture nothing runs yet, and the event must not be asked.
    cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
    check(cudaStreamIsCapturing(stream_, &capture), what);
    if (capture == cudaStreamCaptureStatusNone) link_.track({done, sized(what, bytes), now_s()});
    else link_.note_recorded(sized(what, bytes));
    return std::make_unique<StreamWork>(*this, std::move(done));
  }

  Communicator& host_;
  const NcclOptions options_;
  NcclLink link_;
  cudaStream_t stream_ = nullptr;
};

}  // namespace

std::unique_ptr<Communicator> make_nccl(Communicator& host, const NcclOptions& options) {
  return std::make_unique<NcclCommunicator>(host, options);
}

}  // namespace ttt::comm
