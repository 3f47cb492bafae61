// The figure of one stance: every component over per cent of stance, the prescribed inputs, and the plan view.
#include "report/grf_report.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>

namespace heelstrike::report {
namespace {

using testing::HasSubstr;
using testing::Not;

/// Walking along x with y up, 0.5 s, unloaded at both ends; the prediction lies 10 mm to the side.
StanceComparison walked() {
  StanceComparison stance;
  for (int i = 0; i <= 50; ++i) {
    StanceRow row{.time = 1.0 + 0.01 * i, .share = 0.02 * i, .force = {}, .moment = {}, .center = {}};
    row.force[0] = Vector3(0.0, 10.0 * i, 1.0);
    row.force[1] = Vector3(0.0, 9.0 * i, 1.0);
    if (i > 2 && i < 48) {
      row.center[0] = Vector3(0.004 * i, 0.0, 0.0);
      row.center[1] = Vector3(0.004 * i, 0.0, 0.01);
    }
    stance.rows.push_back(row);
  }
  return stance;
}

const std::array<std::string, 3> directions =
    direction_names(std::vector<StanceComparison>{walked()}, Vector3::UnitY());

std::size_t count(const std::string& text, const std::string& what) {
  const std::regex pattern(what);
  return static_cast<std::size_t>(std::distance(std::sregex_iterator(text.begin(), text.end(), pattern), {}));
}

TEST(StanceFigure, ShowsAllComponentsAndThePlanView) {
  const StanceComparison stance = walked();
  const std::string svg = stance_svg(
      {.stance = &stance, .up = Vector3::UnitY(), .directions = directions, .given = {"vy"}, .ground_moved = {}});
  for (const char* part :
       {"anterior-posterior (vx) [N]", "vertical (vy) [N]: prescribed", "mediolateral (vz) [N]", "free moment",
        "equal scales, mediolateral over anterior-posterior", "% of stance", "prescribed in the run, not predicted"}) {
    EXPECT_THAT(svg, HasSubstr(part));
  }
  EXPECT_EQ(count(svg, "<polyline"), 10U) << "two curves in each of five panels";
  EXPECT_EQ(count(svg, "<polyline[^>]*dasharray"), 1U) << "prescribed inputs are drawn separately";
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
  EXPECT_THAT(
      stance_svg(
          {.stance = &stance, .up = Vector3::UnitY(), .directions = directions, .given = {}, .ground_moved = {}}),
      Not(HasSubstr("prescribed")));
}

TEST(StanceFigure, MissingRowsAreAGap) {
  StanceComparison stance = walked();
  stance.rows.erase(stance.rows.begin() + 20, stance.rows.begin() + 30);
  const std::string svg = stance_svg(
      {.stance = &stance, .up = Vector3::UnitY(), .directions = directions, .given = {}, .ground_moved = {}});
  EXPECT_EQ(count(svg, "<polyline"), 20U) << "every curve in two pieces";
}

// On a belt both centres run backwards by more than the length of the foot; relative to the belt they remain at their
// first position.
TEST(StanceFigure, PlanViewIsRelativeToTheGround) {
  StanceComparison still = walked(), moving = walked();
  std::vector<Vector3> moved;
  for (StanceRow& row : moving.rows) {
    moved.emplace_back(-1.2 * (row.time - 1.0), 0.0, 0.0);
    for (auto& center : row.center) {
      if (center) *center += moved.back();
    }
  }
  EXPECT_EQ(
      stance_svg(
          {.stance = &moving, .up = Vector3::UnitY(), .directions = directions, .given = {}, .ground_moved = moved}),
      stance_svg(
          {.stance = &still, .up = Vector3::UnitY(), .directions = directions, .given = {}, .ground_moved = {}}));
}

}  // namespace
}  // namespace heelstrike::report
