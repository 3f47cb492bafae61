/// In-process contact without sockets: same sessions, same bits.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/contact/contact.hpp"
#include "fem_server/sessions/session_bytes.hpp"

namespace heelstrike::fem {

/// Finds the file of a mesh surface by digest or by name. @throws Error{not_found}
[[nodiscard]] const AssetContent& find_asset(std::span<const AssetContent> assets, const AssetKey& file);

/// Opens all pairs in this process.
/// @param cache_directory  for products of preparations; empty = none
/// @param origin           of the states accepted by restore_state()
[[nodiscard]] ContactFactory local_contact_factory(std::string cache_directory,
                                                   StateOrigin origin = StateOrigin::same_pair);

/// Numeric parameters of a back-end that may change between two steps, see BackendEntry.
/// @throws Error{invalid_input} for an unknown back-end
[[nodiscard]] std::span<const std::string> tunable_parameters(const std::string& backend);

/// local_contact_factory without a cache. Usable as a ContactFactory.
[[nodiscard]] std::unique_ptr<Contact> open_local_contact(std::span<const PairSpec> pairs,
                                                          std::span<const AssetContent> assets,
                                                          const OpenContext& context);

}  // namespace heelstrike::fem
