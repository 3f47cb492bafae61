// Pressure of the springs: values for the source's constants, inverse, energy; partly loaded triangles.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "common/errors/error.hpp"
#include "fem_server/backends/elastic_foundation/bed_integral.hpp"

namespace heelstrike::fem {
namespace {

LayerLaw cartilage(bool large) {
  return {.modulus = LayerLaw::confined_modulus_factor(0.45) * 4e6, .large = large};
}

LayerLaw polyethylene(bool nonlinear, bool large) {
  if (!nonlinear) return {.modulus = LayerLaw::confined_modulus_factor(0.46) * 463e6, .large = large};
  return {.modulus = LayerLaw::confined_modulus_factor(0.46) * 2.0 * 18.4e6 / 0.0597,
          .large = large,
          .reference = 18.4e6,
          .exponent = 3.0};
}

double pressure(const LayerLaw& layer, double strain) {
  return BedLaw(layer).at(strain * 0.008, {0.008, 0.0}).pressure;
}

// Values computed from eqs. 1 to 4 of [bei2004], seven digits.
TEST(BedLaw, ValuesEqualTheSource) {
  struct Row {
    double strain, linear_small, nonlinear_small, linear_large, nonlinear_large;
  };
  for (const Row& r :
       {Row{0.002, 4.281164, 4.750047, 4.285451, 4.753614}, Row{0.005, 10.702911, 8.604449, 10.729758, 8.616479},
        Row{0.010, 21.405822, 12.241914, 21.513570, 12.270643}, Row{0.020, 42.811644, 16.583675, 43.245556, 16.652931},
        Row{0.050, 107.029109, 23.752267, 109.797513, 23.980596}}) {
    EXPECT_NEAR(pressure(polyethylene(false, false), r.strain) * 1e-6, r.linear_small, 1e-6);
    EXPECT_NEAR(pressure(polyethylene(true, false), r.strain) * 1e-6, r.nonlinear_small, 1e-6);
    EXPECT_NEAR(pressure(polyethylene(false, true), r.strain) * 1e-6, r.linear_large, 1e-6);
    EXPECT_NEAR(pressure(polyethylene(true, true), r.strain) * 1e-6, r.nonlinear_large, 1e-6);
  }
  for (const auto& [strain, small, large] : {std::array{0.05, 0.758621, 0.778243}, std::array{0.25, 3.793103, 4.364831},
                                             std::array{0.5, 7.586207, 10.516716}}) {
    EXPECT_NEAR(pressure(cartilage(false), strain) * 1e-6, small, 1e-6);
    EXPECT_NEAR(pressure(cartilage(true), strain) * 1e-6, large, 1e-6);
  }
  for (const auto& [S, p] : {std::array{1.0, 0.991366}, std::array{10.0, 6.982890}, std::array{100.0, 20.756730}}) {
    EXPECT_NEAR((LayerLaw{.modulus = 1e6, .reference = 18.4e6, .exponent = 3.0}).pressure(S) * 1e-6, p, 1e-6);
  }
}

// E(p) inserted into the strain is monotonic, p (1 + n (p / p0)^(n-1)) = S: a root exists for every S. Rounding of p;
// the left side loses at most n + 1 digits.
TEST(BedLaw, NonlinearPressureHasARootForEveryStrain) {
  for (const double n : {1.0, 1.3, 2.5, 3.0, 7.0, 20.0}) {
    const LayerLaw law{.modulus = 1.0, .reference = 18.4e6, .exponent = n};
    for (const double S : {0.0, 1e-300, 1e-9, 1.0, 1e6, 1e12, 1e18, 1e60}) {
      const double p = law.pressure(S);
      ASSERT_TRUE(std::isfinite(p) && p >= 0.0) << "n " << n << ", S " << S;
      EXPECT_NEAR(p * (1.0 + n * std::pow(p / law.reference, n - 1.0)), S, 1e-14 * (n + 1.0) * S);
    }
  }
}

/// Laws of every kind with their thickness.
std::vector<std::pair<BedLaw, std::array<double, 2>>> laws() {
  const LayerLaw odd{.modulus = 3e8, .large = true, .reference = 1e7, .exponent = 2.5};
  return {{BedLaw(cartilage(false)), {0.003, 0.0}},
          {BedLaw(cartilage(true)), {0.003, 0.0}},
          {BedLaw(polyethylene(true, false)), {0.008, 0.0}},
          {BedLaw(polyethylene(true, true)), {0.008, 0.0}},
          {BedLaw(odd), {0.004, 0.0}},
          {BedLaw(cartilage(false), polyethylene(false, false)), {0.003, 0.008}},
          {BedLaw(cartilage(true), polyethylene(true, true)), {0.003, 0.008}},
          {BedLaw(cartilage(true), odd), {0.002, 0.004}}};
}

// Central differences of sixth order with h = d / 100: truncation 6! / 140 (h / d)^6 and rounding 1e-16 / (h / d) stay
// below 1e-11; the energy of polynomial laws is exact, that of exponentials of powers accurate to a few 1e-9.
TEST(BedLaw, SlopeAndEnergyAreConsistentWithThePressure) {
  for (const auto& [law, h] : laws()) {
    for (const double strain : {1e-4, 0.01, 0.1, 0.4}) {
      const double d = strain * law.thickness(h);
      const double step = d / 100.0;
      const auto by_difference = [&, &law = law, &h = h](auto value) {
        const auto difference = [&](double k) {
          return value(law.at(d + k * step, h)) - value(law.at(d - k * step, h));
        };
        return (45.0 * difference(1) - 9.0 * difference(2) + difference(3)) / (60.0 * step);
      };
      const BedPressure p = law.at(d, h);
      EXPECT_NEAR(p.slope / by_difference([](const BedPressure& b) { return b.pressure; }), 1.0, 1e-9);
      EXPECT_NEAR(p.pressure / by_difference([](const BedPressure& b) { return b.energy; }), 1.0, 1e-8);
    }
  }
}

// The same differences, by the thickness of either layer at one compression.
TEST(BedLaw, SlopesByTheThicknessOfALayer) {
  for (const auto& [law, h] : laws()) {
    for (const double strain : {1e-4, 0.01, 0.1, 0.4}) {
      const double d = strain * law.thickness(h);
      const BedPressure p = law.at(d, h);
      for (std::size_t layer = 0; layer < 2 && h[layer] > 0.0; ++layer) {
        const double step = h[layer] / 100.0;
        const auto by_difference = [&, &law = law, &h = h](auto value) {
          const auto at = [&](double k) {
            std::array<double, 2> other = h;
            other[layer] += k * step;
            return value(law.at(d, other), law, layer);
          };
          return (45.0 * (at(1) - at(-1)) - 9.0 * (at(2) - at(-2)) + (at(3) - at(-3))) / (60.0 * step);
        };
        const ThicknessDerivatives slopes = law.by_thickness(p, layer);
        const auto pressure_of = [](const BedPressure& b, const BedLaw&, std::size_t) { return b.pressure; };
        const auto energy_of = [](const BedPressure& b, const BedLaw&, std::size_t) { return b.energy; };
        const auto slope_of = [](const BedPressure& b, const BedLaw& l, std::size_t k) {
          return l.by_thickness(b, k).energy;
        };
        EXPECT_NEAR(slopes.pressure / by_difference(pressure_of), 1.0, 1e-8) << strain;
        EXPECT_NEAR(slopes.energy / by_difference(energy_of), 1.0, 1e-7) << strain;
        EXPECT_NEAR(slopes.energy_curvature / by_difference(slope_of), 1.0, 1e-7) << strain;
      }
    }
  }
}

TEST(BedLaw, LayersInSeriesHaveOnePressure) {
  const LayerLaw first = cartilage(true);
  const LayerLaw second = polyethylene(true, true);
  const double d = 1.2e-3;
  const double p = BedLaw(first, second).at(d, {0.003, 0.008}).pressure;
  EXPECT_NEAR(0.003 * first.strain(p).value + 0.008 * second.strain(p).value, d, 1e-15);
  // Two halves of one layer are that layer.
  EXPECT_NEAR(BedLaw(first, first).at(d, {0.001, 0.002}).pressure / BedLaw(first).at(d, {0.003, 0.0}).pressure, 1.0,
              1e-13);
}

/// Compressions of a triangle with one, two and three loaded corners.
const std::array<Vector3, 5> compressions{Vector3{3e-4, 1e-4, 2e-4}, Vector3{3e-4, -1e-4, 2e-4},
                                          Vector3{-2e-4, 2e-4, 3e-5}, Vector3{-1e-4, 2e-4, -3e-4},
                                          Vector3{1e-4, -5e-3, 2e-4}};

TEST(TriangleLoad, ForcesAndSlopesAreDerivatives) {
  for (const auto& [law, h] : laws()) {
    for (const Vector3& d : compressions) {
      const TriangleLoad load = triangle_load(law, 1e-6, h, d);
      const double step = 5e-7;  // [m] a sixtieth of the smallest compression
      for (Eigen::Index i = 0; i < 3; ++i) {
        const auto difference = [&, &law = law, &h = h](double k) {
          Vector3 by = Vector3::Zero();
          by[i] = k * step;
          const TriangleLoad up = triangle_load(law, 1e-6, h, d + by);
          const TriangleLoad down = triangle_load(law, 1e-6, h, d - by);
          return std::pair<double, Vector3>(up.energy - down.energy, up.forces - down.forces);
        };
        const auto [e1, f1] = difference(1);
        const auto [e2, f2] = difference(2);
        const auto [e3, f3] = difference(3);
        EXPECT_NEAR((45.0 * e1 - 9.0 * e2 + e3) / (60.0 * step), load.forces[i], 1e-7 * load.forces.norm());
        const Vector3 slope = (45.0 * f1 - 9.0 * f2 + f3) / (60.0 * step);
        EXPECT_LT((slope - load.slopes.col(i)).norm(), 1e-7 * load.slopes.norm()) << d.transpose();
      }
      EXPECT_LT((load.slopes - load.slopes.transpose()).norm(), 1e-14 * load.slopes.norm());
    }
  }
}

TEST(TriangleLoad, SlopesByTheThicknessOfALayer) {
  for (const auto& [law, h] : laws()) {
    for (const Vector3& d : compressions) {
      for (std::size_t layer = 0; layer < 2 && h[layer] > 0.0; ++layer) {
        const double step = h[layer] / 100.0;
        const auto at = [&, &law = law, &h = h](double k) {
          std::array<double, 2> other = h;
          other[layer] += k * step;
          return std::pair(triangle_load(law, 1e-6, other, d), triangle_thickness(law, 1e-6, other, d, layer));
        };
        TriangleThickness by_difference;
        for (const auto& [k, weight] : {std::pair(1, 45.0), std::pair(2, -9.0), std::pair(3, 1.0)}) {
          const auto [up, up_by] = at(k);
          const auto [down, down_by] = at(-k);
          const double w = weight / (60.0 * step);
          by_difference.slope += w * (up.energy - down.energy);
          by_difference.forces += w * (up.forces - down.forces);
          by_difference.curvature += w * (up_by.slope - down_by.slope);
        }
        const TriangleThickness by = triangle_thickness(law, 1e-6, h, d, layer);
        EXPECT_NEAR(by.slope / by_difference.slope, 1.0, 1e-7) << d.transpose();
        EXPECT_NEAR(by.curvature / by_difference.curvature, 1.0, 1e-7) << d.transpose();
        EXPECT_LT((by.forces - by_difference.forces).norm(), 1e-7 * by.forces.norm()) << d.transpose();
      }
    }
  }
}

// Pressure proportional to the compression: the integral over the loaded part is known, and that over four parts is
// equal.
TEST(TriangleLoad, ExactForProportionalPressure) {
  const LayerLaw layer = cartilage(false);
  const BedLaw law(layer);
  const std::array<double, 2> h{0.003, 0.0};
  const double k = layer.modulus / h[0];
  const TriangleLoad one = triangle_load(law, 1e-6, h, {2e-4, -2e-4, -6e-4});  // loaded fraction 1/2 * 1/4
  EXPECT_NEAR(one.forces.sum(), k * 1e-6 / 8.0 * 2e-4 / 3.0, 1e-12);
  EXPECT_NEAR(one.area, 1e-6 / 8.0, 1e-20);
  for (const Vector3& d : compressions) {
    const TriangleLoad whole = triangle_load(law, 1e-6, h, d);
    const Vector3 middle = 0.5 * Vector3(d[0] + d[1], d[1] + d[2], d[2] + d[0]);
    double energy = 0.0;
    double force = 0.0;
    for (const Vector3& part : {Vector3{d[0], middle[0], middle[2]},
                                {middle[0], d[1], middle[1]},
                                {middle[2], middle[1], d[2]},
                                {middle[0], middle[1], middle[2]}}) {
      const TriangleLoad quarter = triangle_load(law, 0.25e-6, h, part);
      energy += quarter.energy;
      force += quarter.forces.sum();
    }
    EXPECT_NEAR(energy, whole.energy, 1e-13 * energy);
    EXPECT_NEAR(force, whole.forces.sum(), 1e-13 * force);
  }
}

// Strains of large compressions stay below 1 for any pressure: no pressure balances both layers beyond that.
TEST(BedLaw, LayersWithoutACommonPressureAreReported) {
  const BedLaw two(cartilage(true), polyethylene(true, true));
  EXPECT_GT(two.at(0.00499, {0.002, 0.003}).pressure, 0.0);
  try {
    (void)two.at(0.0051, {0.002, 0.003});
    FAIL();
  } catch (const RecoverableError& e) {
    EXPECT_THAT(std::string(e.what()),
                testing::AllOf(testing::HasSubstr("0.002 m and 0.003 m"), testing::HasSubstr("by 0.0051 m together"),
                               testing::ContainsRegex("found none from 0 to [1-9].* Pa")));
  }
}

}  // namespace
}  // namespace heelstrike::fem
