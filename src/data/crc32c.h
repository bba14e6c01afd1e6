// The checksum of every record and of a shard's index: core's.
#pragma once

#include "core/crc32c.h"

namespace ttt::data {

using ttt::crc32c;
using ttt::crc32c_portable;

}  // namespace ttt::data
