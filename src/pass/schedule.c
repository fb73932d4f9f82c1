/* schedule.c: the end of a schedule.
 */
#include "pass/schedule.h"

void pass_schedule_free(Schedule *s)
{
    if (s == NULL) return;
    for (int i = 0; i < s->groups.n; i++) {
        vec_free(&s->groups.at[i].nodes);
        vec_free(&s->groups.at[i].ins);
        vec_free(&s->groups.at[i].outs);
    }
    vec_free(&s->groups);
    vec_free(&s->buffers);
    base_mem_free(s->buffer_of);
    base_mem_free(s->group_of);
    base_mem_free(s->in_place);
    base_mem_free(s->by_size);
    pass_sizes_free(s->sizes);
    base_arena_free(&s->arena);
    ir_graph_free(s->graph);
    base_mem_free(s);
}
