#include "library/servers/servers.hpp"

#include <fmt/format.h>
#include <grpcpp/client_context.h>
#include <grpcpp/impl/codegen/client_unary_call.h>
#include <grpcpp/support/byte_buffer.h>
#include <chrono>
#include <fstream>
#include <iterator>
#include <utility>
#include <vector>

#include "common/errors/error.hpp"
#include "rpc/wire/error_wire.hpp"

namespace heelstrike {

namespace {

constexpr std::chrono::seconds stop_grace{5};
// A Unix socket breaks only when a process ends. A restart takes up to 20 s, and two may be necessary.
constexpr std::chrono::seconds private_reconnect_timeout{60};
constexpr std::size_t max_displayed_log_bytes = 2000;

}  // namespace

Servers::Servers(const ServerOptions& options, std::filesystem::path log) : log_(std::move(log)) {
  if (!options.fem.empty()) fem_ = rpc::Endpoint{.address = options.fem, .tls = options.tls};
  if (!options.mbs.empty()) {
    mbs_ = rpc::Endpoint{.address = options.mbs, .tls = options.tls};
    return;
  }
  folder_ = std::make_unique<PrivateFolder>();
  if (log_.empty()) log_ = folder_->path() / "servers.log";
  if (!fem_) start_fem();
  start_mbs(options);
  wait_until_ready();
}

Servers::~Servers() {
  // The multibody server is stopped first, so that it does not report a lost partner.
  if (mbs_child_) mbs_child_->stop(stop_grace);
  if (fem_child_) fem_child_->stop(stop_grace);
}

void Servers::start_fem() {
  const std::string address = "unix:" + folder_->socket("fem.sock").string();
  fem_ = rpc::Endpoint{.address = address, .tls = {}};
  fem_child_ = std::make_unique<SupervisedServer>(
      ChildOptions{.name = "contact server (fem_server)",
                   .program = sibling_program("fem_server"),
                   .arguments = {"--listen", address, "--ready-fd", "3", "--exit-with-parent"},
                   .log = log_},
      [this](const std::string& message, bool last) { add_message(message, last); });
}

void Servers::start_mbs(const ServerOptions& options) {
  const std::string address = "unix:" + folder_->socket("mbs.sock").string();
  mbs_ = rpc::Endpoint{.address = address, .tls = {}};
  std::vector<std::string> arguments = {"--listen", address, "--fem", fem_->address, "--spool",
                                        (folder_->path() / "spool").string(), "--ready-fd", "3", "--exit-with-parent",
                                        // The scenario is that of the user and runs with the rights of the user.
                                        "--allow-fmu", "--reconnect-timeout"};
  const std::chrono::duration<double> reconnect_timeout =
      options.fem.empty() ? private_reconnect_timeout : options.reconnect_timeout;
  arguments.push_back(fmt::format("{}", reconnect_timeout.count()));
  if (!options.fem.empty()) {
    const rpc::ClientTls& tls = options.tls;
    const std::pair<const char*, const std::string&> forwarded[] = {{"--fem-tls-ca", tls.ca_file},
                                                                    {"--fem-tls-cert", tls.certificate_file},
                                                                    {"--fem-tls-key", tls.key_file},
                                                                    {"--fem-tls-authority", tls.authority}};
    for (const auto& [option, value] : forwarded) {
      if (!value.empty()) arguments.insert(arguments.end(), {option, value});
    }
  }
  mbs_child_ =
      std::make_unique<SupervisedServer>(ChildOptions{.name = "multibody server (mbs_server)",
                                                      .program = sibling_program("mbs_server"),
                                                      .arguments = std::move(arguments),
                                                      .log = log_},
                                         [this](const std::string& message, bool last) { add_message(message, last); });
}

void Servers::wait_until_ready() {
  for (SupervisedServer* child : {fem_child_.get(), mbs_child_.get()}) {
    if (child == nullptr) continue;
    try {
      child->wait_until_ready();
    } catch (const Error& error) {
      const std::string log = end_of_log();
      throw Error(error.code(),
                  log.empty() ? error.what() : fmt::format("{}; its log ends with:\n{}", error.what(), log));
    }
  }
}

std::string Servers::end_of_log() const {
  std::ifstream file(log_, std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (text.size() > max_displayed_log_bytes) text = "..." + text.substr(text.size() - max_displayed_log_bytes);
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

std::string Servers::mbs_text() const {
  return "mbs_server at " + mbs_.address;
}

std::filesystem::path Servers::event_file(const std::string& run_id) const {
  return folder_->path() / "spool" / (run_id + ".events");
}

std::chrono::milliseconds Servers::reconnect_timeout(const ServerOptions& options) {
  return options.mbs.empty() ? private_reconnect_timeout : options.reconnect_timeout;
}

void Servers::add_message(const std::string& message, bool last) {
  {
    const std::scoped_lock lock(mutex_);
    messages_.push_back(message);
    if (last) restart_failure_ = message;
  }
  has_messages_ = true;
  // Ends the other server, so that no call waits for one that is not restarted.
  if (!last) return;
  for (SupervisedServer* child : {fem_child_.get(), mbs_child_.get()}) {
    if (child != nullptr) child->begin_kill();
  }
}

std::vector<std::string> Servers::take_messages_since() {
  if (!has_messages_.exchange(false)) return {};
  const std::scoped_lock lock(mutex_);
  return std::exchange(messages_, {});
}

std::optional<std::string> Servers::restart_failure() const {
  const std::scoped_lock lock(mutex_);
  return restart_failure_;
}

void Servers::reset_failed_restarts() {
  for (SupervisedServer* child : {fem_child_.get(), mbs_child_.get()}) {
    if (child != nullptr) child->reset_failed_restarts();
  }
}

namespace {

// HealthCheckResponse{status: SERVING} on the wire: field 1, value 1. The message is too small for generated code.
const std::string serving{"\x08\x01", 2};

std::string bytes_of(grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  std::string bytes;
  if (!buffer.Dump(&slices).ok()) return bytes;
  for (const grpc::Slice& slice : slices) bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  return bytes;
}

}  // namespace

void check_health(const std::shared_ptr<grpc::Channel>& channel, const std::string& where) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds{5});
  const grpc::internal::RpcMethod method("/grpc.health.v1.Health/Check", grpc::internal::RpcMethod::NORMAL_RPC,
                                         channel);
  const grpc::Slice empty("", 0);  // HealthCheckRequest{service: ""}: the whole server
  const grpc::ByteBuffer request(&empty, 1);
  grpc::ByteBuffer response;
  const grpc::Status status = grpc::internal::BlockingUnaryCall(channel.get(), method, &context, request, &response);
  if (!status.ok()) throw wire::from_status(status, context, "health check of " + where);
  if (bytes_of(response) != serving) {
    throw unavailable_error(fmt::format("{} reports that it is not serving; it is starting or shutting down", where));
  }
}

}  // namespace heelstrike
