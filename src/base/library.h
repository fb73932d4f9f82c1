/* library.h: shared libraries that are loaded when they are first needed, so that the program runs
 * without them.
 */
#ifndef SGL_BASE_LIBRARY_H
#define SGL_BASE_LIBRARY_H
#include <stddef.h>
#include "base/err.h"

/* A function of the library, and where its address goes: the offset in a struct of addresses. */
typedef struct LibrarySymbol { const char *name; size_t at; } LibrarySymbol;
typedef struct Library {
    const char *const *files;   /* names to try, newest first; ends with NULL */
    const char *why, *way_out;  /* "reading YAML needs libyaml"; what to do where it is missing */
    const LibrarySymbol *symbols;
    int n;
} Library;

/* Fills the struct at `into` from an open library, whole or not at all. Returns the name of the
 * first function that it lacks, or NULL. For who has its own way to find the file. */
const char *base_library_fill(void *library, const LibrarySymbol *symbols, int n, void *into);
/* Fills the struct at `into`. SGL_EUNSUP: no file is there, or it lacks a function; the text says
 * which. A library that was loaded stays. */
int base_library_load(const Library *l, void *into, Err *e);
#endif
