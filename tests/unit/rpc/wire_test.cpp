// Data crosses the wire with the same bits, and invalid data is rejected with its field.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <type_traits>

#include "common/errors/error.hpp"
#include "rpc/wire/contact_wire.hpp"
#include "rpc/wire/pair_spec_wire.hpp"
#include "rpc/wire/run_records_wire.hpp"
#include "rpc/wire/spatial_wire.hpp"
#include "scenario/surfaces/block.hpp"
#include "scenario/surfaces/cylinder.hpp"
#include "scenario/surfaces/foot.hpp"
#include "scenario/surfaces/mesh.hpp"
#include "scenario/surfaces/plane.hpp"
#include "scenario/surfaces/points.hpp"
#include "scenario/surfaces/sphere.hpp"

namespace heelstrike::wire {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

/// Through bytes, as on the wire.
template <typename Message>
Message sent(const Message& message) {
  Message received;
  EXPECT_TRUE(received.ParseFromString(message.SerializeAsString()));
  return received;
}

template <typename Derived, typename Other>
bool is_bitwise_equal(const Eigen::MatrixBase<Derived>& a, const Eigen::MatrixBase<Other>& b) {
  for (Eigen::Index i = 0; i < a.rows(); ++i) {
    for (Eigen::Index j = 0; j < a.cols(); ++j) {
      if (std::bit_cast<std::uint64_t>(a(i, j)) != std::bit_cast<std::uint64_t>(b(i, j))) return false;
    }
  }
  return true;
}

std::string rejected_field(const std::function<void()>& conversion) {
  try {
    conversion();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_input) << error.what();
    EXPECT_NE(std::string(error.what()).find(error.field()), std::string::npos) << error.what();
    return error.field();
  }
  return "(accepted)";
}

PairState random_state(unsigned seed) {
  std::mt19937_64 engine(seed);
  std::uniform_real_distribution<double> number(-3.0, 3.0);
  const auto vector = [&] { return Vector3(number(engine), number(engine), number(engine)); };
  PairState state;
  state.t = number(engine);
  state.X_AB = {.R = rotation_from_vector(vector()), .p = vector()};
  state.V_AB = {.w = vector(), .v = vector()};
  return state;
}

TEST(Wire, StateIsReceivedAsItsCanonicalPose) {
  for (unsigned seed = 1; seed <= 200; ++seed) {
    const PairState state = random_state(seed);
    v1::PairState message;
    to_proto(state, message);
    PairState back;
    from_proto(sent(message), back, FieldPath("state"));
    const Pose canonical = canonical_pose(state.X_AB);
    EXPECT_EQ(back.t, state.t);
    EXPECT_TRUE(is_bitwise_equal(back.X_AB.R, canonical.R)) << "seed " << seed << '\n'
                                                            << back.X_AB.R << "\n\n"
                                                            << canonical.R;
    EXPECT_TRUE(is_bitwise_equal(back.X_AB.p, state.X_AB.p));
    EXPECT_TRUE(is_bitwise_equal(back.V_AB.w, state.V_AB.w));
    EXPECT_TRUE(is_bitwise_equal(back.V_AB.v, state.V_AB.v));
  }
}

TEST(Wire, ResponseIsReceivedBitForBit) {
  Response response;
  for (int i = 0; i < 36; ++i) {
    response.dF_A_dX(i / 6, i % 6) = 1.0 / (i + 3);
    response.dF_A_dV(i / 6, i % 6) = -1e-300 * (i + 1);
  }
  response.F_A = {.torque = {1e-17, -0.0, 3.1}, .force = {5e-324, 1e300, -2.0 / 3.0}};
  double next = -1e-5;
  for_each_stored_member([&](const hs::ResponseMember&, auto member) {
    if constexpr (std::is_same_v<decltype(member), double Response::*>) {
      response.*member = next *= -7.0 / 3.0;
    } else {
      for (double& x : response.*member) x = next *= -7.0 / 3.0;
    }
  });
  response.statistics = {.iterations = 7, .active_points = 42, .residual = 1e-12};
  response.regions = {{.force = 1.0 / 3.0, .area = 2e-5, .peak_pressure = 1e6 / 7.0, .p_ACop = {0.1, -0.0, 1.0 / 9.0}},
                      {}};
  v1::PairResponse message;
  to_proto(response, *message.mutable_result());
  EXPECT_FALSE(message.result().regions(1).has_p_acop());
  Response back;
  back.regions.resize(5);
  from_proto(sent(message), back, FieldPath("reply"));
  ASSERT_EQ(back.regions.size(), 2U);
  EXPECT_EQ(back.regions, response.regions);
  EXPECT_TRUE(is_bitwise_equal(back.regions[0].p_ACop, response.regions[0].p_ACop));
  EXPECT_TRUE(is_bitwise_equal(back.F_A.vector(), response.F_A.vector())) << back.F_A.vector().transpose();
  EXPECT_TRUE(is_bitwise_equal(back.dF_A_dX, response.dF_A_dX)) << back.dF_A_dX;
  EXPECT_TRUE(is_bitwise_equal(back.dF_A_dV, response.dF_A_dV)) << back.dF_A_dV;
  for_each_stored_member(
      [&](const hs::ResponseMember& row, auto member) { EXPECT_EQ(back.*member, response.*member) << row.name; });
  EXPECT_EQ(back.statistics.iterations, 7);
  EXPECT_EQ(back.statistics.active_points, 42);
  EXPECT_EQ(back.statistics.residual, 1e-12);
}

TEST(Wire, ErrorOfAPairIsRethrownTyped) {
  v1::PairResponse message;
  message.mutable_error()->set_code(v1::Error::CODE_RECOVERABLE);
  Response response;
  EXPECT_THROW(from_proto(message, response, FieldPath("reply")), RecoverableError);
  message.mutable_error()->set_code(v1::Error::CODE_OUT_OF_ORDER);
  try {
    from_proto(message, response, FieldPath("reply"));
    FAIL() << "no error";
  } catch (const RecoverableError&) {
    FAIL() << "recoverable";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::out_of_order);
  }
  EXPECT_EQ(rejected_field([&] { from_proto(v1::PairResponse{}, response, FieldPath("reply")); }), "reply.outcome");
}

TEST(Wire, InvalidStatesAreRejectedWithTheirField) {
  v1::PairState good;
  to_proto(random_state(1), good);
  const auto field_after = [&](const std::function<void(v1::PairState&)>& change) {
    v1::PairState message = good;
    change(message);
    return rejected_field([&] {
      PairState state;
      from_proto(message, state, FieldPath("state"));
    });
  };
  EXPECT_EQ(field_after([](auto&) {}), "(accepted)");
  EXPECT_EQ(field_after([](auto& m) { m.set_time(nan); }), "state.time");
  EXPECT_EQ(field_after([](auto& m) { m.clear_x_ab(); }), "state.X_AB");
  EXPECT_EQ(field_after([](auto& m) { m.clear_v_ab(); }), "state.V_AB");
  EXPECT_EQ(field_after([](auto& m) { m.mutable_x_ab()->clear_rotation(); }), "state.X_AB.rotation");
  EXPECT_EQ(field_after([](auto& m) { m.mutable_x_ab()->clear_position(); }), "state.X_AB.position");
  EXPECT_EQ(field_after([](auto& m) { m.mutable_x_ab()->mutable_rotation()->set_w(2.0); }), "state.X_AB.rotation");
  EXPECT_EQ(field_after([](auto& m) { m.mutable_x_ab()->mutable_rotation()->set_y(nan); }), "state.X_AB.rotation");
  EXPECT_EQ(field_after([](auto& m) { m.mutable_x_ab()->mutable_position()->set_z(infinity); }),
            "state.X_AB.position.z");
  EXPECT_EQ(field_after([](auto& m) { m.mutable_v_ab()->clear_linear(); }), "state.V_AB.linear");
  EXPECT_EQ(field_after([](auto& m) { m.mutable_v_ab()->mutable_angular()->set_x(-infinity); }),
            "state.V_AB.angular.x");
}

TEST(Wire, InvalidResultsAreRejectedWithTheirField) {
  v1::ContactResult good;
  Response response;
  response.dF_A_dX.setIdentity();  // tangents of zeros are omitted
  response.dF_A_dV.setIdentity();
  to_proto(response, good);
  const auto field_after = [&](const std::function<void(v1::ContactResult&)>& change) {
    v1::ContactResult message = good;
    change(message);
    return rejected_field([&] {
      Response received;
      from_proto(message, received, FieldPath("result"));
    });
  };
  EXPECT_EQ(field_after([](auto&) {}), "(accepted)");
  EXPECT_EQ(field_after([](auto& m) { m.mutable_df_a_dx()->add_row_major(0.0); }), "result.dF_A_dX.row_major");
  EXPECT_EQ(field_after([](auto& m) { m.mutable_df_a_dv()->set_row_major(7, nan); }), "result.dF_A_dV.row_major[7]");
  EXPECT_EQ(field_after([](auto& m) { m.clear_f_a(); }), "result.F_A");
  EXPECT_EQ(field_after([](auto& m) { m.clear_p_acop(); }), "result.p_ACop");
  EXPECT_EQ(field_after([](auto& m) { m.set_peak_pressure(infinity); }), "result.peak_pressure");
  EXPECT_EQ(field_after([](auto& m) { m.set_normal_force(infinity); }), "result.normal_force");
}

PairSpec every_surface(int i) {
  PairSpec spec;
  spec.name = "a-b";
  spec.backend = "flores";
  spec.parameters = {{"flag", true}, {"list", std::vector<double>{1.0, -0.0}}, {"number", 1e-300}, {"text", "x"}};
  const Surface surfaces[] = {
      SphereSurface{.radius = -0.1, .center = {1, 2, 3}},
      PlaneSurface{.normal = Vector3(1, 2, 3).normalized(), .point = {4, 5, 6}},
      CylinderSurface{.radius = 0.2,
                      .axis = Vector3(1, 1, 0).normalized(),
                      .center = {1, 0, 0},
                      .length = 0.375,
                      .core_radius = 0.1,
                      .layers = {{.name = "bone", .height = 0.25}, {.name = "fat", .height = 0.125}}},
      MeshSurface{.sha256 = std::string(64, 'a'),
                  .asset_name = "m",
                  .format = "stl",
                  .length_scale = 1e-3,
                  .X_BodyMesh = {.R = Matrix3::Identity(), .p = {7, 8, 9}}},
      PointCloudSurface{.points = {{1, 2, 3}, {4, 5, 6}}, .areas = {0.5, 0.25}},
      BlockSurface{.lengths = {1, 2, 3}, .center = {4, 5, 6}},
      FootSurface{.dimensions = {.length = 0.25, .cut_height = 0.02}, .right = true, .ankle = {1, 2, 3}}};
  spec.main = {.name = "a",
               .surface = surfaces[i],
               .materials = {{.youngs_modulus = 1e9, .poissons_ratio = 0.3, .density = 0.0, .set = "bone"}}};
  spec.main.materials[0].law = {{"material_law", std::string("yeoh")}, {"yeoh_ratios", std::vector<double>{0.4, 0.1}}};
  spec.partner = {.name = "b", .surface = PlaneSurface{}, .materials = {}};
  return spec;
}

TEST(Wire, PairSpecificationsRoundTripTwiceWithTheSameBytes) {
  for (int i = 0; i < 7; ++i) {
    const PairSpec spec = every_surface(i);
    v1::PairSpec first;
    to_proto(spec, first);
    const PairSpec back = from_proto(sent(first), FieldPath("pair"));
    v1::PairSpec second;
    to_proto(back, second);
    // Every number of the specification is in the message, so equal messages mean equal specifications.
    EXPECT_EQ(first.DebugString(), second.DebugString());
    EXPECT_EQ(back.parameters, spec.parameters);
    EXPECT_EQ(back.main.surface, spec.main.surface);
    EXPECT_EQ(back.main.materials.at(0).law, spec.main.materials.at(0).law);
  }
}

TEST(Wire, InvalidPairSpecificationsAreRejectedWithTheirField) {
  const auto field_after = [](int surface, const std::function<void(v1::PairSpec&)>& change) {
    v1::PairSpec message;
    to_proto(every_surface(surface), message);
    change(message);
    return rejected_field([&] { (void)from_proto(message, FieldPath("pair")); });
  };
  const auto value_after = [&](int surface, const std::string& name, const ParameterValue& value) {
    return field_after(
        surface, [&](auto& m) { to_proto(value, (*m.mutable_main()->mutable_surface()->mutable_values())[name]); });
  };
  // Values invalid in a scenario file are invalid on the wire too.
  for (const double modulus : {1e308, 1e-308, 0.0, -1.0, 1e16}) {
    EXPECT_EQ(field_after(0, [&](auto& m) { m.mutable_main()->mutable_materials(0)->set_youngs_modulus(modulus); }),
              "pair.main.materials[0].youngs_modulus")
        << modulus;
  }
  for (const double density : {1e308, -1.0}) {
    EXPECT_EQ(field_after(0, [&](auto& m) { m.mutable_main()->mutable_materials(0)->set_density(density); }),
              "pair.main.materials[0].density")
        << density;
  }
  EXPECT_EQ(field_after(0, [](auto& m) { m.clear_partner(); }), "pair.partner");
  EXPECT_EQ(field_after(0, [](auto& m) { m.mutable_main()->clear_surface(); }), "pair.main.surface");
  EXPECT_EQ(field_after(0, [](auto& m) { m.mutable_main()->mutable_surface()->set_kind("sphera"); }),
            "pair.main.surface");
  EXPECT_EQ(field_after(0, [](auto& m) { m.mutable_main()->mutable_surface()->mutable_values()->erase("radius"); }),
            "pair.main.surface.sphere.radius");
  EXPECT_EQ(value_after(0, "radius", 0.0), "pair.main.surface.sphere.radius");
  EXPECT_EQ(value_after(0, "radius", std::string("1")), "pair.main.surface.sphere.radius");
  EXPECT_EQ(value_after(0, "concave", 1.0), "pair.main.surface.sphere.concave");
  EXPECT_EQ(value_after(0, "colour", 1.0), "pair.main.surface.sphere.colour");
  EXPECT_EQ(value_after(0, "center", std::vector<double>{1.0, 2.0}), "pair.main.surface.sphere.center");
  EXPECT_EQ(value_after(0, "center", std::vector<double>{1.0, 2.0, 1e9}), "pair.main.surface.sphere.center[2]");
  EXPECT_EQ(value_after(1, "normal", std::vector<double>{0.0, 0.0, 0.0}), "pair.main.surface.plane.normal");
  EXPECT_EQ(value_after(2, "length", 0.5), "pair.main.surface.cylinder.length") << "besides layers";
  EXPECT_EQ(value_after(2, "core_radius", 0.2), "pair.main.surface.cylinder.core_radius");
  EXPECT_EQ(value_after(2, "layers", std::string("bone")), "pair.main.surface.cylinder.layers.height");
  EXPECT_EQ(value_after(2, "layers.height", std::vector<double>{0.1, 0.0}),
            "pair.main.surface.cylinder.layers.height[1]");
  EXPECT_EQ(value_after(3, "length_scale", 0.0), "pair.main.surface.mesh.length_scale");
  EXPECT_EQ(value_after(3, "orientation", std::vector<double>{2.0, 0.0, 0.0, 0.0}),
            "pair.main.surface.mesh.orientation");
  EXPECT_EQ(value_after(4, "positions", std::vector<double>{1.0, 2.0}), "pair.main.surface.points.positions");
  EXPECT_EQ(value_after(4, "areas", std::vector<double>{1.0}), "pair.main.surface.points.areas");
  EXPECT_EQ(value_after(6, "side", std::string("both")), "pair.main.surface.foot.side");
  EXPECT_EQ(field_after(0, [](auto& m) { m.mutable_main()->mutable_materials(0)->set_poissons_ratio(0.5); }),
            "pair.main.materials[0].poissons_ratio");
  EXPECT_EQ(
      field_after(0, [](auto& m) { (*m.mutable_main()->mutable_materials(0)->mutable_law())["k"].set_number(nan); }),
      "pair.main.materials[0].law.k");
  EXPECT_EQ(field_after(0, [](auto& m) { (*m.mutable_parameters())["number"].set_number(nan); }),
            "pair.parameters.number");
  EXPECT_EQ(field_after(0, [](auto& m) { (*m.mutable_parameters())["number"].clear_value(); }),
            "pair.parameters.number");
}

TEST(Wire, DirectionsAreNormalisedOnReceipt) {
  v1::PairSpec message;
  to_proto(every_surface(1), message);
  to_proto(ParameterValue(std::vector<double>{0.0, 0.0, 5.0}),
           (*message.mutable_main()->mutable_surface()->mutable_values())["normal"]);
  const PairSpec spec = from_proto(message, FieldPath("pair"));
  EXPECT_EQ(PlaneSurface::of(spec.main.surface).value().normal, Vector3::UnitZ());
}

TEST(Wire, ParameterSchemaKeepsRangeDefaultAndChoices) {
  ParameterSchema schema;
  schema.name = "restitution";
  schema.unit = "-";
  schema.meaning = "of the velocities";
  schema.required = true;
  schema.fallback = 0.5;
  schema.range = {.min = 0.0, .max = 1.0, .min_excluded = true};
  schema.choices = {"a", "b"};
  v1::ParameterSchema message;
  to_proto(schema, message);
  const ParameterSchema back = from_proto(sent(message), FieldPath("schema"));
  EXPECT_EQ(back.name, schema.name);
  EXPECT_EQ(back.kind, schema.kind);
  EXPECT_EQ(back.meaning, schema.meaning);
  EXPECT_EQ(back.required, true);
  EXPECT_EQ(back.fallback, schema.fallback);
  EXPECT_EQ(back.range.text(), "in (0, 1]");
  EXPECT_EQ(back.choices, schema.choices);
  schema.range = {};
  to_proto(schema, message);
  EXPECT_EQ(from_proto(sent(message), FieldPath("schema")).range.text(), "any");
}

RunSummary summary() {
  RunSummary s;
  s.scenario = "bouncing_ball";
  s.backend = "flores";
  s.status = "failed";
  s.simulated_time = 2.0;
  s.wall_time = 0.1;
  s.integrator = {.name = "cvode_index1",
                  .steps = 1,
                  .rejected_steps = 2,
                  .rhs_evaluations = 3,
                  .jacobian_evaluations = 4,
                  .restarts = 5};
  s.contact_evaluations = 6;
  s.contact_commits = 7;
  s.coupling = {.scheme = "implicit", .exchanges = 11, .rejected_macro_steps = 12, .iterations = 13};
  s.rpc = RpcStatistics{.calls = 8, .p50_us = 60.0, .p99_us = 90.0, .round_trip_time = 0.05, .server_time = 0.03};
  s.energy = {.initial = 9.81, .final = nan, .dissipated = 1.0, .external_work = -0.0, .balance_error = 1e-9};
  s.contacts = {{.pair = "a-b",
                 .onset = 0.4,
                 .end = 0.41,
                 .max_force = 1e3,
                 .max_force_time = 0.405,
                 .max_indentation = 1e-4,
                 .max_indentation_time = 0.406,
                 .approach_velocity = 4.2,
                 .separation_velocity = 3.3,
                 .effective_restitution = 0.8,
                 .max_impulse = 0.25},
                {.pair = "c-d", .onset = 1.5, .end = {}, .separation_velocity = {}, .effective_restitution = {}}};
  s.error = Error(ErrorCode::solver_failed, "why", "field", false);
  s.max_position_violation = 1e-12;
  s.max_velocity_violation = 1e-10;
  s.wall_times = {.preparation = 0.01, .contact = 0.02, .transport = 0.03, .fields = 0.04};
  return s;
}

TEST(Wire, RunSummaryRoundTripsTwiceWithTheSameBytes) {
  v1::RunSummary first;
  to_proto(summary(), first);
  const RunSummary back = from_proto(sent(first), FieldPath("finished"));
  v1::RunSummary second;
  to_proto(back, second);
  EXPECT_EQ(first.SerializeAsString(), second.SerializeAsString()) << first.DebugString() << second.DebugString();
  ASSERT_EQ(back.contacts.size(), 2U);
  EXPECT_FALSE(back.contacts[1].end.has_value());
  EXPECT_EQ(back.contacts[0].effective_restitution, 0.8);
  EXPECT_EQ(back.contacts[0].max_impulse, 0.25);
  EXPECT_FALSE(back.contacts[1].max_impulse.has_value());
  ASSERT_TRUE(back.error.has_value());
  EXPECT_EQ(back.error->code(), ErrorCode::solver_failed);
  EXPECT_EQ(back.coupling, summary().coupling);
  EXPECT_EQ(back.rpc->calls, 8);
  EXPECT_EQ(back.rpc->server_time, 0.03);
  EXPECT_EQ(back.wall_times.preparation, 0.01);
  EXPECT_EQ(back.wall_times.contact, 0.02);
  EXPECT_EQ(back.wall_times.transport, 0.03);
  EXPECT_EQ(back.wall_times.fields, 0.04);
  RunSummary local = summary();
  local.rpc.reset();
  to_proto(local, first);
  EXPECT_FALSE(from_proto(sent(first), FieldPath("finished")).rpc.has_value());
}

TEST(Wire, CheckpointIsReceivedBitForBitAndOtherFormatsAreRejected) {
  const Checkpoint checkpoint{.scenario_digest = "d",
                              .step = 12,
                              .time = 0.3,
                              .state = {1.0 / 3.0, -0.0, 1e-310},
                              .contact_states = {std::string("\0\xff", 2), ""},
                              .engine = std::string("\0e", 2)};
  v1::Checkpoint message;
  to_proto(checkpoint, message);
  const Checkpoint back = from_proto(sent(message), FieldPath("checkpoint"));
  EXPECT_EQ(back.scenario_digest, "d");
  EXPECT_EQ(back.step, 12);
  EXPECT_EQ(back.time, 0.3);
  ASSERT_EQ(back.state.size(), 3U);
  EXPECT_TRUE(std::signbit(back.state[1]));
  EXPECT_EQ(back.state, checkpoint.state);
  EXPECT_EQ(back.contact_states, checkpoint.contact_states);
  EXPECT_EQ(back.engine, checkpoint.engine);
  message.set_format(checkpoint_format + 1);
  EXPECT_EQ(rejected_field([&] { (void)from_proto(message, FieldPath("checkpoint")); }), "checkpoint.format");
}

TEST(Wire, ColumnsAndProgressRoundTrip) {
  const Column columns[] = {{.name = "t_s", .unit = "s", .meaning = "time"},
                            {.name = "f_N", .unit = "N", .meaning = ""}};
  v1::TableSchema table;
  to_proto(columns, table);
  const auto back = from_proto(sent(table), FieldPath("schema"));
  ASSERT_EQ(back.size(), 2U);
  EXPECT_EQ(back[0].name, "t_s");
  EXPECT_EQ(back[0].meaning, "time");
  EXPECT_EQ(back[1].unit, "N");
  v1::Progress message;
  to_proto(Progress{.time = 0.1, .end_time = 2.0, .step = 3, .step_size = 1e-4, .wall_time = 0.5}, message);
  const Progress progress = from_proto(sent(message), FieldPath("progress"));
  EXPECT_EQ(progress.time, 0.1);
  EXPECT_EQ(progress.end_time, 2.0);
  EXPECT_EQ(progress.step, 3);
  EXPECT_EQ(progress.step_size, 1e-4);
  EXPECT_EQ(progress.wall_time, 0.5);
}

}  // namespace
}  // namespace heelstrike::wire
