// The line that says how a run is doing: on rank 0, on stderr.
//
// stderr and not stdout: Open MPI gives every rank a pseudo-terminal as stdout even when its own output goes to a
// file. Only on stderr is isatty() right.
#pragma once

#include <cstdint>
#include <cstdio>
#include <deque>
#include <optional>
#include <string>

#include "core/clock.h"

namespace ttt::harness {

struct ProgressState {
  std::int64_t step = 0;         // steps finished
  std::int64_t total_steps = 0;  // the limit; 0 where there is none
  double loss = 0;               // total, of the last step whose value is on the host
  std::int64_t images = 0;       // images seen by all ranks since the run started
  std::string accuracy = {};     // of the last evaluation: "box AP 0.412 and mask AP 0.388"
};

// One line that says what is going on: rewritten in place on a terminal, elsewhere written now and then.
class StatusLine {
 public:
  struct Config {
    bool enabled = true;  // rank 0 without --quiet
    std::FILE* stream = stderr;
    std::optional<bool> terminal;  // tests; by default isatty and TERM is not "dumb"
    double terminal_interval_s = 0.2;
    double log_interval_s = 10;
    double (*now)() = now_s;
  };
  StatusLine() : StatusLine(Config{}) {}
  explicit StatusLine(const Config& config);
  ~StatusLine();  // finish()
  StatusLine(const StatusLine&) = delete;
  StatusLine& operator=(const StatusLine&) = delete;

  bool enabled() const { return config_.enabled; }
  double now() const { return config_.now(); }
  // Whether show() would print now.
  bool due() const;
  // Prints the text where it is due, or at once where that is asked for.
  void show(const std::string& text, bool at_once = false);
  // A whole line that stays ("epoch 3: box AP 0.412, mask AP 0.388"); the rewritten line moves below it.
  void note(const std::string& line);
  // Prints the last text where it was not, and ends the rewritten line.
  void finish();

 private:
  void print();

  Config config_;
  bool terminal_ = false, line_open_ = false, pending_ = false;
  double last_print_s_ = -1e300;
  std::string text_;
};

// The line of a run: steps, loss, rate, how long it takes at most.
class Progress {
 public:
  explicit Progress(const StatusLine::Config& config);
  ~Progress();  // finish()

  // Cheap when it is not yet time to print: once per step. A state with a new accuracy is printed at once.
  void update(const ProgressState& state);
  void note(const std::string& line) { line_.note(line); }
  void finish();  // prints the last state where it was not

 private:
  struct Mark {
    double time_s;
    std::int64_t step, images;
  };
  std::string text() const;

  StatusLine line_;
  ProgressState last_;
  bool shown_ = true;
  std::deque<Mark> window_;  // rates are over the last 30 s, evaluations included: what the wall clock sees
};

// "step 120/700  loss 1.234  45.6 images/s  at most 2:05  box AP 0.412 and mask AP 0.388"; rates < 0 are left out. At
// most: the total is a limit, and a target ends a run before it.
std::string progress_text(const ProgressState& state, double images_per_s, double at_most_s);
std::string duration_text(double seconds);  // "0:07", "2:05", "1:02:03"

}  // namespace ttt::harness
