/* bundle.c: an exported graph: its text, the values of its state, and what they are.
 *
 * In:   from outside: no byte is trusted. The manifest is read first: it says whether the others
 *       are whole, and whether they can be read here.
 * Holds: keys of the manifest that are not known are passed over, so that later versions may add
 *        some; what changes the meaning of the others gets another format number.
 */
#include "io/bundle.h"
#include <string.h>
#include <zlib.h>
#include "io/json.h"
#include "sgl.h"

enum { MANIFEST, GRAPH, STATE, PARTS, DEEPEST = 16 };
static const char *const NAMES[PARTS] = {"bundle.json", "graph.txt", "state.safetensors"};

uint32_t io_bundle_checksum(const void *data, size_t bytes)
{
    return (uint32_t)crc32_z(crc32_z(0, NULL, 0), data, bytes);
}

/* ---- writing */

/* The manifest; part[] has the names and bytes of the others. */
static void put_manifest(const Bundle *b, const ArchivePart *part, Str *out)
{
    base_str_fmt(out,
                 "{\"sgl_bundle\":%d,\"version\":\"" SGL_VERSION "\",\"kind\":", BUNDLE_FORMAT);
    io_json_quote(b->kind, out);
    base_str_put(out, ",\n\"parts\":{");
    for (int i = GRAPH; i < PARTS; i++)
        base_str_fmt(out, "%s\"%s\":[%zu,%u]", i > GRAPH ? "," : "", part[i].name, part[i].bytes,
                     (unsigned)io_bundle_checksum(part[i].data, part[i].bytes));
    base_str_put(out, "},\n\"about\":{");
    for (int i = 0; i < b->about.n; i++) {
        if (i) base_str_put(out, ",");
        io_json_quote(b->about.at[i].key, out);
        base_str_put(out, ":");
        io_json_quote(b->about.at[i].value, out);
    }
    base_str_put(out, "}}\n");
}

int io_bundle_write(const char *path, const Bundle *b, Err *e)
{
    Str manifest = {0}, state = {0};
    FileWrite to;
    base_write_begin_memory(&to, &state);
    int status = io_format_find("safetensors")
                     ->save(b->state.arrays.at, b->state.arrays.n, b->state.pairs.at,
                            b->state.pairs.n, &to, e);
    status = status < 0 ? (base_write_drop(&to), status) : base_write_end(&to, e);
    ArchivePart part[PARTS] = {[GRAPH] = {NAMES[GRAPH], b->graph, strlen(b->graph)},
                               [STATE] = {NAMES[STATE], state.at, state.n}};
    if (status == SGL_OK) put_manifest(b, part, &manifest);
    part[MANIFEST] = (ArchivePart){NAMES[MANIFEST], manifest.at, manifest.n};
    if (manifest.failed) status = base_err_set(e, SGL_ENOMEM, "%s: out of memory", path);
    if (status == SGL_OK) status = io_archive_write(path, part, PARTS, e);
    base_str_free(&manifest);
    base_str_free(&state);
    return status;
}

/* ---- reading */

static void skip_value(Json *j, int depth);

/* The members of an object or a list, each passed over. */
static void skip_members(Json *j, char close, int depth)
{
    bool first = true;
    if (depth == DEEPEST) {
        io_json_fail(j, "nested too deep");
        return;
    }
    while (io_json_more(j, close, &first)) {
        if (close == '}' && (!io_json_string(j) || !io_json_expect(j, ':'))) return;
        skip_value(j, depth + 1);
    }
}

/* A value of a key that this version does not know: texts, natural numbers, tables of such. */
static void skip_value(Json *j, int depth)
{
    int64_t number;
    if (io_json_take(j, '{')) skip_members(j, '}', depth);
    else if (io_json_take(j, '[')) skip_members(j, ']', depth);
    else if (j->at < j->end && *j->at == '"') io_json_string(j);
    else io_json_natural(j, &number);
}

typedef struct Check {
    int64_t bytes, sum;
} Check;

/* Bytes and checksums of the parts, as the manifest has them. */
static void read_parts(Json *j, Check *check)
{
    bool first = true;
    if (!io_json_expect(j, '{')) return;
    while (io_json_more(j, '}', &first)) {
        int64_t bytes, sum;
        const char *name = io_json_string(j);
        if (!name || !io_json_expect(j, ':') || !io_json_expect(j, '[') ||
            !io_json_natural(j, &bytes) || !io_json_expect(j, ',') || !io_json_natural(j, &sum) ||
            !io_json_expect(j, ']'))
            return;
        for (int i = 0; i < PARTS; i++)
            if (strcmp(name, NAMES[i]) == 0) check[i] = (Check){bytes, sum};
    }
}

static void read_about(Json *j, Bundle *out)
{
    bool first = true;
    if (!io_json_expect(j, '{')) return;
    while (io_json_more(j, '}', &first)) {
        FilePair p = {.key = io_json_string(j)};
        if (!p.key || !io_json_expect(j, ':') || !(p.value = io_json_string(j))) return;
        if (!vec_push(&out->about, p)) io_json_fail(j, "out of memory");
    }
}

/* One member of the manifest; *format is what it says. */
static void read_member(Json *j, const char *key, Bundle *out, int64_t *format, Check *check)
{
    if (strcmp(key, "sgl_bundle") == 0) io_json_natural(j, format);
    else if (strcmp(key, "version") == 0) out->version = io_json_string(j);
    else if (strcmp(key, "kind") == 0) out->kind = io_json_string(j);
    else if (strcmp(key, "parts") == 0) read_parts(j, check);
    else if (strcmp(key, "about") == 0) read_about(j, out);
    else skip_value(j, 0);
}

/* Reads the manifest; a format that is too new is told before what else may be strange in it. */
static int read_manifest(const char *path, Bundle *out, Check *check, Err *e)
{
    const ArchivePart *p = &out->archive.parts.at[MANIFEST];
    Json j = {.start = p->data,
              .at = p->data,
              .end = (const char *)p->data + p->bytes,
              .name = path,
              .arena = &out->arena,
              .err = e};
    int64_t format = 0;
    bool first = true;
    io_json_expect(&j, '{');
    while (io_json_more(&j, '}', &first)) {
        const char *key = io_json_string(&j);
        if (key && io_json_expect(&j, ':')) read_member(&j, key, out, &format, check);
    }
    if (format > BUNDLE_FORMAT) {
        base_err_set(e, SGL_EUNSUP,
                     "%s: a bundle of format %lld, by sgl %s; this is sgl %s, which "
                     "reads up to format %d",
                     path, (long long)format, out->version ? out->version : "of later", SGL_VERSION,
                     BUNDLE_FORMAT);
        base_err_hint(e, "run it with a newer sgl, or export it with this one");
        return SGL_EUNSUP;
    }
    if (j.code == SGL_OK) io_json_end(&j);
    if (j.code == SGL_OK && (format < 1 || !out->kind || !out->version))
        return base_err_set(e, SGL_EFORMAT, "%s: the manifest says no format, kind or version",
                            path);
    return j.code;
}

/* The parts behind the manifest are those that were written with it. */
static int check_parts(const char *path, const Bundle *b, const Check *check, Err *e)
{
    for (int i = GRAPH; i < PARTS; i++) {
        const ArchivePart *p = &b->archive.parts.at[i];
        if ((int64_t)p->bytes == check[i].bytes &&
            io_bundle_checksum(p->data, p->bytes) == check[i].sum)
            continue;
        return base_err_set(e, SGL_EFORMAT,
                            "%s: '%s' is not what was written: %zu bytes with "
                            "another checksum than the manifest's",
                            path, NAMES[i], p->bytes);
    }
    return SGL_OK;
}

int io_bundle_read(const char *path, Bundle *out, Err *e)
{
    Check check[PARTS] = {{0}};
    int status = io_archive_read(path, NAMES, PARTS, &out->archive, e);
    if (status == SGL_OK) status = read_manifest(path, out, check, e);
    if (status == SGL_OK) status = check_parts(path, out, check, e);
    if (status < 0) return status;
    const ArchivePart *graph = &out->archive.parts.at[GRAPH], *state = &graph[1];
    if (memchr(graph->data, 0, graph->bytes))
        return base_err_set(e, SGL_EFORMAT, "%s: a zero byte in the graph", path);
    out->graph = graph->data;
    io_source_of(&out->source, path, state->data, state->bytes);
    return io_source_describe(&out->source, io_format_find("safetensors"), &out->state, e);
}

void io_bundle_free(Bundle *b)
{
    io_format_free(&b->state);
    io_archive_free(&b->archive);
    vec_free(&b->about);
    base_arena_free(&b->arena);
}
