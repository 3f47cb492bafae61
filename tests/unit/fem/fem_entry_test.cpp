// The back-end as opened by users: from a specification, with the mesher, with the cache on disk.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <numbers>
#include <thread>

#include "common/errors/error.hpp"
#include "fem_server/backend_interface/backend.hpp"
#include "fem_server/backend_interface/preparation_locks.hpp"
#include "fem_server/fem/compliance_cache.hpp"
#include "fem_server/geometry/write_mesh.hpp"
#include "scenario/surfaces/block.hpp"
#include "scenario/surfaces/cylinder.hpp"
#include "scenario/surfaces/mesh.hpp"
#include "scenario/surfaces/plane.hpp"
#include "scenario/surfaces/sphere.hpp"
#include "tests/unit/fem/test_meshes.hpp"

namespace heelstrike::fem {
namespace {

class FemEntry : public testing::Test {
 protected:
  FemEntry() {
    ::setenv("HEELSTRIKE_MESHER", HEELSTRIKE_BIN_DIR "/heelstrike-mesher", 1);
    directory_ = std::filesystem::temp_directory_path() / ("heelstrike_cache_" + std::to_string(::getpid()));
    pair_.name = "ball-ground";
    pair_.backend = "fem_condensed";
    pair_.main.surface = SphereSurface{.radius = 0.1, .center = Vector3::Zero()};
    pair_.main.materials = {{.youngs_modulus = 302.2e6, .poissons_ratio = 0.3, .density = 238.7, .set = ""}};
    pair_.partner.surface = PlaneSurface{};
    pair_.parameters = {{"support", std::string("inertia_relief")},
                        {"element_size", 0.04},
                        {"contact_size", 0.012},
                        {"contact_radius", 0.02},
                        {"contact_angle", 0.6},
                        {"contact_direction", std::vector<double>{0.0, 0.0, -1.0}}};
    context_.on_progress = [this](std::string_view stage, double) { stages_.emplace_back(stage); };
    context_.cache_directory = directory_.string();
  }
  ~FemEntry() override { std::filesystem::remove_all(directory_); }

  [[nodiscard]] std::string rejection_error() const {
    try {
      (void)make_backend(pair_, context_);
    } catch (const Error& error) {
      return error.what();
    }
    return "accepted";
  }

  std::filesystem::path directory_;
  PairSpec pair_;
  PrepareContext context_;
  std::vector<std::string> stages_;
};

PairState pressed() {
  PairState state;
  state.X_AB.p = Vector3(0.0, 0.0, -0.099);
  return state;
}

// Existing caches of users remain valid: names of files are digests of the inputs of the mesher, or of the condensation
// of a block that needs no mesher.
TEST_F(FemEntry, CacheFilesAreFoundUnderTheNamesOfEarlierVersions) {
  pair_.main.materials = {{.youngs_modulus = 1e6, .poissons_ratio = 0.3, .density = 1000.0, .set = ""}};
  pair_.parameters = {{"support", std::string("inertia_relief")},
                      {"element_size", 0.03},
                      {"contact_direction", std::vector<double>{0.0, 0.0, -1.0}}};
  pair_.main.surface = SphereSurface{.radius = 0.1, .center = {0.1, 0, 0}};
  (void)make_backend(pair_, context_);
  EXPECT_TRUE(
      std::filesystem::exists(directory_ / "4f98257aedc2bab8d6a0a085569ce61610753b8db86fd62e90d3ef2eb7c72649.mesh"));
  pair_.main.surface = BlockSurface{.lengths = {0.1, 0.1, 0.1}, .center = {0, 0, 0.05}};
  (void)make_backend(pair_, context_);
  EXPECT_TRUE(std::filesystem::exists(directory_ /
                                      "447c4f963ac4b1552491bfe7b4cff210ca2b67a7198905922922b66932d75cdd.compliance"));
}

TEST_F(FemEntry, OpensABallAndTheCacheGivesTheSameBits) {
  const auto first = make_backend(pair_, context_);
  const Response r = first->evaluate(*first->initial_history(), pressed());
  EXPECT_GT(r.F_A.force.z(), 1000.0);
  EXPECT_LT(r.F_A.force.z(), 20000.0);
  EXPECT_THAT(stages_, testing::Contains("factorize"));

  stages_.clear();
  const auto second = make_backend(pair_, context_);
  EXPECT_THAT(stages_, testing::Contains("loaded from the cache"));
  EXPECT_EQ(second->evaluate(*second->initial_history(), pressed()).F_A.vector(), r.F_A.vector());

  for (const auto& entry : std::filesystem::directory_iterator(directory_)) {
    std::fstream file(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(1000);
    file.put('x');
  }
  stages_.clear();
  const auto third = make_backend(pair_, context_);
  for (const char* file : {".mesh", ".compliance"}) {
    EXPECT_THAT(stages_, testing::Contains(testing::HasSubstr(std::string(file) + " is corrupt; it will be rebuilt")));
  }
  EXPECT_EQ(third->evaluate(*third->initial_history(), pressed()).F_A.vector(), r.F_A.vector());
}

// Above the limit of the dense compliance it is compressed; the cache gives the same bits, and another tolerance or
// a damaged file another product.
TEST_F(FemEntry, CompressesManyCandidatesAndTheCacheGivesTheSameBits) {
  const auto force = [](const ContactBackend& contact) {
    return contact.evaluate(*contact.initial_history(), pressed()).F_A.vector();
  };
  const Vector6 dense = force(*make_backend(pair_, context_));
  pair_.parameters["max_candidates"] = 20.0;
  stages_.clear();
  const Vector6 compressed = force(*make_backend(pair_, context_));
  EXPECT_THAT(stages_, testing::Contains(testing::HasSubstr("contact nodes compressed to")));
  EXPECT_LE((compressed - dense).norm(), 1e-6 * dense.norm());
  stages_.clear();
  EXPECT_EQ(force(*make_backend(pair_, context_)), compressed);
  EXPECT_THAT(stages_, testing::Contains("loaded from the cache"));

  pair_.parameters["compression_tolerance"] = 1e-3;
  stages_.clear();
  (void)make_backend(pair_, context_);
  EXPECT_THAT(stages_, testing::Contains(testing::HasSubstr("contact nodes compressed to")));

  pair_.parameters.erase("compression_tolerance");
  for (const auto& entry : std::filesystem::directory_iterator(directory_)) {
    if (entry.path().extension() == ".compressed") std::filesystem::resize_file(entry.path(), 5000);
  }
  stages_.clear();
  EXPECT_EQ(force(*make_backend(pair_, context_)), compressed);
  EXPECT_THAT(stages_, testing::Contains(testing::HasSubstr(".compressed is corrupt; it will be rebuilt")));

  pair_.parameters["compliance"] = std::string("dense");
  EXPECT_THAT(rejection_error(),
              testing::AllOf(testing::HasSubstr("max_candidates is 20"), testing::HasSubstr("compliance: automatic")));
  pair_.backend = "fem_full";
  pair_.parameters.erase("compliance");
  EXPECT_THAT(rejection_error(), testing::HasSubstr("use fem_condensed, which compresses it"));
}

// Requirement: the full order with friction condenses its undeformed body once, shares it with fem_condensed through
// the cache, and stops when its client disconnects.
TEST_F(FemEntry, FullOrderReadsItsComplianceFromTheCacheAndStopsOnRequest) {
  pair_.parameters["friction"] = 0.3;
  (void)make_backend(pair_, context_);
  stages_.clear();
  pair_.backend = "fem_full";
  const auto from_cache = make_backend(pair_, context_);
  EXPECT_THAT(stages_, testing::Contains("loaded from the cache"));
  EXPECT_THAT(stages_, testing::Not(testing::Contains("condense")));
  context_.cache_directory.clear();
  const auto locally_made = make_backend(pair_, context_);
  const auto force = [](const ContactBackend& contact) {
    return contact.evaluate(*contact.initial_history(), pressed()).F_A.vector();
  };
  EXPECT_EQ(force(*from_cache), force(*locally_made)) << "bit for bit";
  context_.cache_directory = directory_.string();
  for (const double friction : {0.0, 0.3}) {
    pair_.parameters["friction"] = friction;
    std::stop_source client_lost;
    context_.stop = client_lost.get_token();
    client_lost.request_stop();
    try {
      (void)make_backend(pair_, context_);
      FAIL() << "prepared although stopped";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::cancelled) << error.what();
    }
  }
}

/// A layer on the underside of a free ball: its interior is condensed with its inertia.
class LayeredEntry : public FemEntry {
 protected:
  LayeredEntry() {
    pair_.backend = "fem_layered";
    pair_.parameters["layer_depth"] = 0.01;
  }
  /// Wrench and its tangent at the test pose.
  [[nodiscard]] static Eigen::Matrix<double, 6, 7> response(const ContactBackend& contact) {
    const Response r = contact.evaluate(*contact.initial_history(), pressed());
    Eigen::Matrix<double, 6, 7> both;
    both << r.F_A.vector(), r.dF_A_dX;
    return both;
  }
  [[nodiscard]] std::vector<std::filesystem::path> kept_interiors() const {
    std::vector<std::filesystem::path> found;
    std::error_code absent;
    for (const auto& entry : std::filesystem::directory_iterator(directory_, absent)) {
      if (entry.path().extension() == ".interior") found.push_back(entry.path());
    }
    return found;
  }
};

constexpr const char* making = "condense the interior";

TEST_F(LayeredEntry, InteriorFromTheCacheGivesTheSameBits) {
  const auto first = response(*make_backend(pair_, context_));
  EXPECT_GT(first(5, 0), 1000.0) << "[N]";
  EXPECT_THAT(stages_, testing::Contains(making));
  const auto reopened = [&] {
    stages_.clear();
    return response(*make_backend(pair_, context_));
  };
  EXPECT_EQ(reopened(), first);
  EXPECT_THAT(stages_, testing::Contains("interior loaded from the cache"));
  EXPECT_THAT(stages_, testing::Not(testing::Contains(making)));

  ASSERT_EQ(kept_interiors().size(), 1U);
  const auto damage = [&](std::streamoff place) {
    std::fstream file(kept_interiors()[0], std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(place);
    file.put('x');
  };
  for (const std::streamoff place : {5, 60, 1000}) {  // version, key, numbers
    damage(place);
    EXPECT_EQ(reopened(), first);
    EXPECT_THAT(stages_, testing::Contains(testing::HasSubstr("it will be rebuilt"))) << "byte " << place;
    EXPECT_THAT(stages_, testing::Contains(making));
  }
  std::filesystem::resize_file(kept_interiors()[0], 2000);
  EXPECT_EQ(reopened(), first);
  EXPECT_THAT(stages_, testing::Contains(testing::HasSubstr("has the wrong size; it will be rebuilt")));

  // Every input of the product makes another one.
  pair_.main.materials[0].density *= 2.0;
  (void)reopened();
  EXPECT_THAT(stages_, testing::Contains(making)) << "inertia relief: the density counts";
  pair_.parameters["layer_depth"] = 0.03;
  (void)reopened();
  EXPECT_THAT(stages_, testing::Contains(making)) << "another layer";
  EXPECT_EQ(kept_interiors().size(), 3U);
}

TEST_F(LayeredEntry, StopEndsTheCondensationOfTheInterior) {
  for (const double from : {0.0, 0.32, 0.45}) {  // before assembly, before the factorisation, between blocks of columns
    std::stop_source client_lost;
    context_.stop = client_lost.get_token();
    int calls_after = 0;
    context_.on_progress = [&](std::string_view stage, double fraction) {
      calls_after += client_lost.stop_requested() ? 1 : 0;
      if (stage == making && fraction >= from) client_lost.request_stop();
    };
    try {
      (void)make_backend(pair_, context_);
      FAIL() << "prepared although stopped";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::cancelled) << error.what();
    }
    EXPECT_TRUE(client_lost.stop_requested());
    EXPECT_LE(calls_after, 1) << "stages after the stop, first at fraction " << from;
    EXPECT_THAT(kept_interiors(), testing::IsEmpty());
  }
}

// The interior's own matrix is stored beside all that follows.
TEST_F(LayeredEntry, IncludesTheMatrixOfTheInterior) {
  pair_.parameters["max_memory"] = 1e4;
  const std::string message = rejection_error();
  const std::string before = "the stiffness of the interior behind the layer would take about ";
  ASSERT_THAT(message, testing::HasSubstr(before));
  double amount = 0.0;
  std::array<char, 3> unit{};
  ASSERT_EQ(std::sscanf(message.c_str() + message.find(before) + before.size(), "%lf %2s", &amount, unit.data()), 2)
      << message;
  const double bytes = amount * (unit[0] == 'M' ? 1e6 : 1e3);
  // Three digits are reported: a hundredth more is enough for the matrix, and for nothing else.
  pair_.parameters["max_memory"] = 1.01 * bytes;
  EXPECT_THAT(rejection_error(), testing::HasSubstr(fmt::format(", of which {:g} {} are in use", amount, unit.data())));
}

TEST_F(LayeredEntry, SuggestsSupportedElements) {
  pair_.main.materials[0].poissons_ratio = 0.4999;
  (void)make_backend(pair_, context_);
  EXPECT_THAT(stages_, testing::Contains(testing::AllOf(testing::HasSubstr("Poisson's ratio 0.4999 with 'tet4'"),
                                                        testing::HasSubstr("(tet10_mixed)"))));
  pair_.main.surface = BlockSurface{.lengths = {0.04, 0.04, 0.02}, .center = {0.0, 0.0, 0.01}};
  std::erase_if(pair_.parameters, [](const auto& entry) { return entry.first.starts_with("contact_"); });
  EXPECT_THAT(find_pair_warnings(checked_pair(pair_), context_),
              testing::Contains(testing::HasSubstr("(tet10_mixed, hex8, hex27)")))
      << "a block accepts any element; `validate` lists them too";
}

// Linear tetrahedra that lock alternate between pressure and tension, which makes the law of the layer unstable
// (docs/theory/finite_elements.md).
TEST_F(LayeredEntry, ReportsItsBackEndName) {
  pair_.main.surface = BlockSurface{.lengths = {0.04, 0.04, 0.02}, .center = {0.0, 0.0, 0.01}};
  pair_.main.materials = {{.youngs_modulus = 150e3, .poissons_ratio = 0.4999, .density = 1000.0, .set = ""}};
  pair_.parameters = {{"element_size", 0.005},
                      {"clamped_set", std::string("top")},
                      {"contact_direction", std::vector<double>{0.0, 0.0, -1.0}}};
  const auto locks = make_backend(pair_, context_);
  PairState state;
  state.X_AB.p = Vector3(0.0, 0.0, 5e-4);
  try {
    (void)locks->evaluate(*locks->initial_history(), state);
    FAIL() << "found an equilibrium";
  } catch (const RecoverableError& error) {
    EXPECT_THAT(error.what(), testing::StartsWith("fem_layered found no equilibrium at "));
  }
}

TEST_F(LayeredEntry, TwoConcurrentSessionsCondenseOnce) {
  (void)make_backend(pair_, context_);  // the mesh exists
  std::filesystem::remove(kept_interiors().at(0));
  for (const bool with_folder : {true, false}) {
    PreparationLocks locks;
    context_.locks = &locks;
    if (!with_folder) context_.cache_directory.clear();
    std::atomic<int> condensations{0};
    context_.on_progress = [&](std::string_view stage, double fraction) {
      if (stage != making || fraction > 0.3) return;
      if (condensations++ > 0) return;
      while (locks.n_waiting() == 0) std::this_thread::yield();  // until the other one requests the same
    };
    // Both remain: data shared in memory is removed with its last user.
    std::array<std::unique_ptr<ContactBackend>, 2> backends;
    {
      std::jthread other([&] { backends[1] = make_backend(pair_, context_); });
      backends[0] = make_backend(pair_, context_);
    }
    EXPECT_EQ(condensations, 1);
    EXPECT_EQ(response(*backends[0]), response(*backends[1]));
  }
}

TEST_F(FemEntry, ReportsMissingInput) {
  pair_.parameters["support"] = std::string("clamped");
  EXPECT_THAT(rejection_error(), testing::HasSubstr("the body is not supported"));
  pair_.parameters["clamped_set"] = std::string("bone");
  EXPECT_THAT(rejection_error(), testing::HasSubstr("node set 'bone' does not exist; sets of the mesh: "));
  pair_.parameters["clamped_set"] = std::string("surface");
  pair_.parameters["contact_set"] = std::string("bottom");
  EXPECT_THAT(rejection_error(), testing::HasSubstr("is clamped"));
  pair_.parameters.erase("element_size");
  EXPECT_THAT(rejection_error(), testing::HasSubstr("element_size: missing"));
  pair_.main.materials.clear();
  EXPECT_THAT(rejection_error(), testing::HasSubstr("material: missing"));
}

TEST_F(FemEntry, ReportsInvalidElements) {
  pair_.parameters["element_order"] = 2.0;
  EXPECT_THAT(rejection_error(), testing::HasSubstr("element_order: this key is now 'element'"));
  pair_.parameters.erase("element_order");
  pair_.parameters["element"] = std::string("tet5");
  EXPECT_THAT(rejection_error(), testing::HasSubstr("element: expected one of from_mesh, tet4, tet10, tet4_mixed"));
  pair_.parameters["element"] = std::string("tet4_mixed");
  pair_.main.materials[0].poissons_ratio = 0.5;
  EXPECT_THAT(rejection_error(), testing::HasSubstr("Poisson's ratio must lie in [0, 0.5), found 0.5"));
  // One body that locks and one that does not.
  pair_.main.materials[0].poissons_ratio = 0.49;
  pair_.partner.surface = SphereSurface{.radius = 0.1, .center = Vector3(0.0, 0.0, -0.1)};
  pair_.partner.materials = pair_.main.materials;
  pair_.parameters["partner_support"] = std::string("inertia_relief");
  pair_.parameters["partner_element_size"] = 0.04;
  EXPECT_THAT(rejection_error(),
              testing::HasSubstr("partner_element: 'tet4' is combined with 'tet4_mixed' of the main body"));
}

// The nodes of a mesh file are fixed.
TEST_F(FemEntry, ReportsElementsUnsupportedByAMeshFile) {
  const VolumeMesh block = test::block_mesh(Vector3::Zero(), Vector3(0.1, 0.1, 0.1), 4, 4, 4);
  AssetContent file{.sha256 = "1", .name = "block.msh", .content = {}};
  context_.asset = [&](const AssetKey&) -> const AssetContent& { return file; };
  MeshSurface surface;
  surface.asset_name = file.name;
  pair_.main.surface = surface;
  pair_.parameters = {{"clamped_box", std::vector<double>{-1.0, -1.0, 0.09, 1.0, 1.0, 1.0}}};
  file.content = write_msh(block);
  for (const char* element : {"from_mesh", "tet4", "tet10", "tet4_mixed", "tet10_mixed"}) {
    pair_.parameters["element"] = std::string(element);
    EXPECT_EQ(rejection_error(), "accepted") << element << ": nodes are added in the middle of edges";
  }
  file.content = write_msh(to_quadratic(block));
  pair_.parameters["element"] = std::string("tet10_mixed");
  EXPECT_EQ(rejection_error(), "accepted");
  pair_.parameters["element"] = std::string("tet4_mixed");
  EXPECT_THAT(rejection_error(),
              testing::HasSubstr("element: tet4_mixed has 4 nodes, the elements of 'block.msh' have 10 and "
                                 "do not support it; expected one of from_mesh, tet10"));
}

TEST_F(FemEntry, RejectsInvalidInputBeforeMeshing) {
  pair_.parameters["clamped_box"] = std::vector<double>{-1, -1, 0, 1, 1, 1};
  EXPECT_THAT(rejection_error(),
              testing::HasSubstr("either inertia relief (a body in free flight) or a clamp, found both"));
  pair_.parameters.erase("clamped_box");
  pair_.main.materials[0].density = 0.0;
  EXPECT_THAT(rejection_error(), testing::HasSubstr("material needs a density"));
  EXPECT_TRUE(stages_.empty()) << stages_.front();
  pair_.main.materials[0].density = 238.7;
  pair_.parameters["element_size"] = 5.0;
  EXPECT_THAT(rejection_error(),
              testing::AllOf(testing::HasSubstr("larger than the body"),
                             testing::HasSubstr("did you mean 5 mm? Set "
                                                "contact.ball-ground.parameters.element_size: 0.005")));
}

TEST_F(FemEntry, WarnsOfUnlikelyUnits) {
  pair_.main.materials[0].youngs_modulus = 3.6;
  pair_.main.materials[0].density = 1.1;
  pair_.parameters["element_size"] = 0.15;
  const std::vector<std::string> warnings = find_pair_warnings(checked_pair(pair_), context_);
  ASSERT_EQ(warnings.size(), 3U) << testing::PrintToString(warnings);
  EXPECT_THAT(warnings[0],
              testing::AllOf(testing::StartsWith("contact.ball-ground.main.material.youngs_modulus: 3.6 Pa"),
                             testing::HasSubstr("did you mean 3.6 MPa, which is 3.6e+06")));
  EXPECT_THAT(warnings[1], testing::HasSubstr("did you mean 1.1 g/cm^3, which is 1100?"));
  EXPECT_THAT(warnings[2], testing::HasSubstr("element_size: 0.15 m leaves fewer than two elements"));
}

TEST_F(FemEntry, ReportsWarningsWhenAPairIsOpened) {
  pair_.main.materials[0].youngs_modulus = 3.6;
  (void)make_backend(pair_, context_);
  EXPECT_THAT(stages_, testing::Contains(testing::StartsWith("warning: contact.ball-ground.main.material")));
}

/// A bar cut through the middle: the surface of the cut is no free surface.
TEST_F(FemEntry, CutSurfaceCarriesNoContact) {
  pair_.main.surface = BlockSurface{.lengths = {0.1, 0.02, 0.02}, .center = Vector3::Zero()};
  pair_.parameters = {{"element_size", 0.005},
                      {"body_box", std::vector<double>{-1.0, -1.0, -1.0, 0.0, 1.0, 1.0}},
                      {"clamped_box", std::vector<double>{-1.0, -1.0, -1.0, -0.049, 1.0, 1.0}},
                      {"contact_direction", std::vector<double>{1.0, 0.0, 0.0}}};
  EXPECT_THAT(rejection_error(), testing::HasSubstr("no candidate contact node"));
  pair_.parameters.erase("body_box");
  EXPECT_EQ(rejection_error(), "accepted");
}

TEST_F(FemEntry, RejectsACutThatLeavesUnsupportedPieces) {
  pair_.main.surface = BlockSurface{.lengths = {0.1, 0.02, 0.02}, .center = Vector3::Zero()};
  pair_.parameters = {{"element_size", 0.005},
                      {"body_box", std::vector<double>{-0.02, -1.0, -1.0, 1.0, 1.0, 1.0}},
                      {"clamped_set", std::string("back")},
                      {"contact_direction", std::vector<double>{0.0, 0.0, -1.0}}};
  EXPECT_THAT(rejection_error(), testing::HasSubstr("node set 'back' is empty")) << "the clamp was cut away";
  pair_.parameters.erase("clamped_set");
  pair_.parameters["clamped_box"] = std::vector<double>{-0.021, -0.011, -0.011, -0.014, -0.009, -0.009};
  EXPECT_THAT(rejection_error(),
              testing::AllOf(testing::HasSubstr("body_box: 1 of the pieces left by the cut have no support"),
                             testing::HasSubstr("100 % of the volume: 28 cm^3 around (0.01")))
      << "two nodes on a line";
}

TEST_F(FemEntry, OpensTwoBallsAndReportsMissingPartnerInput) {
  pair_.partner.surface = SphereSurface{.radius = 0.1, .center = Vector3(0.0, 0.0, -0.1)};
  pair_.parameters["partner_element_size"] = 0.04;
  EXPECT_THAT(rejection_error(), testing::HasSubstr("partner_element_size: the partner is rigid; give it a material"));
  pair_.partner.materials = pair_.main.materials;
  EXPECT_THAT(rejection_error(), testing::HasSubstr("the body is not supported"));
  pair_.parameters["partner_support"] = std::string("inertia_relief");
  // Gaps between two bodies are averaged over elements, so that these have to be smaller than the contact (7 mm).
  pair_.parameters["contact_size"] = pair_.parameters["partner_contact_size"] = 0.003;
  pair_.parameters["partner_contact_radius"] = 0.02;
  pair_.parameters["partner_contact_direction"] = std::vector<double>{0.0, 0.0, 1.0};
  pair_.parameters["partner_element"] = std::string("tet10");
  EXPECT_THAT(rejection_error(),
              testing::HasSubstr("partner_element: expected a deformable partner of linear elements"));
  pair_.parameters["partner_element"] = std::string("tet4");
  const auto two = make_backend(pair_, context_);
  const Response soft = two->evaluate(*two->initial_history(), pressed());
  PairSpec rigid = pair_;
  rigid.partner.materials.clear();
  std::erase_if(rigid.parameters, [](const auto& entry) { return entry.first.starts_with("partner_"); });
  const auto one = make_backend(rigid, context_);
  const Response hard = one->evaluate(*one->initial_history(), pressed());
  // F ~ E* d^1.5: half the modulus, half the force at the same approach; finite balls and coarse meshes: 15 %.
  EXPECT_NEAR(soft.F_A.force.z(), 0.5 * hard.F_A.force.z(), 0.15 * hard.F_A.force.z());
  FieldRequest request;
  request.part = FieldPart::partner;
  EXPECT_THAT(two->fields(*two->initial_history(), pressed(), request), testing::HasSubstr("displacement"));
  pair_.partner.surface = PlaneSurface{};
  EXPECT_THAT(rejection_error(), testing::HasSubstr("(plane: half space) is rigid"));
  pair_.backend = "fem_layered";
  pair_.partner.surface = SphereSurface{.radius = 0.1, .center = Vector3(0.0, 0.0, -0.1)};
  std::erase_if(pair_.parameters, [](const auto& entry) { return entry.first.starts_with("partner_"); });
  EXPECT_THAT(rejection_error(),
              testing::HasSubstr("fem_layered has a rigid partner; remove the material, exchange main and "
                                 "partner, or use fem_condensed or fem_full"));
}

// Blocks and cylinders are divided into equal elements: a size at the contact was ignored without a word.
TEST_F(FemEntry, RejectsRefinementOfRegularlyDividedBodies) {
  pair_.main.surface = BlockSurface{.lengths = {0.1, 0.1, 0.1}};
  EXPECT_THAT(rejection_error(), testing::HasSubstr("contact_size: expected a ball, or a surface that is filled with "
                                                    "tetrahedra, found a block"));
}

// Both free, with two laws, through a specification.
TEST_F(FemEntry, OpensTwoBallsOfFullOrder) {
  pair_.partner.surface = SphereSurface{.radius = 0.1, .center = Vector3(0.0, 0.0, -0.1)};
  pair_.partner.materials = pair_.main.materials;
  pair_.parameters["partner_support"] = std::string("inertia_relief");
  pair_.parameters["contact_size"] = pair_.parameters["partner_contact_size"] = 0.006;
  pair_.parameters["partner_element_size"] = 0.04;
  pair_.parameters["partner_contact_radius"] = 0.02;
  pair_.parameters["partner_contact_direction"] = std::vector<double>{0.0, 0.0, 1.0};
  const auto condensed = make_backend(pair_, context_);
  pair_.backend = "fem_full";
  pair_.partner.materials.front().law = {{"material_law", std::string("linear")}};
  const auto full = make_backend(pair_, context_);
  const PairState state = pressed();
  const Response linear = condensed->evaluate(*condensed->initial_history(), state);
  const Response r = full->evaluate(*full->initial_history(), state);
  std::printf("condensed %.6f N, %.6e J, gap %.9f m; full %.6f N, %.6e J, gap %.9f m\n", linear.F_A.force.z(),
              linear.stored_energy, linear.gap, r.F_A.force.z(), r.stored_energy, r.gap);
  EXPECT_NEAR(r.F_A.force.z(), linear.F_A.force.z(), 0.05 * linear.F_A.force.z()) << "strains of some percent";
  EXPECT_EQ(r.gap, linear.gap);
  FieldRequest request;
  request.part = FieldPart::partner;
  EXPECT_THAT(full->fields(*full->initial_history(), state, request), testing::HasSubstr("displacement"));
  pair_.partner.materials.front().law = {{"material_law", std::string("steel")}};
  EXPECT_THAT(rejection_error(), testing::HasSubstr("partner.material"));
}

/// Regular polygon with `n` corners on a circle.
double polygon(double n, double radius) {
  return 0.5 * n * radius * radius * std::sin(2.0 * std::numbers::pi / n);
}

/// A cylinder of 40 mm, clamped at its top and pressed 0.1 mm from below, made of parts with zero Poisson's ratio:
/// stress and strain are uniaxial and constant in every part, which linear tetrahedra represent exactly.
class LayeredCylinder : public FemEntry {
 protected:
  LayeredCylinder() {
    pair_.parameters = {
        {"element_size", 0.005}, {"clamped_set", std::string("top")}, {"contact_set", std::string("bottom")}};
  }
  [[nodiscard]] double force() const {
    const auto contact = make_backend(pair_, context_);
    PairState state;
    state.X_AB.p = Vector3(0.0, 0.0, -0.02 + 1e-4);
    return contact->evaluate(*contact->initial_history(), state).F_A.force.z();
  }
  static Material part(const char* set, double E) {
    return {.youngs_modulus = E, .poissons_ratio = 0.0, .density = 1000.0, .set = set};
  }
};

// Rounding: E differs by 500, the condition number of the stiffness is about 1e7.
constexpr double rounding = 1e-8;

TEST_F(LayeredCylinder, LayersAreSpringsInSeries) {
  CylinderSurface cylinder{.radius = 0.02};
  cylinder.layers = {{.name = "pad", .height = 0.01}, {.name = "bone", .height = 0.03}};
  cylinder.length = 0.04;
  pair_.main.surface = cylinder;
  pair_.main.materials = {part("bone", 1e9), part("pad", 2e6)};
  const double area = polygon(24.0, 0.02);  // four rings of 5 mm
  const double expected = 1e-4 * area / (0.01 / 2e6 + 0.03 / 1e9);
  EXPECT_NEAR(force(), expected, rounding * expected) << "[N]";
  // The cache contains the first body now; another material of one layer is another body.
  pair_.main.materials[1].youngs_modulus = 4e6;
  const double stiffer = 1e-4 * area / (0.01 / 4e6 + 0.03 / 1e9);
  EXPECT_NEAR(force(), stiffer, rounding * stiffer) << "[N]";
  // Overlapping sets: the later entry applies, and an empty name selects all elements.
  pair_.main.materials = {part("", 1e9), part("pad", 4e6)};
  EXPECT_NEAR(force(), stiffer, rounding * stiffer) << "[N]";
}

TEST_F(LayeredCylinder, CoreAndShellAreSpringsInParallel) {
  CylinderSurface cylinder{.radius = 0.02};
  cylinder.length = 0.04;
  cylinder.core_radius = 0.01;
  pair_.main.surface = cylinder;
  pair_.main.materials = {part("core", 1e9), part("shell", 2e6)};
  const double core = polygon(12.0, 0.01);
  const double shell = polygon(24.0, 0.02) - core;
  const double expected = 1e-4 / 0.04 * (1e9 * core + 2e6 * shell);
  EXPECT_NEAR(force(), expected, rounding * expected) << "[N]";
}

TEST_F(LayeredCylinder, ReportsMissingSets) {
  CylinderSurface cylinder{.radius = 0.02};
  cylinder.layers = {{.name = "pad", .height = 0.01}, {.name = "bone", .height = 0.03}};
  pair_.main.surface = cylinder;
  pair_.main.materials = {part("bone", 1e9), part("skin", 2e6)};
  EXPECT_THAT(rejection_error(), testing::HasSubstr("element set 'skin' does not exist; sets of the mesh: bone, pad"));
  pair_.main.materials = {part("bone", 1e9)};
  EXPECT_THAT(rejection_error(), testing::HasSubstr("elements have no material"));
  pair_.main.materials = {part("bone", 1e9), part("pad", -1.0)};
  EXPECT_THAT(rejection_error(), testing::HasSubstr("must be > 0 Pa, found -1 Pa"));
}

}  // namespace
}  // namespace heelstrike::fem
