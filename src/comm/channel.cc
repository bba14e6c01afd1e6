#include "comm/channel.h"

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <thread>

#include "core/clock.h"
#include "core/error.h"

namespace ttt::comm {
namespace {

// MPI counts in int; a message beyond this is several.
constexpr std::size_t kPiece = std::size_t{1} << 30;

template <class Start> void in_pieces(std::size_t bytes, Start start) {
  std::size_t begin = 0;
  do {
    const std::size_t n = std::min(kPiece, bytes - begin);
    start(begin, static_cast<int>(n));
    begin += n;
  } while (begin < bytes);
}

}  // namespace

void Backoff::pause() {
  if (yielded_ < policy_.yields) {
    ++yielded_;
    sched_yield();
    return;
  }
  std::this_thread::sleep_for(std::chrono::duration<double>(sleep_s_));
  sleep_s_ = std::min(2 * sleep_s_, policy_.longest_s);
}

static std::atomic<std::int64_t> sent_bytes_of_process = 0;

std::int64_t sent_bytes() { return sent_bytes_of_process; }

void Messages::send(const void* data, std::size_t bytes, int to, int tag) {
  std::lock_guard lock(*channel_.lock);
  sent_bytes_of_process += static_cast<std::int64_t>(bytes);
  in_pieces(bytes, [&](std::size_t begin, int n) {
    peers_.push_back(to);
    check(MPI_Isend(
        static_cast<const char*>(data) + begin, n, MPI_BYTE, to, tag, channel_.comm, &requests_.emplace_back()));
  });
}

void Messages::receive(void* data, std::size_t bytes, int from, int tag) {
  std::lock_guard lock(*channel_.lock);
  in_pieces(bytes, [&](std::size_t begin, int n) {
    peers_.push_back(from);
    check(
        MPI_Irecv(static_cast<char*>(data) + begin, n, MPI_BYTE, from, tag, channel_.comm, &requests_.emplace_back()));
  });
}

void Messages::wait() {
  const int total = static_cast<int>(requests_.size());
  std::vector<int> completed(requests_.size());
  std::vector<MPI_Status> statuses(requests_.size());  // where an error says which it is
  Backoff backoff(call_.policy);
  double last_news_s = now_s();
  for (int left = total; left > 0;) {
    int n = 0;
    {
      std::lock_guard lock(*channel_.lock);
      int status = MPI_Testsome(total, requests_.data(), &n, completed.data(), statuses.data());
      for (int i = 0; status == MPI_ERR_IN_STATUS && i < n; ++i)
        if (statuses[i].MPI_ERROR != MPI_SUCCESS) status = statuses[i].MPI_ERROR;
      check(status);
    }
    if (n > 0) {
      left -= n;
      last_news_s = now_s();
      backoff.reset();
    } else if (*channel_.cancelled) {
      throw Error("Rank " + std::to_string(channel_.rank) + " left " + call_.what + " of " +
                  std::to_string(call_.bytes) + " bytes unfinished, because it is failing: see its first error.");
    } else if (now_s() - last_news_s > channel_.timeout_s) {
      give_up();
    } else {
      backoff.pause();
    }
  }
  requests_.clear();
  peers_.clear();
}

void Messages::check(int mpi_status) const {
  if (mpi_status == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(mpi_status, text, &length);
  throw Error("Rank " + std::to_string(channel_.rank) + " got an error of MPI in " + call_.what + " of " +
              std::to_string(call_.bytes) + " bytes (" + std::string(text, length) +
              "): look for the rank that failed first, or for ranks that are not in the same collective.");
}

void Messages::give_up() const {
  std::set<int> silent;
  for (std::size_t i = 0; i < requests_.size(); ++i)
    if (requests_[i] != MPI_REQUEST_NULL) silent.insert(peers_[i]);
  std::string ranks;
  for (int r : silent) ranks += (ranks.empty() ? "" : ", ") + std::to_string(r);
  const std::string limit = std::to_string(channel_.timeout_s);
  throw Error("Rank " + std::to_string(channel_.rank) + " waited " + limit.substr(0, limit.find('.') + 2) + " s in " +
              call_.what + " of " + std::to_string(call_.bytes) + " bytes for rank " + ranks +
              ": look there for what hangs, or raise TTT_COMM_TIMEOUT_S if it is only slow.");
}

}  // namespace ttt::comm
