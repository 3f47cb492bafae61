#include "mbs_server/formulation/driver_equations.hpp"

#include "mbs_server/formulation/cartesian_coordinates.hpp"
#include "mbs_server/formulation/function_constraint.hpp"
#include "mbs_server/formulation/joint_angle.hpp"

namespace heelstrike::mbs {

namespace {

Jet3 sum(const PoseJets& pose, const Vector3& u, bool with_origin) {
  Jet3 result = with_origin ? pose.origin : Jet3{};
  for (std::size_t c = 0; c < 3; ++c) {
    for (std::size_t k = 0; k < 3; ++k) {
      result[c] = result[c] + u[static_cast<Eigen::Index>(k)] * pose.axes[k][c];
    }
  }
  return result;
}

}  // namespace

PoseJets recorded_pose(const BodyRecord* record, double t) {
  PoseJets pose;
  if (record == nullptr) {
    for (std::size_t k = 0; k < 3; ++k) pose.axes[k][k].f = 1.0;
    return pose;
  }
  for (std::size_t c = 0; c < 3; ++c) pose.origin[c] = record->position[c]->at(t);
  const Jet w = record->quaternion[0]->at(t), x = record->quaternion[1]->at(t), y = record->quaternion[2]->at(t),
            z = record->quaternion[3]->at(t);
  const Jet ww = w * w, xx = x * x, yy = y * y, zz = z * z;
  // Splines of the four components are not normalised between the rows. R is homogeneous of degree two, so that
  // division by e.e gives R(e / |e|) with its two derivatives, without a root.
  const Jet norm = ww + xx + yy + zz;
  pose.axes = {{{ww + xx - yy - zz, 2.0 * (x * y + w * z), 2.0 * (x * z - w * y)},
                {2.0 * (x * y - w * z), ww - xx + yy - zz, 2.0 * (y * z + w * x)},
                {2.0 * (x * z + w * y), 2.0 * (y * z - w * x), ww - xx - yy + zz}}};
  for (Jet3& axis : pose.axes) {
    for (Jet& entry : axis) entry = entry / norm;
  }
  return pose;
}

Jet3 recorded_point(const BodyRecord* record, double t, const Vector3& p_BP) {
  return sum(recorded_pose(record, t), p_BP, true);
}

Jet3 recorded_direction(const BodyRecord* record, double t, const Vector3& u_B) {
  return sum(recorded_pose(record, t), u_B, false);
}

Jet dot(const Jet3& a, const Jet3& b) {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

Jet3 operator-(const Jet3& a, const Jet3& b) {
  return {a[0] - b[0], a[1] - b[1], a[2] - b[2]};
}

namespace {

Jet one(double /*t*/) {
  return {.f = 1.0, .d = 0.0, .dd = 0.0};
}

QuadraticEquation normalised_form() {
  QuadraticEquation form;
  form.constant = 1.0;
  return form;
}

/// form(q) = f(t)
RheonomicEquation follows(QuadraticEquation form, const TimeFunctionPtr& f) {
  return {.terms = {{.factor = one, .form = std::move(form)},
                    {.factor = [f](double t) { return -f->at(t); }, .form = normalised_form()}}};
}

/// The sine of the error, section 3 of docs/theory/multibody.md: it has no branch cut over any number of turns.
/// It also vanishes half a turn away, where the cosine of the error is negative.
RheonomicEquation angle_equation(const Joint& joint, const TimeFunctionPtr& f) {
  return {.terms = {{.factor = [f](double t) { return cosine(f->at(t)); }, .form = joint_sine(joint)},
                    {.factor = [f](double t) { return -sine(f->at(t)); }, .form = joint_cosine(joint)}},
          .positive = {{.factor = [f](double t) { return cosine(f->at(t)); }, .form = joint_cosine(joint)},
                       {.factor = [f](double t) { return sine(f->at(t)); }, .form = joint_sine(joint)}}};
}

/// Entry (row, column) of Rx(a) Ry(b) Rz(c).
Jet rotation_entry(int row, int column, const Jet& a, const Jet& b, const Jet& c) {
  const Jet ca = cosine(a), sa = sine(a), cb = cosine(b), sb = sine(b), cc = cosine(c), sc = sine(c);
  const std::array<std::array<Jet, 3>, 3> R = {{
      // Expanded, so that jet arithmetic gives the two derivatives of every entry.
      {cb * cc, -(cb * sc), sb},
      {ca * sc + sa * (sb * cc), ca * cc - sa * (sb * sc), -(sa * cb)},
      {sa * sc - ca * (sb * cc), sa * cc + ca * (sb * sc), ca * cb},
  }};
  return R[static_cast<std::size_t>(row)][static_cast<std::size_t>(column)];
}

/// v_2.d_3 = v_3.d_1 = v_1.d_2 = 0 for the prescribed directions d_l(t) of the axes v_k. Half a turn about one of them
/// also satisfies these equations; v_k.d_k is positive for all k only on the intended branch.
constexpr std::array<std::array<int, 2>, 3> rotation_pairs = {{{1, 2}, {2, 0}, {0, 1}}};

/// @param entry  component c of d_l at a time
template <typename Entry>
std::vector<RheonomicEquation> orientation_equations(BodyIndex body, Entry entry) {
  std::vector<RheonomicEquation> equations;
  for (const auto& [v, d] : rotation_pairs) {
    RheonomicEquation equation;
    for (int c = 0; c < 3; ++c) {
      equation.terms.push_back({.factor = [entry, c, d = d](double t) { return entry(c, d, t); },
                                .form = component_equation(body_direction(body, Vector3::Unit(v)), c)});
      equation.positive.push_back({.factor = [entry, c, v = v](double t) { return entry(c, v, t); },
                                   .form = component_equation(body_direction(body, Vector3::Unit(v)), c)});
    }
    equations.push_back(std::move(equation));
  }
  return equations;
}

/// Rotation first, then the origin: six equations that, unlike three angles, are regular at every attitude.
std::vector<RheonomicEquation> recorded_body(BodyIndex body, const BodyRecordPtr& record) {
  auto equations = orientation_equations(body, [record](int c, int d, double t) {
    return recorded_pose(record.get(), t).axes[static_cast<std::size_t>(d)][static_cast<std::size_t>(c)];
  });
  for (std::size_t c = 0; c < 3; ++c) {
    equations.push_back(
        follows(component_equation(body_point(body, Vector3::Zero()), static_cast<int>(c)), record->position[c]));
  }
  return equations;
}

/// The angle of the joint with its recorded sine and cosine.
RheonomicEquation recorded_angle(const Joint& joint, const BodyRecordPtr& a, const BodyRecordPtr& b) {
  const auto recorded = [a, b, joint](int axis_of_a, double t) {
    return dot(recorded_direction(b.get(), t, joint.b.X_BF.R.col(0)),
               recorded_direction(a.get(), t, joint.a.X_BF.R.col(axis_of_a)));
  };
  // sin(phi) cos(phi_rec) - cos(phi) sin(phi_rec) = 0. Recorded products need no normalisation: a common factor only
  // scales the row.
  return {.terms = {{.factor = [recorded](double t) { return recorded(0, t); }, .form = joint_sine(joint)},
                    {.factor = [recorded](double t) { return -recorded(1, t); }, .form = joint_cosine(joint)}},
          .positive = {{.factor = [recorded](double t) { return recorded(0, t); }, .form = joint_cosine(joint)},
                       {.factor = [recorded](double t) { return recorded(1, t); }, .form = joint_sine(joint)}}};
}

/// z_A . (p_B - p_A) minus its recorded value [m].
RheonomicEquation recorded_displacement(const Joint& joint, const BodyRecordPtr& a, const BodyRecordPtr& b) {
  const auto recorded = [a, b, joint](double t) {
    return dot(recorded_direction(a.get(), t, joint.a.X_BF.R.col(2)),
               recorded_point(b.get(), t, joint.b.X_BF.p) - recorded_point(a.get(), t, joint.a.X_BF.p));
  };
  return {.terms = {{.factor = one, .form = joint_displacement(joint)},
                    {.factor = [recorded](double t) { return -recorded(t); }, .form = normalised_form()}}};
}

/// The axes of b have their recorded directions in a.
std::vector<RheonomicEquation> recorded_rotation(const Joint& joint, const BodyRecordPtr& a, const BodyRecordPtr& b) {
  std::vector<RheonomicEquation> equations;
  for (const auto& [v, d] : rotation_pairs) {
    RheonomicEquation equation;
    for (int c = 0; c < 3; ++c) {
      const auto factor_of = [&](int axis) {
        return [a, b, c, axis](double t) {
          return dot(recorded_direction(a.get(), t, Vector3::Unit(c)),
                     recorded_direction(b.get(), t, Vector3::Unit(axis)));
        };
      };
      // v of b against A d, the recorded direction fixed in a: sum_c (a_c . d) (a_c . v) over the axes a_c of a, with
      // the first factor from the record.
      const QuadraticEquation form =
          dot_equation(body_direction(joint.a.body, Vector3::Unit(c)), body_direction(joint.b.body, Vector3::Unit(v)));
      equation.terms.push_back({.factor = factor_of(d), .form = form});
      equation.positive.push_back({.factor = factor_of(v), .form = form});
    }
    equations.push_back(std::move(equation));
  }
  return equations;
}

std::unique_ptr<Constraint> driver_of(const std::string& name, std::vector<RheonomicEquation> equations) {
  return std::make_unique<RheonomicConstraint>("driver " + name, std::move(equations));
}

}  // namespace

std::unique_ptr<Constraint> drive_angle(const std::string& name, const Joint& joint, const TimeFunctionPtr& angle) {
  return driver_of(name, {angle_equation(joint, angle)});
}

std::unique_ptr<Constraint> drive_displacement(const std::string& name, const Joint& joint,
                                               const TimeFunctionPtr& displacement) {
  return driver_of(name, {follows(joint_displacement(joint), displacement)});
}

std::unique_ptr<Constraint> drive_position(const std::string& name, BodyIndex body, int component,
                                           const TimeFunctionPtr& position) {
  return driver_of(name, {follows(component_equation(body_point(body, Vector3::Zero()), component), position)});
}

std::unique_ptr<Constraint> drive_orientation(const std::string& name, BodyIndex body,
                                              const std::array<TimeFunctionPtr, 3>& angles) {
  return driver_of(name, orientation_equations(body, [f = angles](int c, int d, double t) {
                     return rotation_entry(c, d, f[0]->at(t), f[1]->at(t), f[2]->at(t));
                   }));
}

std::unique_ptr<Constraint> drive_recorded_body(const std::string& name, BodyIndex body, const BodyRecordPtr& record) {
  return driver_of(name, recorded_body(body, record));
}

std::unique_ptr<Constraint> drive_recorded_joint(const std::string& name, const Joint& joint, const BodyRecordPtr& a,
                                                 const BodyRecordPtr& b) {
  std::vector<RheonomicEquation> equations;
  if (joint.coordinates.rotation) equations = recorded_rotation(joint, a, b);
  if (joint.coordinates.angle) equations.push_back(recorded_angle(joint, a, b));
  if (joint.coordinates.displacement) equations.push_back(recorded_displacement(joint, a, b));
  return driver_of(name, std::move(equations));
}

std::unique_ptr<Constraint> drive_rotations(const std::string& name, const CoordinateMapPtr& map,
                                            const std::vector<TimeFunctionPtr>& angles) {
  const JointSide &a = map->side_a(), &b = map->side_b();
  // 27 factors read the same rotation. A driver belongs to one simulation, which evaluates it by one thread at a time.
  struct Last {
    std::vector<Jet> jets;
    Along<Matrix3> Q;
  };
  const auto rotated = [map, angles, last = std::make_shared<Last>()](double t) {
    std::vector<Jet> jets;
    for (const TimeFunctionPtr& f : angles) jets.push_back(f->at(t));
    const auto is_same = [](const Jet& a, const Jet& b) { return a.f == b.f && a.d == b.d && a.dd == b.dd; };
    if (!std::ranges::equal(jets, last->jets, is_same)) {
      last->Q = map->rotated(jets);
      last->jets = std::move(jets);
    }
    return last->Q;
  };
  const auto entry_of = [](const Along<Matrix3>& Q, Eigen::Index i, Eigen::Index j) {
    return Jet{.f = Q.f(i, j), .d = Q.d(i, j), .dd = Q.dd(i, j)};
  };
  // Component k of the axial vector of Q'R: half of (Q'R)_cb - (Q'R)_bc with (k, b, c) cyclic.
  std::vector<RheonomicEquation> equations(3);
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) {
      const QuadraticEquation form =
          dot_equation(body_direction(a.body, a.X_BF.R.col(i)), body_direction(b.body, b.X_BF.R.col(j)));
      for (int k = 0; k < 3; ++k) {
        auto& equation = equations[static_cast<std::size_t>(k)];
        equation.positive.push_back(
            {.factor = [rotated, entry_of, i, j](double t) { return entry_of(rotated(t), i, j); }, .form = form});
        if (j == k) continue;
        const int other = 3 - j - k;
        const double sign = j == (k + 1) % 3 ? 0.5 : -0.5;
        equation.terms.push_back(
            {.factor = [rotated, entry_of, i, other, sign](double t) { return sign * entry_of(rotated(t), i, other); },
             .form = form});
      }
    }
  }
  return driver_of(name, std::move(equations));
}

std::unique_ptr<Constraint> drive_coordinates(const std::string& name, const CoordinateMapPtr& map,
                                              const std::vector<std::size_t>& places,
                                              const std::vector<TimeFunctionPtr>& functions) {
  std::vector<double> periods;
  for (const std::size_t place : places) periods.push_back(map->period(place));
  return std::make_unique<FunctionConstraint>("driver " + name, joint_coordinates(map, places), functions,
                                              std::move(periods));
}

}  // namespace heelstrike::mbs
