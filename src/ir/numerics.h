/* numerics.h: the numbers of the numerics contract: change one, and bits of results change.
 *
 * Holds: rules N1 to N5 (kern/kernel.h) and blocks (blocks.h) speak of these; every executor,
 *        the printed C and the fusion take them from here. Sizes of tiles, panels and threads'
 *        shares are no part of it: they may be anything.
 */
#ifndef SGL_IR_NUMERICS_H
#define SGL_IR_NUMERICS_H

#define IR_LANES 32              /* N2: lanes of a sum over rows; fewer elements have one order */
#define IR_ROW_CHUNK 16384       /* N2: elements that lanes add up before they fold */
#define IR_COLUMN_BLOCK 128      /* N3: elements of a block of a sum over columns */
#define IR_DOT_PIECE 384         /* N5: k of a piece of a product, added up by itself */
#define IR_BLOCKS_MAX 256        /* most blocks of a reduction (blocks.h) */
#define IR_BLOCKS_LEVELS 9       /* of their tree: a stack of so many results suffices */
#define IR_RNG_STEP (INT64_C(1) << 20) /* draws of steps of a scan or loop are so far apart */

/* The same as text, for printed kernels. */
#define IR_NUMBER_TEXT(number) IR_NUMBER_TEXT_OF(number)
#define IR_NUMBER_TEXT_OF(number) #number
#endif
