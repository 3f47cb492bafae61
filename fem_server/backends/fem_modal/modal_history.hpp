/// History of the contact of a vibrating body between accepted steps.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "fem_server/backend_interface/saved_history.hpp"
#include "fem_server/backends/fem_modal/modal_oscillator.hpp"

namespace heelstrike::fem {

struct ModalHistory final : SavedHistory<ModalHistory> {
  static constexpr std::string_view format = "heelstrike modal history 1";

  std::optional<double> t;       ///< [s] of the commit; none = no commit yet
  bool touches = false;          ///< the bodies were in contact there
  std::vector<ModeState> modes;  ///< all modes of the body; empty before the first commit

  template <class Archive, class Self>
  static void transfer(Archive& archive, Self& self) {
    archive(self.t, self.touches, self.modes);
  }
};

}  // namespace heelstrike::fem
