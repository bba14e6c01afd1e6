// A small data set for tests, made by the shapes generator, packed into two shards of a folder that goes with it.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "core/temp_folder.h"
#include "data/pack.h"
#include "data/settings.h"
#include "data/shapes.h"
#include "tests/support/message_of.h"
#include "tests/support/python.h"

namespace ttt::data {

struct TinySet {
  explicit TinySet(std::int64_t images = 12, std::int64_t size = 64, std::uint64_t shard_bytes = 16 << 10) {
    make_shapes({.train = images, .val = 3, .size = size, .seed = 5, .threads = 1}, folder.path());
    pack(settings(shard_bytes));
  }
  PackSettings settings(std::uint64_t shard_bytes = 16 << 10) const {
    return {.images = folder / "train",
        .annotations = folder / "instances_train.json",
        .out = folder / "shards",
        .split = "train",
        .shard_bytes = shard_bytes,
        .threads = 2,
        .packer = "test"};
  }
  std::string shards() const { return folder / "shards"; }
  TempFolder folder;
};

using test::message_of;

// Small images, no resize: the settings that most tests want.
inline DataSettings tiny_settings(std::int64_t size = 64) {
  DataSettings s;
  s.short_side = s.long_side = size;
  return s;
}

}  // namespace ttt::data
