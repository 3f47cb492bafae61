/// Vectors and matrices along a path with their first two derivatives: the counterpart of Jet for numbers.
#pragma once

#include <Eigen/Core>

#include "common/motion/jet.hpp"
#include "common/spatial/spatial.hpp"

namespace heelstrike::mbs {

template <class T>
struct Along {
  T f, d, dd;
  [[nodiscard]] static Along constant(const T& value) {
    const T zero = T::Zero(value.rows(), value.cols());
    return {value, zero, zero};
  }
};

template <class A, class B>
[[nodiscard]] auto operator*(const Along<A>& a, const Along<B>& b) {
  using C = typename Eigen::Product<A, B>::PlainObject;
  return Along<C>{C(a.f * b.f), C(a.d * b.f + a.f * b.d), C(a.dd * b.f + 2.0 * (a.d * b.d) + a.f * b.dd)};
}
template <class A>
[[nodiscard]] Along<A> operator*(const Jet& s, const Along<A>& a) {
  return {s.f * a.f, s.d * a.f + s.f * a.d, s.dd * a.f + 2.0 * s.d * a.d + s.f * a.dd};
}
template <class A>
[[nodiscard]] Along<A> operator+(const Along<A>& a, const Along<A>& b) {
  return {a.f + b.f, a.d + b.d, a.dd + b.dd};
}
template <class A>
[[nodiscard]] Along<A> operator-(const Along<A>& a, const Along<A>& b) {
  return {a.f - b.f, a.d - b.d, a.dd - b.dd};
}
/// Applies a linear map to value and derivatives.
template <class A, class Map>
[[nodiscard]] auto mapped(const Along<A>& a, const Map& map) {
  using C = decltype(map(a.f));
  return Along<C>{map(a.f), map(a.d), map(a.dd)};
}
[[nodiscard]] inline Along<Matrix3> transposed(const Along<Matrix3>& a) {
  return mapped(a, [](const Matrix3& m) { return Matrix3(m.transpose()); });
}
[[nodiscard]] inline Along<Matrix3> skew_along(const Along<Vector3>& a) {
  return mapped(a, [](const Vector3& v) { return skew(v); });
}
/// a b'
[[nodiscard]] inline Along<Matrix3> outer_along(const Along<Vector3>& a, const Along<Vector3>& b) {
  return {a.f * b.f.transpose(), a.d * b.f.transpose() + a.f * b.d.transpose(),
          a.dd * b.f.transpose() + 2.0 * (a.d * b.d.transpose()) + a.f * b.dd.transpose()};
}
/// The sum of the products of all entries.
template <class A>
[[nodiscard]] Jet inner_along(const Along<A>& a, const Along<A>& b) {
  const auto sum = [](const A& x, const A& y) { return x.cwiseProduct(y).sum(); };
  return {.f = sum(a.f, b.f),
          .d = sum(a.d, b.f) + sum(a.f, b.d),
          .dd = sum(a.dd, b.f) + 2.0 * sum(a.d, b.d) + sum(a.f, b.dd)};
}
[[nodiscard]] inline Along<Vector3> cross_along(const Along<Vector3>& a, const Along<Vector3>& b) {
  return {a.f.cross(b.f), a.d.cross(b.f) + a.f.cross(b.d), a.dd.cross(b.f) + 2.0 * a.d.cross(b.d) + a.f.cross(b.dd)};
}

}  // namespace heelstrike::mbs
