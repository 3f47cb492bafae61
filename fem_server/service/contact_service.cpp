#include "fem_server/service/contact_service.hpp"

#include <fmt/format.h>
#include <malloc.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cctype>
#include <deque>
#include <memory>
#include <thread>
#include <utility>

#include "common/errors/error.hpp"
#include "common/errors/pair_limit.hpp"
#include "common/errors/plain_text.hpp"
#include "common/errors/rejection.hpp"
#include "common/process/version.hpp"
#include "fem_server/service/exchange_handler.hpp"
#include "fem_server/sessions/open_session.hpp"
#include "rpc/channel.hpp"
#include "rpc/wire/checksum.hpp"
#include "rpc/wire/contact_wire.hpp"
#include "rpc/wire/error_wire.hpp"
#include "rpc/wire/pair_spec_wire.hpp"

namespace heelstrike::fem {

namespace {

using wire::FieldPath;

/// A client-supplied name, sanitised for unquoted use in a log line.
std::string for_log(std::string text) {
  text = text.substr(0, 64);
  std::ranges::replace_if(
      text, [](unsigned char c) { return !std::isprint(c) || c == '"' || c == ' '; }, '_');
  return text.empty() ? "-" : text;
}

void send_progress(grpc::ServerWriter<v1::OpenSessionResponse>& writer, std::string_view stage, double fraction) {
  v1::OpenSessionResponse event;
  event.mutable_progress()->set_stage(std::string(stage));
  event.mutable_progress()->set_fraction(fraction);
  wire::set_message_checksum(event);
  writer.Write(event);
}

/// @throws wire::corrupted_message_error. The request object belongs to gRPC and has no other reader.
template <typename Request>
void require_intact(const Request& request) {
  wire::require_intact(const_cast<Request&>(request), "request");
}

/// The valid states of a batch, and for each state of the request its parse error (null = valid).
struct ReadStates {
  explicit ReadStates(const v1::EvaluateBatchRequest& request)
      : parse_errors(static_cast<std::size_t>(request.states_size())) {
    const FieldPath root("");
    good.reserve(parse_errors.size());
    for (std::size_t i = 0; i < parse_errors.size(); ++i) {
      try {
        PairState state;
        wire::from_proto(request.states(static_cast<int>(i)), state, FieldPath(root, "states", i));
        good.push_back(state);
      } catch (const Error& error) {
        parse_errors[i] = std::make_unique<const Error>(error);
      }
    }
  }
  std::vector<PairState> good;  ///< in the order of the request
  std::vector<std::unique_ptr<const Error>> parse_errors;
};

/// Sessions and states of a request for commits along prescribed motion; the sessions count as in use during its
/// lifetime.
struct PrescribedMotion {
  /// @throws Error{invalid_input}, Error{limit}, Error{not_found}
  PrescribedMotion(const v1::CommitMotionRequest& request, SessionTable& table, const SessionTable::Client& client,
                   const ServiceLimits& limits) {
    const auto n_pairs = static_cast<std::size_t>(request.pairs_size());
    if (n_pairs == 0) throw input_error("pairs", "pairs: expected at least one pair, found none");
    if (n_pairs > limits.max_exchange_pairs) {
      throw limit_error("pairs", fmt::format("pairs: this server accepts {} pairs in a call, found {}",
                                             limits.max_exchange_pairs, n_pairs));
    }
    const FieldPath root("");
    for (std::size_t i = 0; i < n_pairs; ++i) {
      const v1::PairMotion& pair = request.pairs(static_cast<int>(i));
      const auto n = static_cast<std::size_t>(pair.states_size());
      if (n > limits.max_motion_states) {
        throw limit_error(
            "states", fmt::format("pairs[{}].states: this server accepts {} states in a call, found {}; split it", i,
                                  limits.max_motion_states, n));
      }
      open.push_back(table.find(pair.session_id(), client));
      uses.emplace_back(*open.back());
      Session* session = &open.back()->session();
      if (std::ranges::find(sessions, session) != sessions.end()) {
        throw input_error("pairs", fmt::format("pairs[{}]: the same session appears twice", i));
      }
      sessions.push_back(session);
      auto& own = states.emplace_back(n);
      const FieldPath path(root, "pairs", i);
      for (std::size_t k = 0; k < n; ++k) {
        wire::from_proto(pair.states(static_cast<int>(k)), own[k], FieldPath(path, "states", k));
      }
    }
  }

  std::vector<std::shared_ptr<OpenSession>> open;
  std::deque<OpenSession::CallReference> uses;
  std::vector<Session*> sessions;
  std::vector<std::vector<PairState>> states;
};

}  // namespace

CallCounter::Work CallCounter::enter() {
  const std::lock_guard lock(mutex_);
  ++n_working_;
  return Work(*this);
}

CallCounter::Work::~Work() {
  const std::lock_guard lock(counter_.mutex_);
  if (--counter_.n_working_ == 0) counter_.idle_.notify_all();
}

void CallCounter::begin_drain() {
  const std::lock_guard lock(mutex_);
  draining_ = true;
}

void CallCounter::require_open() const {
  const std::lock_guard lock(mutex_);
  if (draining_)
    throw unavailable_error("the contact server is shutting down and accepts no new work; use another one");
}

bool CallCounter::wait_idle(std::chrono::milliseconds timeout) {
  std::unique_lock lock(mutex_);
  return idle_.wait_for(lock, timeout, [this] { return n_working_ == 0; });
}

WorkerSemaphore::Slot::Slot(WorkerSemaphore& slots, const std::stop_token& stop) : slots_(slots) {
  std::unique_lock lock(slots_.mutex_);
  slots_.freed_.wait(lock, stop, [this] { return slots_.free_ > 0; });
  if (stop.stop_requested()) throw Error(ErrorCode::cancelled, "the client's call ended while it was queued");
  --slots_.free_;
}

WorkerSemaphore::Slot::~Slot() {
  {
    const std::scoped_lock lock(slots_.mutex_);
    ++slots_.free_;
  }
  slots_.freed_.notify_one();
}

ContactServiceImpl::ContactServiceImpl(const ServiceLimits& limits, const std::filesystem::path& assets_folder,
                                       std::string cache_directory)
    : limits_(limits),
      slots_(std::max(1U, std::thread::hardware_concurrency())),
      uploads_(limits.max_upload_bytes / 2, limits.max_upload_bytes),
      upload_slots_(rpc::upload_limits()),
      assets_(limits, assets_folder),
      sessions_(limits, [this](std::size_t n) { metrics_.set_open_sessions(n); }),
      cache_directory_(std::move(cache_directory)) {}

namespace {

/// Marks a reached limit as specific to this server: capacity may be available later or on another server. The need of
/// a pair remains: its run has failed, as with a server of its own.
Error of_this_server(const Error& error) {
  const bool is_of_pair = dynamic_cast<const PairLimit*>(&error) != nullptr;
  if (error.code() != ErrorCode::limit || is_of_pair) return error;
  return {error.code(), error.what(), error.field(), true};
}

}  // namespace

template <typename Body>
grpc::Status ContactServiceImpl::run_call(grpc::ServerContext& context, Body&& body) {
  const CallCounter::Work work = calls_in_progress_.enter();
  try {
    std::forward<Body>(body)();
    return grpc::Status::OK;
  } catch (const Error& error) {
    metrics_.failed(error.code());
    return wire::to_status(of_this_server(error), context);
  } catch (const std::exception& exception) {
    const Error error = of_this_server(untyped_error(exception, "defect in the contact server"));
    spdlog::error("event=defect peer=\"{}\" message=\"{}\"", context.peer(), one_line(exception.what()));
    metrics_.failed(error.code());
    return wire::to_status(error, context);
  }
}

grpc::Status ContactServiceImpl::GetVersion(grpc::ServerContext* /*context*/, const v1::GetVersionRequest* /*request*/,
                                            v1::VersionInfo* response) {
  response->set_version(std::string(program_version));
  response->set_contract(contract_version);
  return grpc::Status::OK;
}

grpc::Status ContactServiceImpl::ListBackends(grpc::ServerContext* context, const v1::ListBackendsRequest* /*request*/,
                                              v1::ListBackendsResponse* response) {
  return run_call(*context, [&] {
    for (const auto& entry : backend_registry()) {
      auto& backend = *response->add_backends();
      backend.set_name(entry.name);
      backend.set_summary(entry.summary);
      backend.set_reference(entry.reference);
      for (const auto& parameter : entry.parameters) wire::to_proto(parameter, *backend.add_parameters());
      backend.mutable_surface_pairs()->Assign(entry.surface_pairs.begin(), entry.surface_pairs.end());
    }
  });
}

grpc::Status ContactServiceImpl::UploadAsset(grpc::ServerContext* context,
                                             grpc::ServerReader<v1::UploadAssetRequest>* reader,
                                             v1::UploadAssetResponse* response) {
  return run_call(*context, [&] {
    calls_in_progress_.require_open();
    receive_asset(*context, *reader, *response);
  });
}

void ContactServiceImpl::receive_asset(grpc::ServerContext& context, grpc::ServerReader<v1::UploadAssetRequest>& reader,
                                       v1::UploadAssetResponse& response) {
  rpc::UploadCall call(call_watch_, upload_slots_, uploads_, context, rpc::identity_of(context).account);
  v1::UploadAssetRequest part;
  if (!reader.Read(&part) || !part.has_header()) {
    throw input_error("header", "header: the first message of an upload is the header; send it before the chunks");
  }
  call.begun();
  const v1::Asset header = part.header();
  assets_.check_header(header.sha256(), header.name(), header.size_bytes());
  *response.mutable_asset() = header;
  if (assets_.contains(header.sha256())) return response.set_already_stored(true);

  AssetContent asset{.sha256 = header.sha256(), .name = header.name(), .content = {}};
  asset.content.edit().reserve(
      header.size_bytes());  // pages are committed on write; growing would copy and double the memory
  bool any_chunk = false;
  while (reader.Read(&part)) {
    if (part.part_case() != v1::UploadAssetRequest::kChunk || part.chunk().size() > rpc::upload_chunk_bytes) {
      throw input_error(
          "chunk",
          fmt::format("chunk: expected chunks of at most {} bytes after the header, found {}", rpc::upload_chunk_bytes,
                      part.has_header() ? "another header" : fmt::format("{} bytes", part.chunk().size())));
    }
    if (asset.content.size() + part.chunk().size() > header.size_bytes()) {
      throw input_error("chunk", fmt::format("asset '{}': more content than the {} bytes declared in the header",
                                             header.name(), header.size_bytes()));
    }
    call.reserve(part.chunk().size());
    any_chunk = true;
    asset.content.edit() += part.chunk();
  }
  call.complete();
  if (call.stopped()) {
    throw Error(ErrorCode::cancelled,
                fmt::format("asset '{}': the upload ended before it was complete", header.name()));
  }
  if (!any_chunk) {
    throw not_found_error(
        fmt::format("asset with sha256 '{}' is not on the server; send its content", header.sha256()));
  }
  assets_.insert(std::move(asset));
}

grpc::Status ContactServiceImpl::OpenSession(grpc::ServerContext* context, const v1::OpenSessionRequest* request,
                                             grpc::ServerWriter<v1::OpenSessionResponse>* writer) {
  return run_call(*context, [&] {
    calls_in_progress_.require_open();
    require_intact(*request);
    open(*context, *request, *writer);
  });
}

void ContactServiceImpl::open(grpc::ServerContext& context, const v1::OpenSessionRequest& request,
                              grpc::ServerWriter<v1::OpenSessionResponse>& writer) {
  if (request.contract() != contract_version) {
    throw Error(
        ErrorCode::version_mismatch,
        fmt::format("this server speaks contract {} (program {}), the client speaks contract {}; install the same "
                    "version on both sides",
                    contract_version, program_version, request.contract()),
        "contract");
  }
  if (!request.has_pair()) wire::throw_missing(FieldPath("pair"));
  const PairSpec pair = wire::from_proto(request.pair(), FieldPath("pair"));
  auto slot = sessions_.reserve();
  const auto begin = std::chrono::steady_clock::now();

  const rpc::CallWatch::Call call(call_watch_, context);
  std::deque<AssetStore::Content> assets;  // keeps assets of the preparation alive
  const PrepareContext prepare{
      .asset = [&](const AssetKey& file) -> const AssetContent& { return *assets.emplace_back(assets_.find(file)); },
      .on_progress = [&](std::string_view stage, double fraction) { send_progress(writer, stage, fraction); },
      .stop = call.token(),
      .cache_directory = cache_directory_,
      .max_elements = limits_.max_mesh_elements,
      .locks = &locks_};
  std::unique_ptr<Session> session;
  try {
    session = open_session(pair, prepare);
    if (call.token().stop_requested())
      throw Error(ErrorCode::cancelled, "the client's call ended: preparation stopped on request");
  } catch (const Error& error) {
    spdlog::info("event=session_not_opened run={} pair={} backend={} code=\"{}\" message=\"{}\"",
                 for_log(request.run_id()), for_log(pair.name), for_log(pair.backend), to_string(error.code()),
                 one_line(error.what()));
    session.reset();
    // Otherwise small blocks freed by the preparation stay with the process.
    ::malloc_trim(0);
    throw;
  }
  prepare.on_progress("open", 1.0);

  const SessionTable::Client client = rpc::identity_of(context);
  const auto entry = sessions_.insert(std::move(slot), for_log(request.run_id()), client.owner, std::move(session));
  metrics_.session_opened();
  v1::OpenSessionResponse event;
  auto& opened = *event.mutable_opened();
  wire::to_proto(entry->session().description(), opened);
  opened.set_session_id(entry->id());
  opened.set_history_independent(entry->session().traits().history_independent);
  opened.set_idle_timeout(static_cast<double>(sessions_.idle_timeout().count()) / 1000.0);
  wire::set_message_checksum(event);
  if (!writer.Write(event)) sessions_.close(entry->id(), client);  // the client did not receive the id
  spdlog::info("event=session_opened run={} session={} pair={} backend={} took_ms={:.1f}", entry->run_id(),
               entry->number(), for_log(pair.name), for_log(pair.backend),
               std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count());
}

std::unique_ptr<rpc::ExchangeServer> ContactServiceImpl::serve_exchange(grpc::ServerBuilder& builder, int max_calls) {
  rpc::StreamLimits limits = limits_.streams;
  limits.max_streams = std::min(limits.max_streams, static_cast<std::size_t>(max_calls));
  limits.idle = limits_.idle_timeout;
  limits.inactivity_limit = limits_.min_lease;
  streams_ = std::make_unique<rpc::StreamSlots>(limits);
  return std::make_unique<rpc::ExchangeServer>(builder, *this, *streams_,
                                               [this](rpc::ServedExchange& call) { return exchange(call); });
}

grpc::Status ContactServiceImpl::exchange(rpc::ServedExchange& call) {
  return run_call(call.context(), [&] {
    const Metrics::OpenStream counted(metrics_);
    ExchangeHandler handler(sessions_, metrics_, limits_.max_exchange_pairs, rpc::identity_of(call.context()));
    v1::ExchangeRequest request;
    v1::ExchangeResponse reply;
    while (call.read(request)) {
      const auto begin = std::chrono::steady_clock::now();
      handler.process(request, reply);
      call.set_has_session(handler.has_open_session());
      reply.set_server_time(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
      if (!call.write(reply)) break;
    }
  });
}

grpc::Status ContactServiceImpl::EvaluateBatch(grpc::ServerContext* context, const v1::EvaluateBatchRequest* request,
                                               v1::EvaluateBatchResponse* response) {
  return run_call(*context, [&] {
    require_intact(*request);
    const auto session = sessions_.find(request->session_id(), rpc::identity_of(*context));
    const auto n = static_cast<std::size_t>(request->states_size());
    if (n > limits_.max_batch_states) {
      throw limit_error("states", fmt::format("states: this server accepts {} states in a batch, found {}; split it",
                                              limits_.max_batch_states, n));
    }
    const ReadStates states(*request);
    const OpenSession::CallReference use(*session);
    const auto begin = std::chrono::steady_clock::now();
    const rpc::CallWatch::Call call(call_watch_, *context);
    const auto entries = session->session().evaluate_batch(
        states.good, std::max(1U, std::thread::hardware_concurrency()),
        request->skip_tangents() ? prescribed_motion : EvaluateOptions{}, call.token());
    const auto duration = std::chrono::steady_clock::now() - begin;
    const auto mean = duration / std::max<std::size_t>(1, entries.size());
    response->set_server_time(std::chrono::duration<double>(duration).count());
    response->mutable_pairs()->Reserve(request->states_size());
    auto entry = entries.begin();
    for (const auto& parse_error : states.parse_errors) {
      auto& pair = *response->add_pairs();
      const Error* error = parse_error ? parse_error.get() : entry->error.get();
      if (error != nullptr) {
        metrics_.failed(error->code());
        wire::to_proto(*error, *pair.mutable_error());
      } else {
        metrics_.evaluated(mean);
        wire::to_proto(entry->response, *pair.mutable_result());
      }
      if (!parse_error) ++entry;
    }
    wire::set_message_checksum(*response);
  });
}

grpc::Status ContactServiceImpl::CommitMotion(grpc::ServerContext* context, const v1::CommitMotionRequest* request,
                                              v1::CommitMotionResponse* response) {
  return run_call(*context, [&] {
    require_intact(*request);
    const auto begin = std::chrono::steady_clock::now();
    const PrescribedMotion motion(*request, sessions_, rpc::identity_of(*context), limits_);
    const rpc::CallWatch::Call call(call_watch_, *context);
    const MotionResponses motion_responses =
        commit_motion_of_sessions(motion.sessions, request->first_step(), motion.states, call.token());
    for (const auto& responses : motion_responses.responses) {
      auto& pair = *response->add_pairs();
      for (const Response& result : responses) {
        wire::to_proto(result, *pair.add_results());
        metrics_.committed();
      }
    }
    if (motion_responses.error) {
      metrics_.failed(motion_responses.error->code());
      wire::to_proto(*motion_responses.error, *response->mutable_error());
    }
    response->set_server_time(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    wire::set_message_checksum(*response);
  });
}

grpc::Status ContactServiceImpl::GetFields(grpc::ServerContext* context, const v1::GetFieldsRequest* request,
                                           v1::GetFieldsResponse* response) {
  return run_call(*context, [&] {
    require_intact(*request);
    const auto session = sessions_.find(request->session_id(), rpc::identity_of(*context));
    const FieldPath path("state");
    if (!request->has_state()) wire::throw_missing(path);
    PairState state;
    wire::from_proto(request->state(), state, path);
    const OpenSession::CallReference use(*session);
    const rpc::CallWatch::Call call(call_watch_, *context);
    const WorkerSemaphore::Slot slot(slots_, call.token());
    response->set_vtu(session->session().fields(state, wire::from_proto(*request, FieldPath("request"))));
    wire::set_message_checksum(*response);
  });
}

grpc::Status ContactServiceImpl::SaveState(grpc::ServerContext* context, const v1::SaveStateRequest* request,
                                           v1::SaveStateResponse* response) {
  return run_call(*context, [&] {
    const auto session = sessions_.find(request->session_id(), rpc::identity_of(*context));
    const OpenSession::CallReference use(*session);
    response->set_state(session->session().save_state());
    response->set_committed_step(session->session().committed_step());
    wire::set_message_checksum(*response);
  });
}

grpc::Status ContactServiceImpl::RestoreState(grpc::ServerContext* context, const v1::RestoreStateRequest* request,
                                              v1::RestoreStateResponse* response) {
  return run_call(*context, [&] {
    require_intact(*request);
    const auto session = sessions_.find(request->session_id(), rpc::identity_of(*context));
    const OpenSession::CallReference use(*session);
    session->session().restore_state(request->state());
    response->set_committed_step(session->session().committed_step());
  });
}

grpc::Status ContactServiceImpl::CloseSession(grpc::ServerContext* context, const v1::CloseSessionRequest* request,
                                              v1::CloseSessionResponse* /*response*/) {
  return run_call(*context, [&] {
    const auto session = sessions_.find(request->session_id(), rpc::identity_of(*context));
    sessions_.close(request->session_id(), rpc::identity_of(*context));
    spdlog::info("event=session_closed run={} session={} pair={}", session->run_id(), session->number(),
                 for_log(session->session().description().name));
  });
}

grpc::Status ContactServiceImpl::GetActivity(grpc::ServerContext* context, const v1::GetActivityRequest* request,
                                             v1::GetActivityResponse* response) {
  return run_call(*context, [&] {
    if (request->session_ids().empty()) {
      throw input_error("session_ids", "session_ids: expected at least one session, found none");
    }
    const SessionTable::Client client = rpc::identity_of(*context);
    auto idle = OpenSession::Clock::duration::max();
    for (const std::string& id : request->session_ids()) idle = std::min(idle, sessions_.idle(id, client));
    response->set_idle(std::chrono::duration<double>(idle).count());
  });
}

grpc::Status ContactServiceImpl::GetCapacity(grpc::ServerContext* context, const v1::GetCapacityRequest* /*request*/,
                                             v1::Capacity* response) {
  return run_call(*context, [&] {
    const auto add = [response](const char* what, std::size_t used, std::size_t limit) {
      v1::Capacity::Slot& place = *response->add_slots();
      place.set_resource(what);
      place.set_used(used);
      place.set_limit(limit);
    };
    add("sessions", sessions_.size(), limits_.max_sessions);
    if (!streams_) return;
    const auto all = streams_->all();
    const auto own = streams_->of_client(rpc::identity_of(*context).account);
    add("exchange streams", all.used, all.limit);
    add("exchange streams of this client", own.used, own.limit);
  });
}

}  // namespace heelstrike::fem
