#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>

#include "mbs_server/analysis/catalog.hpp"
#include "scenario/scenario_schema.hpp"
#include "scenario/schema/document.hpp"
#include "scenario/schema/schema.hpp"

namespace heelstrike::config {
namespace {

TEST(Reference, APageRowHasUnitDefaultAndMeaning) {
  const std::string page = scenario_reference(mbs::scenario_catalog());
  for (const char* row :
       {"| `analysis.budget.rows` | a whole number in [1, 9e+15] | - | `2000000` | rows of the time series |\n",
        "| `analysis.end_time` | a number in [1e-12, 1e+09] [s] | s | required | end of the run; it starts at 0 |\n",
        "| `contact.NAME.main.surface.sphere.radius` |"}) {
    EXPECT_NE(page.find(row), std::string::npos) << row;
  }
}

void expect_complete(const KeySchema& key, const std::string& path) {
  EXPECT_FALSE(key.meaning.empty()) << path << " has no meaning";
  EXPECT_FALSE(key.required && key.fallback) << path << " is required and has a default";
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
    if (key.fallback) {
      const Document document = load_document(text_of(*key.fallback), key.name);
      Issues issues;
      EXPECT_NO_THROW({
        (void)checked(document, *document.root, key, key.name, issues);
        issues.raise();
      }) << key.name
         << ": " << text_of(*key.fallback);
    }
    for (const auto& child : key.keys) check(child);
  };
  check(scenario_schema(mbs::scenario_catalog()));
}

}  // namespace
}  // namespace heelstrike::config
