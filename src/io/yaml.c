/* yaml.c: settings from a YAML file, read by libyaml's parser of events.
 *
 * In:    one document: a mapping whose values are scalars or lists of scalars; or nothing.
 * Holds: libyaml is found by dlopen, so the product runs without it. Its types are declared here
 *        as far as they are read; their layout has been the same since libyaml 0.1.
 */
#include "io/yaml.h"
#include "base/library.h"
#include <stdalign.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { PARSER_BYTES = 4096 }; /* a yaml_parser_t has 480 */

typedef struct Mark {
    size_t index, line, column; /* from 0 */
} Mark;

/* The beginning of yaml_parser_t. */
typedef struct ParserHead {
    int error;
    const char *problem;
    size_t problem_offset;
    int problem_value;
    Mark problem_mark;
} ParserHead;

typedef enum EventType {
    NO_EVENT,
    STREAM_START,
    STREAM_END,
    DOCUMENT_START,
    DOCUMENT_END,
    ALIAS,
    SCALAR,
    SEQUENCE_START,
    SEQUENCE_END,
    MAPPING_START,
    MAPPING_END
} EventType;

typedef struct Event {
    int type;
    struct {
        const char *anchor, *tag, *value;
        size_t length;
        int plain, quoted, style;
    } scalar; /* the largest member of the union */
    Mark start, end;
} Event;

typedef struct Yaml {
    int (*open)(void *parser);
    void (*set_input)(void *parser, const unsigned char *text, size_t n);
    int (*parse)(void *parser, Event *event);
    void (*event_delete)(Event *event);
    void (*close)(void *parser);
} Yaml;

typedef struct Reader {
    const Yaml *lib;
    alignas(16) char parser[PARSER_BYTES];
    Event event;
    YamlFile *out;
    Err *e;
} Reader;

/* libyaml is found when the first YAML file is read: nothing else needs it, so it is no dependency
 * of the program. */
static const Yaml *library_open(Err *e)
{
    static const char *const FILES[] = {"libyaml-0.so.2", NULL};
    static const LibrarySymbol SYMBOLS[] = {
        {"yaml_parser_initialize", offsetof(Yaml, open)},
        {"yaml_parser_set_input_string", offsetof(Yaml, set_input)},
        {"yaml_parser_parse", offsetof(Yaml, parse)},
        {"yaml_event_delete", offsetof(Yaml, event_delete)},
        {"yaml_parser_delete", offsetof(Yaml, close)},
    };
    static const Library LIBRARY = {
        FILES, "reading YAML needs libyaml",
        "install the package libyaml-0-2, or write the settings in a Lua file", SYMBOLS,
        sizeof SYMBOLS / sizeof SYMBOLS[0]};
    static Yaml lib;
    return lib.close || base_library_load(&LIBRARY, &lib, e) == SGL_OK ? &lib : NULL;
}

static int fail(Reader *r, size_t line, const char *what)
{
    r->out->line = (int)line + 1;
    return base_err_set(r->e, SGL_EPARSE, "%s", what);
}

/* The next event takes the place of the last. */
static int next(Reader *r)
{
    r->lib->event_delete(&r->event);
    if (r->lib->parse(r->parser, &r->event)) return SGL_OK;
    const ParserHead *head = (const ParserHead *)r->parser;
    return fail(r, head->problem_mark.line, head->problem ? head->problem : "not YAML");
}

static int no_memory(Reader *r)
{
    return base_err_set(r->e, SGL_ENOMEM, "out of memory for a YAML file");
}

static int add_text(Reader *r, Str *to)
{
    const Event *ev = &r->event;
    if (memchr(ev->scalar.value, 0, ev->scalar.length))
        return fail(r, ev->start.line, "a text with a zero byte");
    base_str_add(to, ev->scalar.value, ev->scalar.length);
    return to->failed ? no_memory(r) : SGL_OK;
}

/* A scalar, or a list of scalars joined by commas. */
static int read_value(Reader *r, Str *value)
{
    int status = next(r);
    if (status < 0) return status;
    if (r->event.type == SCALAR) return add_text(r, value);
    if (r->event.type != SEQUENCE_START)
        return fail(r, r->event.start.line, "a value, or a list of values, expected");
    while ((status = next(r)) == SGL_OK && r->event.type == SCALAR) {
        if (value->n) base_str_put(value, ",");
        status = add_text(r, value);
        if (status < 0) return status;
    }
    if (status < 0 || r->event.type == SEQUENCE_END) return status;
    return fail(r, r->event.start.line, "a list of plain values expected");
}

/* A key and its value, copied, with the line for messages about it. */
static int read_pair(Reader *r)
{
    Str key = {0}, value = {0};
    YamlPair pair = {.line = (int)r->event.start.line + 1};
    int status = add_text(r, &key);
    if (status == SGL_OK) status = read_value(r, &value);
    if (status == SGL_OK) {
        pair.key = base_arena_text(&r->out->arena, key.at ? key.at : "");
        pair.value = base_arena_text(&r->out->arena, value.at ? value.at : "");
        if (!pair.key || !pair.value || !vec_push(&r->out->pairs, pair)) status = no_memory(r);
    }
    base_str_free(&key);
    base_str_free(&value);
    return status;
}

/* From MAPPING_START to its end. */
static int read_mapping(Reader *r)
{
    int status;
    while ((status = next(r)) == SGL_OK && r->event.type == SCALAR)
        if ((status = read_pair(r)) < 0) return status;
    if (status < 0 || r->event.type == MAPPING_END) return status;
    return fail(r, r->event.start.line, "a name expected");
}

/* The one document of a file; anything else than a mapping is refused where it stands. */
static int read_stream(Reader *r)
{
    int status = SGL_OK, documents = 0;
    while (status == SGL_OK && (status = next(r)) == SGL_OK && r->event.type != STREAM_END) {
        switch (r->event.type) {
        case STREAM_START:
        case DOCUMENT_END:
            break;
        case DOCUMENT_START:
            if (documents++) status = fail(r, r->event.start.line, "a second document");
            break;
        case MAPPING_START:
            status = read_mapping(r);
            break;
        case SCALAR: /* an empty document */
            if (r->event.scalar.length == 0) break;
            /* fall through */
        default:
            status = fail(r, r->event.start.line, "lines of the form `name: value` expected");
        }
    }
    return status;
}

int io_yaml_parse(const char *text, size_t n, YamlFile *out, Err *e)
{
    Reader r = {.out = out, .e = e};
    *out = (YamlFile){0};
    r.lib = library_open(e);
    if (!r.lib) return SGL_EUNSUP;
    if (!r.lib->open(r.parser)) return no_memory(&r);
    r.lib->set_input(r.parser, (const unsigned char *)text, n);
    int status = read_stream(&r);
    r.lib->event_delete(&r.event);
    r.lib->close(r.parser);
    return status;
}

void io_yaml_free(YamlFile *y)
{
    base_arena_free(&y->arena);
    vec_free(&y->pairs);
}
