// SPDX-License-Identifier: Apache-2.0
//
// The catalogue promises no metric that nothing sets, and the documentation is of this catalogue.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/metrics/catalogue.h"
#include "telemetry/metrics_markdown.h"

namespace gg {
namespace {

namespace fs = std::filesystem;

std::string Contents(const fs::path& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

fs::path Source() {
  const char* folder = std::getenv("GG_SOURCE");
  return folder == nullptr ? "" : folder;
}

// Everything that can set a metric, the catalogue itself left out.
std::string Sources() {
  std::string all;
  for (const char* part : {"telemetry", "worker", "coordinator"}) {
    for (const auto& entry : fs::recursive_directory_iterator(Source() / part)) {
      const std::string extension = entry.path().extension();
      if (extension == ".cc" || extension == ".h") absl::StrAppend(&all, Contents(entry.path()));
    }
  }
  return all;
}

TEST(Catalogue, EveryMetricIsSetSomewhere) {
  const std::string catalogue = Contents(Source() / "core/metrics/catalogue.h");
  const std::string sources = Sources();
  const std::regex line("  X\\((k[A-Za-z]+), ");
  int metrics = 0;
  for (std::sregex_iterator it(catalogue.begin(), catalogue.end(), line), end; it != end; ++it) {
    ++metrics;
    const std::string id = (*it)[1];
    const bool used = absl::StrContains(sources, absl::StrCat("CounterId::", id)) ||
                      absl::StrContains(sources, absl::StrCat("GaugeId::", id)) ||
                      absl::StrContains(sources, absl::StrCat("HistogramId::", id));
    EXPECT_TRUE(used) << id << " is in the catalogue and nothing sets it";
  }
  EXPECT_EQ(metrics, static_cast<int>(CounterInfos().size() + GaugeInfos().size() +
                                      HistogramInfos().size()));
}

TEST(Catalogue, TheDocumentationIsUpToDate) {
  EXPECT_EQ(Contents(Source() / "docs/metrics.md"), MetricsMarkdown())
      << "run gg-worker --print-metrics-markdown > docs/metrics.md";
}

TEST(Catalogue, LabelsNeverCollideWithTheScrapersAndNameNoPair) {
  const std::set<std::string> taken = {"job",  "instance",  "pod",     "namespace",
                                       "node", "container", "service", "endpoint"};
  for (const auto infos : {CounterInfos(), GaugeInfos(), HistogramInfos()}) {
    for (const MetricInfo& info : infos) {
      std::set<std::string> names;
      for (const LabelInfo& label : LabelsOf(info)) {
        EXPECT_EQ(taken.count(label.name), 0u) << info.name;
        EXPECT_TRUE(names.insert(label.name).second) << info.name << " twice " << label.name;
        EXPECT_TRUE(label.name != "partner" && label.name != "peer") << info.name;
      }
      const bool on_worker = info.scope != "coordinator";
      EXPECT_TRUE(!on_worker || (names.count("worker") + names.count("train_job") == 0))
          << info.name << ": the daemon adds that label";
    }
  }
}

TEST(Catalogue, NamesKeepToTheRules) {
  const std::regex shape("(gossipgrad|grpc_server)_[a-z0-9_]+");
  std::set<std::string> names;
  const auto check = [&](absl::Span<const MetricInfo> infos, bool counter, bool histogram) {
    for (const MetricInfo& info : infos) {
      const std::string name(info.name);
      EXPECT_TRUE(std::regex_match(name, shape)) << name;
      EXPECT_TRUE(names.insert(name).second) << name;
      EXPECT_EQ(absl::EndsWith(name, "_total"), counter) << name;
      EXPECT_TRUE(!histogram || absl::EndsWith(name, "_seconds") || absl::EndsWith(name, "_steps"))
          << name;
      EXPECT_TRUE(absl::EndsWith(info.help, ".")) << name;
      EXPECT_TRUE(info.scope == "job" || info.scope == "worker" || info.scope == "coordinator" ||
                  info.scope == "both")
          << name;
    }
  };
  check(CounterInfos(), true, false);
  check(GaugeInfos(), false, false);
  check(HistogramInfos(), false, true);
}

TEST(Catalogue, TheDocumentationNamesEveryMetricAndAsksForNoOther) {
  const std::string page = MetricsMarkdown();
  std::set<std::string> known = {"gossipgrad_build_info"};
  for (const auto infos : {CounterInfos(), GaugeInfos(), HistogramInfos()}) {
    for (const MetricInfo& info : infos) {
      EXPECT_TRUE(absl::StrContains(page, absl::StrCat("| `", info.name, "` |"))) << info.name;
      known.insert(std::string(info.name));
      known.insert(absl::StrCat(info.name, "_bucket"));
    }
  }
  const std::regex name("(gossipgrad|grpc_server)_[a-z0-9_]+");
  for (std::sregex_iterator it(page.begin(), page.end(), name), end; it != end; ++it) {
    EXPECT_EQ(known.count((*it)[0]), 1u) << (*it)[0];
  }
}

}  // namespace
}  // namespace gg
