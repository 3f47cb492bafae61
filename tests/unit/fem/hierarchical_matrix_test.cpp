// Compressed compliances: error bound, positive definiteness, products and blocks, contact forces beside dense ones.
#include "fem_server/fem/hierarchical_matrix.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <random>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "common/errors/error.hpp"
#include "common/process/parallel.hpp"
#include "fem_server/fem/condensation.hpp"
#include "tests/unit/fem/test_contact.hpp"
#include "tests/unit/fem/test_meshes.hpp"
#include "tests/unit/fem/two_bodies.hpp"

namespace heelstrike::fem {
namespace {

std::vector<std::uint32_t> first_points(std::size_t n) {
  std::vector<std::uint32_t> points(n);
  std::iota(points.begin(), points.end(), 0U);
  return points;
}

/// Points of a sphere, spirally.
std::vector<Vector3> sphere_points(std::size_t n) {
  std::vector<Vector3> points;
  for (std::size_t i = 0; i < n; ++i) {
    const double z = 1.0 - (2.0 * static_cast<double>(i) + 1.0) / static_cast<double>(n);
    const double angle = 2.399963 * static_cast<double>(i);
    const double r = std::sqrt(1.0 - z * z);
    points.emplace_back(r * std::cos(angle), r * std::sin(angle), z);
  }
  return points;
}

/// Kelvin's solution, without its factor, for forces spread over a radius h.
Matrix3 kelvin(const Vector3& d, double h) {
  const double r = std::sqrt(d.squaredNorm() + h * h);
  return Matrix3::Identity() * (1.0 / r) + d * d.transpose() / (r * r * r);
}

Eigen::MatrixXd kelvin_matrix(const std::vector<Vector3>& points, std::span<const std::uint32_t> rows,
                              std::span<const std::uint32_t> columns, double h) {
  Eigen::MatrixXd matrix(3 * std::ssize(rows), 3 * std::ssize(columns));
  for (std::size_t j = 0; j < columns.size(); ++j) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      matrix.block<3, 3>(3 * static_cast<Eigen::Index>(i), 3 * static_cast<Eigen::Index>(j)) =
          kelvin(points[rows[i]] - points[columns[j]], h);
    }
  }
  return matrix;
}

struct Compressed {
  std::vector<Vector3> points;
  HierarchicalMatrix matrix;
  Eigen::MatrixXd exact;
};

Compressed compressed_kelvin(std::size_t n, double tolerance, std::size_t n_threads) {
  std::vector<Vector3> points = sphere_points(n);
  const double h = std::sqrt(4.0 * M_PI / static_cast<double>(n));
  const ClusterTree tree = make_cluster_tree(points, 16);
  const std::vector<double> weights(n, 1.0);
  HierarchicalMatrix::Builder builder(tree, weights, tolerance);
  for_each_in_parallel(tree.leaves.size(), n_threads, [&](std::size_t leaf) {
    const Cluster& c = tree.clusters[tree.leaves[leaf]];
    const auto rows = std::span(tree.order).subspan(c.begin);
    builder.add(leaf, kelvin_matrix(points, rows, rows.first(c.size()), h));
  });
  HierarchicalMatrix matrix = builder.finish();
  const std::vector<std::uint32_t> all = first_points(n);
  Eigen::MatrixXd exact = kelvin_matrix(points, all, all, h);
  return {std::move(points), std::move(matrix), std::move(exact)};
}

Eigen::MatrixXd dense(const HierarchicalMatrix& matrix, const std::vector<std::uint32_t>& points) {
  return SurfaceCompliance(points.size(), matrix.blocks(points)).dense();
}

TEST(ClusterTree, HalvesItsPointsAndKeepsThemAll) {
  const std::vector<Vector3> points = sphere_points(1000);
  const ClusterTree tree = make_cluster_tree(points, 32);
  std::vector<bool> found(points.size(), false);
  std::uint32_t end = 0;
  for (const std::uint32_t leaf : tree.leaves) {
    const Cluster& c = tree.clusters[leaf];
    EXPECT_EQ(c.begin, end);
    EXPECT_LE(c.size(), 32U);
    end = c.end;
    for (std::uint32_t k = c.begin; k < c.end; ++k) {
      found[tree.order[k]] = true;
      EXPECT_EQ(tree.place[tree.order[k]], k);
      EXPECT_TRUE((points[tree.order[k]].array() >= c.lower.array()).all());
      EXPECT_TRUE((points[tree.order[k]].array() <= c.upper.array()).all());
    }
  }
  EXPECT_EQ(end, 1000U);
  EXPECT_THAT(found, testing::Each(true));
  EXPECT_TRUE(make_cluster_tree({}, 32).clusters.empty());
}

TEST(LowRankFactors, HaveTheLeastRankWithinTheTolerance) {
  // Singular values 1, 1/10, 1/100 ...
  const Eigen::Index n = 40;
  const Eigen::MatrixXd Q = Eigen::HouseholderQR<Eigen::MatrixXd>(Eigen::MatrixXd::Random(n, n)).householderQ();
  const Eigen::MatrixXd P = Eigen::HouseholderQR<Eigen::MatrixXd>(Eigen::MatrixXd::Random(n, n)).householderQ();
  Eigen::VectorXd s(n);
  for (Eigen::Index i = 0; i < n; ++i) s[i] = std::pow(10.0, -double(i));
  const Eigen::MatrixXd A = Q * s.asDiagonal() * P.transpose();
  for (const double tolerance : {1e-2, 1e-6, 1e-12, 2.0}) {
    const LowRankFactors found = truncated(A, tolerance);
    EXPECT_LE((found.U * found.V.transpose() - A).norm(), tolerance) << tolerance;
    const Eigen::Index optimal = (s.array() > tolerance).count();
    EXPECT_LE(found.U.cols(), optimal + 1) << tolerance;
  }
  EXPECT_EQ(truncated(Eigen::MatrixXd::Zero(6, 9), 1e-9).U.cols(), 0);
}

TEST(PackedColumns, HaveTheFewestBytesThatKeepTheError) {
  const Eigen::VectorXd column = Eigen::VectorXd::Random(60);
  std::size_t before = 0;
  for (const double error : {1e-1, 1e-4, 1e-8, 1e-13}) {
    PackedColumns packed;
    packed.append(column, error);
    double square = 0.0;
    for (std::size_t i = 0; i < 60; ++i) square += std::pow(packed.value(0, i) - column[Eigen::Index(i)], 2);
    EXPECT_LE(std::sqrt(square), error);
    EXPECT_GT(packed.n_bytes(), before);
    before = packed.n_bytes();
  }
  // Below the rounding of the longest integers, the largest number keeps its sign.
  Eigen::VectorXd extreme = column;
  extreme[7] = 1.2345;
  extreme[8] = -1.2345;
  PackedColumns longest;
  longest.append(extreme, 1e-300);
  EXPECT_NEAR(longest.value(0, 7), 1.2345, 1e-14);
  EXPECT_NEAR(longest.value(0, 8), -1.2345, 1e-14);
  PackedColumns packed;
  packed.append(Eigen::VectorXd::Zero(6), 0.1);
  packed.append(Eigen::VectorXd::Constant(6, -1e-300), 1e-310);
  EXPECT_EQ(packed.value(0, 5), 0.0);
  EXPECT_NEAR(packed.value(1, 5), -1e-300, 1e-310);
  Eigen::MatrixXd symmetric = Eigen::MatrixXd::Random(9, 9);
  symmetric = (symmetric + symmetric.transpose()).eval();
  PackedColumns matrix;
  matrix.append_matrix(symmetric, 1e-3);
  for (std::size_t i = 0; i < 9; ++i) {
    for (std::size_t j = 0; j < 9; ++j) EXPECT_EQ(matrix.value(j, i), matrix.value(i, j));
  }
}

TEST(HierarchicalMatrix, ErrorIsWithinTheToleranceInTheSpectralNorm) {
  for (const double tolerance : {1e-3, 1e-6, 1e-9}) {
    const Compressed c = compressed_kelvin(250, tolerance, 1);
    const std::vector<std::uint32_t> all = first_points(250);
    const Eigen::MatrixXd E = dense(c.matrix, all) - c.exact;
    EXPECT_EQ((E - E.transpose()).cwiseAbs().maxCoeff(), 0.0);
    const double error = Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>(E).eigenvalues().cwiseAbs().maxCoeff();
    std::printf("tolerance %.0e: error %.2e, %.3f of the dense matrix, %zu low-rank blocks of mean rank %.1f\n",
                tolerance, error, static_cast<double>(c.matrix.n_bytes()) / (8.0 * static_cast<double>(E.size())),
                c.matrix.n_low_rank_blocks(), c.matrix.mean_rank());
    EXPECT_LE(error, tolerance);
    EXPECT_GT(c.matrix.n_low_rank_blocks(), 0U);
    EXPECT_LT(c.matrix.n_bytes(), sizeof(double) * static_cast<std::size_t>(E.size()));
    for (const std::uint32_t i : {0U, 125U, 249U}) {
      EXPECT_LE((c.matrix.self(i) - c.exact.block<3, 3>(3 * i, 3 * i)).norm(), tolerance);
    }
  }
}

TEST(HierarchicalMatrix, BlocksAndProductsOfAnySelectionAgree) {
  const Compressed c = compressed_kelvin(600, 1e-8, 1);
  std::mt19937 random(7);
  for (const std::size_t n : {1U, 5U, 60U, 600U}) {
    std::vector<std::uint32_t> points = first_points(600);
    std::ranges::shuffle(points, random);
    points.resize(n);
    std::ranges::sort(points);
    const Eigen::MatrixXd found = dense(c.matrix, points);
    const Eigen::MatrixXd exact = kelvin_matrix(c.points, points, points, std::sqrt(4.0 * M_PI / 600.0));
    EXPECT_LE((found - exact).norm(), 1e-8 * static_cast<double>(n));
    const Eigen::VectorXd x = Eigen::VectorXd::Random(3 * static_cast<Eigen::Index>(n));
    const std::vector<std::uint32_t> all = first_points(600);
    const Eigen::VectorXd y = c.matrix.product(all, points, x);
    const Eigen::VectorXd expected = kelvin_matrix(c.points, all, points, std::sqrt(4.0 * M_PI / 600.0)) * x;
    EXPECT_LE((y - expected).norm(), 1e-8 * x.norm());
    EXPECT_LE((c.matrix.product(points, points, x) - found * x).norm(), 1e-13 * expected.norm());
    // The bits of a block do not depend on the selection.
    const std::vector<double> of_all = c.matrix.blocks(all);
    const std::vector<double> of_some = c.matrix.blocks(points);
    for (std::size_t j = 0; j < n; j += 7) {
      for (std::size_t i = 0; i < n; i += 5) {
        const auto some = of_some.begin() + static_cast<std::ptrdiff_t>(9 * (j * n + i));
        const auto same = of_all.begin() + static_cast<std::ptrdiff_t>(9 * (600 * std::size_t{points[j]} + points[i]));
        EXPECT_TRUE(std::equal(some, some + 9, same));
      }
    }
  }
  EXPECT_TRUE(c.matrix.blocks({}).empty());
}

TEST(HierarchicalMatrix, BitsDependNeitherOnThreadsNorOnAFile) {
  const Compressed one = compressed_kelvin(500, 1e-6, 1);
  const Compressed several = compressed_kelvin(500, 1e-6, 4);
  const std::string bytes = one.matrix.bytes();
  EXPECT_TRUE(bytes == several.matrix.bytes());
  const HierarchicalMatrix read = HierarchicalMatrix::from_bytes(bytes);
  const std::vector<std::uint32_t> all = first_points(500);
  EXPECT_EQ(read.blocks(all), one.matrix.blocks(all));
  EXPECT_TRUE(read.bytes() == bytes);
  EXPECT_EQ(read.self(17), one.matrix.self(17));
  for (const std::size_t n : {0UL, 7UL, 100UL, bytes.size() - 1}) {
    EXPECT_THROW((void)HierarchicalMatrix::from_bytes(std::string_view(bytes).substr(0, n)), Error) << n;
  }
  // Of another version: numbers out of range are found before any is used.
  std::mt19937 random(3);
  for (int k = 0; k < 100; ++k) {
    std::string other = bytes;
    other[random() % 20000] = static_cast<char>(random());
    try {
      (void)HierarchicalMatrix::from_bytes(other).blocks(std::vector<std::uint32_t>{3, 77, 401});
    } catch (const Error&) {
    }
  }
  EXPECT_THROW((void)HierarchicalMatrix::from_bytes(bytes + "x"), Error);
}

// Among these blocks are some whose vectors Eigen 3.4's divide and conquer returns wrong.
TEST(HierarchicalMatrix, EveryBlockIsWithinTheTolerance) {
  constexpr std::size_t n = 900;
  constexpr double tolerance = 1e-3;
  const Compressed c = compressed_kelvin(n, tolerance, 2);
  const Eigen::MatrixXd E = dense(c.matrix, first_points(n)) - c.exact;
  EXPECT_LE(E.cwiseAbs().maxCoeff(), tolerance);
}

/// x . E x <= tolerance x . C x for all loads x: the guarantee of the option.
TEST(CompressedCompliance, ErrorIsWithinTheToleranceInTheEnergyNorm) {
  for (const bool relief : {false, true}) {
    const BodyModel body(test::block_mesh({0.0, 0.0, 0.0}, {0.06, 0.05, 0.02}, 16, 14, 4),
                         std::vector<Material>{test::soft_material(0.3)});
    Support support{.inertia_relief = relief, .clamped_nodes = {}};
    if (!relief) support.clamped_nodes = body.mesh().node_sets.at("z1");
    const auto& candidates = body.mesh().node_sets.at("z0");
    const auto quiet = [](std::string_view, double) {};
    const Eigen::MatrixXd C = condense(body, support, candidates, quiet, {}).dense();
    for (const double tolerance : {1e-2, 1e-6}) {
      const SurfaceCompliance compressed = condense_compressed(body, support, candidates, tolerance, quiet, {});
      ASSERT_NE(compressed.compressed(), nullptr);
      const Eigen::MatrixXd E = dense(*compressed.compressed(), first_points(candidates.size())) - C;
      const Eigen::GeneralizedSelfAdjointEigenSolver<Eigen::MatrixXd> ratio(E, C);
      const double error = ratio.eigenvalues().cwiseAbs().maxCoeff();
      std::printf("%s, tolerance %.0e: error in the energy norm %.2e, %zu low-rank blocks of mean rank %.1f\n",
                  relief ? "relief" : "clamped", tolerance, error, compressed.compressed()->n_low_rank_blocks(),
                  compressed.compressed()->mean_rank());
      EXPECT_LE(error, tolerance);
      EXPECT_GT(error, 0.0);
    }
  }
}

// With inertia relief the bound needs inertia away from the contact nodes.
TEST(CompressedCompliance, RejectsABodyWithAllInertiaInItsContactNodes) {
  const BodyModel body(test::block_mesh({0.0, 0.0, 0.0}, {0.06, 0.05, 0.02}, 3, 3, 1),
                       std::vector<Material>{test::soft_material(0.3)});
  std::vector<std::uint32_t> candidates = first_points(body.mesh().nodes.size());
  // Three corners remain for the isostatic support.
  std::erase_if(candidates, [&](std::uint32_t node) {
    const Vector3& p = body.mesh().nodes[node];
    const bool is_corner = (p.x() < 0.001 || p.x() > 0.059) && (p.y() < 0.001 || p.y() > 0.049);
    return is_corner && p.z() < 0.001 && (p.x() < 0.001 || p.y() < 0.001);
  });
  const Support support{.inertia_relief = true, .clamped_nodes = {}};
  const auto quiet = [](std::string_view, double) {};
  EXPECT_NO_THROW((void)condense(body, support, candidates, quiet, {}));
  try {
    (void)condense_compressed(body, support, candidates, 1e-6, quiet, {});
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("use compliance: dense"));
  }
}

// Weights by stiffness would give no bound for soft and stiff contact nodes of one free body.
TEST(CompressedCompliance, KeepsItsBoundOnMaterialsOfDifferentStiffness) {
  VolumeMesh mesh = test::block_mesh({0.0, 0.0, 0.0}, {0.06, 0.05, 0.02}, 12, 10, 4);
  for (std::uint32_t e = 0; e < mesh.n_elements(); ++e) {
    double x = 0.0;
    for (std::uint32_t k = 0; k < 4; ++k) x += 0.25 * mesh.nodes[mesh.connectivity[4 * std::size_t{e} + k]].x();
    mesh.element_sets[x < 0.03 ? "soft" : "stiff"].push_back(e);
  }
  Material soft = test::soft_material(0.3);
  Material stiff = soft;
  soft.set = "soft";
  stiff.set = "stiff";
  stiff.youngs_modulus *= 1e5;
  const BodyModel body(std::move(mesh), std::vector<Material>{soft, stiff});
  const auto& candidates = body.mesh().node_sets.at("z0");
  const auto quiet = [](std::string_view, double) {};
  const Support support{.inertia_relief = true, .clamped_nodes = {}};
  const Eigen::MatrixXd C = condense(body, support, candidates, quiet, {}).dense();
  const SurfaceCompliance compressed = condense_compressed(body, support, candidates, 1e-3, quiet, {});
  const Eigen::MatrixXd E = dense(*compressed.compressed(), first_points(candidates.size())) - C;
  const Eigen::GeneralizedSelfAdjointEigenSolver<Eigen::MatrixXd> ratio(E, C);
  EXPECT_GT(compressed.compressed()->n_low_rank_blocks(), 0U);
  EXPECT_LE(ratio.eigenvalues().cwiseAbs().maxCoeff(), 1e-3);
}

TEST(CompressedCompliance, StopsOnRequestAndReportsOnTheThreadOfTheCaller) {
  const BodyModel body(test::block_mesh({0.0, 0.0, 0.0}, {0.06, 0.05, 0.02}, 16, 14, 4),
                       std::vector<Material>{test::soft_material(0.3)});
  const Support support{.inertia_relief = false, .clamped_nodes = body.mesh().node_sets.at("z1")};
  std::stop_source stop;
  const std::thread::id caller = std::this_thread::get_id();
  const auto stop_in_panels = [&](std::string_view, double fraction) {
    EXPECT_EQ(std::this_thread::get_id(), caller);
    if (fraction > 0.5) stop.request_stop();
  };
  try {
    (void)condense_compressed(body, support, body.mesh().node_sets.at("z0"), 1e-6, stop_in_panels, stop.get_token());
    FAIL() << "not stopped";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::cancelled);
  }
}

/// Commits a few steps of a contact and returns the response at a pose not committed.
Response response_after_steps(const CondensedContact& contact, const std::vector<PairState>& states) {
  std::shared_ptr<const History> history = contact.initial_history();
  for (std::size_t i = 0; i + 1 < states.size(); ++i) history = contact.commit(*history, states[i]).history;
  return contact.evaluate(*history, states.back());
}

void expect_close(const Response& found, const Response& dense, double tolerance, const char* what) {
  const double force = (found.F_A.force - dense.F_A.force).norm() / dense.F_A.force.norm();
  const double torque = (found.F_A.torque - dense.F_A.torque).norm() / dense.F_A.torque.norm();
  const double tangent = (found.dF_A_dX - dense.dF_A_dX).norm() / dense.dF_A_dX.norm();
  const double pressure = std::abs(found.peak_pressure / dense.peak_pressure - 1.0);
  std::printf("%s: relative errors of force %.1e, torque %.1e, tangent %.1e, peak pressure %.1e\n", what, force, torque,
              tangent, pressure);
  EXPECT_LE(force, tolerance) << what;
  EXPECT_LE(torque, tolerance) << what;
  // Derivatives and single nodes have larger constants than the total force; the active sets are the same.
  EXPECT_LE(tangent, 10.0 * tolerance) << what;
  EXPECT_LE(pressure, 10.0 * tolerance) << what;
  EXPECT_EQ(found.statistics.active_points, dense.statistics.active_points) << what;
}

TEST(CompressedCompliance, GivesTheContactForcesOfTheDenseOne) {
  constexpr double tolerance = 1e-6;
  std::vector<PairState> states(4);
  for (std::size_t i = 0; i < states.size(); ++i) {
    states[i].t = 0.01 * static_cast<double>(i);
    states[i].X_AB.p = Vector3(1e-4 * static_cast<double>(i), 0.0, 2e-4 + 1e-4 * static_cast<double>(i));
    states[i].X_AB.R = rotation_from_vector(Vector3(0.01, 0.02, 0.0));
    states[i].V_AB.v = Vector3(0.01, 0.0, 0.01);
  }
  for (const double friction : {0.0, 0.4}) {
    test::BlockOptions options{.n = 14};
    options.options.friction = friction;
    const auto dense = test::make_block(options, std::make_shared<test::Plane>());
    options.compression = tolerance;
    const auto compressed = test::make_block(options, std::make_shared<test::Plane>());
    ASSERT_GT(compressed->model().compliance.compressed()->n_low_rank_blocks(), 0U);
    expect_close(response_after_steps(*compressed, states), response_after_steps(*dense, states), tolerance,
                 friction > 0.0 ? "plane with friction" : "plane");
  }
}

TEST(CompressedCompliance, GivesTheContactForcesOfTwoDeformableBodies) {
  constexpr double tolerance = 1e-6;
  const test::SolidBody main =
      test::solid_body(test::columns::above(12), test::columns::material(test::columns::E_A), "z1");
  const test::SolidBody partner =
      test::solid_body(test::columns::below(10), test::columns::material(test::columns::E_B), "z0");
  std::vector<PairState> states(3);
  for (std::size_t i = 0; i < states.size(); ++i) {
    states[i].t = 0.01 * static_cast<double>(i);
    states[i].X_AB.p = Vector3(0.0, 2e-5 * static_cast<double>(i), 1e-4 + 5e-5 * static_cast<double>(i));
  }
  for (const double friction : {0.0, 0.3}) {
    ContactOptions options{.max_penetration = 0.01};
    options.friction = friction;
    expect_close(response_after_steps(*test::two_bodies(main, partner, options, tolerance), states),
                 response_after_steps(*test::two_bodies(main, partner, options), states), tolerance,
                 friction > 0.0 ? "two bodies with friction" : "two bodies");
  }
}

}  // namespace
}  // namespace heelstrike::fem
