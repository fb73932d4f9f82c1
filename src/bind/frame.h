/* frame.h: the one private thing of Lua that the engine relies on: the head of CallInfo, the same
 * from 5.4.0 to 5.4.8. watch/ tests it before it reads instructions.
 */
#ifndef SGL_BIND_FRAME_H
#define SGL_BIND_FRAME_H
#include <lua.h>
#include <stdint.h>

typedef uint32_t Instruction;

typedef struct CallHead {
    void *function, *top;
    struct CallHead *previous, *next;
    const Instruction *saved;
} CallHead;

/* Of a frame of Lua code: the instruction with which it goes on. */
static inline const Instruction *bind_resume(const lua_Debug *ar)
{
    return ((const CallHead *)(const void *)ar->i_ci)->saved;
}
#endif
