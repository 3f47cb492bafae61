#include <fmt/format.h>
#include <gtest/gtest.h>
#include <fstream>
#include <sstream>
#include "common/surfaces/block.hpp"
#include "fem_server/backends/elastic_foundation/entry.hpp"
#include "tests/unit/elastic_foundation/foundation_examples.hpp"
namespace heelstrike::fem {
namespace {
using namespace testing_support;
TEST(ZZ, Drop) {
  const double v[7] = {8.198251962288803e-06, 9.346968661814179e-05, 0.05459893944891591,  0.9993736191299476,
                       0.031803331388642345,  0.015484406954423048,  0.0010726793391665807};
  std::ifstream f("/tmp/sp/case/cube1.stl");
  std::stringstream s;
  s << f.rdbuf();
  Assets assets;
  assets.add_text("cube", s.str());
  BlockSurface block;
  block.lengths = {1, 1, 0.05};
  block.center = {0, 0, -0.025};
  PairSpec pair = layer_pair(mesh_named("cube"), block, {{"thickness", 0.01}});
  pair.main.materials = {material(1e6, 0.3)};
  const BackendEntry entry = elastic_foundation_entry();
  pair.parameters = checked_parameters(pair.parameters, entry.parameters, "contact.knee.parameters");
  const auto b = entry.make(pair, assets.context());
  Pose X;
  X.R = Quaternion(v[3], v[4], v[5], v[6]).toRotationMatrix();
  for (double dz : {1e-4, 1e-6, 1e-8, 1e-10, 0.0, -1e-10, -1e-8, -1e-7, -1e-6, -1e-5, -1e-4}) {
    X.p = {v[0], v[1], v[2] + dz};
    PairState st;
    st.X_AB = X.inverse();
    const Response r = b->evaluate(*b->initial_history(), st);
    fmt::print("dz {:9.1e} gap {:.6e} F {:.6e} E {:.3e} active {} cop {} {} {}\n", dz, r.gap, (X.R * r.F_A.force).z(),
               r.stored_energy, r.statistics.active_points, r.p_ACop.x(), r.p_ACop.y(), r.p_ACop.z());
  }
}
}  // namespace
}  // namespace heelstrike::fem
