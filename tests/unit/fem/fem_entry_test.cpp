// The back-end as users open it: from a specification, with the mesher, with the cache on disk.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "common/errors/error.hpp"
#include "fem_server/backends/backend.hpp"
#include "fem_server/fem/compliance_cache.hpp"
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

  [[nodiscard]] std::string refusal() const {
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
  EXPECT_THAT(stages_, testing::Contains(testing::HasSubstr("is damaged; it will be rebuilt")));
  EXPECT_EQ(third->evaluate(*third->initial_history(), pressed()).F_A.vector(), r.F_A.vector());
}

TEST_F(FemEntry, NamesWhatIsMissing) {
  pair_.parameters["support"] = std::string("clamped");
  EXPECT_THAT(refusal(), testing::HasSubstr("the body is free to move"));
  pair_.parameters["clamped_set"] = std::string("bone");
  EXPECT_THAT(refusal(), testing::HasSubstr("node set 'bone' does not exist; sets of the mesh: "));
  pair_.parameters["clamped_set"] = std::string("surface");
  pair_.parameters["contact_set"] = std::string("bottom");
  EXPECT_THAT(refusal(), testing::HasSubstr("is clamped"));
  pair_.parameters.erase("element_size");
  EXPECT_THAT(refusal(), testing::HasSubstr("element_size: missing"));
  pair_.main.materials.clear();
  EXPECT_THAT(refusal(), testing::HasSubstr("material: missing"));
}

}  // namespace
}  // namespace heelstrike::fem
