#include "result/journal.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>

#include "core/error.h"
#include "core/text.h"

namespace ttt::result {
namespace {

namespace fs = std::filesystem;

// write() until all is out; false with errno set where it is not.
bool write_all(int fd, const std::string& text) {
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t n = ::write(fd, text.data() + done, text.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    done += static_cast<std::size_t>(n);
  }
  return true;
}

fs::path first_journal(const fs::path& journal) {
  if (fs::is_regular_file(journal)) return journal;
  std::vector<fs::path> files;
  if (fs::is_directory(journal))
    for (const auto& entry : fs::directory_iterator(journal))
      if (entry.path().extension() == ".jsonl") files.push_back(entry.path());
  if (files.empty())
    throw UsageError(
        "'" + journal.string() + "' holds no journal. Name the folder '<result>.journal' of an aborted run.");
  return *std::min_element(files.begin(), files.end());
}

TelemetrySeries& series_of(RunRecord& r, const std::string& where) {
  if (!r.telemetry) throw DataError(where + " has telemetry of which nothing was said before. Take the original file.");
  return *r.telemetry;
}

void add_telemetry(const TelemetrySample& s, const std::string& where, RunRecord& r) {
  TelemetrySeries& t = series_of(r, where);
  for (const auto* norms : {&s.gradient_norm, &s.weight_norm, &s.update_norm})
    if (norms->size() != t.groups.size())
      throw DataError(where + " has norms of " + std::to_string(norms->size()) + " groups, the run " +
                      std::to_string(t.groups.size()) + ". Take the original file.");
  std::size_t reductions = 0;
  for (const TelemetryGroup& g : t.groups) reductions += g.reductions.size();
  if (s.reductions.size() != reductions)
    throw DataError(where + " has " + std::to_string(s.reductions.size()) + " reductions, the run " +
                    std::to_string(reductions) + ". Take the original file.");
  t.add(s);
}

void take_record(RunRecord next, RunRecord& r) {
  const std::vector<std::string> losses = next.steps.loss_names;
  next.steps = std::move(r.steps);
  next.steps.name_losses(losses);
  next.accuracy = std::move(r.accuracy);
  next.non_finite = std::move(r.non_finite);
  next.warnings = std::move(r.warnings);
  next.checkpoints = std::move(r.checkpoints);
  next.clocks = r.clocks;
  next.events = std::move(r.events);
  if (next.telemetry && r.telemetry) next.telemetry = std::move(r.telemetry);
  r = std::move(next);
}

// `line` without its type, which is no member of what it tells.
void apply(const std::string& type, const Json& line, const std::string& where, RunRecord& r) {
  if (type == "start" || type == "update") {
    take_record(run_record_from_json(member(line, "record", where)), r);
  } else if (type == "step") {
    r.steps.add(record_from_json<StepSample>(line, where));
  } else if (type == "evaluation") {
    r.accuracy.push_back(record_from_json<Evaluation>(line, where));
  } else if (type == "checkpoint") {
    r.checkpoints.push_back(record_from_json<CheckpointSample>(line, where));
  } else if (type == "event") {
    r.events.push_back(record_from_json<Event>(line, where));
  } else if (type == "telemetry") {
    add_telemetry(record_from_json<TelemetrySample>(line, where), where, r);
  } else if (type == "pictures") {
    TelemetrySeries& t = series_of(r, where);
    t.picture_step.push_back(get<std::int64_t>(line, "step", where));
    t.picture_cost_s.push_back(get<double>(line, "cost_s", where));
  } else if (type == "warning") {
    r.warnings.push_back(get<std::string>(line, "text", where));
  } else if (type == "non_finite") {
    r.non_finite.push_back(record_from_json<NonFinite>(line, where));
  } else if (type == "clocks") {
    r.clocks = record_from_json<Clocks>(line, where);
  } else if (type == "end") {
    r.verdict = verdict_from_name(get<std::string>(line, "verdict", where));
    r.reason = get<std::string>(line, "reason", where);
  } else {
    throw DataError(where + " is a line of unknown type '" + type + "'. Use the report of the build that wrote it.");
  }
}

// What the clocks were at the last line: a killed run did not say. The sums are lower bounds.
void complete_clocks(RunRecord& r) {
  double steps_s = 0, evaluation_s = 0;
  for (const double s : r.steps.step_s) steps_s += s;
  for (const Evaluation& e : r.accuracy) evaluation_s += e.duration_s;
  r.clocks.train_s = std::max(r.clocks.train_s, steps_s);
  double lost_s = 0;
  for (const Resume& resume : r.resumes) lost_s += resume.lost_s;
  r.clocks.lost_s = std::max(r.clocks.lost_s, lost_s);
  r.clocks.run_s = std::max(r.clocks.run_s, r.clocks.train_s + evaluation_s + r.clocks.lost_s);
  r.clocks.total_s = std::max(r.clocks.total_s, r.clocks.init_s + r.clocks.run_s);
}

}  // namespace

Journal::Journal(const fs::path& folder, int rank) {
  char name[32];
  std::snprintf(name, sizeof name, "rank%05d.jsonl", rank);
  path_ = folder / name;
  std::error_code ec;
  fs::create_directories(folder, ec);  // a failure shows at open()
  fd_ = ::open(path_.c_str(), O_CREAT | O_WRONLY | O_TRUNC | O_APPEND | O_CLOEXEC, 0644);
  if (fd_ < 0)
    throw Error("Cannot write the journal '" + path_.string() + "' (" + std::strerror(errno) +
                "). A killed run would leave no samples.");
}

Journal::~Journal() {
  if (fd_ >= 0) ::close(fd_);
}

bool Journal::write(const Json& line) {
  if (broken_) return true;  // said once
  std::string text;
  try {
    text = dump(line, -1) + "\n";
  } catch (const Error&) {
    return true;  // a number that is not finite outside of a sample: the result's writer names it
  }
  broken_ = !write_all(fd_, text);
  return !broken_;
}

void Journal::discard() {
  std::error_code ec;
  fs::remove(path_, ec);
  fs::remove(path_.parent_path(), ec);  // succeeds for the last file only
}

JournalReader::JournalReader(const fs::path& journal) : file_(first_journal(journal)), in_(file_, std::ios::binary) {}

bool JournalReader::poll() {
  std::error_code unknown;
  // begun anew
  if (const auto size = fs::file_size(file_, unknown); !unknown && size < static_cast<std::uintmax_t>(offset_))
    *this = JournalReader(file_);
  in_.clear();
  in_.seekg(offset_);
  bool news = false;
  for (std::string text; std::getline(in_, text); news = true) {
    if (in_.eof()) break;  // no newline: the line is being written, or the process ended within it
    offset_ += static_cast<std::streamoff>(text.size() + 1);
    ++line_;
    take(text);
  }
  return news;
}

void JournalReader::take(const std::string& text) {
  const std::string where = quote(file_) + " line " + std::to_string(line_);
  Json line = parse(text, where);
  try {
    const auto type = line.at("type").get<std::string>();
    line.erase("type");
    started_ = started_ || type == "start";
    if (!started_)
      throw DataError(where + " is not the start of a journal. Name the folder '<result>.journal' of an aborted run.");
    apply(type, line, where, record_);
    ended_ = ended_ || type == "end";
  } catch (const Json::exception& e) {
    throw DataError(where + " is damaged (" + e.what() + "). Take the original file.");
  }
}

RunRecord recover_run(const fs::path& journal) {
  JournalReader reader(journal);
  reader.poll();
  if (!reader.started()) throw DataError(quote(reader.file()) + " is an empty journal. The run ended before it began.");
  RunRecord r = reader.record();
  if (r.verdict == Verdict::kNotRun) {
    r.verdict = Verdict::kFailed;
    r.reason = "ended without a verdict ";
    r.reason += r.steps.size() ? std::string("after step ").append(std::to_string(r.steps.step.back()))
                               : "before its first step";
  }
  r.warnings.push_back("Recovered from the journal " + reader.file().filename().string() +
                       ": samples and times are those of this rank.");
  complete_clocks(r);
  return r;
}

}  // namespace ttt::result
