// Checkpoint files and their folder, without a run: what is written is read, and nothing damaged is.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>

#include <fstream>
#include <set>

#include "checkpoint/checkpoint_folder.h"
#include "core/crc32c.h"
#include "core/error.h"
#include "core/rng.h"
#include "core/temp_folder.h"
#include "tests/support/message_of.h"
#include "tests/support/python.h"
#include "tests/support/toy_record.h"

namespace ttt::train {
namespace {

namespace fs = std::filesystem;
using test::message_of;
using test::read_text;
using test::write_text;

CheckpointState toy_state(std::int64_t step) {
  const result::RunRecord r = test::toy_resumed();
  CheckpointState s{.run_id = "0123456789abcdef",
      .step = step,
      .images = 16 * step,
      .ranks = 2,
      .signal = "SIGUSR1",
      .saved_unix_s = 1.75e9 + 0.125,
      .clocks = r.clocks,
      .recipe = {{"seed", 1}, {"train", {{"schedule", {{"lr", 0.1}}}}}},
      .data = {{"train_images", 64}}};
  s.past.accuracy = r.accuracy, s.past.resumes = r.resumes, s.past.checkpoints = r.checkpoints,
  s.past.warnings = r.warnings;
  s.past.non_finite = {{3, "loss.mask", "nan"}};
  s.steps = r.steps;
  s.sections = {{"log", std::string("\0\xff bytes of any kind\n", 20)}, {"empty", ""}};
  return s;
}

// Values that no two places share.
std::vector<float> values(std::size_t count, float from) {
  std::vector<float> v(count);
  for (std::size_t i = 0; i < count; ++i) v[i] = from + static_cast<float>(i) / 64;
  return v;
}

void write_toy(const fs::path& path, std::int64_t step) {
  const auto start = static_cast<float>(step);
  write_checkpoint(path.string(), toy_state(step), 1 << 16, [&](const AddArray& add) {
    add("/weights/a.weight", values(24, start), {2, 3, 4});
    add("/weights/a.running_mean", values(5, start + 1000), {5});
    add("/optimizer/momentum/a.weight", values(24, start + 2000), {2, 3, 4});
    add("/per_rank/a.running_mean", values(10, start + 3000), {2, 5});
  });
}

TEST(CheckpointFile, IsReadAsItWasWritten) {
  TempFolder folder;
  const fs::path path = folder / "step-00000008.h5";
  write_toy(path, 8);
  const Checkpoint c = read_checkpoint(path.string());
  const CheckpointState want = toy_state(8);
  EXPECT_EQ(state_json(c.state), state_json(want));
  EXPECT_EQ(c.state.sections, want.sections);
  EXPECT_EQ(c.state.steps.loss, want.steps.loss);
  EXPECT_EQ(c.state.steps.phase_s, want.steps.phase_s);
  EXPECT_EQ(c.state.steps.step, want.steps.step);
  EXPECT_EQ(c.state.past.non_finite.size(), 1u);
  EXPECT_EQ(c.weights.at("a.weight").values, values(24, 8));
  EXPECT_EQ(c.weights.at("a.weight").dims, (data::h5::Dims{2, 3, 4}));
  EXPECT_EQ(c.weights.size(), 2u);
  EXPECT_EQ(c.optimizer.at("momentum/a.weight").values, values(24, 2008));
  EXPECT_EQ(c.per_rank.at("a.running_mean").values, values(10, 3008));
}

// The whole file's checksum by one that we did not write, and the arrays by h5py.
TEST(CheckpointFile, OutsideReadersAgree) {
  TTT_NEED_PYTHON("h5py");
  TempFolder folder;
  write_toy(folder / "step-00000008.h5", 8);
  write_text(folder / "look.py", R"py(
import sys, json, h5py, numpy as np
def crc32c(data):  # bit by bit, as RFC 3720 defines it
    crc = 0xffffffff
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82f63b78 if crc & 1 else 0)
    return crc ^ 0xffffffff
assert crc32c(b"123456789") == 0xe3069283
path = sys.argv[1]
raw = open(path, "rb").read()
lines = raw[:512].rstrip(b"\0").decode().split("\n")
zeros = raw.replace(lines[1].encode(), b"crc32c 00000000", 1)
assert lines == ["ttt-checkpoint 2", "crc32c %08x" % crc32c(zeros), "bytes %020d" % len(raw), ""], lines
with h5py.File(path) as f:
    assert f.userblock_size == 512 and f.attrs["step"] == 8 and f.attrs["ranks"] == 2
    assert np.array_equal(f["weights/a.weight"][()], (8 + np.arange(24) / 64).astype("f").reshape(2, 3, 4))
    assert json.loads(bytes(f["state"][()]))["images"] == 128
    assert list(f["steps/step"][()]) == list(range(8)) and f["steps/loss.mask"].dtype == "f8"
    seen = []
    whole = lambda d: isinstance(d, h5py.Dataset) and d.attrs["crc32c"] == crc32c(d[()].tobytes())
    f.visititems(lambda name, d: seen.append(name) if whole(d) else None)
    assert len(seen) == 4 + 1 + 15 + 2, seen
)py");
  const auto done = test::run_command(
      test::python() + " " + (folder / "look.py").string() + " " + (folder / "step-00000008.h5").string() + " 2>&1");
  EXPECT_EQ(done.status, 0) << done.output;
}

// The same bytes with the checksum that they should have.
std::string sealed(std::string bytes) {
  const std::size_t at = bytes.find("crc32c ") + 7;
  bytes.replace(at, 8, "00000000");
  char crc[16];
  std::snprintf(crc, sizeof crc, "%08x", crc32c(bytes.data(), bytes.size()));
  return bytes.replace(at, 8, crc);
}

// Each mutant is refused with its name, and the one before it is used.
TEST(CheckpointFolder, ChangedByteOrCut_IsFound) {
  TempFolder folder;
  const fs::path newest = folder / "step-00000012.h5";
  write_toy(folder / "step-00000008.h5", 8);
  write_toy(newest, 12);
  const std::string whole = read_text(newest);
  Stream draw(random_bits(1, Purpose::kTest, 2026));
  std::set<std::string> reasons;
  for (int i = 0; i < 100; ++i) {
    std::string bytes = whole;
    if (i % 4 == 0) bytes.resize(draw.below(bytes.size()));
    else if (i % 4 == 1) bytes[draw.below(640)] ^= static_cast<char>(1 << draw.below(8));  // the head, and HDF5's
    else bytes[draw.below(bytes.size())] ^= static_cast<char>(1 + draw.below(255));
    write_text(newest, bytes);
    const std::string refused = message_of<DataError>([&] { read_checkpoint(newest.string()); });
    EXPECT_NE(refused.find("'" + newest.string() + "' "), std::string::npos) << i << " " << refused;
    reasons.insert(refused.substr(refused.find("' ") + 2, 12));
    const Earlier found = find_earlier({.folder = folder.path().string()});
    ASSERT_TRUE(found.checkpoint) << i;
    EXPECT_EQ(found.checkpoint->state.step, 8) << i;
    ASSERT_EQ(found.warnings.size(), 1u);
    EXPECT_NE(found.warnings[0].find(refused), std::string::npos);
    EXPECT_TRUE(fs::exists(newest.string() + ".damaged"));
  }
  EXPECT_GE(reasons.size(), 4u) << "cut, head, body, no checkpoint";
  write_text(newest, whole);
  EXPECT_EQ(find_earlier({.folder = folder.path().string()}).checkpoint->state.step, 12);
}

// The whole file's checksum made right again: then a dataset's own says which one it is.
TEST(CheckpointFile, Dataset_HasItsOwnChecksum) {
  TempFolder folder;
  const fs::path path = folder / "step-00000008.h5";
  write_toy(path, 8);
  std::string bytes = read_text(path);
  const std::vector<float> momentum = values(24, 2008);
  const std::size_t at =
      bytes.find(std::string(reinterpret_cast<const char*>(momentum.data()), momentum.size() * sizeof(float)));
  ASSERT_NE(at, std::string::npos);
  bytes[at + 5] ^= 1;
  write_text(path, sealed(bytes));
  EXPECT_NE(message_of<DataError>([&] {
    read_checkpoint(path.string());
  }).find("'/optimizer/momentum/a.weight' does not match its checksum"),
      std::string::npos);
}

TEST(CheckpointFile, WhatIsNoCheckpointIsRefused) {
  TempFolder folder;
  write_text(folder / "a.h5", "text");
  EXPECT_NE(message_of<DataError>([&] {
    read_checkpoint(folder / "a.h5");
  }).find("does not begin with the checksum of such a file"),
      std::string::npos);
  EXPECT_NE(message_of<UsageError>([&] { read_checkpoint(folder / "none.h5"); }).find("There is no checkpoint"),
      std::string::npos);
  write_toy(folder / "b.h5", 8);
  std::string bytes = read_text(folder / "b.h5");
  bytes[15] = '7';
  write_text(folder / "b.h5", bytes);
  EXPECT_NE(message_of<DataError>([&] { read_checkpoint(folder / "b.h5"); }).find("does not match its checksum"),
      std::string::npos);
  write_text(folder / "b.h5", sealed(bytes));
  EXPECT_NE(message_of<UsageError>([&] {
    read_checkpoint(folder / "b.h5");
  }).find("has version 7, this program reads versions 1 to 2"),
      std::string::npos);
}

// As version 1 had it: the momentum in a group of its own, and a recipe without kinds.
TEST(CheckpointFile, Version1_IsRead) {
  TempFolder folder;
  const std::string path = folder / "step-00000008.h5";
  CheckpointState state = toy_state(8);
  state.recipe = {{"train", {{"schedule", {{"lr", 0.1}}}, {"optimizer", {{"momentum", 0.9}}}}}};
  write_checkpoint(path, state, 1 << 16, [&](const AddArray& add) {
    add("/momentum/a.weight", values(24, 2008), {2, 3, 4});
  });
  std::string bytes = read_text(path);
  bytes[15] = '1';
  write_text(path, sealed(bytes));
  const Checkpoint c = read_checkpoint(path);
  EXPECT_EQ(c.optimizer.at("momentum/a.weight").values, values(24, 2008));
  EXPECT_EQ(c.state.recipe["train"]["schedule"], (result::Json{{"lr", 0.1}, {"kind", "step_decay"}}));
  EXPECT_EQ(c.state.recipe["train"]["optimizer"]["kind"], "sgd");
}

TEST(CheckpointFolder, ResumesAsAsked) {
  TempFolder folder;
  const std::string path = folder / "run";
  EXPECT_FALSE(find_earlier({}).folder);
  EXPECT_FALSE(find_earlier({.folder = path}).checkpoint);
  EXPECT_NE(
      message_of<UsageError>([&] { find_earlier({.folder = path, .resume = "required"}); }).find("holds no checkpoint"),
      std::string::npos);
  EXPECT_NE(message_of<UsageError>([&] { find_earlier({.resume = "required"}); }).find("train.checkpoint.folder"),
      std::string::npos);
  EXPECT_NE(message_of<UsageError>([&] { find_earlier({.resume = "never", .from = "x"}); }).find("contradicts"),
      std::string::npos);
  write_toy(path + "/step-00000008.h5", 8);
  write_toy(path + "/step-00000012.h5", 12);
  EXPECT_EQ(find_earlier({.folder = path, .resume = "required"}).checkpoint->state.step, 12);
  EXPECT_NE(message_of<UsageError>([&] { find_earlier({.folder = path, .resume = "never"}); }).find("step-00000012.h5"),
      std::string::npos);
  EXPECT_EQ(find_earlier({.from = path + "/step-00000008.h5"}).checkpoint->state.step, 8);
  EXPECT_NE(message_of<UsageError>([&] {
    find_earlier({.folder = path, .from = path + "/step-00000008.h5"});
  }).find("step-00000012.h5"),
      std::string::npos);
  fs::resize_file(path + "/step-00000012.h5", 700);
  EXPECT_NE(message_of<DataError>([&] { find_earlier({.folder = path, .resume = "required"}); }).find("700 bytes of"),
      std::string::npos);
  EXPECT_NE(message_of<DataError>([&] { find_earlier({.from = path + "/step-00000012.h5"}); }).find("700 bytes of"),
      std::string::npos);
  fs::resize_file(path + "/step-00000008.h5", 0);
  const Earlier none = find_earlier({.folder = path});
  EXPECT_FALSE(none.checkpoint);
  EXPECT_EQ(none.warnings.size(), 3u);
  EXPECT_NE(none.warnings[2].find("the run starts anew"), std::string::npos);
}

TEST(CheckpointFolder, KilledWriter_NewestIsKept) {
  TempFolder folder;
  for (const char* name : {"step-00000004.h5.tmp", "REQUEUE", "notes.tmp", "step-x.h5", "step-00000004.h5.damaged"})
    write_text(folder / name, "");
  for (const std::int64_t step : {4, 100000000, 8, 12})
    write_toy(folder / ("step-" +
                           std::string(step == 100000000 ? ""
                                       : step < 10       ? "0000000"
                                                         : "000000") +
                           std::to_string(step) + ".h5"),
        step);
  const CheckpointFolder checkpoints(folder.path());
  EXPECT_FALSE(fs::exists(folder / "step-00000004.h5.tmp") || fs::exists(folder / "REQUEUE"));
  EXPECT_TRUE(fs::exists(folder / "notes.tmp") && fs::exists(folder / "step-x.h5") &&
              fs::exists(folder / "step-00000004.h5.damaged"));
  EXPECT_EQ(checkpoints.path_of(100000000), folder / "step-100000000.h5");
  checkpoints.prune(2);
  EXPECT_EQ(checkpoints.list(), (std::vector<fs::path>{folder / "step-00000012.h5", folder / "step-100000000.h5"}));
  EXPECT_NE(
      message_of<UsageError>([&] { CheckpointFolder(folder.path(), 0.1); }).find("Another run is writing checkpoints"),
      std::string::npos);
  checkpoints.request_requeue("run");
  EXPECT_TRUE(fs::exists(folder / "REQUEUE"));
}

// A process may write files of 64 KiB at most: as on a disk that is full.
TEST(CheckpointFile, FullDisk_KeepsTheOneBefore) {
  TempFolder folder;
  write_toy(folder / "step-00000008.h5", 8);
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit small{.rlim_cur = 64 << 10, .rlim_max = before.rlim_max};
  const auto handler = ::signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &small);
  const auto write = [&](std::uint64_t about) {
    return message_of<Error>([&] {
      write_checkpoint(folder / "step-00000012.h5", toy_state(12), about,
          [&](const AddArray& add) { add("/weights/large", values(1 << 16, 0), {1 << 16}); });
    });
  };
  const std::string at_once = write(1 << 20), while_writing = write(1 << 10);
  setrlimit(RLIMIT_FSIZE, &before);
  ::signal(SIGXFSZ, handler);
  EXPECT_NE(at_once.find("has no room"), std::string::npos) << at_once;
  EXPECT_NE(while_writing.find("step-00000012.h5"), std::string::npos) << while_writing;
  EXPECT_EQ(CheckpointFolder(folder.path()).list(), std::vector<fs::path>{folder / "step-00000008.h5"});
  EXPECT_FALSE(fs::exists(folder / "step-00000012.h5.tmp"));
  write_toy(folder / "step-00000012.h5", 12);  // HDF5 continues after its failure
  EXPECT_EQ(read_checkpoint(folder / "step-00000012.h5").state.step, 12);
}

TEST(CheckpointSettings, DefiningKeys_MustAgree) {
  const result::Json a = {{"seed", 1},
      {"train", {{"epochs", 4}, {"threads", 1}, {"checkpoint", {{"keep", 3}}}, {"schedule", {{"lr", 0.02}}}}}};
  result::Json b = a;
  EXPECT_EQ(changed_settings(a, b, "f"), result::Json::array());
  b["train"]["epochs"] = 8, b["train"]["checkpoint"]["keep"] = 1;
  EXPECT_EQ(
      changed_settings(a, b, "f"), result::Json::parse(R"([{"key": "train.checkpoint.keep", "before": 3, "value": 1},
    {"key": "train.epochs", "before": 4, "value": 8}])"));
  b["train"]["schedule"]["lr"] = 0.01;
  EXPECT_NE(message_of<UsageError>([&] {
    changed_settings(a, b, "f");
  }).find("'f' was made with train.schedule.lr = 0.02, and this run has 0.01"),
      std::string::npos);
  b = a;
  b["train"]["new"] = true;
  EXPECT_NE(message_of<UsageError>([&] { changed_settings(a, b, "f"); }).find("train.new = \"(not there)\""),
      std::string::npos);
}

}  // namespace
}  // namespace ttt::train
