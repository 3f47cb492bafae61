/// A point law in each compartment of two surfaces with several, e.g. medial and lateral of a knee.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "fem_server/backend_interface/saved_history.hpp"

namespace heelstrike::fem {

/// Histories of the compartments, each in the format of its law.
struct CompartmentHistory final : SavedHistory<CompartmentHistory> {
  static constexpr std::string_view format = "heelstrike compartment history 1";
  std::vector<std::shared_ptr<const History>> parts;
  std::vector<std::string> saved;  ///< bytes of the parts, read but not loaded yet

  template <class Archive, class Self>
  static void transfer(Archive& archive, Self& self) {
    std::vector<std::string> bytes;
    for (const auto& part : self.parts) bytes.push_back(part->save());
    archive(bytes);
    if constexpr (Archive::reads) self.saved = std::move(bytes);
  }
};

/// Sum over the compartments. Gap and gap rate are those of the nearest one, the peak pressure is the maximum, and
/// each compartment is reported as a region.
class CompartmentContact final : public ContactBackend {
 public:
  struct Part {
    std::string name;
    std::unique_ptr<ContactBackend> law;
  };
  /// @param name        of the back-end, written to saved histories
  /// @param parameters  in force
  /// @pre parts is not empty
  CompartmentContact(std::string name, std::vector<Part> parts, ParameterMap parameters);

  [[nodiscard]] std::shared_ptr<const History> initial_history() const override;
  [[nodiscard]] std::shared_ptr<const History> load_history(std::string_view bytes) const override;
  [[nodiscard]] Response evaluate(const History& history, const PairState& state,
                                  const EvaluateOptions& options = {}) const override;
  [[nodiscard]] Committed commit(const History& history, const PairState& state,
                                 const EvaluateOptions& options = {}) const override;

 private:
  std::string name_;
  std::vector<Part> parts_;
};

}  // namespace heelstrike::fem
