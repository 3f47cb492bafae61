// Parameter schema: accepted, completed and rejected values, and the text of the messages.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "common/errors/error.hpp"
#include "common/parameters/parameter.hpp"
#include "common/text/suggestion.hpp"

namespace heelstrike {
namespace {

using testing::AllOf;
using testing::HasSubstr;

ParameterSchema schema_entry(const std::string& name, ParameterKind kind) {
  ParameterSchema s;
  s.name = name;
  s.kind = kind;
  s.meaning = "meaning of " + name;
  return s;
}

std::vector<ParameterSchema> example_schema() {
  auto stiffness = schema_entry("stiffness", ParameterKind::number);
  stiffness.unit = "N/m";
  stiffness.required = true;
  stiffness.range = {.min = 0.0, .min_excluded = true};
  auto restitution = schema_entry("restitution", ParameterKind::number);
  restitution.fallback = 1.0;
  restitution.range = {.min = 0.0, .max = 1.0, .min_excluded = true};
  auto form = schema_entry("form", ParameterKind::text);
  form.fallback = std::string("exact");
  form.choices = {"exact", "approximate"};
  auto weights = schema_entry("weights", ParameterKind::numbers);
  weights.range = {.min = 0.0};
  auto warm = schema_entry("warm", ParameterKind::flag);
  warm.fallback = true;
  return {stiffness, restitution, form, weights, warm};
}

struct Rejection {
  std::string field;
  std::string message;
};

Rejection rejection_error(const ParameterMap& given) {
  try {
    (void)checked_parameters(given, example_schema(), "contact.a.parameters");
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_input);
    return {error.field(), error.what()};
  }
  return {"", "accepted"};
}

TEST(Parameters, DefaultsAreFilledInAndDerivedOnesOmitted) {
  const auto p = checked_parameters({{"stiffness", 5.0}}, example_schema(), "x");
  EXPECT_EQ(number(p, "stiffness"), 5.0);
  EXPECT_EQ(number(p, "restitution"), 1.0);
  EXPECT_EQ(text(p, "form"), "exact");
  EXPECT_TRUE(flag(p, "warm"));
  EXPECT_FALSE(p.contains("weights"));
  EXPECT_EQ(optional_number(p, "weights"), std::nullopt);
  EXPECT_EQ(optional_number(p, "stiffness"), 5.0);
}

TEST(Parameters, GivenValuesHavePrecedence) {
  const auto p = checked_parameters(
      {{"stiffness", 5.0}, {"form", std::string("approximate")}, {"weights", std::vector{0.0, 2.0}}, {"warm", false}},
      example_schema(), "x");
  EXPECT_EQ(text(p, "form"), "approximate");
  EXPECT_FALSE(flag(p, "warm"));
}

TEST(Parameters, MissingRequiredParameter) {
  const auto r = rejection_error({});
  EXPECT_EQ(r.field, "contact.a.parameters.stiffness");
  EXPECT_THAT(r.message, AllOf(HasSubstr("missing"), HasSubstr("> 0"), HasSubstr("N/m"), HasSubstr("meaning of")));
}

TEST(Parameters, UnknownKeySuggestsTheNearest) {
  const auto r = rejection_error({{"stiffness", 5.0}, {"restituton", 0.5}});
  EXPECT_EQ(r.field, "contact.a.parameters.restituton");
  EXPECT_THAT(r.message, AllOf(HasSubstr("unknown key"), HasSubstr("did you mean 'restitution'?")));
  EXPECT_THAT(rejection_error({{"stiffness", 5.0}, {"colour", 0.5}}).message,
              AllOf(HasSubstr("unknown key"), HasSubstr("known here"), Not(HasSubstr("did you mean"))));
}

TEST(Parameters, RetiredAndAbsentNamesAreReportedWithTheirReplacement) {
  ParameterSchema element;
  element.name = "element";
  element.kind = ParameterKind::text;
  element.choices = {"tet4", "tet10"};
  element.removed_choices = {{"hex20", "nobody has it"}};
  std::vector<ParameterSchema> schema = example_schema();
  schema.push_back(element);
  const auto message = [&](const ParameterMap& given) -> std::string {
    try {
      (void)checked_parameters(given, schema, "x");
    } catch (const Error& error) {
      return error.what();
    }
    return "accepted";
  };
  EXPECT_EQ(message({{"element_order", 1.0}}), "x.element_order: this key is now 'element'");
  EXPECT_EQ(message({{"stiffness", 5.0}, {"element", std::string("hex20")}}),
            "x.element: expected one of tet4, tet10, found 'hex20'; 'hex20' is not available: nobody has it");
  EXPECT_THAT(message({{"", 1.0}}), HasSubstr("unknown key"));
}

TEST(Parameters, RangeAndFiniteness) {
  const double inf = std::numeric_limits<double>::infinity();
  for (const double bad : {0.0, -1.0, inf, -inf, std::nan("")}) {
    EXPECT_THAT(rejection_error({{"stiffness", bad}}).message,
                AllOf(HasSubstr("a number > 0 [N/m]"), HasSubstr("give a ")))
        << bad;
  }
  for (const double bad : {0.0, 1.0000001}) {
    EXPECT_THAT(rejection_error({{"stiffness", 1.0}, {"restitution", bad}}).message, HasSubstr("in (0, 1]")) << bad;
  }
  EXPECT_EQ(rejection_error({{"stiffness", 1.0}, {"restitution", 1.0}}).message, "accepted");
  EXPECT_EQ(rejection_error({{"stiffness", 1.0}, {"weights", std::vector{1.0, -1.0}}}).field,
            "contact.a.parameters.weights[1]");
}

TEST(Parameters, KindAndChoices) {
  EXPECT_THAT(rejection_error({{"stiffness", std::string("soft")}}).message,
              AllOf(HasSubstr("a number"), HasSubstr("found 'soft'")));
  EXPECT_THAT(rejection_error({{"stiffness", true}}).message, HasSubstr("found true"));
  EXPECT_THAT(rejection_error({{"stiffness", 1.0}, {"form", std::string("exakt")}}).message,
              AllOf(HasSubstr("exact, approximate"), HasSubstr("'exakt'")));
}

TEST(Parameters, AccessToUncheckedValuesIsAnInternalError) {
  try {
    (void)number({}, "stiffness");
    FAIL() << "expected an error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::internal);
  }
  EXPECT_THROW((void)text({{"a", 1.0}}, "a"), Error);
}

TEST(Range, Text) {
  EXPECT_EQ((Range{.min = 0.0, .max = 1.0, .min_excluded = true}).text(), "in (0, 1]");
  EXPECT_EQ((Range{.min = 0.0, .max = 0.5, .max_excluded = true}).text(), "in [0, 0.5)");
  EXPECT_EQ((Range{.min = 0.0}).text(), ">= 0");
  EXPECT_EQ((Range{.max = 3.0, .max_excluded = true}).text(), "< 3");
  EXPECT_EQ(Range{}.text(), "any");
  EXPECT_FALSE(Range{}.contains(std::nan("")));
}

TEST(NearestName, IsLimitedToSimilarNames) {
  const std::vector<std::string> names{"hertz", "hooke", "flores", "hunt_crossley"};
  EXPECT_EQ(nearest_name("hert", names), "hertz");
  EXPECT_EQ(nearest_name("hunt-crosley", names), "hunt_crossley");
  EXPECT_EQ(nearest_name("elastic_foundation", names), std::nullopt);
  EXPECT_EQ(nearest_name("x", std::vector<std::string>{}), std::nullopt);
}

TEST(SimilarNames, BeginWithTheWordOrAreNearOrContainIt) {
  const std::vector<std::string> names{"fem_full", "fem_modal", "hertz", "rigid_coulomb"};
  EXPECT_THAT(similar_names("fem", names), testing::ElementsAre("fem_full", "fem_modal"));
  EXPECT_THAT(similar_names("herz", names), testing::ElementsAre("hertz"));
  EXPECT_THAT(similar_names("coulomb", names), testing::ElementsAre("rigid_coulomb"));
  EXPECT_THAT(similar_names("ul", names), testing::IsEmpty()) << "too few letters";
  EXPECT_EQ(suggestion("fem", names, ""), "did you mean 'fem_full' or 'fem_modal'?");
  EXPECT_EQ(suggestion("mortar", names, "choose"), "choose");
}

}  // namespace
}  // namespace heelstrike
