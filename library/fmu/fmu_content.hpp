/// What a functional mock-up unit (FMI 2.0 and 3.0, https://fmi-standard.org) carries in its folder `resources`: the
/// scenario, the files it names, prepared products of its contacts, and its table of variables.
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
  bool tunable = false;  ///< a parameter that may be set while the unit steps
  /// Of parameters; infinite = none.
  double min = -std::numeric_limits<double>::infinity();
  double max = std::numeric_limits<double>::infinity();
  // Of model exchange, for the description only:
  std::optional<std::uint32_t> derivative_of = {};  ///< the continuous state that this is the rate of
  bool is_indicator = false;
};

struct FmuContent {
  std::string yaml;             ///< all changes applied
  std::string file_name;        ///< of the scenario, for messages
  std::string pair = {};        ///< that the unit is made of alone; empty: the whole scenario
  bool model_exchange = false;  ///< the importer brings the integrator; else the unit does
  bool has_contacts = false;    ///< and with them server_variable()
  std::vector<AssetContent> files;
  /// A digest of all of the above and of the variables, in the unit's description too.
  std::string token;
  std::vector<FmuVariable> variables;  ///< numbers, by reference: 0 is time
  std::filesystem::path cache;          ///< folder of prepared products
};

/// The one text among the variables, a fixed parameter behind the numbers: the address of a contact server.
[[nodiscard]] inline FmuVariable server_variable(const FmuContent& content) {
  return {.reference = static_cast<std::uint32_t>(content.variables.size()),
          .causality = Causality::parameter,
          .name = "server",
          .unit = {},
          .meaning = "where contacts are computed: host:port or unix:/path of a fem_server; empty = in this process"};
}

/// Writes the content into `resources`; the cache is there already. The token is made here.
void write_content(FmuContent& content, const std::filesystem::path& resources);

/// @throws Error{file} naming what is missing, or not what the unit was made with; Error{version_mismatch} for
/// resources of another program's version
[[nodiscard]] FmuContent read_content(const std::filesystem::path& resources);

}  // namespace heelstrike::fmu
