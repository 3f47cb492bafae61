#include "mbs_server/formulation/driver.hpp"

#include <array>
#include <cmath>

#include "mbs_server/formulation/cartesian_coordinates.hpp"
#include "mbs_server/formulation/joint_angle.hpp"

namespace heelstrike::mbs {
namespace {

Jet sine(const Jet& a) {
  const double s = std::sin(a.f), c = std::cos(a.f);
  return {.f = s, .d = c * a.d, .dd = c * a.dd - s * a.d * a.d};
}
Jet cosine(const Jet& a) {
  const double s = std::sin(a.f), c = std::cos(a.f);
  return {.f = c, .d = -s * a.d, .dd = -s * a.dd - c * a.d * a.d};
}
Jet times(const Jet& a, const Jet& b) {
  return {.f = a.f * b.f, .d = a.d * b.f + a.f * b.d, .dd = a.dd * b.f + 2.0 * a.d * b.d + a.f * b.dd};
}
Jet plus(const Jet& a, const Jet& b, double factor = 1.0) {
  return {.f = a.f + factor * b.f, .d = a.d + factor * b.d, .dd = a.dd + factor * b.dd};
}
Jet minus(const Jet& a) {
  return {.f = -a.f, .d = -a.d, .dd = -a.dd};
}
Jet one(double /*t*/) {
  return {.f = 1.0, .d = 0.0, .dd = 0.0};
}

QuadraticEquation unit_form() {
  QuadraticEquation form;
  form.constant = 1.0;
  return form;
}

/// form(q) = f(t)
RheonomicEquation follows(QuadraticEquation form, const TimeFunctionPtr& f) {
  return {.terms = {{.factor = one, .form = std::move(form)},
                    {.factor = [f](double t) { return minus(f->at(t)); }, .form = unit_form()}}};
}

RheonomicEquation angle_equation(const Joint& joint, const TimeFunctionPtr& f) {
  return {.terms = {{.factor = [f](double t) { return cosine(f->at(t)); }, .form = joint_sine(joint)},
                    {.factor = [f](double t) { return minus(sine(f->at(t))); }, .form = joint_cosine(joint)}}};
}

/// Entry (row, column) of Rx(a) Ry(b) Rz(c).
Jet rotation_entry(int row, int column, const Jet& a, const Jet& b, const Jet& c) {
  const Jet ca = cosine(a), sa = sine(a), cb = cosine(b), sb = sine(b), cc = cosine(c), sc = sine(c);
  const std::array<std::array<Jet, 3>, 3> R = {{
      {times(cb, cc), minus(times(cb, sc)), sb},
      {plus(times(ca, sc), times(sa, times(sb, cc))), plus(times(ca, cc), times(sa, times(sb, sc)), -1.0),
       minus(times(sa, cb))},
      {plus(times(sa, sc), times(ca, times(sb, cc)), -1.0), plus(times(sa, cc), times(ca, times(sb, sc))),
       times(ca, cb)},
  }};
  return R[static_cast<std::size_t>(row)][static_cast<std::size_t>(column)];
}

std::vector<RheonomicEquation> orientation_equations(BodyIndex body, const std::vector<TimeFunctionPtr>& f) {
  constexpr std::array<std::array<int, 2>, 3> pairs = {{{1, 2}, {2, 0}, {0, 1}}};
  std::vector<RheonomicEquation> equations;
  for (const auto& [v, d] : pairs) {
    RheonomicEquation equation;
    for (int c = 0; c < 3; ++c) {
      equation.terms.push_back(
          {.factor = [f, c, d = d](double t) { return rotation_entry(c, d, f[0]->at(t), f[1]->at(t), f[2]->at(t)); },
           .form = component_equation(body_direction(body, Vector3::Unit(v)), c)});
    }
    equations.push_back(std::move(equation));
  }
  return equations;
}

}  // namespace

std::unique_ptr<RheonomicConstraint> make_driver(const Model& model, const Driver& driver) {
  std::vector<RheonomicEquation> equations;
  switch (driver.kind) {
    case Driver::Kind::angle:
      equations.push_back(angle_equation(model.joints[static_cast<std::size_t>(driver.joint)], driver.functions[0]));
      break;
    case Driver::Kind::displacement:
      equations.push_back(
          follows(joint_displacement(model.joints[static_cast<std::size_t>(driver.joint)]), driver.functions[0]));
      break;
    case Driver::Kind::position:
      equations.push_back(
          follows(component_equation(body_point(driver.body, Vector3::Zero()), driver.component), driver.functions[0]));
      break;
    case Driver::Kind::orientation:
      equations = orientation_equations(driver.body, driver.functions);
      break;
  }
  return std::make_unique<RheonomicConstraint>("driver " + driver.name, std::move(equations));
}

}  // namespace heelstrike::mbs
