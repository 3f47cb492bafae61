/// Expensive results of the condensation of an interior: computed once, cached on disk, shared by concurrent sessions.
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

/// sha256 of all inputs of the product: mesh, materials, support, elements of the layer, version of the method.
[[nodiscard]] std::string interior_key(const PreparedBody& whole, std::span<const std::uint32_t> layer);

/// Expected sizes of a product.
struct InteriorSizes {
  Eigen::Index n_interface = 0;  ///< dofs
  Eigen::Index n_layer = 0;      ///< dofs: rows of inertia_loads
};

/// Reads the product from the cache, `<key>.interior`, or computes it by `make` and stores it; without a cache folder
/// it is not stored. A damaged file is rebuilt; this and a folder without write access are reported through the
/// context's progress. Of concurrent sessions one computes it. @throws errors of `make`; Error{cancelled} when stopped
/// while waiting for another session
[[nodiscard]] InteriorProduct prepared_interior(const std::string& key, const InteriorSizes& sizes,
                                                const std::function<InteriorProduct()>& make,
                                                const PrepareContext& context);

}  // namespace heelstrike::fem
