#include "mbs_server/elements/forces/coordinate_force.hpp"

#include <utility>

#include "mbs_server/elements/attachment.hpp"
#include "scenario/schema/keys.hpp"

namespace heelstrike::mbs {
namespace {

class CoordinateForce final : public ForceElement {
 public:
  CoordinateForce(std::string name, CoordinateMapPtr map, std::size_t coordinate, CoordinateForceLaw law)
      : name_(std::move(name)),
        rotates_(map->is_rotation(coordinate)),
        u_(joint_coordinates(std::move(map), {coordinate})),
        law_(std::move(law)) {}

  [[nodiscard]] std::string name() const override { return name_; }
  /// g = F u_q: virtual work F du.
  void add_forces(const MotionState& at, Eigen::Ref<VectorX> g, EnergyTerms& energy) override {
    const At now = look(at);
    g(u_->indices()) += now.law.force * now.along.f.row(0).transpose();
    energy.potential += now.law.energy;
    energy.dissipated_power -= now.law.damping * now.rate;
  }
  void add_tangents(const MotionState& at, SparseAssembler& K, SparseAssembler& C) override {
    const At now = look(at);
    const Eigen::RowVectorXd u_q = now.along.f.row(0);
    const Eigen::RowVectorXd by_q = now.law.by_value * u_q + now.law.by_rate * now.along.d.row(0);
    K.add_dense(u_->indices(),
                u_q.transpose() * by_q + u_->weighted_hessian(at.q, VectorX::Constant(1, now.law.force)));
    C.add_dense(u_->indices(), now.law.by_rate * u_q.transpose() * u_q);
  }
  [[nodiscard]] std::vector<Column> columns() const override {
    const std::string unit = rotates_ ? "rad" : "m";
    return {{name_ + ".value_" + unit, unit, "value of the coordinate"},
            {name_ + ".rate_" + unit + "_s", unit + "/s", "rate of the coordinate"},
            {name_ + (rotates_ ? ".torque_Nm" : ".force_N"), rotates_ ? "N m" : "N", "force on the coordinate"}};
  }
  void append_values(const MotionState& at, std::vector<double>& row) const override {
    const At now = look(at);
    row.insert(row.end(), {now.value, now.rate, now.law.force});
  }

 private:
  struct At {
    GradientsAlong along;
    double value = 0.0, rate = 0.0;
    CoordinateLaw law;
  };
  [[nodiscard]] At look(const MotionState& at) const {
    At now;
    u_->gradients(at.q, at.qd, VectorX::Zero(at.q.size()), now.along);
    now.value = u_->values(at.q)[0];
    now.rate = now.along.f.row(0).dot(local(*u_, at.qd));
    now.law = law_(now.value, now.rate);
    return now;
  }

  std::string name_;
  bool rotates_;
  MotionFunctionsPtr u_;
  CoordinateForceLaw law_;
};

}  // namespace

config::KeySchema coordinate_key() {
  return config::required(config::text("coordinate", "name of a coordinate of a custom joint"));
}

void check_coordinate(const config::Field& field, const Scenario& scenario) {
  read_coordinate_name(field["coordinate"], field["coordinate"].text(), scenario);
}

Force coordinate_force(const ElementSpec& spec, const Model& model, CoordinateForceLaw law) {
  const CoordinateReference found = find_coordinate(model, spec.keys["coordinate"].text());
  return {.name = spec.name,
          .make = [name = spec.name, map = found.joint->map, coordinate = found.coordinate, law = std::move(law)] {
            return std::make_unique<CoordinateForce>(name, map, coordinate, law);
          }};
}

}  // namespace heelstrike::mbs
