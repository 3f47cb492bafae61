// The bouncing ball of Flores et al. (2011) through the whole multibody side with the contact partner in this process.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/local_run.hpp"

namespace heelstrike::test {
namespace {

/// First contact, gravity acting: independent RK4 and DOP853 integrations that agree in every digit given.
struct Reference {
  const char* law;
  double restitution;
  double max_indentation_mm;
  double max_force_N;
  double contact_ms;
  double separation_m_s;
};

constexpr Reference table[] = {
    {"flores", 1.0, 1.903077, 11622.85, 1.332359, 4.202142},
    {"flores", 0.8, 1.735238, 10631.65, 1.371661, 3.311427},
    {"flores", 0.6, 1.549954, 10589.72, 1.447586, 2.421829},
    {"flores", 0.4, 1.329722, 11541.72, 1.620417, 1.519155},
    {"flores", 0.2, 1.028163, 14495.91, 2.193947, 0.646065},
    {"hunt_crossley", 1.0, 1.903077, 11622.85, 1.332359, 4.202142},
    {"hunt_crossley", 0.8, 1.771635, 10758.15, 1.361258, 3.498129},
    {"hunt_crossley", 0.6, 1.670540, 10511.36, 1.393356, 2.988895},
    {"hunt_crossley", 0.4, 1.589054, 10525.60, 1.427717, 2.600607},
    {"hunt_crossley", 0.2, 1.521222, 10658.41, 1.463827, 2.293743},
    {"lankarani_nikravesh", 1.0, 1.903077, 11622.85, 1.332359, 4.202142},
    {"lankarani_nikravesh", 0.8, 1.783172, 10807.84, 1.358203, 3.558073},
    {"lankarani_nikravesh", 0.6, 1.708172, 10565.82, 1.380206, 3.175020},
    {"lankarani_nikravesh", 0.4, 1.661633, 10504.43, 1.396701, 2.945458},
    {"lankarani_nikravesh", 0.2, 1.635997, 10496.51, 1.406863, 2.821776},
};

std::string example() { return read_text(HEELSTRIKE_SOURCE_DIR "/examples/bouncing_ball.yaml"); }

double relative(double value, double reference) { return std::abs(value / reference - 1.0); }

TEST(BouncingBall, FirstContactMeetsTheReferenceTable) {
  fmt::print("{:20} {:>4} {:>12} {:>12} {:>12} {:>12} {:>9} {:>6} {:>6}\n", "law", "c_r", "d_max mm", "F_max N",
             "contact ms", "v_sep m/s", "worst", "steps", "evals");
  for (const auto& reference : table) {
    const auto scenario = scenario_from(
        example(), {fmt::format("contact.restitution={}", reference.restitution), "analysis.end_time=0.5"},
        reference.law);
    const auto run = run_local(scenario);
    ASSERT_EQ(run.summary.status, "completed") << run.summary.error->what();
    ASSERT_EQ(run.summary.contacts.size(), 1U);
    const auto& contact = run.summary.contacts[0];
    const double duration_ms = 1e3 * (*contact.end - contact.onset);
    const double worst = std::max({relative(1e3 * contact.max_indentation, reference.max_indentation_mm),
                                   relative(contact.max_force, reference.max_force_N),
                                   relative(duration_ms, reference.contact_ms),
                                   relative(*contact.separation_speed, reference.separation_m_s)});
    fmt::print("{:20} {:4.1f} {:12.6f} {:12.2f} {:12.6f} {:12.6f} {:9.1e} {:6} {:6}\n", reference.law,
               reference.restitution, 1e3 * contact.max_indentation, contact.max_force, duration_ms,
               *contact.separation_speed, worst, run.summary.integrator.steps, run.summary.contact_evaluations);
    EXPECT_LT(worst, 1e-4) << reference.law << " " << reference.restitution;
    // sqrt(2 h / g) and sqrt(2 g h) of free fall.
    EXPECT_NEAR(contact.onset, std::sqrt(2.0 * 0.9 / 9.81), 1e-8);
    EXPECT_NEAR(contact.approach_speed, std::sqrt(2.0 * 9.81 * 0.9), 1e-7);
  }
}

TEST(BouncingBall, ElasticBallKeepsItsEnergyOverManyBounces) {
  const auto run = run_local(scenario_from(example(), {"contact.restitution=1", "analysis.end_time=5"}));
  ASSERT_EQ(run.summary.status, "completed");
  ASSERT_GE(run.summary.contacts.size(), 2U);
  const auto kinetic = run.column("energy.kinetic_J");
  const auto potential = run.column("energy.potential_J");
  double worst = 0.0;
  for (std::size_t i = 0; i < kinetic.size(); ++i) {
    worst = std::max(worst, relative(kinetic[i] + potential[i], run.summary.energy.initial));
  }
  fmt::print("bounces {}, largest relative energy error {:.2e}, steps {}, evaluations {}\n",
             run.summary.contacts.size(), worst, run.summary.integrator.steps, run.summary.contact_evaluations);
  EXPECT_LT(worst, 1e-6);
}

TEST(BouncingBall, EnergyBalanceCloses) {
  const auto run = run_local(scenario_from(example(), {"contact.restitution=0.5"}));
  ASSERT_EQ(run.summary.status, "completed");
  const auto& energy = run.summary.energy;
  fmt::print("initial {} final {} dissipated {} balance error {:.2e}\n", energy.initial, energy.final, energy.dissipated,
             energy.balance_error);
  EXPECT_GT(energy.dissipated, 6.0);
  EXPECT_LT(std::abs(energy.balance_error), 1e-6 * energy.initial);
}

}  // namespace
}  // namespace heelstrike::test
