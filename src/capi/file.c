/* file.c: the C interface: programs and their state from files, state to files.
 *
 * Holds: a program that could not get all of its state is not there; one that could not be given
 *        another state keeps its own.
 */
#include <string.h>
#include "base/file.h"
#include "capi/api.h"
#include "io/bundle.h"

static const FileArray *array_of(const FileArrays *file, const char *name)
{
    for (int i = 0; i < file->arrays.n; i++)
        if (strcmp(file->arrays.at[i].name, name) == 0) return &file->arrays.at[i];
    return NULL;
}

/* The array of the file that is state i, of the same type. NULL with the context's error set. */
static const FileArray *state_array(sgl_program *p, int i, const FileArrays *file, const char *path)
{
    const char *name = sgl_name(p, SGL_STATE, i);
    const FileArray *a = array_of(file, name);
    sgl_array want = sgl_type(p, SGL_STATE, i);
    if (!a) {
        base_fail(p->cx, SGL_EFORMAT, "%s: there is no value for the state '%s'", path, name);
        base_err_hint(&p->cx->err, "the names must be those of the exported step");
        return NULL;
    }
    sgl_array got = sgl_view((sgl_dtype)a->dtype, path, a->rank, a->dims);
    if (a->foreign) got.rank = -1;
    return capi_array_check(p->cx, "state", name, &got, &want) < 0 ? NULL : a;
}

/* Gives the program all of its state from the file, or none. */
static int take_state(sgl_program *p, const FileSource *from, const FileArrays *file,
                      const char *path)
{
    int n = sgl_count(p, SGL_STATE);
    for (int i = 0; i < n; i++)
        if (!state_array(p, i, file, path)) return p->cx->err.code;
    for (int i = 0; i < n; i++) {
        void *to = dev_storage_edit(capi_state(p, i));
        if (!to) return p->cx->err.code;
        int code = io_source_read(from, state_array(p, i, file, path), to, &p->cx->err);
        if (code < 0) return code;
    }
    return SGL_OK;
}

static int load_state(sgl_program *p, const char *path)
{
    if (!path) return base_fail(p->cx, SGL_EARG, "sgl_load_state: the path is NULL");
    FileArrays file = {0};
    FileSource from;
    Err *e = &p->cx->err;
    FileRules rules = {&p->cx->asked, p->cx->knobs.value[KNOB_unpack_limit]};
    int code = io_source_open(&from, path, rules, e);
    if (code == SGL_OK) code = io_source_describe(&from, io_format_of(path), &file, e);
    if (code == SGL_OK) code = take_state(p, &from, &file, path);
    io_format_free(&file);
    io_source_close(&from);
    return code;
}

int sgl_load_state(sgl_program *p, const char *path)
{
    int code = capi_api_lock(p ? p->cx : NULL);
    return code < 0 ? code : capi_api_unlock(p->cx, load_state(p, path));
}

sgl_program *sgl_load(sgl_context *cx, const char *path, const char *state)
{
    if (capi_api_enter(cx) < 0) return NULL;
    if (!path) {
        base_fail(cx, SGL_EARG, "sgl_load: the path is NULL");
        return NULL;
    }
    Bundle file = {0};
    sgl_program *p = NULL;
    if (io_bundle_read(path, &file, &cx->err) == SGL_OK) p = sgl_parse(cx, file.graph);
    int code = p ? take_state(p, &file.source, &file.state, path) : SGL_OK;
    io_bundle_free(&file);
    if (code == SGL_OK && p && state) code = sgl_load_state(p, state);
    if (code == SGL_OK) return p;
    sgl_program_free(p);
    return NULL;
}

/* Ends the writing in any case. */
static int write_arrays(const FileArray *list, int n, FileWrite *to, Err *e)
{
    int code = io_format_find("safetensors")->save(list, n, NULL, 0, to, e);
    if (code == SGL_OK) return base_write_end(to, e);
    base_write_drop(to);
    return code;
}

/* Under the lock: what is written is the state behind one step. */
static int save_state(sgl_program *p, const char *path)
{
    int code = SGL_OK, n = sgl_count(p, SGL_STATE);
    if (!path) return base_fail(p->cx, SGL_EARG, "sgl_save_state: the path is NULL");
    FileArray *list = base_mem_zero((size_t)n + 1, sizeof *list);
    FileWrite to;
    if (!list) return base_fail(p->cx, SGL_ENOMEM, "no memory to save %d values", n);
    for (int i = 0; i < n && code == SGL_OK; i++) {
        const Storage *s = capi_state(p, i);
        list[i] = (FileArray){.name = sgl_name(p, SGL_STATE, i),
                              .dtype = s->dtype,
                              .rank = s->rank,
                              .data = dev_storage_host(s),
                              .bytes = s->bytes};
        memcpy(list[i].dims, s->dims, (size_t)s->rank * sizeof *s->dims);
        if (!list[i].data) code = p->cx->err.code;
    }
    if (code == SGL_OK) code = base_write_begin(&to, path, &p->cx->err);
    if (code == SGL_OK) code = write_arrays(list, n, &to, &p->cx->err);
    base_mem_free(list);
    return code;
}

int sgl_save_state(sgl_program *p, const char *path)
{
    int code = capi_api_lock(p ? p->cx : NULL);
    return code < 0 ? code : capi_api_unlock(p->cx, save_state(p, path));
}
