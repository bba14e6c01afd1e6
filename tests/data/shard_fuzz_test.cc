// Mutated shards: whatever the bytes, the reader hands out records whose checksum holds, or throws an Error that names
// the file. Two ways in: bytes of the file (HDF5's structures included), and arrays of the index written again with a
// right checksum, which only our own checks can refuse. Sanitizer builds run it too. `data_shard_fuzz_test SEED ROUNDS`
// searches longer; a file that found something goes into corpus/.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>

#include "core/crc32c.h"
#include "core/error.h"
#include "core/rng.h"
#include "core/temp_folder.h"
#include "data/collate.h"
#include "data/shard_set.h"
#include "data/shard_writer.h"
#include "tests/data/tiny_set.h"

namespace ttt::data {
namespace {

namespace fs = std::filesystem;

std::uint64_t seed = 1;
int rounds = 1;  // times the usual number of mutants

// Opens, reads, decodes and makes targets of everything. Returns whether the file was accepted.
bool check(const std::string& folder) {
  const std::string path = folder + "/train-00000-of-00001.h5";
  try {
    const ShardSet set(folder, "train");
    const DataSettings settings = tiny_settings();
    ImageWorker worker(settings);
    ImageTargets targets;
    for (std::int64_t i = 0; i < set.size(); ++i) {
      try {
        const std::int64_t bytes = set.read(i, worker.jpeg);
        EXPECT_EQ(crc32c(worker.jpeg.data(), static_cast<std::size_t>(bytes)),
            set.shard_of(i).index().crc32c[set.record_of(i)]);
        worker.decoder.decode({worker.jpeg.data(), static_cast<std::size_t>(bytes)}, worker.image);
      } catch (const DataError&) {}
      const ImageInfo info = set.image(i);
      // a lie about the size: met when decoding
      if (static_cast<std::int64_t>(info.height) * info.width > 1 << 20) continue;
      make_targets(set.shard_of(i).index(), set.record_of(i),
          {.in = {info.height, info.width}, .out = {64, 64}, .flip = i % 2 == 1}, targets);
    }
    set.ground_truth();
    return true;
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find(path), std::string::npos) << e.what();
    return false;
  }
}

class ShardFuzz : public testing::Test {
 protected:
  ShardFuzz() : draw_(random_bits(seed, Purpose::kTest, 77)) { fs::create_directories(scratch_.path()); }
  std::string path() const { return scratch_ / "train-00000-of-00001.h5"; }
  TinySet tiny_{5, 64, 1 << 20};
  TempFolder scratch_;
  Stream draw_;
};

TEST_F(ShardFuzz, MutatedBytes) {
  const std::string whole = test::read_text(tiny_.shards() + "/" + find_shards(tiny_.shards(), "train")[0]);
  int accepted = 0, refused = 0;
  for (int i = 0; i < 400 * rounds; ++i) {
    std::string mutant = whole;
    // HDF5's own structures stand at the front and behind the records: half of the mutants aim there.
    const auto place = [&] {
      const std::size_t at = draw_.below(mutant.size());
      return draw_.below(2)
                 ? at
                 : std::min<std::size_t>(
                       at % 4096 + (draw_.below(2) ? 0 : mutant.size() - std::min<std::size_t>(mutant.size(), 12000)),
                       mutant.size() - 1);
    };
    switch (draw_.below(5)) {
      case 0: mutant[place()] ^= static_cast<char>(1 << draw_.below(8)); break;
      case 1:
        for (int k = 0; k < 16; ++k) mutant[place()] = static_cast<char>(draw_.bits());
        break;
      case 2: mutant.resize(place()); break;
      case 3: {
        const std::size_t from = place(), n = std::min<std::size_t>(draw_.below(512), mutant.size() - from);
        std::fill_n(mutant.begin() + static_cast<long>(from), n, draw_.below(2) ? '\0' : '\xff');
        break;
      }
      default: {
        const std::size_t from = place(), to = place(),
                          n = std::min<std::size_t>(draw_.below(256), mutant.size() - std::max(from, to));
        mutant.replace(to, n, whole, from, n);
      }
    }
    test::write_text(path(), mutant);
    (check(scratch_.path()) ? accepted : refused)++;
    if (HasFailure()) {
      fs::copy_file(path(), "found.h5", fs::copy_options::overwrite_existing);
      FAIL() << "mutant " << i << " of seed " << seed << " is kept as found.h5";
    }
  }
  EXPECT_GT(refused, 50 * rounds);
  EXPECT_GT(accepted, 10 * rounds);  // records that are refused one by one, unused bytes
}

TEST_F(ShardFuzz, MutatedArraysWithARightChecksum) {
  const ShardSet source(tiny_.shards(), "train");
  int refused = 0;
  for (int i = 0; i < 300 * rounds; ++i) {
    ShardIndex index = source.shards()[0]->index();
    const std::uint64_t victim = draw_.below(19);
    std::uint64_t k = 0;
    for_each_array(index, [&](const char*, auto& array, int) {
      using T = typename std::remove_reference_t<decltype(array)>::value_type;
      if (k++ != victim || array.empty()) return;
      const std::size_t at = draw_.below(array.size());
      switch (draw_.below(5)) {
        case 0: array.resize(draw_.below(array.size() + 1)); break;
        case 1: array.push_back(array[at]); break;
        case 2: array[at] = static_cast<T>(draw_.bits()); break;
        case 3: array[at] = draw_.below(2) ? std::numeric_limits<T>::max() : std::numeric_limits<T>::lowest(); break;
        default:
          array[at] = std::is_floating_point_v<T> ? std::numeric_limits<T>::quiet_NaN() : static_cast<T>(array[at] + 1);
      }
    });
    // Columns are what the writer makes of them; a list that no longer divides is written as a shorter one.
    ShardWriter writer(path(), 1 << 16);
    writer.finish(index, {{"split", "train"}, {"pack_id", "x"}, {"source_sha256", ""}}, {});
    refused += !check(scratch_.path());
    if (HasFailure()) FAIL() << "mutant " << i << " of seed " << seed << ", array " << victim;
  }
  EXPECT_GT(refused, 60 * rounds);
}

// Each file once made a reader print more than its one sentence. HDF5 complains when a process ends after it met a
// damaged header ("infinite loop closing library"), and a damaged root was taken for another kind of file.
TEST(ShardCorpus, WhatWasFoundStaysFixed) {
  int files = 0;
  for (const auto& entry : fs::directory_iterator(TTT_SHARD_CORPUS)) {
    if (entry.path().extension() != ".h5") continue;
    const TempFolder folder;
    fs::copy_file(entry.path(), folder / "train-00000-of-00001.h5");
    EXPECT_FALSE(check(folder.path()));
    const auto seen = test::run_command(TTT_DATA_PROBE " truth " + folder.path().string() + " train 2>&1");
    EXPECT_EQ(seen.status, 3);
    EXPECT_EQ(std::count(seen.output.begin(), seen.output.end(), '\n'), 1) << seen.output;
    EXPECT_NE(seen.output.find("the file is damaged or cut short"), std::string::npos) << seen.output;
    ++files;
  }
  EXPECT_GT(files, 0);
}

}  // namespace
}  // namespace ttt::data

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (argc > 1) ttt::data::seed = std::strtoull(argv[1], nullptr, 10);
  if (argc > 2) ttt::data::rounds = std::atoi(argv[2]);
  return RUN_ALL_TESTS();
}
