/* embed.h: the Lua modules that are part of the program.
 *
 * In:    lua/sgl/ at build time; scripts/embed.lua writes the table into a C file of the build
 *        folder.
 * Holds: the table ends with an entry whose name is NULL; `code` has a 0 behind its last byte that
 *        `size` does not count.
 */
#ifndef SGL_MODULE_EMBED_H
#define SGL_MODULE_EMBED_H
#include <stddef.h>

typedef struct EmbeddedModule {
    const char *name;        /* as in require: "sgl.nn.layers" */
    const char *chunkname;   /* "=sgl/nn/layers.lua" */
    const char *code;
    size_t size;
} EmbeddedModule;

extern const EmbeddedModule EMBEDDED_MODULES[];

/* For the functions by which a stock interpreter finds the module (luaopen_sgl). */
#define MODULE_EXPORT __attribute__((visibility("default")))
#endif
