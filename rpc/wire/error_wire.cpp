#include "rpc/wire/error_wire.hpp"

#include <fmt/format.h>
#include <grpcpp/client_context.h>
#include <grpcpp/server_context.h>

#include "common/errors/plain_text.hpp"

namespace heelstrike::wire {

namespace {

struct Row {
  ErrorCode code;
  v1::Error::Code message;
  grpc::StatusCode status;
  bool is_inferred;  ///< used for a `status` without details
};

constexpr Row table[] = {
    {ErrorCode::invalid_input, v1::Error::CODE_INVALID_INPUT, grpc::StatusCode::INVALID_ARGUMENT, true},
    {ErrorCode::out_of_order, v1::Error::CODE_OUT_OF_ORDER, grpc::StatusCode::FAILED_PRECONDITION, true},
    {ErrorCode::not_found, v1::Error::CODE_NOT_FOUND, grpc::StatusCode::NOT_FOUND, true},
    {ErrorCode::limit, v1::Error::CODE_LIMIT, grpc::StatusCode::RESOURCE_EXHAUSTED, true},
    {ErrorCode::unavailable, v1::Error::CODE_UNAVAILABLE, grpc::StatusCode::UNAVAILABLE, true},
    {ErrorCode::deadline, v1::Error::CODE_DEADLINE, grpc::StatusCode::DEADLINE_EXCEEDED, true},
    {ErrorCode::cancelled, v1::Error::CODE_CANCELLED, grpc::StatusCode::CANCELLED, true},
    {ErrorCode::version_mismatch, v1::Error::CODE_VERSION_MISMATCH, grpc::StatusCode::FAILED_PRECONDITION, false},
    {ErrorCode::recoverable, v1::Error::CODE_RECOVERABLE, grpc::StatusCode::ABORTED, true},
    {ErrorCode::solver_failed, v1::Error::CODE_SOLVER_FAILED, grpc::StatusCode::ABORTED, false},
    {ErrorCode::file, v1::Error::CODE_FILE, grpc::StatusCode::FAILED_PRECONDITION, false},
    {ErrorCode::unimplemented, v1::Error::CODE_UNIMPLEMENTED, grpc::StatusCode::UNIMPLEMENTED, true},
    {ErrorCode::internal, v1::Error::CODE_INTERNAL, grpc::StatusCode::INTERNAL, true},
};

const Row& row_of(ErrorCode code) {
  for (const auto& row : table) {
    if (row.code == code) return row;
  }
  return table[std::size(table) - 1];
}

ErrorCode code_of(v1::Error::Code message) {
  for (const auto& row : table) {
    if (row.message == message) return row.code;
  }
  return ErrorCode::internal;
}

ErrorCode guess(grpc::StatusCode status) {
  for (const auto& row : table) {
    if (row.is_inferred && row.status == status) return row.code;
  }
  return ErrorCode::internal;
}

/// gRPC drops a call whose headers exceed 8 KiB; the message is sent twice (status and details).
std::string shortened(const std::string& full_message) {
  constexpr std::size_t limit = 1500;
  std::string text = valid_utf8(full_message);
  // The truncation may split a character.
  if (text.size() > limit) text = valid_utf8(text.substr(0, limit)) + " ... (shortened)";
  return text;
}

}  // namespace

void to_proto(const Error& from, v1::Error& to) {
  to.set_code(row_of(from.code()).message);
  // A name in another encoding would invalidate the whole message for the peer.
  to.set_message(valid_utf8(from.what()));
  to.set_field(valid_utf8(from.field()));
  to.set_retryable(from.retryable());
}

Error from_proto(const v1::Error& from) {
  return {code_of(from.code()), from.message(), from.field(), from.retryable()};
}

grpc::Status to_status(const Error& error) {
  return {row_of(error.code()).status, shortened(error.what())};
}

grpc::Status to_status(const Error& error, grpc::ServerContextBase& context) {
  v1::Error details;
  to_proto(error, details);
  details.set_message(shortened(error.what()));
  context.AddTrailingMetadata(error_metadata_key, details.SerializeAsString());
  return to_status(error);
}

Error from_status(const grpc::Status& status, const std::string& details, const std::string& where) {
  v1::Error message;
  if (!details.empty() && message.ParseFromString(details)) return from_proto(message);
  const ErrorCode code = guess(status.error_code());
  const bool retry = code == ErrorCode::unavailable || code == ErrorCode::deadline;
  return {code, fmt::format("{}: {} ({})", where, to_string(code), status.error_message()), {}, retry};
}

Error from_status(const grpc::Status& status, const grpc::ClientContext& context, const std::string& where) {
  const auto& trailing = context.GetServerTrailingMetadata();
  const auto it = trailing.find(error_metadata_key);
  const std::string details = it == trailing.end() ? std::string() : std::string(it->second.data(), it->second.size());
  return from_status(status, details, where);
}

}  // namespace heelstrike::wire
