// The load under which planted costs are looked for: there for part of the time, stopped for the rest, and gone
// afterwards.
#include "measure/background_load.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <vector>

namespace ttt::ablations {
namespace {

// Of /proc/<pid>/stat (proc_pid_stat(5)); nothing once the process is gone.
struct Stat {
  char state = '?';
  pid_t parent = 0;
  long ticks = 0;  // of a processor, 1/100 s
};
std::optional<Stat> stat_of(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string line;
  if (!std::getline(file, line)) return std::nullopt;
  std::istringstream fields(line.substr(line.rfind(')') + 1));  // the name may hold spaces
  Stat s;
  fields >> s.state >> s.parent;
  std::string skipped;
  for (int i = 5; i < 14; ++i) fields >> skipped;
  long user = 0, system = 0;
  fields >> user >> system;
  s.ticks = user + system;
  return s;
}

std::vector<pid_t> children() {
  std::vector<pid_t> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    const auto s = stat_of(static_cast<pid_t>(std::stol(name)));
    if (s && s->parent == ::getpid()) found.push_back(static_cast<pid_t>(std::stol(name)));
  }
  return found;
}

// Whether `condition` came true within a minute; a turn is two or three seconds, on a busy machine a little more.
template <class Condition> bool comes_true(Condition&& condition) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  for (; !condition(); ::usleep(20'000))
    if (std::chrono::steady_clock::now() > end) return false;
  return true;
}

TEST(BackgroundLoad, Load_TakesItsShareThenEnds) {
  ASSERT_TRUE(children().empty());
  pid_t process = 0;
  {
    const BackgroundLoad load(true);
    const auto mine = children();
    ASSERT_EQ(mine.size(), 1u);
    process = mine[0];
    for (int turn = 0; turn < 2; ++turn) {
      const long before = stat_of(process)->ticks;
      EXPECT_TRUE(comes_true([&] { return stat_of(process)->ticks >= before + 20; })) << "it does not run";
      EXPECT_TRUE(comes_true([&] { return stat_of(process)->state == 'T'; })) << "it is never stopped";
      const long stopped = stat_of(process)->ticks;
      ::usleep(500'000);  // of three seconds
      EXPECT_EQ(stat_of(process)->ticks, stopped) << "it runs on while it is stopped";
    }
  }
  EXPECT_FALSE(stat_of(process));  // killed while it was stopped, and waited for
  EXPECT_EQ(::kill(process, 0), -1);
  EXPECT_EQ(errno, ESRCH);
}

TEST(BackgroundLoad, EndsWhileItRuns) {
  pid_t process = 0;
  {
    const BackgroundLoad load(true);
    process = children().at(0);
  }
  EXPECT_FALSE(stat_of(process));
}

TEST(BackgroundLoad, OffIsNone) {
  const BackgroundLoad load(false);
  EXPECT_TRUE(children().empty());
}

}  // namespace
}  // namespace ttt::ablations
