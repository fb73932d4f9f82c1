/* side.c: the table behind side.h: notes in the order in which they came, and where each is.
 *
 * Holds: a node has at most one note of a kind; the last one counts.
 */
#include "ir/side.h"
#include <string.h>

typedef struct Note {
    uint32_t node;
    uint8_t kind; /* SideKind */
    int count;
    const int64_t *words;
} Note;

struct Side {
    VEC(Note) notes;
    Map at; /* kind and id: its place */
};

static const struct {
    const char *name;
    bool carried, text; /* its words are interned texts */
} ROWS[SIDE_COUNT] = {
    [SIDE_placement] = {"placement", true, false},
    [SIDE_class] = {"class", false, false},
    [SIDE_asked] = {"asked", true, true},
};

static uint64_t key_of(SideKind kind, uint32_t id) { return (uint64_t)kind << 32 | id; }

static int out_of_memory(const Graph *g)
{
    return base_fail(g->cx, SGL_ENOMEM, "out of memory for a note about a node");
}

void ir_side_free(Side *s)
{
    if (!s) return;
    vec_free(&s->notes);
    base_map_free(&s->at);
    base_mem_free(s);
}

/* Puts a note in its place, or behind all others. */
static bool put(Side *s, const Note *note)
{
    uint64_t key = key_of(note->kind, note->node), at;
    if (base_map_get(&s->at, key, &at)) {
        s->notes.at[at] = *note;
        return true;
    }
    return vec_reserve(&s->notes, s->notes.n + 1) &&
           base_map_set(&s->at, key, (uint64_t)s->notes.n) && vec_push(&s->notes, *note);
}

int ir_side_set(Graph *g, SideKind kind, const Node *n, int count, const int64_t *words)
{
    size_t bytes = (size_t)count * sizeof *words;
    int64_t *kept = base_arena_alloc(&g->arena, bytes + 1);
    if (!g->side) g->side = base_mem_zero(1, sizeof *g->side);
    if (!g->side || !kept) return out_of_memory(g);
    if (bytes) memcpy(kept, words, bytes);
    Note note = {n->id, (uint8_t)kind, count, kept};
    return put(g->side, &note) ? SGL_OK : out_of_memory(g);
}

const int64_t *ir_side_get(const Node *n, SideKind kind, int *count)
{
    const Side *s = n->graph->side;
    uint64_t at;
    if (!s || !base_map_get(&s->at, key_of(kind, n->id), &at)) return NULL;
    *count = s->notes.at[at].count;
    return s->notes.at[at].words;
}

int ir_side_carry(Graph *to, const Graph *from, Node *const *made)
{
    int status = SGL_OK, count;
    for (int i = 0; from->side && i < from->side->notes.n && status == SGL_OK; i++) {
        const Note *note = &from->side->notes.at[i];
        const Node *n = made[note->node];
        if (!n || !ROWS[note->kind].carried || ir_side_get(n, note->kind, &count)) continue;
        status = ir_side_set(to, note->kind, n, note->count, note->words);
    }
    return status;
}

int ir_side_find(const char *kind)
{
    for (int k = 0; k < SIDE_COUNT; k++)
        if (strcmp(ROWS[k].name, kind) == 0) return k;
    return -1;
}

int ir_side_count(const Graph *g) { return g->side ? g->side->notes.n : 0; }

bool ir_side_is_text(SideKind kind) { return ROWS[kind].text; }

const char *ir_side_at(const Graph *g, int i, uint32_t *node, int *count, const int64_t **words)
{
    const Note *note = &g->side->notes.at[i];
    *node = note->node;
    *count = note->count;
    *words = note->words;
    return ROWS[note->kind].name;
}
