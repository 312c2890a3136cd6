// SPDX-License-Identifier: Apache-2.0
//
// One prepared computation: a oneDNN primitive with its arguments bound, plus the reorders between
// the canonical layouts outside and the layouts that the primitive wants. Built once, run many
// times without allocating. Thread-safety: thread-compatible. Building throws dnnl::error
// (Guarded() turns that into a Status).
#ifndef GOSSIPGRAD_KERNELS_ONEDNN_PASS_H_
#define GOSSIPGRAD_KERNELS_ONEDNN_PASS_H_

#include <initializer_list>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "kernels/onednn/compat.h"

namespace gg::onednn {

// What all operations of a device share.
struct Context {
  dnnl::engine engine;
  int threads;
  // Tells OpenMP, for the calling thread, how many threads to use.
  void UseThreads() const;
};

// kUnavailable when oneDNN would compute `what` with its reference code, which is slower than no
// oneDNN at all.
absl::Status RefuseReference(absl::string_view what, const char* implementation);

// Turns the exceptions of oneDNN into kUnavailable, "<what>: oneDNN: <message>".
absl::Status FromException(absl::string_view what, const dnnl::error& error);

class Pass {
 public:
  explicit Pass(const Context& context) : context_(context), stream_(context.engine) {}

  // Operands in the order in which Run takes their pointers. `outer` is the layout of that memory,
  // `inner` the layout that the primitive wants for argument `arg`.
  void AddInput(int arg, const Desc& outer, const Desc& inner);
  void AddOutput(int arg, const Desc& outer, const Desc& inner);
  // An argument that lives in memory of the operation's own.
  void AddFixed(int arg, const Desc& desc, void* data);
  // After all operands.
  void SetPrimitive(const dnnl::primitive& primitive, const Desc& scratchpad);

  // Memory needed during a run; passes that do not run at the same time may share it.
  size_t workspace_bytes() const { return workspace_bytes_; }
  void BindWorkspace(void* workspace);

  absl::Status Run(std::initializer_list<const float*> operands);

 private:
  struct Step {
    dnnl::primitive primitive;
    std::vector<dnnl_exec_arg_t> args;
  };
  struct Carved {
    dnnl::memory memory;
    size_t offset;
  };

  dnnl::memory Carve(const Desc& desc);
  dnnl::memory AddOperand(int arg, const Desc& outer, const Desc& inner);
  Step MakeReorder(const dnnl::memory& from, const dnnl::memory& to);

  Context context_;
  dnnl::stream stream_;
  std::vector<dnnl::memory> outer_;  // one per operand
  std::vector<dnnl::memory> keep_;   // owners of what the argument lists point at
  std::vector<Carved> carved_;
  size_t workspace_bytes_ = 0;
  std::vector<dnnl_exec_arg_t> args_;
  std::vector<Step> before_, after_;
  Step main_;
};

}  // namespace gg::onednn

#endif  // GOSSIPGRAD_KERNELS_ONEDNN_PASS_H_
