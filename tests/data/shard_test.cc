#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "core/crc32c.h"
#include "core/error.h"
#include "core/sha256.h"
#include "core/temp_folder.h"
#include "core/whole_file.h"
#include "data/hdf5.h"
#include "data/sealed_file.h"
#include "data/shard_set.h"
#include "data/shard_writer.h"
#include "tests/data/tiny_set.h"

namespace ttt::data {
namespace {

namespace fs = std::filesystem;

// HDF5 itself crashes on some of these, so every byte is looked at before it parses the file.
TEST(SealedFile, EveryChangedByte_IsRefused) {
  TempFolder folder;
  const std::string path = (folder / "w.h5").string();
  for (const Digest digest : {Digest::kCrc32c, Digest::kSha256}) {
    const SealKind kind{.magic = "ttt-toy", .name = "The toy", .remedy = "Copy it again.", .digest = digest};
    {
      h5::File file = h5::File::create(path, kSealBytes);
      file.write<float>("/a", std::vector<float>{1, 2, 3}, {3});
      file.close();
    }
    EXPECT_THROW(check_seal(path, kind), DataError);  // not sealed yet
    seal(path, kind, 7);
    EXPECT_EQ(check_seal(path, kind), 7);
    EXPECT_EQ(h5::File::open(path).read<float>("/a").size(), 3u);
    const std::string whole = read_whole_file(path);
    for (std::size_t i = 0; i < whole.size(); i += i < kSealBytes ? 1 : 7) {
      std::string changed = whole;
      changed[i] = static_cast<char>(changed[i] ^ 1);
      std::ofstream(path, std::ios::binary) << changed;
      EXPECT_THROW(check_seal(path, kind), DataError) << "byte " << i;
    }
    std::ofstream(path, std::ios::binary) << whole.substr(0, whole.size() - 1);
    EXPECT_THROW(check_seal(path, kind), DataError);
  }
}

TEST(Crc32c, StandardCheckValue_Chains) {
  const std::string digits = "123456789";  // RFC 3720, B.4 and the catalogue of CRCs: E3069283
  EXPECT_EQ(crc32c(digits.data(), 9), 0xE3069283u);
  EXPECT_EQ(crc32c_portable(digits.data(), 9), 0xE3069283u);
  const std::vector<std::uint8_t> zeros(32, 0), ones(32, 0xFF);  // RFC 3720, B.4
  EXPECT_EQ(crc32c(zeros.data(), 32), 0x8A9136AAu);
  EXPECT_EQ(crc32c(ones.data(), 32), 0x62A8AB43u);
  std::vector<std::uint8_t> bytes(1000);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::uint8_t>(i * 131 >> 3);
  for (std::size_t n = 0; n <= bytes.size(); n += 7) {
    EXPECT_EQ(crc32c(bytes.data(), n), crc32c_portable(bytes.data(), n));
    EXPECT_EQ(crc32c(bytes.data() + n, bytes.size() - n, crc32c(bytes.data(), n)), crc32c(bytes.data(), bytes.size()));
  }
}

TEST(Sha256, VectorsOfFips180) {
  Sha256 empty, abc, pieces;
  EXPECT_EQ(empty.hex(), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  abc.update("abc");
  EXPECT_EQ(abc.hex(), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  const std::string million(1'000'000, 'a');
  for (std::size_t at = 0, n = 1; at < million.size(); at += n, n = n % 97 + 1)
    pieces.update(std::string_view(million).substr(at, n));
  EXPECT_EQ(pieces.hex(), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

std::vector<char> contents(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}
void write(const std::string& path, const std::vector<char>& bytes) {
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

class Shards : public testing::Test {
 protected:
  static void SetUpTestSuite() { tiny_ = new TinySet(); }
  static void TearDownTestSuite() { delete tiny_, tiny_ = nullptr; }
  // A copy of the first shard that a test may damage, alone in a folder as a whole set.
  std::string copy() {
    const std::string path = scratch_ / "train-00000-of-00001.h5";
    fs::copy_file(
        tiny_->shards() + "/" + find_shards(tiny_->shards(), "train")[0], path, fs::copy_options::overwrite_existing);
    return path;
  }
  static TinySet* tiny_;
  TempFolder scratch_;
};
TinySet* Shards::tiny_ = nullptr;

TEST_F(Shards, Records_BothPathsEqualTheFiles) {
  for (const auto path : {ShardFile::Path::kPread, ShardFile::Path::kHdf5}) {
    const ShardSet set(tiny_->shards(), "train", path);
    EXPECT_GT(set.shards().size(), 1u);
    EXPECT_EQ(set.shards()[0]->read_path(), path);
    ASSERT_EQ(set.size(), 12);
    std::vector<std::uint8_t> bytes;
    for (std::int64_t i = 0; i < set.size(); ++i) {
      char name[32];
      std::snprintf(name, sizeof name, "%012lld.jpg", static_cast<long long>(set.image(i).id));
      const std::vector<char> file = contents(tiny_->folder / "train" / name);
      ASSERT_EQ(set.read(i, bytes), static_cast<std::int64_t>(file.size()));
      EXPECT_TRUE(std::equal(file.begin(), file.end(), reinterpret_cast<const char*>(bytes.data())));
    }
  }
}

TEST_F(Shards, EveryFlippedByte_IsNamed) {
  const std::string path = copy();
  const ShardFile shard(path);
  const std::uint64_t at = *h5::File::open(path).byte_offset("/bytes") + shard.index().offset[1];
  const std::string name = path + ", record 1, image " + std::to_string(shard.index().image_id[1]);
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  std::vector<std::uint8_t> bytes;
  for (std::uint32_t i = 0; i < shard.index().length[1]; ++i) {
    const auto poke = [&](int bit) {
      char byte;
      file.seekg(static_cast<std::streamoff>(at + i)).get(byte);
      file.seekp(static_cast<std::streamoff>(at + i)).put(static_cast<char>(byte ^ (1 << bit))).flush();
    };
    poke(i % 8);
    const std::string message = message_of<DataError>([&] { shard.read(1, bytes); });
    ASSERT_EQ(message.rfind(name + " does not match its checksum", 0), 0u) << message;
    poke(i % 8);
  }
  EXPECT_NO_THROW(shard.read(1, bytes));  // all is as it was
}

TEST_F(Shards, AnyCut_IsRefused) {
  const std::string path = copy();
  const std::vector<char> whole = contents(path);
  for (std::size_t keep = 0; keep < whole.size(); keep += whole.size() / 40 + 1) {
    write(path, {whole.begin(), whole.begin() + static_cast<long>(keep)});
    const std::string message = message_of<DataError>([&] { ShardFile shard(path); });
    EXPECT_NE(message.find(path), std::string::npos) << message;
    EXPECT_NE(message.find("pack it again"), std::string::npos) << message;
  }
}

TEST_F(Shards, OtherVersionOrFile_IsNamed) {
  const std::string path = scratch_ / "train-00000-of-00001.h5";
  {
    h5::File file = h5::File::create(path);
    file.set_attribute("format", std::string(kShardFormat));
    file.set_attribute("format_version", std::int64_t{7});
    file.close();
  }
  std::string message = message_of<DataError>([&] { ShardFile shard(path); });
  EXPECT_NE(message.find("version 7"), std::string::npos) << message;
  EXPECT_NE(message.find("reads version 1"), std::string::npos) << message;
  {
    h5::File file = h5::File::create(path);
    file.write<float>("/weights", std::vector<float>{1, 2}, {2});
    file.close();
  }
  message = message_of<DataError>([&] { ShardFile shard(path); });
  EXPECT_NE(message.find("not a shard"), std::string::npos) << message;
  write(path, {'t', 'e', 'x', 't'});
  message = message_of<DataError>([&] { ShardFile shard(path); });
  EXPECT_NE(message.find("not an HDF5 file"), std::string::npos) << message;
}

TEST_F(Shards, MissingPart_IsNamed) {
  EXPECT_NE(
      message_of<UsageError>([&] { ShardSet(scratch_ / "none", "train"); }).find("no data folder"), std::string::npos);
  EXPECT_NE(message_of<UsageError>([&] { ShardSet(tiny_->shards(), "test"); }).find("no shards of split 'test'"),
      std::string::npos);
  const std::vector<std::string> names = find_shards(tiny_->shards(), "train");
  for (std::size_t skipped = 0; skipped < names.size(); ++skipped) {
    const TempFolder folder;
    for (std::size_t i = 0; i < names.size(); ++i)
      if (i != skipped) fs::copy_file(tiny_->shards() + "/" + names[i], folder / names[i]);
    EXPECT_NE(message_of<DataError>([&] { ShardSet(folder.path(), "train"); }).find("not complete"), std::string::npos);
  }
  PackSettings again = tiny_->settings();  // the same images, packed with another setting
  again.out = scratch_ / "again", again.filter_empty = true;
  pack(again);
  const TempFolder folder;
  for (std::size_t i = 0; i < names.size(); ++i)
    fs::copy_file((i == 0 ? tiny_->shards() : again.out) + "/" + names[i], folder / names[i]);
  EXPECT_NE(
      message_of<DataError>([&] { ShardSet(folder.path(), "train"); }).find("another packing"), std::string::npos);
}

// A shard as another program might write it: chunked bytes, which have no single place in the file.
TEST_F(Shards, ChunkedBytes_AreReadByHdf5) {
  TTT_NEED_PYTHON("h5py");
  const std::string path = copy(), rewritten = scratch_ / "chunked.h5";
  const std::string script =
      "import h5py,sys\n"
      "a=h5py.File(sys.argv[1]);b=h5py.File(sys.argv[2],\"w\")\n"
      "for k,v in a.attrs.items(): b.attrs[k]=v\n"
      "a.visititems(lambda n,o: b.create_dataset(n,data=o[()],chunks=(4096,) if n==\"bytes\" else None,dtype=o.dtype) "
      "and None if isinstance(o,h5py.Dataset) else None)\n"
      "b.close()\n";
  test::write_text(scratch_ / "rewrite.py", script);
  const auto done = test::run_command(
      test::python() + " " + (scratch_ / "rewrite.py").string() + " " + path + " " + rewritten + " 2>&1");
  ASSERT_EQ(done.status, 0) << done.output;
  const ShardFile plain(path), chunked(rewritten);
  EXPECT_EQ(plain.read_path(), ShardFile::Path::kPread);
  EXPECT_EQ(chunked.read_path(), ShardFile::Path::kHdf5);
  std::vector<std::uint8_t> a, b;
  for (std::int64_t i = 0; i < plain.index().images(); ++i) {
    a.clear(), b.clear();
    plain.read(i, a), chunked.read(i, b);
    EXPECT_EQ(a, b);
  }
}

TEST(ShardWriter, UnfinishedFile_Vanishes) {
  const TempFolder folder;
  { const ShardWriter writer(folder / "train-00000-of-00001.h5", 1000); }
  EXPECT_TRUE(fs::is_empty(folder.path()));
  // More than any disk of today: the reservation fails before anything is written.
  const std::string message =
      message_of<Error>([&] { ShardWriter writer(folder / "huge.h5", std::uint64_t{1} << 55); });
  EXPECT_NE(message.find("huge.h5"), std::string::npos) << message;
  EXPECT_NE(message.find("free space"), std::string::npos) << message;
  EXPECT_TRUE(fs::is_empty(folder.path()));
}

TEST(Hdf5, TypesShapesStringsAndAttributesSurvive) {
  const TempFolder folder;
  const std::string path = folder / "a.h5";
  h5::File out = h5::File::create(path);
  out.write<std::int32_t>("/group/ints", std::vector<std::int32_t>{-1, 2, 3, 4, 5, 6}, {2, 3});
  out.write<double>("/none", std::vector<double>{}, {0});
  out.write<float>("/scalar", std::vector<float>{1.5f}, {});
  out.write_strings("/names", {"a", "Käse", ""});
  out.set_attribute("text", std::string("hello"));
  out.set_attribute("number", std::int64_t{-5}, "/group/ints");
  out.close();
  const h5::File in = h5::File::open(path);
  EXPECT_EQ(in.datasets(), (std::vector<std::string>{"/group/ints", "/names", "/none", "/scalar"}));
  EXPECT_EQ(in.dims("/group/ints"), (h5::Dims{2, 3}));
  EXPECT_EQ(in.read<std::int32_t>("/group/ints"), (std::vector<std::int32_t>{-1, 2, 3, 4, 5, 6}));
  EXPECT_TRUE(in.read<double>("/none").empty());
  EXPECT_EQ(in.read<float>("/scalar"), std::vector<float>{1.5f});
  EXPECT_EQ(in.read_strings("/names"), (std::vector<std::string>{"a", "Käse", ""}));
  EXPECT_EQ(in.string_attribute("text"), "hello");
  EXPECT_EQ(in.int_attribute("number", "/group/ints"), -5);
  EXPECT_TRUE(in.has("/group/ints") && !in.has("/group/none") && !in.has("/nogroup/x"));
  EXPECT_THROW(in.read<float>("/missing"), DataError);
  EXPECT_THROW(in.read<float>("/group/ints"), DataError);  // another kind of type
}

}  // namespace
}  // namespace ttt::data
