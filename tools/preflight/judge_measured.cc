#include <algorithm>
#include <cmath>
#include <limits>

#include "core/statistics.h"
#include "core/text.h"
#include "tools/preflight/judge.h"

namespace ttt::preflight {
namespace {

using result::Check;
using result::fixed;
using result::Json;

Check shards(const Cluster& c, const std::vector<Json>& facts_of_rank, bool generated, const Settings& s) {
  Check check{.name = "shards", .status = "ok"};
  Json folder = Json::array(), manifest = Json::array(), rate = Json::array();
  std::string problem;
  double bytes = 0;
  for (int r = 0; r < c.ranks(); ++r) {
    const Json& f = facts_of_rank[r];
    if (problem.empty() && !f.at("problems").empty())
      problem = capital(c.name(r)) + ": " + f["problems"][0].get<std::string>();
    const double read_s = f.at("read_s").get<double>();
    rate.push_back(read_s > 0 ? Json(f.at("read_bytes").get<double>() / read_s) : Json());
    if (c.ranks_of(c.node_of(r)).front() != r) continue;
    folder.push_back(f.at("folder")), manifest.push_back(f.value("manifest_sha256", Json()));
    bytes = std::max(bytes, f.value("bytes", 0.0));
  }
  check.facts = {{"folder_of_node", folder}, {"manifest_sha256_of_node", manifest}, {"bytes", bytes}};
  if (s.shards == "hash") check.facts["read_and_hash_bytes_per_s_of_rank"] = rate;
  const Odd odd = odd_ones(manifest);
  if (s.shards == "none") {
    check.status = "not_used", check.sentence = "Not looked at: shards = none.";
  } else if (!problem.empty()) {
    check.status = "failed", check.sentence = problem + (problem.ends_with('.') ? "" : ": copy the folder again.");
  } else if (!generated && !odd.who.empty()) {
    check.status = "failed";
    check.sentence = "The manifest on " + Cluster::node_names(odd.who) +
                     " is not that of the others: copy one data set to all nodes.";
  } else if (bytes == 0) {
    check.sentence =
        "No data set was named, and the generated one is not there yet: the first rank of each node will make it.";
  } else {
    check.sentence =
        bytes_text(bytes) +
        (s.shards == "hash" ? " of shards have the SHA-256 that their manifest says, on every node"
                            : " of shards are there, with the sizes that their manifest says (not hashed)") +
        (generated ? " that has them already." : ".");
  }
  return check;
}

Check clocks(const Cluster& c, const Measured& m, const Settings& s) {
  Check check{.name = "clocks", .status = "ok"};
  Json offset = Json::array(), uncertainty = Json::array();
  std::vector<int> far;
  double most = 0, least_sure = 0;
  for (int n = 0; n < c.nodes(); ++n) {
    const comm::ClockOffset& o = m.clock_of_rank[c.ranks_of(n).front()];
    offset.push_back(o.offset_s), uncertainty.push_back(o.uncertainty_s);
    most = std::max(most, std::abs(o.offset_s)), least_sure = std::max(least_sure, o.uncertainty_s);
    if (std::abs(o.offset_s) - o.uncertainty_s > s.clock_skew_s) far.push_back(n);
  }
  check.facts = {{"offset_s_of_node", offset}, {"uncertainty_s_of_node", uncertainty}};
  check.sentence = c.nodes() == 1 ? "One node, one clock."
                                  : fixed("The nodes' clocks are within %.3g s of the first one's, known to %.1g s.",
                                        most, least_sure);
  if (far.empty()) return check;
  check.status = "warning";
  check.sentence =
      "The clock of " + Cluster::node_names(far) +
      fixed(
          " is more than %g s off (%.3g s): times in logs of several nodes do not compare. Synchronise the clocks "
          "(chrony).",
          s.clock_skew_s, most);
  return check;
}

struct Slow {
  std::vector<int> who;
  double least = 1;  // share of the median
};
Slow below(const std::vector<double>& rates, double share) {
  const double middle = median(rates);
  Slow slow;
  for (std::size_t i = 0; i < rates.size(); ++i) {
    if (rates[i] >= share * middle) continue;
    slow.who.push_back(static_cast<int>(i));
    slow.least = std::min(slow.least, rates[i] / middle);
  }
  return slow;
}

Check speed(const Cluster& c, const Measured& m, const Settings& s) {
  Check check{.name = "speed", .status = "ok"};
  std::vector<double> hash, copy;
  for (const Speed& v : m.speed_of_rank) hash.push_back(v.hash_bytes_per_s), copy.push_back(v.copy_bytes_per_s);
  check.facts = {{"hash_bytes_per_s_of_rank", hash}, {"copy_bytes_per_s_of_rank", copy}};
  if (s.cores == "shared") {
    check.sentence = "Not judged: ranks share cores, and take turns.";
    return check;
  }
  check.sentence = "All ranks compute and copy at similar rates.";
  const Slow computing = below(hash, s.slow_rank), copying = below(copy, s.slow_rank);
  const Slow& slow = computing.who.empty() ? copying : computing;
  if (slow.who.empty()) return check;
  check.status = "warning";
  check.sentence =
      capital(c.names(slow.who)) + (computing.who.empty() ? " copies" : " computes") +
      fixed(" at %.0f %% of the median rate or less", 100 * slow.least) +
      ", and every step waits for the slowest: look for what else runs there, its binding and its frequency.";
  if (slow.who.size() > 1)
    check.sentence.replace(check.sentence.find(computing.who.empty() ? " copies" : " computes"),
        computing.who.empty() ? 7 : 9, computing.who.empty() ? " copy" : " compute");
  return check;
}

// The broadcast is a tree, in which nodes pass on what they got: only the fastest of several ways says what a node can
// do by itself.
double fastest_s(const std::vector<std::vector<double>>& s, std::size_t node, bool as_root) {
  double best = std::numeric_limits<double>::max();
  for (std::size_t other = 0; other < s.size(); ++other)
    if (other != node) best = std::min(best, as_root ? s[node][other] : s[other][node]);
  return best;
}

// A node that receives slowly is late whoever sends; where one sends slowly, everybody is late when it does. Of two
// nodes it cannot be said which.
Check links(const Cluster& c, const Measured& m, const Settings& s) {
  Check check{.name = "links", .status = "ok"};
  if (c.nodes() < 2) {
    check.status = "not_used", check.sentence = "One node has no link to another.";
    return check;
  }
  std::vector<double> send, receive;
  for (std::size_t n = 0; n < m.link_s.size(); ++n) {
    send.push_back(static_cast<double>(s.link_bytes) / fastest_s(m.link_s, n, true));
    receive.push_back(static_cast<double>(s.link_bytes) / fastest_s(m.link_s, n, false));
  }
  check.facts = {{"send_bytes_per_s_of_node", send}, {"receive_bytes_per_s_of_node", receive}};
  check.sentence = "All nodes send and receive at similar rates, " + bytes_text(median(receive)) +
                   "/s in a broadcast of " + bytes_text(static_cast<double>(s.link_bytes)) + ".";
  const Slow sends = below(send, s.slow_link), receives = below(receive, s.slow_link);
  const bool receiving = receives.least < sends.least;  // the worse of the two is the one to look at
  const Slow& slow = receiving ? receives : sends;
  if (slow.who.empty()) return check;
  check.status = "warning";
  check.sentence =
      capital(Cluster::node_names(slow.who)) +
      (slow.who.size() == 1 ? (receiving ? " receives" : " sends") : (receiving ? " receive" : " send")) +
      fixed(" at %.0f %% of the median rate or less", 100 * slow.least) +
      ", and every all-reduce waits for the slowest: look at its link, or leave it out (sbatch --exclude).";
  return check;
}

Check all_reduce(const Cluster& c, const Measured& m, const Settings& s) {
  Check check{.name = "all_reduce", .status = "ok"};
  const Reduction& r = m.reduction;
  if (r.large_s.empty()) {
    check.status = "not_used", check.sentence = "One rank has nobody to reduce with.";
    return check;
  }
  std::vector<double> bus;
  for (const double t : r.large_s) bus.push_back(r.bus_bytes / t);
  const double rate = median(bus);
  check.facts = {{"bytes", s.all_reduce_bytes}, {"small_s_samples", r.small_s}, {"large_s_samples", r.large_s},
      {"bus_bytes_per_s_samples", bus}};
  check.sentence = "8 bytes over " + std::to_string(c.ranks()) +
                   fixed(" ranks take %.3g us, ", 1e6 * median(r.small_s)) +
                   bytes_text(static_cast<double>(s.all_reduce_bytes)) + fixed(" take %.3g s: ", median(r.large_s)) +
                   bytes_text(rate) + "/s of bus bandwidth (medians).";
  if (!r.right)
    check.status = "failed",
    check.sentence =
        "The all-reduce gave a wrong sum: look at the network's adapters and at the MPI library; no training can be "
        "right here.";
  else if (rate < s.least_bus_bytes_per_s)
    check.status = "failed",
    check.sentence +=
        " That is less than least_bus_bytes_per_s: look at the interface that MPI chose (slurm/README.md, "
        "interconnect).";
  return check;
}

}  // namespace

std::vector<Check> judge_measured(
    const Cluster& c, const std::vector<Json>& shards_of_rank, bool generated, const Measured& m, const Settings& s) {
  return {
      shards(c, shards_of_rank, generated, s), clocks(c, m, s), speed(c, m, s), links(c, m, s), all_reduce(c, m, s)};
}

}  // namespace ttt::preflight
