/* mac.c: see mac.h. Two rounds for each word of the message, four at the end.
 */
#include "base/mac.h"

enum { WORD = 8, ROUNDS = 2, LAST_ROUNDS = 4 };

static uint64_t left(uint64_t x, int bits) { return x << bits | x >> (64 - bits); }

static void rounds(uint64_t v[4], int count)
{
    for (int i = 0; i < count; i++) {
        v[0] += v[1], v[1] = left(v[1], 13) ^ v[0], v[0] = left(v[0], 32);
        v[2] += v[3], v[3] = left(v[3], 16) ^ v[2];
        v[0] += v[3], v[3] = left(v[3], 21) ^ v[0];
        v[2] += v[1], v[1] = left(v[1], 17) ^ v[2], v[2] = left(v[2], 32);
    }
}

static uint64_t little_endian(const uint8_t *at, size_t n)
{
    uint64_t word = 0;
    for (size_t i = 0; i < n; i++) word |= (uint64_t)at[i] << 8 * i;
    return word;
}

static void take(uint64_t v[4], uint64_t word)
{
    v[3] ^= word;
    rounds(v, ROUNDS);
    v[0] ^= word;
}

uint64_t base_mac(const MacKey *key, const void *bytes, size_t n)
{
    uint64_t v[] = {key->word[0] ^ 0x736f6d6570736575, key->word[1] ^ 0x646f72616e646f6d,
                    key->word[0] ^ 0x6c7967656e657261, key->word[1] ^ 0x7465646279746573};
    const uint8_t *at = bytes, *tail = at + n / WORD * WORD;
    for (; at < tail; at += WORD) take(v, little_endian(at, WORD));
    take(v, little_endian(tail, n % WORD) | (uint64_t)n << 56);
    v[2] ^= 0xff;
    rounds(v, LAST_ROUNDS);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}
