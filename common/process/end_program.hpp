/// The last thing that a program does.
#pragma once

namespace heelstrike {

/// Writes out what is buffered and ends the process, without the destructors of libraries: that of OpenBLAS waits for
/// its threads, and one that finds no memory for its buffer (128 MiB) asks for it for ever. Everything of ours that has
/// to be put away lives in a scope that has ended by now. Builds with sanitizers or for coverage end as usual, which is
/// when leaks are looked for and counts are written.
[[noreturn]] void end_program(int exit_code);

}  // namespace heelstrike
