// SPDX-License-Identifier: Apache-2.0
#include "kernels/onednn/batch_kernels.h"

#include <algorithm>

#if defined(__x86_64__)
#include <immintrin.h>

// Only these functions may use AVX-512: the file is compiled for any processor.
#define GG_AVX512 __attribute__((target("avx512f")))
#define GG_UNROLL _Pragma("GCC unroll 16")

namespace gg::onednn {
namespace {

// Transposes 16 vectors in registers.
GG_AVX512 inline void Transpose(__m512 (&r)[16]) {
  __m512 t[16];
  GG_UNROLL for (int i = 0; i < 16; i += 2) {
    t[i] = _mm512_unpacklo_ps(r[i], r[i + 1]);
    t[i + 1] = _mm512_unpackhi_ps(r[i], r[i + 1]);
  }
  GG_UNROLL for (int i = 0; i < 16; i += 4) {
    const __m512d a = _mm512_castps_pd(t[i]), b = _mm512_castps_pd(t[i + 1]);
    const __m512d c = _mm512_castps_pd(t[i + 2]), d = _mm512_castps_pd(t[i + 3]);
    r[i] = _mm512_castpd_ps(_mm512_unpacklo_pd(a, c));
    r[i + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(a, c));
    r[i + 2] = _mm512_castpd_ps(_mm512_unpacklo_pd(b, d));
    r[i + 3] = _mm512_castpd_ps(_mm512_unpackhi_pd(b, d));
  }
  // Quarter q of r[4 g + j] holds column 4 q + j of rows 4 g .. 4 g + 3; gather the quarters of a
  // column.
  GG_UNROLL for (int j = 0; j < 4; ++j) {
    const __m512 low01 = _mm512_shuffle_f32x4(r[j], r[4 + j], 0x88),
                 low23 = _mm512_shuffle_f32x4(r[8 + j], r[12 + j], 0x88);
    const __m512 odd01 = _mm512_shuffle_f32x4(r[j], r[4 + j], 0xdd),
                 odd23 = _mm512_shuffle_f32x4(r[8 + j], r[12 + j], 0xdd);
    t[j] = _mm512_shuffle_f32x4(low01, low23, 0x88);
    t[8 + j] = _mm512_shuffle_f32x4(low01, low23, 0xdd);
    t[4 + j] = _mm512_shuffle_f32x4(odd01, odd23, 0x88);
    t[12 + j] = _mm512_shuffle_f32x4(odd01, odd23, 0xdd);
  }
  GG_UNROLL for (int i = 0; i < 16; ++i) r[i] = t[i];
}

__mmask16 FirstLanes(int64_t count) {
  return static_cast<__mmask16>(count >= kLanes ? 0xffff : (1 << count) - 1);
}

// Output line `oh`, columns [column, column + kColumns), of kOut channels. packed: (tap, kOut).
template <int kOut, int kColumns>
GG_AVX512 void ForwardTile(const BatchShape& s, const float* x, const float* packed,
                           const float* bias, int64_t oh, int64_t column, float* y) {
  __m512 sums[kOut][kColumns];
  GG_UNROLL for (int o = 0; o < kOut; ++o) {
    const __m512 start = _mm512_set1_ps(bias == nullptr ? 0.0f : bias[o]);
    GG_UNROLL for (int i = 0; i < kColumns; ++i) sums[o][i] = start;
  }
  const int64_t first = std::max<int64_t>(0, s.pad_height - oh);
  const int64_t last = std::min(s.kernel_height, s.in_height + s.pad_height - oh);
  for (int64_t c = 0; c < s.in_channels; ++c) {
    for (int64_t kh = first; kh < last; ++kh) {
      const float* line =
          x + ((c * s.in_height + oh + kh - s.pad_height) * s.in_width + column) * kLanes;
      const float* taps = packed + (c * s.kernel_height + kh) * s.kernel_width * kOut;
      for (int64_t kw = 0; kw < s.kernel_width; ++kw, line += kLanes, taps += kOut) {
        __m512 pixels[kColumns];
        GG_UNROLL for (int i = 0; i < kColumns; ++i) pixels[i] = _mm512_loadu_ps(line + i * kLanes);
        GG_UNROLL for (int o = 0; o < kOut; ++o) {
          const __m512 w = _mm512_set1_ps(taps[o]);
          GG_UNROLL for (int i = 0; i < kColumns; ++i) sums[o][i] =
              _mm512_fmadd_ps(w, pixels[i], sums[o][i]);
        }
      }
    }
  }
  GG_UNROLL for (int o = 0; o < kOut; ++o) {
    float* out = y + ((o * s.out_height + oh) * s.out_width + column) * kLanes;
    GG_UNROLL for (int i = 0; i < kColumns; ++i) _mm512_storeu_ps(out + i * kLanes, sums[o][i]);
  }
}

using Tile = void (*)(const BatchShape&, const float*, const float*, const float*, int64_t, int64_t,
                      float*);

template <int kOut>
Tile TileOf(int64_t columns) {
  constexpr Tile kTiles[] = {ForwardTile<kOut, 1>, ForwardTile<kOut, 2>, ForwardTile<kOut, 3>,
                             ForwardTile<kOut, 4>, ForwardTile<kOut, 5>, ForwardTile<kOut, 6>,
                             ForwardTile<kOut, 7>, ForwardTile<kOut, 8>};
  static_assert(sizeof(kTiles) / sizeof(kTiles[0]) == kColumnTile);
  return kTiles[columns - 1];
}

Tile TileFor(int64_t out, int64_t columns) {
  if (out == 1) return TileOf<1>(columns);
  return out == 2 ? TileOf<2>(columns) : TileOf<kOutBlock>(columns);
}

// Line `ih` of dx, the columns that columns [column, column + kDataTile) of dy reach, of kIn
// channels. The tile before has left its share in the columns that both reach. packed: (output
// channel, line, column, kIn).
template <int kIn, int kTaps>
GG_AVX512 void DataTile(const BatchShape& s, const float* dy, const float* packed, int64_t ih,
                        int64_t column, float* dx) {
  constexpr int kColumns = kDataTile + kTaps - 1;
  __m512 sums[kIn][kColumns];
  GG_UNROLL for (int c = 0; c < kIn; ++c) {
    const float* before = dx + ((c * s.in_height + ih) * s.in_width + column) * kLanes;
    GG_UNROLL for (int i = 0; i < kColumns; ++i) {
      sums[c][i] =
          column > 0 && i < kTaps - 1 ? _mm512_loadu_ps(before + i * kLanes) : _mm512_setzero_ps();
    }
  }
  const int64_t first = std::max<int64_t>(0, ih + s.pad_height - s.out_height + 1);
  const int64_t last = std::min(s.kernel_height, ih + s.pad_height + 1);
  for (int64_t o = 0; o < s.out_channels; ++o) {
    for (int64_t kh = first; kh < last; ++kh) {
      const float* line =
          dy + ((o * s.out_height + ih + s.pad_height - kh) * s.out_width + column) * kLanes;
      const float* taps = packed + (o * s.kernel_height + kh) * kTaps * kIn;
      __m512 gradients[kDataTile];
      GG_UNROLL for (int i = 0; i < kDataTile; ++i) gradients[i] =
          _mm512_loadu_ps(line + i * kLanes);
      GG_UNROLL for (int kw = 0; kw < kTaps; ++kw) {
        GG_UNROLL for (int c = 0; c < kIn; ++c) {
          const __m512 w = _mm512_set1_ps(taps[kw * kIn + c]);
          GG_UNROLL for (int i = 0; i < kDataTile; ++i) {
            sums[c][i + kw] = _mm512_fmadd_ps(w, gradients[i], sums[c][i + kw]);
          }
        }
      }
    }
  }
  GG_UNROLL for (int c = 0; c < kIn; ++c) {
    float* out = dx + ((c * s.in_height + ih) * s.in_width + column) * kLanes;
    GG_UNROLL for (int i = 0; i < kColumns; ++i) _mm512_storeu_ps(out + i * kLanes, sums[c][i]);
  }
}

using Data = void (*)(const BatchShape&, const float*, const float*, int64_t, int64_t, float*);

template <int kIn>
Data DataOf(int64_t taps) {
  constexpr Data kTiles[] = {DataTile<kIn, 1>, DataTile<kIn, 2>, DataTile<kIn, 3>, DataTile<kIn, 4>,
                             DataTile<kIn, 5>};
  static_assert(sizeof(kTiles) / sizeof(kTiles[0]) == kMaxTaps);
  return kTiles[taps - 1];
}

Data DataFor(int64_t in, int64_t taps) {
  if (in == 1) return DataOf<1>(taps);
  return in == 2 ? DataOf<2>(taps) : DataOf<kInBlock>(taps);
}

// Adds to dw of kOut channels from `o`, one input channel, one kernel line, kTaps columns from
// `kw`.
template <int kOut, int kTaps>
GG_AVX512 void GradientTile(const BatchShape& s, const float* x, const float* dy, int64_t o,
                            int64_t c, int64_t kh, float* dw) {
  __m512 sums[kOut][kTaps];
  GG_UNROLL for (int b = 0; b < kOut; ++b) {
    GG_UNROLL for (int k = 0; k < kTaps; ++k) sums[b][k] = _mm512_setzero_ps();
  }
  const int64_t plane = s.out_height * s.out_width * kLanes;
  const int64_t first = std::max<int64_t>(0, s.pad_height - kh);
  const int64_t last = std::min(s.out_height, s.in_height + s.pad_height - kh);
  for (int64_t oh = first; oh < last; ++oh) {
    const float* line = x + ((c * s.in_height + oh + kh - s.pad_height) * s.in_width) * kLanes;
    const float* d = dy + (o * s.out_height + oh) * s.out_width * kLanes;
    for (int64_t ow = 0; ow < s.out_width; ++ow, line += kLanes, d += kLanes) {
      __m512 gradients[kOut];
      GG_UNROLL for (int b = 0; b < kOut; ++b) gradients[b] = _mm512_loadu_ps(d + b * plane);
      GG_UNROLL for (int k = 0; k < kTaps; ++k) {
        const __m512 pixel = _mm512_loadu_ps(line + k * kLanes);
        GG_UNROLL for (int b = 0; b < kOut; ++b) sums[b][k] =
            _mm512_fmadd_ps(gradients[b], pixel, sums[b][k]);
      }
    }
  }
  GG_UNROLL for (int b = 0; b < kOut; ++b) {
    float* out = dw + (((o + b) * s.in_channels + c) * s.kernel_height + kh) * kTaps;
    GG_UNROLL for (int k = 0; k < kTaps; ++k) out[k] += _mm512_reduce_add_ps(sums[b][k]);
  }
}

using Gradient = void (*)(const BatchShape&, const float*, const float*, int64_t, int64_t, int64_t,
                          float*);

template <int kOut>
Gradient GradientOf(int64_t taps) {
  constexpr Gradient kTiles[] = {GradientTile<kOut, 1>, GradientTile<kOut, 2>,
                                 GradientTile<kOut, 3>, GradientTile<kOut, 4>,
                                 GradientTile<kOut, 5>};
  static_assert(sizeof(kTiles) / sizeof(kTiles[0]) == kMaxTaps);
  return kTiles[taps - 1];
}

Gradient GradientFor(int64_t out, int64_t taps) {
  if (out == 1) return GradientOf<1>(taps);
  if (out == 2) return GradientOf<2>(taps);
  return out == 3 ? GradientOf<3>(taps) : GradientOf<kGradBlock>(taps);
}

GG_AVX512 float SumAll(const float* vectors, int64_t count) {
  __m512 sum = _mm512_setzero_ps();
  for (int64_t i = 0; i < count; ++i)
    sum = _mm512_add_ps(sum, _mm512_loadu_ps(vectors + i * kLanes));
  return _mm512_reduce_add_ps(sum);
}

}  // namespace

bool HasBatchKernels() {
  return __builtin_cpu_supports("avx512f");
}

GG_AVX512 void ToVectors(const float* image, int64_t sample_stride, int64_t rows, int64_t width,
                         int64_t image_stride, int64_t vector_stride, float* vectors) {
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t at = 0; at < width; at += kLanes) {
      const int64_t count = std::min(kLanes, width - at);
      const float* from = image + row * image_stride + at;
      float* to = vectors + (row * vector_stride + at) * kLanes;
      __m512 r[16];
      GG_UNROLL for (int n = 0; n < 16; ++n) r[n] =
          _mm512_maskz_loadu_ps(FirstLanes(count), from + n * sample_stride);
      Transpose(r);
      GG_UNROLL for (int i = 0; i < 16; ++i) {
        if (i < count) _mm512_storeu_ps(to + i * kLanes, r[i]);
      }
    }
  }
}

GG_AVX512 void FromVectors(const float* vectors, int64_t sample_stride, int64_t rows, int64_t width,
                           int64_t vector_stride, int64_t image_stride, float* image) {
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t at = 0; at < width; at += kLanes) {
      const int64_t count = std::min(kLanes, width - at);
      const float* from = vectors + (row * vector_stride + at) * kLanes;
      float* to = image + row * image_stride + at;
      __m512 r[16];
      GG_UNROLL for (int i = 0; i < 16; ++i) r[i] =
          i < count ? _mm512_loadu_ps(from + i * kLanes) : _mm512_setzero_ps();
      Transpose(r);
      GG_UNROLL for (int n = 0; n < 16; ++n)
          _mm512_mask_storeu_ps(to + n * sample_stride, FirstLanes(count), r[n]);
    }
  }
}

void BatchForward(const BatchShape& s, const float* x, const float* packed, const float* bias,
                  float* y) {
  const int64_t taps = s.in_channels * s.kernel_height * s.kernel_width;
  const int64_t plane = s.out_height * s.out_width * kLanes;
  for (int64_t o = 0; o < s.out_channels; o += kOutBlock) {
    const int64_t out = std::min(kOutBlock, s.out_channels - o);
    for (int64_t column = 0; column < s.out_width; column += kColumnTile) {
      const Tile tile = TileFor(out, std::min(kColumnTile, s.out_width - column));
      for (int64_t oh = 0; oh < s.out_height; ++oh) {
        tile(s, x, packed + o * taps, bias == nullptr ? nullptr : bias + o, oh, column,
             y + o * plane);
      }
    }
  }
}

void BatchBackwardData(const BatchShape& s, const float* dy, const float* packed, float* dx) {
  const int64_t taps = s.out_channels * s.kernel_height * s.kernel_width;
  const int64_t plane = s.in_height * s.in_width * kLanes;
  for (int64_t c = 0; c < s.in_channels; c += kInBlock) {
    const Data tile = DataFor(std::min(kInBlock, s.in_channels - c), s.kernel_width);
    for (int64_t ih = 0; ih < s.in_height; ++ih) {
      for (int64_t column = 0; column < s.out_width; column += kDataTile) {
        tile(s, dy, packed + c * taps, ih, column, dx + c * plane);
      }
    }
  }
}

void BatchGradients(const BatchShape& s, const float* x, const float* dy, int64_t begin,
                    int64_t end, float* dw, float* db) {
  const int64_t plane = s.out_height * s.out_width;
  for (int64_t o = begin; o < end; o += kGradBlock) {
    const int64_t out = std::min(kGradBlock, end - o);
    for (int64_t b = o; b < o + out; ++b) db[b] += SumAll(dy + b * plane * kLanes, plane);
    const Gradient tile = GradientFor(out, s.kernel_width);
    for (int64_t c = 0; c < s.in_channels; ++c) {
      for (int64_t kh = 0; kh < s.kernel_height; ++kh) tile(s, x, dy, o, c, kh, dw);
    }
  }
}

}  // namespace gg::onednn

#else  // no AVX-512 on other processors: never called

namespace gg::onednn {

bool HasBatchKernels() {
  return false;
}
void ToVectors(const float*, int64_t, int64_t, int64_t, int64_t, int64_t, float*) {}
void FromVectors(const float*, int64_t, int64_t, int64_t, int64_t, int64_t, float*) {}
void BatchForward(const BatchShape&, const float*, const float*, const float*, float*) {}
void BatchGradients(const BatchShape&, const float*, const float*, int64_t, int64_t, float*,
                    float*) {}

}  // namespace gg::onednn

#endif
