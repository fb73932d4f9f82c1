/* dtype.h: element types (dtype.def) and the one promotion table.
 *
 * Promotion follows the wider class (bool < int < float), then the wider type of that class;
 * f16 with bf16 gives f32. A Lua number is weak: it takes the dtype of the tensor beside it
 * unless its class is higher (an integer tensor plus 0.5 is f32).
 */
#ifndef SGL_IR_DTYPE_H
#define SGL_IR_DTYPE_H
#include <stddef.h>
#include <stdint.h>

typedef enum Dtype {
#define DTYPE(name, bytes, class, ctype, st, onnx) DT_##name,
#include "ir/dtype.def"
#undef DTYPE
    DT_COUNT
} Dtype;

/* Classes are bits, so an op's row can name the set it takes. */
enum {
    CLASS_BOOL = 1, CLASS_INT = 2, CLASS_FLOAT = 4,
    CLASS_NUM = CLASS_INT | CLASS_FLOAT, CLASS_ANY = CLASS_BOOL | CLASS_NUM
};

typedef struct DtypeInfo {
    const char *name;
    size_t bytes;
    int class;
    const char *safetensors;
    int onnx;
} DtypeInfo;

extern const DtypeInfo DTYPES[DT_COUNT];

int ir_dtype_find(const char *name);             /* Dtype, or -1 */
Dtype ir_dtype_promote(Dtype a, Dtype b);
Dtype ir_dtype_weak(Dtype tensor, int class);    /* tensor beside a Lua number of that class */

/* Conversion of one element through double, the reference's arithmetic. A value read is exact
 * but for i64 above 2^53. Stored: floats round to nearest even; integers truncate towards zero,
 * saturate, NaN gives 0; bool is value != 0. */
double ir_dtype_load(Dtype t, const void *from, int64_t i);
void ir_dtype_store(Dtype t, void *to, int64_t i, double value);
double ir_dtype_round(Dtype t, double value);    /* load(store(value)) */
#endif
