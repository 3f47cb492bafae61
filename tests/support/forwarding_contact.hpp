/// A contact that forwards every call to another one: base of those that time, count or reject calls. Motions are
/// committed one state after the other, by the default of Contact.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/contact/contact.hpp"

namespace heelstrike::test {

class ForwardingContact : public Contact {
 public:
  explicit ForwardingContact(std::unique_ptr<Contact> inner) : inner_(std::move(inner)) {}

  [[nodiscard]] std::span<const PairDescription> pairs() const override { return inner_->pairs(); }
  void evaluate(std::int64_t step, std::int32_t iteration, std::span<const PairState> states,
                std::span<Response> responses) override {
    inner_->evaluate(step, iteration, states, responses);
  }
  void commit(std::int64_t step, std::span<const PairState> states, std::span<Response> responses) override {
    inner_->commit(step, states, responses);
  }
  [[nodiscard]] std::vector<std::string> save_state() override { return inner_->save_state(); }
  void restore_state(std::span<const std::string> states) override { inner_->restore_state(states); }
  [[nodiscard]] std::string fields(std::size_t pair, const PairState& state, const FieldRequest& request) override {
    return inner_->fields(pair, state, request);
  }

 protected:
  [[nodiscard]] Contact& inner() const { return *inner_; }

 private:
  std::unique_ptr<Contact> inner_;
};

}  // namespace heelstrike::test
