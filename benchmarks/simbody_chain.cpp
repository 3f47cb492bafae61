#include <Simbody.h>

#include "benchmarks/chain_record.hpp"

namespace heelstrike::bench {

Record run_simbody_chain(int n) {
  Record record;
  SimTK::MultibodySystem system;
  SimTK::SimbodyMatterSubsystem matter(system);
  SimTK::GeneralForceSubsystem forces(system);
  const SimTK::Force::Gravity gravity(forces, matter, SimTK::Vec3(0, 0, -9.81));
  const double J = mass * length * length / 12.0;
  const SimTK::Vec3 center(0.5 * length, 0, 0);
  const SimTK::Inertia central(0.1 * J, J, J);
  const SimTK::Body::Rigid link(SimTK::MassProperties(mass, center, central.shiftFromMassCenter(-center, mass)));
  SimTK::MobilizedBody parent = matter.Ground();
  std::vector<SimTK::MobilizedBody::Ball> links;
  for (int i = 0; i < n; ++i) {
    links.emplace_back(parent, SimTK::Transform(SimTK::Vec3(i == 0 ? 0.0 : length, 0, 0)), link, SimTK::Transform());
    parent = links.back();
  }
  system.realizeTopology();
  SimTK::State state = system.getDefaultState();
  for (int i = 0; i < n; ++i) {
    const double angle = i == 0 ? angle_of(0) : angle_of(i) - angle_of(i - 1);
    links[static_cast<std::size_t>(i)].setQToFitRotation(state, SimTK::Rotation(angle, SimTK::YAxis));
  }
  system.realize(state, SimTK::Stage::Acceleration);
  record.acceleration = timed(std::max(1, 1000 / n), [&](int) {
    state.updQ();  // invalidates everything that depends on positions
    system.realize(state, SimTK::Stage::Acceleration);
  });
  SimTK::RungeKuttaMersonIntegrator integrator(system);
  integrator.setAccuracy(accuracy);
  const auto begin = Clock::now();
  integrator.initialize(state);
  integrator.setFinalTime(simulated_time);
  integrator.stepTo(simulated_time);
  record.run = seconds_since(begin);
  record.steps = integrator.getNumStepsTaken();
  record.tip_height = links.back().findStationLocationInGround(integrator.getState(), SimTK::Vec3(length, 0, 0))[2];
  return record;
}

}  // namespace heelstrike::bench
