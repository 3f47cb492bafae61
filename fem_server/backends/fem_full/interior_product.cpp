#include "fem_server/backends/fem_full/interior_product.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "common/config/digest.hpp"
#include "common/errors/error.hpp"
#include "fem_server/backends/shared/preparation_locks.hpp"
#include "fem_server/fem/cache_file.hpp"
#include "fem_server/fem/compliance_cache.hpp"

namespace heelstrike::fem {

namespace {

constexpr std::string_view magic = "heelstrike interior 1\n";
constexpr std::string_view method_version = "interior 1 ";

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

InteriorProduct cached_interior(const std::string& key, const InteriorSizes& sizes,
                                const std::function<InteriorProduct()>& make, const PrepareContext& context) {
  if (context.cache_directory.empty()) return make();
  const auto path = cache_path(context.cache_directory, key, "interior");
  const auto n = sizes.n_interface * sizes.n_interface + 6 * sizes.n_layer + 36;
  std::string problem;
  if (const auto numbers = read_cached_numbers(path, magic, key, static_cast<std::size_t>(n), problem)) {
    touch_cache_file(path);
    context.on_progress("interior loaded from the cache", 0.6);
    return unpacked(*numbers, sizes);
  }
  if (!problem.empty()) context.on_progress(problem, 0.3);
  InteriorProduct product = make();
  try {
    write_cached_numbers(path, magic, key, packed(product));
  } catch (const Error& error) {
    context.on_progress(fmt::format("the condensed interior is not kept: {}", error.what()), 0.6);
  }
  return product;
}

}  // namespace

std::string interior_key(const PreparedBody& whole, std::span<const std::uint32_t> layer) {
  // The nodes of the layer follow from its elements, which stand in the place of the candidates.
  return sha256_hex(std::string(method_version) + compliance_key(whole.body, whole.support, layer));
}

InteriorProduct prepared_interior(const std::string& key, const InteriorSizes& sizes,
                                  const std::function<InteriorProduct()>& make, const PrepareContext& context) {
  const auto lookup = [&] { return cached_interior(key, sizes, make, context); };
  if (context.locks == nullptr) return lookup();
  return context.locks->once<InteriorProduct>(key, context.stop, lookup);
}

}  // namespace heelstrike::fem
