/* LLVM's archives, as Debian 12 builds them, ask this for names of temporary files, which Heddle never makes by them. glibc has it
   since 2.36; with it here, what they are linked into runs from 2.35 on. */
#include <stdint.h>
#include <sys/random.h>

__attribute__((visibility("hidden"))) uint32_t arc4random(void) {
    uint32_t number;
    while (getrandom(&number, sizeof number, 0) != (long)sizeof number) {
    }
    return number;
}
