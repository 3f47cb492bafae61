#include "mbs_server/formulation/rigid_elimination.hpp"

#include <Eigen/LU>

namespace heelstrike::mbs {
namespace {

constexpr int unknowns_per_body = 6;  // theta, r
/// Ratio of the smallest to the largest pivot below which a system counts as singular, as in SparseLu.
constexpr double min_pivot_ratio = 1e-15;

using ConstMatrix3 = Eigen::Map<const Matrix3>;

/// The 3x3 matrix [v1 v2 v3] inside twelve coordinates.
ConstMatrix3 frame_of(const ConstSegment& q) {
  return ConstMatrix3(q.data() + 3);
}

/// The order of rigid_body_constraint(): 11, 22, 33, 12, 23, 31.
RigidRows rows_of(const Matrix3& Gamma) {
  RigidRows rows;
  rows << Gamma(0, 0), Gamma(1, 1), Gamma(2, 2), Gamma(0, 1), Gamma(1, 2), Gamma(2, 0);
  return rows;
}

Matrix3 symmetric(const RigidRows& rows) {
  Matrix3 Gamma;
  Gamma << rows[0], rows[3], rows[5], rows[3], rows[1], rows[4], rows[5], rows[4], rows[2];
  return Gamma;
}

/// One row of the 12x6 map from rigid motions to coordinate changes: dr = r, dv_k = theta x v_k.
struct MotionRow {
  int column[2];
  double value[2];
  int n;
};

/// Component c of theta x v is theta_a v_b - theta_b v_a with (c, a, b) cyclic: a row has two entries, and products
/// with it need no 12x6 matrix.
MotionRow motion_row(const Matrix3& V, int coordinate) {
  if (coordinate < 3) return {{3 + coordinate, 0}, {1.0, 0.0}, 1};
  const int c = coordinate % 3;
  const int a = (c + 1) % 3;
  const int b = (c + 2) % 3;
  const auto v = V.col(coordinate / 3 - 1);
  return {{a, b}, {v[b], -v[a]}, 2};
}

}  // namespace

RigidRows rigid_residual(const ConstSegment& q) {
  const Matrix3 V = frame_of(q);
  return rows_of(V.transpose() * V - Matrix3::Identity());
}

RigidRows rigid_jacobian_times(const ConstSegment& q, const ConstSegment& x) {
  const Matrix3 product = frame_of(q).transpose() * frame_of(x);
  return rows_of(product + product.transpose());
}

Matrix4 rigid_multiplier_matrix(const RigidRows& l) {
  Matrix4 Lambda = Matrix4::Zero();
  // The gradient of v_i.v_i - 1 is 2 v_i, that of v_i.v_j is v_j and v_i.
  Lambda.block<3, 3>(1, 1) << 2 * l[0], l[3], l[5], l[3], 2 * l[1], l[4], l[5], l[4], 2 * l[2];
  return Lambda;
}

RigidElimination::RigidElimination(int n_bodies, int n_joint_rows)
    : n_bodies_(n_bodies),
      n_joint_rows_(n_joint_rows),
      frames_(static_cast<std::size_t>(n_bodies)),
      reduced_(unknowns_per_body * n_bodies + n_joint_rows, unknowns_per_body * n_bodies + n_joint_rows),
      particular_(VectorX::Zero(coordinates_per_body * n_bodies)),
      product_(particular_),
      reduced_rhs_(VectorX::Zero(unknowns_per_body * n_bodies + n_joint_rows)) {}

void RigidElimination::begin(const std::vector<Matrix4>& mass, const ConstVector& q, const ConstVector& q_hat) {
  mass_ = mass;
  added_.clear();
  joint_rows_.clear();
  joint_columns_ = nullptr;
  reduced_.begin();
  for (std::size_t body = 0; body < frames_.size(); ++body) {
    const auto first = coordinates_per_body * static_cast<Eigen::Index>(body);
    BodyFrames& f = frames_[body];
    f.V = frame_of(q.segment<12>(first));
    f.V_hat = frame_of(q_hat.segment<12>(first));
    // Inverses, not transposes: within an iteration V is orthonormal only to the residual, and V^ at q + 2 gamma qd +
    // gamma^2 qdd is ((1 + gamma W)^2 + gamma^2 A) V with the skew matrices W, A of angular velocity and acceleration.
    // Rotation alone never makes it singular.
    f.V_inverse = f.V.inverse();
    f.V_hat_inverse = f.V_hat.inverse();
    add_newton_euler(body);
  }
}

void RigidElimination::add_newton_euler(std::size_t body) {
  const Matrix4& m = mass_[body];
  const BodyFrames& f = frames_[body];
  const int first = unknowns_per_body * static_cast<int>(body);
  // First moments m s in the world, with the axes of the rows and with those of the columns.
  const Vector3 moment = f.V * m.block<3, 1>(1, 0);
  const Vector3 moment_hat = f.V_hat * m.block<1, 3>(0, 1).transpose();
  // Rows of theta: sum_k v_k x (sum_l m_kl theta x v^_l) = sum_k ((v_k.w_k) 1 - w_k v_k') theta, w_k = sum_l m_kl v^_l.
  const Matrix3 W = f.V_hat * m.block<3, 3>(1, 1).transpose();
  const Matrix3 rotation = f.V.cwiseProduct(W).sum() * Matrix3::Identity() - W * f.V.transpose();
  reduced_.add_block(first, first, rotation);
  for (int c = 0; c < 3; ++c) {
    const int a = (c + 1) % 3;
    const int b = (c + 2) % 3;
    reduced_.add(first + 3 + c, first + 3 + c, m(0, 0));
    // skew(moment) on the right (rows of theta), -skew(moment^) below (rows of r), without their zero diagonals.
    reduced_.add(first + a, first + 3 + b, -moment[c]);
    reduced_.add(first + b, first + 3 + a, moment[c]);
    reduced_.add(first + 3 + a, first + b, moment_hat[c]);
    reduced_.add(first + 3 + b, first + a, -moment_hat[c]);
  }
}

void RigidElimination::add(const SparseMatrix& A, double scale) {
  added_.push_back({&A, scale});
  for (int j = 0; j < A.outerSize(); ++j) {
    const int col_body = j / coordinates_per_body;
    // Projected from the right onto the motions that satisfy the constraint rows (V^), from the left onto those in
    // which the multipliers do no work (V). Both coincide in projections and accelerations.
    const MotionRow right = motion_row(frames_[static_cast<std::size_t>(col_body)].V_hat, j % coordinates_per_body);
    for (SparseMatrix::InnerIterator it(A, j); it; ++it) {
      const int i = static_cast<int>(it.row());
      const int row_body = i / coordinates_per_body;
      const MotionRow left = motion_row(frames_[static_cast<std::size_t>(row_body)].V, i % coordinates_per_body);
      for (int l = 0; l < left.n; ++l) {
        for (int r = 0; r < right.n; ++r) {
          reduced_.add(unknowns_per_body * row_body + left.column[l], unknowns_per_body * col_body + right.column[r],
                       scale * it.value() * left.value[l] * right.value[r]);
        }
      }
    }
  }
}

void RigidElimination::add_joint_columns(const SparseMatrix& Phi_q) {
  joint_columns_ = &Phi_q;
  const int row0 = unknowns_per_body * n_bodies_;
  for (int j = 0; j < Phi_q.outerSize(); ++j) {
    const int body = j / coordinates_per_body;
    const MotionRow motion = motion_row(frames_[static_cast<std::size_t>(body)].V, j % coordinates_per_body);
    for (SparseMatrix::InnerIterator it(Phi_q, j); it; ++it) {
      for (int k = 0; k < motion.n; ++k) {
        reduced_.add(unknowns_per_body * body + motion.column[k], row0 + static_cast<int>(it.row()),
                     it.value() * motion.value[k]);
      }
    }
  }
}

void RigidElimination::add_joint_rows(const SparseMatrix& A, double scale) {
  joint_rows_.push_back({&A, scale});
  const int row0 = unknowns_per_body * n_bodies_;
  for (int j = 0; j < A.outerSize(); ++j) {
    const int body = j / coordinates_per_body;
    const MotionRow motion = motion_row(frames_[static_cast<std::size_t>(body)].V_hat, j % coordinates_per_body);
    for (SparseMatrix::InnerIterator it(A, j); it; ++it) {
      for (int k = 0; k < motion.n; ++k) {
        reduced_.add(row0 + static_cast<int>(it.row()), unknowns_per_body * body + motion.column[k],
                     scale * it.value() * motion.value[k]);
      }
    }
  }
}

void RigidElimination::add_joint_damping(double damping) {
  const int row0 = unknowns_per_body * n_bodies_;
  // Also added when zero, so that the pattern is the same in both cases.
  for (int i = row0; i < row0 + n_joint_rows_; ++i) reduced_.add(i, i, -damping);
}

bool RigidElimination::factor() {
  reduced_.end();
  if (reduced_rhs_.size() > max_dense_unknowns) return sparse_lu_.factor(reduced_.matrix());
  // Comparisons of pivots are invalid for NaN.
  if (!reduced_.matrix().coeffs().allFinite()) return false;
  dense_lu_.compute(Dense(reduced_.matrix()));
  // A pivot as small as the rounding error of the largest one has no significant digit.
  const auto pivots = dense_lu_.matrixLU().diagonal().cwiseAbs();
  return pivots.size() == 0 || pivots.minCoeff() > min_pivot_ratio * pivots.maxCoeff();
}

void RigidElimination::multiply(const ConstVector& x, Eigen::Ref<VectorX> y) const {
  for (std::size_t body = 0; body < mass_.size(); ++body) {
    const auto first = coordinates_per_body * static_cast<Eigen::Index>(body);
    using Columns = Eigen::Matrix<double, 3, 4>;
    Eigen::Map<Columns>(y.data() + first).noalias() =
        Eigen::Map<const Columns>(x.data() + first) * mass_[body].transpose();
  }
  for (const Scaled& a : added_) y.noalias() += a.scale * (*a.matrix * x);
}

void RigidElimination::solve_reduced() {
  if (reduced_rhs_.size() > max_dense_unknowns) {
    sparse_lu_.solve(reduced_rhs_);
  } else {
    using Small = Eigen::Matrix<double, Eigen::Dynamic, 1, 0, max_dense_unknowns, 1>;
    const Small rhs = reduced_rhs_;
    reduced_rhs_ = dense_lu_.solve(rhs);
  }
}

void RigidElimination::solve(Eigen::Ref<VectorX> b, Eigen::Ref<VectorX> c, bool with_multipliers) {
  const Eigen::Index n_rigid = rigid_constraints_per_body * n_bodies_;
  auto c_joint = c.tail(n_joint_rows_);
  for (int body = 0; body < n_bodies_; ++body) {
    const BodyFrames& f = frames_[static_cast<std::size_t>(body)];
    const Matrix3 Gamma = symmetric(c.segment<6>(6 * body));
    // A solution X = 1/2 V^-T Gamma of the rigid-body rows; the rest of the solution is a rigid motion. The rows of the
    // origins stay zero.
    Eigen::Map<Matrix3>(particular_.data() + 12 * body + 3) = 0.5 * f.V_hat_inverse.transpose() * Gamma;
  }
  multiply(particular_, product_);
  product_ = b - product_;
  for (int body = 0; body < n_bodies_; ++body) {
    const Matrix3& V = frames_[static_cast<std::size_t>(body)].V;
    const ConstMatrix3 B(product_.data() + 12 * body + 3);
    auto reduced = reduced_rhs_.segment<6>(6 * body);
    // Forces, and moments sum_k v_k x (row of v_k), from which the multipliers of the rigid body cancel.
    reduced.head<3>() = V.col(0).cross(B.col(0)) + V.col(1).cross(B.col(1)) + V.col(2).cross(B.col(2));
    reduced.tail<3>() = product_.segment<3>(12 * body);
  }
  for (const Scaled& a : joint_rows_) c_joint -= a.scale * (*a.matrix * particular_);
  reduced_rhs_.tail(n_joint_rows_) = c_joint;
  solve_reduced();
  if (with_multipliers) product_ = b;
  b = particular_;
  for (int body = 0; body < n_bodies_; ++body) {
    const Matrix3& V_hat = frames_[static_cast<std::size_t>(body)].V_hat;
    const Vector3 theta = reduced_rhs_.segment<3>(6 * body);
    b.segment<3>(12 * body) += reduced_rhs_.segment<3>(6 * body + 3);
    for (int k = 0; k < 3; ++k) b.segment<3>(12 * body + 3 + 3 * k) += theta.cross(V_hat.col(k));
  }
  c_joint = reduced_rhs_.tail(n_joint_rows_);
  if (!with_multipliers) return;
  // What remains of b - W x - Phi_joint' lambda is V Lambda with a symmetric Lambda: the rigid-body multipliers.
  multiply(b, particular_);
  product_ -= particular_;
  if (n_joint_rows_ > 0) product_.noalias() -= joint_columns_->transpose() * c_joint;
  for (int body = 0; body < n_bodies_; ++body) {
    // Symmetric up to rounding: the mean of both triangles is used. A diagonal entry is 2 l_ii and is halved.
    const Matrix3 Lambda =
        frames_[static_cast<std::size_t>(body)].V_inverse * ConstMatrix3(product_.data() + 12 * body + 3);
    c.head(n_rigid).segment<6>(6 * body) = 0.5 * rows_of(Lambda + Lambda.transpose());
    c.segment<3>(6 * body) *= 0.5;
  }
  particular_.setZero();
}

}  // namespace heelstrike::mbs
