// Shapes of bodies with a mesh: read from the files of a scenario, thinned, written, and in the page once.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "common/errors/error.hpp"
#include "common/files/output_file.hpp"
#include "library/composition/shapes.hpp"
#include "library/registries/catalog.hpp"
#include "report/page.hpp"
#include "report/run_data.hpp"
#include "report/shapes.hpp"

namespace heelstrike::report {
namespace {

using testing::HasSubstr;
using testing::Not;

namespace fs = std::filesystem;

/// A square of 1 m by 1 m in n by n cells, as an OBJ file.
std::string sheet(int n) {
  std::string text;
  for (int i = 0; i <= n; ++i) {
    for (int k = 0; k <= n; ++k)
      text += fmt::format("v {} {} 0\n", static_cast<double>(i) / n, static_cast<double>(k) / n);
  }
  for (int i = 0; i < n; ++i) {
    for (int k = 1; k <= n; ++k) {
      const int a = i * (n + 1) + k;
      text += fmt::format("f {} {} {} {}\n", a, a + n + 1, a + n + 2, a + 1);
    }
  }
  return text;
}

constexpr const char* text = R"(heelstrike: 1
gravity: [0, 0, 0]
bodies:
  plate: {mass: 1, inertia: [1, 1, 1], position: [0, 0, 1]}
  tray: {mass: 1, inertia: [1, 1, 1]}
contact:
  touch:
    main: {body: tray, surface: {mesh: {file: fine.obj, length_scale: 0.001, position: [0, 0, 5]}}, material: {youngs_modulus: 1e6, poissons_ratio: 0.4}}
    partner: {body: plate, surface: {mesh: {file: coarse.obj}}}
    backend: elastic_foundation
    parameters: {thickness: 0.01}
  again:
    main: {body: tray, surface: {mesh: {file: fine.obj, length_scale: 0.001, position: [0, 0, 5]}}, material: {youngs_modulus: 1e6, poissons_ratio: 0.4}}
    partner: {body: ground, surface: {plane: {normal: [0, 0, 1]}}}
    backend: elastic_foundation
    parameters: {thickness: 0.01}
analysis: {end_time: 1}
output: {interval: 0.1}
)";

Scenario scenario() {
  return parse_scenario(text, "shapes.yaml", scenario_catalog());
}

std::vector<AssetContent> files() {
  return {{.sha256 = {}, .name = "fine.obj", .content = sheet(100)},
          {.sha256 = {}, .name = "coarse.obj", .content = sheet(4)}};
}

TEST(BodyShapes, EachMeshIsIncludedOnceInTheFrameOfItsBody) {
  const std::vector<BodyShape> shapes = body_shapes(scenario(), files(), 100'000);
  ASSERT_EQ(shapes.size(), 2U) << "planes are drawn otherwise, and a surface of two pairs once";
  EXPECT_EQ(shapes[0].body, "tray");
  EXPECT_EQ(shapes[0].source, "fine.obj");
  EXPECT_EQ(shapes[0].n_read, 20'000U);
  EXPECT_EQ(shapes[0].triangles.size(), 60'000U);
  EXPECT_EQ(shapes[0].points.size(), 3U * 101 * 101);
  EXPECT_DOUBLE_EQ(shapes[0].points[2], 5.0);
  EXPECT_DOUBLE_EQ(shapes[0].points[0], 0.0);
  EXPECT_DOUBLE_EQ(shapes[0].points[shapes[0].points.size() - 2], 0.001) << "millimetres of the file";
  EXPECT_EQ(shapes[1].body, "plate");
}

TEST(BodyShapes, OnlyLargeOnesAreThinned) {
  const std::vector<BodyShape> shapes = body_shapes(scenario(), files(), 1'000);
  ASSERT_EQ(shapes.size(), 2U);
  EXPECT_EQ(shapes[1].triangles.size(), 3U * 32);
  EXPECT_LE(shapes[0].triangles.size(), 3U * (1'000 - 32));
  EXPECT_GT(shapes[0].triangles.size(), 3U * 500) << "it gets what the small one leaves";
  EXPECT_EQ(shapes[0].n_read, 20'000U);
}

TEST(BodyShapes, UnreadableFilesAreLeftToTheRun) {
  std::vector<AssetContent> broken = files();
  broken[0].content = "nonsense";
  EXPECT_EQ(body_shapes(scenario(), broken, 1'000).size(), 1U);
  EXPECT_TRUE(body_shapes(scenario(), {}, 1'000).empty());
}

class ShapesOfRun : public testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    write_whole_file(folder_ / "scenario.yaml", text);
    write_whole_file(folder_ / "timeseries.csv", "time_s,tray.x_m\n0,0\n1,0\n");
  }
  void TearDown() override { fs::remove_all(folder_); }

  const fs::path folder_ = fs::path(testing::TempDir()) / ("shapes_of_run_" + std::to_string(::getpid()));
};

TEST_F(ShapesOfRun, PageIncludesThemOnceAndReportsThinning) {
  EXPECT_THAT(run_page(read_run_data(folder_, "flores", "", scenario_catalog())), Not(HasSubstr("fine.obj (")))
      << "runs of earlier versions";
  write_shapes(folder_, body_shapes(scenario(), files(), 1'000));
  const RunData run = read_run_data(folder_, "flores", "", scenario_catalog());
  ASSERT_EQ(run.shapes.size(), 2U);
  const std::string page = run_page(run);
  EXPECT_THAT(page, testing::ContainsRegex("fewer triangles than used in the run: fine.obj \\([0-9]+ of 20000\\)"));
  EXPECT_THAT(page, Not(HasSubstr("coarse.obj ("))) << "it is whole";
  const std::vector<RunData> both = {run, run};
  const Json row = {{"backend", "a"}, {"folder", "a"}, {"status", "completed"}, {"failure", nullptr}};
  const Json comparison = {{"scenario", "shapes"}, {"reference", nullptr}, {"rows", {row, row}}};
  const std::string two = comparison_page(comparison, both);
  const std::string packed = run.shapes[0].at("triangles").at("u32");
  const auto at = two.find(packed);
  ASSERT_NE(at, std::string::npos);
  EXPECT_EQ(two.find(packed, at + 1), std::string::npos) << "runs share their meshes";
}

TEST_F(ShapesOfRun, BodiesWithFieldsNeedNoShape) {
  write_shapes(folder_, body_shapes(scenario(), files(), 1'000));
  RunData run = read_run_data(folder_, "flores", "", scenario_catalog());
  const std::string packed = run.shapes[0].at("triangles").at("u32");
  ASSERT_THAT(run_page(run), HasSubstr(packed));
  run.fields = {{"parts", {{{"name", "touch_tray"}, {"body", "tray"}}, {{"name", "other"}, {"body", nullptr}}}}};
  const std::string page = run_page(run);
  EXPECT_THAT(page, Not(HasSubstr(packed)));
  EXPECT_THAT(page, Not(HasSubstr("fewer triangles")));
  EXPECT_THAT(page, HasSubstr("coarse.obj")) << "the plate has no fields";
}

TEST_F(ShapesOfRun, FullBudgetIsASmallPartOfAPage) {
  const std::vector<AssetContent> large = {{.sha256 = {}, .name = "fine.obj", .content = sheet(300)},
                                           {.sha256 = {}, .name = "coarse.obj", .content = sheet(300)}};
  const std::string json = shapes_json(body_shapes(scenario(), large, max_displayed_triangles)).dump();
  EXPECT_LT(json.size(), 400'000U);
  EXPECT_GT(json.size(), 40'000U);
}

TEST_F(ShapesOfRun, DamagedFileIsReported) {
  write_whole_file(folder_ / "shapes.json", "{\"shapes\"");
  try {
    (void)read_run_data(folder_, "flores", "", scenario_catalog());
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::file);
    EXPECT_THAT(error.what(), HasSubstr("shapes.json"));
  }
}

}  // namespace
}  // namespace heelstrike::report
