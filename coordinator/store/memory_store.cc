// SPDX-License-Identifier: Apache-2.0
#include "coordinator/store/memory_store.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "coordinator/store/event_codec.h"
#include "core/status.h"

namespace gg {
namespace {

// Keeps the encoded form, so that what comes back has been through the codec like that of any other
// store.
class MemoryStore final : public JobStore {
 public:
  absl::Status Append(absl::Span<const Event> events) override {
    std::vector<Row> rows = rows_;
    for (const Event& event : events) {
      Row row{std::string(JobIdOf(event)), std::holds_alternative<event::JobForgotten>(event), ""};
      GG_ASSIGN_OR_RETURN(row.bytes, EncodeEvent(event));
      if (row.forgotten) {
        std::erase_if(rows, [&](const Row& r) { return r.forgotten || r.job_id == row.job_id; });
      }
      rows.push_back(std::move(row));
    }
    rows_ = std::move(rows);
    return absl::OkStatus();
  }

  absl::Status Replay(absl::FunctionRef<absl::Status(const Event&)> visit) override {
    for (const Row& row : rows_) {
      GG_ASSIGN_OR_RETURN(const Event event, DecodeEvent(row.bytes));
      GG_RETURN_IF_ERROR(visit(event));
    }
    return absl::OkStatus();
  }

  absl::Status Probe() override { return absl::OkStatus(); }
  int64_t Bytes() const override {
    int64_t bytes = 0;
    for (const Row& row : rows_) bytes += static_cast<int64_t>(row.bytes.size());
    return bytes;
  }
  absl::string_view name() const override { return "memory"; }

 private:
  struct Row {
    std::string job_id;
    bool forgotten;
    std::string bytes;
  };
  std::vector<Row> rows_;
};

}  // namespace

std::unique_ptr<JobStore> MakeMemoryStore() {
  return std::make_unique<MemoryStore>();
}

}  // namespace gg
