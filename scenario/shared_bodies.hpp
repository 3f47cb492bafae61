/// One elastic body in two contact pairs.
///
/// Every pair has an elastic body to itself: it is condensed for that pair, and what another pair does to it is not
/// felt. Such models are refused.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/contact/surface.hpp"

namespace heelstrike {

/// Whether bodies of a back-end with these parameters are elastic as a whole: then they say how a body is held.
[[nodiscard]] bool has_elastic_bodies(std::span<const ParameterSchema> schema);

struct SharedBody {
  std::size_t earlier = 0;  ///< pair
  std::size_t later = 0;    ///< pair
  bool is_partner = false;  ///< which side of the later pair
};

/// The first body with a material that is in two pairs of back-ends with elastic bodies. Pieces of one body that lie in
/// different places, come from different files or are cut out by different boxes are bodies of their own.
/// @param elastic  whether bodies of a back-end are elastic, by its name
[[nodiscard]] std::optional<SharedBody> find_shared_body(std::span<const PairSpec> pairs,
                                                         const std::function<bool(const std::string&)>& elastic);

/// What to do about it, after "found ...; ".
extern const std::string shared_body_advice;

/// @throws Error{invalid_input} when there is one
void refuse_shared_bodies(std::span<const PairSpec> pairs, const std::function<bool(const std::string&)>& elastic);

}  // namespace heelstrike
