#include "common/files/plain_name.hpp"

namespace heelstrike {

std::string plain_name(std::string text) {
  for (char& c : text) {
    const bool plain =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.';
    if (!plain) c = '_';
  }
  return text;
}

}  // namespace heelstrike
