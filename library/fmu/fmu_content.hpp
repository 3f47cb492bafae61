/// Content of the folder `resources` of an FMU (FMI 2.0 and 3.0, https://fmi-standard.org): the scenario, its files,
/// prepared products of its contacts, and the table of variables.
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "common/contact/contact.hpp"

namespace heelstrike::fmu {

enum class Causality { independent, parameter, input, output, local };

struct FmuVariable {
  std::uint32_t reference = 0;
  Causality causality = Causality::output;
  std::string name;  ///< input, column of the time series, or the key of a number of the scenario
  std::string unit;  ///< as in tables: "m", "N m", "-"
  std::string meaning;
  double start = 0.0;    ///< of inputs and parameters
  bool tunable = false;  ///< a parameter that may be set between steps
  /// Of parameters; infinite = none.
  double min = -std::numeric_limits<double>::infinity();
  double max = std::numeric_limits<double>::infinity();
  // For the description of model exchange only:
  std::optional<std::uint32_t> derivative_of = {};  ///< the continuous state whose rate this is
  bool is_indicator = false;
};

struct FmuContent {
  std::string yaml;             ///< all changes applied
  std::string file_name;        ///< of the scenario, for messages
  std::string pair = {};        ///< pair of a contact FMU; empty: the whole scenario
  bool model_exchange = false;  ///< the importer integrates; else the FMU does
  bool has_contacts = false;    ///< if set, server_variable() exists
  std::vector<AssetContent> files;
  /// A digest of all members above and of the variables, repeated in the description of the FMU.
  std::string token;
  std::vector<FmuVariable> variables;  ///< numbers, by reference: 0 is time
  std::filesystem::path cache;         ///< folder of prepared products
};

/// The only text variable, a fixed parameter after the numbers: the address of a contact server.
[[nodiscard]] inline FmuVariable server_variable(const FmuContent& content) {
  return {.reference = static_cast<std::uint32_t>(content.variables.size()),
          .causality = Causality::parameter,
          .name = "server",
          .unit = {},
          .meaning = "server that computes contacts: host:port or unix:/path of a fem_server; empty = in this process"};
}

/// Writes the content into `resources`, which already has the cache. Sets the token.
void write_content(FmuContent& content, const std::filesystem::path& resources);

/// @throws Error{file} naming a missing or modified file; Error{version_mismatch} for resources of another program
/// version
[[nodiscard]] FmuContent read_content(const std::filesystem::path& resources);

}  // namespace heelstrike::fmu
