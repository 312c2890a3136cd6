// SPDX-License-Identifier: Apache-2.0
// What `ggctl compare` makes of its arguments and of the outcomes of its runs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "ggctl/cli.h"
#include "ggctl/compare_html.h"
#include "ggctl/compare_plan.h"
#include "ggctl/compare_text.h"
#include "ggctl/comparison.h"
#include "tests/unit/ggctl/fake_job_service.h"
#include "tests/unit/ggctl/xml.h"

namespace gg {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;

TEST(ComparePlanTest, ItemsCarrySettingsOfTheExchangeAndOfTheSpec) {
  const auto items = ParseCompareItems(
      "gossip-grad, gossip-grad:schedule=ring:spec.train.epochs=3,easgd:optimizer.nesterov=true");
  ASSERT_TRUE(items.ok()) << items.status();
  ASSERT_EQ(items->size(), 3u);
  EXPECT_EQ((*items)[1].label, "gossip-grad:schedule=ring:spec.train.epochs=3");
  EXPECT_EQ((*items)[1].algorithm, "gossip-grad");
  EXPECT_THAT((*items)[1].settings,
              ElementsAre(Pair("exchange.schedule", "ring"), Pair("train.epochs", "3")));
  EXPECT_THAT((*items)[2].settings, ElementsAre(Pair("optimizer.nesterov", "true")));
  EXPECT_EQ((*items)[2].overrides()[0].assignment, "exchange.algorithm=easgd");
}

TEST(ComparePlanTest, MistakesNameTheItem) {
  for (const char* list :
       {"", "a,", ":x=1", "a=1", "a:b", "a:=1", "a,b,a", "a:algorithm=b", "a:exchange.algorithm=a",
        "a:spec.exchange.algorithm=b", "a:rotate=true:rotate=false",
        "a:rotate=true:spec.exchange.rotate=true"}) {
    const auto items = ParseCompareItems(list);
    EXPECT_EQ(items.status().code(), absl::StatusCode::kInvalidArgument) << list;
    EXPECT_THAT(std::string(items.status().message()), HasSubstr("--algorithms")) << list;
  }
}

TEST(CompareVerbTest, ArgumentsAreCheckedBeforeAnythingRuns) {
  const auto error = [](std::vector<std::string> more) {
    std::ostringstream out, err;
    std::vector<std::string> arguments = {"compare", "-f", GG_EXAMPLES "/fashion-mlp.yaml"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    EXPECT_EQ(RunGgctl(arguments, out, err), 2) << err.str();
    EXPECT_EQ(out.str(), "");
    return err.str();
  };
  EXPECT_THAT(error({}), HasSubstr("--algorithms"));
  EXPECT_THAT(error({"--algorithms", "gossip-grad,,none"}), HasSubstr("empty item"));
  EXPECT_THAT(error({"--algorithms", "gossip-grad,gossipgrad"}), HasSubstr("did you mean"));
  EXPECT_THAT(error({"--algorithms", "none:schedul=ring"}), HasSubstr("did you mean"));
  EXPECT_THAT(error({"--algorithms", "gossip-grad:algorithm=allreduce"}),
              HasSubstr("write allreduce in the place of gossip-grad"));
  EXPECT_THAT(error({"--algorithms", "none:foo=1"}),
              AllOf(HasSubstr("unknown field \"exchange.foo\""), Not(HasSubstr("did you mean"))));
  for (const char* target : {"nan", "NaN", "-nan", "1.01", "-0.1"})
    EXPECT_THAT(error({"--algorithms", "none", "--target", target}), HasSubstr("--target"));
  EXPECT_THAT(error({"--algorithms", "none", "--workers", "2", "--topology", "rack=0,0,1"}),
              HasSubstr("none: --topology rack=0,0,1: expected NAME= and the places of 2 workers"));
  EXPECT_THAT(error({"--algorithms", "none", "--seeds", "0"}), HasSubstr("--seeds"));
  EXPECT_THAT(error({"--algorithms", "none", "--target", "88"}), HasSubstr("--target"));
  EXPECT_THAT(error({"--algorithms", "none", "-o", "yaml"}), HasSubstr("--output"));
  EXPECT_THAT(error({"--algorithms", "none", "--workers", "2", "--set", "workers.max=3"}),
              HasSubstr("leave one out"));
  EXPECT_THAT(error({"--algorithms", "none", "--out", "/nowhere/at/all"}), HasSubstr("--out"));
}

TEST(CompareVerbTest, AMethodThatIsSetBesideTheListIsRefused) {
  for (const char* set : {"exchange.algorithm=sgp", "spec.exchange.algorithm=none"}) {
    std::ostringstream out, err;
    EXPECT_EQ(RunGgctl({"compare", "-f", GG_EXAMPLES "/fashion-mlp.yaml", "--algorithms",
                        "none,easgd", "--set", set},
                       out, err),
              2);
    EXPECT_THAT(err.str(), HasSubstr(std::string("--algorithms none,easgd and --set ") + set +
                                     " both set the method; leave one out"));
  }
}

TEST(CompareVerbTest, ASettingThatAnotherMethodReadsIsNotWarnedOf) {
  const auto warnings = [](const std::string& algorithms, const std::string& set) {
    std::ostringstream out, err;
    // The target that cannot be written ends it before anything runs.
    EXPECT_EQ(RunGgctl({"compare", "-f", GG_EXAMPLES "/fashion-mlp.yaml", "--algorithms",
                        algorithms, "--set", set, "--out", "/nowhere/at/all"},
                       out, err),
              2);
    EXPECT_THAT(err.str(), HasSubstr("/nowhere/at/all"));
    return err.str();
  };
  for (const char* algorithms : {"gossip-grad,allreduce,none", "allreduce,sgp"})
    EXPECT_THAT(warnings(algorithms, "exchange.schedule=ring"), Not(HasSubstr("has no effect")));
  EXPECT_THAT(warnings("allreduce,none", "exchange.schedule=ring"),
              AllOf(HasSubstr("spec.exchange.schedule: has no effect with allreduce"),
                    HasSubstr("has no effect with none")));
  EXPECT_THAT(warnings("easgd,easgd:asynchronous=false", "exchange.collective=ring"),
              Not(HasSubstr("has no effect")));
  EXPECT_THAT(warnings("easgd,none", "exchange.average_every=50"), Not(HasSubstr("has no")));
  EXPECT_THAT(warnings("easgd,none:period=3", "exchange.average_every=50"),
              HasSubstr("spec.exchange.period: has no effect with none"));
}

TEST(SpreadTest, MeanAndSampleDeviation) {
  EXPECT_EQ(SpreadOf({}).count, 0);
  EXPECT_DOUBLE_EQ(SpreadOf({3}).mean, 3);
  EXPECT_DOUBLE_EQ(SpreadOf({3}).deviation, 0);
  const Spread spread = SpreadOf({2, 4, 9});
  EXPECT_DOUBLE_EQ(spread.mean, 5);
  EXPECT_DOUBLE_EQ(spread.deviation, std::sqrt(13.0));
  EXPECT_EQ(SpreadPercent({2, 0.8812, 0.002}, 2), "88.12+-0.20%");
  EXPECT_EQ(SpreadPercent({1, 0.8812, 0}, 2), "88.12%");
  EXPECT_EQ(SpreadPercent({}, 2), "");
}

ComparedRun MakeRun(size_t item, uint64_t seed, double offset) {
  ComparedRun run;
  run.item = item;
  run.seed = seed;
  run.outcome.job = FinishedJob("job");
  run.outcome.state = "Succeeded";
  run.outcome.workers = 2;
  run.outcome.job.mutable_result()->set_test_accuracy(0.9 + offset);
  for (uint32_t epoch = 1; epoch <= 3; ++epoch) {
    auto* point = run.outcome.job.mutable_progress()->add_curve();
    point->set_epoch(epoch);
    point->set_step(100 * epoch);
    point->set_train_seconds(2.0 * epoch + offset);
    point->set_sent_bytes(1e6 * epoch);
    point->set_train_loss(1.0 / epoch);
    point->set_test_accuracy(epoch == 1 ? -1 : 0.4 * epoch);
    point->set_consensus_distance(item == 0 ? 0.5 : -1);
    point->set_comm_wait_ratio(0.25);
  }
  return run;
}

// Two methods, two seeds; one run of the second has failed.
Comparison TwoMethods() {
  Comparison comparison;
  comparison.spec.name = "small <job> & \"more\"";
  comparison.items =
      *ParseCompareItems("gossip-grad,allreduce:collective=<script>alert(1)</script>");
  comparison.seeds = 2;
  comparison.target = 0.75;
  comparison.runs = {MakeRun(0, 1, 0), MakeRun(1, 1, 0.01), MakeRun(0, 2, 0.02)};
  ComparedRun& failed = comparison.runs.emplace_back();
  failed.item = 1;
  failed.seed = 2;
  failed.outcome.state = "Failed";
  failed.outcome.exit_code = 8;
  failed.outcome.reason = "worker-1 <b>died</b> \x01\xff";
  return comparison;
}

TEST(ComparisonTest, SummariesCountTheRunsThatSucceeded) {
  const Comparison comparison = TwoMethods();
  const ItemSummary first = Summarize(comparison, 0);
  EXPECT_EQ(first.succeeded, 2);
  EXPECT_DOUBLE_EQ(first.accuracy.mean, 0.91);
  EXPECT_DOUBLE_EQ(first.target_epochs.mean, 2);
  EXPECT_DOUBLE_EQ(first.target_seconds.mean, 4.01);
  const ItemSummary second = Summarize(comparison, 1);
  EXPECT_EQ(second.runs, 2);
  EXPECT_EQ(second.succeeded, 1);
  EXPECT_EQ(second.accuracy.count, 1);
}

TEST(ComparisonTest, ATargetThatWasNotReachedIsNotKnown) {
  Comparison comparison = TwoMethods();
  comparison.target = 1.5;
  EXPECT_EQ(Summarize(comparison, 0).target_epochs.count, 0);
  EXPECT_EQ(FirstAt(comparison.runs[0].outcome, 1.5), nullptr);
  comparison.target = 0;  // an epoch that was not evaluated has reached nothing
  EXPECT_EQ(FirstAt(comparison.runs[0].outcome, 0)->epoch(), 2u);
}

TEST(ComparisonTest, TheDocumentHoldsEveryRunWithTheKeysOfLocalRun) {
  const Comparison comparison = TwoMethods();
  const auto json = ComparisonToJson(comparison);
  ASSERT_EQ(json["results"].size(), 4u);
  const auto& run = json["results"][0];
  EXPECT_EQ(run["label"], "gossip-grad");
  EXPECT_EQ(run["algorithm"], "gossip-grad");
  EXPECT_EQ(run["seed"], 1);
  const auto outcome = OutcomeToJson(comparison.runs[0].outcome);
  for (const auto& [key, value] : outcome.items()) EXPECT_TRUE(run.contains(key)) << key;
  ASSERT_EQ(run["curve"].size(), 3u);
  EXPECT_TRUE(run["curve"][0]["test_accuracy"].is_null());
  EXPECT_EQ(run["curve"][2], (nlohmann::ordered_json{{"epoch", 3},
                                                     {"step", 300},
                                                     {"seconds", 6.0},
                                                     {"sent_bytes", 3e6},
                                                     {"train_loss", 1.0 / 3},
                                                     {"test_accuracy", 0.4 * 3},
                                                     {"consensus_distance", 0.5},
                                                     {"comm_wait_ratio", 0.25}}));
  EXPECT_TRUE(json["results"][1]["curve"][0]["consensus_distance"].is_null());
  EXPECT_EQ(json["results"][3]["state"], "Failed");
  EXPECT_EQ(json["results"][3]["exit_code"], 8);
  EXPECT_EQ(json["summary"][1]["succeeded"], 1);
  EXPECT_TRUE(json["summary"][1]["test_accuracy"]["deviation"].is_null());
  EXPECT_EQ(json["target"], 0.75);
  EXPECT_TRUE(json["spec"].contains("train"));
}

TEST(ComparisonTest, TheTableHasARowForEachMethodAndForEachFailure) {
  const Rows rows = ComparisonTable(TwoMethods());
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[1][0], "gossip-grad");
  EXPECT_EQ(rows[1][2], "91.00+-1.41%");
  EXPECT_EQ(rows[2][1], "1/2");
  for (size_t row = 1; row < rows.size(); ++row) {
    ASSERT_EQ(rows[row].size(), rows[0].size());
    EXPECT_THAT(rows[row][2], Not(HasSubstr(" ")));
  }
  const Rows failures = FailureTable(TwoMethods());
  ASSERT_EQ(failures.size(), 2u);
  EXPECT_THAT(failures[1][3], HasSubstr("died"));
}

TEST(ComparisonTest, CurvesAreMeansOverTheSeedsThatSucceeded) {
  const auto seconds = [](const gossipgrad::v1::EpochPoint& p) { return p.train_seconds(); };
  const auto loss = [](const gossipgrad::v1::EpochPoint& p) { return p.train_loss(); };
  const ItemCurves curves = CurvesOf(TwoMethods(), 0, seconds, loss);
  EXPECT_EQ(curves.each.size(), 2u);
  ASSERT_EQ(curves.mean.size(), 3u);
  EXPECT_DOUBLE_EQ(curves.mean[0].first, 2.01);
  EXPECT_DOUBLE_EQ(curves.mean[2].second, 1.0 / 3);
  EXPECT_EQ(CurvesOf(TwoMethods(), 1, seconds, loss).each.size(), 1u);
}

TEST(CompareHtmlTest, IsOneWellFormedFileThatNeedsNothingElse) {
  const std::string html = ComparisonToHtml(TwoMethods());
  EXPECT_EQ(XmlProblem(html), "");
  for (const char* outside : {"http:", "https:", "src=", "href=", "url(", "@import", "<script"})
    EXPECT_THAT(html, Not(HasSubstr(outside)));
  EXPECT_THAT(html, HasSubstr("&lt;script&gt;alert(1)"));
  EXPECT_THAT(html, HasSubstr("small &lt;job&gt; &amp; &quot;more&quot;"));
  EXPECT_THAT(html, HasSubstr("worker-1 &lt;b&gt;died&lt;/b&gt;"));
  EXPECT_THAT(html, HasSubstr("prefers-color-scheme: dark"));
  EXPECT_THAT(html, HasSubstr("@media print"));
}

TEST(CompareHtmlTest, ThousandsStandApart) {
  Comparison comparison = TwoMethods();
  for (ComparedRun& run : comparison.runs) {
    if (!run.succeeded()) continue;
    run.outcome.job.mutable_progress()->mutable_curve(2)->set_train_seconds(45000);
    run.outcome.job.mutable_result()->set_samples_per_second(1234567.8);
    run.outcome.job.mutable_result()->set_messages_per_step(1234.5678);
  }
  const std::string html = ComparisonToHtml(comparison);
  EXPECT_THAT(html, HasSubstr(">40\u202f000 s<"));
  EXPECT_THAT(html, HasSubstr("1\u202f234\u202f568"));
  EXPECT_THAT(html, HasSubstr("1234.57"));
  EXPECT_THAT(html, Not(HasSubstr("e+0")));
}

TEST(CompareHtmlTest, NothingSucceededIsAPageToo) {
  Comparison comparison = TwoMethods();
  for (ComparedRun& run : comparison.runs) run.outcome.exit_code = 8;
  const std::string html = ComparisonToHtml(comparison);
  EXPECT_EQ(XmlProblem(html), "");
  EXPECT_THAT(html, HasSubstr("No run succeeded, so there is no course to draw."));
  EXPECT_THAT(html, Not(HasSubstr("<svg")));
  EXPECT_THAT(html, Not(HasSubstr("nan")));
}

}  // namespace
}  // namespace gg
