// SPDX-License-Identifier: Apache-2.0
#include "ggctl/progress.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "ggctl/exit_code.h"
#include "ggctl/format.h"
#include "ggctl/jobfile/text.h"

namespace gg {

namespace v1 = gossipgrad::v1;

namespace {

constexpr absl::Duration kFrameInterval = absl::Milliseconds(100);
constexpr absl::Duration kLineInterval = absl::Seconds(5);
constexpr int kLeastColumns = 20;
constexpr absl::Duration kStalledAfter = absl::Seconds(10);
// Before this share of the steps is done the estimate still moves a lot.
constexpr double kStableShare = 0.05;

double Share(const v1::JobProgress& p) {
  if (p.total_steps() == 0) return 0;
  return std::clamp(static_cast<double>(p.step()) / static_cast<double>(p.total_steps()), 0.0, 1.0);
}

std::string Bar(double share, int cells, bool utf8) {
  std::string bar;
  if (!utf8) {
    const int full = static_cast<int>(share * cells);
    return absl::StrCat("[", std::string(static_cast<size_t>(full), '#'),
                        std::string(static_cast<size_t>(cells - full), '.'), "]");
  }
  constexpr const char* kEighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const int eighths = static_cast<int>(share * cells * 8);
  int used = eighths / 8;
  for (int i = 0; i < used; ++i) bar += "█";
  if (eighths % 8 != 0) {
    bar += kEighths[eighths % 8];
    ++used;
  }
  for (int i = used; i < cells; ++i) bar += "░";
  return bar;
}

// Cuts at `columns`; every character of ours is one column wide.
std::string Fit(absl::string_view given, int columns) {
  // Names and reasons come from others; a control sequence in one must not reach the terminal.
  const std::string text = Printable(given);
  std::string out;
  int used = 0;
  for (size_t i = 0; i < text.size();) {
    size_t length = 1;
    while (i + length < text.size() &&
           (static_cast<unsigned char>(text[i + length]) & 0xC0) == 0x80)
      ++length;
    if (used == columns) break;
    out.append(text, i, length);
    i += length;
    ++used;
  }
  return out;
}

std::string Eta(const v1::JobProgress& p) {
  if (p.eta_seconds() < 0) return "-";
  return absl::StrCat(Share(p) < kStableShare ? "~" : "", ShortDuration(p.eta_seconds()));
}

std::string Accuracy(const v1::JobProgress& p) {
  return p.test_accuracy() < 0 ? "-" : Percent(p.test_accuracy());
}

std::string EpochText(const v1::JobProgress& p) {
  return absl::StrFormat("epoch %.1f/%d", p.epoch(), p.total_epochs());
}

std::string StepText(const v1::JobProgress& p) {
  return absl::StrCat("step ", p.step(),
                      p.total_steps() > 0 ? absl::StrCat("/", p.total_steps()) : "");
}

std::vector<std::string> Facts(const v1::JobProgress& p) {
  return {absl::StrFormat("loss %.4f", p.loss()), absl::StrCat("test accuracy ", Accuracy(p)),
          absl::StrCat(Thousands(p.samples_per_second()), " samples/s"),
          absl::StrCat("exposed communication ", Percent(p.comm_wait_ratio())),
          absl::StrCat("ETA ", Eta(p))};
}

// `first` and `facts`, plain ASCII, on as few lines as hold them: a narrow terminal shows all of
// them too.
std::vector<std::string> Flow(const std::string& first, const std::vector<std::string>& facts,
                              int columns) {
  std::vector<std::string> lines = {first};
  for (const std::string& fact : facts) {
    std::string& line = lines.back();
    if (line.empty()) {
      line = fact;
    } else if (static_cast<int>(line.size() + 2 + fact.size()) <= columns) {
      absl::StrAppend(&line, "  ", fact);
    } else {
      lines.push_back(fact);
    }
  }
  for (std::string& line : lines) line = Fit(line, columns);
  return lines;
}

const char* StateColor(v1::JobState state) {
  switch (state) {
    case v1::JOB_STATE_SUCCEEDED:
      return "\x1b[1;32m";
    case v1::JOB_STATE_FAILED:
      return "\x1b[1;31m";
    case v1::JOB_STATE_CANCELLED:
      return "\x1b[1;33m";
    default:
      return "\x1b[1;36m";
  }
}

bool Trains(v1::JobState state) {
  return state == v1::JOB_STATE_RUNNING || state == v1::JOB_STATE_COMPLETING;
}

class PlainView : public ProgressView {
 public:
  explicit PlainView(std::ostream* err) : err_(err) {}

  void Update(const v1::Job& job, absl::Time now) override {
    const bool new_state =
        job.state() != state_ || (job.state() == v1::JOB_STATE_PENDING && job.reason() != reason_);
    const int64_t epoch = static_cast<int64_t>(job.progress().epoch());
    const bool trains = Trains(job.state());
    const bool due =
        trains && job.progress().step() > 0 && (epoch != epoch_ || now - printed_ >= kLineInterval);
    if (!new_state && !due) return;
    state_ = job.state();
    reason_ = job.reason();
    epoch_ = epoch;
    printed_ = now;
    *err_ << RenderLine(job) << std::endl;
  }
  void Tick(absl::Time) override {}
  void Finish() override {}

 private:
  std::ostream* const err_;
  v1::JobState state_ = v1::JOB_STATE_UNSPECIFIED;
  std::string reason_;
  int64_t epoch_ = 0;
  absl::Time printed_ = absl::InfinitePast();
};

class TerminalView : public ProgressView {
 public:
  TerminalView(const Terminal& terminal, std::ostream* err)
      : terminal_(terminal), err_(err), plain_(err) {}

  void Update(const v1::Job& job, absl::Time now) override {
    if (job.progress().step() != job_.progress().step() || job.state() != job_.state())
      advanced_ = now;
    const bool new_state = job.state() != job_.state();
    job_ = job;
    seen_ = true;
    if (Narrow()) return plain_.Update(job, now);
    if (new_state || now - drawn_ >= kFrameInterval) Draw(now);
  }
  void Tick(absl::Time now) override {
    if (seen_ && !Narrow() && now - drawn_ >= kFrameInterval) Draw(now);
  }
  void Finish() override {
    if (seen_ && !Narrow()) Draw(drawn_);
    lines_ = 0;
    seen_ = false;
  }

 private:
  // Too narrow for a block to say anything. The window may change while the job runs.
  bool Narrow() {
    if (terminal_.Width() >= kLeastColumns) return false;
    lines_ = 0;  // of a wider block nothing is where it was
    return true;
  }

  void Draw(absl::Time now) {
    FrameStyle style;
    style.width = terminal_.Width();
    style.utf8 = terminal_.utf8;
    style.color = terminal_.color;
    if (Trains(job_.state()) && now - advanced_ >= kStalledAfter) {
      style.stalled_seconds = absl::ToDoubleSeconds(now - advanced_);
    }
    const std::vector<std::string> lines = RenderFrame(job_, style);
    // One write, each line overwritten in place and its rest erased: no frame in which the block is
    // gone.
    std::string out = lines_ > 0 ? absl::StrCat("\x1b[", lines_, "A\r") : "\r";
    for (const std::string& line : lines) absl::StrAppend(&out, line, "\x1b[K\n");
    absl::StrAppend(&out, "\x1b[J");
    *err_ << out << std::flush;
    lines_ = static_cast<int>(lines.size());
    drawn_ = now;
  }

  const Terminal terminal_;
  std::ostream* const err_;
  PlainView plain_;
  v1::Job job_;
  bool seen_ = false;
  int lines_ = 0;  // of the frame on the screen
  absl::Time drawn_ = absl::InfinitePast();
  absl::Time advanced_ = absl::InfinitePast();
};

}  // namespace

std::vector<std::string> RenderFrame(const v1::Job& job, const FrameStyle& style) {
  const v1::JobProgress& p = job.progress();
  const int columns = std::max(1, style.width - 1);
  const std::string state = StateName(job.state());
  const size_t workers = static_cast<size_t>(job.workers_size());

  std::string head = absl::StrCat(job.spec().name(), "  ", state);
  if (workers > 0) absl::StrAppend(&head, "  ", workers, workers == 1 ? " worker" : " workers");
  if (style.stalled_seconds > 0)
    absl::StrAppend(&head, "  stalled ", ShortDuration(style.stalled_seconds));
  head = Fit(head, columns);
  if (style.color) {
    // After the cut, so that no sequence is cut in two.
    if (const size_t at = head.find(state); at != std::string::npos) {
      head = absl::StrCat(head.substr(0, at), StateColor(job.state()), state, "\x1b[0m",
                          head.substr(at + state.size()));
    }
  }
  std::vector<std::string> lines = {head};
  if (!Trains(job.state()) && p.step() == 0) {
    if (!job.reason().empty() && !IsFinal(job.state())) {
      lines.push_back(Fit(job.reason(), columns));
    }
    return lines;
  }

  const double share = job.state() == v1::JOB_STATE_SUCCEEDED ? 1 : Share(p);
  const std::string numbers =
      absl::StrCat("  ", absl::StrFormat("%3.0f%%", std::floor(share * 100)), "  ", EpochText(p),
                   "  ", StepText(p));
  const int cells = std::clamp(columns - static_cast<int>(numbers.size()) - 2, 4, 40);
  const std::string bar = Bar(share, cells, style.utf8);
  const int width = cells + (style.utf8 ? 0 : 2);
  // The bar stands for as many characters as it has columns while lines are broken.
  std::vector<std::string> rows =
      Flow(absl::StrCat(std::string(static_cast<size_t>(width), '#'),
                        absl::StrFormat("  %3.0f%%", std::floor(share * 100))),
           {EpochText(p), StepText(p)}, columns);
  rows[0] =
      Fit(absl::StrCat(bar, rows[0].substr(std::min(rows[0].size(), static_cast<size_t>(width)))),
          columns);
  for (std::string& row : rows) lines.push_back(std::move(row));
  for (std::string& row : Flow("", Facts(p), columns)) lines.push_back(std::move(row));
  // Why it ended is told once, by whoever reports the outcome.
  if (!job.reason().empty() && !IsFinal(job.state())) {
    lines.push_back(Fit(job.reason(), columns));
  }
  return lines;
}

std::string RenderLine(const v1::Job& job) {
  const v1::JobProgress& p = job.progress();
  std::string line = absl::StrCat(job.spec().name(), ": ", StateName(job.state()));
  if (Trains(job.state()) && p.step() > 0) {
    absl::StrAppend(&line, "  ", EpochText(p), "  ", StepText(p), "  ",
                    absl::StrJoin(Facts(p), "  "));
  }
  if (!job.reason().empty() && !IsFinal(job.state())) absl::StrAppend(&line, "  ", job.reason());
  return Fit(line, 1000);
}

std::unique_ptr<ProgressView> MakeProgressView(const Terminal& terminal, std::ostream* err) {
  if (terminal.is_terminal) return std::make_unique<TerminalView>(terminal, err);
  return std::make_unique<PlainView>(err);
}

}  // namespace gg
