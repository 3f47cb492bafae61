/// Numbers in field files.
#pragma once

#include <cstring>
#include <string>
#include <vector>

#include "common/text/markup.hpp"

namespace heelstrike::test {

/// Values of a point array of a VTU file as Heelstrike writes it: base64 of a length of 64 bits and the numbers.
inline std::vector<double> array_of(const std::string& vtu, const std::string& name) {
  const std::size_t begin = vtu.find('>', vtu.find("Name=\"" + name + "\"", vtu.find("<PointData"))) + 1;
  const std::string text = vtu.substr(begin, vtu.find('<', begin) - begin);
  const std::string bytes = decode_base64(text, text.size());
  std::vector<double> values((bytes.size() - 8) / sizeof(double));
  std::memcpy(values.data(), bytes.data() + 8, values.size() * sizeof(double));
  return values;
}

}  // namespace heelstrike::test
