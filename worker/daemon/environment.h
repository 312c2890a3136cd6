// SPDX-License-Identifier: Apache-2.0
//
// What the process has to arrange before anything else runs.
// Thread-safety: call from main() before other threads exist.
#ifndef GOSSIPGRAD_WORKER_DAEMON_ENVIRONMENT_H_
#define GOSSIPGRAD_WORKER_DAEMON_ENVIRONMENT_H_

namespace gg {

// OpenMP reads its environment when its library is loaded, before main(). When the variables are
// not set, sets them
// (`threads` threads, and waiting ones sleep instead of taking the CPU from other workers) and
// starts this program anew with the same arguments and process id. Returns when nothing is to be
// done, or when that is not possible.
void EnsureOpenMpEnvironment(int threads, char** argv);

}  // namespace gg

#endif  // GOSSIPGRAD_WORKER_DAEMON_ENVIRONMENT_H_
