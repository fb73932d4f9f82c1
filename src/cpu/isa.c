/* isa.c: which instruction sets this build brings and this CPU has.
 *
 * Rows go from plain to wide; `auto` takes the last one available. __builtin_cpu_supports also
 * asks whether the operating system saves the registers.
 */
#include "cpu/isa.h"
#include <string.h>
#include "cpu/gemm_ops.h"
#include "cpu/tile_ops.h"

typedef struct IsaRow {
    Isa isa;
    bool (*available)(void);
} IsaRow;

static bool always(void) { return true; }
#ifdef HAVE_ISA_avx2
static bool has_avx2(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}
static bool has_avx512(void)
{
    return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
}
#endif

#define ROW(isa, available)                                                                        \
    {                                                                                              \
        {#isa, kern_gemm_##isa, &kern_tile_ops_##isa}, available                                   \
    }
static const IsaRow ROWS[] = {
    ROW(portable, always),
#ifdef HAVE_ISA_avx2
    ROW(avx2, has_avx2),
    ROW(avx512, has_avx512),
#endif
};
enum { NROWS = sizeof ROWS / sizeof *ROWS };

const Isa *cpu_isa(Ctx *cx)
{
    Str want = {0}, names = {0};
    const Isa *found = NULL;
    base_knob_text(&cx->knobs, KNOB_isa, &want);
    for (int i = 0; i < NROWS && !want.failed; i++) {
        if (!ROWS[i].available()) continue;
        base_str_fmt(&names, " %s", ROWS[i].isa.name);
        if (strcmp(want.at, "auto") == 0 || strcmp(want.at, ROWS[i].isa.name) == 0)
            found = &ROWS[i].isa;
    }
    if (want.failed || names.failed) {
        base_fail(cx, SGL_ENOMEM, "no memory to choose an instruction set");
        found = NULL;
    } else if (!found) {
        base_fail(cx, SGL_EUNSUP, "this CPU does not have the instruction set %s", want.at);
        base_err_hint(&cx->err, "set isa (SGL_ISA) to auto or one of:%s", names.at);
    }
    base_str_free(&want);
    base_str_free(&names);
    return found;
}
