#include "comm/world.h"

#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <mutex>

#include "comm/channel.h"
#include "comm/mpi_communicator.h"
#include "comm/mpi_heartbeat.h"
#include "core/error.h"

namespace ttt::comm {
namespace {

// A positive number from the environment; `fallback` where the variable is unset or empty. Our own variables (TTT_...)
// must make sense; those of launchers are taken as they come.
double environment_number(const std::string& name, double fallback) {
  const char* text = std::getenv(name.c_str());
  if (text == nullptr || *text == '\0') return fallback;
  char* end = nullptr;
  const double value = std::strtod(text, &end);
  if (*end == '\0' && value > 0 && value < 1e9) return value;
  if (!name.starts_with("TTT_")) return fallback;
  throw UsageError("The environment's " + name + "=" + text + " is not a positive number. Correct it or unset it.");
}

std::string level_name(int level) {
  switch (level) {
    case MPI_THREAD_SINGLE: return "single";
    case MPI_THREAD_FUNNELED: return "funneled";
    case MPI_THREAD_SERIALIZED: return "serialized";
    default: return "multiple";
  }
}

// Collective: all ranks of a world that is too small throw together, so that each can finalise.
void check_promise(const Promise& promise, int size) {
  int largest = promise.ranks;
  MPI_Allreduce(MPI_IN_PLACE, &largest, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  if (size >= largest) return;
  const std::string source = promise.source.empty() ? "another rank's environment" : promise.source;
  throw UsageError("The launcher promised " + std::to_string(largest) + " ranks (" + source +
                   "), but MPI_COMM_WORLD has " + std::to_string(size) +
                   ". Start the program with the launcher of the MPI it was built with, or set "
                   "TTT_EXPECTED_RANKS=" +
                   std::to_string(size) + " if so few are meant.");
}

}  // namespace

Promise promised_ranks() {
  for (const char* name :
      {"TTT_EXPECTED_RANKS", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"}) {
    const int ranks = static_cast<int>(environment_number(name, 0));
    if (ranks > 0) return {ranks, std::string(name) + "=" + std::to_string(ranks)};
  }
  return {};
}

struct World::State {
  int rank = 0, size = 1, local_rank = 0, local_size = 1, node = 0, nodes = 1, level = 0;
  double timeout_s = 0;  // of the environment; 0: not set
  std::shared_ptr<std::mutex> lock = std::make_shared<std::mutex>();
  std::shared_ptr<std::atomic<const char*>> collective = std::make_shared<std::atomic<const char*>>(nullptr);

  // Collective: a duplicate of the world.
  Channel channel(double default_timeout_s) const {
    Channel c{.lock = lock,
        .collective = collective,
        .timeout_s = timeout_s > 0 ? timeout_s : default_timeout_s,
        .rank = rank,
        .size = size};
    const std::lock_guard guard(*lock);
    MPI_Comm_dup(MPI_COMM_WORLD, &c.comm);
    MPI_Comm_set_errhandler(c.comm, MPI_ERRORS_RETURN);
    return c;
  }
};

World::World(int* argc, char*** argv, const WorldOptions& options) : state_(std::make_unique<State>()) {
  Promise promise;
  try {
    state_->timeout_s = environment_number("TTT_COMM_TIMEOUT_S", 0);
    promise = promised_ranks();  // before MPI_Init, which may set such variables itself
  } catch (const Error& e) {
    std::fprintf(stderr, "error: %s\n", e.what());
    std::exit(e.exit_code());
  }
  // Ranks that wait inside MPI (at start and end) must give way where there are more of them than cores: only mpirun's
  // --oversubscribe tells Open MPI so, srun does not. What the user set stays.
  setenv("OMPI_MCA_mpi_yield_when_idle", "1", /*overwrite=*/0);
  const int wanted = options.thread_level == ThreadLevel::kMultiple ? MPI_THREAD_MULTIPLE : MPI_THREAD_SERIALIZED;
  MPI_Init_thread(argc, argv, wanted, &state_->level);
  MPI_Comm_rank(MPI_COMM_WORLD, &state_->rank);
  MPI_Comm_size(MPI_COMM_WORLD, &state_->size);
  try {
    check_promise(promise, state_->size);
    if (state_->level < wanted)
      throw NotSupported("This MPI grants the thread level " + level_name(state_->level) + ", but " +
                         level_name(wanted) + " is needed. Use an MPI built with thread support.");
  } catch (const Error& e) {
    if (state_->rank == 0) std::fprintf(stderr, "error: %s\n", e.what());
    MPI_Finalize();
    std::exit(e.exit_code());
  }
  MPI_Comm node;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, state_->rank, MPI_INFO_NULL, &node);
  MPI_Comm_rank(node, &state_->local_rank);
  MPI_Comm_size(node, &state_->local_size);
  int first_of_node = state_->local_rank == 0;
  MPI_Allreduce(&first_of_node, &state_->nodes, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Exscan(&first_of_node, &state_->node, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (state_->rank == 0) state_->node = 0;  // which MPI leaves undefined
  MPI_Bcast(&state_->node, 1, MPI_INT, 0, node);
  MPI_Comm_free(&node);
}

World::~World() {
  if (std::uncaught_exceptions() > 0) abort(1);
  MPI_Finalize();
}

int World::rank() const { return state_->rank; }
int World::size() const { return state_->size; }
int World::local_rank() const { return state_->local_rank; }
int World::local_size() const { return state_->local_size; }
int World::node() const { return state_->node; }
int World::nodes() const { return state_->nodes; }
std::string World::thread_level() const { return level_name(state_->level); }

std::string World::library() const {
  char text[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  MPI_Get_library_version(text, &length);
  const std::string all(text, length);
  return all.substr(0, all.find_first_of(",\n"));
}

std::unique_ptr<Communicator> World::communicator(const MpiOptions& options) const {
  if (state_->size == 1) return make_single();
  return make_mpi(state_->channel(options.timeout_s));
}

std::unique_ptr<Heartbeat> World::heartbeat(const RankState& place) const {
  if (state_->size == 1) return make_heartbeat({.lock = state_->lock, .collective = state_->collective}, place);
  return make_heartbeat(state_->channel(MpiOptions{}.timeout_s), place);
}

double World::timeout_s() const { return state_->timeout_s > 0 ? state_->timeout_s : MpiOptions{}.timeout_s; }

Team alone() { return {.communicator = make_single, .timeout_s = MpiOptions{}.timeout_s}; }

void World::abort(int code) const {
  // Not under the lock: whoever holds it may be the reason for the abort.
  MPI_Abort(MPI_COMM_WORLD, code);
  std::_Exit(code);
}

}  // namespace ttt::comm
