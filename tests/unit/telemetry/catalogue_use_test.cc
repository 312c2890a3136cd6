// SPDX-License-Identifier: Apache-2.0
//
// The catalogue promises no metric that nothing sets, and the documentation is of this catalogue.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "telemetry/prometheus_sink.h"

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

}  // namespace
}  // namespace gg
