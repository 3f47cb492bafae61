/// A scenario that is stepped by an external master.
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

/// The integrator chooses its steps freely; values between two steps are interpolated. A run in many pieces therefore
/// has the bits of a run in one piece, and reading outputs changes nothing. Only set(), save() and restore() end a step
/// at the current time.
///
/// One thread at a time; concurrent calls, calls after close(), and calls after fork() throw Error{out_of_order}.
class HEELSTRIKE_API Simulation {
 public:
  /// Builds and assembles the model, prepares the contact, and sets the state at t = 0.
  /// @throws Error{invalid_input} with file, line and key, also for an analysis that is computed only as a whole, such
  /// as `static` or `inverse`: use run(); as Contact::open
  [[nodiscard]] static Simulation open(const std::string& file, const Changes& changes = {},
                                       const OpenOptions& options = {});
  Simulation(Simulation&& other) noexcept;
  Simulation& operator=(Simulation&& other) noexcept;
  ~Simulation();

  [[nodiscard]] double time() const;      ///< [s] current time
  [[nodiscard]] double end_time() const;  ///< [s] end time of the scenario

  /// Advances to `t` [s], from time() to end_time().
  /// @throws Error{invalid_input} for a time outside this range; Error{solver_failed}; Error{limit} of analysis.budget;
  /// Error{cancelled} when stopped: time() is the time reached, and no further advance is possible
  void advance_to(double t);

  /// Inputs of set(): BODY.fx_N ... BODY.tz_Nm, and the functions of all drivers. Valid until close().
  [[nodiscard]] std::span<const Column> inputs() const;
  /// From time() on the input is value + rate (t - time()) + acceleration (t - time())^2 / 2, in its unit, per second
  /// and per second squared. Forces (in the world, at the body's origin) are added to the loads of the scenario; a
  /// driver follows the input instead of its own function.
  /// @throws Error{invalid_input} for an unknown name and for numbers that are not finite
  void set(const std::string& name, double value, double rate = 0.0, double acceleration = 0.0);

  /// The columns of the time series. Valid until close().
  [[nodiscard]] std::span<const Column> outputs() const;
  /// Values of the outputs at time(), valid until the next call.
  [[nodiscard]] std::span<const double> values();
  /// Value of one output. @throws Error{invalid_input} for an unknown name
  [[nodiscard]] double get(std::string_view name);

  /// The full state as bytes: a run after save() and a run after restore() have the same bits.
  [[nodiscard]] std::string save();
  /// @throws Error{invalid_input} for bytes of another scenario or other bytes; the state is then unchanged
  void restore(std::string_view bytes);

  void close();
  [[nodiscard]] bool is_open() const noexcept;

 private:
  struct Content;
  explicit Simulation(std::unique_ptr<Content> content);
  std::unique_ptr<Content> content_;
};

}  // namespace hs
