/* ops.c: loading shared objects that bring ops (ops.h).
 *
 * In:    the path of a file, with a slash or in the current folder: the system's folders are not
 *        looked through.
 * Holds: nothing of the object is called; its rows are used as long as the process lives.
 */
#include "exec/ops.h"
#include <dlfcn.h>
#include <string.h>
#include "base/str.h"
#include "ir/custom.h"

static int register_all(const sgl_op_list *list, const char *path, Err *e)
{
    int n = 0;
    if (list->version != SGL_OP_VERSION)
        return base_err_set(e, SGL_EFORMAT, "%s: its ops are for version %d of sgl.h, not %d", path,
                            list->version, SGL_OP_VERSION);
    while (list->op[n]) {
        int code = ir_custom_register(list->op[n], e);
        if (code < 0) return code;
        n++;
    }
    return n;
}

int exec_ops_load(const char *path, Err *e)
{
    Str full = {0};
    if (!path) return base_err_set(e, SGL_EARG, "a path is needed");
    base_str_fmt(&full, "%s%s", strchr(path, '/') ? "" : "./", path);
    void *object = full.failed ? NULL : dlopen(full.at, RTLD_NOW | RTLD_LOCAL);
    bool failed = full.failed;
    base_str_free(&full);
    if (failed) return base_err_set(e, SGL_ENOMEM, "out of memory for a path");
    if (!object) return base_err_set(e, SGL_EFILE, "%s", dlerror());
    const sgl_op_list *list = dlsym(object, "sgl_ops");
    if (list) return register_all(list, path, e);
    dlclose(object);
    base_err_set(e, SGL_EFORMAT, "%s brings no ops", path);
    base_err_hint(e, "it exports them by SGL_OPS(&first, &second) of sgl.h");
    return SGL_EFORMAT;
}
