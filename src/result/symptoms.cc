#include "result/symptoms.h"

#include <algorithm>
#include <array>

#include "core/text.h"

namespace ttt::result {
namespace {

// Settings by their dotted keys; a workload may lack some.
class Settings {
 public:
  explicit Settings(const SymptomFacts& facts) : facts_(facts) {}

  const Json* find(const std::string& key) const {
    const Json* at = &facts_.settings;
    for (std::size_t begin = 0; begin <= key.size();) {
      const std::size_t end = std::min(key.find('.', begin), key.size());
      const auto member = at->find(key.substr(begin, end - begin));
      if (member == at->end()) return nullptr;
      at = &*member, begin = end + 1;
    }
    return at;
  }
  bool is(const std::string& key, const Json& value) const {
    const Json* found = find(key);
    return found && *found == value;
  }
  // `missing` where the workload has no such setting.
  double number(const std::string& key, double missing) const {
    const Json* found = find(key);
    return found && found->is_number() ? found->get<double>() : missing;
  }
  bool has_text(const std::string& key) const {
    const Json* found = find(key);
    return found && found->is_string() && !found->get<std::string>().empty();
  }

 private:
  const SymptomFacts& facts_;
};

class Examination {
 public:
  explicit Examination(const SymptomFacts& facts)
      : facts_(facts), set_(facts), on_gpu_(set_.is("device", "cuda")),
        images_(set_.number("train.images_per_rank", 8)), workers_(set_.number("data.workers", 1)),
        threads_(facts.built.value("threads_per_rank", 1.0)) {}

  std::vector<Symptom> run() {
    programs();
    processors();
    loading();
    followers();
    if (on_gpu_) device();
    else host();
    if (facts_.ranks > 1) communication();
    return std::move(found_);
  }

 private:
  void add(bool is_so, const char* id, std::string what, std::string remedy, std::string ablation = "") {
    if (is_so) found_.push_back({id, std::move(what), std::move(remedy), std::move(ablation)});
  }

  // How the programs were built, and what the environment makes of them.
  void programs() {
    add(!facts_.sanitize.empty(), "sanitizer", "The programs are built with the " + facts_.sanitize + " sanitizer.",
        "Build with cmake --preset default.");
    add(facts_.build_type == "Debug", "debug_build", "The programs are built without optimisation.",
        "Build with cmake --preset default.");
    constexpr std::array<std::array<const char*, 2>, 6> kDebugging = {
        {{"CUDA_LAUNCH_BLOCKING", "waits for each kernel"}, {"MKL_VERBOSE", "prints each call of MKL"},
            {"ONEDNN_VERBOSE", "prints each call of oneDNN"}, {"DNNL_VERBOSE", "prints each call of oneDNN"},
            {"NCCL_DEBUG", "prints what NCCL does"}, {"MALLOC_CHECK_", "checks every allocation"}}};
    for (const auto& [name, effect] : kDebugging) {
      const auto value = facts_.environment.find(name);
      const bool is_on = value != facts_.environment.end() && !value->second.empty() && value->second != "0" &&
                         value->second != "WARN" && value->second != "VERSION";
      add(is_on, "debug_environment", std::string(name) + " is set, which " + effect + ".",
          std::string("Unset ") + name + ".");
    }
    for (const char* name : {"ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA", "ATEN_CPU_CAPABILITY"}) {
      const auto found = facts_.environment.find(name);
      const std::string value = found == facts_.environment.end() ? "" : found->second;
      add(!value.empty() && value != "ALL" && !on_gpu_, "older_instructions",
          std::string(name) + " is " + value + ", which leaves instructions of this processor unused.",
          std::string("Unset ") + name + ".");
    }
  }

  void processors() {
    const auto cores = static_cast<double>(facts_.cores), ranks = static_cast<double>(facts_.node_ranks);
    const std::string here = std::to_string(facts_.cores) + " cores";
    add(ranks > cores, "more_ranks_than_cores", std::to_string(facts_.node_ranks) + " ranks share " + here + ".",
        "Start at most a rank for each core.", "threads_against_ranks");
    add(ranks <= cores && ranks * threads_ > cores, "more_threads_than_cores",
        fixed("%lld ranks of %.0f threads share ", static_cast<long long>(facts_.node_ranks), threads_) + here + ".",
        "Leave train.threads at 0: the cores of the node, divided by its ranks.", "threads_against_ranks");
    add(static_cast<double>(facts_.usable_cores) < threads_, "bound_too_narrowly",
        fixed("A rank of %.0f threads is bound to %lld of the node's ", threads_,
            static_cast<long long>(facts_.usable_cores)) +
            here + ".",
        "Start with mpirun --bind-to none, or bind each rank to as many cores as it has threads.");
    const double bound = static_cast<double>(facts_.bound_cores.value_or(facts_.cores));
    add(ranks * threads_ <= cores && ranks * threads_ > bound, "ranks_share_cores",
        fixed("%lld ranks of %.0f threads are bound to %.0f of ", static_cast<long long>(facts_.node_ranks), threads_,
            bound) +
            here + ".",
        "Start with mpirun --bind-to none, or bind each rank to cores of its own.");
    add(facts_.others_share.value_or(0) > 0.1, "busy_machine",
        fixed("Other processes take %.0f %% of the processors.", 100 * facts_.others_share.value_or(0)),
        "End them, or run on another node.");
    add(facts_.clock_share.value_or(1) < 0.7, "throttled",
        fixed("The processor runs at %.0f %% of its highest clock.", 100 * facts_.clock_share.value_or(1)),
        "Look at its power limit, its temperature and the governor.");
  }

  void loading() {
    const double cores_of_rank = static_cast<double>(facts_.cores) / static_cast<double>(facts_.node_ranks);
    add(workers_ == 0, "no_worker", "No loader thread: each step waits until its images are read and decoded.",
        "Set data.workers=1 or more.", "workers");
    add(workers_ > std::max(4.0, 2 * cores_of_rank) && !on_gpu_, "too_many_workers",
        fixed("%.0f loader threads of a rank compete for %.2g cores with its step.", workers_, cores_of_rank),
        "Set data.workers to the cores of a rank or fewer.", "workers");
    add(workers_ > 1 && set_.number("data.prefetch", 2) == 1, "no_prefetch",
        "Loader threads may work one batch ahead only, so all but one of them wait.", "Set data.prefetch=2 or more.",
        "workers");
    add(facts_.built.contains("loader") && facts_.built["loader"].value("read", "pread") == "hdf5", "hdf5_reads",
        "Records are read through HDF5, which takes one lock for all threads.", "Set data.read=pread.", "read_path");
    constexpr double kGigabyte = 1e9;  // what is less is read within seconds
    add(facts_.cold_bytes.value_or(0) > kGigabyte, "cold_data",
        fixed("%.3g GB of the training data are not in memory: the first epoch reads the disk.",
            facts_.cold_bytes.value_or(0) / kGigabyte),
        "Read the shards once before the run: cat DIR/*.h5 > /dev/null.");
  }

  // What looks at the run takes part of it.
  void followers() {
    add(set_.number("train.profile_steps", 0) > 0, "profiler", "The profiler follows steps, which take longer by it.",
        "Set train.profile_steps=0.");
    add(set_.number("train.trace_steps", 0) > 0, "trace", "Steps are traced, which takes part of them.",
        "Set train.trace_steps=0.");
    add(set_.is("train.strict_sync", true), "strict_sync", "A step in which the host waits ends the run: it is a test.",
        "Set train.strict_sync=false.");
    const bool has_telemetry = set_.has_text("train.telemetry.folder");
    add(has_telemetry && set_.number("train.telemetry.histograms_every", 0) == 1, "histograms_each_step",
        "Histograms of all weights and gradients are made in every sample of telemetry.",
        "Set train.telemetry.histograms_every=10 or more.", "telemetry");
    add(has_telemetry && set_.number("train.telemetry.every_steps", 10) == 1, "telemetry_each_step",
        "Norms of all weights and gradients are made in every step.", "Set train.telemetry.every_steps=10 or more.",
        "telemetry");
    const double check = set_.number("train.check_replicas_every", 100);
    add(facts_.ranks > 1 && check > 0 && check < 10, "replica_checks",
        fixed("All weights are compared over the ranks every %.0f steps.", check),
        "Set train.check_replicas_every=100.");
    const bool saves = set_.has_text("train.checkpoint.folder");
    const double every_s = set_.number("train.checkpoint.every_s", 0),
                 every_steps =
                     set_.number("train.checkpoint.every_epochs", 1) * static_cast<double>(facts_.steps_per_epoch);
    add(saves && ((every_s > 0 && every_s < 30) || every_steps < 20), "frequent_checkpoints",
        "Checkpoints are written every few seconds or steps, and training waits for each.",
        "Set train.checkpoint.every_s=600 or more.");
    const double evaluation_steps =
        set_.number("train.eval_every_epochs", 1) * static_cast<double>(facts_.steps_per_epoch);
    add(evaluation_steps < 10, "frequent_evaluations",
        fixed("An evaluation follows every %.0f steps, and training waits for it.", std::max(1.0, evaluation_steps)),
        "Set train.eval_every_epochs=1, and train.eval_near_every_epochs near the target.", "eval_sharding");
    add(on_gpu_ && set_.number("train.gpu_every_s", 0.5) > 0 && set_.number("train.gpu_every_s", 0.5) < 0.02,
        "frequent_looks", "The GPU's counters are read more than 50 times a second.", "Set train.gpu_every_s=0.5.");
  }

  void device() {
    add(set_.is("model.precision", "fp32"), "no_matrix_units",
        "The GPU multiplies in fp32, which leaves its matrix units idle.", "Set model.precision=bf16.", "precision");
    add(set_.is("model.shapes", "dynamic"), "waits_for_shapes",
        "The host asks the GPU in each step how many proposals are positive, and waits for the answer.",
        "Set model.shapes=static.", "sync_free");
    add(set_.is("train.pin_memory", false), "pageable_copies",
        "Batches lie in pageable memory, so the host waits for their copies.", "Set train.pin_memory=true.",
        "pinned_memory");
    add(set_.is("train.pin_memory", true) && set_.is("train.copy_stream", false), "copies_in_line",
        "Batches are copied by the step's own stream, one after the other.", "Set train.copy_stream=true.",
        "pinned_memory");
    const bool varies = set_.is("data.padding", "batch") || set_.is("model.shapes", "dynamic");
    add(varies && set_.is("train.cudnn_autotune", true), "tuning_of_each_shape",
        "Tensors change size from batch to batch, and cuDNN's autotuner times all algorithms for each size.",
        "Set data.padding=two and model.shapes=static, or train.cudnn_autotune=false.", "cudnn_autotune");
    add(!varies && set_.is("train.cudnn_autotune", false), "no_autotune",
        "Batches have one or two sizes, and cuDNN's autotuner is off.", "Set train.cudnn_autotune=true.",
        "cudnn_autotune");
    add(images_ < 4, "small_batch", fixed("A GPU gets %.0f images in a step, and waits for launches.", images_),
        "Set train.images_per_rank=4 or more, as far as the recipe's accuracy allows.");
    add(images_ < 8 && set_.is("train.graphs", "none") && !set_.is("model.shapes", "dynamic"), "no_graphs",
        "Each kernel is launched by the host, which a small batch waits for.", "Set train.graphs=full.", "cuda_graphs");
  }

  void host() {
    add(set_.is("model.shapes", "static"), "fillers",
        "Fixed shapes make the mask branch work on fillers, and a CPU gains nothing by them.",
        "Set model.shapes=dynamic.", "sync_free");
    add(set_.is("train.keep_memory", false), "memory_returned",
        "What a step frees goes back to the system, and comes again page by page.", "Set train.keep_memory=true.",
        "freed_memory");
  }

  void communication() {
    add(on_gpu_ && set_.is("train.reducer.kind", "blocking"), "blocking_reducer",
        "Gradients travel after backward, while the GPU waits.", "Set train.reducer.kind=bucketed.", "reducer");
    add(set_.is("train.reducer.kind", "bucketed") && set_.number("train.reducer.bucket_bytes", 1e6) < 32768,
        "small_buckets",
        fixed("Buckets of %.0f bytes make many small messages.", set_.number("train.reducer.bucket_bytes", 0)),
        "Set train.reducer.bucket_bytes=262144 or more.", "bucket_bytes");
    const auto btl = facts_.environment.find("OMPI_MCA_btl");
    const bool tcp_alone = btl != facts_.environment.end() && btl->second.find("tcp") != std::string::npos &&
                           btl->second.find("vader") == std::string::npos && btl->second.find('^') == std::string::npos;
    add(tcp_alone && facts_.node_ranks > 1, "tcp_in_a_node",
        "OMPI_MCA_btl=" + (tcp_alone ? btl->second : "") + " sends messages within a node by TCP.",
        "Unset OMPI_MCA_btl.");
  }

  const SymptomFacts& facts_;
  const Settings set_;
  const bool on_gpu_;
  const double images_, workers_, threads_;
  std::vector<Symptom> found_;
};

}  // namespace

std::vector<Symptom> symptoms(const SymptomFacts& facts) { return Examination(facts).run(); }

std::string symptoms_text(const std::vector<Symptom>& found) {
  if (found.empty()) return "Nothing found that costs time without need.\n";
  std::string out = counted(found.size(), "thing") + " found that cost" + (found.size() == 1 ? "s" : "") +
                    " time, the worst first:\n";
  for (const Symptom& s : found) {
    out += "- " + s.id + ": " + s.what + " " + s.remedy;
    if (!s.ablation.empty()) out += " How much it is worth here: ablate " + s.ablation + ".";
    out += "\n";
  }
  return out;
}

}  // namespace ttt::result
