// Grids of a sweep: values, order, names, and rejected input.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/sweeps/sweep_grid.hpp"
#include "common/errors/error.hpp"

namespace heelstrike::client {
namespace {

using testing::ElementsAre;

TEST(Variation, RangeIncludesBothEndsAndHasPlainNumbers) {
  EXPECT_THAT(parse_variation("contact.restitution=0.2:1:0.2").values, ElementsAre("0.2", "0.4", "0.6", "0.8", "1"));
  EXPECT_THAT(parse_variation("a=1:0:-0.5").values, ElementsAre("1", "0.5", "0"));
  EXPECT_THAT(parse_variation("a=0:1:0.3").values, ElementsAre("0", "0.3", "0.6", "0.9"));
  EXPECT_THAT(parse_variation("a=rk4,ab4am4").values, ElementsAre("rk4", "ab4am4"));
}

TEST(Variation, InvalidVariationIsRejected) {
  for (const char* text : {"", "a", "=1:2:1", "a=", "a=1:2:0", "a=1:2:-1", "a=1:x:1", "a=1,,2", "a=0:1:1e-9", "a=0:1",
                           "a=0:1:2:3", "a=0:1,2"}) {
    EXPECT_THROW((void)parse_variation(text), Error) << text;
  }
}

TEST(Variation, RangeWithoutStepIsNamed) {
  try {
    (void)parse_variation("a=0.2:0.9");
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "--vary a=0.2:0.9: expected FROM:TO:STEP, found no step; write e.g. a=0.2:0.9:0.07");
  }
  EXPECT_THAT(parse_variation("a={b: 1}").values, ElementsAre("{b: 1}")) << "a map is a value";
}

TEST(SweepPoints, LastKeyChangesFastest) {
  const auto points = sweep_points({{"contact.e", {"1", "2"}}, {"k", {"a/b", "c"}}});
  ASSERT_EQ(points.size(), 4U);
  EXPECT_THAT(points[1].assignments, ElementsAre("contact.e=1", "k=c"));
  EXPECT_EQ(points[2].label, "e=2 k=a/b");
  EXPECT_EQ(points[2].folder, "0003_e=2_k=a_b");
  EXPECT_THROW((void)sweep_points({{"k", {"1"}}, {"k", {"2"}}}), Error);
}

}  // namespace
}  // namespace heelstrike::client
