#include "rpc/wire/contact_wire.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>

#include "rpc/wire/error_wire.hpp"
#include "rpc/wire/spatial_wire.hpp"

namespace heelstrike::wire {
namespace {

/// Bitwise: a negative zero does not count as zero.
bool is_zero(const Matrix6& m) {
  return std::all_of(m.data(), m.data() + m.size(), [](double x) { return std::bit_cast<std::uint64_t>(x) == 0; });
}

}  // namespace

void to_proto(const GapBound& from, v1::GapBound& to) {
  to.set_on_partner(from.on_partner);
  to_proto(from.p_C, *to.mutable_p_c());
  to.set_reach(from.reach);
  to.set_flat(from.flat);
  to.clear_normal();
  if (from.normal != Vector3::Zero()) to_proto(from.normal, *to.mutable_normal());
}

void from_proto(const v1::GapBound& from, GapBound& to, const FieldPath& path) {
  const FieldPath p_C(path, "p_C");
  if (!from.has_p_c()) throw_missing(p_C);
  to = {.known = true, .on_partner = from.on_partner()};
  from_proto(from.p_c(), to.p_C, p_C);
  to.reach = finite(from.reach(), FieldPath(path, "reach"));
  if (from.has_normal()) from_proto(from.normal(), to.normal, FieldPath(path, "normal"));
  to.flat = from.flat();
}

void to_proto(const ContactPoint& from, v1::ContactPoint& to) {
  to.set_feature(from.feature);
  to_proto(from.p_AC, *to.mutable_p_ac());
  to_proto(from.n_A, *to.mutable_n_a());
  to.set_gap(from.gap);
  to.set_curvature_a(from.curvature_A);
  to.set_curvature_b(from.curvature_B);
}

void from_proto(const v1::ContactPoint& from, ContactPoint& to, const FieldPath& path) {
  const FieldPath p_AC(path, "p_AC");
  const FieldPath n_A(path, "n_A");
  if (!from.has_p_ac()) throw_missing(p_AC);
  if (!from.has_n_a()) throw_missing(n_A);
  to.feature = from.feature();
  from_proto(from.p_ac(), to.p_AC, p_AC);
  from_proto(from.n_a(), to.n_A, n_A);
  to.gap = finite(from.gap(), FieldPath(path, "gap"));
  to.curvature_A = finite(from.curvature_a(), FieldPath(path, "curvature_A"));
  to.curvature_B = finite(from.curvature_b(), FieldPath(path, "curvature_B"));
}

void to_proto(const RegionLoad& from, v1::RegionLoad& to) {
  to.set_force(from.force);
  to.set_area(from.area);
  to.set_peak_pressure(from.peak_pressure);
  to.clear_p_acop();
  if (from.force > 0.0) to_proto(from.p_ACop, *to.mutable_p_acop());
}

void from_proto(const v1::RegionLoad& from, RegionLoad& to, const FieldPath& path) {
  const FieldPath p_ACop(path, "p_ACop");
  to.force = finite(from.force(), FieldPath(path, "force"));
  to.area = finite(from.area(), FieldPath(path, "area"));
  to.peak_pressure = finite(from.peak_pressure(), FieldPath(path, "peak_pressure"));
  to.p_ACop.setZero();
  if (from.has_p_acop()) {
    from_proto(from.p_acop(), to.p_ACop, p_ACop);
  } else if (to.force > 0.0) {
    throw_missing(p_ACop);
  }
}

void to_proto(const PairState& from, v1::PairState& to) {
  to.set_time(from.t);
  to_proto(from.X_AB, *to.mutable_x_ab());
  to_proto(from.V_AB, *to.mutable_v_ab());
}

void from_proto(const v1::PairState& from, PairState& to, const FieldPath& path) {
  const FieldPath X_AB(path, "X_AB");
  const FieldPath V_AB(path, "V_AB");
  if (!from.has_x_ab()) throw_missing(X_AB);
  if (!from.has_v_ab()) throw_missing(V_AB);
  to.t = finite(from.time(), FieldPath(path, "time"));
  from_proto(from.x_ab(), to.X_AB, X_AB);
  from_proto(from.v_ab(), to.V_AB, V_AB);
}

void to_proto(const Response& from, v1::ContactResult& to, bool with_tangents) {
  to_proto(from.F_A, *to.mutable_f_a());
  to.clear_df_a_dx();
  to.clear_df_a_dv();
  if (with_tangents && !is_zero(from.dF_A_dX)) to_proto(from.dF_A_dX, *to.mutable_df_a_dx());
  if (with_tangents && !is_zero(from.dF_A_dV)) to_proto(from.dF_A_dV, *to.mutable_df_a_dv());
#define HS_NUMBER(name, ...) to.set_##name(from.name);
#define HS_VECTOR(name, wire, ...) to_proto(from.name, *to.mutable_##wire());
#define HS_DERIVED(...)
  HEELSTRIKE_RESPONSE_MEMBERS(HS_NUMBER, HS_VECTOR, HS_DERIVED)
#undef HS_NUMBER
#undef HS_VECTOR
  auto& statistics = *to.mutable_statistics();
  statistics.set_iterations(from.statistics.iterations);
  statistics.set_active_points(from.statistics.active_points);
  statistics.set_residual(from.statistics.residual);
  to.clear_bound();
  if (from.bound.known) to_proto(from.bound, *to.mutable_bound());
  to.clear_points();
  for (const ContactPoint& point : from.points) to_proto(point, *to.add_points());
  to.clear_regions();
  for (const RegionLoad& region : from.regions) to_proto(region, *to.add_regions());
}

void from_proto(const v1::ContactResult& from, Response& to, const FieldPath& path) {
  const FieldPath F_A(path, "F_A");
  const FieldPath dF_A_dX(path, "dF_A_dX");
  const FieldPath dF_A_dV(path, "dF_A_dV");
  const FieldPath statistics(path, "statistics");
  if (!from.has_f_a()) throw_missing(F_A);
  if (!from.has_statistics()) throw_missing(statistics);
  from_proto(from.f_a(), to.F_A, F_A);
  to.dF_A_dX.setZero();
  to.dF_A_dV.setZero();
  if (from.has_df_a_dx()) from_proto(from.df_a_dx(), to.dF_A_dX, dF_A_dX);
  if (from.has_df_a_dv()) from_proto(from.df_a_dv(), to.dF_A_dV, dF_A_dV);
#define HS_NUMBER(name, ...) to.name = finite(from.name(), FieldPath(path, #name));
#define HS_VECTOR(name, wire, ...)                               \
  if (!from.has_##wire()) throw_missing(FieldPath(path, #name)); \
  from_proto(from.wire(), to.name, FieldPath(path, #name));
  HEELSTRIKE_RESPONSE_MEMBERS(HS_NUMBER, HS_VECTOR, HS_DERIVED)
#undef HS_NUMBER
#undef HS_VECTOR
#undef HS_DERIVED
  to.statistics.iterations = from.statistics().iterations();
  to.statistics.active_points = from.statistics().active_points();
  to.statistics.residual = finite(from.statistics().residual(), FieldPath(statistics, "residual"));
  to.bound = {};
  if (from.has_bound()) from_proto(from.bound(), to.bound, FieldPath(path, "bound"));
  to.points.resize(static_cast<std::size_t>(from.points_size()));
  const FieldPath points(path, "points");
  for (int i = 0; i < from.points_size(); ++i)
    from_proto(from.points(i), to.points[static_cast<std::size_t>(i)], points);
  to.regions.resize(static_cast<std::size_t>(from.regions_size()));
  const FieldPath regions(path, "regions");
  for (int i = 0; i < from.regions_size(); ++i)
    from_proto(from.regions(i), to.regions[static_cast<std::size_t>(i)], regions);
}

void from_proto(const v1::PairResponse& from, Response& to, const FieldPath& path) {
  switch (from.outcome_case()) {
    case v1::PairResponse::kResult:
      return from_proto(from.result(), to, FieldPath(path, "result"));
    case v1::PairResponse::kError:
      throw_typed(from_proto(from.error()));
    case v1::PairResponse::OUTCOME_NOT_SET:
      throw_missing(FieldPath(path, "outcome"));
  }
}

void to_proto(const FieldRequest& from, v1::GetFieldsRequest& to) {
  to.mutable_fields()->Assign(from.quantities.begin(), from.quantities.end());
  to.set_partner(from.part == FieldPart::partner);
  to.set_volume(from.mesh == FieldMesh::volume);
  to_proto(from.X_WA, *to.mutable_x_wa());
}

FieldRequest from_proto(const v1::GetFieldsRequest& from, const FieldPath& path) {
  FieldRequest to;
  to.quantities.assign(from.fields().begin(), from.fields().end());
  if (from.partner()) to.part = FieldPart::partner;
  if (from.volume()) to.mesh = FieldMesh::volume;
  if (from.has_x_wa()) from_proto(from.x_wa(), to.X_WA, FieldPath(path, "X_WA"));
  return to;
}

}  // namespace heelstrike::wire
