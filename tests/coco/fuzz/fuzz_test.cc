// The corpus of inputs that once found something, and seeded mutations of it: the same bytes in every run. What must
// hold is in targets.h. TTT_FUZZ_ROUNDS widens the search.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>

#include "tests/coco/fuzz/targets.h"
#include "tests/support/python.h"

namespace ttt::test {
namespace {

std::vector<std::string> corpus(const std::string& target) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(TTT_SOURCE_DIR "/tests/coco/fuzz/corpus/" + target)) {
    files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  std::vector<std::string> out;
  for (const auto& file : files) out.push_back(read_text(file));
  return out;
}

constexpr const char* kFragments[] = {"[", "]", "{", "}", ",", ":", "\"", "\\", "null", "true", "0", "-1", "1e9",
    "1e999", "0.5", "[]", "{}", "[[", "]]", "}, {", "},{", " ", "id", "image_id", "category_id", "bbox", "area",
    "iscrowd", "segmentation", "counts", "size", "score", "images", "annotations", "categories", "\"counts\": \"\"",
    "\"bbox\": []", "\"segmentation\": null", "\\u0030", "\\\\", "4294967295", "9223372036854775808",
    "-9223372036854775808", "[4294967295, 1]", "oooooo", "\xff", "\xc3\xa9"};

class Mutator {
 public:
  explicit Mutator(std::uint64_t seed) : rng_(seed) {}
  std::string operator()(const std::vector<std::string>& seeds) {
    std::string text = seeds[rng_() % seeds.size()];
    // Mostly one change: what is broken in four places is refused at the first.
    do { change(text, seeds); } while (rng_() % 3 == 0);
    return text;
  }

 private:
  std::size_t place(const std::string& text) { return text.empty() ? 0 : rng_() % text.size(); }
  void change(std::string& text, const std::vector<std::string>& seeds) {
    const std::size_t at = place(text), length = 1 + rng_() % 12;
    switch (rng_() % 9) {
      case 0: text.erase(at, length); break;
      case 1: text.insert(at, kFragments[rng_() % std::size(kFragments)]); break;
      case 2: text.insert(at, text.substr(place(text), length * 8)); break;
      case 3:
        if (!text.empty()) text[at] = static_cast<char>(rng_());
        break;
      case 4:
        if (!text.empty()) text[at] = static_cast<char>(text[at] ^ (1 << rng_() % 8));
        break;
      case 5: text.resize(at); break;
      case 6:
      case 7: {  // another digit: usually still a file, with other numbers
        const std::size_t digit = text.find_first_of("0123456789", at);
        if (digit != std::string::npos) text[digit] = static_cast<char>('0' + rng_() % 10);
        break;
      }
      default: {
        const std::string& other = seeds[rng_() % seeds.size()];
        text.replace(at, length * 4, other.substr(place(other), length * 8));
      }
    }
  }
  std::mt19937_64 rng_;
};

class Fuzz : public testing::TestWithParam<const char*> {};

TEST_P(Fuzz, CorpusAndSeededMutations) {
  const std::string name = GetParam();
  const FuzzTarget target = fuzz_target(name);
  const std::vector<std::string> seeds = corpus(name);
  ASSERT_FALSE(seeds.empty());
  int accepted = 0, refused = 0;
  const auto count = [&](bool ok) { ok ? ++accepted : ++refused; };
  for (const std::string& text : seeds) count(target(text));
  EXPECT_GT(accepted, 0) << "no seed is good: mutations of it test nothing";
  const char* wanted = std::getenv("TTT_FUZZ_ROUNDS");
  const int rounds = wanted ? std::atoi(wanted) : 10000;
  Mutator mutate(2024);
  for (int i = 0; i < rounds; ++i) {
    const std::string text = mutate(seeds);
    // A crash leaves the input behind.
    static const std::string trace = std::getenv("TTT_FUZZ_TRACE") ? std::getenv("TTT_FUZZ_TRACE") : "";
    if (!trace.empty()) write_text(trace, text);
    count(target(text));
  }
  EXPECT_GT(accepted, rounds / 100);
  EXPECT_GT(refused, rounds / 100);
  std::printf("%s: %d accepted, %d refused\n", name.c_str(), accepted, refused);
}

INSTANTIATE_TEST_SUITE_P(Targets, Fuzz, testing::Values("rle", "instances", "results", "serialised"),
    [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace ttt::test
