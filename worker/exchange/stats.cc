// SPDX-License-Identifier: Apache-2.0
#include "worker/exchange/exchange.h"

namespace gg {

ExchangeStats& ExchangeStats::operator+=(const ExchangeStats& other) {
  messages_sent += other.messages_sent;
  bytes_sent += other.bytes_sent;
  exchanges_done += other.exchanges_done;
  exchanges_skipped += other.exchanges_skipped;
  waited += other.waited;
  mixed += other.mixed;
  if (other.partner_distance >= 0) partner_distance = other.partner_distance;
  return *this;
}

}  // namespace gg
