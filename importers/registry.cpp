#include <cstdlib>

#include "importers/model_format.hpp"

namespace heelstrike::models {

// One function ModelFormat NAME_format() for each format.
#define HEELSTRIKE_MODEL_FORMATS(LISTED) \
  LISTED(urdf)                           \
  LISTED(mjcf)

#define HEELSTRIKE_LISTED(NAME) ModelFormat NAME##_format();
HEELSTRIKE_MODEL_FORMATS(HEELSTRIKE_LISTED)
#undef HEELSTRIKE_LISTED

std::span<const ModelFormat> model_formats() {
#define HEELSTRIKE_LISTED(NAME) NAME##_format(),
  static const std::vector<ModelFormat> formats = {HEELSTRIKE_MODEL_FORMATS(HEELSTRIKE_LISTED)};
#undef HEELSTRIKE_LISTED
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
