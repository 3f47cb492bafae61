/// Checks common to both conformance suites, of the point laws and of the finite elements.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "common/contact/gap_bound.hpp"
#include "common/errors/error.hpp"
#include "fem_server/backend_interface/backend.hpp"
#include "tests/unit/backends/bits.hpp"

namespace heelstrike::fem::testing_support {

/// Pose after the small motion `x` = (rotation of B about its origin, translation), both expressed in A.
inline PairState moved(PairState state, const Vector6& x) {
  state.X_AB.R = rotation_from_vector(x.head<3>()) * state.X_AB.R;
  state.X_AB.p += x.tail<3>();
  return state;
}

inline PairState with_twist(PairState state, const Vector6& v) {
  state.V_AB.w += v.head<3>();
  state.V_AB.v += v.tail<3>();
  return state;
}

/// Central differences of sixth order.
template <typename Wrench>
Matrix6 differences(const Wrench& wrench_at, double h) {
  Matrix6 result;
  for (int i = 0; i < 6; ++i) {
    const auto difference = [&](double k) {
      Vector6 x = Vector6::Zero();
      x[i] = k * h;
      return Vector6(wrench_at(x) - wrench_at(-x));
    };
    result.col(i) = (45.0 * difference(1) - 9.0 * difference(2) + difference(3)) / (60.0 * h);
  }
  return result;
}

inline double relative_error(const Matrix6& a, const Matrix6& b) {
  const double scale = b.cwiseAbs().maxCoeff();
  return (a - b).cwiseAbs().maxCoeff() / (scale > 0.0 ? scale : 1.0);
}

/// Histories and the states to evaluate with them.
using Evaluations = std::vector<std::pair<const History*, PairState>>;

inline std::vector<std::vector<std::uint64_t>> bits_of_responses(const ContactBackend& backend,
                                                                 const Evaluations& list) {
  std::vector<std::vector<std::uint64_t>> bits;
  for (const auto& [history, state] : list) bits.push_back(bits_of(backend.evaluate(*history, state)));
  return bits;
}

/// Responses do not depend on their order, nor on a commit elsewhere; the history is unchanged.
inline void expect_pure(const ContactBackend& backend, const Evaluations& list, const History& committed,
                        const PairState& elsewhere) {
  const auto first = bits_of_responses(backend, list);
  const std::string saved = committed.save();
  (void)backend.commit(committed, elsewhere);
  for (std::size_t i = list.size(); i-- > 0;) {
    EXPECT_EQ(bits_of(backend.evaluate(*list[i].first, list[i].second)), first[i]) << "state " << i;
  }
  EXPECT_EQ(committed.save(), saved);
}

/// `n_threads` threads make `n_rounds` evaluations each and obtain the bits of one.
inline void expect_same_bits_from_threads(const ContactBackend& backend, const Evaluations& list, std::size_t n_threads,
                                          std::size_t n_rounds) {
  const auto expected = bits_of_responses(backend, list);
  std::vector<int> wrong(n_threads, 0);
  {
    std::vector<std::jthread> threads;
    for (std::size_t k = 0; k < n_threads; ++k) {
      threads.emplace_back([&, k] {
        for (std::size_t i = 0; i < n_rounds; ++i) {
          const std::size_t j = (i + k) % list.size();
          if (bits_of(backend.evaluate(*list[j].first, list[j].second)) != expected[j]) ++wrong[k];
        }
      });
    }
  }
  EXPECT_EQ(wrong, std::vector<int>(n_threads, 0));
}

/// A saved and restored history continues with equal bits; damaged bytes are rejected.
/// @param stride  of the lengths to which the bytes are truncated
inline void expect_saved_history_continues(const ContactBackend& backend, const Evaluations& list,
                                           const History& committed, std::size_t stride) {
  const std::string saved = committed.save();
  const auto again = backend.load_history(saved);
  for (const auto& [history, state] : list) {
    EXPECT_EQ(bits_of(backend.evaluate(*again, state)), bits_of(backend.evaluate(committed, state)));
    EXPECT_EQ(backend.commit(*again, state).history->save(), backend.commit(committed, state).history->save());
  }
  const auto fresh = backend.initial_history();
  EXPECT_EQ(backend.load_history(fresh->save())->save(), fresh->save());
  for (std::size_t n = 0; n < saved.size(); n += stride) {
    EXPECT_THROW((void)backend.load_history(std::string_view(saved).substr(0, n)), Error) << n << " bytes";
  }
  EXPECT_THROW((void)backend.load_history(saved + "x"), Error);
  EXPECT_THROW((void)backend.load_history("not a history at all, but long enough to be one"), Error);
}

/// Corrupted bytes of a history are rejected as invalid input: a non-finite number, count or flag at any position, and
/// a committed pose that is not a rotation.
/// @param X_AB  of the commit
inline void expect_altered_history_is_rejected(const ContactBackend& backend, const History& committed,
                                               const Pose& X_AB) {
  const std::string saved = committed.save();
  const auto expect_rejected = [&](const std::string& altered, std::size_t at) {
    try {
      (void)backend.load_history(altered);
      ADD_FAILURE() << "altered at byte " << at << " of " << saved.size() << ": accepted";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_input) << "altered at byte " << at << ": " << error.what();
      EXPECT_EQ(error.field(), "state") << "altered at byte " << at;
    }
  };
  // Format and back-end come first, as texts with their length; all after them are numbers of eight bytes.
  std::size_t begin = 0;
  for (int text = 0; text < 2; ++text) begin += 8 + static_cast<unsigned char>(saved[begin]);
  ASSERT_EQ((saved.size() - begin) % 8, 0U);
  const std::size_t n = (saved.size() - begin) / 8;
  constexpr std::size_t all_of = 64;  // of a large body the numbers in between are displacements and forces
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (std::size_t i = 0; i < n; i += i < all_of || i + all_of >= n ? 1 : 37) {
    std::string altered = saved;
    std::memcpy(altered.data() + begin + 8 * i, &nan, 8);
    expect_rejected(altered, begin + 8 * i);
  }
  const std::string rotation(reinterpret_cast<const char*>(X_AB.R.data()), 9 * sizeof(double));
  const std::size_t at = saved.find(rotation);
  if (at == std::string::npos) return;  // no pose-dependent data is stored
  const Matrix3 stretched = 1.001 * X_AB.R;
  const Matrix3 mirrored = -X_AB.R;
  for (const Matrix3& wrong : {stretched, mirrored}) {
    std::string altered = saved;
    std::memcpy(altered.data() + at, wrong.data(), 9 * sizeof(double));
    expect_rejected(altered, at);
  }
}

/// Responses of prescribed motion equal those of single commits, tangents excepted.
/// @param accuracy  of the solution, relative: sums may run in another order
inline void expect_prescribed_motion_consistent(const ContactBackend& backend, const Evaluations& list,
                                                double accuracy) {
  for (const auto& [history, state] : list) {
    const Response one = backend.evaluate(*history, state);
    const Committed committed = backend.commit(*history, state);
    const Committed given = backend.commit(*history, state, prescribed_motion);
    const auto expect_alike = [&](const Response& a, const Response& b) {
      EXPECT_LE((a.F_A.vector() - b.F_A.vector()).norm(), accuracy * a.F_A.vector().norm());
      EXPECT_LE((a.p_ACop - b.p_ACop).norm(), accuracy * a.p_ACop.norm());
      EXPECT_EQ(a.gap, b.gap);
      EXPECT_EQ(a.gap_rate, b.gap_rate);
      EXPECT_EQ(a.statistics.active_points, b.statistics.active_points);
      for (const auto& [x, y] : {std::pair{a.area, b.area},
                                 {a.peak_pressure, b.peak_pressure},
                                 {a.normal_force, b.normal_force},
                                 {a.stored_energy, b.stored_energy},
                                 {a.dissipated_power, b.dissipated_power}}) {
        EXPECT_NEAR(x, y, accuracy * std::abs(x));
      }
      // The dissipation of friction may be almost zero, as a difference of energies.
      EXPECT_NEAR(a.dissipated_increment, b.dissipated_increment,
                  accuracy * std::max(a.stored_energy, std::abs(a.dissipated_increment)));
    };
    expect_alike(one, backend.evaluate(*history, state, prescribed_motion));
    expect_alike(committed.response, given.response);
    // Both histories continue alike, also over a second commit.
    const Committed second = backend.commit(*committed.history, list.front().second);
    const Committed second_prescribed = backend.commit(*given.history, list.front().second, prescribed_motion);
    expect_alike(second.response, second_prescribed.response);
    for (const auto& [unused, next] : list) {
      expect_alike(backend.evaluate(*second.history, next), backend.evaluate(*second_prescribed.history, next));
    }
  }
}

/// States of one batch have the responses of single evaluations, bit for bit; a rejected state does not affect the
/// others.
/// @param rejected  a state that the back-end rejects; null = none
inline void expect_batch_consistent(const ContactBackend& backend, const Evaluations& list, const PairState* rejected) {
  const BatchEvaluation* batches = backend.batches();
  if (batches == nullptr) return;
  const History& history = *list.front().first;
  std::vector<PairState> states;
  for (const auto& [unused, state] : list) states.push_back(state);
  if (rejected != nullptr) states.insert(states.begin() + 1, *rejected);
  const std::vector<BatchEntry> together = batches->evaluate_all(history, states);
  ASSERT_EQ(together.size(), states.size());
  for (std::size_t i = 0; i < states.size(); ++i) {
    if (rejected != nullptr && i == 1) {
      ASSERT_NE(together[i].error, nullptr);
      EXPECT_EQ(together[i].error->code(), ErrorCode::recoverable);
      continue;
    }
    ASSERT_EQ(together[i].error, nullptr) << together[i].error->what();
    EXPECT_EQ(bits_of(together[i].response), bits_of(backend.evaluate(history, states[i], prescribed_motion)))
        << "state " << i;
  }
  EXPECT_TRUE(batches->evaluate_all(history, {}).empty());
}

/// Beyond the gap there is no force, no stiffness, no contact.
/// How often the gap lay outside the bound of an earlier response, after random motions of all magnitudes.
/// @param length   [m] of the largest motion
/// @param stretch  factor on the motion allowed by the bound
/// @param apart    evaluates only where the bound excludes contact: there every back-end is fast
inline int gaps_outside_of_bounds(const ContactBackend& backend, const History& history, const PairState& separated,
                                  double length, double stretch, bool apart = false) {
  const Response r = backend.evaluate(history, separated);
  if (!r.bound.known) return 0;
  std::mt19937 random(42);
  std::uniform_real_distribution<double> uniform(-1.0, 1.0);
  int outside = 0;
  for (int i = 0; i < 400; ++i) {
    Vector6 x;
    for (double& entry : x) entry = uniform(random);
    x.head<3>() *= std::pow(10.0, -3.0 + 3.0 * std::abs(uniform(random)));
    x.tail<3>() *= length * std::pow(10.0, -4.0 + 4.0 * std::abs(uniform(random)));
    const PairState there = moved(separated, x);
    const GapInterval range = gap_interval(r.bound, r.gap, separated.X_AB, there);
    const double lower = r.gap + (range.lower - r.gap) / stretch;
    if (apart && lower <= 0.0) continue;
    try {
      const double gap = backend.evaluate(history, there).gap;
      if (gap < lower || gap > r.gap + (range.upper - r.gap) / stretch) ++outside;
    } catch (const RecoverableError&) {
      // Excessive penetration: the bound must not have excluded contact.
      if (lower > 0.0) ++outside;
    }
  }
  return outside;
}

inline void expect_zero(const Response& r) {
  ASSERT_GT(r.gap, 0.0);
  EXPECT_EQ(r.F_A.vector(), Vector6::Zero());
  EXPECT_EQ(r.dF_A_dX, Matrix6::Zero());
  EXPECT_EQ(r.dF_A_dV, Matrix6::Zero());
  EXPECT_EQ(r.stored_energy, 0.0);
  EXPECT_EQ(r.dissipated_power, 0.0);
  EXPECT_EQ(r.area, 0.0);
  EXPECT_EQ(r.peak_pressure, 0.0);
  EXPECT_EQ(r.normal_force, 0.0);
  EXPECT_EQ(r.mean_pressure(), 0.0);
  EXPECT_EQ(r.statistics.active_points, 0);
  for (const RegionLoad& region : r.regions) EXPECT_EQ(region, RegionLoad{});
}

}  // namespace heelstrike::fem::testing_support
