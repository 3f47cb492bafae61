#include "mbs_server/elements/forces/line_force.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>

#include "common/errors/error.hpp"
#include "mbs_server/elements/attachment.hpp"
#include "mbs_server/formulation/cartesian_coordinates.hpp"
#include "scenario/schema/keys.hpp"

namespace heelstrike::mbs {

std::vector<config::KeySchema> line_keys(config::KeySchema stiffness) {
  auto keys = config::attachment_keys(
      {.points = config::AttachmentKeys::Points::two, .point_meaning = "end on a, in the world at the initial poses"});
  keys.push_back(config::required(std::move(stiffness)));
  keys.push_back(config::number("damping", "N s/m", config::stiffnesses, "damping", 0));
  keys.push_back(
      config::number("length", "m", config::lengths, "unstrained length; default: the length at the initial poses"));
  return keys;
}

std::vector<config::KeySchema> ligament_keys(config::KeySchema stiffness) {
  auto keys = line_keys(std::move(stiffness));
  keys.push_back(config::number("reference_strain", "-", {.min = -1.0, .max = 10.0, .min_excluded = true},
                                "without `length`: strain at the initial poses", 0));
  return keys;
}

namespace {

/// Limit of the ratio to the usual length in admissible poses: ligaments fail below a strain of 0.4 [machado2012].
constexpr double usual_factor = 2.0;

/// [m] between the ends at the initial poses; none where a pose is defined by a motion.
std::optional<double> initial_distance(const Attachment& ends, const std::vector<BodySpec>& bodies) {
  std::vector<Pose> poses;
  for (const std::string& name : ends.bodies) {
    const auto body = std::ranges::find(bodies, name, &BodySpec::name);
    if (body != bodies.end() && !body->initial_state_from.empty()) return std::nullopt;
    poses.push_back(body == bodies.end() ? Pose{} : body->X_WB);
  }
  if (!ends.in_world) return (poses[0] * ends.points[0] - poses[1] * ends.points[1]).norm();
  return ends.second_point ? (*ends.second_point - ends.points[0]).norm() : 0.0;
}

}  // namespace

void check_line_length(const config::Field& place, double usual, const char* what, double length) {
  if (config::plausible_length(length, usual)) return;
  place.reject(fmt::format("{0} within reach of the initial poses, {1:.4g} m, from a {2:g}th to {2:g} times that", what,
                           length, config::unit_factor),
               fmt::format("{:.4g} m", usual), "a length is in another unit, or an end in the wrong body");
}

void check_ligament_length(const config::Field& line, const char* slack, const char* ends, double length) {
  const auto given = line.optional_number(slack);
  if (!given) {
    if (length > 0.0) return;
    line[ends].reject(fmt::format("distinct ends at the initial poses, or a `{}`", slack), "coincident ends",
                      "a strain cannot define a zero length");
  }
  const double strain = length / *given - 1.0;
  if (strain > usual_factor - 1.0) {
    line[ends].reject(
        fmt::format("insertions that strain the line by at most {:g} at the initial poses", usual_factor - 1.0),
        fmt::format("a strain of {:.3g}: {:.4g} m with the slack length {:.4g} m", strain, length, *given),
        "an insertion is in the wrong body, or a length in another unit");
  }
  check_line_length(line[slack], *given, "the slack length", length);
}

void check_ligament_ends(const config::Field& field, const Scenario& scenario) {
  const auto distance = initial_distance(config::read_attachment(field, scenario.bodies), scenario.bodies);
  if (distance) check_ligament_length(field, "length", "bodies", *distance);
}

LineElement read_line(const ElementSpec& spec, const Model& model) {
  const WorldFrames frames = world_frames(model, spec);
  const Ends ends = ends_at(model, spec, frames);
  const double strain = spec.keys.optional_number("reference_strain").value_or(0.0);
  const double initial = (frames.b.p - frames.a.p).norm();
  LineElement element{.name = spec.name,
                      .points = {{.point = {.body = ends.a.body, .p_BP = ends.a.X_BF.p, .wrap = {}}},
                                 {.point = {.body = ends.b.body, .p_BP = ends.b.X_BF.p, .wrap = {}}}},
                      .unstrained = spec.keys.optional_number("length").value_or(initial / (1.0 + strain)),
                      .damping = spec.keys["damping"].number()};
  if (element.unstrained > 0.0) return element;
  throw input_error(
      spec.keys.path(),
      fmt::format("{}: expected two different ends or a `length` > 0 [m], found coincident ends", spec.where));
}

Force line_force(LineElement element) {
  Force force{.name = element.name, .make = {}};
  force.make = [element = std::move(element)] { return std::make_unique<LineForce>(element); };
  return force;
}

LineForce::LineForce(LineElement element)
    : element_(std::move(element)),
      path_(element_.points, element_.surfaces),
      rates_(VectorX::Zero(static_cast<Eigen::Index>(path_.coordinates().size()))) {}

LineMotion LineForce::measure(const MotionState& at, bool curvature) const {
  const auto& coordinates = path_.coordinates();
  for (std::size_t i = 0; i < coordinates.size(); ++i) rates_[static_cast<Eigen::Index>(i)] = at.qd[coordinates[i]];
  // All of q: conditional points depend on coordinates of joints between other bodies, too.
  const bool is_known = line_q_.size() == at.q.size() && (has_curvature_ || !curvature) && line_q_ == at.q;
  if (!is_known) {
    line_q_.resize(0);
    try {
      path_.at(at.q, curvature, line_);
    } catch (const RecoverableError& error) {
      throw RecoverableError(fmt::format("forces.{}: {}", element_.name, error.what()));
    }
    line_q_ = at.q;
    has_curvature_ = curvature;
  }
  return {.t = at.t, .length = line_.length, .speed = line_.gradient.dot(rates_)};
}

std::string LineForce::check_initial_state(const MotionState& at) const {
  const double usual = element_.usual > 0.0 ? element_.usual : element_.unstrained;
  if (!element_.tension_only && !(element_.usual > 0.0)) return {};
  double length = 0.0;
  try {
    length = measure(at, false).length;
  } catch (const RecoverableError&) {
    return {};  // an undefined path is reported by add_forces()
  }
  if (length < usual_factor * usual && usual < usual_factor * length) return {};
  return fmt::format(
      "forces.{}: {:.4g} m long at the start, where {:.4g} m are usual ({}): a pose outside its normal range, a point "
      "in the wrong body, or a length in another unit",
      element_.name, length, usual, element_.usual > 0.0 ? "slack tendon and optimal fibre" : "its slack length");
}

LineForce::LineTension LineForce::pull(const LineMotion& at, const ConstVector& s) const {
  const double speed = at.speed;
  LineTension pull;
  pull.tension = element_.tension(at, s);
  double damping = element_.damping;
  double slope = 0.0;
  if (element_.tension_only) {
    // r^2 (3 - 2 r): value and slope vanish where the line is slack.
    const double full = full_damping_strain * element_.unstrained;
    const double r = std::clamp((line_.length - element_.unstrained) / full, 0.0, 1.0);
    slope = damping * 6.0 * r * (1.0 - r) / full;
    damping *= r * r * (3.0 - 2.0 * r);
  }
  pull.force = pull.tension.force + damping * speed;
  pull.by_length = pull.tension.stiffness + slope * speed;
  pull.by_speed = damping + pull.tension.by_speed;
  // A tension-only line whose damping exceeds its elastic force becomes slack: it does not push.
  if (element_.tension_only && pull.force < 0.0) pull.force = pull.by_length = pull.by_speed = 0.0;
  return pull;
}

void LineForce::add_forces(const MotionState& at, Eigen::Ref<VectorX> g, EnergyTerms& energy) {
  const LineMotion motion = measure(at, false);
  const LineTension p = pull(motion, at.s);
  const auto& coordinates = path_.coordinates();
  for (std::size_t i = 0; i < coordinates.size(); ++i)
    g[coordinates[i]] -= p.force * line_.gradient[static_cast<Eigen::Index>(i)];
  energy.potential += p.tension.energy;
  energy.dissipated_power += (p.force - p.tension.force) * motion.speed + p.tension.dissipated;
  if (element_.is_driven) energy.external_power -= p.tension.force * motion.speed;
}

void LineForce::add_tangents(const MotionState& at, SparseAssembler& K, SparseAssembler& C) {
  const auto& coordinates = path_.coordinates();
  if (!K.reads(coordinates)) {
    K.add_zeros(coordinates);
    C.add_zeros(coordinates);
    return;
  }
  const LineTension p = pull(measure(at, true), at.s);
  // Section 4 of docs/theory/multibody.md: the tension rotates with the line, which makes an element in tension stiff
  // in the transverse direction and one in compression unstable; d(dl/dt)/dq is l_qq times the rates.
  const VectorX speed_q = line_.hessian * rates_;
  for (std::size_t i = 0; i < coordinates.size(); ++i) {
    const auto row = static_cast<Eigen::Index>(i);
    const double l_i = line_.gradient[row];
    for (std::size_t j = 0; j < coordinates.size(); ++j) {
      const auto column = static_cast<Eigen::Index>(j);
      const double l_j = line_.gradient[column];
      K.add(coordinates[i], coordinates[j],
            -(p.by_length * l_i * l_j + p.force * line_.hessian(row, column) + p.by_speed * l_i * speed_q[column]));
      C.add(coordinates[i], coordinates[j], -p.by_speed * l_i * l_j);
    }
  }
}

std::vector<Column> LineForce::columns() const {
  const std::string& name = element_.name;
  std::vector<Column> columns = {{name + ".length_m", "m", "length of the path from end to end"},
                                 {name + ".rate_m_s", "m/s", "rate of the length, positive for lengthening"},
                                 {name + ".force_N", "N", "tension with damping, positive in tension"}};
  if (element_.tension_only) columns.push_back({name + ".strain", "-", "strain, negative while it is slack"});
  for (const Column& more : element_.more_columns) columns.push_back({name + more.name, more.unit, more.meaning});
  return columns;
}

void LineForce::append_values(const MotionState& at, std::vector<double>& row) const {
  const LineMotion motion = measure(at, false);
  row.insert(row.end(), {motion.length, motion.speed, pull(motion, at.s).force});
  if (element_.tension_only) row.push_back((motion.length - element_.unstrained) / element_.unstrained);
  if (element_.more_values) element_.more_values(motion, at.s, row);
}

void LineForce::start_states(const MotionState& at, Eigen::Ref<VectorX> s) const {
  element_.states.start(measure(at, false), s);
}

void LineForce::state_rates(const MotionState& at, Eigen::Ref<VectorX> f) const {
  element_.states.rates(measure(at, false), at.s, f);
}

void LineForce::state_tangents(const MotionState& at, StateTangents& tangents) const {
  LineStateTangents by;
  element_.states.tangents(measure(at, true), at.s, by);
  // States act on the bodies along the line only, g = -F l_q, and depend on length and rate only.
  const Eigen::RowVectorXd length_q = line_.gradient.transpose();
  tangents.g_s = -line_.gradient * by.force_s.transpose();
  tangents.f_q = by.f_length * length_q + by.f_speed * (line_.hessian * rates_).transpose();
  tangents.f_qd = by.f_speed * length_q;
  tangents.f_s = by.f_s;
}

void LineForce::add_activation_tangent(const MotionState& at, Eigen::Ref<VectorX> g_a) const {
  const double force_a = element_.activation->force_a(measure(at, false));
  const auto& coordinates = path_.coordinates();
  for (std::size_t i = 0; i < coordinates.size(); ++i)
    g_a[coordinates[i]] -= force_a * line_.gradient[static_cast<Eigen::Index>(i)];
}

std::vector<BodySpec> body_specs(const Model& model) {
  std::vector<BodySpec> bodies;
  for (const auto& body : model.bodies) bodies.push_back({.name = body.name, .X_WB = body.X_WB, .V_WB = {}});
  return bodies;
}

void check_path_coordinates(const config::LineSpec& line, const Scenario& scenario) {
  for (const auto& point : line.points) {
    if (!point.within.empty()) read_coordinate_name(line.keys["path"], point.within, scenario);
    for (const auto& move : point.moves) {
      if (move.f) read_coordinate_name(line.keys["path"], move.coordinate, scenario);
    }
  }
}

std::vector<MovingPoint> path_points(const config::LineSpec& line, const Model& model) {
  std::vector<MovingPoint> points;
  const std::string& where = line.keys.path();
  const auto coordinate = [&](const std::string& name, ScalarFunctionPtr f) {
    const CoordinateReference found = find_coordinate(model, name);
    return JointFunction{found.joint->map, found.coordinate, std::move(f)};
  };
  for (std::size_t i = 0; i < line.points.size(); ++i) {
    const config::LinePoint& spec = line.points[i];
    MovingPoint point{.point = {.body = find_body(model, spec.body, where), .p_BP = spec.point, .wrap = {}}};
    point.wraps = spec.wraps;
    for (std::size_t k = 0; k < 3; ++k) {
      if (spec.moves[k].f) point.moves[k] = coordinate(spec.moves[k].coordinate, spec.moves[k].f);
    }
    if (!spec.within.empty()) point.within = coordinate(spec.within, nullptr);
    point.range = spec.range;
    points.push_back(std::move(point));
  }
  return points;
}

std::vector<PathWrap> path_surfaces(const config::LineSpec& line, const Model& model) {
  std::vector<PathWrap> surfaces;
  for (const config::WrapSpec& spec : line.surfaces) {
    surfaces.push_back({.body = find_body(model, spec.body, line.keys.path()),
                        .X_BS = spec.X_BS,
                        .shape = spec.shape,
                        .one_segment = spec.one_segment});
  }
  return surfaces;
}

double initial_length(const config::LineSpec& line, const Model& model) {
  VectorX q(static_cast<Eigen::Index>(coordinates_per_body * model.bodies.size()));
  for (std::size_t i = 0; i < model.bodies.size(); ++i) {
    q.segment<coordinates_per_body>(static_cast<Eigen::Index>(coordinates_per_body * i)) =
        coordinates_from_pose(model.bodies[i].X_WB);
  }
  PathLength length;
  try {
    MovingPath(path_points(line, model), path_surfaces(line, model)).at(q, false, length);
  } catch (const RecoverableError& error) {
    throw input_error(line.keys.path(), line.keys.path() + ": at the initial poses " + error.what());
  }
  return length.length;
}

namespace {

class LineBundle final : public ForceElement {
 public:
  LineBundle(std::string name, const std::vector<LineElement>& lines) : name_(std::move(name)) {
    for (const auto& line : lines) lines_.push_back(std::make_unique<LineForce>(line));
  }

  [[nodiscard]] std::string name() const override { return name_; }
  void add_forces(const MotionState& at, Eigen::Ref<VectorX> g, EnergyTerms& energy) override {
    for (auto& line : lines_) line->add_forces(at, g, energy);
  }
  void add_tangents(const MotionState& at, SparseAssembler& K, SparseAssembler& C) override {
    for (auto& line : lines_) line->add_tangents(at, K, C);
  }
  [[nodiscard]] std::string check_initial_state(const MotionState& at) const override {
    std::string notes;
    for (const auto& line : lines_) {
      const std::string note = line->check_initial_state(at);
      if (!note.empty()) notes += (notes.empty() ? "" : "; ") + note;
    }
    return notes;
  }
  [[nodiscard]] std::vector<Column> columns() const override {
    std::vector<Column> columns = {{name_ + ".force_N", "N", "sum of the line tensions"}};
    for (const auto& line : lines_) {
      auto more = line->columns();
      std::move(more.begin(), more.end(), std::back_inserter(columns));
    }
    return columns;
  }
  void append_values(const MotionState& at, std::vector<double>& row) const override {
    const std::size_t total = row.size();
    row.push_back(0.0);
    for (const auto& line : lines_) {
      // The tension is the third column of a line.
      const std::size_t first = row.size();
      line->append_values(at, row);
      row[total] += row[first + 2];
    }
  }

 private:
  std::string name_;
  std::vector<std::unique_ptr<LineForce>> lines_;
};

}  // namespace

Force line_bundle(const std::string& name, std::vector<LineElement> lines) {
  Force force{.name = name, .make = {}};
  force.make = [name, lines = std::move(lines)] { return std::make_unique<LineBundle>(name, lines); };
  return force;
}

}  // namespace heelstrike::mbs
