#include "common/motion/body_record.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <optional>

#include "common/errors/error.hpp"
#include "common/motion/motion_file.hpp"

namespace heelstrike {
namespace {

using Columns = std::vector<std::vector<double>>;

/// A component of a body with the unit in the headings of a run.
struct Component {
  const char* name;
  const char* unit;
};
constexpr Component position_columns[] = {{"x", "_m"}, {"y", "_m"}, {"z", "_m"}};
constexpr Component quaternion_columns[] = {{"qw", ""}, {"qx", ""}, {"qy", ""}, {"qz", ""}};
constexpr Component twist_columns[] = {{"vx", "_m_s"},   {"vy", "_m_s"},   {"vz", "_m_s"},
                                       {"wx", "_rad_s"}, {"wy", "_rad_s"}, {"wz", "_rad_s"}};
constexpr Component acceleration_columns[] = {{"ax", "_m_s2"},       {"ay", "_m_s2"},       {"az", "_m_s2"},
                                              {"alphax", "_rad_s2"}, {"alphay", "_rad_s2"}, {"alphaz", "_rad_s2"}};

/// Heading of a component, with or without unit; with unit if neither exists.
std::string heading_of(const std::vector<std::string>& headings, const std::string& body, const Component& c) {
  const std::string plain = fmt::format("{}.{}", body, c.name);
  const std::string with_unit = plain + c.unit;
  const bool has_plain = std::ranges::find(headings, plain) != headings.end();
  return std::ranges::find(headings, with_unit) == headings.end() && has_plain ? plain : with_unit;
}

bool has_all(const std::vector<std::string>& headings, const std::string& body, std::span<const Component> group) {
  return std::ranges::all_of(group, [&](const Component& c) {
    return std::ranges::find(headings, heading_of(headings, body, c)) != headings.end();
  });
}

/// Rows of the table with the available derivatives.
struct Samples {
  std::vector<double> times;
  std::array<std::vector<Jet>, 7> values;  ///< position, quaternion
  bool has_rates = false;
  bool has_accelerations = false;
};

using Quad = std::array<double, 4>;

/// (0, w) * q, the product of quaternions.
Quad rotated(const std::array<double, 3>& w, const Quad& q) {
  return {-w[0] * q[1] - w[1] * q[2] - w[2] * q[3], w[0] * q[0] + w[1] * q[3] - w[2] * q[2],
          w[1] * q[0] + w[2] * q[1] - w[0] * q[3], w[2] * q[0] + w[0] * q[2] - w[1] * q[1]};
}

Quad unit_quaternion(const Columns& c, std::size_t row, const Quad* before, const std::string& where) {
  Quad q = {c[4][row], c[5][row], c[6][row], c[7][row]};
  const double length = std::sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
  if (!(std::abs(length - 1.0) <= 1e-6)) {
    throw input_error("file", fmt::format("{}: expected unit quaternions qw, qx, qy, qz, found one of length {} at t = "
                                          "{} s; divide them by their length",
                                          where, length, c[0][row]));
  }
  // q and -q are the same rotation; the one nearer to the preceding row gives a smooth curve.
  const double same =
      before == nullptr ? 1.0 : q[0] * (*before)[0] + q[1] * (*before)[1] + q[2] * (*before)[2] + q[3] * (*before)[3];
  for (double& e : q) e /= std::copysign(length, same);
  return q;
}

/// qd = 1/2 w q,  qdd = 1/2 alpha q + 1/2 w qd, with angular velocity and acceleration in the world.
std::array<Jet, 4> quaternion_jets(const Quad& q, const Columns& c, std::size_t row, const Samples& has) {
  Quad qd{}, qdd{};
  if (has.has_rates) {
    const std::array<double, 3> w = {c[11][row], c[12][row], c[13][row]};
    qd = rotated(w, q);
    for (double& e : qd) e *= 0.5;
    if (has.has_accelerations) {
      const Quad a = rotated({c[17][row], c[18][row], c[19][row]}, q);
      const Quad b = rotated(w, qd);
      for (std::size_t k = 0; k < 4; ++k) qdd[k] = 0.5 * (a[k] + b[k]);
    }
  }
  std::array<Jet, 4> jets;
  for (std::size_t k = 0; k < 4; ++k) jets[k] = {.f = q[k], .d = qd[k], .dd = qdd[k]};
  return jets;
}

Samples samples_of(const Columns& c, Samples samples, const std::string& where) {
  std::optional<Quad> before;
  for (std::size_t row = 0; row < c[0].size(); ++row) {
    if (row + 1 < c[0].size() && c[0][row + 1] == c[0][row]) continue;
    if (!samples.times.empty() && !(c[0][row] > samples.times.back())) {
      throw input_error("file", fmt::format("{}: expected increasing times [s], found {} after {}", where, c[0][row],
                                            samples.times.back()));
    }
    samples.times.push_back(c[0][row]);
    before = unit_quaternion(c, row, before ? &*before : nullptr, where);
    const auto quaternion = quaternion_jets(*before, c, row, samples);
    for (std::size_t k = 0; k < 3; ++k) {
      samples.values[k].push_back({.f = c[1 + k][row],
                                   .d = samples.has_rates ? c[8 + k][row] : 0.0,
                                   .dd = samples.has_accelerations ? c[14 + k][row] : 0.0});
    }
    for (std::size_t k = 0; k < 4; ++k) samples.values[3 + k].push_back(quaternion[k]);
  }
  if (samples.times.size() < 3) {
    throw input_error("file", fmt::format("{}: expected at least three rows, found {}", where, samples.times.size()));
  }
  return samples;
}

std::vector<double> parts(const std::vector<Jet>& jets, double Jet::*part) {
  std::vector<double> values;
  for (const Jet& jet : jets) values.push_back(jet.*part);
  return values;
}

TimeFunctionPtr joined(const std::vector<double>& times, std::vector<Jet> jets, const Samples& has) {
  if (!has.has_rates) return make_spline(times, parts(jets, &Jet::f), 5);
  if (!has.has_accelerations) {
    const auto rates = make_spline(times, parts(jets, &Jet::d), 5);
    for (std::size_t i = 0; i < times.size(); ++i) jets[i].dd = rates->at(times[i]).d;
  }
  return make_hermite(times, std::move(jets));
}

/// Difference of second derivatives from every second row and from all rows: the change by halving the spacing exceeds
/// the remaining error.
double differentiation_error(const std::vector<double>& times, const std::vector<Jet>& jets, const Samples& has,
                             const TimeFunction& fine) {
  if (has.has_accelerations || times.size() < 7) return 0.0;
  std::vector<double> coarse_times;
  std::vector<Jet> coarse_jets;
  for (std::size_t i = 0; i < times.size(); i += 2) {
    coarse_times.push_back(times[i]);
    coarse_jets.push_back(jets[i]);
  }
  const auto coarse = joined(coarse_times, std::move(coarse_jets), has);
  double worst = 0.0;
  for (const double t : coarse_times) worst = std::max(worst, std::abs(coarse->at(t).dd - fine.at(t).dd));
  return worst;
}

std::string time_heading(const std::vector<std::string>& headings, const std::string& given) {
  if (!given.empty()) return given;
  return std::ranges::find(headings, "time_s") != headings.end() ? "time_s" : "time";
}

}  // namespace

BodyRecordPtr read_body_record(std::string_view text, const std::string& file_name, const std::string& body,
                               const std::string& time_column) {
  const auto headings = motion_headings(text);
  std::vector<std::string> required_columns = {time_heading(headings, time_column)};
  const auto require_columns = [&](std::span<const Component> group) {
    for (const Component& c : group) required_columns.push_back(heading_of(headings, body, c));
  };
  Samples samples;
  samples.has_rates = has_all(headings, body, twist_columns);
  samples.has_accelerations = samples.has_rates && has_all(headings, body, acceleration_columns);
  require_columns(position_columns);
  require_columns(quaternion_columns);
  if (samples.has_rates) require_columns(twist_columns);
  if (samples.has_accelerations) require_columns(acceleration_columns);
  samples = samples_of(motion_columns(text, file_name, required_columns), std::move(samples), file_name);

  auto record = std::make_shared<BodyRecord>();
  record->body = body;
  for (std::size_t k = 0; k < 7; ++k) {
    const auto f = joined(samples.times, samples.values[k], samples);
    record->acceleration_error =
        std::max(record->acceleration_error, differentiation_error(samples.times, samples.values[k], samples, *f));
    (k < 3 ? record->position[k] : record->quaternion[k - 3]) = f;
  }
  return record;
}

}  // namespace heelstrike
