// SPDX-License-Identifier: Apache-2.0
#include "worker/data/batch_source.h"

#include <array>
#include <cmath>
#include <numeric>
#include <optional>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "core/clock.h"
#include "core/rng.h"
#include "core/status.h"

namespace gg {
namespace {

struct BatchBuffer {
  std::vector<float> x;
  std::vector<int32_t> labels;
  std::vector<int64_t> slots;
};

// Two buffers take turns: one is being filled while the caller uses the other.
class PrefetchingBatchSource final : public BatchSource {
 public:
  PrefetchingBatchSource(const ShardStore& store, const BatchSourceOptions& options)
      : store_(store), options_(options), order_(static_cast<size_t>(store.size())) {
    const auto batch = static_cast<size_t>(options.batch_size);
    for (BatchBuffer& buffer : buffers_) {
      buffer.x.resize(batch * store.shape().bytes());
      buffer.labels.resize(batch);
      buffer.slots.resize(batch);
    }
    thread_ = std::thread([this] { Run(); });
  }

  ~PrefetchingBatchSource() override {
    {
      MutexLock lock(&monitor_.mu);
      stop_ = true;
      monitor_.changed.NotifyAll();
    }
    thread_.join();
  }

  void StartNext(uint64_t step) override {
    MutexLock lock(&monitor_.mu);
    if (wanted_.has_value()) {
      if (misuse_.ok()) {
        misuse_ = absl::FailedPreconditionError(absl::StrCat(
            "batch source: StartNext(", step, ") before Next(", *wanted_,
            "); each StartNext must be followed by exactly one Next of the same step"));
      }
      return;
    }
    wanted_ = step;
    assembled_ = false;
    filling_ ^= 1;
    monitor_.changed.NotifyAll();
  }

  absl::StatusOr<Batch> Next(uint64_t step, absl::Time deadline) override {
    MutexLock lock(&monitor_.mu);
    GG_RETURN_IF_ERROR(misuse_);
    if (wanted_ != step) {
      return absl::FailedPreconditionError(absl::StrCat(
          "batch source: Next(", step, ") without StartNext(", step, "); ",
          wanted_.has_value() ? absl::StrCat("StartNext(", *wanted_, ") is the one in progress")
                              : std::string("none is in progress")));
    }
    if (!RealClock().Await(
            monitor_, [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(monitor_.mu) { return assembled_; },
            deadline)) {
      return absl::DeadlineExceededError(absl::StrCat(
          "batch source of rank ", options_.rank, ": the background thread has not assembled the ",
          "batch of step ", step, " in time; is the machine short of CPU or memory?"));
    }
    wanted_.reset();
    const BatchBuffer& buffer = buffers_[filling_];
    return Batch{.x = buffer.x, .labels = buffer.labels, .slots = buffer.slots};
  }

  int QueueDepth() override {
    MutexLock lock(&monitor_.mu);
    return wanted_.has_value() && assembled_ ? 1 : 0;
  }

 private:
  void Run() {
    for (;;) {
      uint64_t step;
      BatchBuffer* into;
      {
        MutexLock lock(&monitor_.mu);
        RealClock().Await(
            monitor_,
            [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(monitor_.mu) {
              return stop_ || (wanted_.has_value() && !assembled_);
            },
            absl::InfiniteFuture());
        if (stop_) return;
        step = *wanted_;
        into = &buffers_[filling_];
      }
      Assemble(step, *into);
      MutexLock lock(&monitor_.mu);
      assembled_ = true;
      monitor_.changed.NotifyAll();
    }
  }

  void Assemble(uint64_t step, BatchBuffer& into) {
    const auto steps_per_epoch = static_cast<uint64_t>(options_.steps_per_epoch);
    DrawOrder(step / steps_per_epoch);
    const size_t batch = into.slots.size();
    const size_t sample = store_.shape().bytes();
    size_t position = (step % steps_per_epoch) * batch % order_.size();
    for (size_t i = 0; i < batch; ++i) {
      const int64_t slot = order_[position];
      into.slots[i] = slot;
      into.labels[i] = store_.label(slot);
      NormalizePixels(store_.pixels(slot), options_.mean, options_.stddev,
                      absl::MakeSpan(into.x).subspan(i * sample, sample));
      if (++position == order_.size()) position = 0;
    }
  }

  // A function of (seed, rank, epoch) alone, so that a resumed run continues in the same order.
  void DrawOrder(uint64_t epoch) {
    if (drawn_epoch_ == epoch) return;
    std::iota(order_.begin(), order_.end(), 0);
    Rng(options_.seed, absl::StrCat("shuffle/", options_.rank), epoch)
        .Shuffle(absl::MakeSpan(order_));
    drawn_epoch_ = epoch;
  }

  const ShardStore& store_;
  const BatchSourceOptions options_;

  // Used by the background thread alone.
  std::vector<int64_t> order_;
  std::optional<uint64_t> drawn_epoch_;

  // The background thread writes the buffer `filling_` while a step is wanted and not assembled;
  // the caller reads after that.
  std::array<BatchBuffer, 2> buffers_;

  Monitor monitor_;
  std::optional<uint64_t> wanted_ ABSL_GUARDED_BY(monitor_.mu);
  bool assembled_ ABSL_GUARDED_BY(monitor_.mu) = false;
  bool stop_ ABSL_GUARDED_BY(monitor_.mu) = false;
  size_t filling_ ABSL_GUARDED_BY(monitor_.mu) = 0;
  absl::Status misuse_ ABSL_GUARDED_BY(monitor_.mu);

  std::thread thread_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<BatchSource>> MakeBatchSource(const ShardStore& store,
                                                             const BatchSourceOptions& options) {
  if (options.batch_size < 1 || options.steps_per_epoch < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("batch source: batch size (", options.batch_size, ") and steps per epoch (",
                     options.steps_per_epoch, ") must be at least 1"));
  }
  if (!std::isfinite(options.mean) || !std::isfinite(options.stddev) || options.stddev <= 0) {
    return absl::InvalidArgumentError(absl::StrCat("batch source: data.stddev must be above 0 and ",
                                                   "data.mean finite; they are ", options.stddev,
                                                   " and ", options.mean));
  }
  if (store.size() == 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "batch source: rank ", options.rank,
        " owns no samples; use at most as many workers as there are training samples"));
  }
  const int64_t needed = (store.size() + options.batch_size - 1) / options.batch_size;
  if (options.steps_per_epoch < needed) {
    return absl::InvalidArgumentError(
        absl::StrCat("batch source: ", options.steps_per_epoch, " steps per epoch of ",
                     options.batch_size, " samples do not reach all ", store.size(),
                     " samples of rank ", options.rank, "; ", needed, " are needed"));
  }
  return std::make_unique<PrefetchingBatchSource>(store, options);
}

}  // namespace gg
