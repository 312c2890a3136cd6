// SPDX-License-Identifier: Apache-2.0
//
// The one place that knows which oneDNN this is. Version 2 describes an operation first and asks
// for a primitive descriptor then, version 3 does both at once; the rest of the API that is used
// here is the same in both. Thread-safety: pure functions. They throw dnnl::error.
#ifndef GOSSIPGRAD_KERNELS_ONEDNN_COMPAT_H_
#define GOSSIPGRAD_KERNELS_ONEDNN_COMPAT_H_

#include "oneapi/dnnl/dnnl.hpp"

namespace gg::onednn {

using Dims = dnnl::memory::dims;
using Desc = dnnl::memory::desc;

// The caller gives the scratch memory with each call: nothing is allocated in a step.
inline dnnl::primitive_attr UserScratchpad() {
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attr;
}

struct ConvShape {
  Desc x, w, b, y;
  Dims strides, pad;
};

inline dnnl::convolution_forward::primitive_desc ConvForward(const dnnl::engine& engine,
                                                             const ConvShape& s) {
  constexpr auto kKind = dnnl::prop_kind::forward_training;
  constexpr auto kAlgorithm = dnnl::algorithm::convolution_direct;
#if DNNL_VERSION_MAJOR >= 3
  return {engine, kKind, kAlgorithm, s.x, s.w, s.b, s.y, s.strides, s.pad, s.pad, UserScratchpad()};
#else
  return {
      {kKind, kAlgorithm, s.x, s.w, s.b, s.y, s.strides, s.pad, s.pad}, UserScratchpad(), engine};
#endif
}

inline dnnl::convolution_backward_data::primitive_desc ConvBackwardData(
    const dnnl::engine& engine, const ConvShape& s,
    const dnnl::convolution_forward::primitive_desc& forward) {
  constexpr auto kAlgorithm = dnnl::algorithm::convolution_direct;
#if DNNL_VERSION_MAJOR >= 3
  return {engine, kAlgorithm, s.x, s.w, s.y, s.strides, s.pad, s.pad, forward, UserScratchpad()};
#else
  return {{kAlgorithm, s.x, s.w, s.y, s.strides, s.pad, s.pad}, UserScratchpad(), engine, forward};
#endif
}

inline dnnl::convolution_backward_weights::primitive_desc ConvBackwardWeights(
    const dnnl::engine& engine, const ConvShape& s,
    const dnnl::convolution_forward::primitive_desc& forward) {
  constexpr auto kAlgorithm = dnnl::algorithm::convolution_direct;
#if DNNL_VERSION_MAJOR >= 3
  return {engine,  kAlgorithm,      s.x, s.w, s.b, s.y, s.strides, s.pad, s.pad,
          forward, UserScratchpad()};
#else
  return {
      {kAlgorithm, s.x, s.w, s.b, s.y, s.strides, s.pad, s.pad}, UserScratchpad(), engine, forward};
#endif
}

inline dnnl::matmul::primitive_desc MatMul(const dnnl::engine& engine, const Desc& a, const Desc& b,
                                           const Desc& c) {
#if DNNL_VERSION_MAJOR >= 3
  return {engine, a, b, c, UserScratchpad()};
#else
  return {{a, b, c}, UserScratchpad(), engine};
#endif
}

inline dnnl::matmul::primitive_desc MatMulBias(const dnnl::engine& engine, const Desc& a,
                                               const Desc& b, const Desc& bias, const Desc& c) {
#if DNNL_VERSION_MAJOR >= 3
  return {engine, a, b, bias, c, UserScratchpad()};
#else
  return {{a, b, bias, c}, UserScratchpad(), engine};
#endif
}

struct PoolShape {
  dnnl::algorithm algorithm;
  Desc x, y;
  Dims strides, kernel, pad_begin, pad_end;
};

#if DNNL_VERSION_MAJOR >= 3
using PoolForwardPrimitive = dnnl::pooling_forward;
using PoolBackwardPrimitive = dnnl::pooling_backward;
#else
using PoolForwardPrimitive = dnnl::pooling_v2_forward;
using PoolBackwardPrimitive = dnnl::pooling_v2_backward;
#endif

inline PoolForwardPrimitive::primitive_desc PoolForward(const dnnl::engine& engine,
                                                        const PoolShape& s) {
  constexpr auto kKind = dnnl::prop_kind::forward_training;
  const Dims dilation = {0, 0};
#if DNNL_VERSION_MAJOR >= 3
  return {engine,      kKind,     s.algorithm,     s.x, s.y, s.strides, s.kernel, dilation,
          s.pad_begin, s.pad_end, UserScratchpad()};
#else
  return {{kKind, s.algorithm, s.x, s.y, s.strides, s.kernel, dilation, s.pad_begin, s.pad_end},
          UserScratchpad(),
          engine};
#endif
}

inline PoolBackwardPrimitive::primitive_desc PoolBackward(
    const dnnl::engine& engine, const PoolShape& s,
    const PoolForwardPrimitive::primitive_desc& forward) {
  const Dims dilation = {0, 0};
#if DNNL_VERSION_MAJOR >= 3
  return {engine,   s.algorithm, s.x,       s.y,     s.strides,       s.kernel,
          dilation, s.pad_begin, s.pad_end, forward, UserScratchpad()};
#else
  return {{s.algorithm, s.x, s.y, s.strides, s.kernel, dilation, s.pad_begin, s.pad_end},
          UserScratchpad(),
          engine,
          forward};
#endif
}

}  // namespace gg::onednn

#endif  // GOSSIPGRAD_KERNELS_ONEDNN_COMPAT_H_
