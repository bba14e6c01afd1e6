// Specifications of faults: what is understood, what is refused and how; the same for any bytes.
#include "faults/fault.h"

#include <gtest/gtest.h>

#include <csignal>

#include "core/error.h"
#include "core/rng.h"

namespace ttt::train {
namespace {

std::string refusal(const std::string& text, int ranks = 4) {
  try {
    parse_faults({text}, ranks);
  } catch (const UsageError& e) { return e.what(); }
  return "";
}

TEST(Fault, IsUnderstood) {
  const Fault kill = parse_fault("rank=3,step=40,kind=kill");
  EXPECT_EQ(kill.rank, 3);
  EXPECT_EQ(kill.step, 40);
  EXPECT_EQ(kill.kind, FaultKind::kKill);
  EXPECT_FALSE(kill.in_evaluation);
  const Fault hang = parse_fault("kind=hang,epoch=2,at=evaluation,rank=0");
  EXPECT_EQ(hang.epoch, 2);
  EXPECT_EQ(hang.step, -1);
  EXPECT_TRUE(hang.in_evaluation);
  EXPECT_EQ(parse_fault("rank=0,step=0,kind=slow,factor=2.5").factor, 2.5);
  EXPECT_EQ(parse_fault("rank=0,step=0,kind=slow,ms=40").ms, 40);
  EXPECT_EQ(parse_fault("rank=0,step=0,kind=corrupt").bit, 22);
  EXPECT_EQ(parse_fault("rank=0,step=0,kind=signal").signal, SIGTERM);
  EXPECT_EQ(parse_fault("rank=0,step=0,kind=signal_twice,signal=USR1").signal, SIGUSR1);
}

TEST(Fault, Refusals_NameWhatIsAllowed) {
  const std::vector<std::pair<std::string, std::vector<std::string>>> cases = {
      {"", {"'' is not key=value", "rank=3,step=40,kind=kill"}},
      {"rank=3,step=40", {"kind=... is missing"}},
      {"step=40,kind=kill", {"rank=... is missing"}},
      {"rank=3,step=40,kind=kil", {"no kind 'kil'", "nearest is 'kill'", "hang_loader", "signal_twice"}},
      {"rank=3,stpe=40,kind=kill", {"no key 'stpe'", "nearest is 'step'", "epoch"}},
      {"rank=3,step=40,kind=kill,rank=2", {"'rank' is given twice"}},
      {"rank=3,step=40,kind=kill,", {"'' is not key=value"}},
      {"rank=-1,step=40,kind=kill", {"rank=-1 is no number from 0"}},
      {"rank=1.5,step=40,kind=kill", {"rank=1.5"}},
      {"rank=3,step=4x,kind=kill", {"step=4x"}},
      {"rank=3,step=,kind=kill", {"step= is no number"}},
      {"rank=3,step=99999999999999999999,kind=kill", {"step=99999999999999999999"}},
      {"rank=3,kind=kill", {"say when", "step=N", "epoch=N"}},
      {"rank=3,step=1,epoch=1,kind=kill", {"one of the two"}},
      {"rank=3,epoch=0,kind=kill", {"epoch=0", "from 1"}},
      {"rank=3,step=1,kind=nan,at=evaluation", {"kind=nan strikes in a step only"}},
      {"rank=3,step=1,kind=kill,at=night", {"at=night is neither step nor evaluation"}},
      {"rank=3,step=1,kind=kill,ms=3", {"ms has no meaning for kind=kill"}},
      {"rank=3,step=1,kind=slow", {"ms=... or factor=..."}},
      {"rank=3,step=1,kind=slow,ms=1,factor=2", {"one of the two"}},
      {"rank=3,step=1,kind=slow,factor=0.5", {"factor=0.5"}},
      {"rank=3,step=1,kind=slow,ms=nan", {"ms=nan"}},
      {"rank=3,step=1,kind=corrupt,bit=32", {"bit=32", "0 to 31"}},
      {"rank=3,step=1,kind=signal,signal=KILL", {"signal=KILL is none of TERM, USR1, INT"}},
      {"rank=4,step=1,kind=kill", {"no rank 4", "0 to 3"}},
  };
  for (const auto& [text, words] : cases) {
    const std::string said = refusal(text);
    EXPECT_EQ(said.substr(0, 10 + text.size()), "--inject " + text + ":") << said;
    for (const std::string& w : words) EXPECT_NE(said.find(w), std::string::npos) << w << "\n" << said;
    EXPECT_EQ(said.back(), '.') << said;
  }
  EXPECT_EQ(refusal("rank=3,step=1,kind=kill"), "");
}

TEST(Fault, HelpNamesEveryKind) {
  for (int k = 0; k <= static_cast<int>(FaultKind::kSignalTwice); ++k)
    EXPECT_NE(fault_help().find(std::string(kind_name(static_cast<FaultKind>(k))) + " ("), std::string::npos) << k;
}

// What is accepted is written and read back to the same; what is refused is refused with a sentence. Nothing else comes
// out, whatever goes in.
void check_any(const std::string& text, int& accepted) {
  Fault f;
  try {
    f = parse_fault(text);
  } catch (const UsageError& e) {
    ASSERT_EQ(std::string(e.what()).rfind("--inject ", 0), 0u) << text;
    return;
  }
  ++accepted;
  const Fault again = parse_fault(fault_text(f));
  ASSERT_EQ(fault_text(again), fault_text(f)) << text;
  ASSERT_TRUE(again.rank == f.rank && again.kind == f.kind && again.step == f.step && again.epoch == f.epoch &&
              again.in_evaluation == f.in_evaluation && again.ms == f.ms && again.factor == f.factor &&
              again.bit == f.bit && again.signal == f.signal)
      << text;
  ASSERT_NE(f.step >= 0, f.epoch >= 0) << text;
}

TEST(Fault, AnyBytesAreUnderstoodOrRefused) {
  const std::vector<std::string> pieces = {"rank", "step", "epoch", "kind", "at", "ms", "factor", "bit", "signal", "=",
      ",", "kill", "slow", "corrupt", "signal_twice", "evaluation", "step", "TERM", "USR1", "0", "1", "7", "31", "1e3",
      "2.5", "-", " ", "nan", "inf", "0x10", "\n", ""};
  const std::vector<std::string> seeds = {"rank=3,step=40,kind=kill", "kind=hang,epoch=2,at=evaluation,rank=0",
      "rank=0,step=0,kind=slow,factor=2.5", "rank=1,step=5,kind=corrupt,bit=3",
      "rank=2,epoch=9,kind=signal,signal=INT"};
  Stream draw(random_bits(1, Purpose::kTest, 40));
  int accepted = 0;
  for (int round = 0; round < 200000; ++round) {
    std::string text = round % 4 == 0 ? "" : seeds[draw.below(seeds.size())];
    for (std::uint64_t edits = draw.below(4) + (text.empty() ? 8 : 0); edits > 0; --edits) {
      const std::size_t at = draw.below(text.size() + 1);
      if (draw.below(3) == 0 && at < text.size()) text.erase(at, 1 + draw.below(6));
      else if (draw.below(8) == 0) text.insert(at, 1, static_cast<char>(draw.below(256)));
      else text.insert(at, pieces[draw.below(pieces.size())]);
    }
    check_any(text, accepted);
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(accepted, 1000);  // else the search does not reach what it is for
}

}  // namespace
}  // namespace ttt::train
