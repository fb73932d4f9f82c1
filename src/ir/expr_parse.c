/* expr_parse.c: the language of op.def's value column and of math.def, to micro-ops.
 *
 * In:   the text of an expression or of the body of a function; the rows of math.def.
 * Out:  instructions in an ExprBuild.
 * The language is the part of C that math.def describes, typed as C does: operands narrower than
 * int become int, and of two types the one later in ExprType wins. A comparison is a truth, and an
 * int where C would use it as one. A call of a row is its body, a loop its repetitions.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include "ir/expr_build.h"
#include "ir/math.h"

enum { NAMES = 48, ARGS = EXPR_MAX_INPUTS, NAME_BYTES = 40 };
typedef enum TokenKind { TOKEN_END, TOKEN_NAME, TOKEN_NUMBER, TOKEN_SIGN } TokenKind;
typedef struct Token {
    TokenKind kind;
    const char *at;
    int n;
} Token;
typedef struct Name {
    Token word;
    int value;
    ExprType type;
} Name;

typedef struct Parser {
    ExprBuild *b;
    const char *text; /* behind the token */
    Token token;
    ExprType type;    /* of T and m_ */
    Name name[NAMES]; /* those of the function from `scope` on */
    int names, scope;
} Parser;

/* ---- what names mean ---- */

static const struct {
    const char *name;
    ExprType type;
} TYPES[] = {
    {"float", EXT_f32},    {"double", EXT_f64},   {"int", EXT_i32},
    {"int32_t", EXT_i32},  {"uint32_t", EXT_u32}, {"int64_t", EXT_i64},
    {"uint64_t", EXT_u64}, {"uint8_t", EXT_u8},   {"uint16_t", EXT_u16},
};
static const char *const SUFFIX[EXT_COUNT] = {
    [EXT_u8] = "u8", [EXT_i32] = "i32", [EXT_i64] = "i64", [EXT_f32] = "f32", [EXT_f64] = "f64",
};

/* Functions that are a micro-op. */
static const struct Intrinsic {
    const char *name;
    ExprCode code;
    ExprType from, type;
} INTRINSICS[] = {
    {"math_fma", EX_fma, EXT_f32, EXT_f32},
    {"math_bits", EX_bits, EXT_f32, EXT_i32},
    {"math_float", EX_bits, EXT_i32, EXT_f32},
    {"math_bits64", EX_bits, EXT_f64, EXT_u64},
    {"math_float64", EX_bits, EXT_u64, EXT_f64},
    {"__builtin_fabsf", EX_abs, EXT_f32, EXT_f32},
    {"__builtin_sqrtf", EX_sqrt, EXT_f32, EXT_f32},
    {"__builtin_floorf", EX_floor, EXT_f32, EXT_f32},
    {"__builtin_ceilf", EX_ceil, EXT_f32, EXT_f32},
    {"__builtin_rintf", EX_rint, EXT_f32, EXT_f32},
    {"__builtin_copysignf", EX_copysign, EXT_f32, EXT_f32},
    {"fabs", EX_abs, EXT_f64, EXT_f64},
    {"sqrt", EX_sqrt, EXT_f64, EXT_f64},
    {"floor", EX_floor, EXT_f64, EXT_f64},
    {"ceil", EX_ceil, EXT_f64, EXT_f64},
    {"rint", EX_rint, EXT_f64, EXT_f64},
};

static const ExprCall CALLS[] = {
    {"fmodf", EXT_f32, 2}, {"fmod", EXT_f64, 2},  {"pow", EXT_f64, 2},   {"atan2", EXT_f64, 2},
    {"exp", EXT_f64, 1},   {"exp2", EXT_f64, 1},  {"expm1", EXT_f64, 1}, {"log", EXT_f64, 1},
    {"log2", EXT_f64, 1},  {"log1p", EXT_f64, 1}, {"sin", EXT_f64, 1},   {"cos", EXT_f64, 1},
    {"tan", EXT_f64, 1},   {"asin", EXT_f64, 1},  {"acos", EXT_f64, 1},  {"atan", EXT_f64, 1},
    {"sinh", EXT_f64, 1},  {"cosh", EXT_f64, 1},  {"tanh", EXT_f64, 1},  {"erf", EXT_f64, 1},
};

/* The rows of math.def as text. */
static const struct Row {
    const char *name, *type, *params, *body;
} ROWS[] = {
#define CONST(type, name, value)
#define TABLE(type, name, ...)
#define FN(type, name, params, ...) {#name, #type, #params, #__VA_ARGS__},
#define FN_ULP(error, type, name, params, ...) {#name, #type, #params, #__VA_ARGS__},
#define LIBM(f) {"math_" #f "_f64", "double", "(double x)", "return " #f "(x);"},
#include "ir/math.def"
#include "ir/math_undef.h"
};

/* Those of C come with the text of a value, too. */
static const struct {
    const char *name, *type, *text;
} CONSTS[] = {
    {"INT32_MIN", "int32_t", "-2147483647 - 1"},
    {"INT32_MAX", "int32_t", "2147483647"},
    {"INT64_MIN", "int64_t", "-9223372036854775807 - 1"},
    {"INT64_MAX", "int64_t", "9223372036854775807"},
    {"UINT8_MAX", "int32_t", "255"},
    {"INFINITY", "float", "math_float(0x7f800000)"},
    {"NAN", "float", "math_float(0x7fc00000)"},
#define CONST(type, name, value) {#name, #type, #value},
#define TABLE(type, name, ...)
#define FN(type, name, params, ...)
#define FN_ULP(error, type, name, params, ...)
#define LIBM(f)
#include "ir/math.def"
#include "ir/math_undef.h"
};

static const ExprTable TABLES[] = {
#define CONST(type, name, value)
#define TABLE(type, name, ...) {#name, EXT_u32, sizeof(name) / sizeof *name, {__VA_ARGS__}},
#define FN(type, name, params, ...)
#define FN_ULP(error, type, name, params, ...)
#define LIBM(f)
#include "ir/math.def"
#include "ir/math_undef.h"
};

#define COUNT(list) ((int)(sizeof(list) / sizeof *(list)))

const ExprTable *ir_expr_table(int number) { return &TABLES[number]; }
const ExprCall *ir_expr_call(int number) { return &CALLS[number]; }

static bool is_word(Token t, const char *word)
{
    return word[0] == t.at[0] && strncmp(t.at, word, (size_t)t.n) == 0 && word[t.n] == '\0';
}

/* The type a word names, or EXT_COUNT. */
static ExprType type_named(const Parser *p, Token t)
{
    if (t.kind == TOKEN_NAME && is_word(t, "T")) return p->type;
    for (int i = 0; i < COUNT(TYPES) && t.kind == TOKEN_NAME; i++)
        if (is_word(t, TYPES[i].name)) return TYPES[i].type;
    return EXT_COUNT;
}

/* ---- tokens ---- */

static int fail(Parser *p, const char *what)
{
    ir_expr_fail(p->b, "%s at '%.*s'", what, p->token.n > 0 ? p->token.n : 3,
                 p->token.n > 0 ? p->token.at : "end");
    return EXPR_FAILED;
}

/* Signs of two characters before those of one. */
static int sign_length(const char *s)
{
    static const char *const two[] = {"<<", ">>", "<=", ">=", "==", "!=", "&&", "||",
                                      "++", "+=", "-=", "*=", "|=", "&=", "^="};
    for (int i = 0; i < COUNT(two); i++)
        if (s[0] == two[i][0] && s[1] == two[i][1]) return 2;
    return 1;
}

static bool is_name(char c) { return isalnum((unsigned char)c) || c == '_'; }

/* A number ends where no name could go on, but for the sign behind the p of an exponent. */
static int number_length(const char *s)
{
    int n = 0;
    bool hex = s[0] == '0' && (s[1] == 'x' || s[1] == 'X');
    while (is_name(s[n]) || s[n] == '.' ||
           ((s[n] == '-' || s[n] == '+') && n > 0 && (hex ? s[n - 1] == 'p' : s[n - 1] == 'e')))
        n++;
    return n;
}

static void advance(Parser *p)
{
    const char *s = p->text;
    while (isspace((unsigned char)*s)) s++;
    Token t = {TOKEN_SIGN, s, 0};
    if (*s == '\0') {
        t.kind = TOKEN_END;
    } else if (isdigit((unsigned char)*s)) {
        t.kind = TOKEN_NUMBER;
        t.n = number_length(s);
    } else if (is_name(*s)) {
        t.kind = TOKEN_NAME;
        while (is_name(s[t.n])) t.n++;
    } else {
        t.n = sign_length(s);
    }
    p->token = t;
    p->text = s + t.n;
}

static bool next_is(const Parser *p, const char *word)
{
    return p->token.kind != TOKEN_END && is_word(p->token, word);
}

static bool take(Parser *p, const char *word)
{
    if (!next_is(p, word)) return false;
    advance(p);
    return true;
}

static bool expect(Parser *p, const char *word)
{
    if (take(p, word)) return true;
    char what[NAME_BYTES] = "expected ";
    fail(p, strcat(what, word));
    return false;
}

/* ---- expressions ---- */

static int expression(Parser *p);
static int block(Parser *p, const char *end);

static int type_at(const Parser *p, int v) { return v < 0 ? EXT_i32 : p->b->at[v].type; }

static int binary(Parser *p, ExprCode code, ExprType type, int a, int b)
{
    const int pair[3] = {a, b, -1};
    return a < 0 || b < 0 ? EXPR_FAILED : ir_expr_add(p->b, code, type, pair, 0);
}

static int unary(Parser *p, ExprCode code, ExprType type, int a)
{
    const int one[3] = {a, -1, -1};
    return a < 0 ? EXPR_FAILED : ir_expr_add(p->b, code, type, one, 0);
}

/* What an operand of this type is as an operand of arithmetic. */
static ExprType promoted(int type) { return (ExprType)(type < EXT_i32 ? EXT_i32 : type); }

static int number(Parser *p)
{
    char text[NAME_BYTES];
    Token t = p->token;
    if (t.n >= NAME_BYTES) return fail(p, "a number that is too long");
    memcpy(text, t.at, (size_t)t.n);
    text[t.n] = '\0';
    bool hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
    advance(p);
    if (strchr(text, '.') || strchr(text, 'p') || (!hex && strchr(text, 'e'))) {
        if (text[t.n - 1] != 'f')
            return ir_expr_const(p->b, EXT_f64, math_bits64(strtod(text, NULL)));
        return ir_expr_const(p->b, EXT_f32, (uint32_t)math_bits(strtof(text, NULL)));
    }
    uint64_t v = strtoull(text, NULL, 0);
    bool is_unsigned = strchr(text, 'u') != NULL;
    if (v <= INT32_MAX && !is_unsigned) return ir_expr_const(p->b, EXT_i32, v);
    if (v <= UINT32_MAX && (hex || is_unsigned)) return ir_expr_const(p->b, EXT_u32, v);
    return ir_expr_const(p->b, is_unsigned ? EXT_u64 : EXT_i64, v);
}

/* Values of the arguments, behind the opening parenthesis. */
static int arguments(Parser *p, int value[ARGS])
{
    int n = 0;
    if (take(p, ")")) return 0;
    do {
        if (n == ARGS) return fail(p, "too many arguments");
        value[n] = expression(p);
        if (value[n++] < 0) return EXPR_FAILED;
    } while (take(p, ","));
    return expect(p, ")") ? n : EXPR_FAILED;
}

static int call_micro(Parser *p, ExprCode code, ExprType from, ExprType type, uint64_t bits,
                      int operands, const int *value, int n)
{
    int operand[3] = {-1, -1, -1};
    if (n != operands) return fail(p, "wrong number of arguments");
    for (int i = 0; i < n; i++) operand[i] = ir_expr_convert(p->b, value[i], from);
    return ir_expr_add(p->b, code, type, operand, bits);
}

static void declare(Parser *p, Token word, ExprType type, int value)
{
    if (p->names == NAMES) fail(p, "too many names");
    else p->name[p->names++] = (Name){word, ir_expr_convert(p->b, value, type), type};
}

/* Reads "(float x, int32_t n)" and names the values so; -1: read inputs. */
static int parameters(Parser *p, const int *value, int n)
{
    int at = 0;
    if (!expect(p, "(")) return EXPR_FAILED;
    do {
        ExprType type = type_named(p, p->token);
        static const int none[3] = {-1, -1, -1};
        if (type == EXT_COUNT) return fail(p, "no type");
        if (at == n || at == ARGS) return fail(p, "wrong number of arguments");
        advance(p);
        int v = value ? value[at] : ir_expr_add(p->b, EX_input, type, none, (uint64_t)at);
        declare(p, p->token, type, v);
        advance(p);
        at++;
    } while (take(p, ","));
    return expect(p, ")") ? at : EXPR_FAILED;
}

/* The body of a row over values, or over inputs. Rows call only rows above them. */
static int inlined(Parser *p, const struct Row *row, const int *value, int n, int *inputs)
{
    const Token token = p->token;
    const char *text = p->text;
    const int names = p->names, scope = p->scope;
    p->scope = p->names;
    p->text = row->params;
    advance(p);
    int given = parameters(p, value, n), result = EXPR_FAILED;
    if (value && given >= 0 && given != n) given = fail(p, "wrong number of arguments");
    if (given >= 0) {
        p->text = row->body;
        advance(p);
        result = block(p, "");
    }
    if (inputs) *inputs = given;
    p->text = row->type;
    advance(p);
    result = ir_expr_convert(p->b, result, type_named(p, p->token));
    p->text = text;
    p->token = token;
    p->names = names;
    p->scope = scope;
    return result;
}

static const struct Row *row_named(const Parser *p, Token word)
{
    char full[NAME_BYTES];
    if (word.n > 2 && word.at[0] == 'm' && word.at[1] == '_' && word.n < NAME_BYTES - 12) {
        strcpy(full, "math_");
        strncat(full, word.at + 2, (size_t)word.n - 2);
        strcat(strcat(full, "_"), SUFFIX[p->type] ? SUFFIX[p->type] : "");
        word.at = full;
        word.n = (int)strlen(full);
    }
    for (int i = 0; i < COUNT(ROWS); i++)
        if (is_word(word, ROWS[i].name)) return &ROWS[i];
    return NULL;
}

static int call(Parser *p, Token word)
{
    int value[ARGS], n = arguments(p, value);
    const struct Row *row = row_named(p, word);
    if (n < 0) return EXPR_FAILED;
    if (row) return inlined(p, row, value, n, NULL);
    for (int i = 0; i < COUNT(INTRINSICS); i++) {
        const struct Intrinsic *in = &INTRINSICS[i];
        if (is_word(word, in->name))
            return call_micro(p, in->code, in->from, in->type, 0, MICROS[in->code].operands, value,
                              n);
    }
    for (int i = 0; i < COUNT(CALLS); i++)
        if (is_word(word, CALLS[i].name))
            return call_micro(p, EX_call, CALLS[i].type, CALLS[i].type, (uint64_t)i,
                              CALLS[i].operands, value, n);
    ir_expr_fail(p->b, "unknown function '%.*s'", word.n, word.at);
    return EXPR_FAILED;
}

static int table(Parser *p, Token word)
{
    int at = expression(p);
    if (!expect(p, "]")) return EXPR_FAILED;
    for (int i = 0; i < COUNT(TABLES); i++)
        if (is_word(word, TABLES[i].name)) {
            const int one[3] = {ir_expr_convert(p->b, at, EXT_i32), -1, -1};
            return at < 0 ? at : ir_expr_add(p->b, EX_table, TABLES[i].type, one, (uint64_t)i);
        }
    ir_expr_fail(p->b, "unknown table '%.*s'", word.n, word.at);
    return EXPR_FAILED;
}

static int constant(Parser *p, Token word)
{
    for (int i = 0; i < COUNT(CONSTS); i++) {
        if (!is_word(word, CONSTS[i].name)) continue;
        const Token token = p->token;
        const char *text = p->text;
        p->text = CONSTS[i].text;
        advance(p);
        int value = expression(p);
        p->text = CONSTS[i].type;
        advance(p);
        value = ir_expr_convert(p->b, value, type_named(p, p->token));
        p->text = text;
        p->token = token;
        return value;
    }
    ir_expr_fail(p->b, "unknown name '%.*s'", word.n, word.at);
    return EXPR_FAILED;
}

static Name *variable(Parser *p, Token word)
{
    for (int i = p->names - 1; i >= p->scope; i--)
        if (p->name[i].word.n == word.n && !memcmp(p->name[i].word.at, word.at, (size_t)word.n))
            return &p->name[i];
    return NULL;
}

static int primary(Parser *p)
{
    Token word = p->token;
    if (word.kind == TOKEN_NUMBER) return number(p);
    if (take(p, "(")) {
        int value = expression(p);
        return expect(p, ")") ? value : EXPR_FAILED;
    }
    if (word.kind != TOKEN_NAME) return fail(p, "expected a value");
    advance(p);
    if (take(p, "(")) return call(p, word);
    if (take(p, "[")) return table(p, word);
    const Name *name = variable(p, word);
    return name ? name->value : constant(p, word);
}

/* Is it a cast? Then reads up to behind its closing parenthesis. */
static bool take_cast(Parser *p, ExprType *type)
{
    const char *text = p->text;
    Token start = p->token;
    if (!take(p, "(")) return false;
    *type = type_named(p, p->token);
    if (*type != EXT_COUNT) advance(p);
    if (*type != EXT_COUNT && take(p, ")")) return true;
    p->text = text;
    p->token = start;
    return false;
}

static int prefixed(Parser *p)
{
    ExprType type;
    if (take_cast(p, &type)) return ir_expr_convert(p->b, prefixed(p), type);
    if (take(p, "-")) {
        int value = prefixed(p);
        type = promoted(type_at(p, value));
        return unary(p, EX_neg, type, ir_expr_convert(p->b, value, type));
    }
    if (take(p, "!")) {
        int value = ir_expr_convert(p->b, prefixed(p), EXT_truth);
        return value < 0 ? value
                         : binary(p, EX_xor, EXT_truth, value, ir_expr_const(p->b, EXT_truth, 1));
    }
    return primary(p);
}

/* Binary signs, those that bind least first. `swap`: a > b is b < a. */
static const struct Sign {
    const char *text;
    int level;
    ExprCode code;
    bool swap;
} SIGNS[] = {
    {"||", 0, EX_or, false},  {"&&", 1, EX_and, false}, {"|", 2, EX_or, false},
    {"^", 3, EX_xor, false},  {"&", 4, EX_and, false},  {"==", 5, EX_eq, false},
    {"!=", 5, EX_ne, false},  {"<", 6, EX_lt, false},   {"<=", 6, EX_le, false},
    {">", 6, EX_lt, true},    {">=", 6, EX_le, true},   {"<<", 7, EX_shl, false},
    {">>", 7, EX_shr, false}, {"+", 8, EX_add, false},  {"-", 8, EX_sub, false},
    {"*", 9, EX_mul, false},  {"/", 9, EX_div, false},  {"%", 9, EX_rem, false},
};
enum { LEVEL_LOGIC = 1, LEVEL_BITS = 4, LEVEL_COMPARE = 6, LEVEL_SHIFT = 7 };

/* Two truths stay one under & | ^ and where they are compared for being equal. */
static int combine_truths(Parser *p, const struct Sign *s, int a, int b)
{
    ExprCode code = s->code == EX_ne || s->code == EX_eq ? EX_xor : s->code;
    int value = binary(p, code, EXT_truth, a, b);
    if (s->code != EX_eq || value < 0) return value;
    return binary(p, EX_xor, EXT_truth, value, ir_expr_const(p->b, EXT_truth, 1));
}

static int combine(Parser *p, const struct Sign *s, int a, int b)
{
    if (a < 0 || b < 0) return EXPR_FAILED;
    if (s->level <= LEVEL_LOGIC) {
        a = ir_expr_convert(p->b, a, EXT_truth);
        b = ir_expr_convert(p->b, b, EXT_truth);
    }
    bool truths = type_at(p, a) == EXT_truth && type_at(p, b) == EXT_truth;
    if (truths && (s->level <= LEVEL_BITS || s->code == EX_eq || s->code == EX_ne))
        return combine_truths(p, s, a, b);
    ExprType left = promoted(type_at(p, a)), right = promoted(type_at(p, b));
    ExprType type = s->level == LEVEL_SHIFT || left > right ? left : right;
    a = ir_expr_convert(p->b, a, type);
    b = ir_expr_convert(p->b, b, s->level == LEVEL_SHIFT ? EXT_i32 : type);
    bool compares = s->code >= EX_lt && s->code <= EX_ne;
    if (s->swap) return binary(p, s->code, EXT_truth, b, a);
    return binary(p, s->code, compares ? EXT_truth : type, a, b);
}

/* The binary sign that the token is, or NULL. */
static const struct Sign *sign_at(const Parser *p)
{
    for (int i = 0; i < COUNT(SIGNS) && p->token.kind == TOKEN_SIGN; i++)
        if (is_word(p->token, SIGNS[i].text)) return &SIGNS[i];
    return NULL;
}

/* Operands joined by signs of this level and those that bind closer. */
static int level_from(Parser *p, int level)
{
    int value = prefixed(p);
    for (const struct Sign *s; value >= 0 && (s = sign_at(p)) != NULL && s->level >= level;) {
        advance(p);
        value = combine(p, s, value, level_from(p, s->level + 1));
    }
    return value;
}

static int expression(Parser *p)
{
    int test = level_from(p, 0);
    if (test < 0 || !take(p, "?")) return test;
    int yes = expression(p);
    if (yes < 0 || !expect(p, ":")) return EXPR_FAILED;
    int no = expression(p);
    if (no < 0) return EXPR_FAILED;
    ExprType left = promoted(type_at(p, yes)), right = promoted(type_at(p, no));
    ExprType type = left > right ? left : right;
    if (type_at(p, yes) == type_at(p, no)) type = (ExprType)type_at(p, yes);
    const int operand[3] = {ir_expr_convert(p->b, test, EXT_truth),
                            ir_expr_convert(p->b, yes, type), ir_expr_convert(p->b, no, type)};
    return ir_expr_add(p->b, EX_select, type, operand, 0);
}

/* ---- statements ---- */

/* `for (int i = 0; i < n; i++) { … }`: the body n times. */
static int loop(Parser *p)
{
    Token count = {TOKEN_END, "", 0};
    while (p->token.kind != TOKEN_END && !next_is(p, "{")) {
        if (take(p, "<")) count = p->token;
        else advance(p);
    }
    if (count.kind != TOKEN_NUMBER || !expect(p, "{")) return fail(p, "expected a count");
    const Token token = p->token;
    const char *text = p->text;
    const int names = p->names;
    int rc = 0;
    for (int i = 0; i < atoi(count.at) && rc >= 0; i++) {
        p->text = text;
        p->token = token;
        p->names = names;
        rc = block(p, "}");
    }
    return rc;
}

static int declarations(Parser *p, ExprType type)
{
    advance(p);
    do {
        Token word = p->token;
        advance(p);
        if (!expect(p, "=")) return EXPR_FAILED;
        int value = expression(p);
        if (value < 0) return value;
        declare(p, word, type, value);
    } while (take(p, ","));
    return expect(p, ";") ? 0 : EXPR_FAILED;
}

/* `x = …;` or `x += …;` */
static int assignment(Parser *p)
{
    Name *name = variable(p, p->token);
    if (!name) return fail(p, "unknown name");
    advance(p);
    Token sign = p->token;
    advance(p);
    int value = expression(p);
    for (int i = 0; i < COUNT(SIGNS) && sign.n == 2; i++)
        if (SIGNS[i].text[0] == sign.at[0] && SIGNS[i].text[1] == '\0')
            value = combine(p, &SIGNS[i], name->value, value);
    name->value = ir_expr_convert(p->b, value, name->type);
    return expect(p, ";") ? 0 : EXPR_FAILED;
}

/* Statements up to `end`. The value of `return`, or 0 where the block ends without one. */
static int block(Parser *p, const char *end)
{
    while (!p->b->error[0] && !take(p, end)) {
        ExprType type = type_named(p, p->token);
        int rc;
        if (p->token.kind == TOKEN_END) return fail(p, "no return");
        if (take(p, "return")) {
            int value = expression(p);
            return expect(p, ";") ? value : EXPR_FAILED;
        }
        if (take(p, "for")) rc = loop(p);
        else rc = type != EXT_COUNT ? declarations(p, type) : assignment(p);
        if (rc < 0) return rc;
    }
    return p->b->error[0] ? EXPR_FAILED : 0;
}

/* ---- from outside ---- */

int ir_expr_parse(ExprBuild *b, const char *text, ExprType type, const ExprType input[3],
                  ExprType result)
{
    static const char *const NAMES_OF[3] = {"x", "y", "z"};
    static const int none[3] = {-1, -1, -1};
    Parser p = {.b = b, .text = text, .type = type};
    for (int i = 0; i < 3 && input[i] != EXT_COUNT; i++)
        declare(&p, (Token){TOKEN_NAME, NAMES_OF[i], 1}, input[i],
                ir_expr_add(b, EX_input, input[i], none, (uint64_t)i));
    advance(&p);
    int value = expression(&p);
    if (value >= 0 && p.token.kind != TOKEN_END) return fail(&p, "expected the end");
    return ir_expr_convert(b, value, result);
}

int ir_expr_parse_fn(ExprBuild *b, const char *name, int *inputs)
{
    Parser p = {.b = b, .text = "", .type = EXT_f32};
    const struct Row *row = row_named(&p, (Token){TOKEN_NAME, name, (int)strlen(name)});
    if (!row) {
        ir_expr_fail(b, "no row of that name");
        return EXPR_FAILED;
    }
    return inlined(&p, row, NULL, ARGS, inputs);
}
