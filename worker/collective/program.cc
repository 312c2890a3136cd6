// SPDX-License-Identifier: Apache-2.0
#include "worker/collective/program.h"

#include <algorithm>
#include <bit>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "core/status.h"

namespace gg {
namespace {

bool Overlap(const Range& a, const Range& b) {
  return a.begin < b.end && b.begin < a.end;
}

bool Sends(const CollectivePiece& piece) {
  return piece.kind == CollectivePiece::kSend;
}

void Cut(CollectivePiece::Kind kind, Rank peer, const Range& range, size_t piece_values,
         uint32_t block, std::vector<CollectivePiece>& out) {
  for (size_t at = range.begin; at < range.end; at += piece_values, ++block) {
    out.push_back({.kind = kind,
                   .peer = peer,
                   .range = {at, std::min(at + piece_values, range.end)},
                   .block = block,
                   .completes = false,
                   .waits_for = 0,
                   .frees = {}});
  }
}

Range Scaled(const Range& grains, size_t grain, size_t count) {
  return {std::min(grains.begin * grain, count), std::min(grains.end * grain, count)};
}

size_t GrainsOf(size_t count, size_t grain) {
  return (count + grain - 1) / grain;
}

// In recursive doubling every rank of the core makes the sum itself, and hands it to whom it acts for.
void MarkCompleting(CollectiveProgram& program) {
  const bool folds = !std::has_single_bit(static_cast<unsigned>(program.size));
  if (program.algorithm != CollectiveAlgorithm::kRecursiveDoubling || !folds) return;
  uint32_t last = 0;
  for (const CollectivePiece& piece : program.pieces) {
    if (piece.kind == CollectivePiece::kAdd) last = piece.block / kPiecesPerPhase;
  }
  for (CollectivePiece& piece : program.pieces) {
    piece.completes = piece.kind == CollectivePiece::kAdd && piece.block / kPiecesPerPhase == last;
  }
}

}  // namespace

Range CollectiveProgram::OwnStrip() const {
  return Scaled(Strip(GrainsOf(count, grain), size, rank), grain, count);
}

absl::StatusOr<std::shared_ptr<const CollectiveProgram>> CompileCollective(
    CollectiveOp op, CollectiveAlgorithm algorithm, int size, Rank rank, size_t count,
    size_t piece_values, size_t grain) {
  GG_ASSIGN_OR_RETURN(std::vector<CollectivePhase> plan,
                      PlanCollective(op, algorithm, size, rank, GrainsOf(count, grain)));
  for (CollectivePhase& phase : plan) {
    phase.send = Scaled(phase.send, grain, count);
    phase.recv = Scaled(phase.recv, grain, count);
  }
  piece_values = GrainsOf(std::max<size_t>(piece_values, 1), grain) * grain;
  if (plan.size() >= kPiecesPerPhase || count / piece_values >= kPiecesPerPhase) {
    return absl::InvalidArgumentError(absl::StrCat("collective: ", plan.size(), " phases of up to ",
                                                   count / piece_values + 1,
                                                   " pieces are more than a tag can number"));
  }
  auto program = std::make_shared<CollectiveProgram>();
  program->op = op;
  program->algorithm = algorithm;
  program->size = size;
  program->rank = rank;
  program->count = count;
  program->grain = grain;
  std::vector<CollectivePiece>& pieces = program->pieces;
  for (size_t k = 0; k < plan.size(); ++k) {
    const CollectivePhase& phase = plan[k];
    const uint32_t block = static_cast<uint32_t>(k) * kPiecesPerPhase;
    if (phase.send_to >= 0) {
      Cut(CollectivePiece::kSend, phase.send_to, phase.send, piece_values, block, pieces);
    }
    if (phase.recv_from >= 0) {
      Cut(phase.add ? CollectivePiece::kAdd : CollectivePiece::kStore, phase.recv_from, phase.recv,
          piece_values, block, pieces);
    }
  }
  MarkCompleting(*program);
  for (size_t later = 0; later < pieces.size(); ++later) {
    CollectivePiece& piece = pieces[later];
    program->longest_piece = std::max(program->longest_piece, piece.range.size());
    if (Sends(piece)) {
      ++program->messages;
      program->values_sent += piece.range.size();
    } else {
      ++program->receives;
      program->values_received += piece.range.size();
    }
    for (size_t earlier = 0; earlier < later; ++earlier) {
      // Two sends of the same values disturb nobody.
      if (Sends(piece) && Sends(pieces[earlier])) continue;
      if (!Overlap(piece.range, pieces[earlier].range)) continue;
      ++piece.waits_for;
      pieces[earlier].frees.push_back(static_cast<int>(later));
    }
  }
  return program;
}

}  // namespace gg
