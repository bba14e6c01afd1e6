// Files and folders that runs make once and keep in a cache.
#pragma once

#include <filesystem>
#include <functional>

namespace ttt {

// Makes the file or folder `path` where it is not there. `make` writes it under the name that it is given. It gets its
// own name when all is in it, so that its presence is enough. Any number of processes may call this at the same moment:
// one works, the others wait for it. What a killed attempt left is removed. Throws UsageError where the folder above
// cannot be made, Error where it has no locks, and what `make` throws.
void make_once(const std::filesystem::path& path, const std::function<void(const std::filesystem::path&)>& make);

}  // namespace ttt
