# The HTML report's page, style, script and plotting library as text inside `report`: it makes its page from any folder,
# without a network.
find_file(TTT_CHART_JS chart.min.js PATHS /usr/share/javascript/chart.js NO_DEFAULT_PATH)
if(NOT TTT_CHART_JS)
  message(FATAL_ERROR "Chart.js was not found: install libjs-chart.js (scripts/setup does), or set TTT_CHART_JS to a "
    "chart.min.js of version 3.")
endif()
file(STRINGS ${TTT_CHART_JS} chart_version REGEX "Chart\\.js v3\\." LIMIT_COUNT 1)
if(NOT chart_version)
  message(FATAL_ERROR "${TTT_CHART_JS} is not Chart.js of version 3, which the page is written for: set TTT_CHART_JS "
    "to such a chart.min.js.")
endif()
set(entries "")
foreach(item "Html:reports/html/page.html" "Style:reports/html/page.css" "Script:reports/html/page.js"
  "Metrics:reports/METRICS.md" "Chart:${TTT_CHART_JS}")
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
