/* SPDX-License-Identifier: MIT */
/* The decoder of the example 09_decode as a chain to tune: its kernels with each trigger point, and
 * grids that leave no multiprocessor with much less to do than the others. */
#include "tune/tune.h"

#include <cstdio>
#include <cstring>
#include <iterator>
#include <string>

#include "../../examples/decode_reference.cuh"
#include "../../examples/decode_ways.cuh"
#include "bench/gpu.h"

extern "C" {
#include "common/memory.h"
}

static const unsigned long long seed = 1;

/* tune_decode_kernels.cu as it was compiled with each PDL_TRIGGER_SELECT. */
#define TRIGGERS(entry) entry(-1, none) entry(0, 0) entry(1, 1) entry(2, 2) entry(3, 3) entry(4, 4)
#define DECLARE(select, name)                                                                      \
    extern const unsigned char pdl_tune_decode_##name[];                                           \
    extern const unsigned char pdl_tune_decode_##name##_end[];
extern "C" {
TRIGGERS(DECLARE)
}
struct variant {
    int trigger;
    const unsigned char *image;
};
#define VARIANT(select, name) {select, pdl_tune_decode_##name},
static const variant variants[] = {TRIGGERS(VARIANT)};
static const size_t variant_count = std::size(variants);
static const int attention_points = 3; /* that attention() has: the others are none there */

class tuned_decoder
{
  public:
    explicit tuned_decoder(bool attention)
        : with_attention(attention), model(seed), steps(model, attention, gpu_blocks(), nullptr)
    {
        const void *const symbols[STEP_KINDS] = {reinterpret_cast<const void *>(linear<QKV>),
                                                 reinterpret_cast<const void *>(::attention),
                                                 reinterpret_cast<const void *>(linear<OUT>),
                                                 reinterpret_cast<const void *>(linear<GATE_UP>),
                                                 reinterpret_cast<const void *>(linear<DOWN>)};
        for (size_t i = 0; i < variant_count; i++) {
            MUST(cu.cuLibraryLoadData(&libraries[i], variants[i].image, nullptr, nullptr, 0,
                                      nullptr, nullptr, 0));
            for (int kind = 0; kind < STEP_KINDS; kind++) {
                CHECK(cudaFuncGetName(&names[kind], symbols[kind])); /* the same in every image */
                kernels[i][kind] = load(libraries[i], names[kind],
                                        decoder_steps::shared_bytes(static_cast<step_kind>(kind)));
            }
        }
    }
    ~tuned_decoder()
    {
        for (size_t i = 0; i < variant_count; i++) {
            for (pdl_kernel *kernel : kernels[i]) {
                pdl_kernel_destroy(kernel);
            }
            MUST(cu.cuLibraryUnload(libraries[i]));
        }
    }
    tuned_decoder(const tuned_decoder &) = delete;
    tuned_decoder &operator=(const tuned_decoder &) = delete;

    static unsigned gpu_blocks()
    {
        return static_cast<unsigned>(gpu.multiprocessors);
    }

    /* With all the shared memory that there is, as decoder_runs has it. */
    static pdl_kernel *load(CUlibrary library, const char *name, unsigned shared_bytes)
    {
        CUkernel found = nullptr;
        CUfunction function = nullptr;
        pdl_kernel *kernel = nullptr;
        MUST(cu.cuLibraryGetKernel(&found, library, name));
        MUST(cu.cuKernelGetFunction(&function, found));
        MUST(cu.cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                   static_cast<int>(shared_bytes)));
        MUST(cu.cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT,
                                   CU_SHAREDMEM_CARVEOUT_MAX_SHARED));
        MUST_PDL(pdl_kernel_from_function(function, &kernel));
        MUST_PDL(pdl_kernel_declare(kernel, PDL_YES, PDL_YES));
        return kernel;
    }

    bool with_attention;
    decoder_model model;
    decoder_steps steps;
    CUlibrary libraries[variant_count] = {};
    const char *names[STEP_KINDS] = {};
    pdl_kernel *kernels[variant_count][STEP_KINDS] = {};
    const tune_kind *kinds = nullptr; /* the job's */
    step_kind kind_steps[STEP_KINDS] = {};
    size_t kind_count = 0;
};

/* ---- what may be chosen ------------------------------------------------------------------------ */

/* One to four blocks for each multiprocessor, and for each of these the fewest blocks with which none has
 * more to do than there. */
template <linear_kind Kind> static std::vector<unsigned> linear_grids()
{
    typedef linear_shape<Kind> shape;
    const unsigned groups = shape::pairs / shape::block_streams;
    std::vector<unsigned> grids;
    for (unsigned blocks = 1; blocks <= 4; blocks++) {
        const unsigned most = blocks * tuned_decoder::gpu_blocks();
        const unsigned chunks = (groups + most - 1) / most;
        for (const unsigned grid : {most, (groups + chunks - 1) / chunks}) {
            if (grid <= groups && linear_shape<Kind>::fits(static_cast<int>(grid)) &&
                std::find(grids.begin(), grids.end(), grid) == grids.end()) {
                grids.push_back(grid);
            }
        }
    }
    return grids;
}

static std::vector<unsigned> grids_of(step_kind kind)
{
    switch (kind) {
    case STEP_QKV:
        return linear_grids<QKV>();
    case STEP_OUT:
        return linear_grids<OUT>();
    case STEP_GATE_UP:
        return linear_grids<GATE_UP>();
    case STEP_DOWN:
        return linear_grids<DOWN>();
    default:
        return {decoder_steps::attention_blocks};
    }
}

static void add_kind(tune_job *job, tuned_decoder &decoder, step_kind step, bool present)
{
    const unsigned first_grid = present || step == STEP_ATTENTION ? decoder.steps.blocks(step)
                                                                  : tuned_decoder::gpu_blocks();
    tune_kind &kind = job->kinds[job->kind_count];
    kind.name = copy_text(step_names[step]);
    kind.kernel = copy_text(decoder.names[step]);
    const std::vector<unsigned> grids = grids_of(step);
    kind.items =
        static_cast<tune_choice *>(allocate(variant_count * grids.size(), sizeof(*kind.items)));
    for (const unsigned grid : grids) {
        for (const variant &v : variants) {
            if (step == STEP_ATTENTION && v.trigger >= attention_points) {
                continue;
            }
            if (grid == first_grid && v.trigger == 0) {
                kind.start = kind.count;
            }
            kind.items[kind.count++] = {v.trigger, {grid, 1, 1}, false};
        }
    }
    decoder.kind_steps[job->kind_count++] = step;
}

/* ---- the job ----------------------------------------------------------------------------------- */

static tuned_decoder &decoder_of(void *self)
{
    return *static_cast<tuned_decoder *>(self);
}

static pdl_chain *build(void *self, const size_t *choices, pdl_overlap overlap, char **why)
{
    tuned_decoder &decoder = decoder_of(self);
    step_launch launches[STEP_KINDS] = {};
    for (size_t i = 0; i < decoder.kind_count; i++) {
        const tune_choice &choice = decoder.kinds[i].items[choices[i]];
        const step_kind step = decoder.kind_steps[i];
        size_t v = 0;
        while (variants[v].trigger != choice.trigger) {
            v++;
        }
        launches[step] = {decoder.kernels[v][step], choice.grid[0]};
    }
    pdl_chain *chain = nullptr;
    pdl_status status = pdl_chain_create(nullptr, &chain);
    if (status == PDL_SUCCESS) {
        status = decoder.steps.record(chain, launches, overlap);
    }
    if (status == PDL_SUCCESS) {
        status = pdl_chain_build(chain);
    }
    if (status != PDL_SUCCESS) {
        *why = copy_text(pdl_last_error()->message);
        pdl_chain_destroy(chain);
        return nullptr;
    }
    return chain;
}

static void reset(void *self)
{
    decoder_of(self).model.poison();
}

static void results(void *self, void *to)
{
    const std::vector<bf16> all = decoder_of(self).model.results();
    std::memcpy(to, all.data(), all.size() * sizeof(all[0]));
}

/* Whether what all configurations agree on is right, too. Not with decoder_steps::launch(), which may
 * be that of another translation unit and launch its kernels. */
static char *finish(void *self)
{
    tuned_decoder &decoder = decoder_of(self);
    size_t start[STEP_KINDS];
    char *why = nullptr;
    for (size_t i = 0; i < decoder.kind_count; i++) {
        start[i] = decoder.kinds[i].start;
    }
    pdl_chain *const chain = build(self, start, PDL_OVERLAP_NONE, &why);
    if (chain == nullptr) {
        return why;
    }
    decoder.model.poison();
    MUST_PDL(pdl_chain_launch(chain, gpu.stream));
    gpu_wait();
    pdl_chain_destroy(chain);
    check_token(decoder.model, decoder.model.results(), decoder.with_attention,
                [&](int layer, const char *step, double error) {
                    if (why == nullptr) {
                        why = format_text("layer %d, %s: the error of %.1e is over %.1e", layer,
                                          step, error, error_limit);
                    }
                });
    return why;
}

static void destroy(void *self)
{
    delete static_cast<tuned_decoder *>(self);
}

bool tune_decode_job(struct tune_job *job, bool attention, bool present, char *why, size_t why_size)
{
    size_t left = 0, total = 0;
    *job = {};
    CHECK(cudaSetDevice(gpu.ordinal));
    MUST(cu.cuMemGetInfo(&left, &total));
    if (!decoder_fits(gpu.multiprocessors)) {
        std::snprintf(why, why_size, "%d multiprocessors are too few for the decoder",
                      gpu.multiprocessors);
        return false;
    }
    if (left < decoder_model::device_bytes) {
        std::snprintf(why, why_size,
                      "%.0f MB of the device's memory are free, and the decoder takes %.0f",
                      1e-6 * static_cast<double>(left),
                      1e-6 * static_cast<double>(decoder_model::device_bytes));
        return false;
    }
    tuned_decoder *const decoder = new tuned_decoder(attention);
    job->name = copy_text(attention ? "decode" : "decode, linear part");
    job->kinds = static_cast<tune_kind *>(allocate(STEP_KINDS, sizeof(*job->kinds)));
    for (int step = 0; step < STEP_KINDS; step++) {
        if (attention || step != STEP_ATTENTION) {
            add_kind(job, *decoder, static_cast<step_kind>(step), present);
        }
    }
    decoder->kinds = job->kinds;
    decoder->kind_count = job->kind_count;
    job->links = decoder->steps.list.size();
    job->result_bytes = sizeof(bf16) * decoder->model.results().size();
    job->self = decoder;
    job->build = build;
    job->reset = reset;
    job->results = results;
    job->finish = finish;
    job->destroy = destroy;
    return true;
}
