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

const char *base_library_fill(void *library, const LibrarySymbol *symbols, int n, void *into)
{
    for (int i = 0; i < n; i++)
        if (!dlsym(library, symbols[i].name)) return symbols[i].name;
    /* ISO C has no cast from an object's address to a function's. */
    for (int i = 0; i < n; i++) {
        void *address = dlsym(library, symbols[i].name);
        memcpy((char *)into + symbols[i].at, &address, sizeof address);
    }
    return NULL;
}

int base_library_load(const Library *l, void *into, Err *e)
{
    const char *file, *lacks;
    void *at = open_first(l, &file);
    if (!at) {
        base_err_set(e, SGL_EUNSUP, "%s, which is not installed (%s)", l->why, file);
        base_err_hint(e, "%s", l->way_out);
        return SGL_EUNSUP;
    }
    if (!(lacks = base_library_fill(at, l->symbols, l->n, into))) return SGL_OK;
    base_err_set(e, SGL_EUNSUP, "%s: %s has no function %s", l->why, file, lacks);
    base_err_hint(e, "%s", l->way_out);
    dlclose(at);
    return SGL_EUNSUP;
}
