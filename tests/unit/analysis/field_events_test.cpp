// Fields at the events of a contact: onset, peak, end.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "common/errors/error.hpp"
#include "fem_server/sessions/local_contact.hpp"
#include "tests/support/forwarding_contact.hpp"
#include "tests/support/local_run.hpp"

namespace heelstrike::test {
namespace {

using ::testing::HasSubstr;

/// Written fields: one entry per frame of a main body.
struct Drawn {
  double t = 0.0;
  double depth = 0.0;  ///< [m] of a ball of 0.1 m in the plane
};

class DrawnContact final : public ForwardingContact {
 public:
  DrawnContact(std::unique_ptr<Contact> real, std::vector<Drawn>& drawn)
      : ForwardingContact(std::move(real)), drawn_(drawn) {}
  [[nodiscard]] std::string fields(std::size_t, const PairState& state, const FieldRequest& request) override {
    if (request.part == FieldPart::main) drawn_.push_back({state.t, 0.1 - state.X_AB.p.norm()});
    return "picture";
  }

 private:
  std::vector<Drawn>& drawn_;
};

/// Writes nothing from the n-th frame on.
class LosingContact final : public ForwardingContact {
 public:
  LosingContact(std::unique_ptr<Contact> real, ErrorCode code, int n)
      : ForwardingContact(std::move(real)), code_(code), n_(n) {}
  [[nodiscard]] std::string fields(std::size_t, const PairState&, const FieldRequest&) override {
    if (n_-- > 0) return "picture";
    throw Error(code_, "the partner stands still");
  }

 private:
  ErrorCode code_;
  int n_;
};

RecordedRun bounce(const std::vector<std::string>& settings, std::vector<Drawn>& drawn,
                   std::optional<Checkpoint> resume_from = {}) {
  const std::string text = read_text(HEELSTRIKE_SOURCE_DIR "/examples/bouncing_ball.yaml");
  return run_with(
      scenario_from(text, settings),
      [&](auto pairs, auto assets, const auto& context) {
        return std::make_unique<DrawnContact>(fem::open_local_contact(pairs, assets, context), drawn);
      },
      std::move(resume_from));
}

// Elastic, so that force and indentation have their peaks at the same time.
const std::vector<std::string> two_bounces = {"analysis.end_time=1.4", "contact.restitution=1",
                                              "output.fields={at: contact}"};

TEST(FieldEvents, FieldsAreWrittenAtOnsetPeakAndEndOfEveryContact) {
  std::vector<Drawn> drawn;
  const RecordedRun run = bounce(two_bounces, drawn);
  ASSERT_EQ(run.summary.status, "completed") << run.summary.error->what();
  ASSERT_EQ(run.summary.contacts.size(), 2U);
  ASSERT_EQ(drawn.size(), 6U);
  for (std::size_t i = 0; i < 2; ++i) {
    const ContactEpisode& contact = run.summary.contacts[i];
    EXPECT_EQ(drawn[3 * i].t, contact.onset);
    EXPECT_EQ(drawn[3 * i + 2].t, *contact.end);
    // The peak is that of the steps; a contact has about fifty of them, so that the largest is within a thousandth of
    // the maximum: 1 - cos(pi / 100) = 5e-4.
    EXPECT_NEAR(drawn[3 * i + 1].depth, contact.max_indentation, 2e-3 * contact.max_indentation);
    EXPECT_GT(drawn[3 * i + 1].t, contact.onset);
    EXPECT_LT(drawn[3 * i + 1].t, *contact.end);
  }
}

TEST(FieldEvents, FieldsAreAlsoWrittenOnTheGridOnRequest) {
  std::vector<Drawn> drawn;
  const RecordedRun run =
      bounce({"analysis.end_time=1.4", "contact.restitution=1", "output.fields={at: contact, interval: 0.3}"}, drawn);
  ASSERT_EQ(run.summary.status, "completed") << run.summary.error->what();
  EXPECT_EQ(drawn.size(), 6U + 5U) << "at 0, 0.3, 0.6, 0.9 and 1.2 s";
}

// Requirement: a resumed run writes the fields of the uninterrupted one.
TEST(FieldEvents, ResumedRunWritesTheRemainingFields) {
  const std::vector<std::string> settings = {"analysis.end_time=0.45", "contact.restitution=1",
                                             "output.fields={at: contact}", "output.checkpoint_interval=2.0e-4"};
  std::vector<Drawn> whole;
  const RecordedRun run = bounce(settings, whole);
  // Of the checkpoints within the first contact, one before its peak and one after it.
  for (const double after : {0.3, 0.7}) {
    const ContactEpisode& contact = run.summary.contacts[0];
    const double t = contact.onset + after * (*contact.end - contact.onset);
    const auto checkpoint = std::ranges::find_if(run.checkpoints, [&](const Checkpoint& c) { return c.time >= t; });
    ASSERT_NE(checkpoint, run.checkpoints.end());
    std::vector<Drawn> rest;
    (void)bounce(settings, rest, *checkpoint);
    const auto first = std::ranges::find_if(whole, [&](const Drawn& d) { return d.t >= checkpoint->time; });
    ASSERT_EQ(rest.size(), static_cast<std::size_t>(whole.end() - first)) << after;
    for (std::size_t i = 0; i < rest.size(); ++i) EXPECT_EQ(rest[i].t, (first + static_cast<std::ptrdiff_t>(i))->t);
  }
}

TEST(FieldEvents, PrescribedMotionAndMissingTimesAreRejected) {
  const std::string text = read_text(HEELSTRIKE_SOURCE_DIR "/examples/bouncing_ball.yaml");
  const auto rejection_error = [&](const std::vector<std::string>& settings) {
    try {
      (void)scenario_from(text, settings);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  EXPECT_THAT(rejection_error({"output.fields={at: contact}", "analysis.type=kinematic"}), HasSubstr("forward"));
  EXPECT_THAT(rejection_error({"output.fields={mesh: surface}"}), HasSubstr("interval"));
}

// A hanging partner must not lose fields silently: the run reports that it is incomplete, and resumes before the loss.
TEST(FieldEvents, MissingFieldsMakeTheRunIncomplete) {
  const std::string text = read_text(HEELSTRIKE_SOURCE_DIR "/examples/bouncing_ball.yaml");
  const std::vector<std::string> settings = {"analysis.end_time=0.5", "output.fields={interval: 0.05}",
                                             "output.checkpoint_interval=0.1"};
  const auto run_losing = [&](ErrorCode code) {
    return run_with(scenario_from(text, settings), [&](auto pairs, auto assets, const auto& context) {
      return std::make_unique<LosingContact>(fem::open_local_contact(pairs, assets, context), code, 5);
    });
  };
  for (const ErrorCode code : {ErrorCode::deadline, ErrorCode::unavailable, ErrorCode::internal, ErrorCode::limit}) {
    const RecordedRun run = run_losing(code);
    EXPECT_EQ(run.summary.status, "incomplete") << to_string(code);
    ASSERT_TRUE(run.summary.error.has_value());
    EXPECT_THAT(run.summary.error->what(), HasSubstr("the fields of pair 'ball-ground' are missing from t = "));
    EXPECT_EQ(run.summary.error->field(), "output.fields");
    ASSERT_FALSE(run.checkpoints.empty());
    EXPECT_LT(run.checkpoints.back().time, 0.25);
  }
  EXPECT_EQ(run_losing(ErrorCode::unimplemented).summary.status, "completed") << "a back-end without pictures";
  EXPECT_EQ(run_losing(ErrorCode::recoverable).summary.status, "completed") << "one frame, reported by a warning";
}

}  // namespace
}  // namespace heelstrike::test
