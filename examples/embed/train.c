/* train.c: trains a model from C: no Lua in the process.
 *
 *     sgl export.lua FOLDER
 *     cc train.c -lsgl -o train && ./train FOLDER
 *
 * The step, with its gradients and its optimizer, is a bundle, and so is the data: rows.sgl gives
 * images and labels for a list of positions.
 */
#include <sgl.h>
#include <stdio.h>
#include <stdlib.h>

enum { BATCH = 64, EPOCHS = 10, PIXELS = 64, CLASSES = 10 };

static sgl_program *load(sgl_context *cx, const char *folder, const char *name)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return sgl_load(cx, path, NULL);
}

/* One epoch over the rows in their order; the loss of its last step. Negative: failed. */
static int train_epoch(sgl_program *rows, sgl_program *step, int count, float *loss)
{
    float images[BATCH * PIXELS];
    int32_t at[BATCH], labels[BATCH];
    for (int first = 0; first < count; first += BATCH) {
        int64_t n = count - first < BATCH ? count - first : BATCH, sizes[2] = {n, PIXELS};
        for (int i = 0; i < n; i++) at[i] = first + i;
        sgl_array index = sgl_i32(at, 1, sizes), out = sgl_f32(loss, 0, NULL);
        sgl_array batch[2] = {sgl_f32(images, 2, sizes), sgl_i32(labels, 1, sizes)};
        if (sgl_run(rows, 1, &index, 2, batch) < 0 || sgl_run(step, 2, batch, 1, &out) < 0)
            return -1;
    }
    return 0;
}

static int largest(const float *row)
{
    int best = 0;
    for (int c = 1; c < CLASSES; c++) best = row[c] > row[best] ? c : best;
    return best;
}

/* The share of images that the model names right, in percent; negative: failed. */
static double accuracy(sgl_program *test, sgl_program *model)
{
    sgl_array data[2] = {sgl_type(test, SGL_OUTPUT, 0), sgl_type(test, SGL_OUTPUT, 1)};
    int64_t n = data[0].dims[0], right = 0;
    float *images = malloc((size_t)n * PIXELS * sizeof *images);
    float *scores = malloc((size_t)n * CLASSES * sizeof *scores);
    int32_t *labels = malloc((size_t)n * sizeof *labels);
    sgl_array out = sgl_f32(scores, 2, (int64_t[]){n, CLASSES});
    data[0].data = images;
    data[1].data = labels;
    if (!images || !scores || !labels || sgl_run(test, 0, NULL, 2, data) < 0 ||
        sgl_run(model, 1, data, 1, &out) < 0)
        n = -1;
    for (int64_t i = 0; i < n; i++) right += largest(&scores[i * CLASSES]) == labels[i];
    free(images);
    free(scores);
    free(labels);
    return n < 0 ? -1 : 100.0 * (double)right / (double)n;
}

/* The trained weights go from the step to the model by their names. */
static int hand_over(sgl_program *step, sgl_program *model, const char *folder)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/trained.safetensors", folder);
    return sgl_save_state(step, path) < 0 ? -1 : sgl_load_state(model, path);
}

int main(int argc, char **argv)
{
    const char *folder = argc > 1 ? argv[1] : ".";
    sgl_context *cx = sgl_open(NULL);
    sgl_program *step = load(cx, folder, "step.sgl"), *rows = NULL, *model = NULL, *test = NULL;
    double right = -1;
    float loss = 0;
    int status = -1;
    if (step && (rows = load(cx, folder, "rows.sgl")) && (model = load(cx, folder, "model.sgl")) &&
        (test = load(cx, folder, "test.sgl")))
        status = 0;
    int count = rows ? (int)sgl_type(rows, SGL_STATE, 0).dims[0] : 0;
    for (int epoch = 0; epoch < EPOCHS && status == 0; epoch++)
        status = train_epoch(rows, step, count, &loss);
    if (status == 0) status = hand_over(step, model, folder);
    if (status == 0) right = accuracy(test, model);
    if (right < 0) {
        fprintf(stderr, "train: %s\n", sgl_error(cx));
    } else {
        printf("final loss %.4f %a\n", loss, loss);
        printf("test accuracy %.2f %%\n", right);
    }
    sgl_close(cx);
    return right < 0;
}
