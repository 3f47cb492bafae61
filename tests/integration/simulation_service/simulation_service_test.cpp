// The simulation service over gRPC, with a scripted run instead of an analysis.
#include <gmock/gmock.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <thread>

#include "common/errors/error.hpp"
#include "common/process/version.hpp"
#include "mbs_server/service/simulation_service.hpp"
#include "rpc/call.hpp"
#include "rpc/wire/checksum.hpp"
#include "rpc/wire/error_wire.hpp"

namespace heelstrike::mbs {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr const char* scenario = R"(heelstrike: 1
gravity: [0, 0, 0]
bodies:
  ball: {mass: 1.0, inertia: [0.1, 0.1, 0.1], position: [0, 0, 0]}
analysis: {end_time: 1.0}
output: {interval: 0.1}
)";

/// Releases the scripted run row by row.
class CallGuard {
 public:
  void open(int n) {
    const std::scoped_lock lock(mutex_);
    passes_ += n;
    changed_.notify_all();
  }
  /// @returns false when stopped
  bool pass(std::stop_token stop) {
    std::unique_lock lock(mutex_);
    if (!changed_.wait(lock, stop, [this] { return passes_ > 0; })) return false;
    --passes_;
    return true;
  }

 private:
  std::mutex mutex_;
  std::condition_variable_any changed_;
  int passes_ = 0;
};

struct Service {
  explicit Service(fs::path spool_folder, RunLimits limits = {})
      : store(std::move(spool_folder), limits,
              [this](const RunInput& input, const ContactFactory&, RunSink& sink, std::stop_token stop) {
                return scripted(input, sink, stop);
              }),
        service(store, {.schemas = [] { return BackendSchemas(); }, .open = {}}, contract_version) {
    grpc::ServerBuilder builder;
    builder.RegisterService(&service);
    server = builder.BuildAndStart();
    stub = v1::SimulationService::NewStub(server->InProcessChannel({}));
  }
  ~Service() {
    store.begin_drain();
    EXPECT_TRUE(store.wait_until_idle(std::chrono::seconds{20}));
    server->Shutdown(std::chrono::system_clock::now() + std::chrono::seconds{5});
  }

  /// Ten rows (t, 10 t), each when the gate releases it.
  RunSummary scripted(const RunInput& input, RunSink& sink, std::stop_token stop) {
    const Column columns[] = {{"time_s", "s", "time"}, {"x_m", "m", "place"}};
    sink.on_schema(columns);
    RunSummary summary;
    summary.scenario = input.scenario.name;
    summary.status = "completed";
    for (int i = 0; i < 10; ++i) {
      if (!gate.pass(stop)) {
        summary.status = "cancelled";
        break;
      }
      const double row[] = {0.1 * i, i * 1.0};
      sink.on_row(row);
      summary.integrator.steps = i + 1;
    }
    return summary;
  }

  Error submit(const std::string& yaml, const std::string& run_id, std::uint32_t contract = contract_version) {
    grpc::ClientContext context;
    v1::SubmitRunResponse response;
    const auto writer = stub->SubmitRun(&context, &response);
    v1::SubmitRunRequest request;
    request.mutable_header()->set_scenario_yaml(yaml);
    request.mutable_header()->set_scenario_name("test.yaml");
    request.mutable_header()->set_run_id(run_id);
    request.mutable_header()->set_contract(contract);
    writer->Write(request);
    writer->WritesDone();
    const grpc::Status status = writer->Finish();
    if (status.ok()) return {ErrorCode::internal, "accepted"};
    return wire::from_status(status, context, "SubmitRun");
  }

  /// Values of all rows after `after`, and the last event.
  std::vector<double> watch(const std::string& run_id, std::uint64_t after, std::string* status = nullptr) {
    grpc::ClientContext context;
    v1::WatchRunRequest request;
    request.set_run_id(run_id);
    request.set_after_sequence(after);
    const auto reader = stub->WatchRun(&context, request);
    std::vector<double> values;
    std::uint64_t last = after;
    for (v1::RunEvent event; reader->Read(&event);) {
      EXPECT_GT(event.sequence(), last) << "events must be in order";
      last = event.sequence();
      values.insert(values.end(), event.samples().values().begin(), event.samples().values().end());
      if (event.has_finished() && status != nullptr) *status = event.finished().status();
    }
    const grpc::Status end = reader->Finish();
    if (!end.ok() && status != nullptr) *status = end.error_message();
    return values;
  }

  v1::RunStatus status(const std::string& run_id) {
    grpc::ClientContext context;
    v1::FetchResultsRequest request;
    request.set_run_id(run_id);
    v1::FetchResultsResponse response;
    EXPECT_TRUE(stub->FetchResults(&context, request, &response).ok());
    return response.status();
  }

  CallGuard gate;
  RunStore store;
  SimulationService service;
  std::unique_ptr<grpc::Server> server;
  std::unique_ptr<v1::SimulationService::Stub> stub;
};

class SimulationServiceTest : public testing::Test {
 protected:
  SimulationServiceTest() {
    std::string name = (fs::temp_directory_path() / "hs-spool-XXXXXX").string();
    spool = ::mkdtemp(name.data());
  }
  ~SimulationServiceTest() override { fs::remove_all(spool); }
  fs::path spool;
};

TEST_F(SimulationServiceTest, WatchFromAnyEventReturnsTheRest) {
  Service service(spool);
  ASSERT_EQ(std::string(service.submit(scenario, "one").what()), "accepted");
  service.gate.open(10);
  std::string status;
  const std::vector<double> all = service.watch("one", 0, &status);
  EXPECT_EQ(status, "completed");
  ASSERT_EQ(all.size(), 20U);
  EXPECT_EQ(all[19], 9.0);
  // Event 1 is the schema, events 2 to 11 are the rows: after 6, rows 5 to 9 remain.
  const std::vector<double> rest = service.watch("one", 6);
  EXPECT_EQ(rest, std::vector<double>(all.begin() + 10, all.end()));
}

TEST_F(SimulationServiceTest, WatcherThatDoesNotReadDoesNotBlockTheRun) {
  Service service(spool);
  ASSERT_EQ(std::string(service.submit(scenario, "one").what()), "accepted");
  grpc::ClientContext lazy;
  v1::WatchRunRequest request;
  request.set_run_id("one");
  const auto never_read = service.stub->WatchRun(&lazy, request);
  service.gate.open(10);
  EXPECT_EQ(service.watch("one", 0).size(), 20U);
  EXPECT_EQ(service.status("one").state(), "completed");
  lazy.TryCancel();
  (void)never_read->Finish();
}

TEST_F(SimulationServiceTest, CancelEndsTheRunAndForgetRemovesIt) {
  Service service(spool);
  ASSERT_EQ(std::string(service.submit(scenario, "one").what()), "accepted");
  v1::DeleteRunRequest forget;
  forget.set_run_id("one");
  v1::DeleteRunResponse forgotten;
  {
    grpc::ClientContext context;
    EXPECT_EQ(service.stub->DeleteRun(&context, forget, &forgotten).error_code(), grpc::FAILED_PRECONDITION);
  }
  grpc::ClientContext cancel_context;
  v1::CancelRunRequest cancel;
  cancel.set_run_id("one");
  v1::CancelRunResponse cancelled;
  EXPECT_TRUE(service.stub->CancelRun(&cancel_context, cancel, &cancelled).ok());
  std::string status;
  (void)service.watch("one", 0, &status);
  EXPECT_EQ(status, "cancelled");
  {
    grpc::ClientContext context;
    EXPECT_TRUE(service.stub->DeleteRun(&context, forget, &forgotten).ok());
  }
  EXPECT_FALSE(fs::exists(spool / "one.events"));
  grpc::ClientContext context;
  EXPECT_EQ(service.stub->DeleteRun(&context, forget, &forgotten).error_code(), grpc::NOT_FOUND);
}

TEST_F(SimulationServiceTest, RejectsInvalidRequestsWithReasons) {
  RunLimits limits;
  limits.max_running = 1;
  limits.max_scenario_bytes = 1000;
  Service service(spool, limits);
  EXPECT_EQ(service.submit(scenario, "one", contract_version + 1).code(), ErrorCode::version_mismatch);
  EXPECT_EQ(service.submit(scenario, "../one").code(), ErrorCode::invalid_input);
  EXPECT_EQ(service.submit("heelstrike: 1\nbodies: [", "one").code(), ErrorCode::invalid_input);
  const Error too_large = service.submit(scenario + std::string(1000, '#'), "one");
  EXPECT_EQ(too_large.code(), ErrorCode::limit);
  EXPECT_THAT(too_large.what(), HasSubstr("1000"));
  ASSERT_EQ(std::string(service.submit(scenario, "one").what()), "accepted");
  EXPECT_EQ(service.submit(scenario, "two").code(), ErrorCode::limit);
  service.gate.open(10);
  (void)service.watch("one", 0);
  EXPECT_EQ(std::string(service.submit(scenario, "one").what()), "accepted") << "the same again: its response was lost";
  const std::string another = std::string(scenario) + "# another\n";
  EXPECT_EQ(service.submit(another, "one").code(), ErrorCode::invalid_input) << "the name is taken";
  service.store.begin_drain();
  EXPECT_EQ(service.submit(scenario, "three").code(), ErrorCode::unavailable);
}

TEST_F(SimulationServiceTest, FilesAreSentOnceInChunksOfAtMostOneMebibyte) {
  Service service(spool);
  const auto submitted = [&](const std::vector<std::pair<std::string, std::size_t>>& files) {
    grpc::ClientContext context;
    v1::SubmitRunResponse response;
    const auto writer = service.stub->SubmitRun(&context, &response);
    v1::SubmitRunRequest part;
    part.mutable_header()->set_scenario_yaml(scenario);
    part.mutable_header()->set_contract(contract_version);
    bool going = writer->Write(part);
    for (const auto& [name, size] : files) {
      part.mutable_file()->set_name(name);
      part.mutable_file()->set_content(std::string(size, 'x'));
      part.mutable_file()->set_last(true);
      going = going && writer->Write(part);
    }
    writer->WritesDone();
    const grpc::Status status = writer->Finish();
    return status.ok() ? Error(ErrorCode::internal, "accepted") : wire::from_status(status, context, "SubmitRun");
  };
  constexpr std::size_t mebibyte = std::size_t{1} << 20U;
  EXPECT_THAT(submitted({{"a.stl", mebibyte}, {"b.stl", 5}}).what(), HasSubstr("accepted"));
  for (const std::size_t size : {mebibyte + 1, 3 * mebibyte}) {
    const Error large = submitted({{"a.stl", size}});
    EXPECT_EQ(large.code(), ErrorCode::invalid_input);
    EXPECT_THAT(large.what(), HasSubstr("a.stl"));
  }
  const Error twice = submitted({{"a.stl", 5}, {"b.stl", 5}, {"a.stl", 5}});
  EXPECT_EQ(twice.code(), ErrorCode::invalid_input);
  EXPECT_THAT(twice.what(), HasSubstr("'a.stl' is sent twice"));
}

TEST_F(SimulationServiceTest, WatchBeyondTheEndOfAFinishedRunEndsImmediately) {
  Service service(spool);
  ASSERT_EQ(std::string(service.submit(scenario, "one").what()), "accepted");
  service.gate.open(10);
  std::string status;
  (void)service.watch("one", 0, &status);
  ASSERT_EQ(status, "completed");
  const std::uint64_t last = service.status("one").last_sequence();
  status = "nothing";
  EXPECT_TRUE(service.watch("one", last, &status).empty());
  EXPECT_EQ(status, "nothing") << "there is no further event, and nothing is wrong";
  EXPECT_TRUE(service.watch("one", last + 1, &status).empty());
  EXPECT_THAT(status, HasSubstr("after_sequence: expected at most " + std::to_string(last)));
}

TEST_F(SimulationServiceTest, CorruptedSubmissionIsRejectedAsRepeatable) {
  Service service(spool);
  grpc::ClientContext context;
  v1::SubmitRunResponse response;
  const auto writer = service.stub->SubmitRun(&context, &response);
  v1::SubmitRunRequest part;
  part.mutable_header()->set_scenario_yaml(scenario);
  part.mutable_header()->set_contract(contract_version);
  wire::set_message_checksum(part);
  part.mutable_header()->mutable_scenario_yaml()->back() = ' ';
  writer->Write(part);
  writer->WritesDone();
  const grpc::Status status = writer->Finish();
  const Error error = wire::from_status(status, context, "SubmitRun");
  EXPECT_EQ(error.code(), ErrorCode::unavailable);
  EXPECT_EQ(error.field(), "checksum");
  EXPECT_TRUE(rpc::is_connection_lost(status, context)) << "so that clients send it again";
}

TEST_F(SimulationServiceTest, RunWithoutALastEventIsInterruptedAfterARestart) {
  {
    Service service(spool);
    ASSERT_EQ(std::string(service.submit(scenario, "whole").what()), "accepted");
    service.gate.open(10);
    (void)service.watch("whole", 0);
  }
  // As after kill -9: the last event is missing, and a truncated one may follow.
  const auto size = fs::file_size(spool / "whole.events");
  fs::copy(spool / "whole.events", spool / "torn.events");
  fs::resize_file(spool / "torn.events", size - 3);
  Service service(spool);
  EXPECT_EQ(service.status("whole").state(), "completed");
  EXPECT_EQ(service.status("torn").state(), "interrupted");
  std::string status;
  EXPECT_EQ(service.watch("torn", 0, &status).size(), 20U) << "all rows were committed";
  EXPECT_THAT(status, HasSubstr("interrupted"));
}

/// As after kill -9 of a run with three rows: a watcher continues with the next number.
TEST_F(SimulationServiceTest, RunResumesAfterARestart) {
  const fs::path copy = spool.string() + "-copy";
  std::uint64_t seen = 0;
  {
    Service service(spool);
    ASSERT_EQ(std::string(service.submit(scenario, "one").what()), "accepted");
    service.gate.open(3);
    while (service.status("one").last_sequence() < 4) std::this_thread::yield();
    seen = service.status("one").last_sequence();
    fs::copy(spool, copy, fs::copy_options::recursive);
  }
  std::ofstream(copy / "one.events", std::ios::app) << "torn";
  {
    Service service(copy);
    service.service.resume();
    EXPECT_EQ(service.status("one").state(), "running");
    EXPECT_EQ(std::string(service.submit(scenario, "one").what()), "accepted") << "the same submission again";
    service.gate.open(10);
    std::string status;
    EXPECT_EQ(service.watch("one", seen, &status).size(), 20U) << "all rows again, none of the earlier ones";
    EXPECT_EQ(status, "completed");
    EXPECT_EQ(service.watch("one", 0, &status).size(), 26U);
  }
  fs::remove_all(copy);
}

TEST_F(SimulationServiceTest, RunThatCrashesItsServersIsAbandoned) {
  const fs::path copy = spool.string() + "-copy";
  {
    Service service(spool);
    ASSERT_EQ(std::string(service.submit(scenario, "one").what()), "accepted");
    service.gate.open(1);
    while (service.status("one").last_sequence() < 2) std::this_thread::yield();
    fs::copy(spool, copy, fs::copy_options::recursive);
  }
  for (int exit_text = 0; exit_text < max_failed_restarts; ++exit_text) {
    const fs::path next = copy.string() + "-next";
    Service service(copy);
    const std::uint64_t before = service.status("one").last_sequence();
    service.service.resume();
    // The resumption, a log line about it, and the columns; numbers jump by 2^32.
    while (service.status("one").last_sequence() < before + (std::uint64_t{1} << 32U) + 3) std::this_thread::yield();
    fs::copy(copy, next, fs::copy_options::recursive);
    service.store.begin_drain();
    ASSERT_TRUE(service.store.wait_until_idle(std::chrono::seconds{20}));
    for (const auto& file : fs::directory_iterator(next)) {
      if (file.path().extension() == ".events") fs::rename(file.path(), copy / file.path().filename());
    }
    fs::remove_all(next);
  }
  Service service(copy);
  service.service.resume();
  std::string status;
  (void)service.watch("one", 0, &status);
  EXPECT_EQ(status, "failed");
  fs::remove_all(copy);
}

TEST_F(SimulationServiceTest, FinishedRunThatIsNotFetchedExpires) {
  RunLimits limits;
  limits.retention_time = std::chrono::hours{1};
  const auto age = [&](const std::string& run_id) {
    fs::last_write_time(spool / (run_id + ".events"), fs::file_time_type::clock::now() - std::chrono::hours{2});
  };
  {
    Service service(spool, limits);
    service.gate.open(20);
    for (const std::string name : {"old", "young"}) {
      ASSERT_EQ(std::string(service.submit(scenario, name).what()), "accepted");
      (void)service.watch(name, 0);
    }
    age("old");
    ASSERT_EQ(std::string(service.submit(scenario, "next").what()), "accepted");
    EXPECT_FALSE(fs::exists(spool / "old.events")) << "the start of a run makes room";
    EXPECT_EQ(service.status("young").state(), "completed");
    age("next");
    ASSERT_EQ(std::string(service.submit(scenario, "last").what()), "accepted");
    EXPECT_EQ(service.status("next").state(), "running") << "a running run is kept, however old its last event";
  }
  age("young");
  Service service(spool, limits);
  EXPECT_FALSE(fs::exists(spool / "young.events")) << "a restart makes room";
}

TEST_F(SimulationServiceTest, RowsAreSentInBatchesAndTheLastEventImmediately) {
  fs::create_directories(spool);
  const auto log = RunLog::create(spool / "batches.events");
  // After its first wait this reader does not look for events for an hour, except for a full message or the end.
  RunLogReader reader(log, 0, {.distance = std::chrono::hours{1}});
  const auto add_rows = [&](int n) {
    v1::RunEvent row;
    for (int i = 0; i < 32; ++i) row.mutable_samples()->add_values(0.5 * i);
    for (int i = 0; i < n; ++i) log->append(row);
  };
  v1::RunEvent event;
  // A reader checks for cancellation once before it waits, and again only when no event is available, as here.
  int n_checks = 0;
  const auto cancel_instead_of_waiting = [&n_checks] { return ++n_checks > 1; };
  const auto next_without_waiting = [&] {
    n_checks = 0;
    EXPECT_TRUE(reader.next(event, cancel_instead_of_waiting));
    return n_checks <= 1;
  };
  add_rows(1);
  EXPECT_TRUE(next_without_waiting()) << "the first events are sent immediately";
  add_rows(100);
  EXPECT_FALSE(next_without_waiting()) << "a hundred rows of 32 numbers are no full message";
  EXPECT_EQ(event.samples().values_size(), 100 * 32) << "joined";
  add_rows(400);  // 100 KiB
  EXPECT_TRUE(next_without_waiting()) << "a full message does not wait";
  EXPECT_EQ(event.samples().values_size(), 8192);
  while (event.sequence() < log->last_sequence()) EXPECT_TRUE(next_without_waiting());
  add_rows(3);
  v1::RunEvent last;
  last.mutable_finished()->set_status("completed");
  log->append(last);
  EXPECT_TRUE(next_without_waiting()) << "the end does not wait for the hour";
  EXPECT_EQ(event.samples().values_size(), 3 * 32);
  EXPECT_TRUE(next_without_waiting());
  EXPECT_TRUE(event.has_finished());
  EXPECT_FALSE(reader.next(event, [] { return false; }));
}

TEST_F(SimulationServiceTest, ViewerGetsThinnedRowsWithExtremesAndTheOmittedCount) {
  fs::create_directories(spool);
  const auto log = RunLog::create(spool / "viewed.events");
  v1::RunEvent schema;
  for (const char* name : {"time_s", "force_N"}) schema.mutable_schema()->add_columns()->set_name(name);
  log->append(schema);
  constexpr int n_rows = 10'000;
  for (int i = 0; i < n_rows; ++i) {
    v1::RunEvent row;
    row.mutable_samples()->add_values(1e-4 * i);
    row.mutable_samples()->add_values(i == 7'777 ? 900.0 : 1.0);
    log->append(row);
  }
  v1::RunEvent last;
  last.mutable_finished()->set_status("completed");
  log->append(last);
  // Also for a viewer that has received the schema before.
  for (const std::uint64_t after : {0U, 1U}) {
    RunLogReader reader(log, after, {.distance = std::chrono::hours{1}, .max_rows = 50});
    std::vector<double> times;
    double largest = 0.0;
    std::uint64_t n_skipped_rows = 0;
    std::uint64_t last_sequence = 0;
    for (v1::RunEvent event; reader.next(event, [] { return false; });) {
      last_sequence = event.sequence();
      for (int i = 0; i + 1 < event.samples().values_size(); i += 2) {
        times.push_back(event.samples().values(i));
        largest = std::max(largest, event.samples().values(i + 1));
      }
      n_skipped_rows += event.samples().n_skipped_rows();
    }
    EXPECT_LE(times.size(), 54U);
    EXPECT_EQ(times.size() + n_skipped_rows, static_cast<std::size_t>(n_rows));
    EXPECT_EQ(largest, 900.0) << "the one row in which the force is large";
    EXPECT_TRUE(std::ranges::is_sorted(times));
    EXPECT_EQ(times.back(), 1e-4 * (n_rows - 1)) << "the state of now";
    EXPECT_EQ(last_sequence, log->last_sequence());
  }
}

TEST_F(SimulationServiceTest, InvalidThinningIsRejected) {
  Service service(spool);
  service.gate.open(1);
  ASSERT_EQ(std::string(service.submit(scenario, "viewed").what()), "accepted");
  for (const auto& [interval, max_rows] : {std::pair{-1.0, 10U}, {61.0, 10U}, {std::nan(""), 10U}, {0.1, 0U}}) {
    grpc::ClientContext context;
    v1::WatchRunRequest request;
    request.set_run_id("viewed");
    request.mutable_thinning()->set_update_interval(interval);
    request.mutable_thinning()->set_max_rows(max_rows);
    const auto reader = service.stub->WatchRun(&context, request);
    v1::RunEvent event;
    EXPECT_FALSE(reader->Read(&event));
    const Error error = wire::from_status(reader->Finish(), context, "WatchRun");
    EXPECT_EQ(error.code(), ErrorCode::invalid_input) << error.what();
    EXPECT_NE(std::string(error.what()).find("update_interval"), std::string::npos) << error.what();
  }
}

// A server that was killed while it stored a submission has no such run: the client sends it again.
TEST_F(SimulationServiceTest, TruncatedSubmissionStartsNoRun) {
  std::ofstream(spool / "one.input") << "half of";
  std::ofstream(spool / "one.owner") << "somebody";
  Service service(spool);
  EXPECT_FALSE(fs::exists(spool / "one.input"));
  EXPECT_FALSE(fs::exists(spool / "one.owner"));
}

TEST_F(SimulationServiceTest, SpoolIsUsedByOneServer) {
  const Service service(spool);
  EXPECT_THROW(RunStore(spool, {}, {}), Error);
}

}  // namespace
}  // namespace heelstrike::mbs
