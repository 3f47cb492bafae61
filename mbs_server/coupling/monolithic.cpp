#include "mbs_server/coupling/monolithic.hpp"

namespace heelstrike::mbs {
namespace {

class Monolithic final : public CouplingScheme {
 public:
  Monolithic(ContactExchange& exchange, const ContactStates& states) : exchange_(exchange), states_(states) {}

  [[nodiscard]] bool acts(std::size_t pair) const override { return states_.closed(pair); }
  [[nodiscard]] std::span<const Response> responses(double t, const ConstVector& q, const ConstVector& qd) override {
    return exchange_.responses(t, q, qd);
  }
  std::span<const Response> accept(double t, const ConstVector& q, const ConstVector& qd) override {
    return exchange_.commit(t, q, qd);
  }

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
