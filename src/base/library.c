/* library.c: shared libraries that are loaded when they are first needed.
 *
 * Holds: `into` is filled whole or not at all.
 */
#include "base/library.h"
#include <dlfcn.h>
#include <string.h>

/* The first file that loads; NULL: none. */
static void *open_first(const Library *l, const char **file)
{
    for (int i = 0; l->files[i]; i++) {
        void *at = dlopen(*file = l->files[i], RTLD_NOW | RTLD_LOCAL);
        if (at) return at;
    }
    *file = l->files[0];
    return NULL;
}

int base_library_load(const Library *l, void *into, Err *e)
{
    const char *file;
    void *at = open_first(l, &file), *address = NULL;
    if (!at) {
        base_err_set(e, SGL_EUNSUP, "%s, which is not installed (%s)", l->why, file);
        base_err_hint(e, "%s", l->way_out);
        return SGL_EUNSUP;
    }
    for (int i = 0; i < l->n; i++)
        if (!dlsym(at, l->symbols[i].name)) {
            base_err_set(e, SGL_EUNSUP, "%s: %s has no function %s", l->why, file,
                         l->symbols[i].name);
            base_err_hint(e, "%s", l->way_out);
            dlclose(at);
            return SGL_EUNSUP;
        }
    /* ISO C has no cast from an object's address to a function's. */
    for (int i = 0; i < l->n; i++) {
        address = dlsym(at, l->symbols[i].name);
        memcpy((char *)into + l->symbols[i].at, &address, sizeof address);
    }
    return SGL_OK;
}
