/// The contact partner inside this process: no sockets, same sessions, same bits.
#pragma once

#include <memory>
#include <vector>

#include "common/contact/contact.hpp"

namespace heelstrike::fem {

/// Opens all pairs in this process. Usable as a ContactFactory.
[[nodiscard]] std::unique_ptr<Contact> open_local_contact(std::span<const PairSpec> pairs,
                                                          std::span<const AssetContent> assets,
                                                          const OpenContext& context);

}  // namespace heelstrike::fem
