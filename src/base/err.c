/* err.c: the error table's names and sentences, and the record of the first error.
 *
 * Holds: nothing here allocates, so reporting that memory is out works; message.h
 *        says how values stand in texts.
 */
#include "base/err.h"
#include "base/message.h"

typedef struct ErrInfo {
    int code;
    const char *name, *sentence;
} ErrInfo;

static const ErrInfo ERRORS[] = {
    {SGL_OK, "SGL_OK", "no error"},
#define X(code, number, sentence) {code, #code, sentence},
#include "base/err.def"
#undef X
};

static const ErrInfo *info_of(int code)
{
    static const ErrInfo unknown = {0, "SGL_E?", "unknown error"};
    for (size_t i = 0; i < sizeof ERRORS / sizeof *ERRORS; i++)
        if (ERRORS[i].code == code) return &ERRORS[i];
    return &unknown;
}

const char *base_err_name(int code) { return info_of(code)->name; }

const char *base_err_sentence(int code) { return info_of(code)->sentence; }

int base_err_vset(Err *e, int code, const char *fmt, va_list ap)
{
    if (!e || e->code != SGL_OK) return code;
    e->code = code;
    e->hint[0] = 0;
    base_message_format(e->text, sizeof e->text, fmt, ap);
    return code;
}

int base_err_set(Err *e, int code, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    base_err_vset(e, code, fmt, ap);
    va_end(ap);
    return code;
}

void base_err_hint(Err *e, const char *fmt, ...)
{
    if (!e || e->code == SGL_OK || e->hint[0]) return;
    va_list ap;
    va_start(ap, fmt);
    base_message_format(e->hint, sizeof e->hint, fmt, ap);
    va_end(ap);
}

void base_err_clear(Err *e)
{
    e->code = SGL_OK;
    e->placed = false;
    e->text[0] = e->hint[0] = 0;
}
