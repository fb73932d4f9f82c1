/* op.c: the C interface: ops of the user's own. They are the process's, not a context's.
 */
#include "capi/api.h"
#include "exec/ops.h"
#include "ir/custom.h"

int sgl_op_register(const sgl_op *op) { return ir_custom_register(op, capi_api_error()); }

int sgl_op_load(const char *path) { return exec_ops_load(path, capi_api_error()); }
