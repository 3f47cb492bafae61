#include <Simbody.h>
#include <time.h>

#include <algorithm>
#include <limits>

#include "benchmarks/foundation_record.hpp"

namespace heelstrike::bench {

namespace {

double thread_seconds() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

SimTK::ContactGeometry::TriangleMesh mesh_of(const Triangles& from) {
  SimTK::Array_<SimTK::Vec3> vertices;
  SimTK::Array_<int> faces;
  for (const auto& p : from.vertices) vertices.push_back(SimTK::Vec3(p[0], p[1], p[2]));
  for (const auto& t : from.triangles) {
    for (const unsigned corner : t) faces.push_back(static_cast<int>(corner));
  }
  return SimTK::ContactGeometry::TriangleMesh(vertices, faces);
}

}  // namespace

FoundationRecord run_simbody_foundation(const Triangles& casting, const Triangles& target, double stiffness,
                                        const std::vector<FoundationPose>& poses) {
  SimTK::MultibodySystem system;
  SimTK::SimbodyMatterSubsystem matter(system);
  SimTK::GeneralForceSubsystem forces(system);
  SimTK::GeneralContactSubsystem contacts(system);
  const auto set = contacts.createContactSet();
  SimTK::ElasticFoundationForce law(forces, contacts, set);
  const SimTK::Body::Rigid body(SimTK::MassProperties(1.0, SimTK::Vec3(0), SimTK::Inertia(1, 1, 1)));
  const SimTK::MobilizedBody::Free other(matter.Ground(), SimTK::Transform(), body, SimTK::Transform());
  contacts.addBody(set, matter.Ground(), mesh_of(casting), SimTK::Transform());
  if (target.triangles.empty()) {
    // Normal of Simbody's half space: -x; Heelstrike's half space is z < 0.
    contacts.addBody(set, other, SimTK::ContactGeometry::HalfSpace(),
                     SimTK::Transform(SimTK::Rotation(0.5 * SimTK::Pi, SimTK::YAxis)));
  } else {
    contacts.addBody(set, other, mesh_of(target), SimTK::Transform());
  }
  law.setBodyParameters(SimTK::ContactSurfaceIndex(0), stiffness, 0.0, 0.0, 0.0, 0.0);
  system.realizeTopology();
  SimTK::State state = system.getDefaultState();
  FoundationRecord record;
  for (const FoundationPose& pose : poses) {
    const SimTK::Mat33 R(pose.R[0], pose.R[1], pose.R[2], pose.R[3], pose.R[4], pose.R[5], pose.R[6], pose.R[7],
                         pose.R[8]);
    other.setQToFitTransform(state, SimTK::Transform(SimTK::Rotation(R), SimTK::Vec3(pose.p[0], pose.p[1], pose.p[2])));
    double quickest = std::numeric_limits<double>::max();
    for (int repetition = 0; repetition < n_foundation_repetitions; ++repetition) {
      state.invalidateAllCacheAtOrAbove(SimTK::Stage::Position);
      system.realize(state, SimTK::Stage::Velocity);
      const double begin = thread_seconds();
      system.realize(state, SimTK::Stage::Dynamics);
      quickest = std::min(quickest, thread_seconds() - begin);
    }
    record.seconds.push_back(quickest);
    const auto& on_bodies = system.getRigidBodyForces(state, SimTK::Stage::Dynamics);
    const SimTK::Vec3 on_other = on_bodies[other.getMobilizedBodyIndex()][1];
    record.forces.push_back({-on_other[0], -on_other[1], -on_other[2]});
  }
  return record;
}

}  // namespace heelstrike::bench
