/// A scenario that can be stepped by anybody's master.
///
///     hs::Simulation simulation = hs::Simulation::open("gait.yaml");
///     while (simulation.time() < simulation.end_time()) {
///       simulation.set("ball.fx_N", control(simulation.get("ball.x_m")));
///       simulation.advance_to(simulation.time() + 0.01);
///     }
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include <heelstrike/error.hpp>
#include <heelstrike/options.hpp>
#include <heelstrike/types.hpp>

namespace hs {

/// The integrator chooses its steps freely; what lies between two of them is interpolated. So a run in many pieces has
/// the bits of one in a single piece, and asking for outputs changes nothing. Only set(), save() and restore() end a
/// step where the simulation stands.
///
/// One thread at a time; calls beside another one, after close(), or after fork() are Error{out_of_order}.
class HEELSTRIKE_API Simulation {
 public:
  /// Builds and assembles the model, prepares the contact, takes the state at t = 0.
  /// @throws Error{invalid_input} with file, line and key; as Contact::open
  [[nodiscard]] static Simulation open(const std::string& file, const Changes& changes = {},
                                       const OpenOptions& options = {});
  Simulation(Simulation&& other) noexcept;
  Simulation& operator=(Simulation&& other) noexcept;
  ~Simulation();

  [[nodiscard]] double time() const;      ///< [s] where the simulation stands
  [[nodiscard]] double end_time() const;  ///< [s] of the scenario

  /// Goes to `t` [s], from time() to end_time().
  /// @throws Error{invalid_input} for a time behind or beyond; Error{solver_failed}; Error{limit} of analysis.budget;
  /// Error{cancelled} when it was stopped: time() tells how far it came, and no further advance is possible
  void advance_to(double t);

  /// What set() takes: BODY.fx_N ... BODY.tz_Nm, and the functions of all drivers. Valid until close().
  [[nodiscard]] std::span<const Column> inputs() const;
  /// From time() on the input is value + rate (t - time()) + acceleration (t - time())^2 / 2, in its unit and per
  /// second. Forces (in the world, at the body's origin) are added to the loads of the scenario; a driver follows the
  /// input instead of its own function.
  /// @throws Error{invalid_input} for an unknown name and for numbers that are not finite
  void set(const std::string& name, double value, double rate = 0.0, double acceleration = 0.0);

  /// The columns of the time series. Valid until close().
  [[nodiscard]] std::span<const Column> outputs() const;
  /// Their values at time(), valid until the next call.
  [[nodiscard]] std::span<const double> values();
  /// One of them. @throws Error{invalid_input} for an unknown name
  [[nodiscard]] double get(std::string_view name);

  /// All that is needed to go on from here, as bytes: what follows a save has the bits of what follows its restore.
  [[nodiscard]] std::string save();
  /// @throws Error{invalid_input} for bytes of another scenario or of none; nothing has changed then
  void restore(std::string_view bytes);

  void close();
  [[nodiscard]] bool is_open() const noexcept;

 private:
  struct Content;
  explicit Simulation(std::unique_ptr<Content> content);
  std::unique_ptr<Content> content_;
};

}  // namespace hs
