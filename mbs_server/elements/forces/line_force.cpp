#include "mbs_server/elements/forces/line_force.hpp"

#include <fmt/format.h>
#include <utility>

#include "common/config/keys.hpp"
#include "common/errors/error.hpp"

namespace heelstrike::mbs {

std::vector<config::KeySchema> line_keys(config::KeySchema stiffness) {
  auto keys = config::attachment_keys({.points = config::AttachmentUse::Points::two,
                                       .point_meaning = "the end on a, in the world at the initial poses"});
  keys.push_back(config::required(std::move(stiffness)));
  keys.push_back(config::number("damping", "N s/m", config::stiffnesses, "damping", "0"));
  keys.push_back(
      config::number("length", "m", config::lengths, "unstrained length; that of the initial poses when not given"));
  return keys;
}

std::vector<config::KeySchema> ligament_keys(config::KeySchema stiffness) {
  auto keys = line_keys(std::move(stiffness));
  keys.push_back(config::number("reference_strain", "-", {.min = -1.0, .max = 10.0, .min_excluded = true},
                                "without `length`: strain at the initial poses", "0"));
  return keys;
}

LineElement read_line(const ElementSpec& spec, const Model& model) {
  const WorldFrames frames = world_frames(model, spec);
  const Ends ends = ends_at(model, spec, frames);
  const double strain = spec.keys.optional_number("reference_strain").value_or(0.0);
  const double initial = (frames.b.p - frames.a.p).norm();
  LineElement element{.name = spec.name,
                      .a = ends.a,
                      .b = ends.b,
                      .unstrained = spec.keys.optional_number("length").value_or(initial / (1.0 + strain)),
                      .damping = spec.keys["damping"].number()};
  if (element.unstrained > 0.0) return element;
  throw input_error(
      spec.keys.path(),
      fmt::format("{}: expected two different ends or a `length` > 0 [m], found ends that meet", spec.where));
}

Force line_force(LineElement element) {
  Force force{.name = element.name, .make = {}};
  force.make = [element = std::move(element)] { return std::make_unique<LineForce>(element); };
  return force;
}

LineForce::LineForce(LineElement element)
    : element_(std::move(element)),
      p_AB_(body_point(element_.b.body, element_.b.X_BF.p) - body_point(element_.a.body, element_.a.X_BF.p)) {}

LineForce::State LineForce::state(const ConstVector& q, const ConstVector& qd) const {
  const Vector3 p = p_AB_.value(q);
  State s;
  s.length = p.norm();
  if (!(s.length > 0.0)) {
    throw RecoverableError(
        fmt::format("forces.{}: its two ends meet, so that its direction is unknown", element_.name));
  }
  s.direction = p / s.length;
  s.rate = p_AB_.rate(qd);
  s.speed = s.direction.dot(s.rate);
  s.tension = element_.tension(s.length);
  s.damping = !element_.slackens || s.length > element_.unstrained ? element_.damping : 0.0;
  return s;
}

void LineForce::add_forces(double /*t*/, const ConstVector& q, const ConstVector& qd, Eigen::Ref<VectorX> g,
                           EnergyTerms& energy) {
  const State s = state(q, qd);
  const Vector3 pull = (s.tension.force + s.damping * s.speed) * s.direction;
  for (const auto& term : p_AB_.terms) g.segment<3>(term.first) -= term.coef * pull;
  energy.potential += s.tension.energy;
  energy.dissipated_power += s.damping * s.speed * s.speed;
}

void LineForce::add_tangents(double /*t*/, const ConstVector& q, const ConstVector& qd, SparseAssembler& K,
                             SparseAssembler& C) {
  const State s = state(q, qd);
  const Matrix3 along = s.direction * s.direction.transpose();
  const Matrix3 across = (Matrix3::Identity() - along) / s.length;
  const double force = s.tension.force + s.damping * s.speed;
  const Matrix3 by_p =
      s.tension.stiffness * along + force * across + s.damping * s.direction * (across * s.rate).transpose();
  for (const auto& row : p_AB_.terms) {
    for (const auto& column : p_AB_.terms) {
      K.add_block(row.first, column.first, -row.coef * column.coef * by_p);
      C.add_block(row.first, column.first, -row.coef * column.coef * s.damping * along);
    }
  }
}

std::vector<Column> LineForce::columns() const {
  const std::string& name = element_.name;
  std::vector<Column> columns = {{name + ".length_m", "m", "distance of the ends"},
                                 {name + ".rate_m_s", "m/s", "rate of the length, positive while it grows"},
                                 {name + ".force_N", "N", "tension with damping, positive where it pulls"}};
  if (element_.slackens) columns.push_back({name + ".strain", "-", "strain, negative while it is slack"});
  return columns;
}

void LineForce::append_values(double /*t*/, const ConstVector& q, const ConstVector& qd,
                              std::vector<double>& row) const {
  const State s = state(q, qd);
  row.insert(row.end(), {s.length, s.speed, s.tension.force + s.damping * s.speed});
  if (element_.slackens) row.push_back((s.length - element_.unstrained) / element_.unstrained);
}

}  // namespace heelstrike::mbs
