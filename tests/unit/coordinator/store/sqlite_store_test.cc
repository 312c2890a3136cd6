// SPDX-License-Identifier: Apache-2.0
#include "coordinator/store/sqlite_store.h"

#include <grp.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/coordinator/store/temp_file.h"

namespace {
std::atomic<int> syncs = 0;
}

// In place of the C library's, for SQLite too.
extern "C" int fdatasync(int fd) {
  ++syncs;
  return static_cast<int>(syscall(SYS_fdatasync, fd));
}

namespace gg {
namespace {

using ::testing::HasSubstr;

absl::StatusOr<std::unique_ptr<JobStore>> Open(const std::string& path) {
  SqliteStoreOptions options;
  options.path = path;
  options.busy_timeout = absl::Milliseconds(50);
  return OpenSqliteStore(options);
}

void Sql(const std::string& path, const char* sql) {
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &db), SQLITE_OK);
  EXPECT_EQ(sqlite3_exec(db, sql, nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(db);
  sqlite3_close(db);
}

Event Submitted(const std::string& id) {
  event::JobSubmitted e;
  e.job_id = id;
  return e;
}

TEST(SqliteStoreTest, ASecondCoordinatorIsRefusedUntilTheFirstIsGone) {
  const TempFolder folder;
  auto first = Open(folder.file());
  ASSERT_TRUE(first.ok()) << first.status();
  const absl::Status second = Open(folder.file()).status();
  EXPECT_EQ(second.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(second.message(), HasSubstr("another coordinator"));
  EXPECT_THAT(second.message(), HasSubstr(folder.file()));
  first->reset();
  EXPECT_TRUE(Open(folder.file()).ok());
}

TEST(SqliteStoreTest, ANewerSchemaIsRefusedAndLeftAlone) {
  const TempFolder folder;
  { ASSERT_TRUE((*Open(folder.file()))->Append({Submitted("a")}).ok()); }
  Sql(folder.file(), "PRAGMA user_version=99");
  const absl::Status status = Open(folder.file()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(status.message(), HasSubstr("schema 99"));
  Sql(folder.file(), "PRAGMA user_version=1");
  int events = 0;
  ASSERT_TRUE((*Open(folder.file()))
                  ->Replay([&](const Event&) {
                    ++events;
                    return absl::OkStatus();
                  })
                  .ok());
  EXPECT_EQ(events, 1);
}

TEST(SqliteStoreTest, AnotherProgramsDatabaseIsRefused) {
  const TempFolder folder;
  Sql(folder.file(), "CREATE TABLE bookmarks (url TEXT)");
  const absl::Status status = Open(folder.file()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(status.message(), HasSubstr("another program"));
}

TEST(SqliteStoreTest, AFileThatIsNoDatabaseIsRefused) {
  const TempFolder folder;
  std::ofstream(folder.file()) << std::string(8192, 'x');
  const absl::Status status = Open(folder.file()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(status.message(), HasSubstr(folder.file()));
}

TEST(SqliteStoreTest, AMissingFolderIsNamed) {
  const TempFolder folder;
  const absl::Status status = Open(folder.file("missing/store.db")).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(status.message(), HasSubstr("missing/store.db"));
  EXPECT_THAT(status.message(), HasSubstr("folder must exist"));
}

TEST(SqliteStoreTest, AnEmptyPathIsRefused) {
  EXPECT_EQ(Open("").status().code(), absl::StatusCode::kInvalidArgument);
}

// Opens the store in a child process that is not root, who may write everywhere. The status comes
// back through a pipe.
absl::Status OpenUnprivileged(const std::string& path) {
  constexpr uid_t kNobody = 65534;
  int ends[2];
  if (pipe(ends) != 0) return absl::InternalError("pipe failed");
  const pid_t child = fork();
  if (child == 0) {
    if (geteuid() == 0 &&
        (setgroups(0, nullptr) != 0 || setgid(kNobody) != 0 || setuid(kNobody) != 0)) {
      _exit(2);
    }
    const absl::Status status = Open(path).status();
    const std::string text =
        absl::StrCat(std::string(1, static_cast<char>(status.code())), status.message());
    _exit(write(ends[1], text.data(), text.size()) == static_cast<ssize_t>(text.size()) ? 0 : 3);
  }
  close(ends[1]);
  std::string text;
  char piece[512];
  for (ssize_t n = 0; (n = read(ends[0], piece, sizeof(piece))) > 0;) {
    text.append(piece, static_cast<size_t>(n));
  }
  close(ends[0]);
  int ended = -1;
  if (child < 0 || waitpid(child, &ended, 0) != child || ended != 0 || text.empty()) {
    return absl::InternalError(absl::StrCat("the child ended with ", ended));
  }
  return absl::Status(static_cast<absl::StatusCode>(text[0]), text.substr(1));
}

TEST(SqliteStoreTest, AReadOnlyFileIsRefused) {
  const TempFolder folder;
  { ASSERT_TRUE(Open(folder.file()).ok()); }
  chmod(folder.file().c_str(), 0444);
  chmod(folder.path().c_str(), 0555);
  const absl::Status status = OpenUnprivileged(folder.file());
  EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied) << status;
  EXPECT_THAT(status.message(), HasSubstr("read-only"));
  chmod(folder.path().c_str(), 0755);
}

TEST(SqliteStoreTest, WhatIsNotAFileIsRefused) {
  const TempFolder folder;
  for (const std::string& path : {std::string("/dev/null"), folder.path()}) {
    const absl::Status status = Open(path).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << path;
    EXPECT_THAT(status.message(), HasSubstr("not a regular file"));
  }
}

TEST(SqliteStoreTest, AProbeLeavesNothingBehind) {
  const TempFolder folder;
  {
    auto store = Open(folder.file());
    ASSERT_TRUE((*store)->Append({Submitted("a")}).ok());
    EXPECT_TRUE((*store)->Probe().ok());
    EXPECT_TRUE((*store)->Append({Submitted("b")}).ok());
  }
  int events = 0;
  ASSERT_TRUE((*Open(folder.file()))
                  ->Replay([&](const Event&) {
                    ++events;
                    return absl::OkStatus();
                  })
                  .ok());
  EXPECT_EQ(events, 2);
}

TEST(SqliteStoreTest, ADamagedEventIsNamedByItsNumber) {
  const TempFolder folder;
  { ASSERT_TRUE((*Open(folder.file()))->Append({Submitted("a"), Submitted("b")}).ok()); }
  Sql(folder.file(), "UPDATE events SET body = x'ff' WHERE sequence = 2");
  const absl::Status status =
      (*Open(folder.file()))->Replay([](const Event&) { return absl::OkStatus(); });
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(status.message(), HasSubstr("event 2"));
}

// What was acknowledged must survive a loss of power: synchronous=FULL syncs the log at each commit,
// NORMAL and OFF do not.
TEST(SqliteStoreTest, EveryAppendIsSyncedToTheDisk) {
  const TempFolder folder;
  auto store = Open(folder.file());
  ASSERT_TRUE(store.ok()) << store.status();
  for (int i = 0; i < 3; ++i) {
    const int before = syncs;
    ASSERT_TRUE((*store)->Append({Submitted(absl::StrCat("job-", i))}).ok());
    EXPECT_GT(syncs, before) << "append " << i;
  }
}

TEST(SqliteStoreTest, TheFileIsWrittenThroughBeforeAppendReturns) {
  const TempFolder folder;
  auto store = Open(folder.file());
  ASSERT_TRUE(store.ok());
  // A copy taken now, write-ahead log included, is what a crash of the machine would leave behind.
  ASSERT_TRUE((*store)->Append({Submitted("a")}).ok());
  const std::string copy = folder.file("copy.db");
  std::filesystem::copy_file(folder.file(), copy);
  std::filesystem::copy_file(folder.file() + "-wal", copy + "-wal");
  int events = 0;
  auto restored = Open(copy);
  ASSERT_TRUE(restored.ok()) << restored.status();
  ASSERT_TRUE((*restored)
                  ->Replay([&](const Event&) {
                    ++events;
                    return absl::OkStatus();
                  })
                  .ok());
  EXPECT_EQ(events, 1);
}

}  // namespace
}  // namespace gg
