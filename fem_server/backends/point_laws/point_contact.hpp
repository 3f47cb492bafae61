/// A point contact law on analytic geometry as a back-end: the laws differ only in their row of the law
/// table; and a law in each compartment of two surfaces with several, e.g. medial and lateral of a knee.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fem_server/backend_interface/saved_history.hpp"
#include "fem_server/backends/point_laws/friction.hpp"

namespace heelstrike::fem {

/// History: the closing velocity at the onset of the present contact.
///   commit of a state with gap < 0, or gap = 0 and not opening, out of contact    ->  latch max(closing velocity, min)
///   commit of a state with gap > 0 and not closing, or gap = 0 and opening, in contact  ->  clear
/// A run that starts in contact latches with its initial state in the same way: at rest or opening, this is the
/// minimum. For stick-slip friction, also the pose and the stretch of the spring.
struct PointHistory final : SavedHistory<PointHistory> {
  static constexpr std::string_view format = "heelstrike point history 3";

  struct Stick {
    Pose X_AB;
    Vector3 stretch = Vector3::Zero();  ///< [m] of the spring, in A; zero out of contact
    double limit = 0.0;                 ///< [N] of the friction; zero out of contact
  };
  std::optional<Stick> stick;  ///< none = no commit yet, or friction without history

  template <class Archive, class Self>
  static void transfer(Archive& archive, Self& self) {
    bool sticks = self.stick.has_value();
    archive(sticks);
    if (!sticks) return;
    if constexpr (Archive::reads) self.stick.emplace();
    archive(self.stick->X_AB, self.stick->stretch, self.stick->limit);
    archive.require(self.stick->limit >= 0.0, "a friction limit >= 0 N");
  }
};

class PointContact final : public ContactBackend {
 public:
  /// @param name        of the back-end, written to saved histories
  /// @param parameters  in force
  PointContact(std::string name, PointLaw law, PointFriction friction, PointPair pair, ParameterMap parameters);

  [[nodiscard]] std::shared_ptr<const History> initial_history() const override;
  [[nodiscard]] Response evaluate(const History& history, const PairState& state,
                                  const EvaluateOptions& options = {}) const override;
  [[nodiscard]] Committed commit(const History& history, const PairState& state,
                                 const EvaluateOptions& options = {}) const override;
  [[nodiscard]] std::shared_ptr<const History> load_history(std::string_view bytes) const override;

 private:
  /// Stretch of the friction spring without slip.
  [[nodiscard]] TransportedSlip stretched(const PointGeometry& geometry, const PairState& state,
                                          const std::optional<PointHistory::Stick>& before) const;
  /// Friction with its spring, with the normal force for the approach velocity in force. @pre geometry.gap <= 0
  [[nodiscard]] Traction traction(const PointGeometry& geometry, const PairState& state, const LawForce& normal,
                                  const std::optional<PointHistory::Stick>& before) const;
  [[nodiscard]] Response make_response(const PointGeometry& geometry, const PairState& state,
                                       std::optional<double> approach_velocity,
                                       const std::optional<PointHistory::Stick>& before) const;

  std::string name_;
  PointLaw law_;
  PointFriction friction_;
  PointPair pair_;
};

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
