// Condenses blocks of every kind of element on the ranks started by mpirun, and compares with one process: clamped and
// free bodies of two materials, dense and compressed, vibration modes, and the errors that have to leave no rank
// behind.
//
// mpirun -n N condense_on_ranks
//
// Every rank ends with 0 when all is as expected.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "common/errors/error.hpp"
#include "fem_server/fem/body_model.hpp"
#include "fem_server/fem/condensation.hpp"
#include "fem_server/fem/rank_team.hpp"
#include "fem_server/fem/vibration_modes.hpp"
#include "tests/unit/fem/test_meshes.hpp"

namespace {

using namespace heelstrike;
using namespace heelstrike::fem;

constexpr double agreement = 1e-10;  // of the largest value: required
constexpr double tolerance = 1e-6;   // of the compression
constexpr std::size_t n_modes = 6;

struct Case {
  std::string name;
  BodyModel body;
  Support support;
  std::vector<std::uint32_t> candidates;
};

/// A block of two materials, one of which is nearly incompressible where the element allows it.
BodyModel block(const ElementKind& kind) {
  VolumeMesh mesh =
      heelstrike::fem::test::block_mesh_of(kind.n_nodes, {0.01, -0.02, 0.0}, {0.05, 0.012, 0.023}, 5, 4, 3);
  for (std::uint32_t e = 0; e < mesh.n_elements() / 3; ++e) mesh.element_sets["third"].push_back(e);
  const std::vector<Material> materials{
      {.youngs_modulus = 3.62e6, .poissons_ratio = 0.3, .density = 1000.0, .set = ""},
      {.youngs_modulus = 1.1e6, .poissons_ratio = kind.mixed() ? 0.49 : 0.4, .density = 1300.0, .set = "third"}};
  return {std::move(mesh), materials, kind.pressure};
}

std::vector<Case> cases() {
  std::vector<Case> result;
  for (const ElementKind& kind : element_kinds()) {
    for (const bool free : {false, true}) {
      BodyModel body = block(kind);
      const auto& sets = body.mesh().node_sets;
      Support support{.inertia_relief = free, .clamped_nodes = {}};
      if (!free) support.clamped_nodes = sets.at("z1");
      std::vector<std::uint32_t> candidates = sets.at("z0");
      result.push_back({.name = fmt::format("{} {}", kind.name, free ? "free" : "clamped"),
                        .body = std::move(body),
                        .support = std::move(support),
                        .candidates = std::move(candidates)});
    }
  }
  return result;
}

void no_progress(std::string_view, double) {}

/// Results of a case, one after the other.
struct Results {
  Eigen::MatrixXd dense;
  Eigen::MatrixXd compressed;
  Eigen::MatrixXd stiffness;  ///< on the candidates
  VibrationModes modes;
};

Eigen::MatrixXd decompressed(const HierarchicalMatrix& matrix) {
  std::vector<std::uint32_t> all(matrix.n_points());
  std::iota(all.begin(), all.end(), 0U);
  return SurfaceCompliance(all.size(), matrix.blocks(all)).dense();
}

Results results_of(const Case& own) {
  const auto compressed = condense_compressed(own.body, own.support, own.candidates, tolerance, no_progress, {});
  return {.dense = condense(own.body, own.support, own.candidates, no_progress, {}).dense(),
          .compressed = decompressed(*compressed.compressed()),
          .stiffness = condensed_stiffness(own.body, own.support.clamped_nodes, own.candidates),
          .modes = vibration_modes(own.body, own.support, n_modes, {})};
}

bool is_close(const std::string& what, const Eigen::MatrixXd& found, const Eigen::MatrixXd& expected, double limit) {
  const double scale = expected.cwiseAbs().maxCoeff();
  const double difference = (found - expected).cwiseAbs().maxCoeff() / scale;
  fmt::print("{}: largest {:.6e}, difference {:.2e} of it (limit {:.0e})\n", what, scale, difference, limit);
  return found.size() > 0 && difference <= limit;
}

bool are_alike(const Case& own, const Results& found, const Results& expected) {
  bool alike = is_close(own.name + ", dense", found.dense, expected.dense, agreement);
  // Rounding decides about ranks of blocks at the tolerance: both are as close to the dense one.
  alike = is_close(own.name + ", compressed", found.compressed, expected.compressed, tolerance) && alike;
  alike = is_close(own.name + ", stiffness", found.stiffness, expected.stiffness, agreement) && alike;
  alike = is_close(own.name + ", frequencies", found.modes.frequencies, expected.modes.frequencies, agreement) && alike;
  Eigen::MatrixXd shapes = found.modes.shapes;
  for (Eigen::Index k = 0; k < shapes.cols(); ++k) {
    if (shapes.col(k).dot(expected.modes.shapes.col(k)) < 0.0) shapes.col(k) *= -1.0;
  }
  // Shapes are defined to the rounding of K over the distance of the frequencies, a few percent here.
  return is_close(own.name + ", shapes", shapes, expected.modes.shapes, 1e-8) && alike;
}

/// @return whether `action` throws an error of this kind with this text
bool rejects(const std::string& what, ErrorCode code, const std::string& part, const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    fmt::print("{}: {}\n", what, error.what());
    return error.code() == code && std::string(error.what()).find(part) != std::string::npos;
  }
  fmt::print("{}: expected an error\n", what);
  return false;
}

bool errors_are_as_expected() {
  const BodyModel body = block(default_element(4));
  const auto candidates = body.mesh().node_sets.at("z0");
  const auto condense_with = [&](const Support& support, const MemoryLimit& limit) {
    (void)condense(body, support, candidates, no_progress, {}, limit);
  };
  const Support clamp{.inertia_relief = false, .clamped_nodes = body.mesh().node_sets.at("z1")};
  const bool limit = rejects("memory", ErrorCode::limit, "ranks", [&] { condense_with(clamp, {.bytes = 1e5}); });
  // An edge leaves the rotation about it free.
  Support edge = clamp;
  std::erase_if(edge.clamped_nodes, [&](std::uint32_t node) { return body.mesh().nodes[node].x() > 0.011; });
  return rejects("support", ErrorCode::invalid_input, "singular", [&] { condense_with(edge, {}); }) && limit;
}

bool leads_as_expected(const std::vector<Case>& all, const std::vector<Results>& expected) {
  bool alike = errors_are_as_expected();
  for (std::size_t k = 0; k < all.size(); ++k) alike = are_alike(all[k], results_of(all[k]), expected[k]) && alike;
  return alike;
}

}  // namespace

int main() {
  try {
    const std::vector<Case> all = cases();
    std::vector<Results> expected;
    // Before the ranks work together. Only rank 0 compares.
    const char* rank = std::getenv("OMPI_COMM_WORLD_RANK");
    if (rank == nullptr || std::string(rank) == "0") {
      for (const Case& own : all) expected.push_back(results_of(own));
    }
    const std::unique_ptr<RankSession> ranks = join_team([](const Error& loss) {
      fmt::print("{}\n", loss.what());
      std::_Exit(1);
    });
    if (ranks != nullptr && !ranks->leads()) {
      ranks->follow();
      return 0;
    }
    if (ranks == nullptr) return 0;  // one rank: that is the serial code
    return leads_as_expected(all, expected) ? 0 : 1;
  } catch (const Error& e) {
    fmt::print("{}\n", e.what());
    return 1;
  }
}
