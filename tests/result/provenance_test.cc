// The machine and the build as a result tells them.
#include "result/provenance.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "result/system_info.h"
#include "tests/support/python.h"

namespace ttt::result {
namespace {

TEST(System, OneHost_IsOneNode) {
  const Node a{.host = "aaaaaaaaaaaa"}, b{.host = "bbbbbbbbbbbb"};
  const Json system = system_json({a, b, a});
  EXPECT_EQ(system.at("world_size"), 3);
  ASSERT_EQ(system.at("nodes").size(), 2u);
  EXPECT_EQ(system.at("nodes")[0].at("host"), "aaaaaaaaaaaa");
  EXPECT_EQ(system.at("nodes")[0].at("ranks"), Json::parse("[0, 2]"));
  EXPECT_EQ(system.at("nodes")[1].at("ranks"), Json::parse("[1]"));
}

TEST(System, NodeEqualsWhatPythonSees) {
  TTT_NEED_PYTHON("platform");
  const auto expected = test::run_command(test::python() + R"py( -c "
import os, platform, hashlib
print(hashlib.sha256(platform.node().encode()).hexdigest()[:12], os.cpu_count(), len(os.sched_getaffinity(0)),
      os.sysconf('SC_PHYS_PAGES') * os.sysconf('SC_PAGE_SIZE'), platform.system(), platform.release())")py");
  const Json n = json_of(this_node());
  EXPECT_EQ(n.at("host").get<std::string>() + " " + n.at("logical_cores").dump() + " " + n.at("usable_cores").dump() +
                " " + n.at("memory_bytes").dump() + " " + n.at("kernel").get<std::string>() + "\n",
      expected.output);
}

TEST(System, ProcessorEqualsWhatLscpuSees) {
  const auto field = [](const std::string& name) {
    const std::string lines = test::run_command("LC_ALL=C lscpu | sed -n 's/^" + name + ": *//p'").output;
    return lines.substr(0, lines.find('\n'));
  };
  if (field("CPU family").empty()) GTEST_SKIP() << "lscpu sees no x86 processor";
  const Node n = this_node();
  EXPECT_EQ(n.cpu_model, "family " + field("CPU family") + " model " + field("Model"));
  const std::string flags = " " + field("Flags") + " ";
  for (const char* feature : kCpuFeatures)
    EXPECT_EQ(std::count(n.cpu_features.begin(), n.cpu_features.end(), feature),
        flags.find(" " + std::string(feature) + " ") != std::string::npos)
        << feature;
}

TEST(Provenance, HoldsOnlyAllowedVariables) {
  ::setenv("NCCL_DEBUG", "INFO", 1);
  ::setenv("TTT_TOKENLESS", "yes", 1);
  ::setenv("MY_SECRET_KEY", "hidden", 1);
  ::setenv("XNCCL_DEBUG", "hidden", 1);
  ::setenv("OMPI_MCA_orte_precondition_transports", "hidden", 1);
  ::setenv("OMPI_MCA_btl", "self,vader", 1);
  const Json p = provenance_json({"a", "b"}, {{"x", {"1", ""}}});
  EXPECT_EQ(p.at("environment").at("NCCL_DEBUG"), "INFO");
  EXPECT_EQ(p.at("environment").at("TTT_TOKENLESS"), "yes");
  EXPECT_EQ(p.at("environment").at("OMPI_MCA_btl"), "self,vader");
  EXPECT_EQ(dump(p).find("hidden"), std::string::npos);
  EXPECT_EQ(p.at("libraries"), Json::parse(R"({"x": {"built": "1"}})"));
}

}  // namespace
}  // namespace ttt::result
