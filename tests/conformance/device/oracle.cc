// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/device/oracle.h"

#include <cmath>

namespace gg::oracle {

LayerResult Convolution(const Conv2dDesc& d, ConstFlat x, ConstFlat w, ConstFlat b, ConstFlat dy) {
  const int64_t oh = d.out_height(), ow = d.out_width();
  LayerResult r{std::vector<double>(dy.size()), std::vector<double>(x.size()),
                std::vector<double>(w.size()), std::vector<double>(b.size())};
  for (size_t yi = 0; yi < dy.size(); ++yi) {
    const int64_t i = static_cast<int64_t>(yi);
    const int64_t col = i % ow, row = i / ow % oh, o = i / (ow * oh) % d.out_channels,
                  n = i / (ow * oh * d.out_channels);
    r.y[yi] = b[o];
    r.db[o] += dy[yi];
    for (size_t k = 0; k < w.size() / b.size(); ++k) {
      const int64_t j = static_cast<int64_t>(k);
      const int64_t kw = j % d.kernel_width, kh = j / d.kernel_width % d.kernel_height,
                    c = j / (d.kernel_width * d.kernel_height);
      const int64_t h = row * d.stride_height + kh - d.pad_height,
                    v = col * d.stride_width + kw - d.pad_width;
      if (h < 0 || h >= d.in_height || v < 0 || v >= d.in_width) continue;
      const size_t xi = ((n * d.in_channels + c) * d.in_height + h) * d.in_width + v;
      const size_t wi = o * (w.size() / b.size()) + k;
      r.y[yi] += static_cast<double>(x[xi]) * w[wi];
      r.dx[xi] += static_cast<double>(dy[yi]) * w[wi];
      r.dw[wi] += static_cast<double>(dy[yi]) * x[xi];
    }
  }
  return r;
}

LayerResult Linear(const LinearDesc& d, ConstFlat x, ConstFlat w, ConstFlat b, ConstFlat dy) {
  LayerResult r{std::vector<double>(dy.size()), std::vector<double>(x.size()),
                std::vector<double>(w.size()), std::vector<double>(b.size())};
  for (int64_t n = 0; n < d.batch; ++n) {
    for (int64_t o = 0; o < d.out_features; ++o) {
      const double g = dy[n * d.out_features + o];
      double sum = b[o];
      for (int64_t i = 0; i < d.in_features; ++i) {
        const size_t xi = n * d.in_features + i, wi = o * d.in_features + i;
        sum += static_cast<double>(x[xi]) * w[wi];
        r.dx[xi] += g * w[wi];
        r.dw[wi] += g * x[xi];
      }
      r.y[n * d.out_features + o] = sum;
      r.db[o] += g;
    }
  }
  return r;
}

LayerResult Pooling(const Pool2dDesc& d, ConstFlat x, ConstFlat dy) {
  const int64_t oh = d.out_height(), ow = d.out_width();
  LayerResult r{std::vector<double>(dy.size()), std::vector<double>(x.size()), {}, {}};
  for (size_t yi = 0; yi < dy.size(); ++yi) {
    const int64_t i = static_cast<int64_t>(yi);
    const int64_t col = i % ow, row = i / ow % oh, plane = i / (ow * oh);
    std::vector<size_t> inside;
    for (int64_t k = 0; k < d.kernel_height * d.kernel_width; ++k) {
      const int64_t h = row * d.stride_height + k / d.kernel_width - d.pad_height;
      const int64_t v = col * d.stride_width + k % d.kernel_width - d.pad_width;
      if (h < 0 || h >= d.in_height || v < 0 || v >= d.in_width) continue;
      inside.push_back((plane * d.in_height + h) * d.in_width + v);
    }
    if (d.kind == PoolKind::kMax) {
      size_t best = inside.front();
      for (const size_t xi : inside) best = x[xi] > x[best] ? xi : best;
      r.y[yi] = x[best];
      r.dx[best] += dy[yi];
      continue;
    }
    const double share = 1.0 / static_cast<double>(inside.size());
    for (const size_t xi : inside) {
      r.y[yi] += share * x[xi];
      r.dx[xi] += share * dy[yi];
    }
  }
  return r;
}

// The input gradient by the chain rule through variance and mean, one after the other.
BatchNormResult BatchNorm(const BatchNormDesc& d, ConstFlat x, ConstFlat gamma, ConstFlat beta,
                          ConstFlat running_mean, ConstFlat running_variance, ConstFlat dy) {
  BatchNormResult r{{std::vector<double>(x.size()), std::vector<double>(x.size()),
                     std::vector<double>(gamma.size()), std::vector<double>(gamma.size())},
                    {},
                    {}};
  for (int64_t c = 0; c < d.channels; ++c) {
    std::vector<size_t> mine;
    for (int64_t n = 0; n < d.batch; ++n) {
      for (int64_t s = 0; s < d.spatial; ++s) mine.push_back((n * d.channels + c) * d.spatial + s);
    }
    const double count = static_cast<double>(mine.size());
    double mean = 0, variance = 0;
    for (const size_t i : mine) mean += x[i] / count;
    for (const size_t i : mine) variance += (x[i] - mean) * (x[i] - mean) / count;
    const double deviation = std::sqrt(variance + static_cast<double>(d.epsilon));
    double dvariance = 0, dmean = 0;
    for (const size_t i : mine) {
      const double normal = (x[i] - mean) / deviation, g = static_cast<double>(dy[i]) * gamma[c];
      r.layer.y[i] = gamma[c] * normal + beta[c];
      r.layer.dw[c] += dy[i] * normal;
      r.layer.db[c] += dy[i];
      dvariance += g * (x[i] - mean) * -0.5 / (deviation * deviation * deviation);
      dmean -= g / deviation;
    }
    for (const size_t i : mine) {
      r.layer.dx[i] = static_cast<double>(dy[i]) * gamma[c] / deviation +
                      dvariance * 2 * (x[i] - mean) / count + dmean / count;
    }
    const double momentum = d.momentum;
    r.running_mean.push_back((1 - momentum) * running_mean[c] + momentum * mean);
    r.running_variance.push_back((1 - momentum) * running_variance[c] +
                                 momentum * variance * count / (count - 1));
  }
  return r;
}

}  // namespace gg::oracle
