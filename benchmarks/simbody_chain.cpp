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
  integrator.setFinalTime(simulated_time);
  integrator.initialize(state);
  // stepTo also returns at the start and at the end of every interval.
  while (integrator.getTime() < simulated_time) integrator.stepTo(simulated_time);
  record.run = seconds_since(begin);
  record.steps = integrator.getNumStepsTaken();
  record.tip_height = links.back().findStationLocationInGround(integrator.getState(), SimTK::Vec3(length, 0, 0))[2];
  return record;
}

BallsRecord run_simbody_balls() {
  SimTK::MultibodySystem system;
  SimTK::SimbodyMatterSubsystem matter(system);
  SimTK::GeneralForceSubsystem forces(system);
  SimTK::GeneralContactSubsystem contacts(system);
  const SimTK::Force::Gravity gravity(forces, matter, SimTK::Vec3(0, 0, -9.81));
  const auto set = contacts.createContactSet();
  SimTK::HuntCrossleyForce law(forces, contacts, set);
  // Simbody: f = 4/3 sqrt(R) E x^1.5, E = E_i / 2^1.5 for two equal plane-strain moduli E_i.
  const double E_i = std::pow(2.0, 1.5) * 0.75 * ball_stiffness / std::sqrt(ball_radius);
  const double J = 0.4 * ball_mass * ball_radius * ball_radius;
  const SimTK::Body::Rigid ball(SimTK::MassProperties(ball_mass, SimTK::Vec3(0), SimTK::Inertia(J, J, J)));
  // Normal of Simbody's half space: -x.
  contacts.addBody(set, matter.Ground(), SimTK::ContactGeometry::HalfSpace(),
                   SimTK::Transform(SimTK::Rotation(0.5 * SimTK::Pi, SimTK::YAxis)));
  std::vector<SimTK::MobilizedBody::Free> balls;
  for (int i = 0; i < n_balls; ++i) {
    balls.emplace_back(matter.Ground(), SimTK::Transform(), ball, SimTK::Transform());
    contacts.addBody(set, balls.back(), SimTK::ContactGeometry::Sphere(ball_radius), SimTK::Transform());
  }
  for (int i = 0; i <= n_balls; ++i) {
    law.setBodyParameters(SimTK::ContactSurfaceIndex(i), E_i, 0.0, 0.0, 0.0, 0.0);
  }
  system.realizeTopology();
  SimTK::State state = system.getDefaultState();
  for (int i = 0; i < n_balls; ++i) {
    balls[static_cast<std::size_t>(i)].setQToFitTranslation(state, SimTK::Vec3(i, 0, drop_height(i)));
  }
  system.realize(state, SimTK::Stage::Acceleration);
  const double energy = system.calcEnergy(state);
  SimTK::RungeKuttaMersonIntegrator integrator(system);
  integrator.setAccuracy(accuracy);
  BallsRecord record;
  const auto begin = Clock::now();
  integrator.setFinalTime(balls_time);
  integrator.initialize(state);
  while (integrator.getTime() < balls_time) integrator.stepTo(balls_time);
  record.run = seconds_since(begin);
  record.steps = integrator.getNumStepsTaken();
  system.realize(integrator.getState(), SimTK::Stage::Acceleration);
  record.energy_error = system.calcEnergy(integrator.getState()) / energy - 1.0;
  for (const auto& b : balls) record.heights.push_back(b.getBodyOriginLocation(integrator.getState())[2]);
  return record;
}

}  // namespace heelstrike::bench
