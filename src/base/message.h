/* message.h: texts of messages, and how values of the user stand in them.
 *
 * Holds: a value is shown with at most MESSAGE_VALUE of its bytes, whole characters; bytes that
 *        steer a terminal, and those that are no UTF-8, are escaped ("\x1b", "\n"). Whatever else
 *        is put into a text keeps its line ends, and has the other control bytes escaped.
 */
#ifndef SGL_BASE_MESSAGE_H
#define SGL_BASE_MESSAGE_H
#include <stdarg.h>
#include <stddef.h>

enum {
    MESSAGE_VALUE = 200,
    MESSAGE_VALUE_CAP = 4 * MESSAGE_VALUE + 4, /* each byte as \x1b, then ... and 0 */
};

/* A value as it is shown; returns its length. */
size_t base_message_value(char to[MESSAGE_VALUE_CAP], const char *text, size_t n);

/* As vsnprintf, with %I for a long long besides. A %s that stands behind a quote ('%s') or at
 * the beginning of the format (a file, most often) is a value. A text that is too long ends in
 * "...". */
void base_message_format(char *to, size_t cap, const char *fmt, va_list ap);

/* A text that is put together already, with its control bytes escaped, line ends kept. */
void base_message_clean(char *to, size_t cap, const char *text, size_t n);
#endif
