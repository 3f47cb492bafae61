#include "mbs_server/formulation/sparse_matrix.hpp"

#include <klu.h>
#include <stdexcept>

namespace heelstrike::mbs {

struct SparseLu::Impl {
  klu_common common{};
  klu_symbolic* symbolic = nullptr;
  klu_numeric* numeric = nullptr;

  Impl() {
    klu_defaults(&common);
    // COLAMD bounds the fill-in for every choice of pivots; AMD assumes diagonal pivots, which are zero in saddle point
    // systems: on chains of 100 bodies it caused large fill-in.
    constexpr int colamd = 1;
    common.ordering = colamd;
  }
  ~Impl() {
    klu_free_numeric(&numeric, &common);
    klu_free_symbolic(&symbolic, &common);
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
};

SparseLu::SparseLu() : impl_(std::make_unique<Impl>()) {}
SparseLu::~SparseLu() = default;
SparseLu::SparseLu(SparseLu&&) noexcept = default;
SparseLu& SparseLu::operator=(SparseLu&&) noexcept = default;

bool SparseLu::factor(const SparseMatrix& A) {
  auto& s = *impl_;
  // KLU compares pivots; with NaN every comparison fails and its result is invalid.
  if (!A.coeffs().allFinite()) return false;
  // KLU's C interface has pointers to non-const data but only reads it.
  auto* outer = const_cast<int*>(A.outerIndexPtr());
  auto* inner = const_cast<int*>(A.innerIndexPtr());
  auto* values = const_cast<double*>(A.valuePtr());
  if (s.symbolic == nullptr) {
    s.symbolic = klu_analyze(static_cast<int>(A.rows()), outer, inner, &s.common);
    if (s.symbolic == nullptr) return false;
  }
  // Rotation of a body changes the best pivots of its constraints, so old pivots are only a guess: refactorise with
  // them and check the reciprocal pivot growth; below 1e-3 select new pivots.
  constexpr double min_pivot_growth = 1e-3;
  // KLU's inexpensive estimate of the reciprocal condition: the ratio of the smallest to the largest pivot.
  const auto is_regular = [&s] { return klu_rcond(s.symbolic, s.numeric, &s.common) == 1 && s.common.rcond > 1e-15; };
  if (s.numeric != nullptr && klu_refactor(outer, inner, values, s.symbolic, s.numeric, &s.common) == 1 &&
      klu_rgrowth(outer, inner, values, s.symbolic, s.numeric, &s.common) == 1 && s.common.rgrowth > min_pivot_growth &&
      is_regular()) {
    return true;
  }
  klu_free_numeric(&s.numeric, &s.common);
  s.numeric = klu_factor(outer, inner, values, s.symbolic, &s.common);
  return s.numeric != nullptr && is_regular();
}

void SparseLu::reset_factorisation() {
  klu_free_numeric(&impl_->numeric, &impl_->common);
}

void SparseLu::solve(Eigen::Ref<Eigen::VectorXd> b) const {
  auto& s = *impl_;
  if (klu_solve(s.symbolic, s.numeric, static_cast<int>(b.size()), 1, b.data(), &s.common) != 1) {
    throw std::logic_error("sparse LU: solve without a valid factorisation");
  }
}

}  // namespace heelstrike::mbs
