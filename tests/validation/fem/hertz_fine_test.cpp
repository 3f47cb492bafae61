#include "tests/validation/fem/hertz_ball.hpp"

namespace heelstrike::fem {

TEST(HertzBall, SlowFineMeshFollowsHertz) {
  hertz::check_ball(1e-3, 17e-3, 0.03, 1000.0);
}

}  // namespace heelstrike::fem
