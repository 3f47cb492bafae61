#include "fem_server/backends/fem_condensed/friction_contact.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "common/errors/error.hpp"
#include "fem_server/backends/fem_condensed/compliance_product.hpp"

namespace heelstrike::fem {

namespace {

using Tangents = Eigen::Matrix<double, 3, 2>;

constexpr int iteration_limit = 120;
/// Newton's method takes 3 to 10 iterations where it converges at all.
constexpr int newton_patience = 20;
constexpr int sweeps_per_rescue = 200;
/// Of the largest penetration; the equations are solved to rounding, this only has to be above it.
constexpr double tolerance = 1e-10;

Tangents tangent_basis(const Vector3& n) {
  Tangents T;
  T.col(0) = n.unitOrthogonal();
  T.col(1) = n.cross(T.col(0));
  return T;
}

/// One Newton iterate on all near nodes; inactive ones carry no force.
class Iterate {
 public:
  Iterate(const SurfaceCompliance& compliance, const FrictionProblem& problem)
      : compliance_(compliance), problem_(problem) {
    const std::size_t n = problem.near.nodes.size();
    lambda_.assign(n, 0.0);
    traction_.assign(n, Eigen::Vector2d::Zero());
    for (std::size_t i = 0; i < n; ++i) {
      tangents_.push_back(tangent_basis(problem.near.normals[i]));
      const auto C = compliance.block(problem.near.nodes[i], problem.near.nodes[i]);
      rho_.push_back(2.0 / (tangents_[i].transpose() * C * tangents_[i]).trace());
    }
    active_ = problem.first_active;
    for (std::size_t a = 0; a < active_.size(); ++a) {
      lambda_[active_[a]] = problem.first_lambda[static_cast<Eigen::Index>(a)];
      traction_[active_[a]] = tangents_[active_[a]].transpose() * problem.first_traction[a];
    }
    for (const double gap : problem.near.gaps) scale_ = std::max(scale_, -gap);
  }

  /// Gap and slip under the present forces; then nodes that penetrate join and nodes that pull leave.
  /// @return whether the active set has changed
  bool update() {
    NodeFields<1> forces(static_cast<Eigen::Index>(3 * active_.size()));
    std::vector<std::uint32_t> columns;
    for (std::size_t a = 0; a < active_.size(); ++a) {
      const std::uint32_t i = active_[a];
      columns.push_back(problem_.near.nodes[i]);
      forces.segment<3>(static_cast<Eigen::Index>(3 * a)) =
          lambda_[i] * problem_.near.normals[i] + tangents_[i] * traction_[i];
    }
    const NodeFields<1> u = displacement<1>(compliance_, problem_.near.nodes, columns, forces);
    gamma_.resize(lambda_.size());
    slip_.resize(lambda_.size());
    for (std::size_t i = 0; i < lambda_.size(); ++i) {
      const Vector3 own = u.segment<3>(static_cast<Eigen::Index>(3 * i));
      gamma_[i] = problem_.near.gaps[i] + problem_.near.normals[i].dot(own);
      slip_[i] = tangents_[i].transpose() * (problem_.positions[i] + own - problem_.anchors[i].p_AP);
    }
    std::vector<std::uint32_t> next;
    for (std::uint32_t i = 0; i < lambda_.size(); ++i) {
      const bool was = std::binary_search(active_.begin(), active_.end(), i);
      const bool is = was ? lambda_[i] > 0.0 : gamma_[i] < -tolerance * scale_;
      if (is) {
        next.push_back(i);
      } else {
        lambda_[i] = 0.0;
        traction_[i].setZero();
      }
    }
    const bool changed = next != active_;
    active_ = std::move(next);
    return changed;
  }

  [[nodiscard]] bool slides(std::uint32_t i) const { return trial(i).norm() > problem_.friction * lambda_[i]; }
  [[nodiscard]] Eigen::Vector2d trial(std::uint32_t i) const { return traction_[i] - rho_[i] * slip_[i]; }

  /// Largest error [m] of the equations of the active nodes.
  [[nodiscard]] double error() const {
    double largest = 0.0;
    for (const std::uint32_t i : active_) {
      largest = std::max({largest, std::abs(gamma_[i]), equation(i).norm()});
    }
    return largest;
  }

  /// Tangential equation in metres: slip, or the distance of the traction from the cone divided by rho.
  [[nodiscard]] Eigen::Vector2d equation(std::uint32_t i) const {
    const Eigen::Vector2d v = trial(i);
    const double bound = problem_.friction * lambda_[i];
    if (v.norm() <= bound) return slip_[i];
    return (traction_[i] - bound / v.norm() * v) / rho_[i];
  }

  /// Gap and slip of the active nodes by their own forces, in their local axes.
  [[nodiscard]] Eigen::MatrixXd compliance_matrix() const {
    const auto m = static_cast<Eigen::Index>(active_.size());
    Eigen::MatrixXd J(3 * m, 3 * m);
    std::vector<Matrix3> frames;
    for (const std::uint32_t i : active_)
      frames.push_back((Matrix3() << problem_.near.normals[i], tangents_[i]).finished());
    for (Eigen::Index b = 0; b < m; ++b) {
      const std::uint32_t node_b = problem_.near.nodes[active_[static_cast<std::size_t>(b)]];
      for (Eigen::Index a = 0; a < m; ++a) {
        const std::uint32_t node_a = problem_.near.nodes[active_[static_cast<std::size_t>(a)]];
        J.block<3, 3>(3 * a, 3 * b) = frames[static_cast<std::size_t>(a)].transpose() *
                                      compliance_.block(node_a, node_b) * frames[static_cast<std::size_t>(b)];
      }
    }
    return J;
  }

  [[nodiscard]] Eigen::MatrixXd jacobian() const {
    Eigen::MatrixXd J = compliance_matrix();
    for (std::size_t a = 0; a < active_.size(); ++a) slide_rows(active_[a], static_cast<Eigen::Index>(a), J);
    return J;
  }

  /// Derivative of the projection on the disc with respect to its argument v. Away from the solution the traction takes
  /// the place of one v, cut to the disc: this keeps the matrix stable for any iterate [hueber2008, section 5].
  [[nodiscard]] Eigen::Matrix2d sliding_projector(std::uint32_t i) const {
    const Eigen::Vector2d v = trial(i);
    const double length = v.norm();
    const double bound = problem_.friction * std::max(lambda_[i], 0.0);
    const double size = traction_[i].norm();
    const Eigen::Vector2d on_disc = size > bound ? Eigen::Vector2d(bound / size * traction_[i]) : traction_[i];
    return (bound * Eigen::Matrix2d::Identity() - on_disc * v.transpose() / length) / length;
  }

  /// Projected Gauss-Seidel on the active nodes: slow, but every sweep comes nearer; a better start where Newton
  /// cycles.
  void sweep(int n_sweeps) {
    const Eigen::MatrixXd B = compliance_matrix();
    const auto m = static_cast<Eigen::Index>(active_.size());
    Eigen::VectorXd state(3 * m);
    for (Eigen::Index a = 0; a < m; ++a) {
      const std::uint32_t i = active_[static_cast<std::size_t>(a)];
      state.segment<3>(3 * a) << gamma_[i], slip_[i];
    }
    for (int sweep = 0; sweep < n_sweeps; ++sweep) {
      for (Eigen::Index a = 0; a < m; ++a) {
        const std::uint32_t i = active_[static_cast<std::size_t>(a)];
        const double lambda = std::max(0.0, lambda_[i] - state[3 * a] / B(3 * a, 3 * a));
        state += (lambda - lambda_[i]) * B.col(3 * a);
        lambda_[i] = lambda;
        const double stiffness = 1.0 / std::max(B(3 * a + 1, 3 * a + 1), B(3 * a + 2, 3 * a + 2));
        Eigen::Vector2d traction = traction_[i] - stiffness * state.segment<2>(3 * a + 1);
        const double bound = problem_.friction * lambda;
        if (traction.norm() > bound) traction *= bound / traction.norm();
        state += B.middleCols<2>(3 * a + 1) * (traction - traction_[i]);
        traction_[i] = traction;
      }
    }
  }

  void step(const DenseLu& lu) {
    Eigen::MatrixXd rhs(static_cast<Eigen::Index>(3 * active_.size()), 1);
    for (std::size_t a = 0; a < active_.size(); ++a) {
      const auto row = static_cast<Eigen::Index>(3 * a);
      rhs(row, 0) = -gamma_[active_[a]];
      rhs.block<2, 1>(row + 1, 0) = -equation(active_[a]);
    }
    lu.solve(rhs);
    for (std::size_t a = 0; a < active_.size(); ++a) {
      const auto row = static_cast<Eigen::Index>(3 * a);
      lambda_[active_[a]] += rhs(row, 0);
      traction_[active_[a]] += rhs.block<2, 1>(row + 1, 0);
    }
  }

  [[nodiscard]] const std::vector<std::uint32_t>& active() const { return active_; }
  [[nodiscard]] double scale() const { return scale_; }

  void store(FrictionContact& result) const {
    result.active = active_;
    result.lambda.resize(static_cast<Eigen::Index>(active_.size()));
    for (std::size_t a = 0; a < active_.size(); ++a) {
      const std::uint32_t i = active_[a];
      result.lambda[static_cast<Eigen::Index>(a)] = lambda_[i];
      result.sliding.push_back(slides(i));
      result.tangents.push_back(tangents_[i]);
      result.traction.emplace_back(tangents_[i] * traction_[i]);
      result.slip.emplace_back(tangents_[i] * slip_[i]);
      result.rho.push_back(rho_[i]);
    }
    result.residual = scale_ > 0.0 ? error() / scale_ : 0.0;
  }

 private:
  /// Replaces the rows of a sliding node, which hold d slip / d forces, by those of its projection equation.
  void slide_rows(std::uint32_t i, Eigen::Index a, Eigen::MatrixXd& J) const {
    if (!slides(i)) return;
    const Eigen::Vector2d v = trial(i);
    const Eigen::Matrix2d P = sliding_projector(i);
    const Eigen::MatrixXd dslip = J.middleRows<2>(3 * a + 1);
    J.middleRows<2>(3 * a + 1) = P * dslip;
    J.block<2, 2>(3 * a + 1, 3 * a + 1) += (Eigen::Matrix2d::Identity() - P) / rho_[i];
    J.block<2, 1>(3 * a + 1, 3 * a) -= problem_.friction / rho_[i] * v.normalized();
  }

  const SurfaceCompliance& compliance_;
  const FrictionProblem& problem_;
  std::vector<std::uint32_t> active_;
  std::vector<double> lambda_;
  std::vector<Eigen::Vector2d> traction_;
  std::vector<Tangents> tangents_;
  std::vector<double> rho_;
  std::vector<double> gamma_;
  std::vector<Eigen::Vector2d> slip_;
  double scale_ = 0.0;
};

}  // namespace

FrictionContact solve_friction_contact(const SurfaceCompliance& compliance, const FrictionProblem& problem) {
  FrictionContact result;
  Iterate iterate(compliance, problem);
  double error = 0.0;
  for (result.iterations = 1; result.iterations <= iteration_limit; ++result.iterations) {
    const bool changed = iterate.update();
    error = iterate.error();
    if (iterate.active().empty()) return result;
    if (!result.jacobian.factorize(iterate.jacobian())) {
      throw RecoverableError("the friction solver met a singular system; take a smaller step");
    }
    if (!changed && error <= tolerance * iterate.scale()) {
      iterate.store(result);
      return result;
    }
    if (result.iterations % newton_patience == 0) {
      iterate.sweep(sweeps_per_rescue);
    } else {
      iterate.step(result.jacobian);
    }
  }
  throw RecoverableError(
      fmt::format("the friction solver did not converge in {} iterations (error {} m at a penetration of "
                  "{} m); take a smaller step",
                  iteration_limit, error, iterate.scale()));
}

NodeDerivatives friction_derivatives(const SurfaceCompliance& compliance, const FrictionProblem& problem,
                                     const FrictionContact& contact, std::span<const std::uint32_t> candidates,
                                     const std::vector<TouchingNode>& nodes, std::span<const Matrix36> by_rotation,
                                     const Vector3& p_AB) {
  const auto m = static_cast<Eigen::Index>(nodes.size());
  Eigen::MatrixXd rhs(3 * m, 6);
  for (std::size_t a = 0; a < nodes.size(); ++a) {
    const auto row = static_cast<Eigen::Index>(3 * a);
    const Anchor& anchor = problem.anchors[contact.active[a]];
    const Vector3 off = nodes[a].x + nodes[a].u - anchor.p_AP;
    Matrix36 moved = by_rotation[a] - anchor.dp_dX;
    moved.leftCols<3>() += skew(off);
    // The tangent plane of a curved partner turns with the place of contact too.
    const Vector3& n = nodes[a].surface.normal;
    Matrix36 bending = normal_rotation(nodes[a], p_AB);
    bending.leftCols<3>() += skew(n);
    moved -= n.dot(off) * bending;
    Eigen::Matrix<double, 2, 6> dslip = contact.tangents[a].transpose() * moved;
    if (contact.sliding[a]) {
      const Eigen::Vector2d v =
          contact.tangents[a].transpose() * (contact.traction[a] - contact.rho[a] * contact.slip[a]);
      const double bound = problem.friction * contact.lambda[static_cast<Eigen::Index>(a)];
      dslip = bound / v.norm() * (dslip - v * (v.transpose() * dslip) / v.squaredNorm()).eval();
    }
    rhs.row(row) = gap_wrench(nodes[a], p_AB).transpose() - nodes[a].surface.normal.transpose() * by_rotation[a];
    rhs.middleRows<2>(row + 1) = -dslip;
  }
  contact.jacobian.solve(rhs);
  NodeFields<8> forces = NodeFields<8>::Zero(3 * m, 8);
  NodeDerivatives derivatives;
  for (std::size_t a = 0; a < nodes.size(); ++a) {
    const auto row = static_cast<Eigen::Index>(3 * a);
    const Matrix36 by_traction = contact.tangents[a] * rhs.middleRows<2>(row + 1);
    forces.block<3, 6>(row, 0) = nodes[a].surface.normal * rhs.row(row) + by_traction;
    derivatives.lambda.emplace_back(rhs.row(row));
    derivatives.traction.emplace_back(by_traction + force_rotation(nodes[a], p_AB) -
                                      nodes[a].lambda * normal_rotation(nodes[a], p_AB));
  }
  const NodeFields<8> u = displacement<8>(compliance, candidates, candidates, forces);
  for (std::size_t a = 0; a < nodes.size(); ++a) {
    derivatives.u.emplace_back(u.block<3, 6>(static_cast<Eigen::Index>(3 * a), 0) + by_rotation[a]);
  }
  return derivatives;
}

}  // namespace heelstrike::fem
