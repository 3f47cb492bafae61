#include <cstdio>
#include <heelstrike/contact.hpp>
#include <heelstrike/simulation.hpp>
int main(int, char** argv) {
  auto contact = hs::Contact::open(hs::Pair::from_yaml(argv[1]));
  const double force = contact.evaluate({.p_AB = {0, 0, -0.0999}}).F_A[5];
  auto simulation = hs::Simulation::open(argv[1]);
  simulation.advance_to(0.25);
  std::printf("%.6f %.6f\n", force, simulation.get("ball.z_m"));
}
