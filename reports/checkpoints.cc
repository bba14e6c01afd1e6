#include "reports/checkpoints.h"

#include <algorithm>

#include "core/statistics.h"
#include "reports/numbers.h"
#include "reports/run_metrics.h"

namespace ttt::reports {
namespace {

using result::CheckpointSample;
using result::RunRecord;

std::vector<double> column(const RunRecord& r, double CheckpointSample::*member) {
  std::vector<double> values;
  for (const CheckpointSample& s : r.checkpoints) values.push_back(s.*member);
  return values;
}

void add_costs(const RunRecord& r, Document& d) {
  if (r.checkpoints.empty()) return;
  const std::vector<double> stalls = column(r, &CheckpointSample::stall_s),
                            writes = column(r, &CheckpointSample::write_s);
  std::vector<double> bytes;
  for (const CheckpointSample& s : r.checkpoints) bytes.push_back(static_cast<double>(s.bytes));
  const auto worst = [](const std::vector<double>& v) {
    return "median; longest " + short_time(*std::max_element(v.begin(), v.end()));
  };
  Table t{.header = {"", "time", ""}, .right = {false, true, false}, .headless = true};
  t.add("checkpoints",
      {whole(static_cast<std::int64_t>(stalls.size())), fixed("of %.3g MB (median)", median(bytes) / 1e6)});
  t.add("stall", {short_seconds(median(stalls)), worst(stalls)});
  t.add("writing", {short_seconds(median(writes)), worst(writes) + ", beside the training"});
  if (const auto share = stall_share(r))
    t.add("stall / time between",
        {Cell(fixed("%.2f %%", *share * 100), *share * 100, "%"), "of checkpoints / from each to the next"});
  d.push_back(Heading{"Checkpoints"});
  d.push_back(std::move(t));
}

void add_interruptions(const RunRecord& r, Document& d) {
  if (r.resumes.empty()) return;
  Table t{.header = {"step", "lost", "signal", "ranks", "checkpoint", "changed"}, .right = {true, true}};
  for (const result::Resume& resume : r.resumes) {
    std::string changed;
    for (const result::Json& c : resume.changed)
      changed += (changed.empty() ? "" : ", ") + c.at("key").get<std::string>() + " " + c.at("before").dump() + " -> " +
                 c.at("value").dump();
    const std::string before = std::to_string(resume.ranks_before), now = std::to_string(resume.ranks);
    t.rows.push_back({whole(resume.step), seconds(resume.lost_s), resume.signal.empty() ? "none" : resume.signal,
        before == now ? now : before + " -> " + now, resume.checkpoint, changed.empty() ? "-" : changed});
  }
  d.push_back(Heading{"Interruptions"});
  d.push_back(std::move(t));
}

}  // namespace

Document checkpoint_blocks(const RunRecord& r) {
  Document d;
  add_costs(r, d);
  add_interruptions(r, d);
  return d;
}

}  // namespace ttt::reports
