/// `heelstrike calibrate --registration`: the constants that place the surface of a foot relative to its markers, from
/// force plates.
#pragma once

#include <filesystem>
#include <stop_token>
#include <string>

#include "library/runs/run_request.hpp"
#include "library/terminal/exit_codes.hpp"

namespace heelstrike::client {

struct RegistrationOptions {
  std::filesystem::path scenario;
  Overrides overrides;
  std::string free = "pitch,roll,lateral";  ///< names, separated by commas
  std::string moduli;                       ///< [Pa] separated by commas; empty = that of the scenario
};

[[nodiscard]] ExitCode calibrate_registration(const RegistrationOptions& options, bool as_json,
                                              const std::stop_token& stop);

}  // namespace heelstrike::client
