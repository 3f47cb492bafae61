/// Material laws selectable by `material_law`, one descriptor each. This registry is the only list of laws; names,
/// descriptions and parameters of fem_full and fem_layered derive from it.
///
/// A new law requires one source file in this folder with a function that returns a MaterialKind, a declaration below,
/// and one line in registry.cpp.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "common/parameters/parameter.hpp"
#include "fem_server/fem/material_law.hpp"
#include "fem_server/fem/prony_series.hpp"

namespace heelstrike::fem {

struct MaterialKind {
  std::string name;                         ///< value of material_law
  std::string meaning;                      ///< short description for the list of choices
  std::vector<ParameterSchema> parameters;  ///< not required, no defaults: `make` reports missing ones
  bool relaxes = false;                     ///< accepts a PronySeries
  /// @throws Error{invalid_input} with the key of a missing, inconsistent or unstable parameter
  MaterialLaw (*make)(const ParameterScope& place) = nullptr;
};

[[nodiscard]] MaterialKind neo_hookean_kind();
[[nodiscard]] MaterialKind linear_kind();
[[nodiscard]] MaterialKind mooney_rivlin_kind();
[[nodiscard]] MaterialKind yeoh_kind();
[[nodiscard]] MaterialKind ogden_kind();
[[nodiscard]] MaterialKind holzapfel_gasser_ogden_kind();

/// All laws; the first one is the default.
[[nodiscard]] std::span<const MaterialKind> material_kinds();

/// `material_law`, the parameters of all laws, and the relaxation. @param of prefix of the descriptions: "", or "of the
/// layer: "
[[nodiscard]] std::vector<ParameterSchema> material_parameters(const std::string& of);

/// The law selected by the parameters.
/// @throws Error{invalid_input} with the key: as MaterialKind::make, and for parameters of laws that are not selected
///         or a relaxation that the law does not support
[[nodiscard]] MaterialLaw material_law(const ParameterScope& place);

/// The relaxation of `prony_coefficients` and `prony_times`; elastic without them.
/// @param prefix  of another series: "fiber_" for `fiber_prony_coefficients` and `fiber_prony_times`
/// @throws Error{invalid_input} with the key for lists of different lengths and coefficients that leave no stiffness
[[nodiscard]] PronySeries prony_of(const ParameterScope& place, const std::string& prefix = "");

/// A number or list that the selected law requires. @throws Error{invalid_input} with its meaning
[[nodiscard]] double required_number(const ParameterScope& place, const std::string& name, const std::string& meaning);
/// @param expected  number of entries, 0 = any except none
[[nodiscard]] std::vector<double> required_numbers(const ParameterScope& place, const std::string& name,
                                                   std::size_t expected, const std::string& meaning);

}  // namespace heelstrike::fem
