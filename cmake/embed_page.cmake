# The HTML report's page, style and script as text inside `report`: it makes its page from any folder,
# without a network.
set(entries "")
foreach(item "Html:reports/html/page.html" "Style:reports/html/page.css" "Script:reports/html/page.js"
  "Metrics:reports/METRICS.md")
  string(REGEX MATCH "^([A-Za-z]+):(.*)$" unused "${item}")
  set(name ${CMAKE_MATCH_1})
  get_filename_component(path ${CMAKE_MATCH_2} ABSOLUTE BASE_DIR ${CMAKE_SOURCE_DIR})
  file(READ ${path} text)
  string(APPEND entries "inline constexpr std::string_view kPage${name} = R\"page(${text})page\";\n")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${path})
endforeach()
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/generated/embedded_page.h CONTENT "#pragma once

#include <string_view>

namespace ttt {

@entries@
}  // namespace ttt
" @ONLY)
