#include "tests/validation/fem/hertz_ball.hpp"

namespace heelstrike::fem {

TEST(HertzBall, CoarseMeshFollowsHertz) {
  hertz::check_ball(3e-3, 18e-3, 0.08, 4000.0);
}

}  // namespace heelstrike::fem
