/* grad_origin.c: what the results of a run came out of: the record, and looking ids up in it.
 */
#include <string.h>
#include "tensor/grad_origin.h"

struct Origin {
    int refs;
    Reach *reach;
    SharedIds *states;
    uint64_t older; /* all smaller ids are part of it */
    int n;
    Entry at[];
};

static bool reaches(const Reach *r, uint32_t source, int result)
{
    return r->bits[source * (uint32_t)r->words + (uint32_t)(result / 64)] >> (result % 64) & 1;
}

void tensor_reach_unref(Reach *r)
{
    if (r && !--r->refs) base_mem_free(r);
}

void tensor_shared_unref(SharedIds *s)
{
    if (s && !--s->refs) base_mem_free(s);
}

Origin *tensor_origin_new(Reach *reach, SharedIds *states, uint64_t older, const Ids *ids, int more)
{
    Origin *o = base_mem_alloc(sizeof *o + (size_t)(ids->n + more) * sizeof *o->at);
    if (!o) return NULL;
    *o = (Origin){.refs = 1, .reach = reach, .states = states, .older = older, .n = ids->n};
    if (o->n) memcpy(o->at, ids->at, (size_t)o->n * sizeof *o->at);
    reach->refs++;
    if (states) states->refs++;
    return o;
}

void tensor_origin_add(Origin *o, uint64_t id, uint32_t source)
{
    o->at[o->n++] = (Entry){id, source};
}

Origin *tensor_origin_ref(Origin *o)
{
    if (o) o->refs++;
    return o;
}

void tensor_origin_unref(Origin *o)
{
    if (!o || --o->refs) return;
    tensor_shared_unref(o->states);
    tensor_reach_unref(o->reach);
    base_mem_free(o);
}

static bool has_entry(const Reach *r, const Entry *at, int n, int result, uint64_t id)
{
    if (!n || id > at[n - 1].id) return false;
    for (int i = tensor_ids_find(at, n, id); i < n && at[i].id == id; i++)
        if (reaches(r, at[i].source, result)) return true;
    return false;
}

bool tensor_origin_has(const Origin *o, int result, uint64_t id)
{
    const SharedIds *s = o->states;
    return id < o->older || has_entry(o->reach, o->at, o->n, result, id) ||
           (s && has_entry(o->reach, s->at, s->n, result, id));
}

static bool add_ids(const Reach *r, const Entry *at, int n, int result, uint32_t source, Ids *ids)
{
    for (int i = 0; i < n; i++)
        if (reaches(r, at[i].source, result) && !vec_push(ids, ((Entry){at[i].id, source})))
            return false;
    return true;
}

bool tensor_origin_ids(const Origin *o, int result, uint32_t source, Ids *ids)
{
    const SharedIds *s = o->states;
    return add_ids(o->reach, o->at, o->n, result, source, ids) &&
           (!s || add_ids(o->reach, s->at, s->n, result, source, ids));
}

uint64_t tensor_origin_older(const Origin *o) { return o->older; }

size_t tensor_origin_bytes(const Origin *o)
{
    return o ? sizeof *o + (size_t)o->n * sizeof *o->at : 0;
}

/* For traces that keep origins long: of one result, and only tensors that there still are. */
Origin *tensor_origin_pruned(Origin *o, int result, const Map *live)
{
    Ids none = {0};
    uint64_t seen;
    Origin *made = tensor_origin_new(o->reach, o->states, o->older, &none, o->n);
    if (!made) return NULL;
    for (int i = 0; i < o->n; i++)
        if (reaches(o->reach, o->at[i].source, result) && base_map_get(live, o->at[i].id, &seen))
            tensor_origin_add(made, o->at[i].id, o->at[i].source);
    Origin *less = base_mem_resize(made, tensor_origin_bytes(made));
    return less ? less : made;
}
