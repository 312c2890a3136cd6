// SPDX-License-Identifier: Apache-2.0
#include "model/zoo/zoo.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/status.h"
#include "model/zoo/models.h"

namespace gg::model {
namespace {

struct Model {
  ZooEntry entry;
  absl::StatusOr<Graph> (*build)(const ZooOptions&);
};

const std::vector<Model>& Models() {
  static const std::vector<Model>& models = *new std::vector<Model>{
      {{"lenet", "Caffe, lenet_train_test.prototxt", {1, 28, 28}, 10}, zoo::LeNet},
      {{"lenet-bn", "LeNet with batch normalisation", {1, 28, 28}, 10}, zoo::LeNetBn},
      {{"cifarnet", "Caffe, cifar10_quick_train_test.prototxt", {3, 32, 32}, 10}, zoo::CifarNet},
      {{"cifarnet-full", "Caffe, cifar10_full_train_test.prototxt", {3, 32, 32}, 10},
       zoo::CifarNetFull},
      {{"mlp", "fully connected, widths by options", {1, 28, 28}, 10}, zoo::Mlp},
      {{"cd-dnn", "Seide, Li, Yu, Interspeech 2011", {429}, 9304}, zoo::CdDnn},
      {{"resnet20", "He et al., CVPR 2016, section 4.2", {3, 32, 32}, 10}, zoo::ResNet20},
      {{"resnet18", "He et al., CVPR 2016; torchvision", {3, 224, 224}, 1000}, zoo::ResNet18},
      {{"resnet50", "He et al., CVPR 2016; torchvision", {3, 224, 224}, 1000}, zoo::ResNet50},
      {{"googlenet", "Szegedy et al., CVPR 2015; Caffe, bvlc_googlenet", {3, 224, 224}, 1000},
       zoo::GoogLeNet},
      {{"vgg-a", "Simonyan, Zisserman, ICLR 2015, A; torchvision, vgg11", {3, 224, 224}, 1000},
       zoo::VggA},
      {{"vgg16", "Simonyan, Zisserman, ICLR 2015, D; torchvision", {3, 224, 224}, 1000},
       zoo::Vgg16},
      {{"alexnet", "Krizhevsky et al., NIPS 2012; Caffe, bvlc_alexnet", {3, 227, 227}, 1000},
       zoo::AlexNet},
      {{"overfeat-fast", "Sermanet et al., ICLR 2014, table 1", {3, 231, 231}, 1000},
       zoo::OverFeatFast},
  };
  return models;
}

absl::StatusOr<Graph> Build(const Model& model, const ZooOptions& options) {
  if (options.classes < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("classes is ", options.classes, ", must be positive"));
  }
  return model.build(options);
}

}  // namespace

absl::StatusOr<Graph> MakeZooModel(absl::string_view name, const ZooOptions& options) {
  for (const Model& model : Models()) {
    if (model.entry.name != name) continue;
    auto graph = Build(model, options);
    if (graph.ok()) return graph;
    return Annotate(graph.status(), absl::StrCat("model ", name,
                                                 options.input.size() == 3 ? " for images of "
                                                                           : " for an input of ",
                                                 ToString(options.input)));
  }
  return absl::InvalidArgumentError(
      absl::StrCat("unknown model '", name, "': known are ",
                   absl::StrJoin(Zoo(), ", ", [](std::string* out, const ZooEntry& e) {
                     out->append(e.name.data(), e.name.size());
                   })));
}

const std::vector<ZooEntry>& Zoo() {
  static const std::vector<ZooEntry>& entries = *[] {
    auto* made = new std::vector<ZooEntry>;
    for (const Model& model : Models()) made->push_back(model.entry);
    return made;
  }();
  return entries;
}

}  // namespace gg::model
