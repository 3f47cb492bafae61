// Every retired key maps to an existing key, and no key in use is in the table.
#include "common/parameters/retired_names.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "library/registries/catalog.hpp"
#include "scenario/scenario_schema.hpp"

namespace heelstrike::client {
namespace {

void collect(const config::KeySchema& schema, std::set<std::string>& names) {
  names.insert(schema.name);
  for (const config::KeySchema& key : schema.keys) collect(key, names);
}

std::set<std::string> names_in_use() {
  std::set<std::string> names;
  collect(config::scenario_schema(scenario_catalog()), names);
  for (const BackendInfo& backend : embedded_backends()) {
    for (const ParameterSchema& parameter : backend.parameters) names.insert(parameter.name);
  }
  return names;
}

TEST(RetiredNames, MapToKeysInUse) {
  const std::set<std::string> in_use = names_in_use();
  std::set<std::string_view> retired;
  for (const RetiredName& name : retired_names()) {
    EXPECT_TRUE(in_use.contains(std::string(name.present))) << name.retired << " -> " << name.present;
    EXPECT_TRUE(retired.insert(name.retired).second) << name.retired << " is there twice";
  }
  EXPECT_EQ(present_name("initial_state_from"), std::nullopt);
}

}  // namespace
}  // namespace heelstrike::client
