// Texts between the ranks.
#pragma once

#include <string>
#include <vector>

#include "comm/communicator.h"

namespace ttt::comm {

// Collective. Every rank gets every rank's text, in rank order.
std::vector<std::string> texts_of_all(Communicator& comm, const std::string& text);

}  // namespace ttt::comm
