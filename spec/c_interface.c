/* c_interface.c: a C program as a user writes one; scripts/check-install builds and runs it.
 *
 * In:   a folder for its files, as the argument.
 * Out:  the library's version; or the line of the first claim that does not hold, and exit 1.
 */
#define _POSIX_C_SOURCE 200809L
#include <sgl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define HOLDS(claim) ((claim) ? (void)0 : fail(__LINE__, #claim))

static void fail(int line, const char *claim)
{
    fprintf(stderr, "c_interface.c:%d: %s does not hold\n", line, claim);
    exit(1);
}

static const char DOUBLE[] = "graph\n"
                             "input %0 arg \"x\" f32[3]\n"
                             "%1 = add(%0, %0) : f32[3]\n"
                             "output %1 \"y\"\n";

typedef struct Seen {
    sgl_context *cx;
    sgl_program *program;
    int compiled, ran;
    double nodes, ms;
    char backend[16];
} Seen;

static void on_compile(const sgl_event *e, void *arg)
{
    Seen *seen = arg;
    seen->compiled++;
    seen->nodes = sgl_event_number(e, "nodes", -1);
    seen->ms = sgl_event_number(e, "ms", -1);
    snprintf(seen->backend, sizeof seen->backend, "%s", sgl_event_text(e, "backend"));
    HOLDS(strcmp(sgl_event_name(e), "compile_end") == 0);
    HOLDS(sgl_event_number(e, "ok", -1) == 1 && sgl_event_trace(e) != 0);
    HOLDS(sgl_event_text(e, "nodes") == NULL && sgl_event_number(e, "backend", -1) == -1);
}

/* Whatever a callback tries on its own context is refused, and what runs goes on. */
static void on_run(const sgl_event *e, void *arg)
{
    Seen *seen = arg;
    float x[3] = {0};
    sgl_array in = sgl_f32(x, 1, (const int64_t[]){3}), out = in;
    seen->ran++;
    HOLDS(sgl_event_number(e, "weight", -1) >= 1);
    HOLDS(sgl_run(seen->program, 1, &in, 1, &out) == SGL_ESTATE);
    HOLDS(sgl_set(seen->cx, "threads", "1") == SGL_ESTATE);
    HOLDS(sgl_on(seen->cx, "run_end", on_run, arg) == SGL_ESTATE);
    HOLDS(sgl_parse(seen->cx, DOUBLE) == NULL);
    sgl_program_free(seen->program);
    sgl_close(seen->cx);
}

static void run_doubles(sgl_program *p)
{
    float x[3] = {1, 2, 3}, y[3] = {0};
    sgl_array in = sgl_f32(x, 1, (const int64_t[]){3}), out = sgl_f32(y, 1, (const int64_t[]){3});
    HOLDS(sgl_run(p, 1, &in, 1, &out) == SGL_OK);
    HOLDS(y[0] == 2 && y[1] == 4 && y[2] == 6);
}

static void check_events(void)
{
    Seen seen = {.cx = sgl_open("threads=1")};
    HOLDS(seen.cx && sgl_on(seen.cx, "compile_emd", on_compile, &seen) == SGL_EARG);
    HOLDS(strstr(sgl_error(seen.cx), "did you mean 'compile_end'") != NULL);
    HOLDS(sgl_on(seen.cx, "run_end", NULL, NULL) == SGL_EARG);
    int compiles = sgl_on(seen.cx, "compile_end", on_compile, &seen);
    int runs = sgl_on(seen.cx, "run_end", on_run, &seen);
    HOLDS(compiles > 0 && runs > 0 && compiles != runs);
    seen.program = sgl_parse(seen.cx, DOUBLE);
    HOLDS(seen.program && seen.compiled == 1 && seen.nodes > 0 && seen.ms > 0);
    HOLDS(strcmp(seen.backend, "cpu") == 0);
    run_doubles(seen.program);
    HOLDS(seen.ran == 1);
    HOLDS(sgl_off(seen.cx, runs) == SGL_OK && sgl_off(seen.cx, runs) == SGL_EARG);
    run_doubles(seen.program);
    HOLDS(seen.ran == 1);
    HOLDS(sgl_on(seen.cx, "run_end", on_run, &seen) == runs);
    HOLDS(sgl_set(seen.cx, "enable", "all,-compile") == SGL_OK);
    HOLDS(sgl_parse(seen.cx, DOUBLE) && seen.compiled == 1);
    HOLDS(sgl_on(NULL, "run_end", on_run, NULL) == SGL_EARG);
    sgl_close(seen.cx);
}

/* An interrupt stops the run that it finds; one between two runs, or when a run has ended, none. */
static void interrupt(const sgl_event *e, void *arg)
{
    (void)e;
    sgl_interrupt(arg);
}

static void check_interrupt(void)
{
    sgl_context *cx = sgl_open("backend=cpu");
    sgl_program *p = sgl_parse(cx, DOUBLE);
    run_doubles(p);
    sgl_interrupt(cx);
    run_doubles(p);
    int id = sgl_on(cx, "run_end", interrupt, cx);
    HOLDS(id >= 0);
    run_doubles(p);
    run_doubles(p);
    sgl_close(cx);
}

/* Inputs take memory when they are written to, not when a text of a line asks for them. */
static void check_large(void)
{
    struct rusage use;
    sgl_context *cx = sgl_open("backend=cpu");
    sgl_parse(cx, "graph\ninput %0 arg \"x\" f32[27000, 27000]\noutput %0 \"y\"\n"); /* 2.7 GiB */
    HOLDS(getrusage(RUSAGE_SELF, &use) == 0 && use.ru_maxrss < 256 << 10);
    sgl_close(cx);
}

static const char *write_file(const char *folder, const char *name, const char *text)
{
    static char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    HOLDS(file && fputs(text, file) >= 0 && fclose(file) == 0);
    return path;
}

static void check_config(const char *folder)
{
    sgl_context *cx = sgl_open("backend=cpu");
    HOLDS(cx && sgl_config_load(cx, NULL) == 0); /* none in the current folder */
    /* The program's word counts more than the file's. */
    HOLDS(sgl_config_load(cx, write_file(folder, "good.yaml", "backend: null\nverify: 0\n")) == 1);
    run_doubles(sgl_parse(cx, DOUBLE));
    HOLDS(sgl_config_load(cx, write_file(folder, "bad.yaml", "verify: 1\nthread: 2\n")) ==
          SGL_EKNOB);
    HOLDS(strstr(sgl_error(cx), "bad.yaml:2:") && strstr(sgl_error(cx), "mean 'threads'"));
    HOLDS(sgl_config_load(cx, write_file(folder, "own.yaml", "config: other.yaml\n")) == SGL_EKNOB);
    HOLDS(sgl_config_load(cx, write_file(folder, "flow.yaml", "threads: {}\n")) == SGL_EPARSE);
    HOLDS(strstr(sgl_error(cx), "flow.yaml:1:") != NULL);
    HOLDS(sgl_config_load(cx, "nowhere.yaml") == SGL_EFILE);
    HOLDS(sgl_config_load(cx, "sgl.config.lua") == SGL_EUNSUP && *sgl_error_hint(cx));
    HOLDS(sgl_config_load(NULL, NULL) == SGL_EARG);
    HOLDS(sgl_config_load(cx, write_file(folder, "sets.yaml", "enable: [compile, disk]\n")) == 1);
    HOLDS(sgl_parse(cx, DOUBLE) == NULL && sgl_error_code(cx) == SGL_ESTATE);
    /* What stands where the file would be is no file. */
    HOLDS(chdir(folder) == 0 && mkdir("sgl.yaml", 0700) == 0);
    HOLDS(sgl_config_load(cx, NULL) == SGL_EFILE && strstr(sgl_error(cx), "sgl.yaml: cannot read"));
    HOLDS(rmdir("sgl.yaml") == 0 && sgl_config_load(cx, NULL) == 0);
    const char *found = write_file(".", "sgl.yaml", "cache_dir: /nowhere\n"); /* sets no paths */
    HOLDS(sgl_config_load(cx, NULL) == SGL_EKNOB && *sgl_error_hint(cx));
    HOLDS(sgl_config_load(cx, found) == 1 && remove("sgl.yaml") == 0);
    sgl_close(cx);
}

/* A step as sgl.compile writes it: a weight, and random numbers that go on by themselves. */
static const char DRAWS[] = "graph\n"
                            "input %0 state \"1.weight\" f32[2]\n"
                            "input %1 state \"rng\" i64[2]\n"
                            "%2 = rand(%1) {draw=0, word=0, dims=[2]} : f32[2]\n"
                            "%3 = mul(%0, %2) : f32[2]\n"
                            "%4 = iota() {dim=1, dims=[2], dtype=i64} : i64[2]\n"
                            "%5 = add(%1, %4) : i64[2]\n"
                            "output %3 \"y\"\n"
                            "assign %1 = %5\n";

/* State is reached by its name; a run counts the draws on, so the same count gives the same. */
static void check_state(void)
{
    sgl_context *cx = sgl_open(NULL);
    sgl_program *p = sgl_parse(cx, DRAWS);
    int64_t rng[2] = {5, 0};
    float w[2] = {1, 3}, got[2] = {0}, y[2][2] = {{0}};
    const int64_t dims[] = {2};
    sgl_array state = sgl_i64(rng, 1, dims), weight = sgl_f32(w, 1, dims);
    sgl_array back = sgl_f32(got, 1, dims), out;
    int at = sgl_find(p, SGL_STATE, "1.weight"), draws = sgl_find(p, SGL_STATE, "rng");
    HOLDS(p && at == 0 && draws == 1 && sgl_find(p, SGL_OUTPUT, "y") == 0);
    HOLDS(sgl_state_write(p, at, &weight) == SGL_OK && sgl_state_write(p, draws, &state) == SGL_OK);
    for (int i = 0; i < 2; i++) {
        out = sgl_f32(y[i], 1, dims);
        HOLDS(sgl_run(p, 0, NULL, 1, &out) == SGL_OK);
    }
    HOLDS(memcmp(y[0], y[1], sizeof y[0]) != 0);
    HOLDS(sgl_state_read(p, draws, &state) == SGL_OK && rng[0] == 5 && rng[1] == 2);
    rng[1] = 1;
    HOLDS(sgl_state_write(p, draws, &state) == SGL_OK && sgl_run(p, 0, NULL, 1, &out) == SGL_OK);
    HOLDS(y[1][0] != y[0][0] && sgl_state_read(p, at, &back) == SGL_OK && got[1] == 3);
    /* The third draw again, by a program that is made anew: its state stays, its bits are those. */
    out = sgl_f32(y[0], 1, dims);
    HOLDS(sgl_run(p, 0, NULL, 1, &out) == SGL_OK);
    rng[1] = 2;
    HOLDS(sgl_state_write(p, draws, &state) == SGL_OK && sgl_set(cx, "fuse", "0") == SGL_OK);
    out = sgl_f32(y[1], 1, dims);
    HOLDS(sgl_run(p, 0, NULL, 1, &out) == SGL_OK && memcmp(y[0], y[1], sizeof y[0]) == 0);
    HOLDS(sgl_state_read(p, draws, &state) == SGL_OK && rng[1] == 3);
    HOLDS(sgl_find(p, SGL_STATE, "1.wieght") == SGL_EARG);
    HOLDS(strstr(sgl_error(cx), "no state '1.wieght'") && strstr(sgl_error_hint(cx), "1.weight"));
    HOLDS(sgl_find(p, SGL_INPUT, "1.weight") == SGL_EARG && sgl_find(p, SGL_STATE, NULL) < 0);
    HOLDS(sgl_find(p, (sgl_port)7, "y") == SGL_EARG && sgl_find(NULL, SGL_STATE, "y") == SGL_EARG);
    HOLDS(sgl_state_read(p, sgl_find(p, SGL_STATE, "none"), &back) == SGL_EARG);
    sgl_close(cx);
}

int main(int argc, char **argv)
{
    HOLDS(argc == 2);
    check_state();
    check_events();
    check_interrupt();
    check_large();
    check_config(argv[1]);
    puts(sgl_version());
    return 0;
}
