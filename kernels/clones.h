// SPDX-License-Identifier: Apache-2.0
//
// GG_VECTOR_CLONES in front of a function compiles it for several vector widths; the loader picks
// one. Not with sanitizers: their run-time is not ready when the loader resolves such functions.
#ifndef GOSSIPGRAD_KERNELS_CLONES_H_
#define GOSSIPGRAD_KERNELS_CLONES_H_

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
#define GG_VECTOR_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define GG_VECTOR_CLONES
#endif

#endif  // GOSSIPGRAD_KERNELS_CLONES_H_
