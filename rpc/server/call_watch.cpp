#include "rpc/server/call_watch.hpp"

#include <grpc/grpc_security_constants.h>

#include "common/files/digest.hpp"

namespace heelstrike::rpc {

namespace {

constexpr std::chrono::milliseconds poll_interval{50};

}  // namespace

CallWatch::Call::Call(CallWatch& watch, grpc::ServerContextBase& context, std::chrono::milliseconds stall)
    : watch_(watch), context_(context), stall_(stall), last_progress_(std::chrono::steady_clock::now()) {
  {
    const std::scoped_lock lock(watch_.mutex_);
    watch_.calls_.insert(this);
    if (watch_.stopping_) stop_.request_stop();
  }
  watch_.changed_.notify_all();
}

CallWatch::Call::~Call() {
  const std::scoped_lock lock(watch_.mutex_);
  watch_.calls_.erase(this);
}

void CallWatch::Call::record_progress() {
  const std::scoped_lock lock(watch_.mutex_);
  last_progress_ = std::chrono::steady_clock::now();
}

void CallWatch::Call::record_progress(std::chrono::milliseconds stall) {
  const std::scoped_lock lock(watch_.mutex_);
  stall_ = stall;
  last_progress_ = std::chrono::steady_clock::now();
}

CallWatch::CallWatch() : thread_([this](const std::stop_token& ended) { poll_calls(ended); }) {}

void CallWatch::stop_all() {
  const std::scoped_lock lock(mutex_);
  stopping_ = true;
  for (Call* call : calls_) call->stop_.request_stop();
}

void CallWatch::poll_calls(const std::stop_token& ended) {
  std::unique_lock lock(mutex_);
  while (changed_.wait(lock, ended, [this] { return !calls_.empty(); })) {
    for (Call* call : calls_) poll_locked(*call);
    changed_.wait_for(lock, ended, poll_interval, [] { return false; });
  }
}

void CallWatch::poll_locked(Call& call) {
  if (call.context_.IsCancelled()) call.stop_.request_stop();
  if (call.stall_.count() == 0 || std::chrono::steady_clock::now() - call.last_progress_ < call.stall_) return;
  call.context_.TryCancel();
  call.stop_.request_stop();
}

namespace {

/// "ipv4:10.0.0.7:51234" -> "ipv4:10.0.0.7": the ports of a client differ between connections.
std::string machine_of(const std::string& peer) {
  return peer.starts_with("ipv") ? peer.substr(0, peer.rfind(':')) : peer;
}

}  // namespace

ClientIdentity identity_of(const grpc::ServerContextBase& context) {
  ClientIdentity identity{.owner = {}, .account = machine_of(context.peer())};
  const auto certificate = context.auth_context();
  if (!certificate || !certificate->IsPeerAuthenticated()) return identity;
  std::string names;
  for (const char* property : {GRPC_X509_SUBJECT_PROPERTY_NAME, GRPC_X509_SAN_PROPERTY_NAME}) {
    for (const grpc::string_ref& value : certificate->FindPropertyValues(property)) {
      names.append(property).append(1, '\0').append(value.data(), value.size()).append(1, '\0');
    }
  }
  if (names.empty()) {  // a certificate without names is identified by its content
    for (const grpc::string_ref& value : certificate->FindPropertyValues(GRPC_X509_PEM_CERT_PROPERTY_NAME)) {
      names.append(value.data(), value.size());
    }
  }
  identity.owner = sha256_hex(names);
  identity.account = identity.owner;
  return identity;
}

}  // namespace heelstrike::rpc
