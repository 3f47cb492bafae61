// Every joint and driver: all derivatives compared with differences, number of independent equations, remaining motion.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>

#include "common/errors/error.hpp"
#include "common/motion/motion_file.hpp"
#include "common/motion/scalar_function.hpp"
#include "mbs_server/elements/build_model.hpp"
#include "mbs_server/formulation/assembly.hpp"
#include "mbs_server/formulation/coordinate_map.hpp"
#include "mbs_server/formulation/driver_equations.hpp"
#include "mbs_server/formulation/system.hpp"
#include "tests/support/local_run.hpp"
#include "tests/support/random_vector.hpp"

namespace heelstrike::mbs {
namespace {

using test::random_vector;

Pose some_pose(std::mt19937& random) {
  std::uniform_real_distribution<double> u(-1.0, 1.0);
  return {.R = rotation_from_vector({u(random), u(random), u(random)}), .p = {u(random), u(random), u(random)}};
}

/// Three free bodies in general poses.
Model three_bodies() {
  std::mt19937 random(7);
  Model model;
  for (const char* name : {"first", "second", "third"}) {
    Body body{.name = name,
              .mass_properties = {.mass = 1.5, .center_of_mass = {0.1, -0.2, 0.05}, .inertia = Matrix3::Identity()},
              .X_WB = some_pose(random),
              .V_WB = {}};
    model.bodies.push_back(body);
  }
  return model;
}

std::string text_of(const Vector3& v) {
  return fmt::format("[{}, {}, {}]", v.x(), v.y(), v.z());
}

/// The scenario with three_bodies() and these further lines.
Scenario scenario_with(const Model& model, const std::string& sections) {
  std::string yaml = "heelstrike: 1\ngravity: [0, 0, 0]\nanalysis: {end_time: 1}\noutput: {interval: 1}\nbodies:\n";
  for (const Body& body : model.bodies) {
    const Quaternion q = quaternion_from_rotation(body.X_WB.R);
    yaml += fmt::format("  {}: {{mass: 1, inertia: [1, 1, 1], position: {}, orientation: [{}, {}, {}, {}]}}\n",
                        body.name, text_of(body.X_WB.p), q.w(), q.x(), q.y(), q.z());
  }
  return test::scenario_from(yaml + sections);
}

/// The section with one joint of `type`, "joint", satisfied by the initial poses.
std::string joint_text(const Model& model, const std::string& type, BodyIndex a, BodyIndex b,
                       const std::string& name = "joint") {
  const auto pose = [&](BodyIndex body) {
    return body == ground ? Pose{} : model.bodies[static_cast<std::size_t>(body)].X_WB;
  };
  const auto body_name = [&](BodyIndex body) {
    return body == ground ? std::string("ground") : model.bodies[static_cast<std::size_t>(body)].name;
  };
  const Pose X_WF{.R = rotation_from_vector({0.3, -0.8, 0.5}), .p = {0.2, 0.1, -0.3}};
  Pose X_WF_b = X_WF;
  if (type == "universal") X_WF_b.R = X_WF.R * rotation_from_vector({0.5 * M_PI, 0.0, 0.0});
  if (type == "distance") X_WF_b.p += Vector3(0.3, 0.4, 0.1);
  const Pose X_AF = pose(a).inverse() * X_WF;
  const Pose X_BF = pose(b).inverse() * X_WF_b;
  const bool has_axis = type != "spherical" && type != "distance" && type != "fixed";
  return fmt::format("  {}: {{type: {}, bodies: [{}, {}], points: [{}, {}]{}}}\n", name, type, body_name(a),
                     body_name(b), text_of(X_AF.p), text_of(X_BF.p),
                     has_axis ? fmt::format(", axes: [{}, {}]", text_of(X_AF.R.col(2)), text_of(X_BF.R.col(2))) : "");
}

Joint joint_between(const Model& model, const std::string& type, BodyIndex a, BodyIndex b) {
  return build_model(scenario_with(model, "joints:\n" + joint_text(model, type, a, b))).joints.at(0);
}

template <typename Add>
Eigen::MatrixXd dense(int rows, int cols, Add add) {
  SparseAssembler assembler(rows, cols);
  assembler.begin();
  add(assembler);
  assembler.end();
  return Eigen::MatrixXd(assembler.matrix());
}

/// Central differences of a function of one vector; error about (1e-5)^2 and 1e-16 / 1e-5.
template <typename F>
Eigen::MatrixXd difference(F f, const VectorX& x) {
  const double h = 1e-5;
  Eigen::MatrixXd J(f(x).size(), x.size());
  for (Eigen::Index i = 0; i < x.size(); ++i) {
    VectorX plus = x, minus = x;
    plus[i] += h;
    minus[i] -= h;
    J.col(i) = (f(plus) - f(minus)) / (2.0 * h);
  }
  return J;
}

/// All quantities used by the integrators, at coordinates that satisfy no constraint.
void expect_derivatives(const Constraint& c, const VectorX& q0, const std::string& what) {
  const auto n = static_cast<int>(q0.size());
  const double t = 0.3;
  const VectorX q = q0 + 0.02 * random_vector(n, 1);
  const VectorX qd = random_vector(n, 2);
  const VectorX qdd = random_vector(n, 3);
  const VectorX lambda = random_vector(c.rows(), 4);
  const auto phi = [&](double time, const VectorX& x) {
    VectorX r(c.rows());
    c.residual(time, x, r);
    return r;
  };
  const auto jacobian = [&](double time, const VectorX& x) {
    return dense(c.rows(), n, [&](SparseAssembler& J) { c.add_jacobian(time, x, 0, J); });
  };
  const auto gamma = [&](const VectorX& x, const VectorX& v) {
    VectorX r(c.rows());
    c.acceleration_rhs(t, x, v, r);
    return r;
  };
  const double tolerance = 2e-8;
  const Eigen::MatrixXd J = jacobian(t, q);
  EXPECT_LT((J - difference([&](const VectorX& x) { return phi(t, x); }, q)).cwiseAbs().maxCoeff(), tolerance) << what;

  const double h = 1e-5;
  VectorX nu(c.rows());
  c.velocity_rhs(t, q, nu);
  EXPECT_LT((nu + (phi(t + h, q) - phi(t - h, q)) / (2 * h)).cwiseAbs().maxCoeff(), tolerance) << what;

  // d2/dt2 of Phi along q(t) = q + qd s + qdd s^2/2 is Phi_q qdd - gamma.
  const double k = 1e-3;
  const auto along = [&](double s) { return phi(t + s, q + s * qd + 0.5 * s * s * qdd); };
  const VectorX second =
      (-along(2 * k) + 16 * along(k) - 30 * along(0.0) + 16 * along(-k) - along(-2 * k)) / (12 * k * k);
  EXPECT_LT((J * qdd - gamma(q, qd) - second).cwiseAbs().maxCoeff(), 1e-7) << what;

  const Eigen::MatrixXd K = dense(n, n, [&](SparseAssembler& A) { c.add_force_tangent(t, q, lambda, A); });
  EXPECT_LT((K - difference([&](const VectorX& x) { return VectorX(-jacobian(t, x).transpose() * lambda); }, q))
                .cwiseAbs()
                .maxCoeff(),
            tolerance)
      << what;

  const auto slip = [&](const VectorX& x) {
    VectorX rate(c.rows());
    c.velocity_rhs(t, x, rate);
    return VectorX(jacobian(t, x) * qd - rate);
  };
  const Eigen::MatrixXd V_q = dense(c.rows(), n, [&](SparseAssembler& A) { c.add_velocity_tangent(t, q, qd, 0, A); });
  EXPECT_LT((V_q - difference(slip, q)).cwiseAbs().maxCoeff(), tolerance) << what;

  SparseAssembler G_q(c.rows(), n), G_v(c.rows(), n);
  G_q.begin();
  G_v.begin();
  c.add_acceleration_tangents(t, q, qd, qdd, 0, G_q, G_v);
  G_q.end();
  G_v.end();
  const auto slope = [&](const VectorX& x) { return VectorX(gamma(x, qd) - jacobian(t, x) * qdd); };
  EXPECT_LT((Eigen::MatrixXd(G_q.matrix()) - difference(slope, q)).cwiseAbs().maxCoeff(), 5e-8) << what;
  EXPECT_LT((Eigen::MatrixXd(G_v.matrix()) - difference([&](const VectorX& v) { return gamma(q, v); }, qd))
                .cwiseAbs()
                .maxCoeff(),
            tolerance)
      << what;
}

struct JointDof {
  const char* type;
  int equations;
};
constexpr JointDof joint_freedoms[] = {{"spherical", 3},      {"revolute", 5}, {"cylindrical", 4}, {"prismatic", 5},
                                       {"universal", 4},      {"planar", 3},   {"fixed", 6},       {"point_on_line", 2},
                                       {"point_on_plane", 1}, {"distance", 1}};

TEST(Joints, AllDerivativesAreExactAndAllEquationsIndependent) {
  const Model model = three_bodies();
  const VectorX q0 = System(model).initial_q();
  for (const auto& [type, equations] : joint_freedoms) {
    for (const auto& [a, b] : {std::pair{0, 1}, std::pair{ground, 2}, std::pair{1, ground}}) {
      const Joint joint = joint_between(model, type, a, b);
      const auto constraint = joint.make(q0);
      EXPECT_EQ(constraint->rows(), equations) << type;
      VectorX phi(constraint->rows());
      constraint->residual(0.0, q0, phi);
      EXPECT_LT(phi.cwiseAbs().maxCoeff(), 1e-14) << type;
      expect_derivatives(*constraint, q0, type);
      System system(model);
      system.add_constraint(joint.make(q0));
      EXPECT_EQ(static_cast<int>(independent_rows(system.jacobian(0.0, q0)).size()), 18 + equations) << type;
    }
  }
}

TEST(Joints, GearDerivativesAreExact) {
  const Model model = three_bodies();
  const std::string joints = "joints:\n" + joint_text(model, "revolute", ground, 0, "first_wheel") +
                             joint_text(model, "revolute", 1, 2, "second_wheel") +
                             "  gear: {type: gear, joints: [first_wheel, second_wheel], teeth: [17, -40]}\n";
  const VectorX q0 = System(model).initial_q();
  const auto constraint = build_model(scenario_with(model, joints)).joints.at(2).make(q0);
  VectorX phi(1);
  constraint->residual(0.0, q0, phi);
  EXPECT_LT(std::abs(phi[0]), 1e-14);
  expect_derivatives(*constraint, q0, "gear");
}

/// A joint of type custom by its axes: the text of the file, and the same evaluated here.
struct CustomJoint {
  const char* what;
  std::string coordinates;  ///< of the file
  std::string axes;
  std::function<Pose()> pose;  ///< at the initial values
  int equations;
};

Matrix3 rotation(const Vector3& axis, double angle) {
  return rotation_from_vector(angle * axis.normalized());
}

/// As in knees, shoulders, hips and free bodies, about oblique axes too.
std::vector<CustomJoint> custom_joints() {
  const Vector3 oblique(0.78, 0.6, -0.12);
  const Vector3 x = Vector3::UnitX(), y = Vector3::UnitY(), z = Vector3::UnitZ();
  const auto axis = [](const Vector3& a, const std::string& rest) {
    return fmt::format("{{axis: {}{}}}", text_of(a), rest);
  };
  const auto of = [](const std::string& name, const std::string& f) {
    return fmt::format(", of: {{{}: {{{}}}}}", name, f);
  };
  const std::string spline = "spline: {x: [-2, -1, 0, 1, 2], y: [0.02, 0.04, -0.01, 0.03, 0.09]}";
  const auto along_spline = [](double u) {
    return make_table({-2, -1, 0, 1, 2}, {0.02, 0.04, -0.01, 0.03, 0.09}, Joining::spline)->at(u).f;
  };
  const auto three = [](const std::string& a, const std::string& b, const std::string& c) {
    return fmt::format("[{}, {}, {}]", a, b, c);
  };
  const std::string own = "polynomial: [0, 1]";
  const std::string shifts = three(axis(x, of("u", spline)), axis(y, ", constant: 0.1"), axis(z, ""));
  return {
      {"knee", "{u: {initial: 0.4}}",
       fmt::format("rotations: {}, translations: {}",
                   three(axis(oblique, of("u", own)), axis(y, of("u", "polynomial: [0.01, 0.02, -0.1]")), axis(x, "")),
                   shifts),
       [=] {
         return Pose{.R = rotation(oblique, 0.4) * rotation(y, 0.01 + 0.02 * 0.4 - 0.1 * 0.16),
                     .p = {along_spline(0.4), 0.1, 0.0}};
       },
       5},
      {"negative slope and offset", "{u: {initial: 2.9}}",
       fmt::format("rotations: {}, translations: {}",
                   three(axis(x, ""), axis(oblique, of("u", "polynomial: [0.3, -1]")), axis(z, ", constant: 0.2")),
                   shifts),
       [=] {
         return Pose{.R = rotation(oblique, 0.3 - 2.9) * rotation(z, 0.2), .p = {along_spline(2.9), 0.1, 0.0}};
       },
       5},
      {"two turns", "{u: {initial: 0.7}, v: {initial: 1.4}}",
       fmt::format(
           "rotations: {}, translations: {}",
           three(axis(x, of("v", "sine: {amplitude: 0.2}")), axis(oblique, of("u", own)), axis(z, of("v", own))),
           shifts),
       [=] {
         return Pose{.R = rotation(x, 0.2 * std::sin(1.4)) * rotation(oblique, 0.7) * rotation(z, 1.4),
                     .p = {along_spline(0.7), 0.1, 0.0}};
       },
       4},
      {"three turns", "{u: {initial: -0.7}, v: {initial: 0.3}, w: {initial: 2.5}}",
       fmt::format("rotations: {}, translations: {}",
                   three(axis(z, of("u", own)), axis(x, of("v", own)), axis(-y, of("w", own))), shifts),
       [=] {
         return Pose{.R = rotation(z, -0.7) * rotation(x, 0.3) * rotation(-y, 2.5),
                     .p = {along_spline(-0.7), 0.1, 0.0}};
       },
       3},
      {"planar", "{u: {initial: -0.7}, v: {initial: 0.3}, w: {initial: 2.5}}",
       fmt::format("rotations: {}, translations: {}", three(axis(z, of("u", own)), axis(x, ""), axis(y, "")),
                   three(axis(x, of("v", own)), axis(oblique, of("w", own)), axis(z, ", constant: 0.3"))),
       [=] { return Pose{.R = rotation(z, -0.7), .p = 0.3 * x + 2.5 * oblique.normalized() + 0.3 * z}; }, 3},
      {"slider", "{u: {initial: -0.7}}",
       fmt::format("translations: {}", three(axis(x, ""), axis(oblique, of("u", own)), axis(z, ", constant: 0.3"))),
       [=] { return Pose{.R = Matrix3::Identity(), .p = -0.7 * oblique.normalized() + 0.3 * z}; }, 5},
      {"free",
       "{u: {initial: -0.7}, v: {initial: 0.3}, w: {initial: 0.5}, a: {initial: 1}, b: {initial: 2}, c: {initial: 3}}",
       fmt::format("rotations: {}, translations: {}",
                   three(axis(z, of("u", own)), axis(x, of("v", own)), axis(y, of("w", own))),
                   three(axis(x, of("a", own)), axis(y, of("b", own)), axis(z, of("c", own)))),
       [=] {
         return Pose{.R = rotation(z, -0.7) * rotation(x, 0.3) * rotation(y, 0.5), .p = {1, 2, 3}};
       },
       0},
      {"ellipsoid", "{u: {initial: -0.7}, v: {initial: 0.3}, w: {initial: 0.5}}",
       fmt::format("ellipsoid: [0.1, 0.2, 0.3], rotations: {}",
                   three(axis(x, of("u", own)), axis(y, of("v", own)), axis(z, of("w", own)))),
       [=] {
         const Matrix3 R = rotation(x, -0.7) * rotation(y, 0.3) * rotation(z, 0.5);
         return Pose{.R = R, .p = R.col(2).cwiseProduct(Vector3(0.1, 0.2, 0.3))};
       },
       3},
  };
}

/// Moves body b to the pose of the joint. @returns the section `joints`
std::string move_to_custom_joint(const CustomJoint& custom, Model& model, BodyIndex a, BodyIndex b) {
  const Pose X_AF{.R = rotation_from_vector({0.3, -0.8, 0.5}), .p = {0.2, 0.1, -0.3}};
  const Pose X_BF{.R = rotation_from_vector({-0.6, 0.1, 1.5}), .p = {0.05, -0.1, 0.2}};
  const Pose X_AB = X_AF * custom.pose() * X_BF.inverse();
  const auto name = [&](BodyIndex body) { return body == ground ? "ground" : model.bodies.at(body).name; };
  if (b == ground) {
    model.bodies.at(a).X_WB = X_AB.inverse();
  } else {
    model.bodies.at(b).X_WB = (a == ground ? Pose{} : model.bodies.at(a).X_WB) * X_AB;
  }
  const auto quaternion_text = [](const Matrix3& R) {
    const Quaternion q = quaternion_from_rotation(R);
    return fmt::format("[{}, {}, {}, {}]", q.w(), q.x(), q.y(), q.z());
  };
  return fmt::format(
      "joints:\n  joint: {{type: custom, bodies: [{}, {}], points: [{}, {}], orientations: [{}, {}], coordinates: {}, "
      "{}}}\n",
      name(a), name(b), text_of(X_AF.p), text_of(X_BF.p), quaternion_text(X_AF.R), quaternion_text(X_BF.R),
      custom.coordinates, custom.axes);
}

TEST(CustomJoints, SatisfyTheirFunctionsWithExactDerivatives) {
  for (const CustomJoint& custom : custom_joints()) {
    for (const auto& [a, b] : {std::pair{0, 1}, std::pair{ground, 2}, std::pair{1, ground}}) {
      Model model = three_bodies();
      const std::string text = move_to_custom_joint(custom, model, a, b);
      const VectorX q0 = System(model).initial_q();
      const Joint joint = build_model(scenario_with(model, text)).joints.at(0);
      const auto constraint = joint.make(q0);
      ASSERT_EQ(constraint->rows(), custom.equations) << custom.what;
      const auto values = joint.map->values(q0);
      EXPECT_LT(values.head(custom.equations).norm(), 1e-13) << custom.what << values.transpose();
      for (std::size_t i = 0; i < joint.map->n(); ++i) {
        EXPECT_NEAR(values[custom.equations + static_cast<Eigen::Index>(i)], joint.map->transform().near[i], 1e-13)
            << custom.what;
      }
      EXPECT_TRUE(constraint->on_intended_branch(0.0, q0)) << custom.what;
      if (custom.equations > 0) expect_derivatives(*constraint, q0, custom.what);
      System system(model);
      system.add_constraint(joint.make(q0));
      EXPECT_EQ(static_cast<int>(independent_rows(system.jacobian(0.0, q0)).size()), 18 + custom.equations)
          << custom.what;
    }
  }
}

TEST(CustomJoints, CouplersAndDriversOfCoordinatesHaveExactDerivatives) {
  const auto customs = custom_joints();
  for (const std::size_t which : {0U, 2U, 3U, 6U}) {
    Model model = three_bodies();
    const std::string text =
        move_to_custom_joint(customs.at(which), model, 0, 1) +
        "  other: {type: custom, bodies: [ground, third], coordinates: {k: {initial: 0.2}}, rotations: [{axis: [0, 0, "
        "1], of: {k: {polynomial: [0, 1]}}}, {axis: [1, 0, 0]}, {axis: [0, 1, 0]}]}\n"
        "  coupler: {type: coupler, coordinate: k, constant: 0.1, of: {u: {spline: {x: [-3, -1, 0, 1, 3], y: [0, 0.1, "
        "0.3, 0.2, 1]}}}}\n"
        "drivers:\n  all: {coordinates: {u: {follows: {expression: 0.3*sin(2*t)}}" +
        std::string(which == 3 || which == 6
                        ? ", v: {follows: {polynomial: [0.2, 1]}}, w: {follows: {polynomial: [0, 0.1]}}"
                        : "") +
        (which == 6 ? ", a: {follows: {polynomial: [0.2, 1]}}" : "") + "}}\n";
    model.bodies[2].X_WB = {.R = rotation(Vector3::UnitZ(), 0.2), .p = Vector3::Zero()};
    const VectorX q0 = System(model).initial_q();
    const Model built = build_model(scenario_with(model, text));
    expect_derivatives(*built.joints.at(2).make(q0), q0, "coupler");
    ASSERT_EQ(built.drivers.size(), which == 6 ? 2U : 1U);
    for (const Driver& driver : built.drivers) {
      expect_derivatives(*driver.make(driver.coordinates), q0, driver.name + std::to_string(which));
    }
  }
}

TEST(Drivers, AllDerivativesAreExact) {
  const Model model = three_bodies();
  const std::string sections = "joints:\n" + joint_text(model, "cylindrical", 0, 1) +
                               "drivers:\n"
                               "  both: {joint: joint, angle: {expression: 0.3*sin(2*t) + 0.1*t^2}, displacement: "
                               "{expression: 0.3*sin(2*t) + 0.1*t^2}}\n"
                               "  pose: {body: third, y: {polynomial: [0.1, 0.3]}, rx: {expression: 0.3*sin(2*t)}, "
                               "ry: {polynomial: [0.1, -0.4, 0.7]}, rz: {polynomial: [-0.2, 1.1]}}\n";
  const VectorX q0 = System(model).initial_q();
  const auto drivers = build_model(scenario_with(model, sections)).drivers;
  ASSERT_EQ(drivers.size(), 4U);
  std::vector<int> rows;
  for (const Driver& driver : drivers) {
    const auto constraint = driver.make(driver.coordinates);
    rows.push_back(constraint->rows());
    expect_derivatives(*constraint, q0, driver.name);
  }
  EXPECT_EQ(rows, (std::vector<int>{1, 1, 1, 3})) << "angle, displacement, y, the three angles";
}

/// A body that moves and rotates smoothly about three axes; not normalised, like records between their rows.
BodyRecordPtr smooth_record(double phase) {
  auto record = std::make_shared<BodyRecord>();
  const auto shifted = [&](const char* text) { return make_expression(fmt::format(fmt::runtime(text), phase)); };
  record->position = {shifted("0.3*sin(2*t+{})"), shifted("0.1*t^2+{}"), shifted("0.2*cos(t-{})")};
  record->quaternion = {shifted("0.8+0.1*t*{}"), shifted("0.4*sin(t+{})"), shifted("0.3*cos(2*t+{})"),
                        shifted("0.2*t-{}")};
  return record;
}

TEST(Drivers, RecordedMotionHasExactDerivatives) {
  const Model model = three_bodies();
  const VectorX q0 = System(model).initial_q();
  for (const auto& [type, rows] : {std::pair{"revolute", 1}, {"prismatic", 1}, {"cylindrical", 2}, {"spherical", 3}}) {
    for (const auto& [a, b] : {std::pair{0, 1}, std::pair{ground, 2}, std::pair{1, ground}}) {
      const auto constraint =
          drive_recorded_joint("d", joint_between(model, type, a, b), a == ground ? nullptr : smooth_record(0.3),
                               b == ground ? nullptr : smooth_record(1.1));
      EXPECT_EQ(constraint->rows(), rows) << type;
      expect_derivatives(*constraint, q0, type);
    }
  }
  expect_derivatives(*drive_recorded_body("d", 2, smooth_record(0.5)), q0, "body");
}

TEST(TimeFunctions, MotionFilesAreRead) {
  const std::string mot =
      "Coordinates\nversion=1\ninDegrees=yes\nendheader\ntime\tknee\thip\n0.0\t1\t2\n 0.5\t+3e1\t4\r\n";
  EXPECT_EQ(motion_column(mot, "a.mot", "knee"), (std::vector<double>{1.0, 30.0}));
  EXPECT_EQ(motion_column("time, x\n0, 1\n1, -2\n", "a.csv", "x"), (std::vector<double>{1.0, -2.0}));
  const auto message = [](const std::string& text, const std::string& heading) -> std::string {
    try {
      (void)motion_column(text, "a.csv", heading);
    } catch (const Error& e) {
      return e.what();
    }
    return "no error";
  };
  EXPECT_NE(message("time,x\n0,1\n", "y").find("a.csv:1: expected a column 'y', found time, x"), std::string::npos);
  EXPECT_NE(message("time,x\n0,one\n", "x").find("a.csv:2: expected a number in column 'x', found 'one'"),
            std::string::npos);
  EXPECT_NE(message("time,x\n0\n", "x").find("a.csv:2: expected 2 entries"), std::string::npos);
}

TEST(TimeFunctions, DerivativesAreExact) {
  const double h = 1e-4;
  const std::vector<TimeFunctionPtr> functions = {
      make_expression("2*sin(3*t)^2 - exp(-t)/(1+t^2) + sqrt(t+1)*tanh(t) - -t^3 + log(2+t)*tan(t/3)"),
      make_expression("3*step(t, 0.1, 0.9) + abs(t-2) + 2^t + pi"),
      make_spline({0.0, 0.2, 0.5, 0.9, 1.0}, {0.0, 1.0, -0.5, 0.3, 0.8}, 3),
      make_spline({0.0, 0.2, 0.5, 0.9, 1.0}, {0.0, 1.0, -0.5, 0.3, 0.8}, 5), make_polynomial({1.0, 2.0, -3.0, 0.5})};
  for (std::size_t i = 0; i < functions.size(); ++i) {
    for (const double t : {0.15, 0.33, 0.61, 0.93}) {
      const Jet jet = functions[i]->at(t), plus = functions[i]->at(t + h), minus = functions[i]->at(t - h);
      const double scale = 1.0 + std::abs(jet.dd);
      EXPECT_NEAR(jet.d, (plus.f - minus.f) / (2 * h), 1e-4 * scale) << i << " at " << t;
      EXPECT_NEAR(jet.dd, (plus.d - minus.d) / (2 * h), 1e-3 * scale) << i << " at " << t;
    }
  }
  EXPECT_NEAR(functions[2]->at(0.5).f, -0.5, 1e-14);
  EXPECT_NEAR(functions[3]->at(0.9).f, 0.3, 1e-14);
}

}  // namespace
}  // namespace heelstrike::mbs
