/* bundle.h: an exported graph: its text, the values of its state, and what they are.
 *
 * The parts of the archive (docs/export.md):
 *   bundle.json         {"sgl_bundle":1, "version":"…", "kind":"…", "parts":{…}, "about":{…}}:
 *                       the format's number, the version that wrote it, bytes and CRC-32 of the
 *                       other parts, and texts by name
 *   graph.txt           the graph (ir/text.h)
 *   state.safetensors   a value for each state input, by its name; metadata: "parameter" for those
 *                       that are to be trained
 */
#ifndef SGL_IO_BUNDLE_H
#define SGL_IO_BUNDLE_H
#include "io/archive.h"
#include "io/source.h"

enum { BUNDLE_FORMAT = 1 };  /* what is read and written here; a larger one is refused */

typedef struct Bundle {
    const char *kind;        /* "function" or "step": is there state that a run changes? */
    const char *version;     /* of the program that wrote it */
    const char *graph;
    FileArrays state;
    FileSource source;       /* of the state that was read (io_source_read) */
    VEC(FilePair) about;
    Archive archive;         /* what the above points into */
    Arena arena;
} Bundle;

uint32_t io_bundle_checksum(const void *data, size_t bytes);   /* CRC-32, as zip has it */
/* Writes b->kind, graph, state and about; the others may be zero. As io_archive_write. */
int io_bundle_write(const char *path, const Bundle *b, Err *e);
/* SGL_EFILE, SGL_EFORMAT, SGL_EUNSUP: a newer format, or no libzip. io_bundle_free in any case. */
int io_bundle_read(const char *path, Bundle *out, Err *e);
void io_bundle_free(Bundle *b);
#endif
