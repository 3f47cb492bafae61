/// Preparation of a finite-element body with its support, contact nodes and partner from the specification of a pair.
/// Shared by fem_condensed and fem_full.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fem_server/backend_interface/backend.hpp"
#include "fem_server/backend_interface/contact_options.hpp"
#include "fem_server/contact_solver/contact_regions.hpp"
#include "fem_server/contact_solver/contact_surface.hpp"
#include "fem_server/fem/body_model.hpp"
#include "fem_server/fem/condensation.hpp"
#include "fem_server/fem/pressure_recovery.hpp"
#include "fem_server/surfaces/partner_shape.hpp"
#include "scenario/surfaces/signed_distance.hpp"

namespace heelstrike::fem {

class BodyFields;

struct PreparedBody {
  BodyModel body;
  Support support;
  ContactNodes contact;                  ///< candidates
  PressureRecovery pressure{};           ///< for them
  std::vector<ContactRegion> regions{};  ///< of them
  std::shared_ptr<const SignedDistance> partner;
  ContactOptions options;
  PartnerShape shape{};      ///< of the partner, for field output
  MemoryLimit max_memory{};  ///< of condensations and factorisations
};

/// The second body of a pair whose partner has a material.
struct PreparedPartner {
  BodyModel body;
  Support support;
  ContactNodes contact;  ///< candidates
};

/// Surface of a partner once it has a mesh, whatever its original shape.
struct PartnerSurface {
  std::shared_ptr<const SignedDistance> distance;
  ContactSurface surface;  ///< the whole boundary
  std::shared_ptr<const BodyFields> fields;
};
[[nodiscard]] PartnerSurface partner_surface(PreparedPartner partner);

/// Name of the parameter that selects the finite element.
inline constexpr const char* element_key = "element";

/// Parameters that describe mesh, support, candidates and contact law.
/// @param contact_nodes  the default of this parameter
[[nodiscard]] std::vector<ParameterSchema> body_parameters(std::string contact_nodes);
/// The same for a deformable partner, with the name prefix partner_.
[[nodiscard]] std::vector<ParameterSchema> partner_parameters();
/// Parameters of a deformable partner under the names of the main body's parameters.
/// @param pair  parameters checked and completed
[[nodiscard]] ParameterMap partner_map(const PairSpec& pair);
/// "mesh-plane" etc.
[[nodiscard]] std::vector<std::string> body_surface_pairs(bool with_clouds = false);

/// For a partner with a material, this sets the shape; prepare_partner makes its mesh.
/// @param pair  accepted by check_body_pair, parameters checked and completed; derived ones are written to
/// `parameters`
/// @throws Error{invalid_input, limit, cancelled, ...} of the mesher, the readers and the checks
[[nodiscard]] PreparedBody prepare_body(const PairSpec& pair, const PrepareContext& context, ParameterMap& parameters);

/// Mesh, support and candidates of a deformable partner; none without a material.
/// @pre check_body_pair and find_body_pair_warnings accepted the pair
/// @throws Error{invalid_input} as prepare_body
[[nodiscard]] std::optional<PreparedPartner> prepare_partner(const PairSpec& pair, const PrepareContext& context);

/// Parameters of a back-end that accepts a compressed compliance.
[[nodiscard]] std::vector<ParameterSchema> compression_parameters();
/// [-] tolerance of condense_compressed for this number of candidates; 0 = dense, also for a back-end without these
/// parameters.
[[nodiscard]] double compression_tolerance(const ParameterMap& parameters, std::size_t n_candidates);

/// Shared by fem_condensed and fem_full, which reuse each other's products.
/// @param limit      on memory, if it is computed
/// @param tolerance  [-] of the compression; 0 = dense
/// @throws as condense
[[nodiscard]] SurfaceCompliance prepared_compliance(const BodyModel& body, const Support& support,
                                                    const ContactNodes& contact, const PrepareContext& context,
                                                    const MemoryLimit& limit, double tolerance = 0.0);

}  // namespace heelstrike::fem
