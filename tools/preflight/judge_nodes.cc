#include <algorithm>
#include <cctype>
#include <cstdio>
#include <functional>

#include "tools/preflight/cpu_list.h"
#include "tools/preflight/judge.h"

namespace ttt::preflight {
namespace {

using result::Check;
using result::Json;

Check named(const char* name) { return {.name = name, .status = "ok"}; }

// Ranks of one run add up each other's gradients: another build or another kind of CPU computes other bits, and the
// replicas part.
Check versions(const Cluster& c) {
  Check check = named("versions");
  const Odd odd = odd_ones(c.of_rank("build"));
  check.facts["commit"] = odd.usual.value("commit", "unknown");
  std::string text;
  const Json libraries = odd.usual.value("libraries", Json::object());
  for (const auto& [name, version] : libraries.items())
    text.append(text.empty() ? "" : ", ")
        .append(name)
        .append(" ")
        .append(version.value("runtime", version.value("built", "unknown")));
  check.facts["libraries"] = text;
  if (odd.who.empty()) {
    check.sentence =
        "All ranks run commit " + odd.usual.value("commit", "unknown").substr(0, 12) + " with the same libraries.";
    return check;
  }
  check.status = "failed";
  check.sentence = "Of " + c.names(odd.who) + ", " + difference_text(c.rank(odd.who[0]).at("build"), odd.usual) +
                   " as of the others: start every rank from one build, with the same libraries, on one kind of CPU.";
  return check;
}

Check environment(const Cluster& c) {
  Check check = named("environment");
  const Odd odd = odd_ones(c.of_rank("environment"));
  check.facts["usual"] = odd.usual.dump();
  check.sentence = "All ranks see the same variables of this suite, OpenMP, MKL and NCCL.";
  if (odd.who.empty()) return check;
  check.status = "warning";
  check.sentence = "In the environment of " + c.names(odd.who) + ", " +
                   difference_text(c.rank(odd.who[0]).at("environment"), odd.usual) +
                   " as in the others': let the launcher pass it on (mpirun -x NAME, srun --export=ALL).";
  return check;
}

Check hosts(const Cluster& c, const Settings& s) {
  Check check = named("hosts");
  Json per_node = Json::array();
  for (int n = 0; n < c.nodes(); ++n) per_node.push_back(c.ranks_of(n).size());
  check.facts = {{"ranks_of_node", per_node}, {"cpu_of_node", c.of_node("cpu")},
      {"kernel_of_node", c.of_node("kernel")}, {"cpus_of_node", c.of_node("logical_cores")}};
  const Odd odd = odd_ones(per_node);
  const auto wanted = s.ranks_per_node > 0 ? s.ranks_per_node : odd.usual.get<std::int64_t>();
  check.sentence = std::to_string(c.ranks()) + " ranks on " + std::to_string(c.nodes()) +
                   (c.nodes() > 1 ? " nodes, " : " node, ") + std::to_string(wanted) + " on each.";
  for (int n = 0; n < c.nodes(); ++n)
    if (static_cast<std::int64_t>(c.ranks_of(n).size()) != wanted) {
      check.status = s.ranks_per_node > 0 ? "failed" : "warning";
      check.sentence = "Node " + std::to_string(n) + " has " + std::to_string(c.ranks_of(n).size()) + " ranks, not " +
                       std::to_string(wanted) +
                       ": place the same number on each node (srun --ntasks-per-node, mpirun --map-by ppr:N:node).";
      return check;
    }
  for (const char* member : {"cpu", "logical_cores", "kernel"})
    if (const Odd other = odd_ones(c.of_node(member)); !other.who.empty()) {
      check.status = "warning";
      check.sentence += " " + capital(Cluster::node_names(other.who)) +
                        (other.who.size() == 1 ? " differs" : " differ") + " in " + member + " (" +
                        c.node(other.who[0]).value(member, Json()).dump() + ", the others " + other.usual.dump() +
                        "): times of such a run are those of the slowest node.";
      return check;
    }
  return check;
}

// Pairs of ranks of one node that share something.
std::vector<std::pair<int, int>> sharing_pairs(const Cluster& c, const std::function<bool(int, int)>& share) {
  std::vector<std::pair<int, int>> pairs;
  for (int n = 0; n < c.nodes(); ++n)
    for (const int a : c.ranks_of(n))
      for (const int b : c.ranks_of(n))
        if (a < b && share(a, b)) pairs.emplace_back(a, b);
  return pairs;
}

// Whether the ranks of each node may use at least as many cores together as they are.
bool enough_cores(const Cluster& c, const std::vector<CpuSet>& cores) {
  for (int n = 0; n < c.nodes(); ++n) {
    CpuSet all;
    for (const int r : c.ranks_of(n)) all.insert(cores[r].begin(), cores[r].end());
    if (all.size() < c.ranks_of(n).size()) return false;
  }
  return true;
}

Check binding(const Cluster& c, const Settings& s) {
  Check check = named("binding");
  check.facts = {{"cpus_of_rank", c.of_rank("cpus")}, {"cores_of_rank", c.of_rank("cores")},
      {"numa_of_rank", c.of_rank("numa")}, {"meant", s.cores}};
  std::vector<CpuSet> cores;
  for (int r = 0; r < c.ranks(); ++r) cores.push_back(parse_cpu_list(c.rank(r).value("cores", "")));
  const auto pairs = sharing_pairs(c, [&](int a, int b) { return intersect(cores[a], cores[b]); });
  if (s.cores == "shared") {
    check.sentence = pairs.empty() ? "No two ranks of a node share a core."
                                   : "Ranks share cores, as cores = shared says they are meant to.";
    return check;
  }
  if (!pairs.empty()) {
    const auto [a, b] = pairs.front();
    const std::string remedy =
        "bind each rank to its own cores (srun --cpu-bind=cores, mpirun --bind-to core --map-by slot:PE=N)";
    if (enough_cores(c, cores)) {
      check.status = "warning";
      check.sentence =
          "Ranks may wander between the cores of their node: times vary more. For steadier times " + remedy + ".";
      return check;
    }
    check.status = "failed";
    check.sentence = "Ranks " + std::to_string(a) + " and " + std::to_string(b) + " (node " +
                     std::to_string(c.node_of(a)) + ") may both run on cores of " + c.rank(a).value("cores", "") +
                     " and " + c.rank(b).value("cores", "") + " (" + std::to_string(pairs.size()) +
                     " such pairs in all): " + remedy + ", or, if sharing is intended: --set cores=shared.";
    return check;
  }
  std::vector<int> wide;
  for (int r = 0; r < c.ranks(); ++r)
    if (parse_cpu_list(c.rank(r).value("numa", "")).size() > 1) wide.push_back(r);
  check.sentence = "Each rank has cores of its own.";
  if (wide.empty()) return check;
  check.status = "warning";
  check.sentence =
      "The cores of " + c.names(wide) +
      " lie on several NUMA nodes: memory on the other one is slower. Give a rank fewer cores, or more ranks to a "
      "node.";
  return check;
}

Check memory(const Cluster& c, const Settings& s) {
  Check check = named("memory");
  check.facts = {{"available_bytes_of_node", c.of_node("memory_available_bytes")}};
  for (int n = 0; n < c.nodes(); ++n) {
    const auto available = c.node(n).value("memory_available_bytes", std::int64_t{-1});
    const auto needed = s.memory_per_rank_bytes * static_cast<std::int64_t>(c.ranks_of(n).size());
    if (available < 0) {
      check.status = "not_supported";
      check.sentence = "The free memory of node " + std::to_string(n) + " cannot be read.";
    } else if (available < needed) {
      check.status = "failed";
      check.sentence = "Node " + std::to_string(n) + " has " + bytes_text(static_cast<double>(available)) +
                       " of memory free, its " + std::to_string(c.ranks_of(n).size()) + " ranks are to have " +
                       bytes_text(static_cast<double>(needed)) +
                       ": end what else runs there, use fewer ranks, or lower memory_per_rank_bytes.";
      return check;
    }
  }
  if (check.status == "ok")
    check.sentence = "Every node has " + bytes_text(static_cast<double>(s.memory_per_rank_bytes)) +
                     " and more for each of its ranks.";
  return check;
}

Check disk(const Cluster& c, const Settings& s) {
  Check check = named("disk");
  check.sentence = "The folders of results, of the cache and of temporary files can be written and have " +
                   bytes_text(static_cast<double>(s.disk_bytes)) + " and more.";
  for (int n = 0; n < c.nodes(); ++n)
    for (const Json& d : c.node(n).value("disk", Json::array())) {
      const std::string folder = d.value("folder", ""),
                        room = std::string(folder == "temporary files" ? "temporary" : folder) + "_free_bytes_of_node";
      if (!check.facts.contains(room)) check.facts[room] = Json::array();
      while (check.facts[room].size() < static_cast<std::size_t>(n)) check.facts[room].push_back(nullptr);
      check.facts[room].push_back(d.value("free_bytes", Json()));
      const bool full = d.contains("free_bytes") && d["free_bytes"].get<std::int64_t>() < s.disk_bytes;
      if ((!full && !d.contains("problem")) || check.status == "failed") continue;
      // Rank 0 writes the result; the others leave what they know in its journal there, and do without where they
      // cannot.
      check.status = folder == "result" && n != c.node_of(0) ? "warning" : "failed";
      check.sentence = "On node " + std::to_string(n) + " the folder for " +
                       (folder == "result"     ? "results, "
                           : folder == "cache" ? "the cache, "
                                               : "temporary files, ") +
                       d.value("path", "") + ", " +
                       (full ? "has " + bytes_text(d["free_bytes"].get<double>()) + " free, less than disk_bytes"
                             : d.value("problem", "")) +
                       ": free space there, or name another (" +
                       (folder == "result"     ? "--out; on a file system that all nodes share"
                           : folder == "cache" ? "TTT_CACHE"
                                               : "TMPDIR") +
                       ").";
    }
  return check;
}

Check frequency(const Cluster& c) {
  Check check = named("frequency");
  const Json governors = c.of_node("governors");
  check.facts = {{"governors_of_node", Json::array()}};
  bool unread = true, slow = false;
  for (const Json& g : governors) {
    std::string text;
    for (const Json& name : g.is_array() ? g : Json::array()) {
      if (!text.empty()) text += ',';
      text += name.get<std::string>();
    }
    check.facts["governors_of_node"].push_back(text.empty() ? "unknown" : text);
    unread &= text.empty();
    slow |= !text.empty() && text != "performance";
  }
  const Odd odd = odd_ones(governors);
  if (unread)
    check.status = "not_supported",
    check.sentence = "No node tells how it chooses its CPUs' frequency (no cpufreq here).";
  else if (!odd.who.empty())
    check.status = "warning",
    check.sentence = "The frequency governor of " + Cluster::node_names(odd.who) +
                     " is not that of the others: the slowest node sets the pace. Ask for one setting (srun "
                     "--cpu-freq=Performance).";
  else if (slow)
    check.status = "warning",
    check.sentence = "The frequency governor is " + check.facts["governors_of_node"][0].get<std::string>() +
                     ": times will vary with the load. Ask for the other one (srun --cpu-freq=Performance).";
  else check.sentence = "All CPUs are governed by 'performance'.";
  return check;
}

Check gpus(const Cluster& c, const Settings& s) {
  Check check = named("gpus");
  Json count = Json::array(), driver = Json::array(), names = Json::array();
  std::string broken, slowed;
  for (int n = 0; n < c.nodes(); ++n) {
    const Json g = c.node(n).value("gpus", Json::object()), devices = g.value("devices", Json::array());
    count.push_back(devices.size()), driver.push_back(g.value("driver", "none"));
    for (std::size_t i = 0; i < devices.size(); ++i) {
      const std::string which =
          "GPU " + std::to_string(i) + " of node " + std::to_string(n) + " (" + devices[i].value("name", "") + ")";
      names.push_back(devices[i].value("name", ""));
      if (devices[i].value("uncorrected_ecc_errors", -1) > 0 && broken.empty())
        broken = which + " has " + std::to_string(devices[i].value("uncorrected_ecc_errors", 0)) +
                 " uncorrected memory errors: have it reset or take the node out.";
      if (!devices[i].value("slowed_by", Json::array()).empty() && slowed.empty())
        slowed = which + " is slowed down by " + devices[i]["slowed_by"][0].get<std::string>() + " at " +
                 std::to_string(devices[i].value("temperature_c", -1)) +
                 " degrees Celsius: look at its cooling and power.";
    }
  }
  check.facts = {{"count_of_node", count}, {"driver_of_node", driver}, {"names", names}};
  const Odd counts = odd_ones(count), drivers = odd_ones(driver);
  const auto wanted = s.gpus_per_node > 0 ? s.gpus_per_node : counts.usual.get<std::int64_t>();
  const auto few =
      std::find_if(count.begin(), count.end(), [&](const Json& n) { return n.get<std::int64_t>() != wanted; });
  if (wanted == 0 && counts.who.empty())
    check.status = "not_used",
    check.sentence = "With device=cpu none is needed. " +
                     c.node(0).value("gpus", Json::object()).value("reason", "The NVIDIA driver finds no GPU.");
  else if (few != count.end())
    check.status = "failed", check.sentence = "Node " + std::to_string(few - count.begin()) + " has " + few->dump() +
                                              " GPUs, not " + std::to_string(wanted) +
                                              ": take the node out, or say how many there are to be (gpus_per_node).";
  else if (!broken.empty()) check.status = "failed", check.sentence = broken;
  else if (!drivers.who.empty())
    check.status = "warning",
    check.sentence = "The NVIDIA driver of " + Cluster::node_names(drivers.who) + " is not that of the others (" +
                     driver[drivers.who[0]].get<std::string>() + ", " + drivers.usual.get<std::string>() + ").";
  else if (!slowed.empty()) check.status = "warning", check.sentence = slowed;
  else
    check.sentence = "Every node has " + std::to_string(wanted) + " GPUs without uncorrected errors, driver " +
                     drivers.usual.get<std::string>() + ".";
  return check;
}

// Ranks that see one GPU each cannot know whether it is the same one.
Check gpu_binding(const Cluster& c, const Settings& s) {
  Check check = named("gpu_binding");
  Json ids = Json::array(), numa = Json::array();
  std::vector<int> without, far;
  for (int r = 0; r < c.ranks(); ++r) {
    const Json gpu = c.rank(r).value("gpu", Json::object());
    ids.push_back(gpu.value("bus_id", Json())), numa.push_back(gpu.value("numa", -1));
    if (ids.back().is_null()) without.push_back(r);
    const CpuSet cores = parse_cpu_list(c.rank(r).value("numa", ""));
    if (const int of_gpu = numa.back().get<int>(); of_gpu >= 0 && !cores.empty() && !cores.contains(of_gpu))
      far.push_back(r);
  }
  check.facts = {{"gpu_of_rank", ids}, {"numa_of_gpu", numa}};
  if (!without.empty()) {
    const std::string reason =
        c.rank(without[0]).value("gpu", Json::object()).value("reason", "The CUDA driver finds no GPU.");
    const bool all = without.size() == ids.size(),
               none = c.node(0).value("gpus", Json::object()).value("devices", Json::array()).empty();
    // a run on CPUs may be meant, where none was asked for
    const bool on_cpus = all && none && s.gpus_per_node == 0;
    check.status = on_cpus ? "not_used" : all && s.gpus_per_node == 0 ? "warning" : "failed";
    check.facts["reason"] = reason;
    check.sentence =
        on_cpus ? "With device=cpu no rank needs one." : capital(c.names(without)) + " would have no GPU: " + reason;
    return check;
  }
  if (const auto pairs = sharing_pairs(c, [&](int a, int b) { return ids[a] == ids[b]; }); !pairs.empty()) {
    const auto [a, b] = pairs.front();
    check.status = "failed";
    check.sentence = "Ranks " + std::to_string(a) + " and " + std::to_string(b) + " (node " +
                     std::to_string(c.node_of(a)) + ") would both compute on GPU " + ids[a].get<std::string>() +
                     ": let each rank see all GPUs of its node (SBATCH_GPUS_PER_NODE), or each one of its own (srun "
                     "--gpus-per-task=1).";
    return check;
  }
  if (!far.empty()) {
    const int r = far[0];
    check.status = "warning";
    check.sentence = capital(c.names(far)) + (far.size() == 1 ? " runs" : " run") + " on cores of NUMA node " +
                     c.rank(r).value("numa", "") + ", while GPU " + ids[r].get<std::string>() + " is at node " +
                     numa[r].dump() +
                     ": copies cross the link between them. Bind ranks to the cores that are near their GPUs (srun "
                     "--gpu-bind=closest).";
    return check;
  }
  for (const int r : c.ranks_of(0))
    check.sentence += (check.sentence.empty() ? "" : ", ") + std::to_string(r) + " " + ids[r].get<std::string>();
  check.sentence = "Each rank has a GPU of its own; on node 0: " + check.sentence + ".";
  return check;
}

}  // namespace

std::string difference_text(const Json& value, const Json& usual) {
  if (value == usual) return {};
  if (value.is_object() && usual.is_object()) {
    Json names = usual;
    names.update(value);
    for (const auto& [name, unused] : names.items()) {
      const std::string inner =
          difference_text(value.contains(name) ? value[name] : Json(), usual.contains(name) ? usual[name] : Json());
      if (!inner.empty()) return name + (inner.starts_with("is ") ? " " : ".") + inner;
    }
  }
  const auto text = [](const Json& v) { return v.is_null() ? std::string("absent") : v.dump(); };
  return "is " + text(value) + " and not " + text(usual);
}

std::string bytes_text(double bytes) {
  const char* units[] = {"B", "kB", "MB", "GB", "TB"};
  std::size_t unit = 0;
  while (bytes >= 1000 && unit < 4) bytes /= 1000, ++unit;
  char text[32];
  std::snprintf(text, sizeof text, "%.3g %s", bytes, units[unit]);
  return text;
}

std::string capital(std::string text) {
  if (!text.empty()) text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
  return text;
}

std::vector<Check> judge_nodes(const Cluster& c, const Settings& s) {
  return {versions(c), environment(c), hosts(c, s), binding(c, s), memory(c, s), disk(c, s), frequency(c), gpus(c, s),
      gpu_binding(c, s)};
}

}  // namespace ttt::preflight
