/* format.c: see format.h.
 */
#include "io/format.h"
#include <string.h>

const Format FORMATS[] = {
#define READS(name, endings, doc) {#name, endings, doc, io_##name##_load, NULL},
#define BOTH(name, endings, doc) {#name, endings, doc, io_##name##_load, io_##name##_save},
#include "io/format.def"
#undef READS
#undef BOTH
    {0},
};

const Format *io_format_find(const char *name)
{
    for (const Format *f = FORMATS; f->name; f++)
        if (strcmp(f->name, name) == 0) return f;
    return NULL;
}

static bool ends_with(const char *text, size_t n, const char *ending, size_t length)
{
    return n >= length && memcmp(text + n - length, ending, length) == 0;
}

const Format *io_format_of(const char *path)
{
    size_t n = strlen(path);
    if (ends_with(path, n, ".gz", 3)) n -= 3;
    for (const Format *f = FORMATS; f->name; f++)
        for (const char *at = f->endings; *at; at += strcspn(at, " "), at += strspn(at, " "))
            if (ends_with(path, n, at, strcspn(at, " "))) return f;
    return FORMATS;
}

void io_format_free(FileArrays *f)
{
    base_arena_free(&f->arena);
    vec_free(&f->arrays);
    vec_free(&f->pairs);
    *f = (FileArrays){0};
}
