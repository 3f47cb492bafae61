/// Pairs of every geometry and law, used by the tests of back-ends and sessions.
#pragma once

#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "fem_server/backend_interface/backend.hpp"
#include "fem_server/surfaces/point_pair.hpp"

namespace heelstrike::fem::testing_support {

/// One geometry, with a pose of B near contact and in general position.
struct ExampleGeometry {
  std::string name;
  Surface main;
  Surface partner;
  Pose X_AB;

  /// For GoogleTest, which prints bytes otherwise.
  friend void PrintTo(const ExampleGeometry& geometry, std::ostream* out) { *out << geometry.name; }
};

/// sphere-plane, plane-sphere, sphere-sphere, socket-sphere, sphere-socket; centres off the origins, normals oblique.
[[nodiscard]] std::vector<ExampleGeometry> example_geometries();

/// A pair of back-end `backend` with parameters that its schema accepts: K = 1.4e8 (linear laws 1e6 N/m), c_r = 0.6,
/// D = 50 N s/m.
[[nodiscard]] PairSpec example_pair(const std::string& backend, const ExampleGeometry& geometry);

[[nodiscard]] std::unique_ptr<ContactBackend> make_example(const PairSpec& pair);

/// State of `pair` with B moved along the common normal until the penetration is `depth` [m] (negative: a gap) and a
/// twist with the approach velocity `closing` [m/s], with additional spin and sliding.
[[nodiscard]] PairState placed(const PairSpec& pair, const Pose& X_AB, double depth, double closing);

[[nodiscard]] PrepareContext no_context();

}  // namespace heelstrike::fem::testing_support
