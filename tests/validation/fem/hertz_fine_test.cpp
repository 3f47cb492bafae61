#include "tests/validation/fem/hertz_ball.hpp"

namespace heelstrike::fem {

TEST(HertzBall, SlowFineMeshFollowsHertz) {
  // Requirement: radius and peak pressure within 3 %, c within 8 %.
  hertz::check_ball(1e-3, 17e-3, 0.03, 1000.0, 0.08);
}

}  // namespace heelstrike::fem
