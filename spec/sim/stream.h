/* stream.h: between driver.c and stream.c: what streams are given.
 */
#ifndef SGL_SPEC_SIM_STREAM_H
#define SGL_SPEC_SIM_STREAM_H
#include "sim.h"

typedef enum OpKind {
    OP_KERNEL,
    OP_IN,
    OP_OUT,
    OP_COPY,
    OP_SET,
    OP_FREE,
    OP_RECORD,
    OP_WAIT,
    OP_GRAPH
} OpKind;
enum { OP_DEPS = 16 };

typedef struct Graph Graph;
typedef struct Event Event;
typedef struct Stream Stream;
typedef struct Op {
    OpKind kind;
    char label[SIM_LABEL];
    const Kernel *kernel;
    Dim3 grid, size;
    size_t dynamic;
    uint8_t *params;   /* owned; of an OP_IN what is copied, where the driver has taken it */
    uint64_t to, from; /* device addresses */
    void *host;
    size_t bytes;
    uint8_t value;
    Event *event;
    uint64_t version; /* of it */
    Graph *graph;
    uint32_t deed; /* of what is no graph */
    Clock knows;   /* of a graph */
    uint32_t when;
    int dep[OP_DEPS], ndep; /* of a node */
    struct Op *next;
} Op;

struct Event {
    uint64_t recorded, done;
    Clock clock;
    Graph *captured;
    int dep[OP_DEPS], ndep;
};
struct Stream {
    int number;
    Op *head, **tail;
    Clock clock;
    Graph *capture;
    bool origin, spoilt;
    int dep[OP_DEPS], ndep;
};
struct Graph {
    int n, cap;
    Op *node;
    uint64_t *before;
    int words;
};

enum { /* the driver's codes */
       CUDA_INVALID_VALUE = 1,
       CUDA_OUT_OF_MEMORY = 2,
       CUDA_NO_DEVICE = 100,
       CUDA_INVALID_PTX = 218,
       CUDA_INVALID_CONTEXT = 201,
       CUDA_NOT_FOUND = 500,
       CUDA_TIMEOUT = 702,
       CUDA_CAPTURE_UNSUPPORTED = 900,
       CUDA_CAPTURE_INVALIDATED,
       CUDA_CAPTURE_MERGE,
       CUDA_CAPTURE_UNMATCHED,
       CUDA_CAPTURE_UNJOINED,
       CUDA_CAPTURE_ISOLATION
};

Stream *sim_stream_new(void);
void sim_stream_free(Stream *s);
/* Takes the op: to the stream's queue, or to the graph that is captured. A code. */
int sim_give(Stream *s, Op op);
int sim_drain(Stream *s); /* until it has nothing left */
int sim_drain_all(void);
/* Is something captured that this call would spoil? Then it is spoilt: the code. */
int sim_forbid(const char *call);
int sim_capture_begin(Stream *s);
int sim_capture_end(Stream *s, Graph **out);
Graph *sim_graph_copy(const Graph *g); /* with the order of its nodes worked out */
void sim_graph_free(Graph *g);
#endif
