// The parametric knee: its shape, its loads, and the regions of its loads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <tuple>

#include "common/errors/error.hpp"
#include "fem_server/backend_interface/surface_regions.hpp"
#include "fem_server/backends/elastic_foundation/entry.hpp"
#include "fem_server/geometry/surface_check.hpp"
#include "scenario/surfaces/knee.hpp"
#include "tests/unit/elastic_foundation/foundation_examples.hpp"

namespace heelstrike::fem {
namespace {

using namespace testing_support;
using testing::AllOf;
using testing::HasSubstr;

SurfaceMesh mesh_of(const KneeSurface& knee) {
  Triangles triangles = knee.triangles();
  SurfaceMesh mesh;
  mesh.vertices = std::move(triangles.vertices);
  mesh.triangles = std::move(triangles.triangles);
  mesh.group_names = std::move(triangles.set_names);
  mesh.triangle_groups = std::move(triangles.sets);
  return mesh;
}

/// Cartilage of the model: 10 MPa, nu = 0.45.
PairSpec knee_pair(ParameterMap parameters, double edge = 0.0015, bool left = false) {
  const KneeDimensions d;
  parameters.try_emplace("thickness", d.tibial_cartilage);
  parameters.try_emplace("partner_thickness", d.femoral_cartilage);
  PairSpec pair = layer_pair(KneeSurface{.dimensions = {}, .is_tibia = true, .left = left, .edge = edge},
                             KneeSurface{.dimensions = {}, .left = left, .edge = edge}, std::move(parameters));
  pair.main.materials = {material(10e6, 0.45)};
  pair.partner.materials = {material(10e6, 0.45)};
  return pair;
}

std::unique_ptr<ContactBackend> make_knee(PairSpec pair) {
  const BackendEntry entry = elastic_foundation_entry();
  pair.parameters = checked_parameters(pair.parameters, entry.parameters, "contact.knee.parameters");
  entry.check(pair);
  return entry.make(pair, Assets().context());
}

Response loaded_knee(const ContactBackend& knee, double depth, double varus = 0.0) {
  PairState state;
  state.X_AB = {.R = rotation_from_vector({-varus, 0.0, 0.0}), .p = {0.0, -depth, 0.0}};
  return knee.evaluate(*knee.initial_history(), state);
}

TEST(ParametricKnee, SurfacesHaveOutwardNormalsAndTwoSides) {
  for (const bool tibia : {false, true}) {
    for (const bool left : {false, true}) {
      const SurfaceMesh mesh = mesh_of({.dimensions = {}, .is_tibia = tibia, .left = left});
      const SurfaceReport report = check_surface(mesh);
      EXPECT_EQ(report.n_components, 2U);
      for (const SurfaceFinding& finding : report.findings) EXPECT_EQ(finding.defect, SurfaceDefect::open_edge);
      ASSERT_EQ(mesh.triangle_groups.size(), mesh.triangles.size());
      for (std::size_t t = 0; t < mesh.triangles.size(); ++t) {
        const Vector3 p = mesh.vertices[mesh.triangles[t][0]];
        const bool medial = (p.z() < 0.0) != left;
        EXPECT_EQ(mesh.triangle_groups[t], medial ? 0U : 1U);
        const Vector3 n = triangle_cross(mesh, t);
        // The plateaus have upward normals; those of the condyles point away from the middle line of the arc that they
        // are swept along.
        const Vector3 out = tibia ? Vector3::UnitY() : Vector3(p.x(), p.y() - 0.003, 0.0);
        EXPECT_GT(n.dot(out), 0.0) << p.transpose();
      }
    }
  }
}

// Vertices of the bone lie below those of the cartilage by its thickness, along the normal of the smooth surface.
TEST(ParametricKnee, CartilageHasItsThicknessEverywhere) {
  const KneeDimensions d;
  for (const bool tibia : {false, true}) {
    const SurfaceMesh cartilage = mesh_of({.dimensions = {}, .is_tibia = tibia});
    const SurfaceMesh bone = mesh_of({.dimensions = {}, .is_tibia = tibia, .is_bone = true});
    ASSERT_EQ(cartilage.vertices.size(), bone.vertices.size());
    for (std::size_t v = 0; v < bone.vertices.size(); ++v) {
      EXPECT_NEAR((cartilage.vertices[v] - bone.vertices[v]).norm(), tibia ? d.tibial_cartilage : d.femoral_cartilage,
                  1e-15);
    }
  }
}

// Chords of length e of a circle of radius R deviate by e^2 / 8 R: those of the condyles inside, which leaves a gap,
// those of the hollow plateaus above, which overlaps. Diagonals of the triangles are up to sqrt(2) edges long.
TEST(ParametricKnee, BothCondylesTouchAtTheIdentityPose) {
  const double edge = 0.001;
  const KneeDimensions d;
  const auto chord = [&](double curvatures) { return 2.0 * edge * edge / 8.0 * curvatures; };
  const double inside = chord(1.0 / d.extension_radius + 1.0 / d.coronal_radius);
  const double a = 0.5 * d.plateau_length;
  const double b = 0.5 * d.plateau_breadth;
  const double above = chord(2.0 * d.medial_depth / (a * a) + 2.0 * d.medial_depth / (b * b));
  const auto knee = make_knee(knee_pair({}, edge));
  EXPECT_NEAR(loaded_knee(*knee, 0.0).gap, 0.0, std::max(inside, above));
  EXPECT_LT(loaded_knee(*knee, inside + 5e-7).gap, 0.0);
  // Both sides carry load, and neither of them four times that of the other.
  EXPECT_LT(std::abs(loaded_knee(*knee, 0.0002).p_ACop.z()), 0.6 * 0.5 * d.condyle_spacing);
}

TEST(ParametricKnee, VarusLoadsTheMedialSideAndALeftKneeMirrorsARightOne) {
  const Response right = loaded_knee(*make_knee(knee_pair({})), 0.0005, 0.004);
  EXPECT_LT(right.p_ACop.z(), -0.005);
  EXPECT_GT(-right.F_A.force.y(), 100.0);
  const Response left = loaded_knee(*make_knee(knee_pair({}, 0.0015, true)), 0.0005, -0.004);
  // Sums are taken in another order: rounding only.
  EXPECT_NEAR(left.F_A.force.y(), right.F_A.force.y(), 1e-9 * right.F_A.force.norm());
  EXPECT_NEAR(left.p_ACop.z(), -right.p_ACop.z(), 1e-9);
}

/// A pose on a path of steps between a micrometre and centimetres, into the surface or out of it.
class MovingSession {
 public:
  [[nodiscard]] const PairState& next() {
    const double size = std::pow(10.0, -6.0 + 3.7 * random());
    Vector3 at = state_.X_AB.p + size * Vector3(2.0 * random() - 1.0, 2.0 * random() - 1.0, 2.0 * random() - 1.0);
    // A millimetre above, no spring is active; half a millimetre below, a quarter of the springs are.
    at.y() = at.y() > 1e-3 || at.y() < -5e-4 ? 1e-4 * random() : at.y();
    at.x() = std::clamp(at.x(), -0.02, 0.02);
    at.z() = std::clamp(at.z(), -0.005, 0.005);
    state_.X_AB.p = at;
    rotation_ += 20.0 * size * Vector3(2.0 * random() - 1.0, 2.0 * random() - 1.0, 2.0 * random() - 1.0);
    rotation_ = rotation_.cwiseMax(Vector3(-0.02, -0.1, -0.3)).cwiseMin(Vector3(0.02, 0.1, 1.0));
    state_.X_AB.R = rotation_from_vector(rotation_);
    return state_;
  }

 private:
  [[nodiscard]] double random() { return static_cast<double>(generator_()) / 4294967296.0; }

  std::mt19937 generator_{7};
  PairState state_;
  Vector3 rotation_ = Vector3::Zero();
};

class SpringHistory : public testing::TestWithParam<std::tuple<const char*, const char*>> {};

// It changes no bit of a response: a contact without the history of the path has equal responses at each of its poses.
// Among the springs of so many steps are those that come behind the surface by the smallest fraction of their last
// distance.
TEST_P(SpringHistory, ChangesNoBit) {
  const auto [springs, penetration] = GetParam();
  const PairSpec pair =
      knee_pair({{"springs", std::string(springs)}, {"penetration", std::string(penetration)}}, 0.003);
  const auto walked = make_knee(pair);
  MovingSession moving_session;
  int bearing = 0;
  for (int i = 0; i < 400; ++i) {
    const PairState& state = moving_session.next();
    const auto fresh = make_knee(pair);
    const Response expected = fresh->evaluate(*fresh->initial_history(), state);
    const Response found = walked->evaluate(*walked->initial_history(), state);
    ASSERT_EQ(found.gap, expected.gap) << i;
    ASSERT_EQ(found.statistics.active_points, expected.statistics.active_points) << i;
    ASSERT_EQ(found.F_A.force, expected.F_A.force) << i;
    ASSERT_EQ(found.F_A.torque, expected.F_A.torque) << i;
    ASSERT_EQ(found.dF_A_dX, expected.dF_A_dX) << i;
    if (expected.gap < 0.0) ++bearing;
  }
  // The path is significant only where springs become active and inactive.
  EXPECT_GT(bearing, 100);
  EXPECT_LT(bearing, 390);
}

INSTANTIATE_TEST_SUITE_P(Springs, SpringHistory,
                         testing::Combine(testing::Values("centres", "vertices"), testing::Values("ray", "nearest")));

TEST(ParametricKnee, InvalidDimensionsAreReported) {
  const auto rejected = [](KneeSurface knee, const std::string& key) {
    try {
      (void)checked_surface(knee, false, "surface");
      ADD_FAILURE() << key;
    } catch (const Error& e) {
      EXPECT_EQ(e.field(), "surface.knee." + key);
    }
  };
  rejected({.dimensions = {.extension_radius = 0.02}}, "extension_radius");
  rejected({.dimensions = {.medial_depth = 0.008}}, "medial_depth");
  rejected({.dimensions = {.femoral_cartilage = 0.03}}, "femoral_cartilage");
  rejected({.dimensions = {}, .edge = 0.02}, "edge");
}

void expect_knee_error(ParameterMap parameters, const std::string& field,
                       const testing::Matcher<std::string>& message) {
  try {
    (void)make_knee(knee_pair(std::move(parameters)));
    FAIL() << "expected an error at " << field;
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::invalid_input);
    EXPECT_EQ(e.field(), field);
    EXPECT_THAT(std::string(e.what()), message);
  }
}

TEST(FoundationRegions, WithoutFacesAreRejectedByName) {
  const std::string key = "contact.knee.parameters.regions";
  expect_knee_error({{"regions", "medial middle"}}, key, AllOf(HasSubstr("'middle'"), HasSubstr("medial, lateral")));
  expect_knee_error({{"regions", "x+"}, {"region_center", std::vector<double>{0.5, 0.0, 0.0}}}, key,
                    AllOf(HasSubstr("'x+' with 0 of"), HasSubstr("region_center")));
  expect_knee_error({{"regions", "x-"}, {"region_center", std::vector<double>{0.5, 0.0, 0.0}}}, key, HasSubstr("'x-'"));
  expect_knee_error({{"regions", "sets medial"}}, key, HasSubstr("'medial' twice"));
  expect_knee_error({{"regions", "z-"}, {"region_center", std::vector<double>{0.5}}},
                    "contact.knee.parameters.region_center", HasSubstr("found 1"));
}

TEST(FoundationRegions, OfASurfaceWithoutSets) {
  SurfaceMesh mesh = mesh_of({.dimensions = {}, .is_tibia = true});
  mesh.group_names.clear();
  mesh.triangle_groups.clear();
  EXPECT_THROW((void)surface_regions("sets", {}, cut_surface("casting surface", mesh), "regions"), Error);
  const auto six = surface_regions("halves", {}, cut_surface("casting surface", mesh), "regions");
  ASSERT_EQ(six.size(), 6U);
  for (std::size_t axis = 0; axis < 3; ++axis) {
    for (std::size_t t = 0; t < mesh.triangles.size(); ++t) {
      EXPECT_NE(six[2 * axis].triangles[t], six[2 * axis + 1].triangles[t]) << "each triangle on one side";
    }
  }
  EXPECT_TRUE(surface_regions("", {}, cut_surface("casting surface", mesh), "regions").empty());
}

TEST(FoundationRegions, AreWrittenWithPenetrationAndLoadedArea) {
  for (const std::string springs : {"vertices", "centres"}) {
    const auto knee = make_knee(knee_pair({{"regions", std::string("sets x+")}, {"springs", springs}}));
    PairState state;
    state.X_AB.p.y() = -0.0004;
    const std::string drawn = knee->fields(*knee->initial_history(), state, {});
    for (const char* array :
         {"contact_pressure", "loaded_area", "penetration", "region:medial", "region:lateral", "region:x+"}) {
      EXPECT_THAT(drawn, HasSubstr(array));
    }
  }
}

// A load truncated at a depth would look like a softer knee.
TEST(ParametricKnee, OverlapsBeyondTheSearchDistanceAreReported) {
  const auto knee = make_knee(knee_pair({{"search_distance", 0.0003}}));
  EXPECT_GT(loaded_knee(*knee, 0.00025).area, 0.0);
  try {
    (void)loaded_knee(*knee, 0.0006);
    FAIL();
  } catch (const RecoverableError& e) {
    EXPECT_THAT(std::string(e.what()), AllOf(HasSubstr("contact.knee"), HasSubstr("search_distance = 0.0003 m")));
  }
}

}  // namespace
}  // namespace heelstrike::fem
