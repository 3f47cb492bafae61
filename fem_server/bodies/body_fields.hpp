/// Fields of a deformable body and its rigid partner as VTU: displacement, contact pressure, traction and stresses.
#pragma once

#include <Eigen/Core>
#include <optional>
#include <string>
#include <vector>

#include "common/contact/contact.hpp"
#include "fem_server/fem/body_model.hpp"
#include "fem_server/fem/field_recovery.hpp"
#include "fem_server/fem/pressure_recovery.hpp"
#include "fem_server/geometry/write_mesh.hpp"
#include "fem_server/surfaces/partner_shape.hpp"

namespace heelstrike::fem {

/// State of the body whose fields are written.
struct FieldState {
  Eigen::VectorXd displacement;  ///< [m] n_dofs
  StressColumns stress;          ///< [Pa] at the quadrature points, see linear_stress
  std::vector<Vector3> forces;   ///< [N] on the contact nodes, in A
  /// Normal pressure and components of the traction [Pa] that do not follow from these forces alone.
  std::optional<NodalPressure> pressure{};
};

/// Thread-safe; keeps the body while a session may request fields.
class BodyFields {
 public:
  /// @param contact   candidates
  /// @param pressure  for these candidates
  BodyFields(BodyModel body, const Support& support, ContactNodes contact, PartnerShape partner,
             PressureRecovery pressure);

  [[nodiscard]] const BodyModel& body() const { return body_; }
  [[nodiscard]] const ContactNodes& contact() const { return contact_; }
  [[nodiscard]] const PressureRecovery& pressure_recovery() const { return pressure_; }
  /// The linear body under forces [N] on its contact nodes, in A.
  [[nodiscard]] FieldState linear_state(std::vector<Vector3> forces) const;

  /// The undeformed body at its pose, with the requested quantities; vectors are expressed in the output frame.
  /// @param normals  [-] out of the partner at the contact nodes, in A
  /// @throws Error{invalid_input} for an unknown quantity
  [[nodiscard]] std::string write_body_fields(const FieldState& state, const std::vector<Vector3>& normals,
                                              const FieldRequest& request) const;
  /// Surface of the partner; for a plane, a square patch around the body.
  [[nodiscard]] std::string write_partner(const Pose& X_AB, const FieldRequest& request) const;

 private:
  /// Pressure and tractions of the loaded faces: columns are the normal pressure and the components of the traction.
  [[nodiscard]] RecoveredPressure recovered(const FieldState& state, const std::vector<Vector3>& normals) const;
  /// Columns recovered per vertex, at all nodes of the mesh; zero elsewhere.
  [[nodiscard]] Eigen::MatrixXd at_mesh_nodes(const Eigen::MatrixXd& at_vertices) const;
  /// Pressure of the output faces: the sum of pressure times area is the sum of the normal forces. Zero on unloaded
  /// faces.
  [[nodiscard]] std::vector<double> face_pressures(const RecoveredPressure& pressure,
                                                   const std::vector<ElementFace>& drawn) const;

  BodyModel body_;
  ContactNodes contact_;
  PartnerShape partner_;
  DisplacementRecovery recovery_;
  PressureRecovery pressure_;
  Vector3 center_ = Vector3::Zero();  ///< [m] of the body's bounding box, in A
  double extent_ = 0.0;               ///< [m] largest edge of the box
};

}  // namespace heelstrike::fem
