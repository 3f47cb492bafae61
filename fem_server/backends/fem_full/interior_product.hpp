/// What the condensation of an interior costs time for: made once, kept on disk, shared by sessions that ask for it at
/// the same time.
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "fem_server/bodies/body_preparation.hpp"
#include "fem_server/fem/rigid_motion.hpp"

namespace heelstrike::fem {

struct InteriorProduct {
  Eigen::MatrixXd stiffness;  ///< [N/m] K* of the interface
  SixColumns inertia_loads;   ///< [1/m, -] B* in the dofs of the layer; no rows without inertia relief
  Matrix6 inertia_compliance = Matrix6::Zero();  ///< D
};

/// sha256 of everything the product depends on: mesh, materials, support, elements of the layer, version of the method.
[[nodiscard]] std::string interior_key(const PreparedBody& whole, std::span<const std::uint32_t> layer);

/// Sizes that a product must have.
struct InteriorSizes {
  Eigen::Index n_interface = 0;  ///< dofs
  Eigen::Index n_layer = 0;      ///< dofs that inertia_loads has rows for
};

/// From the cache, `<key>.interior`, or by `make` and stored; no cache folder, no file. A damaged file is rebuilt,
/// which is said through the context's progress, as is a folder that cannot be written. Of sessions that ask at the
/// same time one makes it. @throws what `make` throws; Error{cancelled} when stopped while waiting for another session
[[nodiscard]] InteriorProduct prepared_interior(const std::string& key, const InteriorSizes& sizes,
                                                const std::function<InteriorProduct()>& make,
                                                const PrepareContext& context);

}  // namespace heelstrike::fem
