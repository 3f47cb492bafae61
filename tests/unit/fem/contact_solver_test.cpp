// The contact solvers, verified against their conditions with the full dense matrix, on random bodies.
#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <algorithm>
#include <limits>
#include <numeric>
#include <random>

#include "common/errors/error.hpp"
#include "fem_server/contact_solver/kernels/compliance_product.hpp"
#include "fem_server/contact_solver/kernels/local_compliance.hpp"
#include "fem_server/contact_solver/kernels/plain_kernels.hpp"
#include "fem_server/contact_solver/solver/active_set_guess.hpp"
#include "fem_server/contact_solver/solver/friction_contact.hpp"
#include "fem_server/contact_solver/solver/normal_contact.hpp"

namespace heelstrike::fem {
namespace {

/// Nodes on a wavy patch; compliance of an elastic half-space between them with a random positive definite part.
struct Patch {
  std::vector<Vector3> points;
  SurfaceCompliance compliance;
  Eigen::MatrixXd C;
  ActiveCandidates near;
};

Vector3 random_vector(std::mt19937& random) {
  std::uniform_real_distribution<double> unit(-1.0, 1.0);
  return {unit(random), unit(random), unit(random)};
}

SurfaceCompliance blocks_of(const Eigen::MatrixXd& C) {
  const auto n = static_cast<std::size_t>(C.rows() / 3);
  std::vector<double> blocks;
  for (std::size_t j = 0; j < n; ++j) {
    for (std::size_t i = 0; i < n; ++i) {
      const Matrix3 block = C.block<3, 3>(3 * static_cast<Eigen::Index>(i), 3 * static_cast<Eigen::Index>(j));
      blocks.insert(blocks.end(), block.data(), block.data() + 9);
    }
  }
  return {n, std::move(blocks)};
}

Patch make_patch(int side, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> unit(0.0, 1.0);
  Patch patch;
  for (int i = 0; i < side * side; ++i) {
    const double x = i % side + 0.3 * unit(random);
    const double y = i / side + 0.3 * unit(random);
    patch.points.emplace_back(1e-3 * Vector3(x, y, 0.0));
  }
  const auto n = static_cast<Eigen::Index>(patch.points.size());
  const Eigen::MatrixXd M =
      Eigen::MatrixXd::NullaryExpr(3 * n, 3 * n, [&](Eigen::Index) { return 2.0 * unit(random) - 1.0; });
  patch.C = 2e-8 / static_cast<double>(n) * M * M.transpose();
  for (Eigen::Index i = 0; i < n; ++i) {
    for (Eigen::Index j = 0; j < n; ++j) {
      const Vector3 r = patch.points[static_cast<std::size_t>(i)] - patch.points[static_cast<std::size_t>(j)];
      const double distance = std::max(r.norm(), 4e-4);
      patch.C.block<3, 3>(3 * i, 3 * j) +=
          1e-9 / distance * (0.7 * Matrix3::Identity() + 0.3 * r * r.transpose() / (distance * distance));
    }
  }
  patch.C = 0.5 * (patch.C + patch.C.transpose()).eval();
  patch.compliance = blocks_of(patch.C);
  for (std::uint32_t i = 0; i < patch.points.size(); ++i) {
    patch.near.nodes.push_back(i);
    patch.near.normals.push_back((Vector3(0.0, 0.0, 1.0) + 0.1 * random_vector(random)).normalized());
    const Vector3 off = patch.points[i] - Vector3(0.5e-3 * side, 0.5e-3 * side, 0.0);
    patch.near.gaps.push_back(1e-4 * (-1.0 + 5e-6 * off.squaredNorm() / 1e-12 / (side * side) + 0.2 * unit(random)));
    patch.near.force_before.emplace_back(Vector3::Zero());
    patch.near.u_before.emplace_back(Vector3::Zero());
    patch.near.known.push_back(false);
  }
  return patch;
}

/// Largest violation of lambda >= 0, gamma >= 0, lambda gamma = 0, over the depth and the largest force.
double violation(const Patch& patch, const NormalContact& contact) {
  const auto n = static_cast<Eigen::Index>(patch.points.size());
  Eigen::VectorXd forces = Eigen::VectorXd::Zero(3 * n);
  for (std::size_t a = 0; a < contact.active.size(); ++a) {
    forces.segment<3>(3 * Eigen::Index{contact.active[a]}) =
        contact.lambda[static_cast<Eigen::Index>(a)] * patch.near.normals[contact.active[a]];
  }
  const Eigen::VectorXd u = patch.C * forces;
  const double depth = patch.near.deepest();
  double worst = 0.0;
  for (std::uint32_t i = 0; i < patch.points.size(); ++i) {
    const double gamma = patch.near.gaps[i] + patch.near.normals[i].dot(u.segment<3>(3 * Eigen::Index{i}));
    const bool active = std::ranges::binary_search(contact.active, i);
    worst = std::max(worst, (active ? std::abs(gamma) : -gamma) / depth);
  }
  return contact.lambda.size() > 0 ? std::max(worst, -contact.lambda.minCoeff() / contact.lambda.maxCoeff()) : worst;
}

TEST(ContactSolver, NormalContactSatisfiesItsConditions) {
  for (unsigned seed = 1; seed <= 12; ++seed) {
    const Patch patch = make_patch(4 + static_cast<int>(seed), seed);
    const NormalContact contact = solve_normal_contact({.compliance = &patch.compliance, .near = &patch.near});
    EXPECT_LT(violation(patch, contact), 1e-10)
        << "seed " << seed << ", " << contact.active.size() << " of " << patch.points.size() << " nodes active";
    EXPECT_GT(contact.active.size(), 3U);
    EXPECT_LT(contact.active.size(), patch.points.size());
  }
}

TEST(ContactSolver, NormalContactIsBitwiseIndependentOfTheStart) {
  for (unsigned seed = 1; seed <= 6; ++seed) {
    Patch patch = make_patch(9, seed);
    const NormalContact cold = solve_normal_contact({.compliance = &patch.compliance, .near = &patch.near});
    std::mt19937 random(seed);
    for (std::size_t i = 0; i < patch.near.force_before.size(); ++i) {
      if (random() % 3 == 0) patch.near.force_before[i] = patch.near.normals[i];
    }
    const NormalContact warm = solve_normal_contact({.compliance = &patch.compliance, .near = &patch.near});
    EXPECT_EQ(cold.active, warm.active) << "seed " << seed;
    EXPECT_EQ(cold.lambda, warm.lambda) << "seed " << seed;
    EXPECT_EQ(cold.u, warm.u) << "seed " << seed;
  }
}

TEST(ContactSolver, ProportionalLoadsNeedOneActiveSetAndNoOuterNode) {
  for (unsigned seed = 1; seed <= 6; ++seed) {
    Patch patch = make_patch(12, seed);
    const NormalContact before = solve_normal_contact({.compliance = &patch.compliance, .near = &patch.near});
    Eigen::VectorXd forces = Eigen::VectorXd::Zero(patch.C.rows());
    for (std::size_t a = 0; a < before.active.size(); ++a) {
      const std::uint32_t i = before.active[a];
      patch.near.force_before[i] = before.lambda[static_cast<Eigen::Index>(a)] * patch.near.normals[i];
      forces.segment<3>(3 * Eigen::Index{i}) = patch.near.force_before[i];
    }
    const Eigen::VectorXd u = patch.C * forces;
    for (std::uint32_t i = 0; i < patch.points.size(); ++i) {
      patch.near.u_before[i] = u.segment<3>(3 * Eigen::Index{i});
      patch.near.known[i] = true;
      patch.near.gaps[i] *= 1.05;  // and everything else with them: the problem is linear except for its signs
    }
    const NormalContact after = solve_normal_contact({.compliance = &patch.compliance, .near = &patch.near});
    EXPECT_EQ(after.active, before.active) << "seed " << seed;
    EXPECT_EQ(after.iterations, 1) << "seed " << seed;
    EXPECT_EQ(after.outside.positions.size(), 0U) << "seed " << seed << ", " << after.working.size() << " of "
                                                  << patch.points.size() << " nodes in the working set";
    EXPECT_LT(after.working.size(), patch.points.size()) << "seed " << seed;
  }
}

TEST(ContactSolver, DegenerateNormalContacts) {
  Patch open = make_patch(4, 1);
  for (double& gap : open.near.gaps) gap = 1e-5;
  EXPECT_TRUE(solve_normal_contact({.compliance = &open.compliance, .near = &open.near}).active.empty());

  Patch touching = make_patch(4, 2);  // exactly closed nodes beside one that penetrates
  for (double& gap : touching.near.gaps) gap = 0.0;
  touching.near.gaps[5] = -1e-5;
  const NormalContact one = solve_normal_contact({.compliance = &touching.compliance, .near = &touching.near});
  EXPECT_LT(violation(touching, one), 1e-10);
  EXPECT_TRUE(std::ranges::binary_search(one.active, 5U));

  Patch all = make_patch(5, 3);  // deep: every node is active
  for (double& gap : all.near.gaps) gap = -1e-3;
  EXPECT_LT(violation(all, solve_normal_contact({.compliance = &all.compliance, .near = &all.near})), 1e-10);
}

FrictionProblem tangentially_displaced(const Patch& patch, double friction, double drag, unsigned seed) {
  std::mt19937 random(seed);
  FrictionProblem problem;
  problem.friction = friction;
  problem.near = patch.near;
  problem.positions = patch.points;
  std::vector<Vector3> stick_points;
  for (const Vector3& p : patch.points) {
    stick_points.emplace_back(p + drag * (Vector3(1.0, 0.3, 0.0) + 0.5 * random_vector(random)));
  }
  problem.stick_point = [stick_points](std::uint32_t i) {
    return StickPoint{.p_AP = stick_points[i], .dp_dX = Matrix36::Zero()};
  };
  return problem;
}

/// Largest violation of Coulomb's law and of non-penetration, from the forces alone: lengths over the depth.
double violation(const Patch& patch, const FrictionProblem& problem, const FrictionContact& contact) {
  const auto n = static_cast<Eigen::Index>(patch.points.size());
  Eigen::VectorXd forces = Eigen::VectorXd::Zero(3 * n);
  for (std::size_t a = 0; a < contact.active.size(); ++a) {
    forces.segment<3>(3 * Eigen::Index{contact.active[a]}) =
        contact.lambda[static_cast<Eigen::Index>(a)] * patch.near.normals[contact.active[a]] + contact.traction[a];
  }
  const Eigen::VectorXd u = patch.C * forces;
  double worst = 0.0;
  for (std::uint32_t i = 0; i < patch.points.size(); ++i) {
    const Vector3& n_i = patch.near.normals[i];
    const Vector3 own = u.segment<3>(3 * Eigen::Index{i});
    const double gamma = patch.near.gaps[i] + n_i.dot(own);
    const auto found = std::ranges::lower_bound(contact.active, i);
    if (found == contact.active.end() || *found != i) {
      worst = std::max(worst, -gamma);
      continue;
    }
    const auto a = static_cast<std::size_t>(found - contact.active.begin());
    const double bound = problem.friction * contact.lambda[static_cast<Eigen::Index>(a)];
    Vector3 slip = patch.points[i] + own - problem.stick_point(i).p_AP;
    slip -= n_i * n_i.dot(slip);
    // The traction is the projection of (traction - rho slip) on the disc, for any rho.
    const double rho = 1e6;
    const Vector3 trial = contact.traction[a] - rho * slip;
    const Vector3 expected = trial.norm() <= bound ? trial : Vector3(bound / trial.norm() * trial);
    worst = std::max({worst, std::abs(gamma), (expected - contact.traction[a]).norm() / rho});
    EXPECT_GT(contact.lambda[static_cast<Eigen::Index>(a)], 0.0);
  }
  return worst / patch.near.deepest();
}

TEST(ContactSolver, FrictionSatisfiesCoulombsLaw) {
  for (unsigned seed = 1; seed <= 8; ++seed) {
    const Patch patch = make_patch(5 + static_cast<int>(seed), seed);
    for (const double friction : {0.05, 0.3, 0.8}) {
      for (const double drag : {0.0, 2e-6, 5e-5}) {
        const FrictionProblem problem = tangentially_displaced(patch, friction, drag, seed);
        const FrictionContact contact = solve_friction_contact(patch.compliance, problem);
        const auto n_sliding = std::ranges::count(contact.sliding, true);
        EXPECT_LT(violation(patch, problem, contact), 1e-9)
            << "seed " << seed << ", mu " << friction << ", drag " << drag << " m: " << contact.active.size()
            << " active, " << n_sliding << " sliding, " << contact.iterations << " iterations";
      }
    }
  }
}

// If all forces of an iterate are tensile, all nodes are released together; they must return.
TEST(ContactSolver, FrictionOfFewNodesSatisfiesCoulombsLaw) {
  for (unsigned seed = 1; seed <= 60; ++seed) {
    const Patch patch = make_patch(2, seed);
    if (patch.near.deepest() == 0.0) continue;
    for (const double drag : {0.0, 2e-6, 5e-5, 5e-4}) {
      const FrictionProblem problem = tangentially_displaced(patch, 0.3, drag, seed);
      const FrictionContact contact = solve_friction_contact(patch.compliance, problem);
      EXPECT_LT(violation(patch, problem, contact), 1e-9)
          << "seed " << seed << ", drag " << drag << " m: " << contact.active.size() << " active";
    }
  }
}

// From any start: energy decreases step by step, without cycles.
TEST(ContactSolver, ProjectedNewtonMethodEndsAtTheActiveSet) {
  for (unsigned seed = 1; seed <= 6; ++seed) {
    const Patch patch = make_patch(10, seed);
    const NormalContact contact = solve_normal_contact({.compliance = &patch.compliance, .near = &patch.near});
    const auto n = static_cast<Eigen::Index>(patch.points.size());
    Eigen::MatrixXd N = Eigen::MatrixXd::Zero(3 * n, n);
    for (Eigen::Index i = 0; i < n; ++i) N.block<3, 1>(3 * i, i) = patch.near.normals[static_cast<std::size_t>(i)];
    const Eigen::MatrixXd A = N.transpose() * patch.C * N;
    const Eigen::VectorXd gap = Eigen::Map<const Eigen::VectorXd>(patch.near.gaps.data(), n);
    std::mt19937 random(seed);
    for (const double size : {0.0, 1.0, 1e3}) {
      const Eigen::VectorXd start =
          Eigen::VectorXd::NullaryExpr(n, [&](Eigen::Index) { return size * random_vector(random).x(); });
      const ProjectedNewton found = descend(A, gap, start, 100);
      EXPECT_TRUE(found.converged);
      EXPECT_EQ(found.active, contact.active) << "seed " << seed << ", start " << size << " N";
      EXPECT_LT(found.iterations, 40);
    }
  }
}

TEST(ContactSolver, FrictionWithOneNodeAndWithNone) {
  Patch patch = make_patch(4, 7);
  for (double& gap : patch.near.gaps) gap = 1e-4;
  FrictionProblem problem = tangentially_displaced(patch, 0.3, 1e-5, 7);
  EXPECT_TRUE(solve_friction_contact(patch.compliance, problem).active.empty());
  patch.near.gaps[6] = -1e-5;
  problem = tangentially_displaced(patch, 0.3, 1e-5, 7);
  const FrictionContact one = solve_friction_contact(patch.compliance, problem);
  EXPECT_EQ(one.active, std::vector<std::uint32_t>{6U});
  EXPECT_LT(violation(patch, problem, one), 1e-9);
}

TEST(ContactSolver, ProductsAgreeWithTheDenseMatrix) {
  const Patch patch = make_patch(6, 11);
  const std::vector<std::uint32_t> nodes{0, 3, 4, 7, 9, 12, 17, 18, 21, 22, 25, 30, 31, 33, 35};
  const auto m = static_cast<Eigen::Index>(3 * nodes.size());
  Eigen::MatrixXd part(m, m);
  for (std::size_t j = 0; j < nodes.size(); ++j) {
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      part.block<3, 3>(3 * static_cast<Eigen::Index>(i), 3 * static_cast<Eigen::Index>(j)) =
          patch.C.block<3, 3>(3 * Eigen::Index{nodes[i]}, 3 * Eigen::Index{nodes[j]});
    }
  }
  const NodeFields<4> four = NodeFields<4>::Random(m, 4);
  EXPECT_LT((displacement<4>(patch.compliance, nodes, four) - part * four).cwiseAbs().maxCoeff(),
            1e-13 * (part * four).cwiseAbs().maxCoeff());
  const NodeFields<8> eight = NodeFields<8>::Random(m, 8);
  EXPECT_LT((displacement<8>(patch.compliance, nodes, eight) - part * eight).cwiseAbs().maxCoeff(),
            1e-13 * (part * eight).cwiseAbs().maxCoeff());
  const NodeFields<1> f = four.col(0);
  std::vector<Vector3> normals;
  for (const std::uint32_t i : nodes) normals.push_back(patch.near.normals[i]);
  const Eigen::VectorXd u = part * f;
  EXPECT_LT((displacement<1>(patch.compliance, nodes, f) - u).cwiseAbs().maxCoeff(), 1e-13 * u.cwiseAbs().maxCoeff());
  const std::vector<std::uint32_t> rows{3, 12, 35};
  const NodeFields<1> u_rows = displacement(patch.compliance, rows, nodes, f);
  EXPECT_LT((u_rows.segment<3>(3) - u.segment<3>(15)).cwiseAbs().maxCoeff(), 1e-13 * u.cwiseAbs().maxCoeff());
  EXPECT_LT((u_rows.segment<3>(6) - u.segment<3>(42)).cwiseAbs().maxCoeff(), 1e-13 * u.cwiseAbs().maxCoeff());
  const std::vector<Matrix3> frames(nodes.size(), rotation_from_vector(Vector3(0.3, -0.2, 0.5)));
  Eigen::MatrixXd F = Eigen::MatrixXd::Zero(m, m);
  for (Eigen::Index i = 0; i < m; i += 3) F.block<3, 3>(i, i) = frames.front();
  const Eigen::MatrixXd B = F.transpose() * part * F;
  const LocalCompliance local(patch.compliance, nodes, frames);
  // C and both frames rounded once, six operations: 9 times 2^-24 = 5e-7.
  EXPECT_LT((local.dense() - B).cwiseAbs().maxCoeff(), 5e-7 * B.cwiseAbs().maxCoeff());
  EXPECT_LT((local.product(f) - B * f).cwiseAbs().maxCoeff(), 1e-6 * (B * f).cwiseAbs().maxCoeff());
  Eigen::MatrixXd fields(m, 7);  // two groups of three, and one that is alone
  for (Eigen::Index k = 0; k < 7; ++k) fields.col(k) = (1.0 + 0.1 * static_cast<double>(k)) * f.reverse();
  EXPECT_LT((local.products(fields) - B * fields).cwiseAbs().maxCoeff(), 1e-6 * (B * fields).cwiseAbs().maxCoeff());
  // Each entry has an error of half a unit of 1 / 32766 of the diagonal at most.
  const double step = 0.5 / 32766.0 * B.diagonal().maxCoeff();
  EXPECT_LT((local.approximate_product(f) - B * f).cwiseAbs().maxCoeff(), 1.01 * step * f.lpNorm<1>());
  EXPECT_GT((local.approximate_product(f) - B * f).cwiseAbs().maxCoeff(), 1e-6 * (B * f).cwiseAbs().maxCoeff());
  const std::vector<std::uint32_t> some{1, 2, 7, 14};
  for (int direction = 0; direction < 3; ++direction) {
    const Eigen::MatrixXf in_one = local.part(direction, some);
    for (std::size_t b = 0; b < some.size(); ++b) {
      for (std::size_t a = b; a < some.size(); ++a) {
        EXPECT_NEAR(in_one(static_cast<Eigen::Index>(a), static_cast<Eigen::Index>(b)),
                    B(3 * some[a] + direction, 3 * some[b] + direction), 5e-7 * B.cwiseAbs().maxCoeff());
      }
    }
  }
}

std::vector<std::uint32_t> without_every_third(std::size_t n) {
  std::vector<std::uint32_t> nodes;
  for (std::uint32_t i = 0; i < n; ++i) {
    if (i % 3 != 1) nodes.push_back(i);
  }
  return nodes;
}

TEST(ContactSolver, ProductsEqualThoseOfPlainLoops) {
  const Patch patch = make_patch(9, 5);
  const std::vector<std::uint32_t> nodes = without_every_third(patch.points.size());
  const std::vector<std::uint32_t> rows = {0, 1, 7, 30, 31, 77};
  std::mt19937 random(5);
  const auto n_rows = static_cast<Eigen::Index>(3 * nodes.size());
  NodeFields<8> forces(n_rows, 8);
  for (Eigen::Index i = 0; i < forces.size(); ++i) forces.data()[i] = random_vector(random).x();
  const NodeFields<1> f = forces.col(0);
  EXPECT_EQ(displacement(patch.compliance, rows, nodes, f), plain::displacement(patch.compliance, rows, nodes, f));

  std::vector<Vector3> normals;
  for (const std::uint32_t i : nodes) normals.push_back(patch.near.normals[i]);
  const NormalBlocks blocks{.compliance = &patch.compliance, .nodes = nodes, .normals = normals};
  const Eigen::MatrixXd A = delassus_matrices({&blocks, 1}).front().triangularView<Eigen::Lower>();
  EXPECT_EQ(A, plain::delassus_matrix(blocks));

  // Halves of the matrix sum in another order: n products and sums are off by n eps of the sum of their sizes at most.
  const double bound = 2.0 * static_cast<double>(n_rows) * std::numeric_limits<double>::epsilon() *
                       patch.C.cwiseAbs().rowwise().sum().maxCoeff();
  const auto differ = [&](const auto& a, const auto& b) { return (a - b).cwiseAbs().maxCoeff(); };
  EXPECT_LE(differ(displacement<1>(patch.compliance, nodes, f), plain::displacement<1>(patch.compliance, nodes, f)),
            bound);
  const NodeFields<4> four = forces.leftCols<4>();
  EXPECT_LE(
      differ(displacement<4>(patch.compliance, nodes, four), plain::displacement<4>(patch.compliance, nodes, four)),
      bound);
  EXPECT_LE(
      differ(displacement<8>(patch.compliance, nodes, forces), plain::displacement<8>(patch.compliance, nodes, forces)),
      bound);
}

TEST(ContactSolver, PanelProductsEqualThoseOfPlainLoops) {
  constexpr std::size_t n_rows = 5 * panel_group;
  std::mt19937 random(6);
  std::vector<std::int16_t> upper(3 * n_rows);
  std::vector<std::int16_t> lower(3 * n_rows);
  for (auto* half : {&upper, &lower}) {
    for (std::int16_t& number : *half) number = static_cast<std::int16_t>(static_cast<int>(random() % 65532) - 32766);
  }
  const PanelView P{.upper = upper.data(), .lower = lower.data(), .rows = n_rows};
  std::vector<float> x(n_rows);
  for (float& value : x) value = static_cast<float>(random_vector(random).x());
  const float f[3] = {0.3F, -0.8F, 0.5F};
  // Entries reach 32767 and factors one; n products and sums in single precision, in any order and fused or not.
  const float bound = 2.0F * n_rows * std::numeric_limits<float>::epsilon() * n_rows * 32767.0F;
  for (const bool both : {false, true}) {
    std::vector<float> y(n_rows, 1.0F);
    std::vector<float> y_plain = y;
    float sums[3];
    float sums_plain[3];
    (both ? panel_product : approximate_panel_product)(P, f, x.data(), y.data(), sums);
    plain::panel_product(P, both, f, x.data(), y_plain.data(), sums_plain);
    for (std::size_t i = 0; i < n_rows; ++i) EXPECT_NEAR(y[i], y_plain[i], bound / n_rows) << i;
    for (std::size_t k = 0; k < 3; ++k) EXPECT_NEAR(sums[k], sums_plain[k], bound) << k;
    if (both) {  // the same for three fields, of which the second and third are zero and f again
      const std::size_t stride = n_rows;
      std::vector<float> fields(3 * stride, 0.0F);
      std::vector<float> forces(3 * stride, 0.0F);
      for (const std::size_t k : {std::size_t{0}, std::size_t{2}}) {
        std::ranges::copy(x, fields.begin() + static_cast<std::ptrdiff_t>(k * stride));
        std::copy_n(f, 3, forces.begin() + static_cast<std::ptrdiff_t>(k * stride));
      }
      std::vector<float> moved(3 * stride, 1.0F);
      float all_sums[9];
      three_panel_products(P, stride, forces.data(), fields.data(), moved.data(), all_sums);
      for (std::size_t i = 0; i < n_rows; ++i) {
        EXPECT_NEAR(moved[i], y_plain[i], bound / n_rows) << i;
        EXPECT_EQ(moved[stride + i], 1.0F);
        EXPECT_EQ(moved[2 * stride + i], moved[i]);
      }
      for (std::size_t k = 0; k < 3; ++k) {
        EXPECT_NEAR(all_sums[k], sums_plain[k], bound) << k;
        EXPECT_EQ(all_sums[3 + k], 0.0F);
        EXPECT_EQ(all_sums[6 + k], all_sums[k]);
      }
      continue;
    }
    std::vector<float> added(n_rows, 1.0F);
    add_panel(P, f, added.data());
    EXPECT_EQ(added, y);
    float summed[3];
    sum_panel(P, x.data(), summed);
    for (std::size_t k = 0; k < 3; ++k) EXPECT_EQ(summed[k], sums[k]) << k;
  }
}

TEST(ContactSolver, EstimatesInSingleAndDoublePrecisionAgree) {
  for (unsigned seed = 1; seed <= 4; ++seed) {
    const Patch patch = make_patch(9, seed);
    const auto nodes = without_every_third(patch.points.size());
    std::vector<Vector3> normals;
    Eigen::VectorXd gaps(static_cast<Eigen::Index>(nodes.size()));
    for (std::size_t a = 0; a < nodes.size(); ++a) {
      normals.push_back(patch.near.normals[nodes[a]]);
      gaps[static_cast<Eigen::Index>(a)] = patch.near.gaps[nodes[a]];
    }
    const NormalBlocks blocks{.compliance = &patch.compliance, .nodes = nodes, .normals = normals};
    const Eigen::MatrixXd lower = delassus_matrices({&blocks, 1}).front();
    const Eigen::MatrixXd A = lower.selfadjointView<Eigen::Lower>();
    const Eigen::VectorXd single = estimate_forces(lower, gaps);
    const Eigen::VectorXd twice = plain::estimate_forces(lower, gaps);
    const Eigen::VectorXd change = A * (single - twice);
    // Either leaves gaps of a hundredth of the largest penetration under its active nodes.
    for (Eigen::Index i = 0; i < gaps.size(); ++i) {
      if (single[i] <= 0.0 || twice[i] <= 0.0) continue;
      EXPECT_LE(std::abs(change[i]), -2e-2 * gaps.minCoeff()) << "seed " << seed << ", node " << i;
    }
  }
}

// Without derivatives a factor in single precision with refinement replaces the factor in double.
TEST(ContactSolver, RefinedSingleFactorIsAsAccurateAsADoubleOne) {
  for (unsigned seed = 1; seed <= 6; ++seed) {
    const Patch patch = make_patch(9, seed);
    const NormalTask single{.compliance = &patch.compliance, .near = &patch.near};
    NormalTask twice = single;
    twice.rotation = [](std::uint32_t) -> Matrix36 { return Matrix36::Zero(); };
    const NormalContact repeated = solve_normal_contact(single);
    const NormalContact factored = solve_normal_contact(twice);
    ASSERT_GT(factored.factor.size(), 0);
    EXPECT_EQ(repeated.active, factored.active);
    // Of the gaps 100 roundings of 1e-15 may remain; displacements are those for which the gaps were solved.
    EXPECT_LT((repeated.u - factored.u).cwiseAbs().maxCoeff(), 1e-11 * patch.near.deepest()) << "seed " << seed;
    EXPECT_LT(violation(patch, repeated), 1e-12) << "seed " << seed;
  }
}

TEST(ContactSolver, DamagedCompliancesAreRejected) {
  const std::vector<std::uint32_t> nodes{0, 1};
  const std::vector<Matrix3> frames(2, Matrix3::Identity());
  for (const double coupling : {0.9, 1.5, std::numeric_limits<double>::quiet_NaN()}) {
    std::vector<double> blocks(36, 0.0);
    for (const std::size_t start : {0U, 27U}) {
      for (const std::size_t k : {0U, 4U, 8U}) blocks[start + k] = 1e-5;
    }
    blocks[9] = blocks[18] = 1e-5 * coupling;
    const SurfaceCompliance compliance(2, std::move(blocks));
    if (coupling < 1.0) {
      EXPECT_NEAR(LocalCompliance(compliance, nodes, frames).dense()(3, 0), 1e-5 * coupling, 1e-11);
    } else {
      EXPECT_THROW(LocalCompliance(compliance, nodes, frames), Error) << coupling;
    }
  }
}

// As of a cloud: many more points than the body below can distinguish, each with a small compliance.
TEST(ContactSolver, SystemsOfCoupledPointsAreSolvedToTheSameAccuracy) {
  constexpr Eigen::Index n_points = 250;
  constexpr Eigen::Index n_motions = 12;
  Eigen::MatrixXd G(3 * n_points, n_motions);
  for (Eigen::Index i = 0; i < G.rows(); ++i) {
    for (Eigen::Index k = 0; k < n_motions; ++k) {
      G(i, k) = std::cos(0.01 * static_cast<double>(i * (k + 1)) + static_cast<double>(i % 3));
    }
  }
  const Eigen::MatrixXd C = G * G.transpose() + 3e-4 * Eigen::MatrixXd::Identity(G.rows(), G.rows());
  std::vector<double> blocks(static_cast<std::size_t>(9 * n_points * n_points));
  for (Eigen::Index j = 0; j < n_points; ++j) {
    for (Eigen::Index i = 0; i < n_points; ++i) {
      Eigen::Map<Matrix3>(blocks.data() + 9 * (j * n_points + i)) = C.block<3, 3>(3 * i, 3 * j);
    }
  }
  const SurfaceCompliance compliance(n_points, std::move(blocks));
  std::vector<std::uint32_t> nodes(n_points);
  std::iota(nodes.begin(), nodes.end(), 0U);
  const LocalCompliance B(compliance, nodes, std::vector<Matrix3>(n_points, Matrix3::Identity()));
  std::vector<NodeLinearisation> active(n_points);
  for (NodeLinearisation& node : active) node.active = true;
  DirectionFactors factors;
  FrictionSystem system(B, active, factors);
  const Eigen::VectorXd rhs = C * Eigen::VectorXd::Random(C.rows());
  const Eigen::VectorXd x = system.solve(rhs, 1e-4).x;
  EXPECT_LT((C * x - rhs).norm(), 2e-4 * rhs.norm());
}

// Newton's matrix of nodes of which some have begun to slide, some have lost their force and some have become active
// since the commit: all but the last are in the inverse.
TEST(ContactSolver, CommittedInverseFollowsTheStatesOfNodes) {
  const Patch patch = make_patch(6, 3);
  const auto n = static_cast<std::uint32_t>(patch.points.size());
  std::vector<CommittedContactNode> committed;
  for (std::uint32_t i = 0; i < n; ++i) {
    committed.push_back({.axes = contact_axes(Matrix3::Identity(), patch.near.normals[i]),
                         .force = i % 9 == 4 ? Vector3(Vector3::Zero()) : patch.near.normals[i]});
  }
  const CommittedFriction kept(patch.compliance, committed);
  ASSERT_TRUE(kept.valid());
  for (const bool with_new : {false, true}) {
    std::vector<NodeLinearisation> nodes(n);
    Eigen::MatrixXd J = Eigen::MatrixXd::Identity(3 * n, 3 * n);
    const Eigen::MatrixXd B = kept.B().dense();
    for (std::uint32_t i = 0; i < n; ++i) {
      NodeLinearisation& node = nodes[i];
      node.axes = committed[i].axes;
      node.active = i % 9 == 4 ? with_new : i % 7 != 2;
      node.slides = node.active && i % 3 == 0;
      if (node.slides) {
        const Eigen::Vector2d t(std::cos(0.1 * i), std::sin(0.1 * i));
        node.S.bottomRightCorner<2, 2>() = 0.9 * (Eigen::Matrix2d::Identity() - t * t.transpose());
        node.E.bottomRightCorner<2, 2>() =
            (Eigen::Matrix2d::Identity() - node.S.bottomRightCorner<2, 2>()) * B(3 * i + 1, 3 * i + 1);
        node.E.bottomLeftCorner<2, 1>() = -0.3 * B(3 * i + 1, 3 * i + 1) * t;
      }
    }
    for (std::uint32_t i = 0; i < n; ++i) {
      if (!nodes[i].active) continue;
      for (std::uint32_t j = 0; j < n; ++j) {
        if (nodes[j].active)
          J.block<3, 3>(3 * i, 3 * j) = nodes[i].S * B.block<3, 3>(3 * i, 3 * j);
        else
          J.block<3, 3>(3 * i, 3 * j).setZero();
      }
      J.block<3, 3>(3 * i, 3 * i) += nodes[i].E;
    }
    Eigen::MatrixXd rhs = Eigen::MatrixXd::Random(3 * n, 2);
    for (std::uint32_t i = 0; i < n; ++i) {
      if (!nodes[i].active) rhs.middleRows<3>(3 * i).setZero();
    }
    // Single precision times the condition of J, which is below 1e4 for such patches.
    const Eigen::MatrixXd x = CommittedInverse(kept, nodes).solve(rhs);
    if (!with_new) {
      EXPECT_LT((J * x - rhs).norm(), 1e-3 * rhs.norm());
    }
    FrictionSystem system(kept, nodes);
    const auto [solved, Bx] = system.solve(rhs, 1e-5);
    EXPECT_LT((J * solved - rhs).norm(), 2e-5 * rhs.norm()) << with_new;
    EXPECT_LT((B * solved - Bx).norm(), 1e-6 * Bx.norm());
  }
}

TEST(ContactSolver, SweptDisplacementsFollowTheForces) {
  const Patch patch = make_patch(6, 11);
  const std::vector<std::uint32_t> nodes{0, 3, 4, 7, 9, 12, 17, 18, 21, 22, 25, 30, 31, 33, 35};
  const std::vector<Matrix3> frames(nodes.size(), rotation_from_vector(Vector3(0.3, -0.2, 0.5)));
  const LocalCompliance local(patch.compliance, nodes, frames);
  const Eigen::MatrixXd B = local.dense();
  Eigen::VectorXd forces = Eigen::VectorXd::Random(B.rows());
  SweptDisplacements swept(local, B * forces);
  for (int sweep = 0; sweep < 3; ++sweep) {
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if (i % 4 == 2) continue;  // keeps its force
      const auto row = 3 * static_cast<Eigen::Index>(i);
      const Eigen::Vector3f u = swept.at(i);
      const Vector3 expected = (B * forces).segment<3>(row);
      EXPECT_LT((u.cast<double>() - expected).norm(), 1e-3 * B.diagonal().maxCoeff() * forces.norm());
      if (i % 4 == 3) continue;  // is only examined
      const Eigen::Vector3f change = Eigen::Vector3f::Random();
      swept.load(i, change);
      forces.segment<3>(row) += change.cast<double>();
    }
  }
}

}  // namespace
}  // namespace heelstrike::fem
