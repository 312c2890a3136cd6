// SPDX-License-Identifier: Apache-2.0
#include "coordinator/store/sqlite_store.h"

#include <sqlite3.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "coordinator/store/event_codec.h"
#include "core/status.h"

namespace gg {
namespace {

// Marks the file as a coordinator's store ("GGst"), so that another program's database is never
// written to.
constexpr int kApplicationId = 0x47477374;

constexpr char kCreate[] =
    "CREATE TABLE events (sequence INTEGER PRIMARY KEY AUTOINCREMENT, job_id TEXT NOT NULL,"
    " kind INTEGER NOT NULL, body BLOB NOT NULL);"
    "CREATE INDEX events_by_job ON events (job_id);";
constexpr int kKindOther = 0;
constexpr int kKindForgotten = 1;

struct CloseDb {
  void operator()(sqlite3* db) const { sqlite3_close(db); }
};
struct FinalizeStatement {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using Db = std::unique_ptr<sqlite3, CloseDb>;
using Statement = std::unique_ptr<sqlite3_stmt, FinalizeStatement>;

absl::Status Error(sqlite3* db, int code, absl::string_view path, absl::string_view doing) {
  const int primary = code & 0xff;
  std::string text = absl::StrCat("store ", path, ": ", doing, ": ",
                                  db != nullptr ? sqlite3_errmsg(db) : sqlite3_errstr(code));
  // Only these set it; after others it is that of an earlier call.
  const bool has_system = primary == SQLITE_CANTOPEN || primary == SQLITE_IOERR;
  const int system = db != nullptr && has_system ? sqlite3_system_errno(db) : 0;
  if (system != 0) absl::StrAppend(&text, " (", std::strerror(system), ")");
  if (primary == SQLITE_FULL || system == ENOSPC || system == EDQUOT) {
    return absl::ResourceExhaustedError(absl::StrCat(text, ": make room on the disk"));
  }
  switch (primary) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return absl::UnavailableError(absl::StrCat(
          text, ": another coordinator uses this file; stop it or choose another --store"));
    case SQLITE_NOTADB:
    case SQLITE_CORRUPT:
      return absl::DataLossError(absl::StrCat(
          text, ": not a coordinator's store, or damaged; move it away or restore a copy"));
    case SQLITE_CANTOPEN:
      return absl::NotFoundError(
          absl::StrCat(text, ": the folder must exist and be writable for this user"));
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
      return absl::PermissionDeniedError(absl::StrCat(
          text, ": read-only: the file and its folder must be writable for this user"));
    default:
      return absl::UnavailableError(text);
  }
}

class SqliteStore final : public JobStore {
 public:
  SqliteStore(std::string path, Db db) : path_(std::move(path)), db_(std::move(db)) {}

  absl::Status Initialise() {
    // EXCLUSIVE keeps the lock of the first access until the file is closed.
    GG_RETURN_IF_ERROR(Run("PRAGMA locking_mode=EXCLUSIVE"));
    GG_RETURN_IF_ERROR(Run("PRAGMA journal_mode=WAL"));
    GG_RETURN_IF_ERROR(Run("PRAGMA synchronous=FULL"));
    GG_RETURN_IF_ERROR(Run("PRAGMA wal_autocheckpoint=256"));
    GG_RETURN_IF_ERROR(Run("BEGIN EXCLUSIVE"));
    absl::Status status = CheckSchema();
    if (status.ok()) return Run("COMMIT");
    Run("ROLLBACK").IgnoreError();  // the first error is the one to tell
    return status;
  }

  absl::Status Append(absl::Span<const Event> events) override {
    if (events.empty()) return absl::OkStatus();
    return InTransaction([&] {
      for (const Event& event : events) GG_RETURN_IF_ERROR(Insert(event));
      return absl::OkStatus();
    });
  }

  absl::Status Probe() override {
    return InTransaction([&] {
      GG_RETURN_IF_ERROR(
          Run("INSERT INTO events (job_id, kind, body) VALUES ('/probe', 0, zeroblob(16384))"));
      return Run("DELETE FROM events WHERE job_id = '/probe'");
    });
  }

  absl::Status Replay(absl::FunctionRef<absl::Status(const Event&)> visit) override {
    GG_ASSIGN_OR_RETURN(const Statement select,
                        Prepare("SELECT sequence, body FROM events ORDER BY sequence"));
    while (true) {
      const int code = sqlite3_step(select.get());
      if (code == SQLITE_DONE) return absl::OkStatus();
      if (code != SQLITE_ROW) return Error(db_.get(), code, path_, "reading events");
      const auto* body = static_cast<const char*>(sqlite3_column_blob(select.get(), 1));
      const int size = sqlite3_column_bytes(select.get(), 1);
      absl::StatusOr<Event> event = DecodeEvent(absl::string_view(body, size));
      if (!event.ok()) {
        return Annotate(event.status(), absl::StrCat("store ", path_, ": event ",
                                                     sqlite3_column_int64(select.get(), 0)));
      }
      GG_RETURN_IF_ERROR(visit(*event));
    }
  }

  int64_t Bytes() const override {
    const absl::StatusOr<int64_t> pages = Number("PRAGMA page_count");
    const absl::StatusOr<int64_t> size = Number("PRAGMA page_size");
    return pages.ok() && size.ok() ? *pages * *size : 0;
  }
  absl::string_view name() const override { return path_; }

 private:
  absl::Status CheckSchema() {
    GG_ASSIGN_OR_RETURN(const int64_t version, Number("PRAGMA user_version"));
    GG_ASSIGN_OR_RETURN(const int64_t application, Number("PRAGMA application_id"));
    GG_ASSIGN_OR_RETURN(const int64_t tables, Number("SELECT count(*) FROM sqlite_master"));
    if (version == 0 && application == 0 && tables == 0) {
      GG_RETURN_IF_ERROR(Run(kCreate));
      GG_RETURN_IF_ERROR(Run(absl::StrCat("PRAGMA application_id=", kApplicationId)));
      return Run(absl::StrCat("PRAGMA user_version=", kStoreSchemaVersion));
    }
    if (application != kApplicationId) {
      return absl::DataLossError(absl::StrCat(
          "store ", path_, ": is a database of another program; choose another --store"));
    }
    if (version > kStoreSchemaVersion) {
      return absl::FailedPreconditionError(
          absl::StrCat("store ", path_, ": has schema ", version, ", this program knows up to ",
                       kStoreSchemaVersion, ": use the version that wrote it, or a newer one"));
    }
    return absl::OkStatus();
  }

  absl::Status InTransaction(absl::FunctionRef<absl::Status()> body) {
    GG_RETURN_IF_ERROR(Run("BEGIN IMMEDIATE"));
    absl::Status status = body();
    if (status.ok()) status = Run("COMMIT");
    // A failed COMMIT leaves the transaction open; some errors have ended it already.
    if (!status.ok() && sqlite3_get_autocommit(db_.get()) == 0) Run("ROLLBACK").IgnoreError();
    return status;
  }

  absl::Status Insert(const Event& event) {
    GG_ASSIGN_OR_RETURN(const std::string bytes, EncodeEvent(event));
    const std::string job_id(JobIdOf(event));
    const bool forgotten = std::holds_alternative<event::JobForgotten>(event);
    if (forgotten) {
      GG_ASSIGN_OR_RETURN(const Statement drop,
                          Prepare("DELETE FROM events WHERE job_id = ?1 OR kind = ?2"));
      sqlite3_bind_text(drop.get(), 1, job_id.data(), static_cast<int>(job_id.size()),
                        SQLITE_STATIC);
      sqlite3_bind_int(drop.get(), 2, kKindForgotten);
      if (const int code = sqlite3_step(drop.get()); code != SQLITE_DONE) {
        return Error(db_.get(), code, path_, "dropping a forgotten job");
      }
    }
    GG_ASSIGN_OR_RETURN(const Statement insert,
                        Prepare("INSERT INTO events (job_id, kind, body) VALUES (?1, ?2, ?3)"));
    sqlite3_bind_text(insert.get(), 1, job_id.data(), static_cast<int>(job_id.size()),
                      SQLITE_STATIC);
    sqlite3_bind_int(insert.get(), 2, forgotten ? kKindForgotten : kKindOther);
    sqlite3_bind_blob64(insert.get(), 3, bytes.data(), bytes.size(), SQLITE_STATIC);
    if (const int code = sqlite3_step(insert.get()); code != SQLITE_DONE) {
      return Error(db_.get(), code, path_, "writing an event");
    }
    return absl::OkStatus();
  }

  absl::Status Run(const std::string& sql) {
    const int code = sqlite3_exec(db_.get(), sql.c_str(), nullptr, nullptr, nullptr);
    return code == SQLITE_OK ? absl::OkStatus() : Error(db_.get(), code, path_, sql);
  }

  absl::StatusOr<Statement> Prepare(const char* sql) const {
    sqlite3_stmt* statement = nullptr;
    const int code = sqlite3_prepare_v2(db_.get(), sql, -1, &statement, nullptr);
    if (code != SQLITE_OK) return Error(db_.get(), code, path_, sql);
    return Statement(statement);
  }

  absl::StatusOr<int64_t> Number(const char* sql) const {
    GG_ASSIGN_OR_RETURN(const Statement statement, Prepare(sql));
    const int code = sqlite3_step(statement.get());
    if (code != SQLITE_ROW) return Error(db_.get(), code, path_, sql);
    return sqlite3_column_int64(statement.get(), 0);
  }

  const std::string path_;
  const Db db_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<JobStore>> OpenSqliteStore(const SqliteStoreOptions& options) {
  if (options.path.empty()) return absl::InvalidArgumentError("store: the path is empty");
  struct stat found {};
  if (stat(options.path.c_str(), &found) == 0 && !S_ISREG(found.st_mode)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "store ", options.path, ": is not a regular file; name one, or one that is to be made"));
  }
  sqlite3* raw = nullptr;
  const int code = sqlite3_open_v2(options.path.c_str(), &raw,
                                   SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nullptr);
  Db db(raw);
  if (code != SQLITE_OK) return Error(raw, code, options.path, "opening");
  // SQLite opens a file that it may not write for reading, without a word.
  if (sqlite3_db_readonly(raw, "main") == 1) {
    return absl::PermissionDeniedError(
        absl::StrCat("store ", options.path,
                     ": is read-only: the file and its folder must be writable for this user"));
  }
  sqlite3_busy_timeout(raw, static_cast<int>(absl::ToInt64Milliseconds(options.busy_timeout)));
  auto store = std::make_unique<SqliteStore>(options.path, std::move(db));
  GG_RETURN_IF_ERROR(store->Initialise());
  return std::unique_ptr<JobStore>(std::move(store));
}

}  // namespace gg
