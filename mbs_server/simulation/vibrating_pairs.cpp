#include "mbs_server/simulation/vibrating_pairs.hpp"

#include <fmt/format.h>

#include <string>

#include "common/errors/error.hpp"

namespace heelstrike::mbs {

void check_no_vibrating_pairs(std::span<const PairDescription> pairs) {
  for (const PairDescription& pair : pairs) {
    if (!pair.vibrates) continue;
    const std::string key = "contact." + pair.name + ".backend";
    throw input_error(key, fmt::format("{}: expected bodies that are at rest in an equilibrium, found '{}', whose body "
                                       "vibrates in time; use a back-end without vibration modes, or another analysis",
                                       key, pair.backend));
  }
}

void check_fixed_supports(const Scenario& scenario, std::span<const PairDescription> pairs) {
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    if (!pairs[i].vibrates_on_support || scenario.pairs[i].main_body == "ground") continue;
    const PairSpec& pair = scenario.pairs[i].spec;
    const std::string key = "contact." + pair.name + ".parameters.support";
    throw input_error(key,
                      fmt::format("{}: expected `inertia_relief`, found a body that is clamped and moves: vibration "
                                  "modes of a clamped body require a fixed clamp, here the mass of '{}' "
                                  "would count twice; use `support: inertia_relief`, or let the body be the ground",
                                  key, pair.main.name));
  }
}

}  // namespace heelstrike::mbs
