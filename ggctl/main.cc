// SPDX-License-Identifier: Apache-2.0
#include <signal.h>

#include <iostream>
#include <string>
#include <vector>

#include "ggctl/cli.h"

int main(int argc, char** argv) {
  // A closed pipe behind us ends the output, not the clean-up of child processes.
  signal(SIGPIPE, SIG_IGN);
  return gg::RunGgctl(std::vector<std::string>(argv + 1, argv + argc), std::cout, std::cerr);
}
