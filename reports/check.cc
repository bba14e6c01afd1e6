#include "reports/check.h"

#include "core/text.h"
#include "reports/command_line.h"
#include "reports/mlperf_rules.h"
#include "reports/numbers.h"

namespace ttt::reports {
namespace {

Table findings_table(const LogVerdict& v) {
  Table t{.header = {"", "line", "key", "found by", ""}, .right = {false, true, false, false, false}};
  const auto add = [&](const char* mark, const Finding& f) {
    t.rows.push_back(
        {mark, f.line ? whole(static_cast<std::int64_t>(f.line)) : Cell("-"), f.key, judge_name(f.judge), f.text});
  };
  for (const Finding& f : v.faults) add("fault", f);
  for (const Finding& f : v.warnings) add("warning", f);
  return t;
}

}  // namespace

Checked check(const std::vector<NamedLog>& logs, const CheckOptions& options) {
  Checked out;
  std::vector<result::MllogText> texts;
  for (const NamedLog& l : logs) texts.push_back(l.log);
  const auto seeds = check_seeds(texts);
  for (std::size_t i = 0; i < logs.size(); ++i) {
    LogVerdict v = check_log(logs[i].log);
    if (options.compliance_alone)
      std::erase_if(v.faults, [](const Finding& f) { return f.judge != Judge::kCompliance; });
    else v.faults.insert(v.faults.end(), seeds[i].begin(), seeds[i].end());
    const bool accepted = v.accepted(options.compliance_alone);
    out.rejected += !accepted;
    out.document.push_back(Heading{(accepted ? "ACCEPTED: " : "REJECTED: ") + logs[i].name});
    const std::size_t lines = logs[i].log.records.size() + logs[i].log.faults.size();
    out.document.push_back(
        Paragraph{std::to_string(lines) + " log lines, " + std::to_string(v.faults.size()) + " faults, " +
                  std::to_string(v.warnings.size()) + " warnings by the rules of MLPerf Training 3.1.0, Mask R-CNN."});
    if (!v.relaxed.empty())
      out.document.push_back(Paragraph{"The run says itself that it broke these rules of the closed division: " +
                                       result::joined(v.relaxed) + ". It cannot be submitted as closed."});
    if (!v.faults.empty() || !v.warnings.empty()) out.document.push_back(findings_table(v));
  }
  return out;
}

static std::function<int()> declare_check(CLI::App& command) {
  struct Arguments : FilesArguments {
    CheckOptions options;
  };
  const auto a = std::make_shared<Arguments>();
  command
      .add_option("logs", a->files,
          "MLPerf logs: the .mllog.txt beside a result, or a submission's result_*.txt, all of one system together")
      ->required();
  command.add_flag("--compliance-alone", a->options.compliance_alone,
      "Decide as MLPerf's compliance checker does and no more: seeds, numbers of epochs, and where the "
      "run stopped, are left to the people who review");
  add_output_options(command, a->output);
  command.footer(
      "The rules of MLPerf Training 3.1.0 for Mask R-CNN: keys, how often each, their order and values, evaluation "
      "after every epoch from 1 on, the target at the\n"
      "end, seeds that differ between the logs. The exit code is 0 where every log is accepted, 1 where one is "
      "rejected.\n\n"
      "Example: report check runs/*.mllog.txt");
  return [a] {
    std::vector<NamedLog> logs;
    for (const std::string& file : a->files) logs.push_back(read_log(file));
    const Checked checked = check(logs, a->options);
    print(checked.document, a->output);
    return checked.rejected > 0 ? 1 : 0;
  };
}

const Command kCheck = {
    "check", "Whether MLPerf logs keep the rules of the closed division, and which line breaks which", declare_check};

}  // namespace ttt::reports
