/// A point contact law on analytic geometry as a back-end: the ten laws differ in their row of the law table only.
#pragma once

#include <optional>
#include <string>

#include "fem_server/backends/backend.hpp"
#include "fem_server/backends/point_laws/law.hpp"
#include "fem_server/surfaces/point_pair.hpp"

namespace heelstrike::fem {

/// Remembers the closing speed at the onset of the present contact.
///   commit of a state with gap < 0, or gap = 0 and not opening, out of contact    ->  latch max(closing speed, floor)
///   commit of a state with gap > 0 and not closing, or gap = 0 and opening, in contact  ->  clear
/// A run that starts in touch or in penetration latches with its initial state in the same way: at rest or opening that
/// is the floor.
class PointHistory final : public History {
 public:
  PointHistory(std::string backend, std::optional<double> approach_speed);

  /// [m/s] none = not in contact.
  [[nodiscard]] std::optional<double> approach_speed() const { return approach_speed_; }
  [[nodiscard]] std::string save() const override;

 private:
  std::string backend_;
  std::optional<double> approach_speed_;
};

class PointContact final : public ContactBackend {
 public:
  /// @param name        of the back-end, written into saved histories
  /// @param parameters  in force, as parameters() shall return them
  PointContact(std::string name, PointLaw law, PointPair pair, ParameterMap parameters);

  [[nodiscard]] std::shared_ptr<const History> initial_history() const override;
  [[nodiscard]] Response evaluate(const History& history, const PairState& state) const override;
  [[nodiscard]] Committed commit(const History& history, const PairState& state) const override;
  [[nodiscard]] std::shared_ptr<const History> load_history(std::string_view bytes) const override;
  [[nodiscard]] ParameterMap parameters() const override { return parameters_; }

 private:
  [[nodiscard]] Response respond(const PointGeometry& geometry, std::optional<double> approach_speed) const;

  std::string name_;
  PointLaw law_;
  PointPair pair_;
  ParameterMap parameters_;
};

}  // namespace heelstrike::fem
