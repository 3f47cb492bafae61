/// Laws that users choose by `material_law`: one descriptor for each. Names, meanings and parameters of fem_full and
/// fem_layered come from here; nothing else lists the laws.
///
/// A new law is one source file in this folder that defines a function returning a MaterialKind, a declaration below,
/// and one line in registry.cpp.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "common/parameters/parameter.hpp"
#include "fem_server/bodies/body_mesh.hpp"
#include "fem_server/fem/material_law.hpp"
#include "fem_server/fem/prony_series.hpp"

namespace heelstrike::fem {

struct MaterialKind {
  std::string name;                         ///< value of material_law
  std::string meaning;                      ///< some words, for the list of choices
  std::vector<ParameterSchema> parameters;  ///< its own, none required or with a fallback: what is missing `make` says
  bool relaxes = false;                     ///< takes a PronySeries
  /// @throws Error{invalid_input} with the key for what is missing, does not fit together or is not stable
  MaterialLaw (*make)(const ParameterPrefix& place) = nullptr;
};

[[nodiscard]] MaterialKind neo_hookean_kind();
[[nodiscard]] MaterialKind linear_kind();
[[nodiscard]] MaterialKind mooney_rivlin_kind();
[[nodiscard]] MaterialKind yeoh_kind();
[[nodiscard]] MaterialKind ogden_kind();
[[nodiscard]] MaterialKind holzapfel_gasser_ogden_kind();

/// All laws; the first one is the default.
[[nodiscard]] std::span<const MaterialKind> material_kinds();

/// `material_law`, the parameters of all laws, and the relaxation. @param of  what is made of the law: "", or "of the
/// layer: "
[[nodiscard]] std::vector<ParameterSchema> material_parameters(const std::string& of);

/// The law that the parameters ask for.
/// @throws Error{invalid_input} with the key: as MaterialKind::make, and for parameters of laws that were not chosen
/// or a relaxation that the law does not have
[[nodiscard]] MaterialLaw material_law(const ParameterPrefix& place);

/// The relaxation of `prony_coefficients` and `prony_times`; elastic without them.
/// @param prefix  of another series: "fiber_" for `fiber_prony_coefficients` and `fiber_prony_times`
/// @throws Error{invalid_input} with the key for lists of different lengths and shares that leave no stiffness
[[nodiscard]] PronySeries prony_of(const ParameterPrefix& place, const std::string& prefix = "");

/// A number or list that the chosen law cannot do without. @throws Error{invalid_input} naming what it means
[[nodiscard]] double needed_number(const ParameterPrefix& place, const std::string& name, const std::string& meaning);
/// @param expected  number of entries, 0 = any but none
[[nodiscard]] std::vector<double> needed_numbers(const ParameterPrefix& place, const std::string& name,
                                                 std::size_t expected, const std::string& meaning);

}  // namespace heelstrike::fem
