#include "cli/cli.h"

int main(int count, char** arguments) {
    heddle::cli::end_when_interrupted();
    return heddle::cli::run(count, arguments);
}
