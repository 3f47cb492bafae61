// Bodies of several materials with individual laws: closed forms of layers, coexisting histories, and rejected input.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "common/errors/error.hpp"
#include "fem_server/backend_interface/backend.hpp"
#include "fem_server/fem/hyperelastic.hpp"
#include "fem_server/fem/neo_hookean.hpp"
#include "scenario/surfaces/block.hpp"
#include "scenario/surfaces/cylinder.hpp"
#include "scenario/surfaces/plane.hpp"
#include "scenario/surfaces/sphere.hpp"
#include "tests/unit/fem/test_meshes.hpp"

namespace heelstrike::fem {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

Material made_of(double E, double nu, const char* set = "") {
  return {.youngs_modulus = E, .poissons_ratio = nu, .density = 1000.0, .set = set};
}

constexpr double low = 0.01;   // [m] height of the layer "low"
constexpr double high = 0.03;  // [m] of both

/// Column of 2 x 2 x 4 boxes along z with the element sets "low" and "high".
VolumeMesh two_layers(std::uint32_t nodes_per_element) {
  VolumeMesh mesh = test::grid_mesh({test::even(0.0, 0.02, 2), test::even(0.0, 0.02, 2), {0.0, 0.005, low, 0.02, high}},
                                    test::corners_of(nodes_per_element));
  if (element_topology(nodes_per_element).quadratic()) mesh = to_quadratic(mesh);
  for (std::uint32_t e = 0; e < mesh.n_elements(); ++e) {
    mesh.element_sets[element_center(mesh, e).z() < low ? "low" : "high"].push_back(e);
  }
  return mesh;
}

/// Stretches along z alone, one in each layer.
Eigen::VectorXd stretched(const VolumeMesh& mesh, double l_low, double l_high) {
  Eigen::VectorXd u = Eigen::VectorXd::Zero(3 * static_cast<Eigen::Index>(mesh.nodes.size()));
  for (std::size_t n = 0; n < mesh.nodes.size(); ++n) {
    const double z = mesh.nodes[n].z();
    u[3 * static_cast<Eigen::Index>(n) + 2] =
        (l_low - 1.0) * std::min(z, low) + (l_high - 1.0) * std::max(z - low, 0.0);
  }
  return u;
}

/// [Pa] normal stress of a stretch along z with fixed sides, per undeformed area.
double axial_stress(const MaterialLaw& law, const LameConstants& c, double l,
                    const PointHistoryVariables& memory = {}) {
  const Matrix3 G = Vector3(0.0, 0.0, l - 1.0).asDiagonal();
  const Matrix3 s = law->cauchy_stress(c, G, std::nullopt, memory);
  return s(2, 2);  // the area does not change
}

class TwoLaws : public testing::TestWithParam<ElementKind> {};

// Requirement: layers of any two laws in any element carry the same stress in tension and compression if each is
// stretched according to its law. Uniform in each layer, so that every element represents it exactly.
TEST_P(TwoLaws, AreSpringsInSeries) {
  const double nu = GetParam().mixed() ? 0.4999 : 0.4;
  const std::vector<Material> materials{made_of(1e6, nu, "low"), made_of(4e6, 0.3, "high")};
  const BodyModel body(two_layers(GetParam().n_nodes), materials, GetParam().pressure);
  const std::vector<MaterialLaw> all{
      MaterialLaw::linear, MaterialLaw::neo_hookean, material_of({.isotropic = StretchLaw::yeoh(0.4, 0.05)}),
      material_of({.fibers = {.stiffness = 1e6, .exponent = 1.0, .directions = {Vector3::UnitZ()}}})};
  SparseMatrix K = sparsity_pattern(body);
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (std::size_t j = 0; j < all.size(); ++j) {
      for (const double l_high : {0.95, 1.03}) {
        const double stress = axial_stress(all[j], lame_constants(materials[1]), l_high);
        double from = 0.5;
        double to = 2.0;
        for (int k = 0; k < 60; ++k) {
          const double l = 0.5 * (from + to);
          (axial_stress(all[i], lame_constants(materials[0]), l) < stress ? from : to) = l;
        }
        const MaterialLaws laws({all[i], all[j]});
        const Eigen::VectorXd u = stretched(body.mesh(), from, l_high);
        const BodyEquations at = assemble_equations(body, laws, u, K);
        ASSERT_TRUE(at.valid);
        double top = 0.0;
        double inside = 0.0;
        for (std::size_t n = 0; n < body.mesh().nodes.size(); ++n) {
          const double f = at.force[3 * static_cast<Eigen::Index>(n) + 2];
          const double z = body.mesh().nodes[n].z();
          if (z == high) top += f;
          if (z > 0.0 && z < high) inside = std::max(inside, std::abs(f));
        }
        const double force = stress * 0.02 * 0.02;
        // Rounding of the stretch, 2e-16, times the bulk modulus, 2000 times the shear modulus, is 1e-12 of the stress.
        EXPECT_NEAR(top, force, 1e-9 * std::abs(force)) << GetParam().name << " laws " << i << " and " << j;
        EXPECT_LT(inside, 1e-9 * std::abs(force)) << GetParam().name << " laws " << i << " and " << j;
        const StressColumns columns = fem::stress(body, laws, u);
        EXPECT_LT((columns.row(2).array() - stress).abs().maxCoeff(), 1e-9 * std::abs(stress)) << GetParam().name;
      }
    }
  }
}

TEST_P(TwoLaws, TangentsAreDerivativesOfTheirForce) {
  const double nu = GetParam().mixed() ? 0.49 : 0.4;
  const BodyModel body(two_layers(GetParam().n_nodes),
                       std::vector<Material>{made_of(1e6, nu, "low"), made_of(4e6, 0.3, "high")}, GetParam().pressure);
  const MaterialLaw yeoh =
      material_of({.isotropic = StretchLaw::yeoh(0.4, 0.05), .prony = PronySeries({0.3, 0.2}, {0.1, 2.0})});
  for (const MaterialLaws& laws :
       {MaterialLaws({MaterialLaw::linear, yeoh}), MaterialLaws({yeoh, MaterialLaw::neo_hookean})}) {
    SparseMatrix K = sparsity_pattern(body);
    SparseMatrix unused = K;
    Eigen::VectorXd u(static_cast<Eigen::Index>(body.n_dofs()));
    for (Eigen::Index i = 0; i < u.size(); ++i) u[i] = 2e-4 * std::sin(3.0 * static_cast<double>(i) + 1.0);
    // With a history, so that the history variables of different elements are distinguished.
    const HistoryUpdate past = update_history_variables(body, laws, u, {});
    EXPECT_EQ(past.values.size(), static_cast<Eigen::Index>(memory_size(body, laws)));
    const BodyHistoryVariables memory{.values = {past.values.data(), static_cast<std::size_t>(past.values.size())},
                                      .dt = 0.05};
    u *= 1.3;
    const BodyEquations at = assemble_equations(body, laws, u, K, 0, memory);
    ASSERT_TRUE(at.valid);
    const Eigen::MatrixXd tangent(K);
    const double h = 1e-7;  // [m] truncation (h / 5 mm)^2 = 4e-10, rounding 1e-16 / 1e-5 = 1e-11
    for (Eigen::Index i = 0; i < u.size(); i += 17) {
      Eigen::VectorXd v = u;
      v[i] += h;
      const BodyEquations forth = assemble_equations(body, laws, v, unused, 0, memory);
      v[i] -= 2.0 * h;
      const BodyEquations back = assemble_equations(body, laws, v, unused, 0, memory);
      const Eigen::VectorXd column = (forth.force - back.force) / (2.0 * h);
      EXPECT_LT((column - tangent.col(i)).cwiseAbs().maxCoeff(), 1e-7 * tangent.cwiseAbs().maxCoeff())
          << GetParam().name;
    }
  }
}

// Two sets of one material are one body, bit for bit, also where elements share pressures.
TEST_P(TwoLaws, OfTheSameKindAreOneBody) {
  const BodyModel one(two_layers(GetParam().n_nodes), std::vector<Material>{made_of(1e6, 0.49)}, GetParam().pressure);
  const BodyModel two(two_layers(GetParam().n_nodes),
                      std::vector<Material>{made_of(1e6, 0.49, "low"), made_of(1e6, 0.49, "high")},
                      GetParam().pressure);
  const MaterialLaw yeoh =
      material_of({.isotropic = StretchLaw::yeoh(0.4, 0.05), .prony = PronySeries({0.3, 0.2}, {0.1, 2.0})});
  SparseMatrix K = sparsity_pattern(one);
  SparseMatrix L = sparsity_pattern(two);
  ASSERT_EQ(K.nonZeros(), L.nonZeros());
  Eigen::VectorXd u(static_cast<Eigen::Index>(one.n_dofs()));
  for (Eigen::Index i = 0; i < u.size(); ++i) u[i] = 2e-4 * std::sin(3.0 * static_cast<double>(i) + 1.0);
  const BodyEquations a = assemble_equations(one, yeoh, u, K);
  const BodyEquations b = assemble_equations(two, MaterialLaws({yeoh, yeoh}), u, L);
  EXPECT_EQ(a.force, b.force);
  EXPECT_EQ(a.energy, b.energy);
  EXPECT_TRUE(std::equal(K.valuePtr(), K.valuePtr() + K.nonZeros(), L.valuePtr()));
}

INSTANTIATE_TEST_SUITE_P(Elements, TwoLaws, testing::ValuesIn(element_kinds().begin(), element_kinds().end()),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(ElementSets, HaveIndividualDensities) {
  std::vector<Material> materials{made_of(1e6, 0.3, "low"), made_of(1e9, 0.3, "high")};
  materials[0].density = 1100.0;
  materials[1].density = 1900.0;
  const BodyModel body(two_layers(8), materials);
  const auto modes = rigid_modes(body);
  const double mass = (modes.transpose() * mass_times(body, modes))(5, 5);
  const double expected = 4e-4 * (1100.0 * low + 1900.0 * (high - low));
  EXPECT_NEAR(mass, expected, 1e-12 * expected) << "[kg]";
}

TEST(ElementSets, IncompleteCoverOfTheBodyIsReported) {
  const auto rejection_error = [](std::vector<Material> materials) -> std::string {
    VolumeMesh mesh = two_layers(4);
    mesh.element_sets["nothing"] = {};
    try {
      const BodyModel body(std::move(mesh), materials);
      return "accepted";
    } catch (const Error& error) {
      return error.what();
    }
  };
  EXPECT_EQ(rejection_error({made_of(1e6, 0.3, "low"), made_of(1e6, 0.3, "high")}), "accepted");
  EXPECT_THAT(rejection_error({made_of(1e6, 0.3), made_of(1e6, 0.3, "hihg")}),
              HasSubstr("element set 'hihg' does not exist; sets of the mesh: high, low, nothing"));
  EXPECT_THAT(rejection_error({made_of(1e6, 0.3), made_of(1e6, 0.3, "nothing")}),
              HasSubstr("element set 'nothing' is empty"));
  EXPECT_THAT(rejection_error({made_of(1e6, 0.3, "low")}), HasSubstr("48 of 96 elements have no material"));
}

// A layer that relaxes in series with an elastic one: k_0 relaxes to k_inf in tau, and with the spring k in series the
// force at a constant displacement d decays from d k_0 k / (k_0 + k) to d k_inf k / (k_inf + k) in tau (k_0 + k) /
// (k_inf + k). Sides are fixed: k = M / height with M = K + 4/3 mu.
TEST(RelaxingLayer, BehindAnElasticOneRelaxesAsTheClosedForm) {
  const double g = 0.6;
  const double tau = 0.5;
  const std::vector<Material> materials{made_of(1e6, 0.3, "low"), made_of(3e6, 0.2, "high")};
  const MaterialLaws laws({material_of({.isotropic = StretchLaw::mooney_rivlin(0.2), .prony = PronySeries({g}, {tau})}),
                           MaterialLaw::neo_hookean});
  const BodyModel body(two_layers(8), materials, PressureKind::element);
  const LameConstants soft = lame_constants(materials[0]);
  const LameConstants hard = lame_constants(materials[1]);
  const double k_0 = (soft.lambda + 2.0 * soft.mu) / low;
  const double k_inf = (soft.lambda + 2.0 / 3.0 * soft.mu + 4.0 / 3.0 * (1.0 - g) * soft.mu) / low;
  const double k = (hard.lambda + 2.0 * hard.mu) / (high - low);
  const double d = 1e-8;  // [m] strains of 1e-6, whose squares are neglected above
  SparseMatrix K = sparsity_pattern(body);
  std::vector<double> past;
  double strain = 0.0;
  const double dt = 0.0025;  // the stress is linear over a step to (dt / tau)^2 / 12 = 2e-6
  const int n_steps = 600;
  for (int step = 0; step <= n_steps; ++step) {
    const BodyHistoryVariables memory{.values = past, .dt = step == 0 ? 0.0 : dt};
    // One unknown, the strain of the first layer: the force at the interface vanishes.
    double force = 0.0;
    for (int newton = 0; newton < 4; ++newton) {
      const auto at = [&](double e) {
        const Eigen::VectorXd u = stretched(body.mesh(), 1.0 + e, 1.0 + (d - e * low) / (high - low));
        return assemble_equations(body, laws, u, K, 0, memory).force;
      };
      const auto sum = [&](const Eigen::VectorXd& f, double z) {
        double total = 0.0;
        for (std::size_t n = 0; n < body.mesh().nodes.size(); ++n) {
          if (body.mesh().nodes[n].z() == z) total += f[3 * static_cast<Eigen::Index>(n) + 2];
        }
        return total;
      };
      const double h = 1e-7;
      const Eigen::VectorXd f = at(strain);
      force = sum(f, high);
      strain -= sum(f, low) * h / (sum(at(strain + h), low) - sum(f, low));
    }
    const double t = step * dt;
    const double first = d * k_0 * k / (k_0 + k);
    const double last = d * k_inf * k / (k_inf + k);
    const double closed = 4e-4 * (last + (first - last) * std::exp(-t / tau * (k_inf + k) / (k_0 + k)));
    if (step % 100 == 0) {
      std::printf("%6.3f s: %.8e N, closed form %.8e N\n", t, force, closed);
      EXPECT_NEAR(force, closed, 1e-5 * closed) << t;
    }
    const Eigen::VectorXd u = stretched(body.mesh(), 1.0 + strain, 1.0 + (d - strain * low) / (high - low));
    const HistoryUpdate after = update_history_variables(body, laws, u, memory);
    EXPECT_GE(after.dissipated, 0.0);
    past.assign(after.values.begin(), after.values.end());
    EXPECT_EQ(past.size(), 12U * 8U * 8U) << "twelve numbers at each of eight points of the eight elements that relax";
  }
}

/// Cylinder of two layers, "pad" below and "bone" above, clamped at its top, on a plate.
class LayeredPad : public testing::Test {
 protected:
  LayeredPad() {
    CylinderSurface cylinder{.radius = 0.02};
    cylinder.layers = {{.name = "pad", .height = 0.01}, {.name = "bone", .height = 0.03}};
    cylinder.length = 0.04;
    pair_.name = "pad-plate";
    pair_.backend = "fem_full";
    pair_.main.name = "pad";
    pair_.main.surface = cylinder;
    pair_.partner.surface = PlaneSurface{};
    pair_.parameters = {
        {"element_size", 0.01}, {"clamped_set", std::string("top")}, {"contact_set", std::string("bottom")}};
    context_.on_progress = [this](std::string_view stage, double) { warnings_.emplace_back(stage); };
  }
  [[nodiscard]] std::unique_ptr<ContactBackend> make() { return make_backend(pair_, context_); }
  [[nodiscard]] static PairState state(double t, double depth) {
    PairState state;
    state.t = t;
    state.X_AB.p = Vector3(0.0, 0.0, -0.02 + depth);
    return state;
  }
  [[nodiscard]] double force(double depth) {
    const auto contact = make();
    return contact->evaluate(*contact->initial_history(), state(0.0, depth)).F_A.force.z();
  }
  [[nodiscard]] std::string rejection_error() {
    try {
      (void)make();
    } catch (const Error& error) {
      return error.what();
    }
    return "accepted";
  }
  static Material part(const char* set, double E, double nu, ParameterMap law) {
    Material material = made_of(E, nu, set);
    material.law = std::move(law);
    return material;
  }
  static ParameterMap law(const char* name) { return {{"material_law", std::string(name)}}; }

  PairSpec pair_;
  PrepareContext context_;
  std::vector<std::string> warnings_;
};

// With a Poisson's ratio of 0 there is no lateral motion: neo-Hookean P = mu (1/l - l) below, Hooke's E (1 - l) above.
TEST_F(LayeredPad, EveryLayerFollowsItsOwnLaw) {
  const double E_pad = 2e6;
  const double E_bone = 8e6;
  const double depth = 4e-3;
  pair_.main.materials = {part("pad", E_pad, 0.0, law("neo_hookean")), part("bone", E_bone, 0.0, law("linear"))};
  double from = 0.0;  // [Pa]
  double to = 1e7;
  for (int i = 0; i < 100; ++i) {
    const double p = 0.5 * (from + to);
    const double x = p / E_pad;  // mu = E / 2: 2 p = E (1/l - l)
    const double l = std::sqrt(1.0 + x * x) - x;
    ((1.0 - l) * 0.01 + p / E_bone * 0.03 < depth ? from : to) = p;
  }
  const double linear = depth / (0.01 / E_pad + 0.03 / E_bone);
  const double rounding = 1e-8;  // as of LayeredCylinder
  const double stiffer = force(depth);
  pair_.main.materials = {made_of(E_pad, 0.0, "pad"), made_of(E_bone, 0.0, "bone")};
  pair_.parameters["material_law"] = std::string("linear");
  const double hooke = force(depth);
  EXPECT_NEAR(stiffer / hooke, from / linear, rounding);
  EXPECT_GT(stiffer, 1.05 * hooke);
  // One law among the parameters, another for one material.
  pair_.main.materials[0].law = law("neo_hookean");
  EXPECT_EQ(force(depth), stiffer);
  // The layer of fem_layered is the pad: the bone is linear in either.
  pair_.backend = "fem_layered";
  pair_.parameters["layer_set"] = std::string("pad");
  EXPECT_NEAR(force(depth), stiffer, rounding * stiffer);
  EXPECT_THAT(warnings_, Not(Contains(HasSubstr("no element of the layer"))));
  pair_.parameters.erase("material_law");
  pair_.main.materials[1].law = law("neo_hookean");
  (void)make();
  EXPECT_THAT(warnings_, Contains(AllOf(HasSubstr("materials.bone.law"), HasSubstr("no element of the layer"))));
}

TEST_F(LayeredPad, OfOneMaterialInTwoSetsIsOneBody) {
  pair_.parameters["material_law"] = std::string("yeoh");
  pair_.parameters["yeoh_ratios"] = std::vector<double>{0.5, 0.1};
  for (const char* element : {"tet4", "tet4_mixed", "tet10_mixed"}) {
    pair_.parameters["element"] = std::string(element);
    pair_.main.materials = {made_of(1e6, 0.49)};
    const double one = force(2e-3);
    pair_.main.materials = {made_of(1e6, 0.49, "pad"), made_of(1e6, 0.49, "bone")};
    EXPECT_EQ(force(2e-3), one) << element;
  }
}

// Only the pad relaxes, to the elastic pad of the long-term modulus on the unchanged bone; its history belongs to the
// commit.
TEST_F(LayeredPad, RelaxesWhereItsMaterialDoes) {
  ParameterMap relaxing = law("mooney_rivlin");
  relaxing["mooney_fraction"] = 0.3;
  ParameterMap elastic = relaxing;
  relaxing["prony_coefficients"] = std::vector<double>{0.5};
  relaxing["prony_times"] = std::vector<double>{0.2};
  pair_.main.materials = {part("bone", 4e6, 0.3, law("neo_hookean")), part("pad", 1e6, 0.4, relaxing)};
  const auto pad = make();
  const double depth = 2e-3;
  const Committed pressed = pad->commit(*pad->initial_history(), state(0.0, depth));
  Committed relaxed = pressed;
  for (const double t : {0.05, 0.1, 1.0, 10.0, 1e4, 1e7}) {
    const double before = relaxed.response.F_A.force.z();
    relaxed = pad->commit(*pad->load_history(relaxed.history->save()), state(t, depth));
    EXPECT_LT(relaxed.response.F_A.force.z(), before * (1.0 + 1e-12)) << t;
  }
  const LameConstants c = lame_constants(pair_.main.materials[1]);
  const double mu = 0.5 * c.mu;
  const double K = c.lambda + 2.0 / 3.0 * c.mu;
  const double nu = (3.0 * K - 2.0 * mu) / (6.0 * K + 2.0 * mu);
  pair_.main.materials[1] = part("pad", 2.0 * mu * (1.0 + nu), nu, elastic);
  const double last = force(depth);
  std::printf("pressed %.4f N, relaxed %.4f N, of the slow modulus %.4f N\n", pressed.response.F_A.force.z(),
              relaxed.response.F_A.force.z(), last);
  EXPECT_NEAR(relaxed.response.F_A.force.z(), last, 1e-8 * last) << "[N] Newton's method ends at 1e-10 of the force";
  EXPECT_GT(pressed.response.F_A.force.z(), 1.1 * last);
}

TEST_F(LayeredPad, LinearBackEndsUseTheModuliAndReportIt) {
  pair_.main.materials = {made_of(2e6, 0.3, "pad"), made_of(1e9, 0.3, "bone")};
  for (const char* backend : {"fem_condensed", "fem_modal"}) {
    pair_.backend = backend;
    for (Material& material : pair_.main.materials) material.law.clear();
    warnings_.clear();
    const double plain = force(1e-4);
    EXPECT_THAT(warnings_, Not(Contains(HasSubstr("law"))));
    pair_.main.materials[0].law = law("yeoh");
    pair_.main.materials[0].law["yeoh_ratios"] = std::vector<double>{0.5, 0.1};
    EXPECT_EQ(force(1e-4), plain);
    EXPECT_THAT(warnings_, Contains(AllOf(HasSubstr("contact.pad-plate.main.materials.pad.law"), HasSubstr("moduli"))));
  }
}

TEST_F(LayeredPad, OverlappingSetsAreReported) {
  CylinderSurface cylinder{.radius = 0.02};
  cylinder.layers = {{.name = "pad", .height = 0.01}, {.name = "bone", .height = 0.03}};
  cylinder.length = 0.04;
  cylinder.core_radius = 0.01;
  pair_.main.surface = cylinder;
  pair_.main.materials = {made_of(1e6, 0.3), made_of(2e6, 0.3, "pad"), made_of(1e9, 0.3, "core")};
  (void)make();
  EXPECT_THAT(warnings_, Contains(AllOf(HasSubstr("'pad' and 'core' share"), HasSubstr("the later material, 'core'"))));
  warnings_.clear();
  pair_.main.materials = {made_of(1e6, 0.3), made_of(2e6, 0.3, "pad"), made_of(1e9, 0.3, "bone")};
  (void)make();
  EXPECT_THAT(warnings_, Not(Contains(HasSubstr("share"))));
}

TEST_F(LayeredPad, InvalidLawsAreReported) {
  const std::string where = "contact.pad-plate.main.materials.pad.law";
  const auto rejected = [&](ParameterMap own) {
    pair_.main.materials = {made_of(1e9, 0.3), part("pad", 2e6, 0.3, std::move(own))};
    return rejection_error();
  };
  EXPECT_EQ(rejected(law("neo_hookean")), "accepted");
  for (const char* backend : {"fem_full", "fem_condensed", "fem_modal"}) {
    pair_.backend = backend;
    EXPECT_THAT(rejected(law("moony")), AllOf(HasSubstr(where + ".material_law"), HasSubstr("mooney_rivlin")));
    EXPECT_THAT(rejected(law("yeoh")), AllOf(HasSubstr(where + ".yeoh_ratios"), HasSubstr("needs the two ratios")));
    EXPECT_THAT(rejected({{"yeoh_ratio", 1.0}}), AllOf(HasSubstr(where), HasSubstr("yeoh_ratios")));
  }
  pair_.backend = "fem_full";
  pair_.main.materials = {part("pad", 2e6, 0.3, law("linear")), part("bone", 1e9, 0.3, law("linear"))};
  EXPECT_EQ(rejection_error(), "accepted");
  pair_.parameters["material_law"] = std::string("mooney_rivlin");
  pair_.parameters["mooney_fraction"] = 0.2;
  EXPECT_THAT(rejection_error(), AllOf(HasSubstr("contact.pad-plate.parameters.m"), HasSubstr("has its own law")));
  PairSpec ball;
  ball.name = "ball";
  ball.backend = "hertz";
  ball.main.surface = SphereSurface{.radius = 0.1};
  ball.main.materials = {part("", 2e6, 0.3, law("yeoh"))};
  ball.partner.surface = PlaneSurface{};
  try {
    (void)checked_pair(ball);
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(),
                AllOf(HasSubstr("contact.ball.main.material.law"), HasSubstr("supports no material laws")));
  }
}

}  // namespace
}  // namespace heelstrike::fem
