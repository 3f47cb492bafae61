#include "mbs_server/coupling/coupling_scheme.hpp"

#include <vector>

namespace heelstrike::mbs {

std::span<const CouplingSchemeEntry> coupling_scheme_registry() {
  static const std::vector<CouplingSchemeEntry> entries = {monolithic(), jacobi(), gauss_seidel(), implicit()};
  return entries;
}

const CouplingSchemeEntry& scheme_of(const Scenario& scenario) {
  const auto& registry = coupling_scheme_registry();
  return scenario.coupling.scheme.empty() ? registry.front() : config::type_named(registry, scenario.coupling.scheme);
}

namespace {

class Monolithic final : public CouplingScheme {
 public:
  Monolithic(ContactExchange& exchange, const ContactStates& states) : exchange_(exchange), states_(states) {}

  [[nodiscard]] bool acts(std::size_t pair) const override { return states_.closed(pair); }
  [[nodiscard]] std::span<const Response> responses(double t, const ConstVector& q, const ConstVector& qd) override {
    return exchange_.responses(t, q, qd);
  }
  [[nodiscard]] std::span<const Response> responses_at_time(double t, const ConstVector& q,
                                                            const ConstVector& qd) override {
    const auto response = exchange_.responses_at(t);
    return response ? *response : exchange_.responses(t, q, qd);
  }
  std::span<const Response> accept(double t, const ConstVector& q, const ConstVector& qd) override {
    return exchange_.commit(t, q, qd);
  }
  [[nodiscard]] bool has_constant_contact_state(double t, const ConstVector& q, const ConstVector& qd, double t_end,
                                                const ConstVector& q_end, const ConstVector& qd_end) const override {
    return exchange_.has_constant_contact_state(states_, t, q, qd, t_end, q_end, qd_end);
  }
  void accept_deferred(double t, const ConstVector& q, const ConstVector& qd) override {
    exchange_.post_commit(t, q, qd);
  }
  [[nodiscard]] std::span<const Response> accepted() override { return exchange_.posted_commit(); }

 private:
  ContactExchange& exchange_;
  const ContactStates& states_;
};

}  // namespace

CouplingSchemeEntry monolithic() {
  CouplingSchemeEntry entry;
  entry.name = "monolithic";
  entry.meaning = "the partner is evaluated inside the integrator's iterations, with its tangent";
  entry.make = [](const Scenario& /*scenario*/, ContactExchange& exchange, const ContactStates& states) {
    return std::make_unique<Monolithic>(exchange, states);
  };
  return entry;
}

}  // namespace heelstrike::mbs
