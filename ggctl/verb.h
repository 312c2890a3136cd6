// SPDX-License-Identifier: Apache-2.0
//
// The table of verbs. To add one: a file verb_x.cc with one function as below, its declaration here
// and a line in the table of verb_table.cc. Thread-safety: the table is immutable.
#ifndef GOSSIPGRAD_GGCTL_VERB_H_
#define GOSSIPGRAD_GGCTL_VERB_H_

#include <functional>

#include "absl/types/span.h"
#include "ggctl/exit_code.h"
#include "ggctl/session.h"

namespace CLI {  // NOLINT(readability-identifier-naming): the library's name
class App;
}

namespace gg {

// Runs after the command line was read.
using Action = std::function<ExitCode(Session&)>;

struct Verb {
  const char* name;              // "submit", or two words: "local run"
  const char* summary;           // one line for --help
  Action (*add)(CLI::App& app);  // declares the verb's options and returns what it does
};

absl::Span<const Verb> Verbs();

Action AddSubmit(CLI::App& app);
Action AddGet(CLI::App& app);
Action AddDescribe(CLI::App& app);
Action AddWatch(CLI::App& app);
Action AddCancel(CLI::App& app);
Action AddValidate(CLI::App& app);
Action AddExplain(CLI::App& app);
Action AddScheduleExplain(CLI::App& app);
Action AddModelInspect(CLI::App& app);
Action AddModelList(CLI::App& app);
Action AddVersion(CLI::App& app);
Action AddLocalRun(CLI::App& app);
Action AddCompare(CLI::App& app);

}  // namespace gg

#endif  // GOSSIPGRAD_GGCTL_VERB_H_
