#include "scenario/surfaces/knee.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <string>
#include <tuple>
#include <utility>

#include "scenario/schema/keys.hpp"
#include "scenario/surfaces/anatomical_axes.hpp"
#include "scenario/surfaces/registry.hpp"
#include "scenario/surfaces/sphere.hpp"
#include "scenario/surfaces/values.hpp"

namespace heelstrike {

namespace {

constexpr double degree = std::numbers::pi / 180.0;
// Angles in the sagittal plane, from inferior to anterior. The extension facet begins where about 20 degrees of flexion
// bring it to the tibia [iwaki2000]; the condyles end posteriorly at the limit of loading, anteriorly below the
// patellar groove.
constexpr double facet_transition_angle = -20.0 * degree;
constexpr double condyle_end = -110.0 * degree;
constexpr double condyle_front = 40.0 * degree;
/// Its sine is half the breadth of a condyle over its coronal radius: the notch and the epicondyle begin there.
constexpr double half_coronal_angle = 45.0 * degree;

struct KneeLength {
  const char* key;
  double KneeDimensions::*value;
  const char* meaning;
};

constexpr KneeLength knee_lengths[] = {
    {"flexion_radius", &KneeDimensions::flexion_radius, "of the condyles in the sagittal plane, posterior"},
    {"extension_radius", &KneeDimensions::extension_radius, "the same anterior, at least the flexion radius"},
    {"coronal_radius", &KneeDimensions::coronal_radius, "of the condyles in the coronal plane"},
    {"condyle_spacing", &KneeDimensions::condyle_spacing, "between the centres of both condyles and plateaus"},
    {"plateau_length", &KneeDimensions::plateau_length, "of each plateau, anterior-posterior"},
    {"plateau_breadth", &KneeDimensions::plateau_breadth, "of each plateau, medial-lateral"},
    {"medial_depth", &KneeDimensions::medial_depth, "of the medial dish below its rim"},
    {"lateral_depth", &KneeDimensions::lateral_depth, "of the lateral dish below its rim"},
    {"femoral_cartilage", &KneeDimensions::femoral_cartilage, "thickness"},
    {"tibial_cartilage", &KneeDimensions::tibial_cartilage, "thickness"},
};

/// Outward normal of the femur at an angle in the sagittal plane.
Vector3 outward(double theta) {
  return {std::sin(theta), -std::cos(theta), 0.0};
}

/// The centre line of a condyle: two arcs with a common tangent at their junction.
Vector3 profile(const KneeDimensions& d, double theta) {
  if (theta <= facet_transition_angle) return d.flexion_radius * outward(theta);
  return d.flexion_radius * outward(facet_transition_angle) +
         d.extension_radius * (outward(theta) - outward(facet_transition_angle));
}

/// A point of the right knee in the frame of its body.
Vector3 in_body(const KneeSurface& knee, Vector3 p) {
  if (knee.left) p.z() = -p.z();
  return p + knee.position;
}

int steps(double length, double edge) {
  return std::max(2, static_cast<int>(std::ceil(length / edge)));
}

using Corners = std::array<std::uint32_t, 3>;

/// The coronal arc swept along the centre line, with the normal of the arc.
void add_condyle(const KneeSurface& knee, double z, Triangles& mesh) {
  const KneeDimensions& d = knee.dimensions;
  const double depth = knee.is_bone ? d.femoral_cartilage : 0.0;
  const double arc = d.flexion_radius * (facet_transition_angle - condyle_end) +
                     d.extension_radius * (condyle_front - facet_transition_angle);
  const int along = steps(arc, knee.edge);
  const int across = steps(2.0 * half_coronal_angle * d.coronal_radius, knee.edge);
  const auto first = static_cast<std::uint32_t>(mesh.vertices.size());
  for (int i = 0; i <= along; ++i) {
    // Angles of equal arcs.
    const double s = arc * i / along;
    const double behind = d.flexion_radius * (facet_transition_angle - condyle_end);
    const double theta =
        s <= behind ? condyle_end + s / d.flexion_radius : facet_transition_angle + (s - behind) / d.extension_radius;
    for (int j = 0; j <= across; ++j) {
      const double phi = half_coronal_angle * (2.0 * j / across - 1.0);
      const Vector3 normal = std::cos(phi) * outward(theta) + std::sin(phi) * Vector3::UnitZ();
      mesh.vertices.emplace_back(profile(d, theta) + d.coronal_radius * (normal - outward(theta)) - depth * normal +
                                 z * Vector3::UnitZ());
    }
  }
  const auto row = static_cast<std::uint32_t>(across + 1);
  for (std::uint32_t i = 0; i < static_cast<std::uint32_t>(along); ++i) {
    for (std::uint32_t j = 0; j < static_cast<std::uint32_t>(across); ++j) {
      const std::uint32_t a = first + i * row + j;
      mesh.triangles.push_back(Corners{a, a + row, a + 1});
      mesh.triangles.push_back(Corners{a + 1, a + row, a + row + 1});
    }
  }
}

/// Rings of six, twelve, eighteen ... vertices about the lowest point of a paraboloid over an ellipse.
void add_plateau(const KneeSurface& knee, double z, double dish, Triangles& mesh) {
  const KneeDimensions& d = knee.dimensions;
  const Vector3 lowest = profile(d, 0.0) + z * Vector3::UnitZ();
  const double a = 0.5 * d.plateau_length;
  const double b = 0.5 * d.plateau_breadth;
  const auto rings = static_cast<std::uint32_t>(steps(std::max(a, b), knee.edge));
  const auto first = static_cast<std::uint32_t>(mesh.vertices.size());
  for (std::uint32_t k = 0; k <= rings; ++k) {
    const std::uint32_t n = std::max(1U, 6 * k);
    for (std::uint32_t i = 0; i < n; ++i) {
      const double angle = 2.0 * std::numbers::pi * i / n;
      const double x = a * k / rings * std::cos(angle);
      const double y = dish * k / rings * k / rings;
      const double across = b * k / rings * std::sin(angle);
      const Vector3 normal = Vector3(-2.0 * dish * x / (a * a), 1.0, -2.0 * dish * across / (b * b)).normalized();
      const double depth = knee.is_bone ? d.tibial_cartilage : 0.0;
      mesh.vertices.emplace_back(lowest + Vector3(x, y, across) - depth * normal);
    }
  }
  for (std::uint32_t k = 1; k <= rings; ++k) {
    const std::uint32_t outer = first + 1 + 3 * k * (k - 1);
    const std::uint32_t inner = k == 1 ? first : first + 1 + 3 * (k - 1) * (k - 2);
    const std::uint32_t n_inner = std::max(1U, 6 * (k - 1));
    for (std::uint32_t sector = 0; sector < 6; ++sector) {
      for (std::uint32_t i = 0; i < k; ++i) {
        const std::uint32_t o = outer + sector * k + i;
        const std::uint32_t o_next = outer + (sector * k + i + 1) % (6 * k);
        const std::uint32_t in = inner + (sector * (k - 1) + i) % n_inner;
        mesh.triangles.push_back(Corners{o, in, o_next});
        if (i + 1 == k) continue;
        mesh.triangles.push_back(Corners{in, inner + (sector * (k - 1) + i + 1) % n_inner, o_next});
      }
    }
  }
}

std::optional<SurfaceLayer> cartilage(const Surface& surface) {
  KneeSurface knee = KneeSurface::of(surface).value();
  if (knee.is_bone) return std::nullopt;
  knee.is_bone = true;
  return SurfaceLayer{
      .back = knee.triangles(),
      .thickness = knee.is_tibia ? knee.dimensions.tibial_cartilage : knee.dimensions.femoral_cartilage};
}

/// In extension, with each condyle at the centre of its dish: the radius of a ball or socket is the geometric mean of
/// the coronal and sagittal radii, which gives the elliptic contact its area in Hertz' theory.
std::vector<Compartment> compartments_of(const Surface& surface) {
  const KneeSurface knee = KneeSurface::of(surface).value();
  const KneeDimensions& d = knee.dimensions;
  std::vector<Compartment> all;
  for (const auto& [name, side, dish] :
       {std::tuple{"medial", -0.5, d.medial_depth}, std::tuple{"lateral", 0.5, d.lateral_depth}}) {
    // A dish of depth h over a half length a has the radius a^2 / 2h. Bone is inside a ball and below a socket.
    const double out = knee.is_tibia ? -1.0 : 1.0;
    const double depth = !knee.is_bone ? 0.0 : knee.is_tibia ? d.tibial_cartilage : d.femoral_cartilage;
    const double mean = knee.is_tibia ? 0.25 * d.plateau_length * d.plateau_breadth / (2.0 * dish)
                                      : std::sqrt(d.extension_radius * d.coronal_radius);
    const double radius = out * mean - depth;
    const Vector3 up(0.0, out * depth + std::abs(radius), side * d.condyle_spacing);
    all.push_back(
        {.name = name, .ball = SphereSurface{.radius = radius, .center = in_body(knee, profile(d, 0.0) + up)}});
  }
  return all;
}

void check_knee(const Surface& surface, bool /*is_rigid*/, const std::string& where) {
  const KneeSurface knee = KneeSurface::of(surface).value();
  const KneeDimensions& d = knee.dimensions;
  const std::string key = where + "." + KneeSurface::kind;
  const auto length = [](double value) { return fmt::format("{:g} m", value); };
  if (d.extension_radius < d.flexion_radius) {
    throw_invalid_value(key + ".extension_radius", "at least the flexion_radius, " + length(d.flexion_radius),
                        length(d.extension_radius), "exchange them: the anterior part of a condyle is flatter");
  }
  // A dish of depth h over a half length a has the radius a^2 / 2h; a flatter condyle touches its rim.
  const double half = 0.5 * std::min(d.plateau_length, d.plateau_breadth);
  const double flattest = std::max(d.extension_radius, d.coronal_radius);
  for (const auto& [name, depth] : {std::pair{"medial_depth", d.medial_depth}, {"lateral_depth", d.lateral_depth}}) {
    const double across = 0.25 * d.plateau_breadth * d.plateau_breadth / (2.0 * depth);
    const double along = 0.25 * d.plateau_length * d.plateau_length / (2.0 * depth);
    if (across > d.coronal_radius && along > d.extension_radius) continue;
    throw_invalid_value(fmt::format("{}.{}", key, name), "a dish that is flatter than its condyle", length(depth),
                        fmt::format("make it shallower than {:g} m", half * half / (2.0 * flattest)));
  }
  if (d.femoral_cartilage >= std::min(d.coronal_radius, d.flexion_radius)) {
    throw_invalid_value(key + ".femoral_cartilage", "less than the radii of the condyles", length(d.femoral_cartilage),
                        "make it thinner");
  }
  if (knee.edge > half) {
    throw_invalid_value(key + ".edge", "triangles below half a plateau, " + length(half), length(knee.edge),
                        "make it smaller");
  }
}

config::KeySchema knee_keys() {
  config::KeySchema keys{
      .name = KneeSurface::kind,
      .kind = config::KeyKind::map,
      .meaning =
          "parametric knee: one of its surfaces, x forward, y up, z to the right. The cartilage below an articular "
          "surface is filled with elements, or with springs over its thickness. Sets: medial, lateral"};
  keys.keys.push_back({.name = "part",
                       .kind = config::KeyKind::text,
                       .meaning = "bone of the surface",
                       .fallback = "femur",
                       .choices = {"femur", "tibia"}});
  keys.keys.push_back({.name = "layer",
                       .kind = config::KeyKind::text,
                       .meaning = "cartilage = the articular surface; bone = the one below the cartilage",
                       .fallback = "cartilage",
                       .choices = {"cartilage", "bone"}});
  keys.keys.push_back({.name = "side",
                       .kind = config::KeyKind::text,
                       .meaning = "which knee",
                       .fallback = "right",
                       .choices = {"left", "right"}});
  const KneeDimensions defaults;
  for (const KneeLength& length : knee_lengths) {
    keys.keys.push_back(config::number(length.key, "m", config::lengths, length.meaning, defaults.*length.value));
  }
  keys.keys.push_back(config::number("edge", "m", {.min = 1e-4, .max = 1e6}, "of the triangles", KneeSurface{}.edge));
  keys.keys.push_back(config::vector3("position", "m", config::coordinates, "origin of the knee in the body's frame"));
  return keys;
}

}  // namespace

std::optional<KneeSurface> KneeSurface::of(const Surface& surface) {
  if (surface.kind != kind) return std::nullopt;
  const ParameterMap& values = surface.values;
  KneeSurface knee{.dimensions = {},
                   .is_tibia = text(values, "part") == "tibia",
                   .is_bone = text(values, "layer") == "bone",
                   .left = text(values, "side") == "left",
                   .edge = number(values, "edge"),
                   .position = vector3(values, "position")};
  for (const KneeLength& length : knee_lengths) knee.dimensions.*length.value = number(values, length.key);
  return knee;
}

KneeSurface::operator Surface() const {
  Surface surface{.kind = kind,
                  .values = {{"part", std::string(is_tibia ? "tibia" : "femur")},
                             {"layer", std::string(is_bone ? "bone" : "cartilage")},
                             {"side", std::string(left ? "left" : "right")},
                             {"edge", edge},
                             {"position", listed(position)}}};
  for (const KneeLength& length : knee_lengths) surface.values[length.key] = dimensions.*length.value;
  return surface;
}

Triangles KneeSurface::triangles() const {
  Triangles mesh{.vertices = {}, .triangles = {}, .set_names = {"medial", "lateral"}, .sets = {}};
  for (std::uint32_t set = 0; set < 2; ++set) {
    const double z = (set == 0 ? -0.5 : 0.5) * dimensions.condyle_spacing;
    if (is_tibia) {
      add_plateau(*this, z, set == 0 ? dimensions.medial_depth : dimensions.lateral_depth, mesh);
    } else {
      add_condyle(*this, z, mesh);
    }
    mesh.sets.resize(mesh.triangles.size(), set);
  }
  for (Vector3& vertex : mesh.vertices) vertex = in_body(*this, vertex);
  if (left) {
    for (Corners& corners : mesh.triangles) std::swap(corners[1], corners[2]);
  }
  return mesh;
}

SurfaceKind knee_kind() {
  return {.keys = knee_keys(),
          .place = "position",
          .fills = true,
          .check = check_knee,
          .extents = [](const Surface& surface) -> std::optional<Vector3> {
            const KneeDimensions d = KneeSurface::of(surface)->dimensions;
            return Vector3(std::max(d.plateau_length, d.flexion_radius + d.extension_radius), 2.0 * d.flexion_radius,
                           d.condyle_spacing + d.plateau_breadth);
          },
          .sheet = [](const Surface& surface) { return KneeSurface::of(surface).value().triangles(); },
          .layer = cartilage,
          .compartments = compartments_of,
          .outline = [](const Surface& surface) -> ParameterMap {
            const KneeSurface knee = KneeSurface::of(surface).value();
            const KneeDimensions& d = knee.dimensions;
            const double height = knee.is_tibia ? 0.3 * d.plateau_length : 1.5 * d.flexion_radius;
            const double middle =
                knee.is_tibia ? profile(d, 0.0).y() - 0.5 * height : profile(d, 0.0).y() + 0.5 * height;
            return {{"kind", "block"},
                    {"lengths", listed({d.plateau_length, height, d.condyle_spacing + d.plateau_breadth})},
                    {"center", listed(knee.position + Vector3(0.0, middle, 0.0))},
                    {"rough", true}};
          },
          .axes =
              [](const Surface& surface) {
                return anatomical_axes({"anterior", "superior", KneeSurface::of(surface)->left ? "medial" : "lateral"});
              }};
}

}  // namespace heelstrike
