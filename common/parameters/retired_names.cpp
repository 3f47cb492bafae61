#include "common/parameters/retired_names.hpp"

#include <algorithm>
#include <array>

namespace heelstrike {

std::span<const RetiredName> retired_names() {
  static constexpr auto names = std::to_array<RetiredName>({
      {"approach_speed_floor", "min_approach_velocity"},
      {"arm_stiffnesses", "branch_stiffnesses"},
      {"back_least", "back_min_thickness"},
      {"back_reach", "back_search_distance"},
      {"candidate_limit", "max_candidates"},
      {"casting", "spring_body"},
      {"depth_limit", "max_penetration"},
      {"draw", "drawer_force"},
      {"drives", "driven_coordinates"},
      {"element_order", "element"},
      {"factor_form", "hysteresis_factor_form"},
      {"fiber_prony_shares", "fiber_prony_coefficients"},
      {"hold", "lock_joints"},
      {"interface_limit", "max_interface_nodes"},
      {"largest_imbalance", "max_residual"},
      {"largest_step", "max_step"},
      {"memory_limit", "max_memory"},
      {"meshing_time_limit", "max_meshing_time"},
      {"met_back_asset", "partner_back_asset"},
      {"met_back_file", "partner_back_file"},
      {"met_vertex_thickness", "partner_vertex_thickness"},
      {"met_vertex_thickness_file", "partner_vertex_thickness_file"},
      {"mooney_share", "mooney_fraction"},
      {"ogden_shares", "ogden_fractions"},
      {"only_contact", "contact_only"},
      {"partner_element_order", "partner_element"},
      {"prony_shares", "prony_coefficients"},
      {"reach", "contact_margin"},
      {"resting_speed", "restitution_threshold"},
      {"slip_speed", "regularisation_velocity"},
      {"smallest_step", "min_step"},
      {"starts_with", "initial_state_from"},
      {"without", "exclude"},
  });
  return names;
}

std::optional<std::string_view> present_name(std::string_view retired) {
  const auto names = retired_names();
  const auto found = std::ranges::find(names, retired, &RetiredName::retired);
  return found == names.end() ? std::nullopt : std::optional(found->present);
}

}  // namespace heelstrike
