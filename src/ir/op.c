/* op.c: expands op.def into OPS, the facts of all ops. What ops do is in rules.c.
 */
#include <string.h>
#include "ir/op.h"

#define ELEMENTWISE LAYOUT_same, FACTOR_keep

const OpInfo OPS[OP_COUNT] = {
#define UNARY(name, types, value, grad, domain, onnx, doc)                                         \
    {#name,           FAM_unary,    1,           CLASS_##types, #value, "",                        \
     !NO_GRAD(#grad), DOM_##domain, ELEMENTWISE, onnx,          doc},
#define TEST(name, types, value, domain, onnx, doc)                                                \
    {#name, FAM_test, 1, CLASS_##types, #value, "", false, DOM_##domain, ELEMENTWISE, onnx, doc},
#define BINARY(name, types, value, gx, gy, domain, onnx, doc)                                      \
    {#name,         FAM_binary,   2,           CLASS_##types, #value, "",                          \
     !NO_GRAD(#gx), DOM_##domain, ELEMENTWISE, onnx,          doc},
#define COMPARE(name, types, value, domain, onnx, doc)                                             \
    {#name, FAM_compare, 2, CLASS_##types, #value, "", false, DOM_##domain, ELEMENTWISE, onnx, doc},
#define SELECT(name, types, value, domain, onnx, doc)                                              \
    {#name, FAM_select, 3, CLASS_##types, #value, "", true, DOM_##domain, ELEMENTWISE, onnx, doc},
#define OP(name, family, inputs, fn, attrs, domain, layout, kind, onnx, doc)                       \
    {#name, FAM_##family, inputs,          CLASS_ANY,     NULL, attrs,                             \
     true,  DOM_##domain, LAYOUT_##layout, FACTOR_##kind, onnx, doc},
#include "ir/op.def"
#include "ir/op_undef.h"
};

int ir_op_find(const char *name)
{
    for (int op = 0; op < OP_COUNT; op++)
        if (OPS[op].name[0] == name[0] && strcmp(OPS[op].name, name) == 0) return op;
    return -1;
}
