#include "fake_nccl.h"

#include <cuda_runtime_api.h>
#include <nccl.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>

namespace fake {

State& state() {
  static State all;
  return all;
}

void reset() {
  State& s = state();
  const std::lock_guard lock(s.mutex);
  s.caller = std::this_thread::get_id();
  s.calls.clear(), s.fails.clear(), s.seen.clear();
  s.fails_at = 1, s.collectives_end = s.init_ends = true, s.peer_fails = false, s.version = 0;
  s.algorithm = "Ring", s.protocol = "Simple", s.channels = 24, s.heeds = true, s.silent = false;
}

int count(const std::string& function) {
  State& s = state();
  const std::lock_guard lock(s.mutex);
  const auto at = s.seen.find(function);
  return at == s.seen.end() ? 0 : at->second;
}

std::vector<std::string> calls() {
  State& s = state();
  const std::lock_guard lock(s.mutex);
  return s.calls;
}

std::vector<std::string> functions() {
  State& s = state();
  const std::lock_guard lock(s.mutex);
  std::vector<std::string> names;
  for (const auto& [name, n] : s.seen) names.push_back(name);
  return names;
}

namespace {

// Notes the call; whether it fails. Without `what` it is only counted.
bool call(const std::string& function, const std::string& what = "") {
  State& s = state();
  const std::lock_guard lock(s.mutex);
  if (!what.empty() && std::this_thread::get_id() == s.caller) s.calls.push_back(function + " " + what);
  return ++s.seen[function] == s.fails_at && s.fails == function;
}
cudaError_t cuda(const std::string& function, const std::string& what = "") {
  return call(function, what) ? cudaErrorUnknown : cudaSuccess;
}
ncclResult_t nccl(const std::string& function, const std::string& what = "") {
  return call(function, what) ? ncclSystemError : ncclSuccess;
}

// Handles are numbers in order of their making: streams and events from 1.
template <class T> T handle(std::uintptr_t n) { return reinterpret_cast<T>(n); }
template <class T> std::string number(T h) { return std::to_string(reinterpret_cast<std::uintptr_t>(h)); }
std::uintptr_t next_event = 100, next_stream = 1;

// Where it logs is looked up once, until somebody has it look again, as NCCL does.
std::optional<std::string> log_path;
void log(const char* format, auto... values) {
  if (!log_path) {
    const char* level = std::getenv("NCCL_DEBUG");
    const char* file = std::getenv("NCCL_DEBUG_FILE");
    log_path = level && file && std::string(level) == "INFO" ? file : "";
  }
  if (log_path->empty() || state().silent) return;
  std::FILE* out = std::fopen(log_path->c_str(), "a");
  std::fputs("node:12:12 [0] NCCL INFO ", out);
  std::fprintf(out, format, values...);
  std::fputs("\n", out);
  std::fclose(out);
}
int rank_of_comm = 0, channels_of_comm = 0;
std::string algorithm_of_comm, protocol_of_comm;
// "allreduce:ring": what follows the colon.
std::string asked(const char* name, const std::string& otherwise) {
  const char* value = std::getenv(name);
  return value && state().heeds ? std::string(value).substr(std::string(value).find(':') + 1) : otherwise;
}

}  // namespace
}  // namespace fake

using fake::call;
using fake::cuda;
using fake::nccl;
using fake::number;

extern "C" {

cudaError_t cudaSetDevice(int device) { return cuda("cudaSetDevice", std::to_string(device)); }
const char* cudaGetErrorString(cudaError_t) { return "fake"; }
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  *event = fake::handle<cudaEvent_t>(fake::next_event++);
  return cuda("cudaEventCreateWithFlags");
}
cudaError_t cudaEventDestroy(cudaEvent_t) { return cuda("cudaEventDestroy"); }
cudaError_t cudaEventQuery(cudaEvent_t) {
  if (call("cudaEventQuery")) return cudaErrorUnknown;
  const std::lock_guard lock(fake::state().mutex);
  return fake::state().collectives_end ? cudaSuccess : cudaErrorNotReady;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return cuda("cudaEventRecord", number(event) + " on stream " + number(stream));
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  return cuda("cudaStreamWaitEvent", number(event) + " on stream " + number(stream));
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) { return cuda("cudaStreamSynchronize", number(stream)); }
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned, int) {
  *stream = fake::handle<cudaStream_t>(fake::next_stream++);
  return cuda("cudaStreamCreateWithPriority", number(*stream));
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) { return cuda("cudaStreamDestroy", number(stream)); }
cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  *least = 0, *greatest = -5;
  return cuda("cudaDeviceGetStreamPriorityRange");
}
cudaError_t cudaStreamIsCapturing(cudaStream_t, cudaStreamCaptureStatus* status) {
  {
    const std::lock_guard lock(fake::state().mutex);
    *status = fake::state().capturing ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
  }
  return cuda("cudaStreamIsCapturing");
}
cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode*) {
  return cuda("cudaThreadExchangeStreamCaptureMode");
}

ncclResult_t ncclGetVersion(int* version) {
  const ncclResult_t result = nccl("ncclGetVersion");
  const std::lock_guard lock(fake::state().mutex);
  *version = fake::state().version > 0 ? fake::state().version : NCCL_VERSION_CODE;
  return result;
}
ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  std::memset(id, 0x5a, sizeof *id);
  return nccl("ncclGetUniqueId", "");
}
void ncclResetDebugInit() { fake::log_path.reset(); }
ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int size, ncclUniqueId id, int rank, ncclConfig_t* config) {
  fake::rank_of_comm = rank;
  fake::algorithm_of_comm = fake::asked("NCCL_ALGO", fake::state().algorithm),
  fake::protocol_of_comm = fake::asked("NCCL_PROTO", fake::state().protocol);
  const bool bounded =
      config->minCTAs != NCCL_CONFIG_UNDEF_INT && config->minCTAs == config->maxCTAs && fake::state().heeds;
  fake::channels_of_comm = bounded ? config->minCTAs : fake::state().channels;
  if (rank == 0) fake::log(fake::kChannelsLine, fake::channels_of_comm, 0, 0, 32, 32);
  *comm = fake::handle<ncclComm_t>(7);
  const auto* bytes = reinterpret_cast<const unsigned char*>(&id);
  const bool whole = std::all_of(bytes, bytes + sizeof id, [](unsigned char b) { return b == 0x5a; });
  const ncclResult_t result = nccl("ncclCommInitRankConfig",
      "rank " + std::to_string(rank) + " of " + std::to_string(size) + (whole ? "" : " with another id"));
  return result == ncclSuccess ? ncclInProgress : result;
}
ncclResult_t ncclCommGetAsyncError(ncclComm_t, ncclResult_t* state) {
  const ncclResult_t result = nccl("ncclCommGetAsyncError");
  const std::lock_guard lock(fake::state().mutex);
  *state = fake::state().peer_fails ? ncclRemoteError : fake::state().init_ends ? ncclSuccess : ncclInProgress;
  return result;
}
ncclResult_t ncclCommFinalize(ncclComm_t) { return nccl("ncclCommFinalize", "the communicator"); }
ncclResult_t ncclCommDestroy(ncclComm_t) { return nccl("ncclCommDestroy", "the communicator"); }
ncclResult_t ncclCommAbort(ncclComm_t) { return nccl("ncclCommAbort", "the communicator"); }
const char* ncclGetErrorString(ncclResult_t) { return "fake"; }
ncclResult_t ncclBroadcast(
    const void*, void*, size_t bytes, ncclDataType_t, int root, ncclComm_t, cudaStream_t stream) {
  return nccl("ncclBroadcast",
      std::to_string(bytes) + " bytes of rank " + std::to_string(root) + " on stream " + number(stream));
}
ncclResult_t ncclAllReduce(
    const void*, void*, size_t count, ncclDataType_t type, ncclRedOp_t op, ncclComm_t, cudaStream_t stream) {
  if (fake::rank_of_comm == 0)
    fake::log(fake::kAllReduceLine, "AllReduce", static_cast<long>(count * (type == ncclFloat32 ? 4 : 8)),
        fake::algorithm_of_comm.c_str(), fake::protocol_of_comm.c_str(), 0, fake::channels_of_comm - 1);
  return nccl("ncclAllReduce", std::to_string(count) + (type == ncclFloat32 ? " floats" : " doubles") +
                                   (op == ncclSum ? ", sum" : ", max") + " on stream " + number(stream));
}

}  // extern "C"
