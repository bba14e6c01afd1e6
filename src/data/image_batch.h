// A batch of one image that is in no shard: a file that a user names, or one of the evaluation images for a picture.
#pragma once

#include <string>

#include "data/host_batch.h"
#include "data/jpeg.h"
#include "data/settings.h"

namespace ttt::data {

// As the loader makes it in evaluation: resized, normalised, padded by settings.padding, not flipped, without targets;
// id 0. The image is whole, so settings.scaled_decode has no meaning here. Throws UsageError where it does not fit the
// padded size; `name` begins the sentence.
HostBatch image_batch(const RgbImage& image, const DataSettings& settings, const std::string& name);

}  // namespace ttt::data
