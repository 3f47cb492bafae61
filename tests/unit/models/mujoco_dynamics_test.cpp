// Imported robots move as MuJoCo moves the same file: accelerations of all bodies at random states.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <mujoco/mujoco.h>

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <random>

#include "client/models/mjcf_model.hpp"
#include "client/models/urdf_model.hpp"
#include "mbs_server/elements/build_model.hpp"
#include "mbs_server/formulation/cartesian_coordinates.hpp"
#include "mbs_server/formulation/system.hpp"
#include "tests/support/local_run.hpp"
#include "tests/unit/models/models.hpp"

namespace heelstrike::client::models {
namespace {

namespace fs = std::filesystem;

/// A model compiled by MuJoCo, with a state.
class Reference {
 public:
  explicit Reference(const fs::path& file) {
    std::array<char, 1000> message{};
    model_ = mj_loadXML(file.c_str(), nullptr, message.data(), static_cast<int>(message.size()));
    if (model_ == nullptr) throw std::runtime_error(message.data());
    // Touching shapes, limits and dry friction are not imported.
    model_->opt.disableflags |= mjDSBL_CONSTRAINT;
    data_ = mj_makeData(model_);
  }
  ~Reference() {
    mj_deleteData(data_);
    mj_deleteModel(model_);
  }
  Reference(const Reference&) = delete;
  Reference& operator=(const Reference&) = delete;

  /// Any pose and any velocity; then everything that follows from them.
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

  /// MuJoCo 2.2 finds principal axes to seven digits only. What it read has to agree to six; then it gets them
  /// exactly.
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
    Matrix3 turned = principal.eigenvectors();
    if (turned.determinant() < 0.0) turned.col(0) *= -1.0;
    const Quaternion q(turned);
    moments = principal.eigenvalues();
    axes << q.w(), q.x(), q.y(), q.z();
    mj_setConst(model_, data_);
  }

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
  /// MuJoCo's accelerations are those of a world that falls upwards.
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
    // The states of the one are states of the other: the joints are the same.
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

TEST(MujocoDynamics, UrdfArmAcceleratesAsMujocoSays) {
  const test::ModelFolder folder("arm");
  const fs::path file = folder.write("arm.urdf", test::arm_urdf);
  const Import import = import_tree(read_urdf(test::arm_urdf, file, {}));
  const double difference = largest_difference(import, file, 4, true);
  EXPECT_LT(difference, 1e-9);
  RecordProperty("difference_1e_12", std::to_string(difference * 1e12));
}

TEST(MujocoDynamics, MjcfAcceleratesAsMujocoSays) {
  const test::ModelFolder folder("joints");
  const fs::path file = folder.write("joints.xml", test::joints_mjcf);
  const Import import = import_tree(read_mjcf(file));
  const double difference = largest_difference(import, file, 9, false);
  EXPECT_LT(difference, 1e-9);
  RecordProperty("difference_1e_12", std::to_string(difference * 1e12));
}

}  // namespace
}  // namespace heelstrike::client::models
