// Typed members of a document that was not necessarily written by us. All throw DataError naming the key.
#pragma once

#include <string>
#include <type_traits>
#include <vector>

#include "core/error.h"
#include "settings/json.h"

namespace ttt::result {

inline std::string join(const std::string& path, const std::string& key) {
  return path.empty() ? key : path + "." + key;
}

template <class T> T get(const Json& object, const std::string& key, const std::string& path) {
  const Json& value = member(object, key, path);
  bool fits = false;
  if constexpr (std::is_same_v<T, std::string>) fits = value.is_string();
  if constexpr (std::is_same_v<T, std::int64_t>) fits = value.is_number_integer();
  if constexpr (std::is_same_v<T, double>) fits = value.is_number();
  if constexpr (std::is_same_v<T, bool>) fits = value.is_boolean();
  if (!fits)
    throw DataError("'" + join(path, key) + "' in the result has the wrong type (" + value.type_name() +
                    "). Take the original file.");
  return value.get<T>();
}

inline const Json& get_object(const Json& object, const std::string& key, const std::string& path) {
  const Json& value = member(object, key, path);
  if (!value.is_object())
    throw DataError("'" + join(path, key) + "' in the result is not an object. Take the original file.");
  return value;
}

inline const Json& get_array(const Json& object, const std::string& key, const std::string& path) {
  const Json& value = member(object, key, path);
  if (!value.is_array())
    throw DataError("'" + join(path, key) + "' in the result is not a list. Take the original file.");
  return value;
}

template <class T> std::vector<T> get_list(const Json& object, const std::string& key, const std::string& path) {
  std::vector<T> list;
  const Json& values = get_array(object, key, path);
  list.reserve(values.size());
  for (const Json& v : values) {
    const bool fits = std::is_same_v<T, std::string> ? v.is_string()
                      : std::is_same_v<T, double>    ? v.is_number()
                                                     : v.is_number_integer();
    if (!fits)
      throw DataError("'" + join(path, key) + "' in the result holds a " + v.type_name() + ". Take the original file.");
    list.push_back(v.get<T>());
  }
  return list;
}

}  // namespace ttt::result
