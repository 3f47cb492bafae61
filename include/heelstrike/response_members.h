/**
 * @file
 * Members of the response of a contact, one row each. The structures of C, C++ and Python, the wire, saved states, the
 * columns of time series and the variables of contact FMUs follow from the rows. Without contact `p_ACop` is the
 * closest point.
 *
 *     NUMBER(name, unit, output, outputs, meaning)                       one double
 *     VECTOR(name, wire, python, kind, unit, output, outputs, meaning)   three numbers in the axes of the main body A
 *     DERIVED(type, name, unit, output, outputs, meaning)                follows from other members
 *
 * - name: in C, C++, messages and, of a number, in Python; of a number in lower case.
 * - wire, python: the name of a vector in lower case, its name in Python.
 * - kind: `point`, a position, which is moved to the world in the time series, or `direction`, which is only rotated.
 * - output: name in results, after "PAIR." in a time series; of a vector with * in place of x, y and z.
 * - outputs: `none`; `column` of the time series, zero (of a vector empty) for an open pair; variable of a contact
 *   `fmu`; `column_and_fmu`.
 *
 * A new member is a row here, the field of the same name in proto/heelstrike/v1/contact.proto (message ContactResult),
 * and the code that computes it. A derived one is a function of heelstrike::Response (common/contact/contact.hpp) in
 * place of the field.
 */
#ifndef HEELSTRIKE_RESPONSE_MEMBERS_H
#define HEELSTRIKE_RESPONSE_MEMBERS_H

/* clang-format off */
/* The columns of gap and gap_rate, and of the indentation, are valid for open pairs too: run_table.cpp adds them. */
#define HEELSTRIKE_RESPONSE_MEMBERS(NUMBER, VECTOR, DERIVED) \
  NUMBER(gap, "m", "gap_m", fmu, "smallest gap; negative is penetration") \
  NUMBER(gap_rate, "m/s", "gap_rate_m_s", none, "rate of the smallest gap; negative while approaching") \
  VECTOR(p_ACop, p_acop, p_cop, point, "m", "cop*_m", column, "centre of pressure") \
  NUMBER(area, "m^2", "area_m2", column_and_fmu, "contact area; of point laws Hertz' estimate") \
  NUMBER(peak_pressure, "Pa", "peak_pressure_Pa", column_and_fmu, \
         "peak contact pressure; of point laws Hertz' estimate") \
  DERIVED(double, mean_pressure, "Pa", "mean_pressure_Pa", column_and_fmu, \
          "sum of pressure times area over the contact area; 0 without contact") \
  DERIVED(int, active_points, "-", "active_points", column_and_fmu, "springs, nodes or points in contact") \
  NUMBER(stored_energy, "J", "stored_energy_J", fmu, "recoverable elastic energy") \
  NUMBER(dissipated_power, "W", "", none, "rate of dissipation by velocity-dependent terms") \
  NUMBER(dissipated_increment, "J", "", none, \
         "dissipation since the committed state by friction and relaxing materials") \
  NUMBER(normal_force, "N", "", none, "pressure times area, summed: independent of the direction of the normals") \
  NUMBER(slip_speed, "m/s", "", none, \
         "mean velocity of the points that slid at the committed state, in their slip direction there; negative: " \
         "slip is reversed; 0 if most load-bearing points stick") \
  DERIVED(int, iterations, "-", "", none, "iterations of the inner contact solver") \
  DERIVED(double, residual, "-", "", none, "relative residual at the end of the solve")
/* clang-format on */

#ifdef __cplusplus
namespace hs {

/// Kind of output of a member of the response.
enum class ResponseOutput { none, column, fmu, column_and_fmu };
/// Transformation of a member of the response into the world.
enum class MemberKind { number, point, direction };

/// A row of HEELSTRIKE_RESPONSE_MEMBERS.
struct ResponseMember {
  const char* name;
  const char* python;
  MemberKind kind;
  const char* unit;
  const char* output;
  ResponseOutput outputs;
  const char* meaning;

  /// @param wanted  column or fmu
  [[nodiscard]] constexpr bool is_in(ResponseOutput wanted) const {
    return outputs == wanted || outputs == ResponseOutput::column_and_fmu;
  }
};

/// Calls visit(row, pointer to the member of each of Structures) for all rows, in their order. For a structure that
/// computes a derived member the pointer is that of the function.
template <class... Structures, class Visit>
constexpr void for_each_response_member(Visit&& visit) {
#define HS_NUMBER(name, unit, output, outputs, meaning) \
  visit(ResponseMember{#name, #name, MemberKind::number, unit, output, ResponseOutput::outputs, meaning}, \
        &Structures::name...);
#define HS_VECTOR(name, wire, python, kind, unit, output, outputs, meaning) \
  visit(ResponseMember{#name, #python, MemberKind::kind, unit, output, ResponseOutput::outputs, meaning}, \
        &Structures::name...);
#define HS_DERIVED(type, name, unit, output, outputs, meaning) HS_NUMBER(name, unit, output, outputs, meaning)
  HEELSTRIKE_RESPONSE_MEMBERS(HS_NUMBER, HS_VECTOR, HS_DERIVED)
#undef HS_NUMBER
#undef HS_VECTOR
#undef HS_DERIVED
}

}  // namespace hs
#endif

#endif
