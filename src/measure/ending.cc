#include "measure/ending.h"

#include <algorithm>

#include "core/text.h"

namespace ttt::ablations {

std::string ending(const result::RunRecord& record) {
  const result::Techniques all = result::techniques({&record});
  std::size_t width = 0;
  for (const result::Technique& t : all.ranked) width = std::max(width, t.name.size());
  std::string out;
  for (const result::Technique& t : all.ranked) {
    out += t.name + std::string(width - t.name.size(), ' ') +
           result::fixed(
               "  %+6.1f %%  (%+.1f to %+.1f)  ", 100 * t.effect.estimate, 100 * t.effect.low, 100 * t.effect.high) +
           result::place_text(t) + (t.disturbed ? "  !\n" : "\n");
  }
  for (const auto& remarks : {result::remarks(all, 0), result::advice_remarks(all, 0)})
    for (const auto& [subject, text] : remarks) out += subject + ": " + text + "\n";
  return out;
}

}  // namespace ttt::ablations
