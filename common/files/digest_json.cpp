#include "common/files/digest_json.hpp"

#include "common/files/digest.hpp"

namespace heelstrike {

namespace {

constexpr const char* digest_key = "sha256";

std::string serialised(const nlohmann::ordered_json& json) {
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace

std::string json_with_digest(nlohmann::ordered_json json) {
  json.erase(digest_key);
  // Parsed again, so that replacement characters are the same for a reader.
  const std::string digest = sha256_hex(serialised(nlohmann::ordered_json::parse(serialised(json))));
  json[digest_key] = digest;
  return serialised(json);
}

DigestState check_digest(nlohmann::ordered_json json) {
  const auto seal = json.find(digest_key);
  if (seal == json.end()) return DigestState::none;
  const nlohmann::ordered_json stored = *seal;
  json.erase(digest_key);
  return stored == sha256_hex(serialised(json)) ? DigestState::intact : DigestState::broken;
}

}  // namespace heelstrike
