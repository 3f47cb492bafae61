#include "scenario/shared_bodies.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "common/errors/error.hpp"
#include "scenario/surfaces/surface_kind.hpp"

namespace heelstrike {

namespace {

/// Identity of a piece of a body.
struct Piece {
  std::string body;
  std::string file{};               ///< of a mesh
  Vector3 place = Vector3::Zero();  ///< [m]
  ParameterMap box{};
  bool operator==(const Piece& other) const {
    return std::tie(body, file, box) == std::tie(other.body, other.file, other.box) && place == other.place;
  }
};

Piece piece_of(const PairSpec& pair, const ContactBody& body) {
  Piece piece{.body = body.name};
  piece.place = location_of(body.surface);
  if (const auto file = asset_of(body.surface)) piece.file = file->sha256 + file->name;
  const auto box = pair.parameters.find("body_box");
  if (&body == &pair.main && box != pair.parameters.end()) piece.box.insert(*box);
  return piece;
}

struct ElasticBody {
  std::size_t pair;
  bool is_partner;
  Piece piece;
};

}  // namespace

const std::string shared_body_advice =
    "each pair would condense this body separately, without the deformation by the other: combine both partners in one "
    "pair (one surface mesh on one body), assign a separate piece to each pair (another mesh, place or body_box), or "
    "choose a point law for one of them";

bool has_elastic_bodies(std::span<const ParameterSchema> schema) {
  return std::ranges::find(schema, "support", &ParameterSchema::name) != schema.end();
}

std::optional<SharedBody> find_shared_body(std::span<const PairSpec> pairs,
                                           const std::function<bool(const std::string&)>& elastic) {
  std::vector<ElasticBody> bodies;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    if (!elastic(pairs[i].backend)) continue;
    for (const ContactBody* body : {&pairs[i].main, &pairs[i].partner}) {
      if (body->materials.empty()) continue;
      ElasticBody found{.pair = i, .is_partner = body == &pairs[i].partner, .piece = piece_of(pairs[i], *body)};
      const auto same = std::ranges::find(bodies, found.piece, &ElasticBody::piece);
      if (same != bodies.end()) return SharedBody{.earlier = same->pair, .later = i, .is_partner = found.is_partner};
      bodies.push_back(std::move(found));
    }
  }
  return std::nullopt;
}

void reject_shared_bodies(std::span<const PairSpec> pairs, const std::function<bool(const std::string&)>& elastic) {
  const auto shared = find_shared_body(pairs, elastic);
  if (!shared) return;
  const PairSpec& later = pairs[shared->later];
  const char* side = shared->is_partner ? "partner" : "main";
  throw input_error(
      fmt::format("contact.{}.{}.body", later.name, side),
      fmt::format(
          "contact.{0}.{1}.body: expected an elastic body in one pair only, found '{2}' also in contact.{3}; {4}",
          later.name, side, shared->is_partner ? later.partner.name : later.main.name, pairs[shared->earlier].name,
          shared_body_advice));
}

}  // namespace heelstrike
