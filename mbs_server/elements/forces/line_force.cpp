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
      p_AB_(body_point(element_.b.body, element_.b.X_BF.p) - body_point(element_.a.body, element_.a.X_BF.p)) {
  for (const auto& term : p_AB_.terms)
    coordinates_.insert(coordinates_.end(), {term.first, term.first + 1, term.first + 2});
}

LineForce::Line LineForce::line(const ConstVector& q, const ConstVector& qd) const {
  const Vector3 p = p_AB_.value(q);
  Line line;
  line.length = p.norm();
  // A shorter step may avoid the meeting of the ends; a length that is not a number is refused too.
  if (!(line.length > 0.0)) {
    throw RecoverableError(
        fmt::format("forces.{}: its two ends meet, so that its direction is unknown", element_.name));
  }
  line.direction = p / line.length;
  line.rate = p_AB_.rate(qd);
  line.speed = line.direction.dot(line.rate);
  return line;
}

LineForce::State LineForce::state(const MotionState& at) const {
  State s{line(at.q, at.qd), 0.0, {}};
  s.tension = element_.tension(s.length, at.s);
  // A slack ligament neither pulls nor brakes. Its damping sets in at once where it tightens at a speed.
  s.damping = !element_.slackens || s.length > element_.unstrained ? element_.damping : 0.0;
  return s;
}

void LineForce::add_forces(const MotionState& at, Eigen::Ref<VectorX> g, EnergyTerms& energy) {
  const State s = state(at);
  // With damping the sum may be negative, also in an element that slackens: it pushes while it shortens fast.
  const Vector3 pull = (s.tension.force + s.damping * s.speed) * s.direction;
  // p = sum_k c_k q_k + const: a force on end b enters every coordinate by its coefficient, on end a with the opposite
  // sign that the coefficients have.
  for (const auto& term : p_AB_.terms) g.segment<3>(term.first) -= term.coef * pull;
  energy.potential += s.tension.energy;
  energy.dissipated_power += s.damping * s.speed * s.speed + s.tension.dissipated;
}

void LineForce::add_tangents(const MotionState& at, SparseAssembler& K, SparseAssembler& C) {
  const State s = state(at);
  // Section 4 of docs/theory/multibody.md: d(F u)/dp = F' u u' + F/l (1 - u u') + c u (d(dl/dt)/dp)'. The tension turns
  // with the line, which makes a pulled element stiff across itself and a pushed one unstable.
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

void LineForce::append_values(const MotionState& at, std::vector<double>& row) const {
  const State s = state(at);
  row.insert(row.end(), {s.length, s.speed, s.tension.force + s.damping * s.speed});
  if (element_.slackens) row.push_back((s.length - element_.unstrained) / element_.unstrained);
}

void LineForce::start_states(const MotionState& at, Eigen::Ref<VectorX> s) const {
  element_.states.start(line(at.q, at.qd).length, s);
}

void LineForce::state_rates(const MotionState& at, Eigen::Ref<VectorX> f) const {
  const Line l = line(at.q, at.qd);
  element_.states.rates(l.length, l.speed, at.s, f);
}

void LineForce::state_tangents(const MotionState& at, StateTangents& tangents) const {
  const Line l = line(at.q, at.qd);
  LineStateTangents by;
  element_.states.tangents(l.length, l.speed, at.s, by);
  // How the length and its rate change with the coordinates.
  const auto n = static_cast<Eigen::Index>(coordinates_.size());
  Eigen::RowVectorXd length_q(n), speed_q(n);
  // dl/dt = u . pd with du/dp = (1 - u u') / l.
  const Vector3 speed_by_p = (l.rate - l.speed * l.direction) / l.length;
  Eigen::Index first = 0;
  for (const auto& term : p_AB_.terms) {
    length_q.segment<3>(first) = term.coef * l.direction;
    speed_q.segment<3>(first) = term.coef * speed_by_p;
    first += 3;
  }
  // States act on the bodies along the line only, g = -F l_q, and feel length and rate only.
  tangents.g_s = -length_q.transpose() * by.force_s.transpose();
  tangents.f_q = by.f_length * length_q + by.f_speed * speed_q;
  tangents.f_qd = by.f_speed * length_q;
  tangents.f_s = by.f_s;
}

}  // namespace heelstrike::mbs
