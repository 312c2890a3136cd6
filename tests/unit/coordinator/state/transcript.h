// SPDX-License-Identifier: Apache-2.0
//
// Runs the scenarios of testdata/*.txt: blocks of commands, a line "----", the expected output, an
// empty line.
//   submit NAME [min=N] [max=N] [request=ID] [transport=T] [epochs=N] [timeout=SECONDS]
//   cancel NAME [REASON...]            register ID [inc=N] [host=H] [pid=N] [transport=T]
//   beat ID...                         prepared ID [schedule=N] [data=N] [model=N] [steps=N]
//   progress ID step=N [loss=X] [rate=X] [completing]
//   epoch ID N loss=X [correct=N samples=N]
//   finished ID [steps=N] [correct=N] [samples=N] [distance=X] ...
//   failed ID MESSAGE...  incident ID REASON PARTNER  leaving ID [REASON...]  disconnect ID
//   at SECONDS (sets the time, does not tick)  tick [stalled=SECONDS]  restart  jobs  workers notes
//   NAME options [lease=S] [settle=S] [finished_max=N] [ttl=S] [live_max=N]   only as the first
//   command
// "ID/SESSION" speaks as an earlier session of a worker. Every other command is followed by ticks
// until nothing happens.
#ifndef GOSSIPGRAD_TESTS_UNIT_COORDINATOR_STATE_TRANSCRIPT_H_
#define GOSSIPGRAD_TESTS_UNIT_COORDINATOR_STATE_TRANSCRIPT_H_

#include <map>
#include <string>
#include <vector>

#include "coordinator/state/decide.h"

namespace gg {

class Transcript {
 public:
  // The output of one command line.
  std::string Run(const std::string& line);

 private:
  struct Words;
  std::string Step(const Input& input);
  std::string Quiesce(absl::Duration stalled = absl::ZeroDuration());
  std::string Restart();
  std::string Jobs() const;
  std::string Workers() const;
  std::string Notes(const std::string& name) const;
  input::Speaker Who(const std::string& word) const;
  input::About AboutJob(const std::string& worker_id) const;

  absl::Time now_ = absl::UnixEpoch();
  ClusterState state_;
  std::vector<Event> durable_;
  std::map<std::string, uint64_t> session_;  // newest of each worker
  uint64_t last_session_ = 0;
  int last_job_ = 0;
};

}  // namespace gg

#endif  // GOSSIPGRAD_TESTS_UNIT_COORDINATOR_STATE_TRANSCRIPT_H_
