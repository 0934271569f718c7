// The command line.
#pragma once

namespace heddle::cli {

// Exit status: 0 fine, 1 an error that was printed, 2 a wrong command line.
int run(int count, char** arguments);

}  // namespace heddle::cli
