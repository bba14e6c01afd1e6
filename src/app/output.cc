#include "app/output.h"

#include <cstdio>
#include <filesystem>

namespace ttt::harness {
namespace {

// Raised where a line that is documented changes its meaning or goes.
constexpr int kOutputVersion = 1;

}  // namespace

void print_start(const std::string& program, const std::string& what) {
  std::printf("TTT output %d: %s, %s\n", kOutputVersion, program.c_str(), what.c_str());
  std::fflush(stdout);  // before what follows on stderr
}

void print_end(const Answer& answer) {
  std::string text = answer.sentence.empty() ? "" : answer.sentence + "\n";
  for (const result::Figure& f : answer.figures) text += result::figure_line(f) + "\n";
  for (const std::string& file : answer.files) text += "TTT result: " + file + "\n";
  if (!answer.next.empty()) text += "TTT next: " + answer.next + "\n";
  text.append("TTT verdict: ").append(result::verdict_name(answer.verdict)).append("\n");
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
}

std::string beside(const std::string& program, const std::string& other) {
  return std::filesystem::path(program).replace_filename(other).string();
}

}  // namespace ttt::harness
