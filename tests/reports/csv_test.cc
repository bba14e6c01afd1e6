// CSV as a spreadsheet or a script reads it: fields, units, unrounded numbers.

#include <gtest/gtest.h>

#include "core/error.h"
#include "reports/ablations.h"
#include "reports/data_tables.h"
#include "reports/show.h"
#include "tests/reports/lines.h"
#include "tests/support/toy_record.h"

namespace ttt::reports {
namespace {

TEST(Csv, QuotesAsRfc4180) {
  const Document d = {
      Heading{"a, \"b\""}, Table{.header = {"file", "warning"}, .rows = {{"x\"y", "1,2"}, {"plain", "two words"}}}};
  EXPECT_EQ(test::csv_of(d),
      "table,file,warning\r\n\"a, \"\"b\"\"\",\"x\"\"y\",\"1,2\"\r\n\"a, \"\"b\"\"\",plain,two words\r\n");
}

TEST(Csv, Units_InNamesNumbersUnrounded) {
  Table t{.header = {"phase", "median", "95 % interval", "share"}};
  t.rows = {{"forward", {"1.23 ms", 0.00123456789, "s"}, {"1 to 2", 1.0625, 2.03125, "%"}, {"1.0 %", 1.03, "%"}},
      {"other", "-", "-", "-"}};
  EXPECT_EQ(test::csv_of({t}),
      "table,phase,median [s],95 % interval low [%],95 % interval high [%],share "
      "[%]\r\n,forward,0.00123456789,1.0625,2.03125,1.03\r\n,other,,,,\r\n");
}

TEST(Csv, SeveralUnits_NamedPerRow) {
  Table t{.header = {"", "time"}, .headless = true};
  t.add("epochs to target", {{"2.00", 2}});
  t.add("= training", {{"4.000 s", 4, "s"}});
  EXPECT_EQ(test::csv_of({t}), "table,name,time,time unit\r\n,epochs to target,2,\r\n,training,4,s\r\n");
}

// Only our own labels lose their signs; what a result calls something stays what it is, and is no formula.
TEST(Csv, NoTextIsAFormula) {
  Table t{.header = {"variant", "= epochs ratio", "x rest"}};
  t.header.add_data("@SUM(A1)"), t.header.add_data("x rays");
  t.rows = {{"x y", {"-1.00", -1}, "+1+1", "-", "=HYPERLINK(1)"}, {"= training", "@a", "-b", "c-d", "\x1b=1"}};
  EXPECT_EQ(test::csv_of({Heading{"=cmd"}, t}),
      "table,variant,epochs ratio,rest,'@SUM(A1),x rays\r\n'=cmd,x "
      "y,-1,'+1+1,,'=HYPERLINK(1)\r\n'=cmd,training,'@a,'-b,c-d,?=1\r\n");
}

TEST(Csv, Interval_IsThreeColumns) {
  Table t{.header = {"variant", "images/s"}};
  t.rows = {{"a", "2.00 (1.50 to 3.00)"}, {"b", {"7.00", 7}}, {"c", "-"}};
  t.rows[0][1].values = {2, 1.5, 3};
  EXPECT_EQ(
      test::csv_of({t}), "table,variant,images/s,images/s low,images/s high\r\n,a,2,1.5,3\r\n,b,7,,\r\n,c,,,\r\n");
}

TEST(Csv, OfReportsHasTheirNumbers) {
  const std::string ablation = test::csv_of(ablations({{"a.json", test::toy_ablation()}}, {.details = true}));
  EXPECT_NE(ablation.find("variant,step time [%],95 % interval low [%],95 % interval high [%],finding,builds,pairs,"),
      std::string::npos)
      << ablation;
  EXPECT_NE(ablation.find(
                "cuda_graphs: What do graphs bring?,full,,,,not_supported: CUDA Graphs exists on CUDA devices only,,"),
      std::string::npos)
      << ablation;
  const std::string run = test::csv_of(show_run(test::toy_record()));
  EXPECT_NE(run.find("Time to target,time to target,8,s,94.1176470588235"), std::string::npos) << run;
  EXPECT_NE(run.find("Accuracy,1,4,3,0.4,0.28125,0.3125,0.51,"), std::string::npos) << run;
}

}  // namespace
}  // namespace ttt::reports
