#include <fmt/format.h>
#include <algorithm>

#include "scenario/schema/schema.hpp"

namespace heelstrike::config {

namespace {

/// True if two types define a key identically.
bool same_key(const KeySchema& a, const KeySchema& b) {
  return a.name == b.name && a.meaning == b.meaning && a.unit == b.unit && a.required == b.required &&
         a.fallback == b.fallback && expectation(a) == expectation(b);
}

}  // namespace

void add_type(KeySchema& variant, const std::string& name, const std::string& meaning,
              const std::vector<KeySchema>& shared, const std::vector<KeySchema>& own) {
  KeySchema type{.name = name, .kind = KeyKind::map, .meaning = meaning};
  KeySchema& choice = variant.keys.front();
  if (!choice.name.empty()) {
    choice.choices.push_back(name);
    choice.meaning += fmt::format("{} {}: {}", choice.choices.size() == 1 ? "." : ";", name, meaning);
    type.keys.push_back(
        {.name = choice.name, .kind = KeyKind::text, .meaning = "the type", .fallback = choice.fallback});
  }
  type.keys.insert(type.keys.end(), shared.begin(), shared.end());
  type.keys.insert(type.keys.end(), own.begin(), own.end());
  variant.keys.push_back(std::move(type));
}

const KeySchema* chosen_type(const KeySchema& variant, const Node& map) {
  const KeySchema& choice = variant.keys.front();
  const Node* given = choice.name.empty() ? nullptr : map.find(choice.name);
  const auto chosen = std::find_if(variant.keys.begin() + 1, variant.keys.end(), [&](const KeySchema& type) {
    if (choice.name.empty()) return map.find(type.name) != nullptr;
    if (given != nullptr) return type.name == given->scalar;
    return choice.fallback && type.name == text_of(*choice.fallback);
  });
  return chosen == variant.keys.end() ? nullptr : &*chosen;
}

std::vector<TypedKey> keys_by_type(const KeySchema& variant) {
  std::vector<TypedKey> all;
  for (auto type = variant.keys.begin() + 1; type != variant.keys.end(); ++type) {
    for (const KeySchema& key : type->keys) {
      const auto known = std::ranges::find_if(all, [&](const TypedKey& other) { return same_key(other.key, key); });
      if (known == all.end()) {
        all.push_back({.key = key, .types = {type->name}});
      } else {
        known->types.push_back(type->name);
      }
    }
  }
  return all;
}

std::vector<KeySchema> keys_of(const KeySchema& schema) {
  const bool typed_entries = schema.kind == KeyKind::named && schema.keys.front().kind == KeyKind::variant;
  if (typed_entries) return keys_of(schema.keys.front());
  if (schema.kind != KeyKind::variant) return schema.keys;
  std::vector<KeySchema> keys;
  for (const TypedKey& typed : keys_by_type(schema)) {
    if (std::ranges::find(keys, typed.key.name, &KeySchema::name) == keys.end()) keys.push_back(typed.key);
  }
  return keys;
}

}  // namespace heelstrike::config
