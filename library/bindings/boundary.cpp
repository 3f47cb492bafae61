#include "library/bindings/boundary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <limits>
#include <type_traits>

#include "common/errors/error.hpp"
#include "library/composition/embedded.hpp"
#include "rpc/remote_contact.hpp"
#include "scenario/schema/document.hpp"

namespace heelstrike::bindings {

static_assert(public_code(ErrorCode::cancelled) == hs::ErrorCode::cancelled);
static_assert(public_code(ErrorCode::internal) == hs::ErrorCode::internal);

hs::Error public_error(const Error& error, const std::string& file) {
  const auto* issue = dynamic_cast<const config::Issue*>(&error);
  return {public_code(error.code()), error.what(), file, issue != nullptr ? issue->line() : 0, error.field(),
          error.retryable()};
}

void CallGuard::enter(const char* call) {
  const auto reject = [&](const char* reason) {
    throw hs::Error(hs::ErrorCode::out_of_order, fmt::format("{}: {}() {}", what_, call, reason), {}, 0, call);
  };
  if (::getpid() != process_) {
    reject("was called in a child process; an object opened before a fork belongs to the parent: open it in the child");
  }
  if (busy_.exchange(true, std::memory_order_acquire)) {
    reject("was called while another thread is in a call of the same object; open one object for each thread");
  }
  if (!open_) {
    busy_.store(false, std::memory_order_release);
    reject("was called after close(); open it again");
  }
}

bool CallGuard::close() {
  if (::getpid() != process_) return false;
  if (!open_) return true;
  const Admission admission(*this, "close");
  open_ = false;
  return true;
}

namespace {

using RowMajor3 = Eigen::Matrix<double, 3, 3, Eigen::RowMajor>;
using RowMajor6 = Eigen::Matrix<double, 6, 6, Eigen::RowMajor>;

template <typename Numbers>
void require_finite(const Numbers& numbers, const char* name, const char* unit) {
  const auto bad = std::ranges::find_if_not(numbers, [](double x) { return std::isfinite(x); });
  if (bad == numbers.end()) return;
  throw input_error(name, fmt::format("{}: expected finite numbers [{}], found {} at position {}", name, unit, *bad,
                                      bad - numbers.begin()));
}

/// The tolerance is that of the wire for quaternions: a norm that is off by e makes the rotation orthonormal to 2 e.
/// Rounded matrices are far better; degrees in place of radians, a matrix squared in single precision or a scaled
/// matrix are far worse.
void require_rotation(const Matrix3& R) {
  constexpr double tolerance = 2.0 * quaternion_norm_tolerance;
  const double deviation = (R.transpose() * R - Matrix3::Identity()).cwiseAbs().maxCoeff();
  if (deviation > tolerance) {
    throw input_error("X_AB", fmt::format("X_AB: expected a rotation (orthonormal to {:g}), found one whose R^T R "
                                          "differs from the identity by {:g}; normalise it before the call",
                                          tolerance, deviation));
  }
  if (R.determinant() < 0.0) {
    throw input_error("X_AB",
                      "X_AB: expected a rotation (determinant 1), found a reflection (determinant -1); the "
                      "axes of a frame are right-handed");
  }
}

}  // namespace

PairState inside(const hs::State& state) {
  if (!std::isfinite(state.t)) throw input_error("t", fmt::format("t: expected a finite time [s], found {}", state.t));
  require_finite(state.R_AB, "X_AB", "-");
  require_finite(state.p_AB, "X_AB", "m");
  require_finite(state.V_AB, "V_AB", "rad/s, m/s");
  PairState made{.t = state.t, .X_AB = {}, .V_AB = {}};
  made.X_AB.R = Eigen::Map<const RowMajor3>(state.R_AB.data());
  made.X_AB.p = Eigen::Map<const Vector3>(state.p_AB.data());
  made.V_AB.w = Eigen::Map<const Vector3>(state.V_AB.data());
  made.V_AB.v = Eigen::Map<const Vector3>(state.V_AB.data() + 3);
  require_rotation(made.X_AB.R);
  return made;
}

namespace {

hs::RegionLoad outside(const RegionLoad& from) {
  constexpr double none = std::numeric_limits<double>::quiet_NaN();
  hs::RegionLoad to{.force = from.force,
                    .area = from.area,
                    .mean_pressure = from.mean_pressure(),
                    .peak_pressure = from.peak_pressure,
                    .p_ACop = {none, none, none}};
  if (from.force > 0.0) Eigen::Map<Vector3>(to.p_ACop.data()) = from.p_ACop;
  return to;
}

}  // namespace

void take(const Response& from, hs::Response& to) {
  Eigen::Map<Vector6>(to.F_A.data()) = from.F_A.vector();
  Eigen::Map<RowMajor6>(to.dF_A_dX.data()) = from.dF_A_dX;
  Eigen::Map<RowMajor6>(to.dF_A_dV.data()) = from.dF_A_dV;
  hs::for_each_response_member<Response, hs::Response>([&](const hs::ResponseMember&, auto inner, auto outer) {
    if constexpr (std::is_same_v<decltype(inner), Vector3 Response::*>) {
      Eigen::Map<Vector3>((to.*outer).data()) = from.*inner;
    } else {
      to.*outer = std::invoke(inner, from);
    }
  });
  to.regions.clear();
  for (const RegionLoad& region : from.regions) to.regions.push_back(outside(region));
}

Overrides inside(const hs::Changes& changes) {
  return {.backend = changes.backend,
          .assignments = changes.set,
          .backend_last = changes.backend_last,
          .text = changes.text,
          .files = changes.files};
}

rpc::ClientTls inside(const hs::Tls& tls) {
  return {.ca_file = tls.ca_file,
          .certificate_file = tls.certificate_file,
          .key_file = tls.key_file,
          .authority = tls.authority};
}

ContactFactory contact_source(const hs::OpenOptions& options) {
  if (options.server.empty()) return embedded_contact();
  constexpr double longest = 86400.0;  // one day, as on the command line
  if (!(options.reconnect_timeout >= 0.0 && options.reconnect_timeout <= longest)) {
    throw input_error("reconnect_timeout", fmt::format("reconnect_timeout: expected 0 to {:g} s, found {} s", longest,
                                                       options.reconnect_timeout));
  }
  rpc::RemoteContactOptions remote;
  remote.endpoint = {.address = options.server, .tls = inside(options.tls)};
  remote.reconnect_timeout = std::chrono::milliseconds(std::lround(1000.0 * options.reconnect_timeout));
  return rpc::open_remote_contact(remote);
}

OpenContext open_context(const hs::OpenOptions& options) {
  OpenContext context{.run_id = "library", .on_progress = {}, .stop = options.stop};
  if (options.on_progress) {
    context.on_progress = [report = options.on_progress](std::string_view stage, double fraction) {
      report({.stage = std::string(stage), .fraction = fraction});
    };
  }
  return context;
}

}  // namespace heelstrike::bindings

namespace hs {

const char* to_string(ErrorCode code) noexcept {
  constexpr const char* names[] = {"invalid input", "out of order",      "not found", "limit reached",
                                   "unavailable",   "deadline exceeded", "cancelled", "version mismatch",
                                   "recoverable",   "solver failed",     "file",      "not implemented",
                                   "internal"};
  return names[static_cast<int>(code)];
}

Error::Error(ErrorCode code, const std::string& message, std::string file, int line, std::string key, bool retryable)
    : std::runtime_error(message),
      code_(code),
      file_(std::move(file)),
      line_(line),
      key_(std::move(key)),
      retryable_(retryable) {}
Error::~Error() = default;

}  // namespace hs
