// The layer of the target surface with a varying thickness: a wedge compared with its closed forms, work with friction,
// input errors, and a natural knee between two bones.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <numbers>
#include <sstream>

#include "common/errors/error.hpp"
#include "fem_server/backends/elastic_foundation/bed_law.hpp"
#include "fem_server/backends/elastic_foundation/entry.hpp"
#include "fem_server/geometry/read_mesh.hpp"
#include "fem_server/sessions/open_session.hpp"
#include "tests/unit/elastic_foundation/foundation_examples.hpp"

namespace heelstrike::fem {
namespace {

using namespace testing_support;
using testing::AllOf;
using testing::HasSubstr;

constexpr double edge = 0.02;         // [m] of the plate with the springs
constexpr double middle = 0.003;      // [m] thickness of the wedge there
constexpr double slope = 0.08;        // [-] of its thickness along x
constexpr double wedge_depth = 1e-4;  // [m]
const Material soft = material(10e6, 0.45);
const Material stiff = material(30e6, 0.4);

double confined_modulus(const Material& m) {
  return LayerLaw::confined_modulus_factor(m.poissons_ratio) * m.youngs_modulus;
}

/// A plate with springs, and a larger one with a wedge below it; a plate that is in the wedge, or too far below.
Assets plates(int cells) {
  Assets assets;
  const auto level = [](double z) { return [z](double, double) { return z; }; };
  assets.add("plate", height_field(edge, cells, level(0.0)));
  assets.add("wide", height_field(0.05, 7, level(0.0)));
  assets.add("wedge", height_field(0.06, 3, [](double x, double) { return -middle - slope * x; }));
  assets.add("parallel", height_field(0.06, 3, level(-middle)));
  assets.add("in_front", height_field(0.06, 3, level(0.001)));
  assets.add("far", height_field(0.06, 3, level(-0.3)));
  return assets;
}

PairSpec wedge_pair(ParameterMap more) {
  more.try_emplace("partner_back_asset", "wedge");
  PairSpec pair = layer_pair(mesh_named("plate"), mesh_named("wide"), std::move(more));
  pair.main.materials = {stiff};
  pair.partner.materials = {soft};
  return pair;
}

std::unique_ptr<ContactBackend> make_wedge(PairSpec pair, const Assets& assets) {
  const BackendEntry entry = elastic_foundation_entry();
  pair.parameters = checked_parameters(pair.parameters, entry.parameters, "contact.knee.parameters");
  entry.check(pair);
  return entry.make(pair, assets.context());
}

/// The wide plate upside down on the other, moved along x.
PairState pressed(double by, double x = 0.0) {
  PairState state;
  state.X_AB = {.R = Eigen::AngleAxisd(std::numbers::pi, Vector3::UnitX()).toRotationMatrix(), .p = {x, 0.0, -by}};
  return state;
}

/// The normal force, the force along x due to the gradient of the thickness, and the moment of the pressure about y.
struct Wedge {
  double normal, lateral, moment, energy;
};

/// p = d / (c0 + c1 x) over the plate.
Wedge proportional(double c0, double c1) {
  const double up = c0 + 0.5 * c1 * edge;
  const double down = c0 - 0.5 * c1 * edge;
  const double F = wedge_depth * edge / c1 * std::log(up / down);
  // The energy with the wedge moved along x, differentiated by the displacement.
  const double lateral = 0.5 * wedge_depth * wedge_depth * edge * (1.0 / down - 1.0 / up);
  const double moment = wedge_depth * edge * (edge / c1 - c0 / (c1 * c1) * std::log(up / down));
  return {F, lateral, moment - wedge_depth * lateral, 0.5 * F * wedge_depth};
}

/// p = - M ln(1 - d / h) over the plate; deep, for the law to matter.
Wedge of_large_strain(double M, double d) {
  const double up = middle + 0.5 * slope * edge;
  const double down = middle - 0.5 * slope * edge;
  const auto volume = [d](double h) { return (h - d) * std::log(h - d) - h * std::log(h); };
  const auto work = [M, d](double h) { return M * ((h - d) * std::log1p(-d / h) + d); };
  return {-M * edge / slope * (volume(up) - volume(down)), edge * (work(down) - work(up)), 0.0, 0.0};
}

struct WedgeCase {
  std::string name;
  PairSpec pair;
  Wedge expected;
  double by = wedge_depth;
};

std::vector<WedgeCase> wedge_cases() {
  std::vector<WedgeCase> cases;
  const double hard = confined_modulus(stiff);
  const double M = confined_modulus(soft);
  const double own = 0.002;
  cases.push_back({"series", wedge_pair({{"thickness", own}}), proportional(own / hard + middle / M, slope / M)});
  const double K = confined_modulus(material(20e6, 0.425));
  cases.push_back(
      {"lumped", wedge_pair({{"thickness", own}, {"layers", "lumped"}}), proportional((own + middle) / K, slope / K)});
  PairSpec alone = wedge_pair({});
  alone.main.materials.clear();
  alone.parameters.erase("thickness");
  cases.push_back({"alone", alone, proportional(middle / M, slope / M)});
  PairSpec large = alone;
  large.parameters["strain"] = "large";
  cases.push_back({"large strain", large, of_large_strain(M, 1e-3), 1e-3});
  PairSpec nearest = alone;
  nearest.parameters["penetration"] = "nearest";
  cases.push_back({"nearest", nearest, proportional(middle / M, slope / M)});
  cases.back().expected.moment += wedge_depth * cases.back().expected.lateral;  // acts at the springs then
  PairSpec centres = alone;
  centres.parameters["springs"] = "centres";
  cases.push_back({"centres", centres, proportional(middle / M, slope / M)});
  return cases;
}

// Over a triangle the thickness is that of its middle, and so is the point of its pressure: errors of the square of the
// change of thickness over a cell relative to its minimum, and of the cell relative to the plate for the moment.
TEST(VaryingLayer, WedgeAgainstClosedForms) {
  for (const WedgeCase& c : wedge_cases()) {
    std::array<double, 2> errors{};
    for (const int level : {0, 1}) {
      const auto backend = make_wedge(c.pair, plates(16 << level));
      const Response r = backend->evaluate(*backend->initial_history(), pressed(c.by));
      const Wedge& e = c.expected;
      const double normal = -r.F_A.force.z() / e.normal - 1.0;
      const double lateral = r.F_A.force.x() / e.lateral - 1.0;
      fmt::print("{:<14}{:>4} cells  normal {:+.2e}  lateral {:+.2e}", c.name, 16 << level, normal, lateral);
      const double cell = 1.0 / (16 << level);
      const double change = slope * edge * cell / (middle - 0.5 * slope * edge - c.by);
      EXPECT_LT(std::abs(normal), change * change) << c.name;
      EXPECT_LT(std::abs(lateral), change * change) << c.name;
      if (e.energy > 0.0) {
        const double moment = r.F_A.torque.y() / e.moment - 1.0;
        const double energy = r.stored_energy / e.energy - 1.0;
        fmt::print("  moment {:+.2e}  energy {:+.2e}", moment, energy);
        EXPECT_LT(std::abs(moment), cell * cell) << c.name;
        EXPECT_LT(std::abs(energy), change * change) << c.name;
      }
      fmt::print("\n");
      errors[static_cast<std::size_t>(level)] = lateral;
    }
    EXPECT_GT(std::log2(std::abs(errors[0] / errors[1])), 1.8) << c.name;
  }
}

// Along the springs there is no lateral force.
TEST(VaryingLayer, ForceAlongTheNormalHasNoLateralPart) {
  const auto backend = make_wedge(wedge_pair({{"direction", "normal"}}), plates(16));
  const Response r = backend->evaluate(*backend->initial_history(), pressed(wedge_depth));
  EXPECT_GT(std::abs(r.F_A.force.z()), 10.0);
  EXPECT_LT(std::abs(r.F_A.force.x()), 1e-12 * std::abs(r.F_A.force.z()));
}

// The thinnest place has the peak pressure.
TEST(VaryingLayer, PeakPressureIsTheLocalPressure) {
  PairSpec pair = wedge_pair({});
  pair.main.materials.clear();
  pair.parameters.erase("thickness");
  const auto backend = make_wedge(pair, plates(16));
  const Response r = backend->evaluate(*backend->initial_history(), pressed(wedge_depth));
  EXPECT_NEAR(r.peak_pressure / (confined_modulus(soft) * wedge_depth / (middle - 0.5 * slope * edge)), 1.0, 1e-12);
}

TEST(VaryingLayer, ThicknessesOfVerticesEqualThoseOfTheBack) {
  const Assets assets = plates(16);
  const Vector6 back_file_parameter = [&] {
    const auto backend = make_wedge(wedge_pair({}), assets);
    return backend->evaluate(*backend->initial_history(), pressed(wedge_depth)).F_A.vector();
  }();
  ReadOptions read;
  read.name = "wide";
  read.format = "stl";
  std::vector<double> thickness;
  const auto of = [](double x) { return middle + slope * x; };
  const std::string wide = assets.context().asset({.sha256 = {}, .name = "wide"}).content;
  for (const Vector3& p : read_surface(wide, read).vertices) thickness.push_back(of(p.x()));
  PairSpec pair = wedge_pair({{"partner_vertex_thickness", thickness}});
  pair.parameters.erase("partner_back_asset");
  const auto backend = make_wedge(pair, assets);
  const Vector6 by_vertex = backend->evaluate(*backend->initial_history(), pressed(wedge_depth)).F_A.vector();
  EXPECT_LT((by_vertex - back_file_parameter).norm(), 1e-11 * back_file_parameter.norm());
}

// A parallel back is one thickness.
TEST(VaryingLayer, ParallelBackEqualsOneThickness) {
  const Assets assets = plates(16);
  for (const std::string layers : {"series", "lumped"}) {
    PairSpec varying = wedge_pair({{"partner_back_asset", "parallel"}, {"layers", layers}});
    PairSpec constant = wedge_pair({{"partner_thickness", middle}, {"layers", layers}});
    constant.parameters.erase("partner_back_asset");
    const auto one = make_wedge(varying, assets);
    const auto other = make_wedge(constant, assets);
    const Response a = one->evaluate(*one->initial_history(), pressed(wedge_depth, 3e-4));
    const Response b = other->evaluate(*other->initial_history(), pressed(wedge_depth, 3e-4));
    EXPECT_LT((a.F_A.vector() - b.F_A.vector()).norm(), 1e-12 * b.F_A.vector().norm());
    EXPECT_LT((a.dF_A_dX - b.dF_A_dX).norm(), 1e-12 * b.dF_A_dX.norm());
    EXPECT_NEAR(a.stored_energy, b.stored_energy, 1e-12 * b.stored_energy);
  }
}

/// Work of a plate that is pressed on, moved over the wedge up and back, and lifted, less the stored and dissipated
/// energy, over the dissipated energy.
double relative_energy_error(const ContactBackend& backend, int steps) {
  Committed committed = backend.commit(*backend.initial_history(), pressed(-1e-7));
  double work = 0.0;
  double dissipated = 0.0;
  PairState before = pressed(-1e-7);
  const auto go = [&](const PairState& to) {
    const Vector3 last = committed.response.F_A.force;
    committed = backend.commit(*committed.history, to);
    work += 0.5 * (last + committed.response.F_A.force).dot(to.X_AB.p - before.X_AB.p);
    dissipated += committed.response.dissipated_increment;
    before = to;
  };
  for (int i = 1; i <= steps; ++i) go(pressed(wedge_depth * i / steps));
  for (int i = 1; i <= 4 * steps; ++i) go(pressed(wedge_depth, 2e-3 * i / (4 * steps)));
  for (int i = 1; i <= 2 * steps; ++i) go(pressed(wedge_depth, 2e-3 - 1e-3 * i / (2 * steps)));
  return (work - committed.response.stored_energy - dissipated) / dissipated;
}

// Sheared springs store more energy where the layer is thicker; with that the balance closes, to the square of the
// steps.
TEST(VaryingLayer, WorkAgainstFrictionIsStoredOrDissipated) {
  for (const std::string springs : {"vertices", "centres"}) {
    const auto backend = make_wedge(wedge_pair({{"friction", 0.3}, {"springs", springs}}), plates(6));
    const double coarse = relative_energy_error(*backend, 100);
    const double fine = relative_energy_error(*backend, 200);
    fmt::print("springs at {}: imbalance {:.2e} with 700 steps, {:.2e} with 1400\n", springs, coarse, fine);
    EXPECT_LT(std::abs(fine), 1e-5);
    EXPECT_LT(std::abs(fine), 0.35 * std::abs(coarse));
  }
}

void expect_layer_error(const PairSpec& pair, const std::string& field, const testing::Matcher<std::string>& message) {
  try {
    (void)make_wedge(pair, plates(4));
    FAIL() << "expected an error at " << field;
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::invalid_input);
    EXPECT_EQ(e.field(), "contact.knee.parameters." + field);
    EXPECT_THAT(std::string(e.what()), message);
  }
}

TEST(VaryingLayer, BackSurfaceErrorsAreReported) {
  expect_layer_error(wedge_pair({{"partner_back_asset", "in_front"}}), "partner_back_asset",
                     AllOf(HasSubstr("0.001 m in front"), HasSubstr("vertex")));
  expect_layer_error(wedge_pair({{"partner_back_asset", "far"}}), "partner_back_asset",
                     AllOf(HasSubstr("within 0.02 m"), HasSubstr("found it 0.3 m away")));
}

// Where cartilage tapers to zero its back may be slightly in front; a back in front of most of it is the wrong one, for
// any minimum thickness.
TEST(VaryingLayer, MinimumThickness) {
  Assets assets = plates(16);
  assets.add("tapering", height_field(0.06, 3, [](double x, double) { return -middle - 0.15 * x; }));
  PairSpec pair = wedge_pair({{"partner_back_asset", "tapering"}, {"direction", "normal"}});
  EXPECT_THROW((void)make_wedge(pair, assets), Error);  // in front from x = - 20 mm on, of the plate of 50 mm
  pair.parameters["back_min_thickness"] = 0.001;
  const auto backend = make_wedge(pair, assets);
  const Response r = backend->evaluate(*backend->initial_history(), pressed(wedge_depth, 0.01));
  EXPECT_GT(-r.F_A.force.z(), 10.0);
  pair.parameters["partner_back_asset"] = "in_front";
  expect_layer_error(pair, "partner_back_asset", AllOf(HasSubstr("0.001 m in front"), HasSubstr("exchange")));
}

TEST(VaryingLayer, ErrorsOfVertexThicknessesAreReported) {
  std::vector<double> values(64, 0.003);
  PairSpec pair = wedge_pair({{"partner_vertex_thickness", std::vector<double>(63, 0.003)}});
  pair.parameters.erase("partner_back_asset");
  expect_layer_error(pair, "partner_vertex_thickness",
                     AllOf(HasSubstr("expected 64"), HasSubstr("met"), HasSubstr("found 63")));
  for (const double invalid : {0.0, -0.002}) {
    values[20] = invalid;
    pair.parameters["partner_vertex_thickness"] = values;
    expect_layer_error(pair, "partner_vertex_thickness",
                       AllOf(HasSubstr(fmt::format("found {:g} m at vertex 20", invalid)), HasSubstr("> 0")));
  }
}

TEST(VaryingLayer, OneThicknessOfOneLayer) {
  expect_layer_error(wedge_pair({{"partner_thickness", 0.003}}), "partner_thickness",
                     AllOf(HasSubstr("found several"), HasSubstr("partner_back_file")));
  PairSpec none = wedge_pair({});
  none.parameters.erase("partner_back_asset");
  expect_layer_error(none, "partner_thickness", AllOf(HasSubstr("found none"), HasSubstr("partner_vertex_thickness")));
  PairSpec rigid = wedge_pair({});
  rigid.partner.materials.clear();
  expect_layer_error(rigid, "partner_thickness", HasSubstr("the partner has no material"));
}

TEST(VaryingLayer, AnalyticShapesHaveOneThickness) {
  PairSpec pair = wedge_pair({});
  pair.partner.surface = SphereSurface{.radius = 0.025, .center = Vector3::Zero()};
  expect_layer_error(pair, "partner_back_asset", AllOf(HasSubstr("found a sphere"), HasSubstr("partner_thickness")));
  pair.partner.surface = PlaneSurface{.normal = Vector3::UnitZ(), .point = Vector3::Zero()};
  pair.parameters.erase("partner_back_asset");
  pair.parameters["partner_vertex_thickness"] = std::vector<double>(4, 0.003);
  expect_layer_error(pair, "partner_vertex_thickness", HasSubstr("found a plane"));
}

TEST(VaryingLayer, DifferentBackIsADifferentPair) {
  const auto digest = [](const Assets& assets) {
    return open_session(wedge_pair({{"partner_back_asset", "bone"}}), assets.context())->description().digest;
  };
  const auto level = [](double z) { return [z](double, double) { return z; }; };
  Assets thin = plates(4);
  thin.add("bone", height_field(0.06, 3, level(-middle)));
  Assets thick = plates(4);
  thick.add("bone", height_field(0.06, 3, level(-2.0 * middle)));
  EXPECT_EQ(digest(thin), digest(thin));
  EXPECT_NE(digest(thin), digest(thick));
}

}  // namespace
}  // namespace heelstrike::fem
