// One evaluation of a contact through the installed C++ interface, for bench_python.py: nanoseconds per call.
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include <heelstrike/contact.hpp>

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const int n = std::atoi(argv[2]);
  auto contact = hs::Contact::open(hs::Pair::from_yaml(argv[1]));
  double sum = 0.0;
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < n; ++i) sum += contact.evaluate({.p_AB = {0, 0, -0.0999}}).F_A[5];
  const std::chrono::duration<double, std::nano> time = std::chrono::steady_clock::now() - start;
  std::printf("%.1f %.6f\n", time.count() / n, sum / n);
}
