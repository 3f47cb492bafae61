#include "common/config/sections/sections.hpp"

#include <fmt/format.h>
#include <algorithm>

#include "common/config/keys.hpp"

namespace heelstrike::config {

namespace {

KeyUse force_keys_of(const Field& field) {
  const std::string& type = field["type"].text();
  if (type == "torsional_spring") return {.needed = {"joint", "stiffness"}, .allowed = {"damping", "neutral"}};
  KeyUse use{.needed = {"bodies"}, .allowed = {}};
  if (type == "bushing") {
    use.needed.emplace_back("stiffness_matrix");
    use.allowed = {"damping_matrix"};
  } else {
    use.needed.emplace_back("stiffness");
    use.allowed = {"damping", "length"};
    if (type != "spring_damper") use.allowed.emplace_back("reference_strain");
    if (type == "ligament_toe") use.allowed.emplace_back("toe_strain");
  }
  if (field.has("points")) {
    use.needed.emplace_back("points");
  } else {
    use.needed.emplace_back("point");
    if (type != "bushing") use.needed.emplace_back("second_point");
  }
  return use;
}

Matrix6 read_matrix6(const Field& field) {
  const auto values = field.numbers();
  if (values.size() == 6) return Eigen::Map<const Vector6>(values.data()).asDiagonal();
  Matrix6 matrix = Eigen::Map<const Eigen::Matrix<double, 6, 6, Eigen::RowMajor>>(values.data());
  if ((matrix - matrix.transpose()).cwiseAbs().maxCoeff() > 1e-9 * matrix.cwiseAbs().maxCoeff()) {
    field.refuse("a symmetric matrix", "another", "an elastic bushing has an energy: make it symmetric");
  }
  return matrix;
}

}  // namespace

KeySchema force_keys() {
  return {
      .name = "forces",
      .kind = KeyKind::named,
      .meaning = "springs, ligaments and bushings by name",
      .keys = {
          {.name = "type",
           .kind = KeyKind::text,
           .meaning = "kind of element",
           .required = true,
           .choices = {"spring_damper", "ligament_quadratic", "ligament_toe", "torsional_spring", "bushing"}},
          text_list("bodies", "[a, b], names of two bodies or `ground`"),
          number_list("point", "m", coordinates,
                      "the end on a (bushing: its centre), in the world at the initial poses", {3}),
          number_list("second_point", "m", coordinates, "the end on b, in the world at the initial poses", {3}),
          vector3_list("points", "m", coordinates, "the ends, one in the frame of each body"),
          text("joint", "torsional_spring: a revolute or cylindrical joint"),
          number(
              "stiffness", "N/m, N m/rad, N", stiffnesses,
              "slope of the force; ligament_quadratic: force at strain 1, F = stiffness strain^2; ligament_toe: slope "
              "of the linear part"),
          number("damping", "N s/m, N m s/rad", stiffnesses, "damping; 0 when not given"),
          number("length", "m", lengths, "unstrained length; that of the initial poses when not given"),
          number("reference_strain", "-", {.min = -1.0, .max = 10.0, .min_excluded = true},
                 "ligaments without `length`: strain at the initial poses"),
          number("toe_strain", "-", strains,
                 "ligament_toe: half the strain at which the linear part begins; 0.03 when not given"),
          number("neutral", "rad", angles, "torsional_spring: angle without torque; 0 when not given"),
          number_list("stiffness_matrix", "N m/rad, N/m", stiffness_entries,
                      "bushing: 6 diagonal or 36 entries by rows, order turns x y z, displacements x y z", {6, 36}),
          number_list("damping_matrix", "N m s/rad, N s/m", stiffness_entries, "bushing: likewise; 0 when not given",
                      {6, 36}),
      }};
}

ForceSpec read_force(const Field& field, const Scenario& scenario) {
  ForceSpec force{.name = field.name(), .type = field["type"].text()};
  force.where = place_of(field);
  check_keys(field, force.type, force_keys_of(field), {"type"});
  force.k = field.optional_number("stiffness").value_or(0.0);
  force.c = field.optional_number("damping").value_or(0.0);
  force.neutral = field.optional_number("neutral").value_or(0.0);
  force.toe_strain = field.optional_number("toe_strain").value_or(force.toe_strain);
  force.reference_strain = field.optional_number("reference_strain").value_or(0.0);
  if (field.has("stiffness_matrix")) force.K = read_matrix6(field["stiffness_matrix"]);
  if (field.has("damping_matrix")) force.C = read_matrix6(field["damping_matrix"]);
  if (field.has("joint")) {
    force.joint = field["joint"].text();
    const auto joint = std::ranges::find(scenario.joints, force.joint, &JointSpec::name);
    if (joint == scenario.joints.end() || (joint->type != "revolute" && joint->type != "cylindrical")) {
      field["joint"].refuse("the name of a revolute or cylindrical joint", fmt::format("'{}'", excerpt(force.joint)),
                            "name one of `joints`");
    }
    return force;
  }
  force.ends.bodies = read_joint_bodies(field["bodies"], scenario.bodies);
  force.ends.in_world = !field.has("points");
  force.ends.length = field.optional_number("length");
  if (!force.ends.in_world) {
    force.ends.points = read_two(field["points"], false);
  } else {
    force.ends.points = {field["point"].vector3()};
    if (field.has("second_point")) force.ends.second_point = field["second_point"].vector3();
  }
  return force;
}

}  // namespace heelstrike::config
