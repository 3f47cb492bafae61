// Imported robots have the accelerations of MuJoCo for the same file, of all bodies at random states.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <mujoco/mujoco.h>

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <random>
#include <string_view>

#include "common/errors/error.hpp"
#include "importers/robots/mjcf_model.hpp"
#include "importers/robots/urdf_model.hpp"
#include "mbs_server/elements/build_model.hpp"
#include "mbs_server/formulation/cartesian_coordinates.hpp"
#include "mbs_server/formulation/system.hpp"
#include "tests/support/local_run.hpp"
#include "tests/unit/importers/models.hpp"

namespace heelstrike::models {
namespace {

namespace fs = std::filesystem;

/// A model compiled by MuJoCo, with a state.
class Reference {
 public:
  explicit Reference(const fs::path& file) {
    std::array<char, 1000> message{};
    model_ = mj_loadXML(file.c_str(), nullptr, message.data(), static_cast<int>(message.size()));
    if (model_ == nullptr) throw std::runtime_error(message.data());
    // Contact shapes, limits and dry friction are not imported.
    model_->opt.disableflags |= mjDSBL_CONSTRAINT;
    data_ = mj_makeData(model_);
  }
  ~Reference() {
    mj_deleteData(data_);
    mj_deleteModel(model_);
  }
  Reference(const Reference&) = delete;
  Reference& operator=(const Reference&) = delete;

  /// Any pose and any velocity; then all dependent quantities.
  void move(std::mt19937& random) {
    std::uniform_real_distribution<double> number(-1.0, 1.0);
    mj_resetData(model_, data_);
    std::vector<double> step(static_cast<std::size_t>(model_->nv));
    for (double& x : step) x = number(random);
    mj_integratePos(model_, data_->qpos, step.data(), 1.0);
    for (int i = 0; i < model_->nv; ++i) data_->qvel[i] = number(random);
    mj_forward(model_, data_);
    mj_rnePostConstraint(model_, data_);
  }

  /// MuJoCo 2.2 finds principal axes to seven digits only. Its values have to agree to six; then they are replaced by
  /// the exact ones.
  void sharpen(const BodySpec& ours) {
    const int b = body(ours.name);
    Eigen::Map<Vector3> moments(model_->body_inertia + 3 * b);
    Eigen::Map<Eigen::Vector4d> axes(model_->body_iquat + 4 * b);
    const Matrix3 R = Quaternion(axes[0], axes[1], axes[2], axes[3]).toRotationMatrix();
    const Matrix3 theirs = R * moments.asDiagonal() * R.transpose();
    EXPECT_LT((theirs - ours.inertia).norm(), 1e-6 * ours.inertia.norm()) << ours.name;
    EXPECT_NEAR(model_->body_mass[b], ours.mass, 1e-12 * ours.mass) << ours.name;
    EXPECT_LT((Eigen::Map<const Vector3>(model_->body_ipos + 3 * b) - ours.center_of_mass).norm(), 1e-14) << ours.name;
    const Eigen::SelfAdjointEigenSolver<Matrix3> principal(ours.inertia);
    Matrix3 rotated = principal.eigenvectors();
    if (rotated.determinant() < 0.0) rotated.col(0) *= -1.0;
    const Quaternion q(rotated);
    moments = principal.eigenvalues();
    axes << q.w(), q.x(), q.y(), q.z();
    mj_setConst(model_, data_);
  }

  [[nodiscard]] const mjModel& model() const { return *model_; }
  [[nodiscard]] double q(int joint) const { return data_->qpos[model_->jnt_qposadr[joint]]; }
  [[nodiscard]] double coordinate(int i) const { return data_->qpos[i]; }
  [[nodiscard]] double rate(int joint) const { return data_->qvel[model_->jnt_dofadr[joint]]; }
  [[nodiscard]] int body(const std::string& name) const { return mj_name2id(model_, mjOBJ_BODY, name.c_str()); }
  [[nodiscard]] Pose pose(int b) const {
    return {.R = Eigen::Map<const Eigen::Matrix<double, 3, 3, Eigen::RowMajor>>(data_->xmat + 9 * b),
            .p = Eigen::Map<const Vector3>(data_->xpos + 3 * b)};
  }
  [[nodiscard]] Twist velocity(int b) const {
    Vector6 v;
    mj_objectVelocity(model_, data_, mjOBJ_XBODY, b, v.data(), 0);
    return {.w = v.head<3>(), .v = v.tail<3>()};
  }
  /// MuJoCo's accelerations are those of a world that accelerates upwards.
  [[nodiscard]] Twist acceleration(int b) const {
    Vector6 a;
    mj_objectAcceleration(model_, data_, mjOBJ_XBODY, b, a.data(), 0);
    return {.w = a.head<3>(), .v = a.tail<3>() + Eigen::Map<const Vector3>(model_->opt.gravity)};
  }

 private:
  mjModel* model_ = nullptr;
  mjData* data_ = nullptr;
};

/// Largest difference of accelerations [rad/s^2, m/s^2] of all bodies over random states, relative to the largest one.
double largest_difference(const Import& import, const fs::path& file, std::size_t bodies, bool sharpen) {
  const Scenario scenario = test::scenario_from(import.scenario);
  EXPECT_EQ(scenario.bodies.size(), bodies);
  const mbs::Model model = mbs::build_model(scenario);
  mbs::System system(model);
  Reference reference(file);
  for (const auto& body : scenario.bodies) {
    if (sharpen) reference.sharpen(body);
  }
  std::mt19937 random(7);
  double worst = 0.0, largest = 0.0;
  for (int state = 0; state < 20; ++state) {
    reference.move(random);
    mbs::VectorX q(system.n_q()), qd(system.n_q());
    for (std::size_t i = 0; i < scenario.bodies.size(); ++i) {
      const int b = reference.body(scenario.bodies[i].name);
      EXPECT_GT(b, 0) << scenario.bodies[i].name;
      const auto at = static_cast<Eigen::Index>(12 * i);
      q.segment<12>(at) = mbs::coordinates_from_pose(reference.pose(b));
      qd.segment<12>(at) = mbs::rates_from_twist(reference.pose(b), reference.velocity(b));
    }
    // The states of one are states of the other: the joints are equal.
    EXPECT_LT(system.violation(0.0, q, qd).position, 1e-12);
    EXPECT_LT(system.violation(0.0, q, qd).velocity, 1e-11);
    const mbs::VectorX y = system.start_y(0.0, q, qd);
    const mbs::VectorX qdd = system.accelerations(system.state(0.0, y)).qdd;
    for (std::size_t i = 0; i < scenario.bodies.size(); ++i) {
      const auto at = static_cast<Eigen::Index>(12 * i);
      const Vector6 ours =
          mbs::acceleration_from_rates(q.segment<12>(at), qd.segment<12>(at), qdd.segment<12>(at)).vector();
      const Vector6 theirs = reference.acceleration(reference.body(scenario.bodies[i].name)).vector();
      worst = std::max(worst, (ours - theirs).lpNorm<Eigen::Infinity>());
      largest = std::max(largest, theirs.lpNorm<Eigen::Infinity>());
    }
  }
  EXPECT_GT(largest, 1.0);  // something moves
  return worst / largest;
}

TEST(MujocoDynamics, UrdfArmAccelerationsEqualMujoco) {
  const test::ModelFolder folder("arm");
  const fs::path file = folder.write("arm.urdf", test::arm_urdf);
  const Import import = import_tree(read_urdf(test::arm_urdf, file, test::urdf_options()));
  const double difference = largest_difference(import, file, 4, true);
  EXPECT_LT(difference, 1e-9);
  RecordProperty("difference_1e_12", std::to_string(difference * 1e12));
}

TEST(MujocoDynamics, MjcfAccelerationsEqualMujoco) {
  const test::ModelFolder folder("joints");
  const fs::path file = folder.write("joints.xml", test::joints_mjcf);
  const Import import = import_tree(test::mjcf(file));
  const double difference = largest_difference(import, file, 9, false);
  EXPECT_LT(difference, 1e-9);
  RecordProperty("difference_1e_12", std::to_string(difference * 1e12));
}

/// Content left to MuJoCo's compiler: classes, angles in every form, shapes of every kind, solid and hollow, by density
/// and by mass, meshes, groups, several bodies without joints.
constexpr const char* compiled_mjcf = R"(<mujoco model="compiled">
  <compiler angle="radian" eulerseq="zYx" inertiagrouprange="0 2"/>
  <default><geom density="500"/>
    <default class="heavy"><geom density="4000" type="capsule"/><default class="cap"><geom size="0.25 0.5"/></default></default>
    <default class="ring"><joint axis="1 0 1" damping="0.5"/></default></default>
  <asset><mesh name="wedge" vertex="0 0 0  1 0 0  0 2 0  0 0 0.5" scale="0.5 0.25 -1" refpos="0.25 0 0.5" refquat="0.5 0.5 -0.5 0.5"/>
    <mesh name="hull" vertex="0 0 0  1 0 0  0 2 0  0 0 0.5  1 2 0.5  0.25 0.5 0.25"/></asset>
  <worldbody>
    <body name="a" pos="1 2 3" euler="0.3 -0.4 0.5" childclass="heavy"><freejoint/>
      <geom class="cap"/><geom fromto="0 0 0 0.5 0.25 1" size="0.125"/><geom type="box" fromto="0 0 0 0 1 1" size="0.125"/>
      <geom type="sphere" size="0.5" group="3"/><geom type="sphere" size="0.25" mass="2"/>
      <body name="b" pos="0 0 1" axisangle="1 2 3 0.7">
        <geom type="cylinder" size="0.25 0.5" quat="1 2 3 4"/>
        <body name="c" pos="0 1 0" xyaxes="1 1 0 0 1 0.5"><joint class="ring"/>
          <inertial pos="0.1 0.2 0.3" mass="3" diaginertia="0.5 0.25 0.375" euler="0.1 0.2 0.3"/><geom type="box" size="1 1 1"/></body>
      </body></body>
    <body name="d" zaxis="1 0 2"><joint type="slide" axis="0 2 0"/><geom type="ellipsoid" size="0.25 0.5 0.125" pos="0.5 0 0"/>
      <geom type="mesh" mesh="wedge" mass="8" pos="0 0.5 0" euler="0.1 0 0"/></body>
    <body name="e"><joint type="ball"/><geom type="mesh" mesh="hull" mass="2.5"/></body>
    <body name="f"><joint/><inertial pos="0 0 0" mass="1" fullinertia="0.5 0.5 0.625 0.0625 0.03125 -0.125"/></body>
    <body name="i"><joint/><geom type="box" mesh="wedge"/></body><body name="j"><joint/><geom type="capsule" mesh="hull"/></body>
  </worldbody></mujoco>)";

TEST(MujocoCompiler, PosesMassesAndInertiasEqualMujoco) {
  const test::ModelFolder folder("compiled");
  const fs::path file = folder.write("compiled.xml", compiled_mjcf);
  const TreeModel ours = test::mjcf(file);
  const Reference reference(file);
  const mjModel& theirs = reference.model();
  ASSERT_EQ(ours.links.size() + 1, static_cast<std::size_t>(theirs.nbody));
  for (std::size_t i = 0; i < ours.links.size(); ++i) {
    const Link& link = ours.links[i];
    const int b = reference.body(link.name);
    ASSERT_EQ(b, static_cast<int>(i) + 1) << link.name;
    const double* q = theirs.body_quat + 4 * b;
    EXPECT_LT((link.X_PL.R - Quaternion(q[0], q[1], q[2], q[3]).toRotationMatrix()).norm(), 1e-14) << link.name;
    EXPECT_LT((link.X_PL.p - Eigen::Map<const Vector3>(theirs.body_pos + 3 * b)).norm(), 1e-14) << link.name;
    ASSERT_TRUE(link.mass.has_value());
    // MuJoCo moves and scales meshes in single precision, which leaves a few roundings.
    const bool single = std::string_view("deij").find(link.name) != std::string_view::npos;
    const double exact = single ? 1e-6 : 1e-13;
    EXPECT_NEAR(link.mass->mass, theirs.body_mass[b], exact * theirs.body_mass[b]) << link.name;
    EXPECT_LT((link.mass->center_of_mass - Eigen::Map<const Vector3>(theirs.body_ipos + 3 * b)).norm(), exact)
        << link.name;
    const double* p = theirs.body_iquat + 4 * b;
    const Matrix3 R = Quaternion(p[0], p[1], p[2], p[3]).toRotationMatrix();
    const Matrix3 inertia = R * Eigen::Map<const Vector3>(theirs.body_inertia + 3 * b).asDiagonal() * R.transpose();
    // MuJoCo 2.2 finds principal axes to seven digits.
    EXPECT_LT((link.mass->inertia - inertia).norm(), 1e-6 * inertia.norm()) << link.name;
    EXPECT_NEAR(link.mass->inertia.trace(), inertia.trace(), 10.0 * exact * inertia.trace()) << link.name;
  }
}

/// A foot with two skew axes, like that of MuJoCo's humanoid: a chain with a light body between.
TEST(MujocoDynamics, JointChainAccelerationsEqualMujoco) {
  const test::ModelFolder folder("chain");
  const fs::path file =
      folder.write("chain.xml", R"(<mujoco><compiler angle="radian"/><option gravity="0.3 0 -9.7"/><worldbody>
    <body name="shin" pos="0 0 1"><joint name="knee" axis="0 1 0"/><geom type="capsule" size="0.05 0.2" pos="0 0 -0.2"/>
      <body name="foot" pos="0 0 -0.4" euler="0.2 0.1 0"><joint name="ankle_y" axis="0 1 0" pos="0 0 0.08" stiffness="6" damping="0.2"/>
        <joint name="ankle_x" axis="1 0 0.5" pos="0 0 0.04" stiffness="3" damping="0.3" springref="0.2"/>
        <geom type="box" size="0.1 0.04 0.02" pos="0.05 0 0"/></body></body></worldbody></mujoco>)");
  const TreeModel tree = test::mjcf(file);
  const Scenario scenario = test::scenario_from(import_tree(tree).scenario);
  ASSERT_EQ(scenario.bodies.size(), 3u);
  ASSERT_EQ(scenario.bodies[1].name, "foot_ankle_y");
  EXPECT_EQ(scenario.forces.size(), 2u);
  const mbs::Model model = mbs::build_model(scenario);
  mbs::System system(model);
  Reference reference(file);
  const int shin = reference.body("shin"), foot = reference.body("foot");
  const JointDof& first = tree.links[1].dofs[0];
  std::mt19937 random(3);
  for (int state = 0; state < 20; ++state) {
    reference.move(random);
    // Between the joints: rotated about the first axis relative to the shin.
    const Pose X_WS = reference.pose(shin);
    const Vector3 anchor = X_WS * (tree.links[1].X_PL * first.point);
    Pose between{.R = X_WS.R * tree.links[1].X_PL.R * rotation_from_vector(reference.q(1) * first.axis), .p = {}};
    between.p = anchor - between.R * first.point;
    const Twist V_S = reference.velocity(shin);
    const Vector3 w = V_S.w + reference.rate(1) * (between.R * first.axis);
    const Twist V = {.w = w, .v = point_velocity(V_S, anchor - X_WS.p) + w.cross(between.p - anchor)};
    mbs::VectorX q(36), qd(36);
    q << mbs::coordinates_from_pose(X_WS), mbs::coordinates_from_pose(between),
        mbs::coordinates_from_pose(reference.pose(foot));
    qd << mbs::rates_from_twist(X_WS, V_S), mbs::rates_from_twist(between, V),
        mbs::rates_from_twist(reference.pose(foot), reference.velocity(foot));
    EXPECT_LT(system.violation(0.0, q, qd).position, 1e-12);
    EXPECT_LT(system.violation(0.0, q, qd).velocity, 1e-11);
    const mbs::VectorX qdd = system.accelerations(system.state(0.0, system.start_y(0.0, q, qd))).qdd;
    for (const auto& [body, at] : {std::pair(shin, 0), std::pair(foot, 24)}) {
      const Vector6 ours =
          mbs::acceleration_from_rates(q.segment<12>(at), qd.segment<12>(at), qdd.segment<12>(at)).vector();
      const Vector6 theirs = reference.acceleration(body).vector();
      // The body between has 1e-9 of the foot's mass and of its largest moment, which is 5.8 times the smallest one.
      EXPECT_LT((ours - theirs).norm(), 1e-8 * theirs.norm());
    }
  }
}

/// A keyframe moves all links as in MuJoCo, and joints remain in place.
TEST(MujocoDynamics, KeyframesEqualMujoco) {
  const test::ModelFolder folder("key");
  std::string text = test::joints_mjcf;
  const std::string key = R"(<key name="rest" time="0"/>)";
  const fs::path plain_file = folder.write("plain.xml", text);
  Reference reference(plain_file);
  std::mt19937 random(5);
  reference.move(random);
  std::string q;
  for (int i = 0; i < reference.model().nq; ++i) q += fmt::format("{} ", reference.coordinate(i));
  text.replace(text.find(key), key.size(), "<key name='rest' qpos='" + q + "'/>");
  const fs::path file = folder.write("key.xml", text);
  const Scenario scenario = test::scenario_from(import_tree(test::mjcf(file, "rest")).scenario);
  mbs::System system(mbs::build_model(scenario));
  mbs::VectorX all(system.n_q());
  for (std::size_t i = 0; i < scenario.bodies.size(); ++i) {
    const Pose theirs = reference.pose(reference.body(scenario.bodies[i].name));
    EXPECT_LT((scenario.bodies[i].X_WB.p - theirs.p).norm(), 1e-13) << scenario.bodies[i].name;
    EXPECT_LT((scenario.bodies[i].X_WB.R - theirs.R).norm(), 1e-13) << scenario.bodies[i].name;
    all.segment<12>(static_cast<Eigen::Index>(12 * i)) = mbs::coordinates_from_pose(theirs);
  }
  EXPECT_LT(system.violation(0.0, all, mbs::VectorX::Zero(all.size())).position, 1e-12);
  EXPECT_THROW((void)test::mjcf(file, "jump"), Error);
}

}  // namespace
}  // namespace heelstrike::models
