/// Calls of code whose crash this process must survive.
#pragma once

#include <functional>
#include <stop_token>
#include <string>

namespace heelstrike {

/// Calls `work` in a copy of this process (fork) and waits for its end. The copy has only the calling thread, and what
/// it writes to its standard output and error is discarded.
/// @param what  subject of the message after a crash: "the FMU 'controller.fmu'"
/// @param stop  ends the copy
/// @throws the Error of `work`; Error{invalid_input} if the copy ended otherwise than by return or exception;
/// Error{cancelled}; std::system_error without a process
void call_in_child(const std::string& what, const std::function<void()>& work, const std::stop_token& stop = {});

}  // namespace heelstrike
