/// Scenarios and meshes with finite elements that take seconds.
#pragma once

#include <fmt/format.h>

#include <array>
#include <string>
#include <vector>

namespace heelstrike::cli_test {

/// A rubber block pressed 0.1 mm onto a plane and dragged 0.2 mm, with fields; `from` empty = unchanged.
inline std::string block_scenario(const std::string& from = "", const std::string& to = "") {
  std::string text = R"yaml(heelstrike: 1
gravity: [0, 0, 0]
bodies:
  block: {mass: 0.1, inertia: [1.0e-4, 1.0e-4, 1.0e-4], position: [0, 0, 0.0101]}
drivers:
  drag:
    body: block
    x: {expression: "0.2e-3 * step(t, 0.2, 1)"}
    y: {polynomial: [0]}
    z: {expression: "0.0101 - 0.2e-3 * step(t, 0, 0.2)"}
    rx: {polynomial: [0]}
    ry: {polynomial: [0]}
    rz: {polynomial: [0]}
contact:
  block-ground:
    main:
      body: block
      surface: {block: {lengths: [0.04, 0.03, 0.02]}}
      material: {youngs_modulus: 2.0e6, poissons_ratio: 0.3, density: 1100}
    partner:
      body: ground
      surface: {plane: {normal: [0, 0, 1]}}
    backend: fem_condensed
    parameters: {element_size: 0.005, clamped_set: top, contact_set: bottom, friction: 0.5}
analysis: {type: kinematic, end_time: 1.0}
output: {interval: 0.05, fields: {interval: 0.5}}
)yaml";
  if (!from.empty()) text.replace(text.find(from), from.size(), to);
  return text;
}

/// The same block on a second one, which deforms as well; `partner` are the partner's parameters.
inline std::string two_block_scenario(
    const std::string& partner = "partner_element_size: 0.005, partner_clamped_set: bottom, partner_contact_set: top") {
  std::string text = block_scenario("surface: {plane: {normal: [0, 0, 1]}}",
                                    "surface: {block: {lengths: [0.06, 0.05, 0.02], center: [0, 0, -0.01]}}\n"
                                    "      material: {youngs_modulus: 1.0e6, poissons_ratio: 0.3, density: 1100}");
  const std::string from = "friction: 0.5}";
  return text.replace(text.find(from), from.size(), "friction: 0.5, " + partner + "}");
}

/// The same block on a cloud of 5 x 5 points, 5 mm apart; `more` are further parameters.
inline std::string cloud_scenario(const std::string& more = "", const std::string& element_size = "0.005") {
  std::string positions;
  std::string areas;
  for (int i = 0; i < 25; ++i) {
    positions += fmt::format("{}[{}, {}, 0]", i == 0 ? "" : ", ", 0.005 * (i % 5 - 2), 0.005 * (i / 5 - 2));
    areas += i == 0 ? "25.0e-6" : ", 25.0e-6";
  }
  std::string text = block_scenario("surface: {plane: {normal: [0, 0, 1]}}",
                                    "surface: {points: {positions: [" + positions + "], areas: [" + areas + "]}}");
  const std::string size = "element_size: 0.005";
  text.replace(text.find(size), size.size(), "element_size: " + element_size);
  const std::string from = "friction: 0.5}";
  return text.replace(text.find(from), from.size(), "friction: 0.5" + more + "}");
}

/// The same block as a layer on a condensed interior; `more` are further parameters.
inline std::string outer_layer_scenario(const std::string& more = "") {
  std::string text = block_scenario("backend: fem_condensed", "backend: fem_layered");
  const std::string from = "friction: 0.5}";
  return text.replace(text.find(from), from.size(), "friction: 0.5" + more + "}");
}

/// A cylinder of 40 mm along z made of a soft pad (10 mm, below) and bone, with zero Poisson's ratio and without
/// friction, pressed 0.1 mm onto the plane; `from` empty = unchanged.
inline std::string layered_scenario(const std::string& from = "", const std::string& to = "") {
  std::string text = block_scenario("{block: {lengths: [0.04, 0.03, 0.02]}}",
                                    "{cylinder: {radius: 0.02, center: [0, 0, 0.01], layers: {pad: {height: 0.01}, "
                                    "bone: {height: 0.03}}}}");
  const std::string material = "      material: {youngs_modulus: 2.0e6, poissons_ratio: 0.3, density: 1100}\n";
  text.replace(text.find(material), material.size(),
               "      materials:\n"
               "        pad: {youngs_modulus: 2.0e6, poissons_ratio: 0, density: 1100}\n"
               "        hard: {set: bone, youngs_modulus: 1.0e9, poissons_ratio: 0, density: 1900}\n");
  text.erase(text.find(", friction: 0.5"), std::string(", friction: 0.5").size());
  if (!from.empty()) text.replace(text.find(from), from.size(), to);
  return text;
}

/// The block's surface read from a file instead.
inline std::string mesh_scenario(const std::string& file, const std::string& parameters) {
  std::string text = block_scenario("{block: {lengths: [0.04, 0.03, 0.02]}}", "{mesh: {file: " + file + "}}");
  const std::string from = "{element_size: 0.005, clamped_set: top, contact_set: bottom, friction: 0.5}";
  return text.replace(text.find(from), from.size(), parameters);
}

/// A cube of 20 mm about the origin as ASCII STL. @param n  triangles written (12 = closed)
/// @param inside_out  normals inward
inline std::string cube_stl(std::size_t n = 12, bool inside_out = false) {
  constexpr std::array<std::array<int, 3>, 12> triangles{{{0, 2, 1},
                                                          {1, 2, 3},
                                                          {4, 5, 6},
                                                          {5, 7, 6},
                                                          {0, 1, 4},
                                                          {1, 5, 4},
                                                          {2, 6, 3},
                                                          {3, 6, 7},
                                                          {0, 4, 2},
                                                          {2, 4, 6},
                                                          {1, 3, 5},
                                                          {3, 7, 5}}};
  std::string text = "solid cube\n";
  for (std::size_t t = 0; t < n; ++t) {
    text += "facet normal 0 0 0\nouter loop\n";
    for (std::size_t k = 0; k < 3; ++k) {
      const int corner = triangles[t][inside_out ? 2 - k : k];
      text += fmt::format("vertex {} {} {}\n", corner % 2 == 0 ? -0.01 : 0.01, corner / 2 % 2 == 0 ? -0.01 : 0.01,
                          corner / 4 == 0 ? -0.01 : 0.01);
    }
    text += "endloop\nendfacet\n";
  }
  return text + "endsolid cube\n";
}

/// Two tetrahedra as Abaqus input; `height` [m] of the second one's tip below the common face: 0 = flat, < 0 =
/// inverted.
inline std::string two_tetrahedra(double height) {
  return fmt::format(R"(*NODE
1, 0, 0, 0
2, 0.02, 0, 0
3, 0, 0.02, 0
4, 0, 0, 0.02
5, 0.005, 0.005, {}
*ELEMENT, TYPE=C3D4, ELSET=ALL
1, 1, 2, 3, 4
2, 1, 3, 2, 5
*NSET, NSET=TIP
4
*NSET, NSET=NOBODY
)",
                     -height);
}

}  // namespace heelstrike::cli_test
