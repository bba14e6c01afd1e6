# The recipes as text inside the programs: they start from any folder, with nothing beside them.
file(GLOB recipe_files CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/benchmarks/recipes/*.toml)
set(entries "")
foreach(file ${recipe_files})
  get_filename_component(name ${file} NAME_WE)
  file(READ ${file} text)
  string(APPEND entries "      {\"${name}\", R\"recipe(${text})recipe\"},\n")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
endforeach()
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/generated/embedded_recipes.h CONTENT "#pragma once

#include <map>
#include <string>

namespace ttt {

// benchmarks/recipes/*.toml by name.
inline std::map<std::string, std::string> embedded_recipes() {
  return {
@entries@  };
}

}  // namespace ttt
" @ONLY)
