#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <sstream>

#include "mbs_server/analysis/catalog.hpp"
#include "scenario/scenario_schema.hpp"
#include "scenario/schema/mistakes.hpp"
#include "scenario/schema/schema.hpp"

namespace heelstrike::config {
namespace {

/// Set HEELSTRIKE_UPDATE to rewrite the page after a change of the schema.
TEST(Reference, ScenarioPageIsUpToDate) {
  const std::string path = HEELSTRIKE_SOURCE_DIR "/docs/reference/scenario.md";
  if (std::getenv("HEELSTRIKE_UPDATE") != nullptr) std::ofstream(path) << scenario_reference(mbs::scenario_catalog());
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  EXPECT_EQ(text.str(), scenario_reference(mbs::scenario_catalog()))
      << "run: HEELSTRIKE_UPDATE=1 build/release/bin/scenario_test "
         "--gtest_filter=Reference.* and commit docs/reference/scenario.md";
}

void expect_complete(const KeySchema& key, const std::string& path) {
  EXPECT_FALSE(key.meaning.empty()) << path << " has no meaning";
  EXPECT_FALSE(key.required && !key.fallback.empty()) << path << " is required and has a default";
  for (const auto& child : key.keys) expect_complete(child, path + "." + child.name);
}

TEST(Reference, EveryKeyHasAMeaning) {
  expect_complete(scenario_schema(mbs::scenario_catalog()), "scenario");
}

TEST(Reference, EveryNumberHasARange) {
  const std::function<void(const KeySchema&, const std::string&)> check = [&](const KeySchema& key,
                                                                              const std::string& path) {
    const bool number = key.kind == KeyKind::number || key.kind == KeyKind::integer || key.kind == KeyKind::numbers;
    if (number) {
      EXPECT_TRUE(std::isfinite(key.range.min) && std::isfinite(key.range.max)) << path << ": " << key.range.text();
      EXPECT_FALSE(key.range.contains(1e155)) << path;
    }
    for (const auto& child : key.keys) check(child, path + "." + child.name);
  };
  check(scenario_schema(mbs::scenario_catalog()), "scenario");
}

TEST(Reference, DefaultsPassTheirOwnChecks) {
  const std::function<void(const KeySchema&)> check = [&](const KeySchema& key) {
    if (!key.fallback.empty()) {
      const Document document = load_document(key.fallback, key.name);
      Mistakes mistakes;
      EXPECT_NO_THROW({
        (void)checked(document, *document.root, key, key.name, mistakes);
        mistakes.raise();
      }) << key.name
         << ": " << key.fallback;
    }
    for (const auto& child : key.keys) check(child);
  };
  check(scenario_schema(mbs::scenario_catalog()));
}

}  // namespace
}  // namespace heelstrike::config
