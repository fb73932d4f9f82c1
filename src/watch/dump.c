/* dump.c: what lua_dump writes of a function, read: its code, its constants, its parameters.
 *
 * In:    a function of Lua on the stack.
 * Out:   where its code begins, where each constant does, which of its parameters it ever reads.
 * Holds: the layout is that of 5.4.0 to 5.4.8, as watch_test checks. Sizes are big-endian base 128,
 *        and the top bit marks the last byte. A parameter counts as read if any instruction has its
 *        register as an operand, or a function inside as a variable, whether it is come to or not.
 */
#include <string.h>
#include "watch/room.h"

enum { DUMP_HEAD = 4 + 1 + 1 + 6 + 3 + 8 + 8, LEAST = DUMP_HEAD + 16 };
enum { K_FALSE = 0x01, K_TRUE = 0x11, K_INT = 0x03, K_FLOAT = 0x13, K_SHORT = 0x04, K_LONG = 0x14 };

static size_t size(const uint8_t **p)
{
    size_t n = 0;
    do n = n << 7 | (**p & 0x7f);
    while (!(*(*p)++ & 0x80));
    return n;
}

static const uint8_t *skip_constant(const uint8_t *p)
{
    uint8_t type = *p++;
    if (type == K_INT || type == K_FLOAT) return p + 8;
    if (type != K_SHORT && type != K_LONG) return p;
    size_t n = size(&p);
    return p + n - 1;
}

/* A function in a dump, from its source on. */
typedef struct Function {
    uint8_t parameters;
    bool varargs;
    const uint8_t *code; /* of so many instructions */
    size_t count;
    const uint8_t *variables, *inside; /* the numbers of its upvalues, of the functions in it */
} Function;

/* The function whose source stands at p. */
static Function function_at(const uint8_t *p)
{
    Function f;
    for (int i = 0; i < 3; i++) size(&p); /* no source; first and last line */
    f.parameters = p[0];
    f.varargs = p[1];
    p += 3; /* and the stack */
    f.count = size(&p);
    f.code = p;
    p += f.count * sizeof(Instruction);
    for (size_t n = size(&p); n > 0; n--) p = skip_constant(p);
    f.variables = p;
    size_t n = size(&p);
    f.inside = p + 3 * n;
    return f;
}

/* Behind a function: the functions in it, and four lists of names and lines that are empty. */
static const uint8_t *function_end(const Function *f)
{
    const uint8_t *p = f->inside;
    for (size_t n = size(&p); n > 0; n--) {
        Function g = function_at(p);
        p = function_end(&g);
    }
    for (int i = 0; i < 4; i++) size(&p);
    return p;
}

static int write_dump(lua_State *L, const void *p, size_t n, void *ud)
{
    (void)L;
    base_str_add(ud, p, n);
    return 0;
}

bool watch_dump(lua_State *L, Str *s) { return !lua_dump(L, write_dump, s, 1) && !s->failed; }

static Function function_of(const Str *s)
{
    return function_at((const uint8_t *)s->at + DUMP_HEAD + 1); /* the number of upvalues */
}

const uint8_t *watch_dump_code(const Str *s, size_t *n)
{
    if (s->failed || s->n < LEAST) return NULL;
    Function f = function_of(s);
    *n = f.count;
    return f.code;
}

bool watch_dump_constants(Code *c, Str *s)
{
    Function f = function_of(s);
    const uint8_t *p = f.code + f.count * sizeof(Instruction);
    *c = (Code){.n = (int)size(&p), .bytes = (uint8_t *)s->at};
    c->at = base_mem_alloc(((size_t)c->n + 1) * sizeof *c->at);
    for (int i = 0; c->at && i < c->n; i++, p = skip_constant(p))
        c->at[i] = (uint32_t)(p - c->bytes);
    return c->at != NULL;
}

/* Pushes the constant that begins at p. */
void watch_dump_push(lua_State *L, const uint8_t *p)
{
    uint8_t type = *p++;
    lua_Integer integer;
    lua_Number number;
    if (type == K_INT) {
        memcpy(&integer, p, sizeof integer);
        lua_pushinteger(L, integer);
    } else if (type == K_FLOAT) {
        memcpy(&number, p, sizeof number);
        lua_pushnumber(L, number);
    } else if (type == K_SHORT || type == K_LONG) {
        size_t n = size(&p);
        lua_pushlstring(L, (const char *)p, n - 1);
    } else if (type == K_TRUE || type == K_FALSE) {
        lua_pushboolean(L, type == K_TRUE);
    } else {
        lua_pushnil(L);
    }
}

/* ---- parameters */

/* Which registers instructions read, from one number to another: those in their fields A, B and C
 * (C: where it is no constant, c: always), or all from A on (*). Others read none. */
static const struct {
    int first, last;
    const char *fields;
} READS[] = {
    {0, 0, "B"},     /* MOVE */
    {10, 10, "A"},   /* SETUPVAL */
    {12, 12, "Bc"},  /* GETTABLE */
    {13, 14, "B"},   /* GETI, GETFIELD */
    {15, 15, "C"},   /* SETTABUP */
    {16, 16, "ABC"}, /* SETTABLE */
    {17, 18, "AC"},  /* SETI, SETFIELD */
    {20, 20, "BC"},  /* SELF */
    {21, 33, "B"},   /* ADDI to SHLI: with a constant */
    {34, 45, "Bc"},  /* ADD to SHR */
    {46, 46, "AB"},  /* MMBIN */
    {47, 48, "A"},   /* MMBINI, MMBINK */
    {49, 52, "B"},   /* UNM to LEN */
    {53, 53, "*"},   /* CONCAT */
    {55, 55, "A"},   /* TBC */
    {57, 59, "AB"},  /* EQ, LT, LE */
    {60, 66, "A"},   /* EQK to TEST */
    {67, 67, "B"},   /* TESTSET */
    {68, 70, "*"},   /* CALL, TAILCALL, RETURN */
    {72, 72, "A"},   /* RETURN1 */
    {73, 78, "*"},   /* loops and SETLIST */
};
enum { READ_COUNT = sizeof READS / sizeof *READS };

/* Marks parameter `reg` and, from a range, those behind it. */
static void mark(bool *read, const Function *f, int reg, bool range)
{
    for (; reg < f->parameters; reg++) {
        read[reg] = true;
        if (!range) return;
    }
}

static const char *fields_read(Instruction i)
{
    int op = vm_op(i), k = 0;
    while (k < READ_COUNT && op > READS[k].last) k++;
    return k < READ_COUNT && op >= READS[k].first ? READS[k].fields : "";
}

static void mark_operands(bool *read, const Function *f, Instruction i)
{
    for (const char *p = fields_read(i); *p; p++) {
        if (*p == 'A' || *p == '*') mark(read, f, vm_a(i), *p == '*');
        else if (*p == 'B') mark(read, f, vm_b(i), false);
        else if (*p == 'c' || !vm_k(i)) mark(read, f, vm_c(i), false);
    }
}

/* Those that the functions inside have as variables of their own. */
static void mark_variables(bool *read, const Function *f)
{
    const uint8_t *p = f->inside;
    for (size_t n = size(&p); n > 0; n--) {
        Function g = function_at(p);
        const uint8_t *v = g.variables;
        for (size_t k = size(&v); k > 0; k--, v += 3)
            if (v[0]) mark(read, f, v[1], false);
        p = function_end(&g);
    }
}

/* core.parameters_read(function) -> a list of booleans, one for each parameter; false behind it if
 * it takes more than those. nil: a function of C. */
static int parameters_read(lua_State *L)
{
    Host *h = bind_of(L);
    bool read[UINT8_MAX + 1] = {false};
    Str s = {0};
    lua_settop(L, 1);
    if (!lua_isfunction(L, 1) || lua_iscfunction(L, 1) || !room_of(h)->tested) return 0;
    if (!watch_dump(L, &s)) {
        base_str_free(&s);
        return bind_raise(L, SGL_ENOMEM, NULL, "out of memory for a capture");
    }
    Function f = function_of(&s);
    for (size_t k = 0; k < f.count; k++) {
        Instruction i;
        memcpy(&i, f.code + k * sizeof i, sizeof i);
        mark_operands(read, &f, i);
    }
    mark_variables(read, &f);
    int parameters = f.parameters;
    bool varargs = f.varargs;
    base_str_free(&s);
    lua_createtable(L, parameters, 0);
    for (int i = 0; i < parameters; i++) {
        lua_pushboolean(L, read[i]);
        lua_rawseti(L, -2, i + 1);
    }
    lua_pushboolean(L, !varargs);
    return 2;
}

const luaL_Reg WATCH_DUMP[] = {{"parameters_read", parameters_read}, {NULL, NULL}};
