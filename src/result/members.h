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

namespace detail {

template <class T> bool fits(const Json& value) {
  if constexpr (std::is_same_v<T, std::string>) return value.is_string();
  else if constexpr (std::is_same_v<T, bool>) return value.is_boolean();
  else if constexpr (std::is_integral_v<T>) return value.is_number_integer();
  else return value.is_number();
}

// `path`: the value's own.
template <class T> T checked(const Json& value, const std::string& path) {
  if (!fits<T>(value))
    throw DataError(
        "'" + path + "' in the result has the wrong type (" + value.type_name() + "). Take the original file.");
  return value.get<T>();
}

// Of millions of steps: no path is made for each.
template <class T> std::vector<T> list_of(const Json& values, const std::string& path) {
  std::vector<T> list;
  list.reserve(values.size());
  for (const Json& value : values) {
    if (!fits<T>(value))
      throw DataError("'" + path + "' in the result holds a " + value.type_name() + ". Take the original file.");
    list.push_back(value.get<T>());
  }
  return list;
}

}  // namespace detail

template <class T> T get(const Json& object, const std::string& key, const std::string& path) {
  return detail::checked<T>(member(object, key, path), join(path, key));
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
  return detail::list_of<T>(get_array(object, key, path), join(path, key));
}

}  // namespace ttt::result
