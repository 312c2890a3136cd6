// SPDX-License-Identifier: Apache-2.0
//
// Pushes of a few equal floats, and what has come of them.
//
// Thread-safety: as Mailbox.
#ifndef GOSSIPGRAD_TESTS_SUPPORT_MAILBOX_VALUES_H_
#define GOSSIPGRAD_TESTS_SUPPORT_MAILBOX_VALUES_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "worker/exchange/mailbox.h"
#include "worker/exchange/round_notes.h"

namespace gg {

inline constexpr size_t kFloats = 5;

inline Tag NoteTag(uint64_t number) {
  return {Channel::kExchange, RoundNotes::kFirst + number, 1};
}
inline Tag BodyTag(uint64_t number) {
  return {Channel::kExchange, RoundNotes::kFirst + number, 2};
}

// Whether `value`, in every float, could be pushed.
inline bool Push(Mailbox& mailbox, Rank to, float value, uint64_t step = 0) {
  const auto body = mailbox.Outgoing(to);
  EXPECT_TRUE(body.ok()) << body.status();
  if (!body.ok() || body->empty()) return false;
  for (float& f : *body) f = value;
  mailbox.Push(to, {.kind = 1, .step = step, .number = 3, .weight = value / 2}, kFloats);
  return true;
}

// The values of what has come whole, in order; "-" for what has not.
inline std::vector<std::string> TakeValues(Mailbox& mailbox) {
  std::vector<std::string> values;
  for (const Mailbox::Arrival& arrival : mailbox.Take()) {
    values.push_back(arrival.status.ok() ? std::to_string(static_cast<int>(arrival.body[0])) : "-");
    if (arrival.status.ok()) {
      EXPECT_EQ(arrival.body.size(), kFloats);
      EXPECT_EQ(arrival.body[0], arrival.body[kFloats - 1]);
      EXPECT_EQ(arrival.note.weight, arrival.body[0] / 2);
      EXPECT_EQ(arrival.note.kind, 1u);
      EXPECT_EQ(arrival.note.number, 3u);
    }
    mailbox.Release(arrival);
  }
  return values;
}

using Strings = std::vector<std::string>;

}  // namespace gg

#endif  // GOSSIPGRAD_TESTS_SUPPORT_MAILBOX_VALUES_H_
