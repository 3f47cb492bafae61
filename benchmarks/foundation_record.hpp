/// Declarations shared by both programs of bench_elastic_foundation. C++17: Simbody's headers do not compile as C++20.
#pragma once

#include <array>
#include <string>
#include <vector>

namespace heelstrike::bench {

/// Number of evaluations of each pose; the minimum time is used, because other programs only add time.
inline constexpr int n_foundation_repetitions = 5;

struct Triangles {
  std::vector<std::array<double, 3>> vertices;     // m
  std::vector<std::array<unsigned, 3>> triangles;  // normals outward
};

struct FoundationPose {
  std::array<double, 9> R;  // of the other body in the body with the springs, row by row
  std::array<double, 3> p;  // m
};

struct FoundationRecord {
  std::vector<std::array<double, 3>> forces;  // N, on the body with the springs
  std::vector<double> seconds;                // per pose, minimum
};

/// Simbody's ElasticFoundationForce: springs in the centres of the triangles of `casting` against `target`, or against
/// the half space z < 0 of the other body where `target` has no triangles. @param stiffness  Pa/m
FoundationRecord run_simbody_foundation(const Triangles& casting, const Triangles& target, double stiffness,
                                        const std::vector<FoundationPose>& poses);

}  // namespace heelstrike::bench
