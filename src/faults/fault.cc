#include "faults/fault.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <map>

#include "core/error.h"
#include "core/nearest.h"

namespace ttt::train {
namespace {

struct Kind {
  FaultKind kind;
  std::string_view name;
  bool in_evaluation;  // may strike there too
  std::string_view what;
};
constexpr std::array<Kind, 14> kKinds = {{
    {FaultKind::kKill, "kill", true, "the process is killed"},
    {FaultKind::kExit, "exit", true, "the process ends with exit code 3"},
    {FaultKind::kSegfault, "segfault", true, "the process touches memory that is not its own"},
    {FaultKind::kStop, "stop", true, "the process is stopped, like a node that hangs"},
    {FaultKind::kHang, "hang", true, "the thread that takes the steps does nothing more"},
    {FaultKind::kHangLoader, "hang_loader", false, "the batch of this step never comes"},
    {FaultKind::kSlow, "slow", false, "steps are slower from here on, by ms=... or factor=..."},
    {FaultKind::kThrow, "throw", true, "an exception"},
    {FaultKind::kOom, "oom", true, "a tensor for which there is no memory"},
    {FaultKind::kNan, "nan", false, "the images of this step are not numbers"},
    {FaultKind::kCorrupt, "corrupt", false, "one bit of the reduced gradient is wrong on this rank (bit=0 to 31)"},
    {FaultKind::kDiskFull, "disk_full", true, "this process's disks are full from here on"},
    {FaultKind::kSignal, "signal", true, "the process gets a signal (signal=TERM, USR1 or INT)"},
    {FaultKind::kSignalTwice, "signal_twice", true, "and a second one a second later"},
}};
const Kind& entry(FaultKind kind) { return kKinds[static_cast<std::size_t>(kind)]; }
static_assert([] {
  for (std::size_t i = 0; i < kKinds.size(); ++i)
    if (static_cast<std::size_t>(kKinds[i].kind) != i) return false;
  return true;
}());

constexpr std::array<std::pair<std::string_view, int>, 3> kSignals = {
    {{"TERM", SIGTERM}, {"USR1", SIGUSR1}, {"INT", SIGINT}}};

const std::vector<std::string> kKeys = {"rank", "kind", "step", "epoch", "at", "ms", "factor", "bit", "signal"};

// What went wrong, always with the whole specification in front.
class Refusal {
 public:
  explicit Refusal(const std::string& text) : text_(text) {}
  [[noreturn]] void operator()(const std::string& sentences) const {
    throw UsageError("--inject " + text_ + ": " + sentences);
  }

 private:
  const std::string& text_;
};

std::string list(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& w : words) text += (text.empty() ? "" : ", ") + w;
  return text;
}

std::vector<std::string> kind_names() {
  std::vector<std::string> names;
  for (const Kind& k : kKinds) names.emplace_back(k.name);
  return names;
}

std::map<std::string, std::string> pairs_of(const std::string& text, const Refusal& refuse) {
  std::map<std::string, std::string> pairs;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string pair = text.substr(begin, end - begin);
    const std::size_t equals = pair.find('=');
    const std::string key = pair.substr(0, equals);
    if (equals == std::string::npos) refuse("'" + pair + "' is not key=value. Write it as rank=3,step=40,kind=kill.");
    if (std::find(kKeys.begin(), kKeys.end(), key) == kKeys.end())
      refuse("there is no key '" + key + "'." + nearest_and(key, kKeys, "there are " + list(kKeys) + "."));
    if (!pairs.emplace(key, pair.substr(equals + 1)).second) refuse("'" + key + "' is given twice. Give it once.");
    begin = end + 1;
  }
  return pairs;
}

template <class T> T number(const std::string& key, const std::string& value, T lo, T hi, const Refusal& refuse) {
  T x{};
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), x);
  if (error != std::errc() || end != value.data() + value.size() || !(x >= lo && x <= hi)) {
    char range[80];
    std::snprintf(range, sizeof range, "%g to %g", static_cast<double>(lo), static_cast<double>(hi));
    refuse(key + "=" + value + " is no number from " + range + ". Correct it.");
  }
  return x;
}

FaultKind kind_from(const std::string& name, const Refusal& refuse) {
  for (const Kind& k : kKinds)
    if (k.name == name) return k.kind;
  refuse("there is no kind '" + name + "'." + nearest_and(name, kind_names(), "there are " + list(kind_names()) + "."));
}

int signal_from(const std::string& name, const Refusal& refuse) {
  for (const auto& [known, number] : kSignals)
    if (known == name) return number;
  refuse("signal=" + name + " is none of TERM, USR1, INT. Choose one of them.");
}

std::string decimal(double x) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, x).ptr};
}

// What the keys say together.
void check(const Fault& f, const std::map<std::string, std::string>& given, const Refusal& refuse) {
  const Kind& kind = entry(f.kind);
  const std::string name(kind.name);
  if (given.contains("step") == given.contains("epoch"))
    refuse("say when: step=N (from 0) or epoch=N (from 1), one of the two.");
  if (f.in_evaluation && !kind.in_evaluation)
    refuse("kind=" + name + " strikes in a step only. Leave at=evaluation out.");
  const auto only_with = [&](const char* key, bool fits) {
    if (given.contains(key) && !fits) refuse(std::string(key) + " has no meaning for kind=" + name + ". Leave it out.");
  };
  only_with("ms", f.kind == FaultKind::kSlow);
  only_with("factor", f.kind == FaultKind::kSlow);
  only_with("bit", f.kind == FaultKind::kCorrupt);
  only_with("signal", f.kind == FaultKind::kSignal || f.kind == FaultKind::kSignalTwice);
  if (f.kind == FaultKind::kSlow && given.contains("ms") == given.contains("factor"))
    refuse("kind=slow needs ms=... or factor=..., one of the two.");
}

}  // namespace

std::string_view kind_name(FaultKind kind) { return entry(kind).name; }

Fault parse_fault(const std::string& text) {
  const Refusal refuse(text);
  const std::map<std::string, std::string> given = pairs_of(text, refuse);
  for (const char* needed : {"rank", "kind"})
    if (!given.contains(needed)) refuse(std::string(needed) + "=... is missing. Write it as rank=3,step=40,kind=kill.");
  Fault f;
  f.kind = kind_from(given.at("kind"), refuse);
  if (f.kind == FaultKind::kSignal || f.kind == FaultKind::kSignalTwice) f.signal = SIGTERM;
  constexpr std::int64_t kMost = 1'000'000'000;
  for (const auto& [key, value] : given) {
    if (key == "rank") f.rank = static_cast<int>(number<std::int64_t>(key, value, 0, 10'000'000, refuse));
    if (key == "step") f.step = number<std::int64_t>(key, value, 0, kMost, refuse);
    if (key == "epoch") f.epoch = number<std::int64_t>(key, value, 1, kMost, refuse);
    if (key == "ms") f.ms = number<double>(key, value, 1e-3, 1e9, refuse);
    if (key == "factor") f.factor = number<double>(key, value, 1, 1e6, refuse);
    if (key == "bit") f.bit = number<std::int64_t>(key, value, 0, 31, refuse);
    if (key == "signal") f.signal = signal_from(value, refuse);
    if (key == "at" && value != "step" && value != "evaluation")
      refuse("at=" + value + " is neither step nor evaluation. Choose one of them.");
    if (key == "at") f.in_evaluation = value == "evaluation";
  }
  check(f, given, refuse);
  return f;
}

std::string fault_text(const Fault& f) {
  std::string text = "rank=" + std::to_string(f.rank) +
                     (f.step >= 0 ? ",step=" + std::to_string(f.step) : ",epoch=" + std::to_string(f.epoch));
  if (f.in_evaluation) text += ",at=evaluation";
  text += ",kind=" + std::string(kind_name(f.kind));
  if (f.kind == FaultKind::kSlow) text += f.factor > 0 ? ",factor=" + decimal(f.factor) : ",ms=" + decimal(f.ms);
  if (f.kind == FaultKind::kCorrupt) text += ",bit=" + std::to_string(f.bit);
  for (const auto& [name, number] : kSignals)
    if (f.signal == number) text += ",signal=" + std::string(name);
  return text;
}

std::vector<Fault> parse_faults(const std::vector<std::string>& texts, int ranks) {
  std::vector<Fault> faults;
  for (const std::string& text : texts) {
    const Refusal refuse(text);
    faults.push_back(parse_fault(text));
    if (faults.back().rank >= ranks)
      refuse("there is no rank " + std::to_string(faults.back().rank) + ": the run's ranks are 0 to " +
             std::to_string(ranks - 1) + ". Name one of them.");
  }
  return faults;
}

std::string fault_help() {
  std::string text =
      "Break the run on purpose, to see what happens: rank=3,step=40,kind=kill (or epoch=2, with at=evaluation in its "
      "evaluation); may be repeated. Kinds: ";
  for (const Kind& k : kKinds)
    text += std::string(k.name) + " (" + std::string(k.what) + ")" + (&k == &kKinds.back() ? "" : "; ");
  return text;
}

}  // namespace ttt::train
