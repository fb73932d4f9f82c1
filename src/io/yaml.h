/* yaml.h: flat YAML files: a mapping of names to scalars and lists of scalars.
 *
 * Reading goes through libyaml, which is loaded when it is first needed.
 */
#ifndef SGL_IO_YAML_H
#define SGL_IO_YAML_H
#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "base/vec.h"

typedef struct YamlPair { const char *key, *value; int line; } YamlPair;
typedef struct YamlFile {
    Arena arena;             /* of the texts */
    VEC(YamlPair) pairs;     /* in the file's order; a list's items are joined by commas */
    int line;                /* of the error */
} YamlFile;

/* SGL_EUNSUP when libyaml is missing, SGL_EPARSE with out->line. io_yaml_free in any case. */
int io_yaml_parse(const char *text, size_t n, YamlFile *out, Err *e);
void io_yaml_free(YamlFile *y);
#endif
