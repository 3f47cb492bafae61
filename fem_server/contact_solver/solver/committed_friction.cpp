#include "fem_server/contact_solver/solver/committed_friction.hpp"

#include <Eigen/Dense>
#include <numeric>
#include <utility>

#include "fem_server/contact_solver/solver/friction_linearisation.hpp"

namespace heelstrike::fem {

namespace {

Eigen::Index first_row(std::int64_t node) {
  return 3 * static_cast<Eigen::Index>(node);
}

std::vector<Matrix3> axes_of(std::span<const CommittedContactNode> nodes) {
  std::vector<Matrix3> axes;
  for (const CommittedContactNode& node : nodes) axes.push_back(node.axes);
  return axes;
}

std::vector<std::uint32_t> first_numbers(std::size_t n) {
  std::vector<std::uint32_t> numbers(n);
  std::iota(numbers.begin(), numbers.end(), 0U);
  return numbers;
}

}  // namespace

// Smooth in n away from -z [duff2017]: the axes of a node must be continuous between a committed and a current pose.
Matrix3 contact_axes(const Matrix3& R_AB, const Vector3& normal) {
  const Vector3 n = R_AB.transpose() * normal;
  const double sign = n.z() < 0.0 ? -1.0 : 1.0;
  const double a = -1.0 / (sign + n.z());
  const double b = n.x() * n.y() * a;
  Eigen::Matrix<double, 3, 2> T;
  T.col(0) << 1.0 + sign * n.x() * n.x() * a, sign * b, -sign * n.x();
  T.col(1) << b, sign + n.y() * n.y() * a, -n.y();
  Matrix3 axes;
  axes.col(0) = normal;
  axes.rightCols<2>() = R_AB * T;
  return axes;
}

CommittedFriction::CommittedFriction(const SurfaceCompliance& blocks, std::span<const CommittedContactNode> nodes)
    : axes_(axes_of(nodes)), B_(blocks, first_numbers(nodes.size()), axes_), place_(nodes.size(), -1) {
  std::vector<std::uint32_t> active;
  for (std::uint32_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i].force.isZero(0.0)) continue;
    place_[i] = static_cast<std::int32_t>(active.size());
    active.push_back(i);
  }
  const auto n = static_cast<std::int64_t>(active.size());
  inverse_.resize(first_row(n), first_row(n));
  for (std::int64_t j = 0; j < n; ++j) {
    const std::uint32_t column = active[static_cast<std::size_t>(j)];
    for (std::int64_t i = j; i < n; ++i) {
      const std::uint32_t row = active[static_cast<std::size_t>(i)];
      const Matrix3 block = axes_[row].transpose() * (blocks.block(row, column) * axes_[column]);
      inverse_.block<3, 3>(first_row(i), first_row(j)) = block.cast<float>();
    }
  }
  valid_ = invert_in_place(inverse_);
}

CommittedInverse::CommittedInverse(const CommittedFriction& committed, const std::vector<NodeLinearisation>& nodes)
    : committed_(committed), nodes_(nodes) {
  Eigen::Index n = 0;
  for (std::uint32_t i = 0; i < nodes.size(); ++i) {
    const std::int32_t place = committed.place_[i];
    if (place < 0 || nodes[i].sticks()) continue;
    ChangedNode& changed = changed_.emplace_back();
    changed.node = i;
    changed.first = first_row(place);
    changed.at = n;
    changed.n_rows = nodes[i].active ? 2 : 3;
    changed.S_minus_one = -Eigen::Matrix3f::Identity();
    changed.E.setIdentity();
    if (nodes[i].active) {
      changed.S_minus_one += nodes[i].S.cast<float>();
      changed.E = nodes[i].E.cast<float>();
    }
    n += changed.n_rows;
  }
  X_.resize(committed.inverse_.rows(), n);
  Eigen::MatrixXf K(n, n);
  for (const ChangedNode& of : changed_) {
    for (Eigen::Index k = 0; k < of.n_rows; ++k) {
      X_.col(of.at + k) = committed.inverse_.col(of.first + 3 - of.n_rows + k);
      const float* column = X_.col(of.at + k).data();
      for (const ChangedNode& row : changed_) {
        const float* own = column + row.first;
        for (Eigen::Index a = 0; a < row.n_rows; ++a) {
          const Eigen::Index r = 3 - row.n_rows + a;
          K(row.at + a, of.at + k) = (row.E(r, 0) * own[0] + row.E(r, 1) * own[1]) + row.E(r, 2) * own[2];
        }
      }
    }
    K.block(of.at, of.at, of.n_rows, of.n_rows) += of.S_minus_one.bottomRightCorner(of.n_rows, of.n_rows) +
                                                   Eigen::Matrix3f::Identity().bottomRightCorner(of.n_rows, of.n_rows);
  }
  valid_ = capacitance_.factorize(std::move(K));
}

Eigen::MatrixXd CommittedInverse::solve(const Eigen::MatrixXd& r) const {
  const Eigen::MatrixXf& inverse = committed_.inverse_;
  Eigen::MatrixXf padded = Eigen::MatrixXf::Zero(inverse.rows(), r.cols());
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (!nodes_[i].active || committed_.place_[i] < 0) continue;
    padded.middleRows<3>(first_row(committed_.place_[i])) =
        r.middleRows<3>(first_row(static_cast<std::int64_t>(i))).cast<float>();
  }
  Eigen::MatrixXf y(inverse.rows(), r.cols());
  multiply_symmetric(inverse, padded, y);
  if (!changed_.empty() && valid_) {
    Eigen::MatrixXf Vy(X_.cols(), r.cols());
    for (const ChangedNode& of : changed_) {
      Vy.middleRows(of.at, of.n_rows) = of.S_minus_one.bottomRows(of.n_rows) * padded.middleRows<3>(of.first) +
                                        of.E.bottomRows(of.n_rows) * y.middleRows<3>(of.first);
    }
    capacitance_.solve(Vy);
    subtract_product(X_, Vy, y);
  }
  Eigen::MatrixXd x = Eigen::MatrixXd::Zero(r.rows(), r.cols());
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (!nodes_[i].active) continue;
    const Eigen::Index row = first_row(static_cast<std::int64_t>(i));
    if (committed_.place_[i] >= 0) {
      x.middleRows<3>(row) = y.middleRows<3>(first_row(committed_.place_[i])).cast<double>();
    } else {
      const Matrix3 own = nodes_[i].S * committed_.B_.own(i).cast<double>() + nodes_[i].E;
      x.middleRows<3>(row) = own.partialPivLu().solve(r.middleRows<3>(row));
    }
  }
  return x;
}

}  // namespace heelstrike::fem
