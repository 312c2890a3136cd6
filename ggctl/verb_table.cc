// SPDX-License-Identifier: Apache-2.0
#include "ggctl/verb.h"

namespace gg {

absl::Span<const Verb> Verbs() {
  static constexpr Verb kVerbs[] = {
      {"local run", "Train a job on an embedded cluster of processes on this machine", AddLocalRun},
      {"compare", "Train a job with several methods, one after the other, and compare them",
       AddCompare},
      {"validate", "Check a job file and show all its problems", AddValidate},
      {"explain", "Show the fields of the job file", AddExplain},
      {"schedule explain", "Show who meets whom, and how soon everybody has met everybody",
       AddScheduleExplain},
      {"model inspect", "Show the layers of a network, its parameters, work and memory",
       AddModelInspect},
      {"model list", "List the networks of the zoo", AddModelList},
      {"submit", "Hand a job to the coordinator", AddSubmit},
      {"get", "List jobs or workers", AddGet},
      {"describe", "Show one job in full", AddDescribe},
      {"watch", "Follow a job until it is over", AddWatch},
      {"cancel", "Stop a job", AddCancel},
      {"version", "Show the versions of ggctl and of the coordinator", AddVersion},
  };
  return kVerbs;
}

}  // namespace gg
