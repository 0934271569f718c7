// The command line.
#pragma once

namespace heddle::cli {

// From here on an interrupt (Ctrl-C) says so and ends the process with status 130. Files are written beside their
// places first, so that none is left half written.
void end_when_interrupted();

// Exit status: 0 fine, 1 an error that was printed, 2 a wrong command line.
int run(int count, char** arguments);

}  // namespace heddle::cli
