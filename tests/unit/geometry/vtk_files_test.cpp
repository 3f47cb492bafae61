// Files written by VTK itself (tests/integration/readers/write_vtk_variants.py) contain the data given to VTK, bit for
// bit.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include "fem_server/geometry/read_mesh.hpp"
#include "tests/unit/geometry/samples.hpp"

namespace heelstrike::fem {
namespace {

namespace fs = std::filesystem;

std::string content(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

/// Points and cells as text: the numbers have 17 digits.
template <typename Cells>
std::string text_of(const std::vector<Vector3>& points, const Cells& connectivity, std::size_t corners) {
  std::string text = std::to_string(points.size()) + " " + std::to_string(connectivity.size() / corners) + "\n";
  char buffer[100];
  for (const Vector3& p : points) {
    (void)std::snprintf(buffer, sizeof buffer, "%.17g %.17g %.17g\n", p.x(), p.y(), p.z());
    text += buffer;
  }
  for (std::size_t i = 0; i < connectivity.size(); ++i) {
    text += std::to_string(connectivity[i]) + ((i + 1) % corners == 0 ? "\n" : " ");
  }
  return text;
}

std::string read_back(const fs::path& file) {
  const ReadOptions options = samples::named(file.filename().string());
  const std::string bytes = content(file);
  if (is_volume_mesh(bytes, options)) {
    const VolumeMesh mesh = read_volume(bytes, options);
    EXPECT_EQ(mesh.element_sets.at("material_1").size(), mesh.n_elements() / 2);
    return text_of(mesh.nodes, mesh.connectivity, mesh.nodes_per_element);
  }
  const SurfaceMesh mesh = read_surface(bytes, options);
  std::vector<std::uint32_t> corners;
  for (const Triangle& t : mesh.triangles) corners.insert(corners.end(), t.begin(), t.end());
  EXPECT_EQ(mesh.group_names.size(), 2U);
  return text_of(mesh.vertices, corners, 3);
}

TEST(VtkFiles, AreReadAsWritten) {
  const char* const folder = std::getenv("HEELSTRIKE_VTK_FILES");
  if (folder == nullptr) GTEST_SKIP() << "needs files of VTK: ctest -R vtk_variants";
  int n = 0;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const fs::path& file = entry.path();
    if (file.extension() == ".truth") continue;
    const std::string name = file.filename().string();
    SCOPED_TRACE(name);
    const std::string truth = content(fs::path(folder) / (name.substr(0, name.find('.')) + ".truth"));
    ASSERT_NO_THROW({
      // Not EXPECT_EQ: a difference would be printed in full.
      EXPECT_TRUE(read_back(file) == truth) << "points or cells differ from those given to VTK";
    });
    ++n;
  }
  EXPECT_EQ(std::to_string(n), std::getenv("HEELSTRIKE_VTK_FILE_COUNT"));
}

}  // namespace
}  // namespace heelstrike::fem
