// SPDX-License-Identifier: Apache-2.0
//
// The vocabulary shared by every folder: ranks, views, steps. Plain values, no behaviour.
// Thread-safety: values.
#ifndef GOSSIPGRAD_CORE_IDS_H_
#define GOSSIPGRAD_CORE_IDS_H_

#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace gg {

// Dense number of a worker inside one view: 0 .. size-1.
using Rank = int;

// One mini-batch step of one worker inside one view.
struct StepId {
  uint64_t view = 0;  // number of the membership in force; grows at each change
  uint64_t step = 0;  // counts from 0
  friend auto operator<=>(const StepId&, const StepId&) = default;
};

// One worker as every other worker of the view sees it.
struct Member {
  std::string worker_id;  // stable over views and restarts
  std::string address;    // opaque to all but the transport that published it
  // Where it stands, by the name of the place: {"host": "a", "rack": "3"}. Schedule hierarchical forms
  // its groups by one of them.
  std::map<std::string, std::string> topology = {};
  friend bool operator==(const Member&, const Member&) = default;
};

// One agreed membership. members[r] is the worker of rank r.
struct View {
  uint64_t number = 0;
  std::vector<Member> members;
  int size() const { return static_cast<int>(members.size()); }
  friend bool operator==(const View&, const View&) = default;
};

}  // namespace gg

#endif  // GOSSIPGRAD_CORE_IDS_H_
