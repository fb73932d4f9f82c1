/* map.h: hash map from a 64-bit key to a 64-bit value (open addressing, linear probing).
 *
 * A zeroed Map is empty. Keys are any values; pointers go through (uint64_t)(uintptr_t)p.
 * For keys that are content, hash with base_hash and resolve collisions in the caller.
 */
#ifndef SGL_BASE_MAP_H
#define SGL_BASE_MAP_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct MapSlot { uint64_t key, value; } MapSlot;
typedef struct Map { MapSlot *slot; uint8_t *used; uint32_t n, cap; } Map;

bool base_map_set(Map *m, uint64_t key, uint64_t value);          /* false: out of memory */
bool base_map_get(const Map *m, uint64_t key, uint64_t *value);   /* false: absent */
bool base_map_remove(Map *m, uint64_t key);
void base_map_clear(Map *m);
void base_map_free(Map *m);
uint64_t base_hash(uint64_t seed, const void *bytes, size_t n);   /* not cryptographic, stable */
#endif
