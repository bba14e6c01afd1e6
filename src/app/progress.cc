#include "app/progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <cstring>

#include "core/text.h"

namespace ttt::harness {
namespace {

using result::fixed;

constexpr double kWindow_s = 30;

bool is_terminal(std::FILE* stream) {
  const char* term = std::getenv("TERM");
  return ::isatty(::fileno(stream)) == 1 && term && *term && std::strcmp(term, "dumb") != 0;
}

// A line wider than the terminal would wrap, and a carriage return then rewrites its last part only.
std::size_t width_of(std::FILE* stream) {
  winsize size{};
  if (::ioctl(::fileno(stream), TIOCGWINSZ, &size) == 0 && size.ws_col > 1) return size.ws_col - 1u;
  return 79;
}

}  // namespace

std::string duration_text(double seconds) {
  if (!(seconds >= 0) || seconds > 1e9) return "?";
  const auto s = static_cast<long long>(std::llround(seconds));
  if (s >= 3600) return fixed("%lld:%02lld:%02lld", s / 3600, s / 60 % 60, s % 60);
  return fixed("%lld:%02lld", s / 60, s % 60);
}

std::string progress_text(const ProgressState& state, double images_per_s, double at_most_s) {
  std::string text = fixed("step %lld", static_cast<long long>(state.step));
  if (state.total_steps > 0) text += fixed("/%lld", static_cast<long long>(state.total_steps));
  text += fixed("  loss %.4g", state.loss);
  if (images_per_s >= 0) text += fixed("  %.*f images/s", images_per_s < 100 ? 1 : 0, images_per_s);
  if (at_most_s >= 0) text += "  at most " + duration_text(at_most_s);
  if (!state.accuracy.empty()) text += "  " + state.accuracy;
  return text;
}

StatusLine::StatusLine(const Config& config) : config_(config) {
  terminal_ = config_.terminal ? *config_.terminal : is_terminal(config_.stream);
}

StatusLine::~StatusLine() { finish(); }

bool StatusLine::due() const {
  return config_.now() - last_print_s_ >= (terminal_ ? config_.terminal_interval_s : config_.log_interval_s);
}

void StatusLine::show(const std::string& text, bool at_once) {
  if (!config_.enabled) return;
  text_ = text;
  pending_ = true;
  if (at_once || due()) print();
}

void StatusLine::print() {
  if (terminal_) {
    std::fprintf(config_.stream, "\r%s\x1b[K", text_.substr(0, width_of(config_.stream)).c_str());
    line_open_ = true;
  } else {
    std::fprintf(config_.stream, "%s\n", text_.c_str());
  }
  std::fflush(config_.stream);
  last_print_s_ = config_.now();
  pending_ = false;
}

void StatusLine::note(const std::string& line) {
  if (!config_.enabled) return;
  std::fprintf(config_.stream, "%s%s\n", line_open_ ? "\r\x1b[K" : "", line.c_str());
  std::fflush(config_.stream);
  line_open_ = false;
}

void StatusLine::finish() {
  if (pending_) print();
  if (line_open_) std::fputc('\n', config_.stream);
  std::fflush(config_.stream);
  line_open_ = false;
}

Progress::Progress(const StatusLine::Config& config) : line_(config) {
  if (line_.enabled()) window_.push_back({line_.now(), 0, 0});
}

Progress::~Progress() { finish(); }

void Progress::update(const ProgressState& state) {
  if (!line_.enabled()) return;
  const double now = line_.now();
  const bool news = state.accuracy != last_.accuracy;
  last_ = state;
  // At most ten marks a second: the window stays short however fast the steps are.
  if (window_.size() < 2 || now - window_.back().time_s >= 0.1) window_.push_back({now, state.step, state.images});
  while (window_.size() > 2 && now - window_[1].time_s > kWindow_s) window_.pop_front();
  shown_ = news || line_.due();
  if (shown_) line_.show(text(), true);
}

void Progress::finish() {
  if (!shown_) line_.show(text(), true);
  shown_ = true;
  line_.finish();
}

std::string Progress::text() const {
  const Mark& from = window_.front();
  const double elapsed = line_.now() - from.time_s;
  const bool known = elapsed > 0 && last_.step > from.step;
  const double images_per_s = known ? static_cast<double>(last_.images - from.images) / elapsed : -1;
  const double at_most = known && last_.total_steps > 0 ? static_cast<double>(last_.total_steps - last_.step) *
                                                              elapsed / static_cast<double>(last_.step - from.step)
                                                        : -1;
  return progress_text(last_, images_per_s, at_most);
}

}  // namespace ttt::harness
