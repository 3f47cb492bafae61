// Hysteresis factors and their restitution, against table 4.4 computed independently of this code (exact energy
// integral of the impact; printed with four digits).
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "fem_server/backend_interface/hysteresis.hpp"
#include "fem_server/backends/point_laws/law.hpp"

namespace heelstrike::fem {
namespace {

struct Value {
  double H;
  double e;
};
struct Row {
  double c_r;
  Value hc, hm, lw, ln, gonthier_approximate, gonthier, zq, flores;
};

constexpr Row table[] = {
    {0.95,
     {0.0750, 0.9524},
     {0.0787, 0.9501},
     {0.0375, 0.9756},
     {0.0731, 0.9535},
     {0.1026, 0.9359},
     {0.0789, 0.9500},
     {0.0808, 0.9489},
     {0.0842, 0.9468}},
    {0.90,
     {0.1500, 0.9090},
     {0.1648, 0.9009},
     {0.0750, 0.9524},
     {0.1425, 0.9132},
     {0.2111, 0.8764},
     {0.1665, 0.9000},
     {0.1740, 0.8959},
     {0.1778, 0.8939}},
    {0.80,
     {0.3000, 0.8329},
     {0.3571, 0.8070},
     {0.1500, 0.9090},
     {0.2700, 0.8471},
     {0.4500, 0.7680},
     {0.3731, 0.8000},
     {0.4028, 0.7874},
     {0.4000, 0.7885}},
    {0.70,
     {0.4500, 0.7680},
     {0.5696, 0.7227},
     {0.2250, 0.8693},
     {0.3825, 0.7960},
     {0.7286, 0.6696},
     {0.6348, 0.7000},
     {0.6970, 0.6796},
     {0.6857, 0.6832}},
    {0.60,
     {0.6000, 0.7120},
     {0.7895, 0.6511},
     {0.3000, 0.8329},
     {0.4800, 0.7561},
     {1.0667, 0.5773},
     {0.9749, 0.6000},
     {1.0683, 0.5769},
     {1.0667, 0.5773}},
    {0.50,
     {0.7500, 0.6630},
     {1.0000, 0.5936},
     {0.3750, 0.7992},
     {0.5625, 0.7252},
     {1.5000, 0.4877},
     {1.4328, 0.5000},
     {1.5290, 0.4826},
     {1.6000, 0.4704}},
    {0.40,
     {0.9000, 0.6197},
     {1.1842, 0.5503},
     {0.4500, 0.7680},
     {0.6300, 0.7016},
     {2.1000, 0.3978},
     {2.0825, 0.4000},
     {2.0917, 0.3988},
     {2.4000, 0.3629}},
    {0.30,
     {1.0500, 0.5813},
     {1.3291, 0.5200},
     {0.5250, 0.7390},
     {0.6825, 0.6842},
     {3.0333, 0.3042},
     {3.0871, 0.3000},
     {2.7677, 0.3267},
     {3.7333, 0.2562}},
    {0.20,
     {1.2000, 0.5469},
     {1.4286, 0.5008},
     {0.6000, 0.7120},
     {0.7200, 0.6723},
     {4.8000, 0.2046},
     {4.9192, 0.2000},
     {3.5662, 0.2664},
     {6.4000, 0.1555}},
    {0.10,
     {1.3500, 0.5158},
     {1.4835, 0.4907},
     {0.6750, 0.6867},
     {0.7425, 0.6653},
     {9.9000, 0.1010},
     {9.9982, 0.1000},
     {4.4919, 0.2175},
     {14.4000, 0.0694}},
    {0.05,
     {1.4250, 0.5014},
     {1.4961, 0.4884},
     {0.7125, 0.6746},
     {0.7481, 0.6635},
     {19.950, 0.0501},
     {20.000, 0.0500},
     {5.0019, 0.1969},
     {30.400, 0.0329}},
};

const LawKind& law(std::string_view name) {
  return *std::ranges::find(law_table(), name, &LawKind::name);
}

void expect_row(double c_r, double H, const Value& expected, std::string_view law) {
  // Half a unit of the last printed digit; the factors above 19 are printed with three decimals.
  EXPECT_NEAR(H, expected.H, expected.H > 19.0 ? 5.1e-4 : 5.1e-5) << law << " c_r " << c_r;
  EXPECT_NEAR(effective_restitution(H), expected.e, 5.1e-5) << law << " c_r " << c_r;
}

TEST(Hysteresis, FactorsAndRestitutionsEqualTheTable) {
  for (const Row& row : table) {
    const double c = row.c_r;
    const auto check = [c](std::string_view name, const Value& expected) {
      expect_row(c, law(name).factor(c), expected, name);
    };
    check("hunt_crossley", row.hc);
    check("herbert_mcwhannell", row.hm);
    check("lee_wang", row.lw);
    check("lankarani_nikravesh", row.ln);
    check("gonthier", row.gonthier);
    expect_row(c, law("gonthier").approximate_factor(c), row.gonthier_approximate, "gonthier approximate");
    check("zhiying_qishao", row.zq);
    check("flores", row.flores);
  }
}

// The root d of the implicit equation is accurate to a few roundings of its residual; over the slope that is 1e-9 at
// worst, near c_r = 1, where the series is used.
TEST(Hysteresis, ExactGonthierReproducesItsRestitution) {
  for (const double c_r : {1.0, 1.0 - 1e-9, 1.0 - 2e-6, 1.0 - 5e-7, 0.999, 0.7, 0.3, 0.02, 0.003}) {
    const double H = gonthier_factor(c_r);
    EXPECT_NEAR(effective_restitution(H), c_r, 2e-9) << "H " << H;
  }
}

TEST(Hysteresis, ElasticLimitIsExact) {
  for (const LawKind& kind : law_table()) {
    if (kind.factor != nullptr) {
      EXPECT_EQ(kind.factor(1.0), 0.0) << kind.name;
    }
    if (kind.approximate_factor != nullptr) {
      EXPECT_EQ(kind.approximate_factor(1.0), 0.0) << kind.name;
    }
  }
  EXPECT_EQ(effective_restitution(0.0), 1.0);
}

}  // namespace
}  // namespace heelstrike::fem
