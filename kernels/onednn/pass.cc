// SPDX-License-Identifier: Apache-2.0
#include "kernels/onednn/pass.h"

#include <omp.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace gg::onednn {
namespace {

constexpr size_t kAlignment = 64;

absl::Status Execute(const dnnl::primitive& primitive, const dnnl::stream& stream,
                     const std::vector<dnnl_exec_arg_t>& args) {
  const dnnl_status_t status = dnnl_primitive_execute(primitive.get(), stream.get(),
                                                      static_cast<int>(args.size()), args.data());
  if (status == dnnl_success) [[likely]]
    return absl::OkStatus();
  return absl::InternalError(
      absl::StrCat("oneDNN: execution failed with status ", static_cast<int>(status)));
}

}  // namespace

// Set before every use: OpenMP keeps this per thread, and any thread may run an operation.
void Context::UseThreads() const {
  omp_set_num_threads(threads);
}

absl::Status RefuseReference(absl::string_view what, const char* implementation) {
  if (!absl::StartsWith(implementation, "ref")) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat(
      what, ": oneDNN has no optimised code for this shape on this processor (it offers '",
      implementation, "'): use device reference"));
}

absl::Status FromException(absl::string_view what, const dnnl::error& error) {
  return absl::UnavailableError(absl::StrCat(what, ": oneDNN: ", error.what(), " (status ",
                                             static_cast<int>(error.status), ")"));
}

dnnl::memory Pass::Carve(const Desc& desc) {
  dnnl::memory memory(desc, context_.engine, nullptr);
  carved_.push_back({memory, workspace_bytes_});
  workspace_bytes_ += (desc.get_size() + kAlignment - 1) / kAlignment * kAlignment;
  return memory;
}

Pass::Step Pass::MakeReorder(const dnnl::memory& from, const dnnl::memory& to) {
  const dnnl::reorder::primitive_desc pd(context_.engine, from.get_desc(), context_.engine,
                                         to.get_desc(), UserScratchpad());
  Step step{dnnl::reorder(pd), {{DNNL_ARG_FROM, from.get()}, {DNNL_ARG_TO, to.get()}}};
  if (pd.scratchpad_desc().get_size() > 0) {
    step.args.push_back({DNNL_ARG_SCRATCHPAD, Carve(pd.scratchpad_desc()).get()});
  }
  return step;
}

dnnl::memory Pass::AddOperand(int arg, const Desc& outer, const Desc& inner) {
  dnnl::memory memory(outer, context_.engine, nullptr);
  outer_.push_back(memory);
  if (outer != inner) memory = Carve(inner);
  keep_.push_back(memory);
  args_.push_back({arg, memory.get()});
  return memory;
}

void Pass::AddInput(int arg, const Desc& outer, const Desc& inner) {
  const dnnl::memory memory = AddOperand(arg, outer, inner);
  if (outer != inner) before_.push_back(MakeReorder(outer_.back(), memory));
}

void Pass::AddOutput(int arg, const Desc& outer, const Desc& inner) {
  const dnnl::memory memory = AddOperand(arg, outer, inner);
  if (outer != inner) after_.push_back(MakeReorder(memory, outer_.back()));
}

void Pass::AddFixed(int arg, const Desc& desc, void* data) {
  keep_.emplace_back(desc, context_.engine, data);
  args_.push_back({arg, keep_.back().get()});
}

void Pass::SetPrimitive(const dnnl::primitive& primitive, const Desc& scratchpad) {
  if (scratchpad.get_size() > 0) args_.push_back({DNNL_ARG_SCRATCHPAD, Carve(scratchpad).get()});
  main_ = {primitive, args_};
}

void Pass::BindWorkspace(void* workspace) {
  for (Carved& part : carved_)
    part.memory.set_data_handle(static_cast<char*>(workspace) + part.offset);
}

absl::Status Pass::Run(std::initializer_list<const float*> operands) {
  context_.UseThreads();
  size_t at = 0;
  // oneDNN takes inputs as pointers to mutable memory as well, and does not write to them.
  for (const float* operand : operands) {
    if (dnnl_memory_set_data_handle(outer_[at++].get(), const_cast<float*>(operand)) !=
        dnnl_success) {
      return absl::InternalError("oneDNN: an operand was refused");
    }
  }
  for (const Step& step : before_) {
    if (absl::Status s = Execute(step.primitive, stream_, step.args); !s.ok()) return s;
  }
  if (absl::Status s = Execute(main_.primitive, stream_, main_.args); !s.ok()) return s;
  for (const Step& step : after_) {
    if (absl::Status s = Execute(step.primitive, stream_, step.args); !s.ok()) return s;
  }
  return absl::OkStatus();
}

}  // namespace gg::onednn
