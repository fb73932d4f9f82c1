/* mac.h: SipHash-2-4 (Aumasson and Bernstein, 2012): a hash of bytes that nobody can make without
 * the key.
 */
#ifndef SGL_BASE_MAC_H
#define SGL_BASE_MAC_H
#include <stddef.h>
#include <stdint.h>

/* The 16 bytes of a key, as two little-endian words. */
typedef struct MacKey {
    uint64_t word[2];
} MacKey;

/* The hash of n bytes. */
uint64_t base_mac(const MacKey *key, const void *bytes, size_t n);
#endif
