#include "cli/cli.h"

int main(int count, char** arguments) { return heddle::cli::run(count, arguments); }
