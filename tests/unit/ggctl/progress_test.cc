// SPDX-License-Identifier: Apache-2.0
#include "ggctl/progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "ggctl/jobfile/text.h"
#include "tests/unit/ggctl/fake_job_service.h"

namespace gg {
namespace {

namespace v1 = gossipgrad::v1;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

TEST(RenderFrame, ShowsBarAndNumbers) {
  FrameStyle style;
  style.width = 100;
  EXPECT_THAT(
      RenderFrame(RunningJob("one"), style),
      ElementsAre("one  Running  2 workers",
                  "█████████████████▉░░░░░░░░░░░░░░░░░░░░░░   44%  epoch 4.5/10  step 421/938",
                  "loss 0.3241  test accuracy 88.1%  5,120 samples/s  exposed communication 3.1%  "
                  "ETA 1m12s"));
}

TEST(RenderFrame, FallsBackToAscii) {
  FrameStyle style;
  style.utf8 = false;
  const auto lines = RenderFrame(RunningJob("one"), style);
  EXPECT_EQ(lines[1],
            "[#################.......................]   44%  epoch 4.5/10  step 421/938");
  for (const std::string& line : lines) {
    for (const char c : line) EXPECT_LT(static_cast<unsigned char>(c), 0x80) << line;
  }
}

TEST(RenderFrame, NeverFillsTheLastColumn) {
  for (int width = 1; width < 120; ++width) {
    FrameStyle style;
    style.width = width;
    for (const std::string& line : RenderFrame(RunningJob("a-rather-long-name-of-a-job"), style)) {
      EXPECT_LE(CountCharacters(line), static_cast<size_t>(std::max(1, width - 1))) << width;
    }
  }
}

TEST(RenderFrame, ANarrowTerminalShowsEveryFactOnMoreLines) {
  FrameStyle style;
  style.width = 40;
  EXPECT_THAT(RenderFrame(RunningJob("one"), style),
              ElementsAre("one  Running  2 workers", "█▊░░   44%  epoch 4.5/10  step 421/938",
                          "loss 0.3241  test accuracy 88.1%", "5,120 samples/s",
                          "exposed communication 3.1%  ETA 1m12s"));
  // The usual width has no room for them on one line.
  style.width = 80;
  EXPECT_EQ(RenderFrame(RunningJob("one"), style).back(), "ETA 1m12s");
}

TEST(RenderFrame, TellsWhyAJobWaits) {
  v1::Job job;
  job.mutable_spec()->set_name("one");
  job.set_state(v1::JOB_STATE_PENDING);
  job.set_reason("waits for 2 more workers\x1b[2J");
  EXPECT_THAT(RenderFrame(job, FrameStyle()),
              ElementsAre("one  Pending", "waits for 2 more workers?[2J"));
}

TEST(RenderFrame, TellsThatNobodyAdvances) {
  FrameStyle style;
  style.stalled_seconds = 42;
  EXPECT_THAT(RenderFrame(RunningJob("one"), style)[0], HasSubstr("stalled 42s"));
}

TEST(PlainProgress, PrintsALinePerEpochOrFiveSeconds) {
  std::ostringstream err;
  const auto view = MakeProgressView(Terminal(), &err);
  const absl::Time start = absl::FromUnixSeconds(1000);
  v1::Job job = RunningJob("one");
  view->Update(job, start);                     // the first state
  view->Update(job, start + absl::Seconds(1));  // nothing new
  job.mutable_progress()->set_epoch(5.0);
  view->Update(job, start + absl::Seconds(2));    // an epoch
  view->Update(job, start + absl::Seconds(6));    // too soon after it
  view->Update(job, start + absl::Seconds(7.5));  // five seconds after it
  const std::vector<std::string> lines = absl::StrSplit(err.str(), '\n', absl::SkipEmpty());
  EXPECT_THAT(lines, SizeIs(3)) << err.str();
  EXPECT_EQ(lines[1],
            "one: Running  epoch 5.0/10  step 421/938  loss 0.3241  test accuracy 88.1%  5,120 "
            "samples/s  exposed "
            "communication 3.1%  ETA 1m12s");
}

TEST(TerminalProgress, PrintsPlainLinesWhereABlockHasNoRoom) {
  setenv("COLUMNS", "12", 1);
  std::ostringstream err;
  Terminal terminal;
  terminal.is_terminal = true;
  MakeProgressView(terminal, &err)->Update(RunningJob("one"), absl::FromUnixSeconds(1000));
  unsetenv("COLUMNS");
  EXPECT_THAT(err.str(), ::testing::StartsWith("one: Running"));
  EXPECT_THAT(err.str(), Not(HasSubstr("\x1b")));
}

TEST(TerminalProgress, DrawsEachFrameOverTheLastInOneWrite) {
  std::ostringstream err;
  Terminal terminal;
  terminal.is_terminal = true;
  const auto view = MakeProgressView(terminal, &err);
  const absl::Time start = absl::FromUnixSeconds(1000);
  view->Update(RunningJob("one"), start);
  EXPECT_THAT(err.str(), Not(HasSubstr("A\r")));
  err.str("");
  view->Update(RunningJob("one"), start + absl::Milliseconds(50));
  EXPECT_EQ(err.str(), "");  // not more often than eyes can follow
  view->Update(RunningJob("one"), start + absl::Milliseconds(150));
  EXPECT_THAT(err.str(), ::testing::StartsWith("\x1b[4A\r"));
  EXPECT_THAT(err.str(), Not(HasSubstr("\x1b[2J")));  // clearing the screen flickers
  err.str("");
  view->Tick(start + absl::Seconds(20));
  EXPECT_THAT(err.str(), HasSubstr("stalled 20s"));
}

}  // namespace
}  // namespace gg
