// SPDX-License-Identifier: Apache-2.0
#include "worker/wire/float_link.h"

#include <utility>

#include "core/rng.h"

namespace gg {

std::shared_ptr<FloatLink> FloatLink::Create(PeerGroup& group, WireFormat format) {
  return std::shared_ptr<FloatLink>(new FloatLink(group, format));
}

void FloatLink::Send(Rank to, Tag tag, ConstFlat values, Done done) {
  if (exact()) {
    return group_.Send(
        to, tag,
        ConstBytes(reinterpret_cast<const uint8_t*>(values.data()), values.size() * sizeof(float)),
        std::move(done));
  }
  std::unique_ptr<Wire> wire = Take(WireBytes(values.size()));
  Encode(format_, values, DitherOf(tag, Draw::kOwn), absl::MakeSpan(*wire));
  SendWire(to, tag, std::move(wire), std::move(done));
}

void FloatLink::SendRounded(Rank to, Tag tag, Flat values, Draw draw, Done done) {
  if (exact()) return Send(to, tag, values, std::move(done));
  std::unique_ptr<Wire> wire = Take(WireBytes(values.size()));
  Encode(format_, values, DitherOf(tag, draw), absl::MakeSpan(*wire));
  Decode(format_, *wire, values).IgnoreError();  // our own bytes
  SendWire(to, tag, std::move(wire), std::move(done));
}

void FloatLink::Round(Tag tag, Flat values, Draw draw) {
  if (exact()) return;
  std::unique_ptr<Wire> wire = Take(WireBytes(values.size()));
  Encode(format_, values, DitherOf(tag, draw), absl::MakeSpan(*wire));
  Decode(format_, *wire, values).IgnoreError();  // our own bytes
  GiveBack(std::move(wire));
}

void FloatLink::Recv(Rank from, Tag tag, Flat values, Done done) {
  if (exact()) {
    return group_.Recv(
        from, tag, Bytes(reinterpret_cast<uint8_t*>(values.data()), values.size() * sizeof(float)),
        std::move(done));
  }
  std::unique_ptr<Wire> wire = Take(WireBytes(values.size()));
  const Bytes into = absl::MakeSpan(*wire);
  group_.Recv(from, tag, into,
              [self = shared_from_this(), wire = std::move(wire), values,
               done = std::move(done)](absl::Status status) mutable {
                if (status.ok()) status = Decode(self->format_, *wire, values);
                self->GiveBack(std::move(wire));
                done(std::move(status));
              });
}

void FloatLink::SendWire(Rank to, Tag tag, std::unique_ptr<Wire> wire, Done done) {
  const ConstBytes bytes = *wire;
  group_.Send(to, tag, bytes,
              [self = shared_from_this(), wire = std::move(wire),
               done = std::move(done)](absl::Status status) mutable {
                self->GiveBack(std::move(wire));
                done(std::move(status));
              });
}

Dither FloatLink::DitherOf(Tag tag, Draw draw) const {
  if (format_.encoding != Encoding::kInt8) return {};
  const uint64_t sender = draw == Draw::kOwn ? static_cast<uint64_t>(group_.self()) + 1 : 0;
  Rng of_step(format_.seed, "wire", tag.step);
  const uint64_t channel = static_cast<uint16_t>(tag.channel);
  of_step.SetPosition((sender << 48 | channel << 34) + uint64_t{tag.block} * 2);
  return {.first = of_step.NextU32(), .second = of_step.NextU32()};
}

std::unique_ptr<FloatLink::Wire> FloatLink::Take(size_t bytes) {
  {
    MutexLock lock(&mu_);
    const auto it = free_.find(bytes);
    if (it != free_.end()) {
      std::unique_ptr<Wire> wire = std::move(it->second);
      free_.erase(it);
      return wire;
    }
  }
  return std::make_unique<Wire>(bytes);
}

void FloatLink::GiveBack(std::unique_ptr<Wire> wire) {
  MutexLock lock(&mu_);
  const size_t bytes = wire->size();
  free_.emplace(bytes, std::move(wire));
}

}  // namespace gg
