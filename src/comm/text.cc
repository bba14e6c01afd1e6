#include "comm/text.h"

namespace ttt::comm {

std::vector<std::string> texts_of_all(Communicator& comm, const std::string& text) {
  // Lengths and bytes of all, as rank 0 has gathered them, in one text.
  std::string packed;
  for (const std::string& one : comm.gather(text, 0)) packed += std::to_string(one.size()) + ":" + one;
  packed = broadcast_text(comm, packed);
  std::vector<std::string> all;
  for (std::size_t at = 0; at < packed.size();) {
    const std::size_t colon = packed.find(':', at), length = std::stoul(packed.substr(at, colon - at));
    all.push_back(packed.substr(colon + 1, length));
    at = colon + 1 + length;
  }
  return all;
}

}  // namespace ttt::comm
