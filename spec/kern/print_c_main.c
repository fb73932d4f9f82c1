/* print_c_main.c: runs a printed program on the inputs in a file, for print_c_spec.lua.
 *
 * In:   argv[1]: numbers (int64) of inputs and outputs, the bytes of each, then the inputs' bytes.
 * Out:  argv[2]: the bytes of the outputs, then of the inputs, which the program may have updated.
 * Exit status 1 when the program failed, 2 when a step is not a kernel, 3 for files.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int sgl_run(void *const *in, void *const *out, int (*other)(int step, void *const *buffer));

static int other(int step, void *const *buffer)
{
    (void)step, (void)buffer;
    exit(2);
}

static int64_t number(FILE *f)
{
    int64_t n;
    if (fread(&n, sizeof n, 1, f) != 1) exit(3);
    return n;
}

int main(int argc, char **argv)
{
    FILE *from = fopen(argv[argc > 1], "rb"), *to = argc > 2 ? fopen(argv[2], "wb") : NULL;
    if (!from || !to) return 3;
    int nin = (int)number(from), n = nin + (int)number(from);
    size_t *bytes = calloc((size_t)n + 1, sizeof *bytes);
    void **at = calloc((size_t)n + 1, sizeof *at);
    for (int i = 0; i < n; i++) bytes[i] = (size_t)number(from);
    for (int i = 0; i < n; i++) at[i] = aligned_alloc(64, (bytes[i] / 64 + 1) * 64);
    for (int i = 0; i < nin; i++)
        if (fread(at[i], 1, bytes[i], from) != bytes[i]) return 3;
    if (sgl_run(at, at + nin, other) != 0) return 1;
    for (int i = 0; i < n; i++) {
        int from_output = (nin + i) % n;
        if (fwrite(at[from_output], 1, bytes[from_output], to) != bytes[from_output]) return 3;
    }
    return fclose(to) == 0 ? 0 : 3;
}
