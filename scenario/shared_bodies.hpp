/// One elastic body in two contact pairs.
///
/// An elastic body is condensed for one pair, without the effect of other pairs. Models with an elastic body in two
/// pairs are therefore rejected.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/contact/surface.hpp"

namespace heelstrike {

/// True if bodies of a back-end with these parameters are elastic as a whole; the parameters then define the clamp.
[[nodiscard]] bool has_elastic_bodies(std::span<const ParameterSchema> schema);

struct SharedBody {
  std::size_t earlier = 0;  ///< pair
  std::size_t later = 0;    ///< pair
  bool is_partner = false;  ///< which side of the later pair
};

/// The first body with a material that is in two pairs of back-ends with elastic bodies. Pieces of one body at
/// different positions, from different files or cut by different boxes count as separate bodies.
/// @param elastic  true for the name of a back-end with elastic bodies
[[nodiscard]] std::optional<SharedBody> find_shared_body(std::span<const PairSpec> pairs,
                                                         const std::function<bool(const std::string&)>& elastic);

/// Remedy, after "found ...; ".
extern const std::string shared_body_advice;

/// @throws Error{invalid_input} if there is a shared body
void reject_shared_bodies(std::span<const PairSpec> pairs, const std::function<bool(const std::string&)>& elastic);

}  // namespace heelstrike
