#include "comm/mpi_heartbeat.h"

#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <fstream>
#include <thread>

#include "core/clock.h"
#include "core/hash.h"

namespace ttt::comm {
namespace {

constexpr double kInterval = 0.1;      // seconds, up to 128 ranks; longer beyond, since a message names every rank
constexpr double kGoodbyeLimit = 5.0;  // seconds
constexpr int kMostErrors = 1000;      // of MPI: after those it is asked no more

// A rank's entry of a message. `beats` and `moves` only grow, so of two entries the newer is known without clocks.
struct Beat {
  std::uint64_t beats = 0, moves = 0;
  std::int64_t step = 0;
  std::int32_t stage = 0, last_message = 0;  // of the sender's own entry: none follows
  std::uint64_t space = 0;                   // in which `process` means something
  std::int64_t process = 0;
  char collective[32] = {};
};

// The same for processes that see each other: one kernel, since one start of it, and one name space of processes.
std::uint64_t process_space() {
  std::string name;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), name);
  char link[64] = {};
  if (name.empty() || ::readlink("/proc/self/ns/pid", link, sizeof link - 1) <= 0) return 0;
  name += link;
  return hash64(std::as_bytes(std::span(name)));
}

Process state_of(const Beat& b, std::uint64_t here) {
  if (here == 0 || b.space != here) return Process::kUnknown;
  std::string stat;
  std::getline(std::ifstream("/proc/" + std::to_string(b.process) + "/stat"), stat);
  const std::size_t name_end = stat.rfind(')');  // "4711 (name) S ..."; the name may hold anything
  const char state = name_end == std::string::npos ? 'X' : stat.at(name_end + 2);
  return state == 'X' || state == 'Z'   ? Process::kGone
         : state == 'T' || state == 't' ? Process::kStopped
                                        : Process::kRuns;
}

struct Known {
  Beat beat;
  double heard_s = 0, moved_s = 0;
};

double thread_cpu_s() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

class MpiHeartbeat final : public Heartbeat {
 public:
  MpiHeartbeat(const Channel& channel, const RankState& place)
      : channel_(channel), place_(place), interval_s_(kInterval * std::max(1.0, channel.size / 128.0)),
        known_(static_cast<std::size_t>(channel.size)), inbox_(known_.size()) {
    for (Known& k : known_) k.heard_s = k.moved_s = now_s();
    for (int offset = 1; offset < channel_.size; offset *= 2)
      outboxes_.push_back({.to = (channel_.rank + offset) % channel_.size});
    thread_ = std::thread([this] { run(); });
  }

  ~MpiHeartbeat() override { end(); }

  std::vector<Sign> signs() const override {
    const std::lock_guard lock(mutex_);
    const double now = now_s();
    std::vector<Sign> all;
    for (const Known& k : known_) {
      all.push_back({.step = k.beat.step,
          .stage = k.beat.stage,
          .collective = k.beat.collective,
          .silent_s = now - k.heard_s,
          .still_s = now - k.moved_s});
      if (all.back().silent_s > 2 * interval_s_) all.back().process = state_of(k.beat, space_);
    }
    return all;
  }

  void stop() override {
    {
      const std::lock_guard lock(mutex_);
      leaving_ = true;
    }
    wake_.notify_all();
    if (thread_.joinable()) thread_.join();
  }

  double interval_s() const override { return interval_s_; }
  double cpu_s() const override { return cpu_s_; }

 private:
  struct Outbox {
    int to = 0;
    std::vector<Beat> message;
    MPI_Request request = MPI_REQUEST_NULL;
    bool last = false;    // the last message is on its way
    bool broken = false;  // MPI cannot send there any more
  };

  void end() {
    {
      const std::lock_guard lock(mutex_);
      ended_ = true;
    }
    wake_.notify_all();
    if (thread_.joinable()) thread_.join();
    if (channel_.comm == MPI_COMM_NULL) return;
    if (!complete_) {
      // A rank fails, and messages are on their way: MPI may still write where they belong, until the process ends.
      new std::vector<Beat>(std::move(inbox_));
      new std::vector<Outbox>(std::move(outboxes_));
      return;
    }
    // Freeing is collective.
    const std::lock_guard lock(*channel_.lock);
    MPI_Comm_free(&channel_.comm);
  }

  void run() {
    pthread_setname_np(pthread_self(), "heartbeat");
    double leave_by_s = 0;
    std::unique_lock lock(mutex_);
    while (!ended_) {
      beat();
      if (leaving_ && leave_by_s == 0) leave_by_s = now_s() + kGoodbyeLimit;
      const bool leaving = leaving_;
      lock.unlock();
      exchange(leaving);
      cpu_s_ = thread_cpu_s();
      lock.lock();
      if (complete_ || (leaving && now_s() > leave_by_s)) return;
      wake_.wait_for(lock, std::chrono::duration<double>(leaving ? 1e-3 : interval_s_),
          [&] { return ended_ || (leaving_ && !leaving); });
    }
  }

  // This rank's own entry; the mutex is held.
  void beat() {
    Known& own = known_[static_cast<std::size_t>(channel_.rank)];
    Beat next{.beats = own.beat.beats + 1,
        .moves = own.beat.moves,
        .step = place_.step,
        .stage = place_.stage,
        .space = space_,
        .process = ::getpid()};
    const char* collective = *channel_.collective;
    if (collective) std::strncpy(next.collective, collective, sizeof next.collective - 1);
    const std::int64_t count = place_.count;
    const double now = now_s();
    if (next.step != own.beat.step || next.stage != own.beat.stage || count != count_ ||
        std::strcmp(next.collective, own.beat.collective) != 0)
      ++next.moves, own.moved_s = now;
    count_ = count;
    own.heard_s = now;
    own.beat = next;
  }

  // One round: takes in what came, sends on where the last message has left.
  void exchange(bool leaving) {
    const std::lock_guard lock(*channel_.lock);
    receive();
    bool all_sent = true;
    for (Outbox& box : outboxes_) {
      int sent = 1;
      if (box.request != MPI_REQUEST_NULL && MPI_Test(&box.request, &sent, MPI_STATUS_IGNORE) != MPI_SUCCESS)
        box.broken = true;
      if (sent && !box.last && !box.broken) send(box, leaving);
      all_sent = all_sent && sent && box.last && !box.broken && box.request == MPI_REQUEST_NULL;
    }
    complete_ = leaving && all_sent && goodbyes_ == outboxes_.size();
  }

  // An error of MPI is about a rank that is gone, as a rule. The others must still be heard.
  void receive() {
    while (goodbyes_ < outboxes_.size() && errors_ < kMostErrors) {
      const int bytes = static_cast<int>(inbox_.size() * sizeof(Beat));
      int came = 0;
      MPI_Status status;
      if ((receiving_ == MPI_REQUEST_NULL && MPI_Irecv(inbox_.data(), bytes, MPI_BYTE, MPI_ANY_SOURCE, 0, channel_.comm,
                                                 &receiving_) != MPI_SUCCESS) ||
          MPI_Test(&receiving_, &came, &status) != MPI_SUCCESS) {
        receiving_ = MPI_REQUEST_NULL;
        ++errors_;
        return;
      }
      if (!came) return;
      if (inbox_[static_cast<std::size_t>(status.MPI_SOURCE)].last_message) ++goodbyes_;
      merge();
    }
  }

  void merge() {
    const std::lock_guard lock(mutex_);
    const double now = now_s();
    for (std::size_t r = 0; r < known_.size(); ++r) {
      Known& k = known_[r];
      if (static_cast<int>(r) == channel_.rank || inbox_[r].beats <= k.beat.beats) continue;
      if (inbox_[r].moves != k.beat.moves) k.moved_s = now;
      k.heard_s = now;
      k.beat = inbox_[r];
    }
  }

  void send(Outbox& box, bool last) {
    {
      const std::lock_guard lock(mutex_);
      box.message.clear();
      for (const Known& k : known_) box.message.push_back(k.beat);
    }
    for (Beat& b : box.message) b.last_message = 0;
    box.message[static_cast<std::size_t>(channel_.rank)].last_message = box.last = last;
    const int bytes = static_cast<int>(box.message.size() * sizeof(Beat));
    box.broken = MPI_Isend(box.message.data(), bytes, MPI_BYTE, box.to, 0, channel_.comm, &box.request) != MPI_SUCCESS;
  }

  Channel channel_;
  const RankState& place_;
  const double interval_s_;
  const std::uint64_t space_ = process_space();
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  bool leaving_ = false, ended_ = false;
  std::vector<Known> known_;            // by rank
  std::atomic<bool> complete_ = false;  // every message was sent and every one received
  std::atomic<double> cpu_s_ = 0;
  // Of the thread alone.
  std::int64_t count_ = 0;
  std::vector<Beat> inbox_;
  MPI_Request receiving_ = MPI_REQUEST_NULL;
  std::size_t goodbyes_ = 0;
  int errors_ = 0;
  std::vector<Outbox> outboxes_;
  std::thread thread_;
};

}  // namespace

std::unique_ptr<Heartbeat> make_heartbeat(const Channel& channel, const RankState& place) {
  return std::make_unique<MpiHeartbeat>(channel, place);
}

}  // namespace ttt::comm
