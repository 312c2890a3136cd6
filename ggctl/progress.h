// SPDX-License-Identifier: Apache-2.0
//
// The progress of a running job on standard error: a block that is drawn over itself on a terminal
// of 20 columns or more, a plain line per epoch or every few seconds elsewhere. Thread-safety: thread-compatible.
#ifndef GOSSIPGRAD_GGCTL_PROGRESS_H_
#define GOSSIPGRAD_GGCTL_PROGRESS_H_

#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "ggctl/terminal.h"
#include "gossipgrad/v1/job.pb.h"

namespace gg {

// How a frame is drawn. `width` in columns; `stalled_seconds` > 0 is shown when no worker has
// advanced for that long.
struct FrameStyle {
  int width = 80;
  bool utf8 = true;
  bool color = false;
  double stalled_seconds = 0;
};

// The lines of the block, each at most `width` - 1 columns, so that no terminal wraps them.
std::vector<std::string> RenderFrame(const gossipgrad::v1::Job& job, const FrameStyle& style);

// The same facts in one line without any control sequence.
std::string RenderLine(const gossipgrad::v1::Job& job);

class ProgressView {
 public:
  virtual ~ProgressView() = default;
  // Each new state of the job.
  virtual void Update(const gossipgrad::v1::Job& job, absl::Time now) = 0;
  // Called every second or so, and after the terminal was resized.
  virtual void Tick(absl::Time now) = 0;
  // Leaves the terminal as it was, cursor below the last frame.
  virtual void Finish() = 0;
};

std::unique_ptr<ProgressView> MakeProgressView(const Terminal& terminal, std::ostream* err);

}  // namespace gg

#endif  // GOSSIPGRAD_GGCTL_PROGRESS_H_
