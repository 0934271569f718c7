/* An exported program on a board without an operating system, a C library or a mathematical one: QEMU's mps2-an386, a
 * Cortex-M4. What it has to say goes to the host by semihosting (Arm's interface for that, version 3).
 * case.h: `input` and the counts of elements; it prints the elements of the output as bits.
 */
#include "board_model.c"
#include "case.h"

extern uint32_t stack_end;
void start(void);
__attribute__((section(".vectors"), used)) static void* const vectors[] = {&stack_end, (void*)start};

enum { SYS_WRITE0 = 4, SYS_EXIT = 0x18, EXIT_IN_ORDER = 0x20026, EXIT_WITH_ERROR = 0x20024 };

static void ask_host(uint32_t what, uintptr_t with) {
    register uint32_t r0 __asm__("r0") = what;
    register uintptr_t r1 __asm__("r1") = with;
    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
}

/* What compilers ask for in any program. */
void* memset(void* to, int byte, size_t count) {
    for (unsigned char* at = to; count--; at++) *at = (unsigned char)byte;
    return to;
}
void* memcpy(void* to, const void* from, size_t count) {
    for (size_t i = 0; i < count; i++) ((unsigned char*)to)[i] = ((const unsigned char*)from)[i];
    return to;
}

static void say_bits(float value) {
    union {
        float real;
        uint32_t bits;
    } element = {value};
    char text[10] = "00000000\n";
    for (int i = 0; i < 8; i++) text[i] = "0123456789abcdef"[element.bits >> (28 - 4 * i) & 15];
    ask_host(SYS_WRITE0, (uintptr_t)text);
}

static unsigned char workspace[WORKSPACE] __attribute__((aligned(64)));

void start(void) {
    *(volatile uint32_t*)0xe000ed88 |= 0xf << 20; /* the processor's floating-point unit is to be used */
    __asm__ volatile("dsb\nisb");
    static float output[OUTPUTS];
    int64_t in_shape[] = SHAPE, out_shape[] = {1, OUTPUTS};
    static char message[100];
    const DLTensor in = {(void*)(uintptr_t)input, {kDLCPU, 0}, sizeof in_shape / 8, {kDLFloat, 32, 1}, in_shape, 0, 0};
    DLTensor out = {output, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, out_shape, 0, 0};
    const DLTensor* inputs[] = {&in};
    DLTensor* outputs[] = {&out};
    heddle_call call = {.inputs = inputs, .outputs = outputs, .workspace = workspace, .workspace_bytes = WORKSPACE,
                        .message = message, .message_bytes = sizeof message};
    const int32_t status = board_model_run(&call);
    if (status) ask_host(SYS_WRITE0, (uintptr_t)message);
    for (int i = 0; i < OUTPUTS && !status; i++) say_bits(output[i]);
    ask_host(SYS_EXIT, status ? EXIT_WITH_ERROR : EXIT_IN_ORDER);
    for (;;) {
    }
}
