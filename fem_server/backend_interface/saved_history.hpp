/// Common part of all saved histories: format, back-end, approach velocity, and one visitor that writes and reads the
/// remaining members.
#pragma once

#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "common/errors/error.hpp"
#include "fem_server/backend_interface/backend.hpp"
#include "fem_server/backend_interface/state_bytes.hpp"

namespace heelstrike::fem {

/// @tparam Own  the history type: has `format` (text with a version that changes with the bytes) and `transfer` of its
///              additional members, see state_bytes.hpp
template <class Own>
class SavedHistory : public History {
 public:
  std::string backend;                      ///< name of the back-end that wrote it
  std::optional<double> approach_velocity;  ///< [m/s] closing velocity at the onset of contact, > 0; none = no contact

  [[nodiscard]] std::string save() const final {
    StateWriter writer;
    transfer_all(writer, static_cast<const Own&>(*this));
    return writer.take();
  }

  [[nodiscard]] static std::shared_ptr<Own> of_backend(const std::string& name) {
    auto history = std::make_shared<Own>();
    history->backend = name;
    return history;
  }

  /// @throws Error{invalid_input} for bytes of another format or back-end and for damaged bytes
  [[nodiscard]] static std::shared_ptr<Own> load(std::string_view bytes, const std::string& name) {
    auto history = of_backend(name);
    StateReader reader(bytes, fmt::format("history of back-end '{}'", name));
    transfer_all(reader, *history);
    reader.finish();
    return history;
  }

  /// @throws Error{internal} for the history of another back-end
  [[nodiscard]] static const Own& from(const History& history) {
    if (const auto* own = dynamic_cast<const Own*>(&history)) return *own;
    throw Error(ErrorCode::internal,
                fmt::format("expected a history of format '{}', found that of another back-end", Own::format));
  }

 private:
  template <class Archive, class Self>
  static void transfer_all(Archive& archive, Self& self) {
    archive.label("format", Own::format);
    archive.label("back-end", self.backend);
    archive(self.approach_velocity);
    archive.require(self.approach_velocity.value_or(0.0) >= 0.0, "an approach velocity >= 0 m/s");
    Own::transfer(archive, self);
  }
};

}  // namespace heelstrike::fem
