// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/graph.h"

#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "core/schedule/influence.h"
#include "core/schedule/schedule.h"
#include "core/status.h"

namespace gg {
namespace {

constexpr int kMostWorkers = 4096;
constexpr size_t kMostStages = 4096;

class Parser {
 public:
  explicit Parser(absl::string_view source) : source_(source) {}

  absl::StatusOr<ScheduleGraph> Parse(absl::string_view text) {
    absl::ConsumePrefix(&text, "\xEF\xBB\xBF");  // the byte order mark of some editors
    for (absl::string_view line : absl::StrSplit(text, '\n')) {
      ++line_;
      line = absl::StripAsciiWhitespace(line.substr(0, line.find('#')));
      if (line.empty()) continue;
      GG_RETURN_IF_ERROR(graph_.size == 0 ? ParseSize(line) : ParseStage(line));
    }
    if (graph_.size == 0) {
      return Whole("has no line \"workers N\"; begin it with one, for example \"workers 4\"");
    }
    if (graph_.size > 1) GG_RETURN_IF_ERROR(FindRound());
    graph_.source = std::string(source_);
    return std::move(graph_);
  }

 private:
  absl::Status At(absl::string_view what) const {
    return absl::InvalidArgumentError(
        absl::StrCat(source_, ":", line_, ": ", what, " (spec.exchange.graph_file)"));
  }
  absl::Status Whole(absl::string_view what) const {
    return absl::InvalidArgumentError(
        absl::StrCat(source_, ": ", what, " (spec.exchange.graph_file)"));
  }

  absl::Status ParseSize(absl::string_view line) {
    const std::vector<absl::string_view> words =
        absl::StrSplit(line, absl::ByAnyChar(" \t"), absl::SkipEmpty());
    if (words.size() != 2 || words[0] != "workers") {
      return At("expected \"workers N\" before the first stage");
    }
    if (!absl::SimpleAtoi(words[1], &graph_.size) || graph_.size < 1 ||
        graph_.size > kMostWorkers) {
      graph_.size = 0;
      return At(absl::StrCat("the number of workers must be 1 .. ", kMostWorkers, ", got \"",
                             words[1].substr(0, 40), "\""));
    }
    return absl::OkStatus();
  }

  absl::Status ParseStage(absl::string_view line) {
    if (graph_.send_to.size() == kMostStages) {
      return At(absl::StrCat("more than ", kMostStages, " stages; leave out those from here on"));
    }
    std::vector<int>& send_to = graph_.send_to.emplace_back(graph_.size, -1);
    std::vector<int> recv_from(graph_.size, -1);
    const auto add = [&](int from, int to) {
      if (send_to[from] >= 0) {
        return At(absl::StrCat("worker ", from, " sends to ", send_to[from], " and to ", to,
                               " in one stage; write two lines"));
      }
      if (recv_from[to] >= 0) {
        return At(absl::StrCat("worker ", to, " receives from ", recv_from[to], " and from ", from,
                               " in one stage; write two lines"));
      }
      send_to[from] = to;
      recv_from[to] = from;
      return absl::OkStatus();
    };
    for (const absl::string_view word :
         absl::StrSplit(line, absl::ByAnyChar(" \t"), absl::SkipEmpty())) {
      const size_t sign = word.find_first_of(">-");
      int from = 0, to = 0;
      if (sign == absl::string_view::npos || !absl::SimpleAtoi(word.substr(0, sign), &from) ||
          !absl::SimpleAtoi(word.substr(sign + 1), &to)) {
        return At(absl::StrCat("\"", word.substr(0, 40),
                               "\": expected A>B, A sends to B, or A-B, both swap"));
      }
      for (const int end : {from, to}) {
        if (end >= 0 && end < graph_.size) continue;
        return At(
            absl::StrCat("worker ", end, " is not in 0 .. ", graph_.size - 1,
                         "; number the workers from 0, or set N of \"workers N\" to their number"));
      }
      if (from == to)
        return At(
            absl::StrCat("worker ", from, " is its own partner; leave it out to let it rest"));
      GG_RETURN_IF_ERROR(add(from, to));
      if (word[sign] == '-') GG_RETURN_IF_ERROR(add(to, from));
    }
    return absl::OkStatus();
  }

  absl::Status FindRound() {
    const int stages = static_cast<int>(graph_.send_to.size());
    Influence influence(graph_.size);
    // A pass through the stages in which nobody is reached anew is followed by none in which
    // somebody is.
    for (size_t before = 0; stages > 0 && !influence.complete() && before != influence.count();) {
      before = influence.count();
      for (const std::vector<int>& send_to : graph_.send_to) {
        std::vector<Partners> table(graph_.size);
        for (int v = 0; v < graph_.size; ++v) {
          if (send_to[v] >= 0) table[send_to[v]].recv_from = v;
        }
        influence.Exchange(table);
      }
      graph_.round_length += stages;
    }
    if (influence.complete()) return absl::OkStatus();
    const auto [from, to] = *influence.Missing();
    return Whole(absl::StrCat("worker ", from, " never reaches worker ", to,
                              ", neither directly nor through others; add stages until it does"));
  }

  const absl::string_view source_;
  int line_ = 0;
  ScheduleGraph graph_;
};

}  // namespace

absl::StatusOr<ScheduleGraph> ParseScheduleGraph(absl::string_view text, absl::string_view source) {
  return Parser(source).Parse(text);
}

}  // namespace gg
