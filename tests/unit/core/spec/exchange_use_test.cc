// SPDX-License-Identifier: Apache-2.0
#include "core/spec/exchange_use.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/spec/schema.h"
#include "core/spec/validate.h"

namespace gg {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

struct Setting {
  std::string field;  // of the exchange
  std::string value;  // not the default
  std::vector<std::string> readers;
};

JobSpec With(absl::string_view algorithm, const std::vector<std::string>& settings) {
  JobSpec spec;
  spec.name = "job";
  spec.data.format = "synthetic";
  spec.exchange.algorithm = std::string(algorithm);
  for (const std::string& setting : settings) {
    const absl::Status status = ApplyOverride(absl::StrCat("exchange.", setting), &spec, nullptr);
    EXPECT_TRUE(status.ok()) << status;
  }
  return spec;
}

std::vector<std::string> Warned(const JobSpec& spec) {
  std::vector<std::string> paths;
  for (const FieldError& warning : Warnings(spec)) {
    if (warning.message.rfind("has no effect", 0) == 0) paths.push_back(warning.path);
  }
  return paths;
}

TEST(ExchangeUse, ASettingThatTheMethodDoesNotReadIsWarnedOf) {
  const std::vector<std::string> partners = {"gossip-grad", "sgp"};
  const std::vector<std::string> periodic = {"periodic-average", "local-sgd", "cocod", "easgd"};
  const std::vector<Setting> settings = {
      {"schedule", "ring", partners},
      {"rotate", "false", partners},
      {"overlap", "none", partners},
      {"payload",
       "weights-momentum",
       {"gossip-grad", "local-sgd", "d-psgd", "sgp", "gosgd", "ad-psgd", "easgd"}},
      {"period", "3", periodic},
      {"local_from_epoch", "2", {"local-sgd"}},
      {"push_probability", "0.5", {"gosgd"}},
      {"elastic_beta", "0.5", {"easgd"}},
      {"asynchronous", "false", {"easgd"}},
      {"staleness_bound", "4", {"gosgd", "ad-psgd", "easgd"}},
      {"norm_limit", "7", {"gossip-grad", "d-psgd", "sgp", "gosgd", "ad-psgd", "easgd"}},
      {"graph_file", "g.graph", {}},
      {"topology", "rack", {}},
      {"topk_share", "0.5", {}},
  };
  for (const Setting& setting : settings) {
    for (const absl::string_view algorithm : FindField("spec.exchange.algorithm")->choices) {
      SCOPED_TRACE(absl::StrCat(setting.field, " of ", algorithm));
      const JobSpec spec = With(algorithm, {absl::StrCat(setting.field, "=", setting.value)});
      const std::string path = absl::StrCat("spec.exchange.", setting.field);
      if (std::find(setting.readers.begin(), setting.readers.end(), algorithm) !=
          setting.readers.end()) {
        EXPECT_THAT(Warned(spec), IsEmpty());
        EXPECT_TRUE(IsUsed(spec.exchange, path));
      } else {
        EXPECT_THAT(Warned(spec), ElementsAre(path));
        EXPECT_THAT(WhyUnused(spec.exchange, path), HasSubstr(std::string(algorithm)));
      }
    }
  }
}

TEST(ExchangeUse, ASettingThatNeedsAnotherOneIsWarnedOfWithoutIt) {
  struct Pair {
    std::string algorithm, setting, needs;
  };
  for (const Pair& pair : std::vector<Pair>{
           {"gossip-grad", "graph_file=g.graph", "schedule=graph"},
           {"sgp", "topology=rack", "schedule=hierarchical"},
           {"sgp", "bucket_bytes=1", "schedule=hierarchical"},
           {"gossip-grad", "collective=ring", "schedule=hierarchical"},
           {"gossip-grad", "topk_share=0.5", "encoding=topk"},
           {"sgp", "staleness_bound=4", "overlap=step"},
           {"easgd", "collective=ring", "asynchronous=false"},
       }) {
    SCOPED_TRACE(absl::StrCat(pair.algorithm, " ", pair.setting));
    const JobSpec without = With(pair.algorithm, {pair.setting});
    EXPECT_THAT(Warned(without),
                ElementsAre(absl::StrCat("spec.exchange.",
                                         pair.setting.substr(0, pair.setting.find('=')))));
    const std::string wanted =
        absl::StrCat("has no effect with ", pair.algorithm, " unless spec.exchange.",
                     pair.needs.substr(0, pair.needs.find('=')), " is ",
                     pair.needs.substr(pair.needs.find('=') + 1));
    EXPECT_EQ(Warnings(without)[0].message, wanted);
    EXPECT_EQ(Warnings(without)[0].suggestion, "remove it");
    EXPECT_THAT(Warned(With(pair.algorithm, {pair.setting, pair.needs})), IsEmpty());
  }
}

TEST(ExchangeUse, TheTableKnowsFieldsAndTheHelpTextsLeaveIt) {
  for (const absl::string_view path : FieldsOfSomeMethods()) {
    ASSERT_NE(FindField(path), nullptr) << path;
    EXPECT_THAT(UseSentence(path), HasSubstr("Used ")) << path;
    bool read = false;
    for (const absl::string_view algorithm : FindField("spec.exchange.algorithm")->choices) {
      for (const char* more : {"overlap=step", "schedule=graph", "schedule=hierarchical",
                               "encoding=topk", "asynchronous=false"})
        read = read || IsUsed(With(algorithm, {more}).exchange, path);
    }
    EXPECT_TRUE(read) << path;
  }
  for (const Field& field : Fields()) {
    if (absl::string_view(field.path).rfind("spec.exchange.", 0) != 0) continue;
    EXPECT_THAT(std::string(field.help), Not(HasSubstr("Used by"))) << field.path;
  }
  EXPECT_EQ(UseSentence("spec.exchange.schedule"), "Used by gossip-grad and sgp.");
  EXPECT_EQ(UseSentence("spec.exchange.encoding"), "Used by all but none.");
  EXPECT_EQ(UseSentence("spec.exchange.topk_share"), "Used with `encoding` topk.");
  EXPECT_EQ(UseSentence("spec.exchange.graph_file"),
            "Used by gossip-grad and sgp with `schedule` graph.");
  EXPECT_EQ(UseSentence("spec.train.epochs"), "");
}

}  // namespace
}  // namespace gg
