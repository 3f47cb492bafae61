#include <algorithm>
#include <array>
#include <utility>

#include "mbs_server/elements/forces/force_type.hpp"
#include "mbs_server/formulation/joint_equations.hpp"
#include "scenario/schema/keys.hpp"

namespace heelstrike::mbs {
namespace {

struct BushingElement {
  std::string name;
  JointSide a, b;
  Matrix6 K = Matrix6::Zero();  ///< [N m/rad, N/m] rotations, then displacements
  Matrix6 C = Matrix6::Zero();  ///< [N m s/rad, N s/m]
};

std::vector<QuadraticEquation> deformations(const JointSide& a, const JointSide& b) {
  const auto axis = [](const JointSide& side, int k) { return body_direction(side.body, side.X_BF.R.col(k)); };
  const AffineVector p = body_point(b.body, b.X_BF.p) - body_point(a.body, a.X_BF.p);
  std::vector<QuadraticEquation> forms;
  for (int i = 0; i < 3; ++i) {
    // a_i . 1/2 sum_k a_k x b_k = 1/2 (a_k . b_j - a_j . b_k) with (i, j, k) cyclic: the sine of a pure rotation
    // about a_i.
    const int j = (i + 1) % 3;
    const int k = (i + 2) % 3;
    forms.push_back(sum_of(dot_equation(axis(a, k), axis(b, j), 0.5), dot_equation(axis(a, j), axis(b, k), 0.5), -1.0));
  }
  for (int i = 0; i < 3; ++i) forms.push_back(dot_equation(axis(a, i), p));
  return forms;
}

/// Bushing: six deformations e(q), three rotations and three displacements of frame b against frame a in the axes of
/// a, and generalised forces -E_q' (K e + C de/dt). Rotations are the components of 1/2 sum_k a_k x b_k (sin(theta)
/// times the axis), displacements are a_i . p_AB: all quadratic in q, so that energy and tangents are exact at any
/// size; for small rotations K is the usual 6x6 stiffness [rotations; displacements].
class Bushing final : public ForceElement {
 public:
  explicit Bushing(BushingElement element) : element_(std::move(element)) {
    const auto forms = deformations(element_.a, element_.b);
    for (const auto& form : forms) {
      for (const auto& term : form.quadratic) indices_.insert(indices_.end(), {term.i, term.j});
      for (const auto& term : form.linear) indices_.push_back(term.i);
    }
    std::ranges::sort(indices_);
    indices_.erase(std::unique(indices_.begin(), indices_.end()), indices_.end());
    const auto n = static_cast<Eigen::Index>(indices_.size());
    const auto place = [&](int i) { return std::ranges::lower_bound(indices_, i) - indices_.begin(); };
    for (const auto& form : forms) {
      VectorX b = VectorX::Zero(n);
      Eigen::MatrixXd H = Eigen::MatrixXd::Zero(n, n);
      for (const auto& term : form.linear) b[place(term.i)] += term.b;
      for (const auto& term : form.quadratic) {
        // e = const + b'x + x'Hx/2 in the coordinates involved; every derivative follows from b and H.
        H(place(term.i), place(term.j)) += term.c;
        H(place(term.j), place(term.i)) += term.c;
      }
      constants_.push_back(form.constant);
      linear_.push_back(std::move(b));
      hessians_.push_back(std::move(H));
    }
  }

  [[nodiscard]] std::string name() const override { return element_.name; }

  void add_forces(const MotionState& at, Eigen::Ref<VectorX> g, EnergyTerms& energy) override {
    const State s = state(at.q, at.qd);
    const VectorX generalized = s.E_q.transpose() * s.force;
    g(indices_) -= generalized;
    energy.potential += 0.5 * s.e.dot(element_.K * s.e);
    // e'Ke/2 has the gradient E_q' K e because K is symmetric; only the symmetric part of C dissipates.
    energy.dissipated_power += s.rate.dot(element_.C * s.rate);
  }

  void add_tangents(const MotionState& at, SparseAssembler& K, SparseAssembler& C) override {
    const State s = state(at.q, at.qd);
    // Material part, and below the geometric one, -force_i times the second derivatives of e_i.
    Eigen::MatrixXd by_q = -s.E_q.transpose() * (element_.K * s.E_q + element_.C * s.E_q_rate);
    for (std::size_t i = 0; i < 6; ++i) by_q -= s.force[static_cast<Eigen::Index>(i)] * hessians_[i];
    K.add_dense(indices_, by_q);
    C.add_dense(indices_, -s.E_q.transpose() * element_.C * s.E_q);
  }

  [[nodiscard]] std::vector<Column> columns() const override {
    struct Group {
      const char* quantity;
      const char* suffix;
      const char* unit;
      const char* meaning;
    };
    constexpr std::array<Group, 4> groups = {
        {{"turn", "_rad", "rad", "rotation of b against a, in the axes of a; sin(angle) times the axis"},
         {"shift", "_m", "m", "displacement of b against a, in the axes of a"},
         {"torque", "_Nm", "N m", "load of the bushing on b conjugate to the rotation, in the axes of a"},
         {"force", "_N", "N", "force of the bushing on b, in the axes of a"}}};
    std::vector<Column> columns;
    for (const Group& group : groups) {
      for (const char* axis : {"_x", "_y", "_z"}) {
        columns.push_back({element_.name + "." + group.quantity + axis + group.suffix, group.unit, group.meaning});
      }
    }
    return columns;
  }

  void append_values(const MotionState& at, std::vector<double>& row) const override {
    const State s = state(at.q, at.qd);
    row.insert(row.end(), s.e.begin(), s.e.end());
    for (const double load : s.force) row.push_back(-load);
  }

 private:
  struct State {
    Vector6 e, rate, force;
    Eigen::MatrixXd E_q;       ///< 6 x local
    Eigen::MatrixXd E_q_rate;  ///< 6 x local, d(de/dt)/dq
  };

  [[nodiscard]] State state(const ConstVector& q, const ConstVector& qd) const {
    const VectorX x = q(indices_);
    const VectorX v = qd(indices_);
    State s;
    s.E_q.resize(6, x.size());
    s.E_q_rate.resize(6, x.size());
    for (std::size_t i = 0; i < 6; ++i) {
      const auto row = static_cast<Eigen::Index>(i);
      const VectorX Hx = hessians_[i] * x;
      s.e[row] = constants_[i] + linear_[i].dot(x) + 0.5 * x.dot(Hx);
      s.E_q.row(row) = (linear_[i] + Hx).transpose();
      s.E_q_rate.row(row) = (hessians_[i] * v).transpose();
    }
    // Exact, because e does not depend on time explicitly.
    s.rate = s.E_q * v;
    s.force = element_.K * s.e + element_.C * s.rate;
    return s;
  }

  BushingElement element_;
  std::vector<int> indices_;
  std::vector<double> constants_;
  std::vector<VectorX> linear_;
  std::vector<Eigen::MatrixXd> hessians_;
};

Matrix6 read_matrix6(const config::Field& field) {
  const auto values = field.numbers();
  if (values.size() == 6) return Eigen::Map<const Vector6>(values.data()).asDiagonal();
  Matrix6 matrix = Eigen::Map<const Eigen::Matrix<double, 6, 6, Eigen::RowMajor>>(values.data());
  if ((matrix - matrix.transpose()).cwiseAbs().maxCoeff() > 1e-9 * matrix.cwiseAbs().maxCoeff()) {
    field.reject("a symmetric matrix", "another", "an elastic bushing has a potential: make it symmetric");
  }
  return matrix;
}

Force build_bushing(const ElementSpec& spec, const Model& model) {
  WorldFrames frames = world_frames(model, spec);
  frames.a.R = frames.b.R = Matrix3::Identity();
  const Ends ends = ends_at(model, spec, frames);
  BushingElement element{.name = spec.name, .a = ends.a, .b = ends.b, .K = read_matrix6(spec.keys["stiffness_matrix"])};
  if (spec.keys.has("damping_matrix")) element.C = read_matrix6(spec.keys["damping_matrix"]);
  return {.name = spec.name, .make = [element] { return std::make_unique<Bushing>(element); }};
}

}  // namespace

ForceType bushing() {
  ForceType type;
  type.name = "bushing";
  type.meaning = "elastic connection of two bodies in all six directions, in axes of the world at the initial poses";
  type.keys = config::attachment_keys({.point_meaning = "centre of the bushing, in the world at the initial poses"});
  type.keys.push_back(config::required(
      config::number_list("stiffness_matrix", "N m/rad, N/m", config::stiffness_entries,
                          "6 diagonal or 36 entries by rows, order rotations x y z, displacements x y z", {6, 36})));
  type.keys.push_back(config::number_list("damping_matrix", "N m s/rad, N s/m", config::stiffness_entries,
                                          "as stiffness_matrix; default 0", {6, 36}));
  type.check = [](const config::Field& field, const Scenario& /*scenario*/) {
    for (const char* key : {"stiffness_matrix", "damping_matrix"}) {
      if (field.has(key)) (void)read_matrix6(field[key]);
    }
  };
  type.build = build_bushing;
  return type;
}

}  // namespace heelstrike::mbs
