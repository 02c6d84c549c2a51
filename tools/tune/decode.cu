/* SPDX-License-Identifier: MIT */
/* The decoder of the example 09_decode as a chain to tune. Each step has two kinds in the search: its
 * trigger and grid, and its use of memory. A choice of one kind is measured with those of the others as
 * they are, so that the search is a sum of lists and not a product. */
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

/* What a kind of the search chooses of a step. */
struct coordinate {
    step_kind step;
    bool memory;
    std::vector<linear_setting> linear; /* for each choice, as far as this coordinate sets it */
    std::vector<attention_setting> attention;
};

class tuned_decoder
{
  public:
    tuned_decoder(const decoder_config &config, bool attention_)
        : with_attention(attention_), model(config, seed),
          settings(decoder_defaults(config, static_cast<unsigned>(gpu.multiprocessors)))
    {
        for (size_t i = 0; i < variant_count; i++) {
            MUST(cu.cuLibraryLoadData(&libraries[i], variants[i].image, nullptr, nullptr, 0,
                                      nullptr, nullptr, 0));
            for (int kind = 0; kind < STEP_KINDS; kind++) {
                const linear_kind product = linear_of(static_cast<step_kind>(kind));
                const void *const symbol =
                    kind == STEP_ATTENTION
                        ? reinterpret_cast<const void *>(attention_for(model.shape.head_size))
                        : reinterpret_cast<const void *>(linear_for(
                              product, config.fp8_weights, config.batch, model.cols(product)));
                CHECK(cudaFuncGetName(&names[kind], symbol)); /* the same in every image */
                kernels[i][kind] = load(libraries[i], names[kind], kind == STEP_ATTENTION);
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

    /* As prepare_kernel() does. */
    static pdl_kernel *load(CUlibrary library, const char *name, bool clusters)
    {
        CUkernel found = nullptr;
        CUfunction function = nullptr;
        pdl_kernel *kernel = nullptr;
        MUST(cu.cuLibraryGetKernel(&found, library, name));
        MUST(cu.cuKernelGetFunction(&function, found));
        MUST(cu.cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                   static_cast<int>(most_shared)));
        if (clusters) {
            MUST(cu.cuFuncSetAttribute(function,
                                       CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1));
        }
        MUST(cu.cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT,
                                   CU_SHAREDMEM_CARVEOUT_MAX_SHARED));
        MUST_PDL(pdl_kernel_from_function(function, &kernel));
        MUST_PDL(pdl_kernel_declare(kernel, PDL_YES, PDL_YES));
        return kernel;
    }

    bool with_attention;
    decoder_model model;
    decoder_settings settings; /* to begin with */
    CUlibrary libraries[variant_count] = {};
    const char *names[STEP_KINDS] = {};
    pdl_kernel *kernels[variant_count][STEP_KINDS] = {};
    const tune_kind *kinds = nullptr; /* the job's */
    std::vector<coordinate> coordinates;
};

/* ---- what may be chosen ------------------------------------------------------------------------ */

/* One to four blocks for each multiprocessor, and for each of these the fewest blocks with which none has
 * more to do than there; those that the example has at first. */
static std::vector<unsigned> grids_of(const tuned_decoder &decoder, linear_kind kind)
{
    const unsigned multiprocessors = static_cast<unsigned>(gpu.multiprocessors);
    const unsigned units = static_cast<unsigned>(decoder.model.rows(kind) / (8 * unit_tiles(kind)));
    std::vector<unsigned> grids = {decoder.settings.linear[kind].blocks};
    for (unsigned blocks = 1; blocks <= 4; blocks++) {
        const unsigned most = std::min(blocks * multiprocessors, units);
        const unsigned each = (units + most - 1) / most;
        for (const unsigned grid : {most, (units + each - 1) / each}) {
            if (std::find(grids.begin(), grids.end(), grid) == grids.end()) {
                grids.push_back(grid);
            }
        }
    }
    return grids;
}

static tune_kind *new_kind(tune_job *job, const char *name, size_t most)
{
    tune_kind *const kind = &job->kinds[job->kind_count++];
    kind->name = copy_text(name);
    kind->items = static_cast<tune_choice *>(allocate(most, sizeof(*kind->items)));
    return kind;
}

/* The triggers of a step with its grids. */
static void add_launches(tune_job *job, tuned_decoder &decoder, step_kind step, bool present)
{
    coordinate to = {step, false, {}, {}};
    std::vector<unsigned> grids = {0}; /* attention's follows from its other choices */
    if (step != STEP_ATTENTION) {
        grids = grids_of(decoder, linear_of(step));
    }
    tune_kind *const kind = new_kind(job, step_names[step], grids.size() * variant_count);
    kind->kernel = copy_text(decoder.names[step]);
    for (const unsigned grid : grids) {
        for (const variant &v : variants) {
            if (step == STEP_ATTENTION && v.trigger >= attention_points) {
                continue;
            }
            const bool first = step == STEP_ATTENTION || present
                                   ? grid == grids[0]
                                   : grid == static_cast<unsigned>(gpu.multiprocessors);
            if (first && v.trigger == 0) {
                kind->start = kind->count;
            }
            kind->items[kind->count++] = {v.trigger, {grid, 1, 1}, false, nullptr};
            linear_setting setting = {};
            setting.blocks = grid;
            to.linear.push_back(setting);
        }
    }
    decoder.coordinates.push_back(to);
}

/* The ring of a product's kernel. */
static void add_linear_memory(tune_job *job, tuned_decoder &decoder, step_kind step)
{
    const linear_setting now = decoder.settings.linear[linear_of(step)];
    coordinate to = {step, true, {}, {}};
    const std::string name = std::string(step_names[step]) + " memory";
    tune_kind *const kind = new_kind(job, name.c_str(), 8 * 4);
    for (int ring = 48 << 10; ring <= 104 << 10; ring += 8 << 10) {
        for (const int pace : {0, 16, 32, 64}) {
            if (ring == now.ring_bytes && pace == now.pace) {
                kind->start = kind->count;
            }
            kind->items[kind->count++] = {
                0, {0, 1, 1}, false, format_text("ring %d KiB, pace %d KiB", ring >> 10, pace)};
            to.linear.push_back({0, ring, pace});
        }
    }
    decoder.coordinates.push_back(to);
}

/* How attention divides the tokens, and what it has on the way. */
static void add_attention_memory(tune_job *job, tuned_decoder &decoder)
{
    const attention_setting now = decoder.settings.attention;
    coordinate to = {STEP_ATTENTION, true, {}, {now}};
    for (const int cluster : {1, 2, 4, 8, 16}) {
        for (const int warps : {1, 2, 4, 8}) {
            for (const int stages : {1, 2}) {
                for (const int prefetch : {0, 4, 1000}) {
                    attention_args args = {};
                    args.context = decoder.model.config.context;
                    const attention_setting setting = {cluster, warps, stages, prefetch};
                    const int groups = context_groups(args.context) / cluster;
                    if (attention_plan(decoder.model.shape, decoder.model.batch, setting, &args)
                                .blocks > 0 &&
                        groups >= warps && (stages == 1 || groups > warps) &&
                        (prefetch == 0 || groups > warps * stages)) {
                        to.attention.push_back(setting);
                    }
                }
            }
        }
    }
    tune_kind *const kind = new_kind(job, "attention memory", to.attention.size());
    for (const attention_setting &setting : to.attention) {
        kind->items[kind->count++] = {0,
                                      {0, 1, 1},
                                      false,
                                      format_text("cluster %d, warps %d, stages %d, prefetch %d",
                                                  setting.cluster, setting.warps, setting.stages,
                                                  setting.prefetch)};
    }
    decoder.coordinates.push_back(to);
}

/* ---- the job ----------------------------------------------------------------------------------- */

static tuned_decoder &decoder_of(void *self)
{
    return *static_cast<tuned_decoder *>(self);
}

static pdl_chain *build(void *self, const size_t *choices, pdl_overlap overlap, char **why)
{
    tuned_decoder &decoder = decoder_of(self);
    decoder_settings settings = decoder.settings;
    pdl_kernel *kernels[ALL_STEP_KINDS] = {};
    for (size_t i = 0; i < decoder.coordinates.size(); i++) {
        const coordinate &from = decoder.coordinates[i];
        const size_t choice = choices[i];
        if (!from.memory) {
            size_t v = 0;
            while (variants[v].trigger != decoder.kinds[i].items[choice].trigger) {
                v++;
            }
            kernels[from.step] = decoder.kernels[v][from.step];
        }
        if (from.step == STEP_ATTENTION) {
            settings.attention = from.memory ? from.attention[choice] : settings.attention;
        } else if (from.memory) {
            linear_setting &to = settings.linear[linear_of(from.step)];
            const unsigned blocks = to.blocks;
            to = from.linear[choice];
            to.blocks = blocks;
        } else {
            settings.linear[linear_of(from.step)].blocks = from.linear[choice].blocks;
        }
    }
    const decoder_steps steps(decoder.model, decoder.with_attention, settings, nullptr);
    if (!steps.fits()) {
        *why = copy_text("a block has no room for what it needs");
        return nullptr;
    }
    pdl_chain *chain = nullptr;
    pdl_status status = pdl_chain_create(nullptr, &chain);
    if (status == PDL_SUCCESS) {
        status = steps.record(chain, kernels, overlap);
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

/* Whether what all configurations agree on is right, too. Of more than one sequence, in the first and the
 * last layer: the host takes long for all. */
static char *finish(void *self)
{
    tuned_decoder &decoder = decoder_of(self);
    std::vector<size_t> start(decoder.coordinates.size());
    char *why = nullptr;
    for (size_t i = 0; i < start.size(); i++) {
        start[i] = decoder.kinds[i].start;
    }
    pdl_chain *const chain = build(self, start.data(), PDL_OVERLAP_NONE, &why);
    if (chain == nullptr) {
        return why;
    }
    decoder.model.poison();
    MUST_PDL(pdl_chain_launch(chain, gpu.stream));
    gpu_wait();
    pdl_chain_destroy(chain);
    check_token(
        decoder.model, decoder.model.results(), decoder.with_attention,
        [&](int layer, const char *step, double error) {
            if (why == nullptr) {
                why = format_text("layer %d, %s: the error of %.1e is over %.1e", layer, step,
                                  error, error_limit);
            }
        },
        decoder.model.batch == 1 ? 1 : decoder.model.shape.layers - 1);
    return why;
}

static void destroy(void *self)
{
    delete static_cast<tuned_decoder *>(self);
}

bool tune_decode_job(struct tune_job *job, const struct tune_decoder *wanted, char *why,
                     size_t why_size)
{
    decoder_config config = {decoder_shapes[0], wanted->sequences, wanted->context,
                             wanted->fp8_weights};
    for (const decoder_shape &shape : decoder_shapes) {
        config.shape = std::strcmp(shape.name, wanted->shape) == 0 ? shape : config.shape;
    }
    size_t left = 0, total = 0;
    *job = {};
    CHECK(cudaSetDevice(gpu.ordinal));
    MUST(cu.cuMemGetInfo(&left, &total));
    if (left < decoder_model::device_bytes(config)) {
        std::snprintf(why, why_size,
                      "%.0f MB of the device's memory are free, and the decoder takes %.0f",
                      1e-6 * static_cast<double>(left),
                      1e-6 * static_cast<double>(decoder_model::device_bytes(config)));
        return false;
    }
    tuned_decoder *const decoder = new tuned_decoder(config, wanted->attention);
    job->name = format_text("decode, %s class, %s weights, %d sequences of %d tokens%s",
                            config.shape.name, config.fp8_weights ? "fp8" : "bf16", config.batch,
                            config.context, wanted->attention ? "" : ", linear part");
    job->kinds = static_cast<tune_kind *>(allocate(2 * STEP_KINDS, sizeof(*job->kinds)));
    for (int i = 0; i < STEP_KINDS; i++) {
        const step_kind step = static_cast<step_kind>(i);
        if (step != STEP_ATTENTION) {
            add_launches(job, *decoder, step, wanted->present);
            add_linear_memory(job, *decoder, step);
        } else if (wanted->attention) {
            add_launches(job, *decoder, step, wanted->present);
            add_attention_memory(job, *decoder);
        }
    }
    decoder->kinds = job->kinds;
    job->links = static_cast<size_t>(config.shape.layers) * (wanted->attention ? 5 : 4);
    job->result_bytes = sizeof(bf16) * decoder->model.results().size();
    job->self = decoder;
    job->build = build;
    job->reset = reset;
    job->results = results;
    job->finish = finish;
    job->destroy = destroy;
    return true;
}
