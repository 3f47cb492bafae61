// The registry is complete, sorted and documented; its messages name alternatives.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>

#include "common/errors/error.hpp"
#include "scenario/surfaces/cylinder.hpp"
#include "tests/unit/backends/example_pairs.hpp"

namespace heelstrike::fem {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

std::string content_of(const fs::path& path) {
  std::ifstream file(path);
  EXPECT_TRUE(file) << path;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(Registry, HasTheTenPointLaws) {
  std::vector<std::string> names;
  for (const auto& entry : backend_registry()) names.push_back(entry.name);
  EXPECT_TRUE(std::ranges::is_sorted(names));
  EXPECT_EQ(std::ranges::adjacent_find(names), names.end()) << "a name twice";
  for (const char* name : {"hooke", "hertz", "kelvin_voigt", "hunt_crossley", "herbert_mcwhannell", "lee_wang",
                           "lankarani_nikravesh", "gonthier", "zhiying_qishao", "flores"}) {
    EXPECT_THAT(names, testing::Contains(name));
  }
}

TEST(Registry, EveryFolderWithAnEntryIsListed) {
  const fs::path root = fs::path(HEELSTRIKE_SOURCE_DIR) / "fem_server" / "backends";
  const std::string registry = content_of(root / "registry.cpp");
  int folders = 0;
  for (const auto& folder : fs::directory_iterator(root)) {
    if (!fs::exists(folder.path() / "entry.cpp")) continue;
    ++folders;
    const std::string name = folder.path().filename().string();
    EXPECT_THAT(registry, HasSubstr("\"fem_server/backends/" + name + "/entry.hpp\""));
  }
  EXPECT_GT(folders, 0);
}

TEST(Registry, EveryEntryIsDocumented) {
  const std::string references = content_of(fs::path(HEELSTRIKE_SOURCE_DIR) / "docs" / "references.bib");
  for (const auto& entry : backend_registry()) {
    EXPECT_FALSE(entry.summary.empty()) << entry.name;
    EXPECT_THAT(references, HasSubstr("{" + entry.reference + ",")) << entry.name;
    EXPECT_FALSE(entry.surface_pairs.empty()) << entry.name;
    for (const auto& parameter : entry.parameters) {
      EXPECT_FALSE(parameter.meaning.empty()) << entry.name << "." << parameter.name;
      EXPECT_FALSE(parameter.unit.empty()) << entry.name << "." << parameter.name;
      // A default must pass its own check.
      if (parameter.fallback) {
        EXPECT_NO_THROW((void)checked_parameters({{parameter.name, *parameter.fallback}}, {&parameter, 1}, "t"));
      }
    }
  }
}

TEST(Registry, UnknownNameIsReportedWithTheNearestAndTheList) {
  try {
    (void)find_backend("hunt_crosley");
    FAIL() << "expected an error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_input);
    EXPECT_THAT(error.what(), AllOf(HasSubstr("hunt_crosley"), HasSubstr("did you mean 'hunt_crossley'?"),
                                    HasSubstr("flores, gonthier, herbert_mcwhannell, hertz, hooke")));
  }
}

TEST(Registry, CommonWordsHaveSuggestions) {
  for (const auto& [word, name] : {std::pair{"penalty", "'elastic_foundation'"}, std::pair{"hunt", "'hunt_crossley'"},
                                   std::pair{"foundation", "'elastic_foundation'"}}) {
    try {
      (void)find_backend(word);
      FAIL() << "expected an error";
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), AllOf(HasSubstr("did you mean"), HasSubstr(name)));
    }
  }
}

TEST(Registry, UnknownSurfacePairIsRejected) {
  PairSpec pair = testing_support::example_pair("flores", testing_support::example_geometries()[0]);
  pair.partner.surface = CylinderSurface{.radius = 1.0};
  try {
    (void)testing_support::make_example(pair);
    FAIL() << "expected an error";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(),
                AllOf(HasSubstr("contact.example"), HasSubstr("sphere-cylinder"), HasSubstr("sphere-plane")));
  }
}

}  // namespace
}  // namespace heelstrike::fem
