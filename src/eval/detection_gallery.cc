#include "eval/detection_gallery.h"

#include <algorithm>

#include "eval/draw/objects.h"
#include "eval/mask_rcnn.h"

namespace ttt::eval {
namespace {

// Early in a run no score is high.
constexpr double kShownScore = 0.5;
constexpr std::size_t kShownAtLeast = 5;

}  // namespace

DetectionGallery::DetectionGallery(const EvaluationInputs& inputs, std::int64_t pictures)
    : inputs_(inputs), model_(dynamic_cast<const model::MaskRcnn&>(inputs.model)),
      detector_(detector_of(model_.config(), inputs.images, inputs.data, inputs.device)) {
  const ttt::coco::Dataset truth = inputs.images.ground_truth();
  for (const ttt::coco::Category& c : truth.categories) {
    category_name_.resize(std::max<std::size_t>(category_name_.size(), static_cast<std::size_t>(c.id) + 1));
    category_name_[static_cast<std::size_t>(c.id)] = c.name;
  }
  for (std::int64_t i = 0; i < std::min(pictures, inputs.images.size()); ++i) {
    const data::ImageInfo info = inputs.images.image(i);
    Subject& s = subjects_.emplace_back(Subject{.index = i, .id = info.id, .truth = {}, .masks = {}});
    const ttt::coco::Image image{.id = info.id,
        .height = static_cast<std::uint32_t>(info.height),
        .width = static_cast<std::uint32_t>(info.width)};
    for (const ttt::coco::Annotation& a : truth.annotations)
      if (a.image_id == info.id) s.truth.push_back(a), s.masks.push_back(ttt::coco::mask_of(a, image));
  }
}

std::function<Picture()> DetectionGallery::predict(std::int64_t i) {
  const Subject& subject = subjects_[static_cast<std::size_t>(i)];
  std::vector<std::uint8_t> jpeg;
  const std::int64_t bytes = inputs_.images.read(subject.index, jpeg);
  data::RgbImage image;
  data::JpegDecoder().decode({jpeg.data(), static_cast<std::size_t>(bytes)}, image);
  auto detections = detector_(model_, image, inputs_.data, "Image " + std::to_string(subject.id));
  return [this, &subject, image = std::move(image), detections = std::move(detections)] {
    return draw(subject, image, detections);
  };
}

Picture DetectionGallery::draw(
    const Subject& subject, const data::RgbImage& image, const std::vector<coco::Detection>& detections) const {
  std::vector<Marked> truth, predicted;
  for (std::size_t i = 0; i < subject.truth.size(); ++i) {
    const ttt::coco::Annotation& a = subject.truth[i];
    const std::string& category = category_name_[static_cast<std::size_t>(a.category_id)];
    truth.push_back({a.bbox, &subject.masks[i], a.iscrowd ? category + " (crowd)" : category,
        colour_of(static_cast<std::size_t>(a.category_id))});
  }
  for (const coco::Detection* d : worth_showing(detections, kShownScore, kShownAtLeast))
    predicted.push_back(marked(*d, category_name_[static_cast<std::size_t>(d->category_id)]));
  const int magnify = magnification(image);
  return {.name = std::to_string(subject.id),
      .image = beside(eval::draw(image, truth, magnify), eval::draw(image, predicted, magnify))};
}

}  // namespace ttt::eval
