// Algorithm, protocol and channels that a recipe asks of NCCL: that they are asked for, and that a run ends where NCCL
// does something else. The lines by which that is noticed are the library's own; what it does on a GPU is nccl_test's
// matter.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "comm/nccl.h"
#include "core/error.h"
#include "tests/support/fake_host.h"
#include "tests/support/fake_nccl.h"
#include "tests/support/message_of.h"

namespace ttt::comm {
namespace {

using test::Host;
using test::message_of;

class NcclAsked : public testing::Test {
 protected:
  void SetUp() override { fake::reset(); }
  static std::unique_ptr<Communicator> make(Host& host, const NcclTuning& tuning) {
    NcclOptions options = test::options();
    options.tuning = tuning;
    return make_nccl(host, options);
  }
  // What a run of two ranks says, one of whose all-reduces is that of a bucket and one that of a few numbers; "" where
  // all is well.
  static std::string run(const NcclTuning& tuning, int rank = 0) {
    try {
      Host host(rank, 2);
      const auto comm = make(host, tuning);
      std::vector<float> bucket(1000);
      double numbers[2] = {};
      for (int step = 0; step < 3; ++step) {
        comm->all_reduce_sum_async(bucket.data(), bucket.size())->wait();
        comm->all_reduce_max(numbers, 2);
      }
    } catch (const NotSupported& e) { return e.what(); }
    return "";
  }
};

TEST_F(NcclAsked, WhatIsAskedForIsUsed) {
  for (const NcclTuning& tuning : {NcclTuning{.algorithm = "tree"}, NcclTuning{.protocol = "ll128"},
           NcclTuning{.algorithm = "nvls", .protocol = "simple", .channels = 4}})
    EXPECT_EQ(run(tuning), "");
  EXPECT_EQ(run({}), "");
}

TEST_F(NcclAsked, OtherAlgorithm_EndsTheRun) {
  fake::state().heeds = false;
  EXPECT_EQ(run({.algorithm = "tree"})
                .find("train.nccl asks for algorithm tree and protocol auto, but NCCL uses ring and simple for an "
                      "all-reduce of 4000 bytes"),
      0u);
  EXPECT_EQ(
      run({.protocol = "ll"}).find("train.nccl asks for algorithm auto and protocol ll, but NCCL uses ring and simple"),
      0u);
  EXPECT_EQ(run({.channels = 8}).find("train.nccl.channels = 8, but NCCL uses 24"), 0u);
  EXPECT_EQ(run({.algorithm = "ring", .protocol = "simple", .channels = 24}), "") << "what it does anyway";
  EXPECT_EQ(run({.algorithm = "tree"}, 1), "") << "only rank 0 is told, and its end is everybody's";
}

TEST_F(NcclAsked, WhatCannotBeCheckedIsRefused) {
  fake::state().silent = true;
  EXPECT_NE(run({.algorithm = "tree"})
                .find("did not write what it uses for an all-reduce of 4000 bytes, so it cannot be checked"),
      std::string::npos);
  EXPECT_NE(run({.channels = 2}).find("did not write how many it uses, so it cannot be checked"), std::string::npos);
}

// Both sides of a comparison live in one process, and make their communicators one after the other.
TEST_F(NcclAsked, OneCommunicatorsAnswerIsNotAnothers) {
  Host host(0, 2);
  const auto plain = make(host, {}), tree = make(host, {.algorithm = "tree"});
  std::vector<float> bucket(1000);
  EXPECT_NO_THROW(tree->all_reduce_sum(bucket.data(), bucket.size()));
  EXPECT_EQ(std::getenv("NCCL_ALGO"), nullptr) << "the next communicator is not asked for it";
  EXPECT_EQ(std::getenv("NCCL_DEBUG"), nullptr);
  const auto after = make(host, {.protocol = "simple"});
  EXPECT_NO_THROW(after->all_reduce_sum(bucket.data(), bucket.size()));
  EXPECT_NO_THROW(plain->all_reduce_sum(bucket.data(), bucket.size()));
}

TEST_F(NcclAsked, UsersOwnSetting_IsKept) {
  for (const auto& [name, tuning] : std::vector<std::pair<const char*, NcclTuning>>{
           {"NCCL_ALGO", {.algorithm = "tree"}}, {"NCCL_PROTO", {.protocol = "ll"}}, {"NCCL_DEBUG", {.channels = 2}}}) {
    ScopedEnvironment users;
    users.set(name, "WARN");
    Host host(0, 2);
    const std::string said = message_of<UsageError>([&] { make(host, tuning); });
    EXPECT_EQ(said.find(std::string(name) + "=WARN is in the environment"), 0u) << said;
    EXPECT_NO_THROW(make(host, {}));
  }
}

// The words that are looked for, in the library that is linked.
TEST_F(NcclAsked, LogLines_AreTheLibrarys) {
  std::ifstream in(TTT_NCCL_LIBRARY, std::ios::binary);
  ASSERT_TRUE(in) << TTT_NCCL_LIBRARY;
  std::ostringstream bytes;
  bytes << in.rdbuf();
  const std::string library = bytes.str();
  for (const char* text : {fake::kChannelsLine, fake::kAllReduceLine, "AllReduce", "Ring", "Tree", "CollNetDirect",
           "CollNetChain", "NVLS", "NVLSTree", "PAT", "LL", "LL128", "Simple"})
    EXPECT_NE(library.find(std::string(1, '\0') + text + '\0'), std::string::npos) << text;
}

}  // namespace
}  // namespace ttt::comm
