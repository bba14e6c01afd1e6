#include "result/provenance.h"

#include <provenance.h>  // generated at build time; in quotes it would be this folder's own

#include <algorithm>
#include <array>
#include <ctime>
#include <string_view>

extern char** environ;

namespace ttt::result {
namespace {

constexpr std::array<std::string_view, 11> kPrefixes = {
    "NCCL_", "CUDA_", "OMPI_MCA_", "OMP_", "SLURM_JOB_", "MKL_", "ONEDNN_", "DNNL_", "ATEN_", "MALLOC_", "TTT_"};

// What Open MPI's launcher tells its own processes: addresses, folders and keys of one launch. Nobody set it, and it is
// nobody's business.
constexpr std::array<std::string_view, 4> kLaunchers = {
    "OMPI_MCA_orte_", "OMPI_MCA_ess", "OMPI_MCA_pmix", "OMPI_MCA_initial_wdir"};

bool kept(std::string_view text) {
  const auto begins = [text](std::string_view prefix) { return text.starts_with(prefix); };
  return std::any_of(kPrefixes.begin(), kPrefixes.end(), begins) &&
         std::none_of(kLaunchers.begin(), kLaunchers.end(), begins);
}

std::map<std::string, std::string> kept_environment() {
  std::map<std::string, std::string> found;
  for (char** entry = environ; entry && *entry; ++entry) {
    const std::string_view text = *entry;
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos) continue;
    if (kept(text)) found[std::string(text.substr(0, equals))] = std::string(text.substr(equals + 1));
  }
  return found;
}

}  // namespace

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

std::string version_text() {
  std::string text = provenance::kVersion;
  text.append(" (").append(provenance::kCommit).append(provenance::kDirty ? ", dirty)" : ")");
  return text;
}

Json provenance_json(const std::vector<std::string>& command, const std::map<std::string, LibraryVersion>& libraries) {
  return json_of(Provenance{.version = provenance::kVersion,
      .commit = provenance::kCommit,
      .dirty = provenance::kDirty,
      .compiler = provenance::kCompiler,
      .flags = provenance::kFlags,
      .build_type = provenance::kBuildType,
      .sanitize = provenance::kSanitize,
      .cuda_compiler = provenance::kCudaCompiler,
      .libraries = libraries,
      .command = command,
      .environment = kept_environment(),
      .started_at = utc_now()});
}

}  // namespace ttt::result
