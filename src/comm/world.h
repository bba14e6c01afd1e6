// The process's place in the launch, and MPI's life.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "comm/communicator.h"
#include "comm/heartbeat.h"

namespace ttt::comm {

enum class ThreadLevel { kSerialized, kMultiple };

struct WorldOptions {
  // Serialized is enough: all MPI calls of this process go through one lock (see channel.h). Multiple is there to
  // measure what it costs.
  ThreadLevel thread_level = ThreadLevel::kSerialized;
};

struct MpiOptions {
  // A collective in which nothing arrives for so long throws an Error that names it, its bytes and the silent ranks.
  // The environment's TTT_COMM_TIMEOUT_S, where set, takes the place of this default.
  double timeout_s = 600;
};

// Ranks that train together: all of the launch, or one by itself.
struct Team {
  int rank = 0, size = 1;
  int local_rank = 0, local_size = 1;                           // among those of this node
  std::function<std::unique_ptr<Communicator>()> communicator;  // collective over the team
  double timeout_s = MpiOptions{}.timeout_s;                    // of its collectives
};
// This rank by itself, whatever the launch.
Team alone();

// MPI_Init_thread to MPI_Finalize: construct once in main, before anything else uses MPI, and destroy after all
// communicators. Where it is destroyed by an exception on its way out, it aborts all ranks instead: the others may
// be waiting for this one.
class World {
 public:
  // Exits with a sentence and code 2 where MPI_COMM_WORLD has fewer ranks than the launcher promised. A launcher of
  // another MPI, for example, makes many worlds of one rank. Exits with code 4 where MPI lacks the thread level. All
  // ranks finalise first, so the launcher prints nothing of its own.
  World(int* argc, char*** argv, const WorldOptions& options = {});
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  int rank() const;
  int size() const;
  int local_rank() const;  // among the ranks of this node (those that can share memory)
  int local_size() const;
  int node() const;  // the number of this node, in the order of the nodes' first ranks
  int nodes() const;
  std::string library() const;       // as MPI names itself, one line
  std::string thread_level() const;  // what MPI granted
  double timeout_s() const;          // of collectives: TTT_COMM_TIMEOUT_S, else MpiOptions' default

  // Collective. The host-memory communicator over all ranks; `single` where the world has one rank.
  std::unique_ptr<Communicator> communicator(const MpiOptions& options = {}) const;

  // Collective. Begins to tell all ranks where this one stands; `place` outlives it.
  std::unique_ptr<Heartbeat> heartbeat(const RankState& place) const;

  // All ranks of the launch.
  Team team() const {
    return {.rank = rank(),
        .size = size(),
        .local_rank = local_rank(),
        .local_size = local_size(),
        .communicator = [this] { return communicator(); },
        .timeout_s = timeout_s()};
  }

  // Ends every rank of the launch now; this process's exit code, and the launcher's, is `code`.
  [[noreturn]] void abort(int code) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// What the launcher promised: its number of ranks and the variable that says so; 0 where nothing says it.
struct Promise {
  int ranks = 0;
  std::string source;
};
// UsageError where our own variable is no number. Reads, in this order, TTT_EXPECTED_RANKS (set it to overrule the
// others), OMPI_COMM_WORLD_SIZE (mpirun), PMI_SIZE (other launchers), SLURM_STEP_NUM_TASKS (srun), SLURM_NTASKS (a job
// script). The launcher nearest to the process comes first: mpirun inside a Slurm job may start fewer ranks than the
// job has tasks.
Promise promised_ranks();

}  // namespace ttt::comm
