// One page with everything: opens offline, draws its plots itself, and carries the result files.
#pragma once

#include <string>

#include "reports/inputs.h"

namespace ttt::reports {

// Texts of results are escaped wherever they stand: a hostile one stays a text.
std::string html_page(const Inputs& inputs);

// Headings become <h3>, tables get `caption` where no heading stands before them.
std::string render_html(const Document& document, const std::string& caption);

std::string html_escaped(const std::string& text);

}  // namespace ttt::reports
