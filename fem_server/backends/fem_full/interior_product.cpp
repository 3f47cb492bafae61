#include "fem_server/backends/fem_full/interior_product.hpp"

#include <algorithm>

#include "common/files/digest.hpp"
#include "fem_server/backend_interface/preparation_locks.hpp"
#include "fem_server/fem/compliance_cache.hpp"

namespace heelstrike::fem {

namespace {

constexpr std::string_view method_version = "interior 2 ";

std::vector<double> packed(const InteriorProduct& product) {
  std::vector<double> numbers;
  const auto append = [&](const auto& matrix) {
    numbers.insert(numbers.end(), matrix.data(), matrix.data() + matrix.size());
  };
  append(product.stiffness);
  append(product.inertia_loads);
  append(product.inertia_compliance);
  return numbers;
}

InteriorProduct unpacked(const std::vector<double>& numbers, const InteriorSizes& sizes) {
  InteriorProduct product;
  product.stiffness.resize(sizes.n_interface, sizes.n_interface);
  product.inertia_loads.resize(sizes.n_layer, 6);
  const double* from = numbers.data();
  const auto take = [&](auto& matrix) {
    std::copy_n(from, matrix.size(), matrix.data());
    from += matrix.size();
  };
  take(product.stiffness);
  take(product.inertia_loads);
  take(product.inertia_compliance);
  return product;
}

}  // namespace

std::string interior_key(const PreparedBody& whole, std::span<const std::uint32_t> layer) {
  // The nodes of the layer follow from its elements, which replace the candidates in the key.
  return sha256_hex(std::string(method_version) + compliance_key(whole.body, whole.support, layer));
}

InteriorProduct prepared_interior(const std::string& key, const InteriorSizes& sizes,
                                  const std::function<InteriorProduct()>& make, const PrepareContext& context) {
  const CacheEntry entry{.key = key,
                         .kind = "interior",
                         .magic = "heelstrike interior 1\n",
                         .name = "the condensed interior",
                         .loaded = "interior loaded from the cache",
                         .begin = 0.3,
                         .end = 0.6,
                         .n = static_cast<std::size_t>(sizes.n_interface * sizes.n_interface + 6 * sizes.n_layer + 36)};
  const auto unpack = [&](const std::vector<double>& numbers) { return unpacked(numbers, sizes); };
  return prepare_once<InteriorProduct>(context.locks, key, context.stop, [&] {
    return cached<std::vector<double>>(context.cache_directory, entry, context.on_progress, make, unpack, packed);
  });
}

}  // namespace heelstrike::fem
