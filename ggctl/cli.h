// SPDX-License-Identifier: Apache-2.0
//
// The whole command line, from arguments to exit code.
// Thread-safety: call from the main thread; reads the environment.
#ifndef GOSSIPGRAD_GGCTL_CLI_H_
#define GOSSIPGRAD_GGCTL_CLI_H_

#include <ostream>
#include <string>
#include <vector>

namespace gg {

// `arguments` without the program's name. Terminal features are decided from the real descriptors 1
// and 2.
int RunGgctl(const std::vector<std::string>& arguments, std::ostream& out, std::ostream& err);

}  // namespace gg

#endif  // GOSSIPGRAD_GGCTL_CLI_H_
