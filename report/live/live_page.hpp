/// A local page that shows runs in progress.
#pragma once

#include <memory>
#include <string>

#include "report/live/live_run.hpp"

namespace heelstrike {

struct LivePageOptions {
  int port = 0;             ///< 0 = any free one
  bool allow_stop = false;  ///< the page may cancel runs, with the token
};

/// Serves the page on the loopback interface only, from construction to destruction, with a fixed number of threads.
/// Each response is a complete, thinned snapshot of a run; the server stores no state per client. Requests under a
/// foreign host name are rejected, so that other sites cannot read through the browser.
class LivePage {
 public:
  /// @param runs  outlives the page
  /// @throws Error{unavailable} when the port is taken
  LivePage(LiveRuns& runs, const LivePageOptions& options);
  LivePage(const LivePage&) = delete;
  LivePage& operator=(const LivePage&) = delete;
  ~LivePage();

  [[nodiscard]] int port() const;
  /// Address for a browser; ends with the token when stopping runs is allowed.
  [[nodiscard]] std::string url() const;

 private:
  class Server;
  std::unique_ptr<Server> server_;
};

}  // namespace heelstrike
