// SPDX-License-Identifier: Apache-2.0
//
// A process that writes to the store is killed at a random moment, again and again: whatever it had
// acknowledged is there, in order, and nothing is there half.
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "coordinator/store/sqlite_store.h"
#include "core/rng.h"
#include "gtest/gtest.h"
#include "tests/unit/coordinator/store/temp_file.h"

namespace gg {
namespace {

event::JobSubmitted Submitted(const std::string& id) {
  event::JobSubmitted e;
  e.job_id = id;
  e.spec.name = std::string(50, 'n');
  return e;
}

// Appends pairs of events from number `next` on, one byte to `ack` after each; ends by being
// killed.
[[noreturn]] void Write(const std::string& path, int next, int ack) {
  SqliteStoreOptions options;
  options.path = path;
  absl::StatusOr<std::unique_ptr<JobStore>> store = OpenSqliteStore(options);
  if (!store.ok()) _exit(2);
  while (true) {
    const std::vector<Event> pair = {Submitted(absl::StrCat("a", next)),
                                     Submitted(absl::StrCat("b", next))};
    if (!(*store)->Append(pair).ok()) _exit(3);
    const char byte = 1;
    if (write(ack, &byte, 1) != 1) _exit(4);
    ++next;
  }
}

// Number of whole pairs; fails the test at a gap, a repetition or half a pair.
int CountPairs(const std::string& path) {
  SqliteStoreOptions options;
  options.path = path;
  auto store = OpenSqliteStore(options);
  EXPECT_TRUE(store.ok()) << store.status();
  if (!store.ok()) return -1;
  int events = 0;
  const absl::Status status = (*store)->Replay([&](const Event& event) {
    const std::string expected = absl::StrCat(events % 2 == 0 ? "a" : "b", events / 2);
    if (JobIdOf(event) != expected) return absl::DataLossError(absl::StrCat("not ", expected));
    ++events;
    return absl::OkStatus();
  });
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_EQ(events % 2, 0) << "half an append";
  return events / 2;
}

TEST(SqliteKillTest, WhatWasAcknowledgedSurvivesSigkill) {
  const TempFolder folder;
  Rng rng(11, "kill");
  int stored = 0;
  for (int round = 0; round < 25; ++round) {
    int ack[2];
    ASSERT_EQ(pipe(ack), 0);
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      close(ack[0]);
      Write(folder.file(), stored, ack[1]);
    }
    close(ack[1]);
    // Waits for a random number of acknowledgements, so that every round gets somewhere; then for a
    // random part of the next append.
    const int wanted = static_cast<int>(1 + rng.Below(8));
    int acknowledged = 0;
    char byte;
    while (acknowledged < wanted && read(ack[0], &byte, 1) == 1) ++acknowledged;
    pollfd nothing{ack[0], 0, 0};
    poll(&nothing, 0, static_cast<int>(rng.Below(4)));
    kill(child, SIGKILL);
    while (read(ack[0], &byte, 1) == 1) ++acknowledged;  // told before it died
    close(ack[0]);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << "the writer ended by itself, code " << WEXITSTATUS(status);
    const int now = CountPairs(folder.file());
    ASSERT_GE(now, stored + acknowledged) << "round " << round << ": acknowledged, then lost";
    ASSERT_LE(now, stored + acknowledged + 1) << "round " << round;
    stored = now;
  }
  EXPECT_GE(stored, 25);
}

}  // namespace
}  // namespace gg
