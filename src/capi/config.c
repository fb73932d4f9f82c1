/* config.c: the C interface: the configuration file. In this folder because YAML is.
 *
 * In:   a file as the Lua side reads it: names with values, lists for sets.
 * Holds: what the environment or the program set stays; an error leaves the settings before it.
 */
#include <string.h>
#include "base/file.h"
#include "capi/api.h"
#include "exec/settings.h"
#include "io/yaml.h"

static const char DEFAULT_FILE[] = "sgl.yaml";

static int put_pair(Ctx *cx, const YamlPair *pair, KnobFrom from)
{
    int id = base_knob_find(pair->key, &cx->err);
    if (id < 0) return id;
    if (id == KNOB_config)
        return base_fail(cx, SGL_EKNOB, "a configuration file cannot name another");
    return exec_setting_put(cx, (KnobId)id, from, pair->key, pair->value);
}

/* Puts the place before the message. */
static int at_line(Ctx *cx, const char *path, int line, int code)
{
    Err e = cx->err;
    base_err_clear(&cx->err);
    base_fail(cx, code, "%s:%d: %.1800s", path, line, e.text);
    if (*e.hint) base_err_hint(&cx->err, "%s", e.hint);
    return code;
}

static int put_file(Ctx *cx, const char *path, KnobFrom from, const char *text, size_t n)
{
    YamlFile y;
    int code = io_yaml_parse(text, n, &y, &cx->err), line = y.line;
    for (int i = 0; code == SGL_OK && i < y.pairs.n; i++) {
        line = y.pairs.at[i].line;
        code = put_pair(cx, &y.pairs.at[i], from);
    }
    if (code < 0 && line > 0) at_line(cx, path, line, code);
    io_yaml_free(&y);
    return code;
}

/* Finds the file to read; 0: there is none. Only a named one may be a pipe, whose writer the caller
 * knows. */
static int find_file(Ctx *cx, const char *path, const char **file)
{
    *file = path ? path : cx->knobs.text[KNOB_config];
    if (*file) return 1;
    *file = DEFAULT_FILE;
    return base_file_there(DEFAULT_FILE, &cx->err);
}

int sgl_config_load(sgl_context *cx, const char *path)
{
    char *text;
    size_t n;
    const char *file;
    int code = capi_api_enter(cx);
    if (code == SGL_OK) code = find_file(cx, path, &file);
    if (code <= 0) return code;
    const char *ending = strrchr(file, '.');
    if (ending && strcmp(ending, ".lua") == 0) {
        base_fail(cx, SGL_EUNSUP, "%s: a configuration file in Lua needs the interpreter", file);
        base_err_hint(&cx->err, "write it as YAML, such as %s", DEFAULT_FILE);
        return SGL_EUNSUP;
    }
    code = base_file_read(file, &text, &n, &cx->err);
    if (code < 0) return code;
    code = put_file(cx, file, file == DEFAULT_FILE ? KNOB_FROM_FOUND : KNOB_FROM_FILE, text, n);
    base_mem_free(text);
    return code < 0 ? code : 1;
}
