// SPDX-License-Identifier: Apache-2.0
// A peer_process of a test's own, killed with it.
#ifndef GOSSIPGRAD_TESTS_CONFORMANCE_TRANSPORT_CHILD_PEER_H_
#define GOSSIPGRAD_TESTS_CONFORMANCE_TRANSPORT_CHILD_PEER_H_

#include <sys/types.h>

#include <string>

namespace gg {

class ChildPeer {
 public:
  explicit ChildPeer(bool unix_socket);
  ~ChildPeer();  // kills it

  const std::string& address() const { return address_; }  // empty: it did not start
  void TellAddress(const std::string& rank0);
  void Signal(int signal);
  void KillAndReap();

 private:
  pid_t pid_ = -1;
  int to_child_ = -1, from_child_ = -1;
  std::string address_;
};

}  // namespace gg

#endif  // GOSSIPGRAD_TESTS_CONFORMANCE_TRANSPORT_CHILD_PEER_H_
