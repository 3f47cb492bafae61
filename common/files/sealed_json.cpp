#include "common/files/sealed_json.hpp"

#include "common/files/digest.hpp"

namespace heelstrike {

namespace {

constexpr const char* seal_key = "sha256";

std::string dumped(const nlohmann::ordered_json& json) {
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace

std::string sealed_text(nlohmann::ordered_json json) {
  json.erase(seal_key);
  // Read back: what has been replaced in it has to be the same for whoever reads it.
  const std::string digest = sha256_hex(dumped(nlohmann::ordered_json::parse(dumped(json))));
  json[seal_key] = digest;
  return dumped(json);
}

Seal seal_of(nlohmann::ordered_json json) {
  const auto seal = json.find(seal_key);
  if (seal == json.end()) return Seal::none;
  const nlohmann::ordered_json told = *seal;
  json.erase(seal_key);
  return told == sha256_hex(dumped(json)) ? Seal::intact : Seal::broken;
}

}  // namespace heelstrike
