/// Pictures of a deformable body and its rigid partner: displacement, contact pressure, traction and stresses as VTU.
#pragma once

#include <Eigen/Core>
#include <string>
#include <vector>

#include "common/contact/contact.hpp"
#include "fem_server/fem/body_model.hpp"
#include "fem_server/fem/displacement_recovery.hpp"
#include "fem_server/fem/pressure_recovery.hpp"
#include "fem_server/geometry/write_fields.hpp"
#include "fem_server/surfaces/partner_shape.hpp"

namespace heelstrike::fem {

/// State of the body that is drawn.
struct FieldState {
  Eigen::VectorXd displacement;  ///< [m] n_dofs
  StressColumns stress;          ///< [Pa] at the quadrature points, see linear_stress
  std::vector<Vector3> forces;   ///< [N] on the contact nodes, in A
};

/// Thread-safe; holds the body for as long as a session may ask for pictures.
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

  /// The body undeformed at its pose, with the quantities asked for; vectors are turned into the drawn frame.
  /// @param normals  [-] out of the partner at the contact nodes, in A
  /// @throws Error{invalid_input} for an unknown quantity
  [[nodiscard]] std::string write_body_fields(const FieldState& state, const std::vector<Vector3>& normals,
                                      const FieldRequest& request) const;
  /// The partner's surface; of a plane a square patch about the body.
  [[nodiscard]] std::string write_partner(const Pose& X_AB, const FieldRequest& request) const;

 private:
  /// Pressure and tractions of the loaded faces: columns are the normal pressure and the components of the traction.
  [[nodiscard]] RecoveredPressure recovered(const FieldState& state, const std::vector<Vector3>& normals) const;
  /// Columns of what was recovered per vertex at all nodes of the mesh; zero elsewhere.
  [[nodiscard]] Eigen::MatrixXd at_mesh_nodes(const Eigen::MatrixXd& at_vertices) const;
  /// Of the drawn faces: the sum of pressure times area is the sum of the normal forces. Zero on faces that bear
  /// nothing.
  [[nodiscard]] std::vector<double> face_pressures(const RecoveredPressure& pressure,
                                                   const std::vector<ElementFace>& drawn) const;

  BodyModel body_;
  ContactNodes contact_;
  PartnerShape partner_;
  DisplacementRecovery recovery_;
  PressureRecovery pressure_;
  Vector3 center_ = Vector3::Zero();  ///< [m] of the body's box, in A
  double extent_ = 0.0;               ///< [m] largest edge of the box
};

}  // namespace heelstrike::fem
