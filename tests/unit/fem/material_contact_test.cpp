// Laws of large strain in contact, as opened by users.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>

#include "common/errors/error.hpp"
#include "fem_server/backend_interface/backend.hpp"
#include "scenario/surfaces/block.hpp"
#include "scenario/surfaces/plane.hpp"

namespace heelstrike::fem {
namespace {

/// Block 40 x 40 x 20 mm clamped at its top, on a plate.
PairSpec block_pair(const std::string& backend, ParameterMap law) {
  PairSpec pair;
  pair.name = "pad-plate";
  pair.backend = backend;
  pair.main.surface = BlockSurface{.lengths = {0.04, 0.04, 0.02}, .center = {0.0, 0.0, 0.01}};
  pair.main.materials = {{.youngs_modulus = 1e6, .poissons_ratio = 0.45, .density = 1000.0, .set = ""}};
  pair.partner.surface = PlaneSurface{};
  pair.parameters = {{"element_size", 0.01},
                     {"clamped_box", std::vector<double>{-1.0, -1.0, 0.0199, 1.0, 1.0, 1.0}},
                     {"contact_direction", std::vector<double>{0.0, 0.0, -1.0}},
                     {"max_penetration", 0.01}};
  pair.parameters.merge(law);
  return pair;
}

double force(const std::string& backend, const ParameterMap& law, double depth) {
  PrepareContext context;
  context.on_progress = [](std::string_view, double) {};
  const auto contact = make_backend(block_pair(backend, law), context);
  PairState state;
  state.X_AB.p = Vector3(0.0, 0.0, depth);
  return contact->evaluate(*contact->initial_history(), state).F_A.force.z();
}

ParameterMap named(const char* law, ParameterMap constants = {}) {
  constants["material_law"] = std::string(law);
  return constants;
}

using List = std::vector<double>;

ParameterMap fibers_along(List directions) {
  return named("holzapfel_gasser_ogden",
               {{"fiber_stiffness", 1e6}, {"fiber_exponent", 1.0}, {"fiber_directions", std::move(directions)}});
}

TEST(HyperelasticContact, IsLinearAtOnsetAndStiffensAsTheLaws) {
  const ParameterMap soft = named("mooney_rivlin", {{"mooney_fraction", 0.0}});
  const ParameterMap rivlin = named("mooney_rivlin", {{"mooney_fraction", 0.5}});
  const ParameterMap yeoh = named("yeoh", {{"yeoh_ratios", List{0.5, 0.1}}});
  const ParameterMap ogden =
      named("ogden", {{"ogden_exponents", List{2.0, -2.0}}, {"ogden_fractions", List{0.5, 0.5}}});
  const ParameterMap along = fibers_along({0.0, 0.0, 1.0});
  const ParameterMap across = fibers_along({1.0, 0.0, 0.0, 0.0, 3.0, 0.0});
  const double tiny = 1e-6;  // of 20 mm: a strain of 5e-5
  const double deep = 5e-3;
  const double linear = force("fem_full", named("linear"), tiny);
  EXPECT_NEAR(linear, force("fem_condensed", {}, tiny), 1e-6 * linear);
  const double at_depth = force("fem_full", named("linear"), deep);
  std::printf("%-20s %12s %12s\n", "law", "1 um [N]", "5 mm [N]");
  std::printf("%-20s %12.6f %12.3f\n", "linear", linear, at_depth);
  const auto check = [&](const char* name, const ParameterMap& law) {
    const double first = force("fem_full", law, tiny);
    const double last = force("fem_full", law, deep);
    std::printf("%-20s %12.6f %12.3f\n", name, first, last);
    // Corrections of the order of the strains; local strains are a few times the mean one.
    EXPECT_NEAR(first, linear, 5e-4 * linear) << name;
    EXPECT_GT(last, 1.1 * at_depth) << name << ": finite strain stiffens under compression";
    return last;
  };
  const double least = check("mooney_rivlin, 0", soft);
  const double half = check("mooney_rivlin, 0.5", rivlin);
  EXPECT_GT(half, 1.02 * least);
  EXPECT_GT(check("yeoh", yeoh), 1.02 * least);
  // Ogden with the exponents 2 and -2 is Mooney-Rivlin.
  EXPECT_NEAR(check("ogden", ogden), half, 1e-7 * half);
  // Fibres in the direction of the pressure are slack except in the bulging rim; fibres across it resist the spreading.
  const double slack = check("fibres along", along);
  EXPECT_NEAR(slack, least, 0.05 * least);
  const double last = force("fem_full", across, deep);
  std::printf("%-20s %12s %12.3f\n", "fibres across", "", last);
  EXPECT_GT(last, 1.2 * least);
}

// A face parallel to the plate begins contact with depths close to the rounding of positions, where events are located.
TEST(HyperelasticContact, IsSolvedAtTheOnsetOfContact) {
  const double depth = 1.6e-11;
  const double linear = force("fem_condensed", {}, depth);
  for (const ParameterMap& law : {named("neo_hookean"), named("yeoh", {{"yeoh_ratios", List{0.5, 0.1}}})}) {
    // Positions of 40 mm are rounded by 7e-18 m: 1e-6 of the depth, some of which accumulate.
    EXPECT_NEAR(force("fem_full", law, depth), linear, 1e-3 * linear);
  }
}

TEST(HyperelasticContact, LayersUseTheLaw) {
  ParameterMap yeoh = named("yeoh", {{"yeoh_ratios", List{2.0, 1.0}}});
  const double full = force("fem_full", yeoh, 4e-3);
  yeoh["layer_depth"] = 0.008;
  const double layered = force("fem_layered", yeoh, 4e-3);
  const double linear = force("fem_full", named("linear"), 4e-3);
  std::printf("yeoh at 4 mm: linear %.3f N, layered %.3f N, full %.3f N\n", linear, layered, full);
  EXPECT_GT(layered, 1.02 * linear);
  EXPECT_LT(layered, full);
}

std::string rejection_error(const ParameterMap& law) {
  try {
    (void)checked_pair(block_pair("fem_full", law));
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

TEST(HyperelasticContact, InvalidConstantsAreReported) {
  using testing::AllOf;
  using testing::HasSubstr;
  const std::string where = "contact.pad-plate.parameters.";
  EXPECT_EQ(rejection_error(named("mooney_rivlin", {{"mooney_fraction", 0.3}})), "accepted");
  EXPECT_THAT(rejection_error(named("mooney_rivlin")),
              AllOf(HasSubstr(where + "mooney_fraction"), HasSubstr("missing")));
  EXPECT_THAT(
      rejection_error(named("mooney_rivlin", {{"mooney_fraction", 1.6}})),
      AllOf(HasSubstr(where + "mooney_fraction"), HasSubstr("Drucker"), HasSubstr("1.6"), HasSubstr("stretch")));
  EXPECT_THAT(rejection_error(named("yeoh", {{"yeoh_ratios", List{-0.4, 0.0}}})),
              AllOf(HasSubstr("yeoh with c20/c10 = -0.4"), HasSubstr("Drucker"), HasSubstr("stretch")));
  EXPECT_THAT(rejection_error(named("yeoh", {{"yeoh_ratios", List{0.4}}})),
              AllOf(HasSubstr("two ratios"), HasSubstr("1 numbers")));
  EXPECT_THAT(rejection_error(named("ogden", {{"ogden_exponents", List{2.0, -2.0}}, {"ogden_fractions", List{1.0}}})),
              AllOf(HasSubstr(where + "ogden_fractions"), HasSubstr("each of the 2")));
  EXPECT_THAT(
      rejection_error(named("ogden", {{"ogden_exponents", List{2.0, -2.0}}, {"ogden_fractions", List{0.5, 0.4}}})),
      AllOf(HasSubstr("with the sum 1"), HasSubstr("0.9")));
  EXPECT_THAT(rejection_error(named("ogden", {{"ogden_exponents", List{0.0}}, {"ogden_fractions", List{1.0}}})),
              HasSubstr("an exponent of 0"));
  EXPECT_THAT(
      rejection_error(named("ogden", {{"ogden_exponents", List{2.0, 9.0}}, {"ogden_fractions", List{1.3, -0.3}}})),
      AllOf(HasSubstr("[2, 9]"), HasSubstr("Drucker")));
  EXPECT_THAT(rejection_error(named("yeoh", {{"yeoh_ratios", List{0.4, 0.0}}, {"mooney_fraction", 0.1}})),
              AllOf(HasSubstr(where + "mooney_fraction"), HasSubstr("found material_law yeoh")));
  EXPECT_THAT(rejection_error(fibers_along({1.0, 0.0})),
              AllOf(HasSubstr("fiber_directions"), HasSubstr("found 2 numbers")));
  EXPECT_THAT(rejection_error(fibers_along({1.0, 0.0, 0.0, 0.0, 0.0, 0.0})), HasSubstr("zero vector as number 2"));
  EXPECT_THAT(rejection_error(fibers_along({})), HasSubstr("found 0 numbers"));
  EXPECT_THAT(rejection_error(named("moony")), HasSubstr("mooney_rivlin"));
}

}  // namespace
}  // namespace heelstrike::fem
