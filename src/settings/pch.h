// Precompiled for those who read and write results: the JSON library, and what it includes.
#pragma once

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>
