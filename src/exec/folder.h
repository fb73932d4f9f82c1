/* folder.h: the folder of programs on disk: where it is, whether it can be trusted, and its key.
 *
 * Holds: a folder is used only when nobody but its owner, who runs this process, can put anything
 *        into it or something else in its place: it is no link, belongs to this user, and neither
 *        group nor others may write to it; the folders above it belong to this user or to root,
 *        and others may not write to them unless they are sticky, as /tmp is. Root is no exception.
 *        The key is made with the folder and opens entries nowhere else: a copy of the folder,
 *        such as one that comes with an archive, has another.
 */
#ifndef SGL_EXEC_FOLDER_H
#define SGL_EXEC_FOLDER_H
#include "base/context.h"
#include "base/mac.h"

enum { FOLDER_WHY = 512 };

/* The path, as the settings say now; the caller's to free; NULL: there is none. */
char *exec_folder_find(const Ctx *cx);
/* Its descriptor; the caller closes it. -1: it is not there, or cannot be trusted, then `why` says
 * why, else it is "". `make`: makes it, and those above, for this user alone. */
int exec_folder_open(const char *path, bool make, char why[FOLDER_WHY]);
/* The folder's key. `make`: makes one if there is none. False: there is none. */
bool exec_folder_key(int folder, bool make, MacKey *key);
#endif
