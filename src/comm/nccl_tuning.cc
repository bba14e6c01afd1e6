#include "comm/nccl_tuning.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <fstream>
#include <regex>
#include <sstream>

#include "core/error.h"
#include "core/temp_folder.h"

namespace ttt::comm {
namespace {

constexpr const char* kAuto = "auto";
// Of several communicators of a process: NCCL opens one file.
std::string log_file() {
  static const TempFolder folder;
  return (folder / "nccl.log").string();
}

std::string lower(std::string text) {
  std::transform(
      text.begin(), text.end(), text.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

void refuse_users(const char* name, const std::string& key) {
  if (const char* set = std::getenv(name); set && *set)
    throw UsageError(
        std::string(name) + "=" + set + " is in the environment, and " + key + " in the recipe. Unset one of them.");
}

}  // namespace

ScopedEnvironment::~ScopedEnvironment() {
  for (const auto& [name, value] : before_)
    value ? ::setenv(name.c_str(), value->c_str(), 1) : ::unsetenv(name.c_str());
}

void ScopedEnvironment::set(const std::string& name, const std::string& value) {
  const char* now = std::getenv(name.c_str());
  before_.emplace(name, now ? std::optional<std::string>(now) : std::nullopt);
  ::setenv(name.c_str(), value.c_str(), 1);
}

// For all-reduces only: a broadcast has no tree, and NCCL fails where it is left without a choice.
void ask_by_environment(const NcclTuning& t, ScopedEnvironment& environment) {
  if (t.algorithm != kAuto) {
    refuse_users("NCCL_ALGO", "train.nccl.algorithm");
    environment.set("NCCL_ALGO", "allreduce:" + t.algorithm);
  }
  if (t.protocol != kAuto) {
    refuse_users("NCCL_PROTO", "train.nccl.protocol");
    environment.set("NCCL_PROTO", "allreduce:" + t.protocol);
  }
}

NcclLog::NcclLog(ScopedEnvironment& environment, void (*reopen)()) : file_(log_file()) {
  for (const char* name : {"NCCL_DEBUG", "NCCL_DEBUG_FILE", "NCCL_DEBUG_SUBSYS"})
    refuse_users(name, "train.nccl, which is checked by NCCL's log,");
  environment.set("NCCL_DEBUG", "INFO");
  environment.set("NCCL_DEBUG_SUBSYS", "INIT,TUNING");
  environment.set("NCCL_DEBUG_FILE", file_);
  if (reopen) reopen();
  news();  // of communicators before this one
}

std::string NcclLog::news() {
  std::ifstream in(file_, std::ios::binary | std::ios::ate);
  if (!in) return "";
  if (in.tellg() < read_) read_ = 0;  // opened anew
  in.seekg(read_);
  std::ostringstream text;
  text << in.rdbuf();
  read_ += static_cast<std::streamoff>(text.str().size());
  return text.str();
}

void NcclLog::check_channels(const NcclTuning& t) {
  if (t.channels == 0) return;
  // As NCCL 2.28 writes it when a communicator is made; nccl_tuning_test looks for these words in the library that is
  // linked.
  static const std::regex kLine(R"((\d+) coll channels, )");
  const std::string text = news();
  std::smatch found;
  if (!std::regex_search(text, found, kLine))
    throw NotSupported(
        "train.nccl.channels: NCCL did not write how many it uses, so it cannot be checked. Leave the key out.");
  if (std::stoll(found[1]) != t.channels)
    throw NotSupported("train.nccl.channels = " + std::to_string(t.channels) + ", but NCCL uses " + found[1].str() +
                       " between these GPUs. Ask for that number, or leave the key out.");
}

void NcclLog::check_all_reduce(const NcclTuning& t, std::size_t bytes) {
  if ((t.algorithm == kAuto && t.protocol == kAuto) || !checked_.insert(bytes).second) return;
  // As NCCL 2.28 writes it before it launches the kernel.
  static const std::regex kLine(R"(AllReduce: (\d+) Bytes -> Algo (\w+) proto (\w+))");
  const std::string text = news();
  for (std::sregex_iterator line(text.begin(), text.end(), kLine), end; line != end; ++line) {
    if (std::stoull((*line)[1]) != bytes) continue;
    const std::string algorithm = lower((*line)[2]), protocol = lower((*line)[3]);
    if ((t.algorithm == kAuto || t.algorithm == algorithm) && (t.protocol == kAuto || t.protocol == protocol)) return;
    throw NotSupported("train.nccl asks for algorithm " + t.algorithm + " and protocol " + t.protocol +
                       ", but NCCL uses " + algorithm + " and " + protocol + " for an all-reduce of " +
                       std::to_string(bytes) +
                       " bytes between these GPUs. Ask for what it can do, or leave the keys out.");
  }
  throw NotSupported("train.nccl: NCCL did not write what it uses for an all-reduce of " + std::to_string(bytes) +
                     " bytes, so it cannot be checked. Leave algorithm and protocol out.");
}

}  // namespace ttt::comm
