/// Bitwise comparison of responses, for tests of purity and repeatability.
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "common/contact/contact.hpp"

namespace heelstrike::fem::testing_support {

/// All numbers of a response as bit patterns, in declaration order.
[[nodiscard]] inline std::vector<std::uint64_t> bits_of(const Response& r) {
  std::vector<std::uint64_t> bits;
  const auto add = [&](double x) { bits.push_back(std::bit_cast<std::uint64_t>(x)); };
  for (const double x : r.F_A.vector()) add(x);
  for (const double x : r.dF_A_dX.reshaped()) add(x);
  for (const double x : r.dF_A_dV.reshaped()) add(x);
  for_each_stored_member([&](const hs::ResponseMember&, auto member) {
    if constexpr (std::is_same_v<decltype(member), double Response::*>) {
      add(r.*member);
    } else {
      for (const double x : r.*member) add(x);
    }
  });
  add(r.statistics.residual);
  bits.push_back(static_cast<std::uint64_t>(r.statistics.iterations));
  bits.push_back(static_cast<std::uint64_t>(r.statistics.active_points));
  for (const ContactPoint& point : r.points) {
    for (const double x : {point.p_AC.x(), point.p_AC.y(), point.p_AC.z(), point.n_A.x(), point.n_A.y(), point.n_A.z(),
                           point.gap, point.curvature_A, point.curvature_B}) {
      add(x);
    }
    bits.push_back(static_cast<std::uint64_t>(point.feature));
  }
  for (const RegionLoad& region : r.regions) {
    for (const double x :
         {region.force, region.area, region.peak_pressure, region.p_ACop.x(), region.p_ACop.y(), region.p_ACop.z()}) {
      add(x);
    }
  }
  return bits;
}

}  // namespace heelstrike::fem::testing_support
