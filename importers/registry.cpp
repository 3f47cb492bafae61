#include <cstdlib>

#include "importers/model_format.hpp"

namespace heelstrike::models {

std::span<const ModelFormat> model_formats() {
// The function of one format.
#define FORMAT(NAME)                    \
  [] {                                  \
    extern ModelFormat NAME##_format(); \
    return NAME##_format();             \
  }()
  static const std::vector<ModelFormat> formats = {FORMAT(urdf), FORMAT(mjcf)};
#undef FORMAT
  return formats;
}

std::string ModelInput::value(const std::string& option, const std::string& otherwise) const {
  const auto given = options.find(option);
  return given == options.end() ? otherwise : given->second.back();
}

double ModelInput::number(const std::string& option) const {
  return std::strtod(value(option, "0").c_str(), nullptr);
}

}  // namespace heelstrike::models
