/* SPDX-License-Identifier: MIT */
/* pdl_overlap_query() against the driver's occupancy calculator, over many configurations of a
 * kernel, and against what two kernels do on the device: when each block of theirs started and
 * ended, and on which SM.
 *
 * With --json FILE, everything that was compared is written there. */
#include "gpu_test.cuh"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include <pdl/overlap.h>

/* ---- kernels -------------------------------------------------------------------------------- */

struct stamp {
    unsigned long long start;
    unsigned long long end;
    unsigned sm;
    unsigned reserved;
};

struct job {
    stamp *stamps;         /* of each block */
    const unsigned *input; /* something that no compiler knows */
    unsigned *output;
    unsigned before_ns; /* the trigger */
    unsigned after_ns;  /* it, or nothing */
    bool waits;
    bool triggers;
};

/* Holds about `Live` registers a thread, from its first instruction to its last. */
template <int Live> static __device__ void run(const job &job)
{
    const unsigned long long start = device_clock();
    unsigned live[Live];
#pragma unroll
    for (int i = 0; i < Live; i++) {
        asm volatile("ld.volatile.global.u32 %0, [%1];" : "=r"(live[i]) : "l"(job.input + i));
    }
    if (job.waits) {
        PDL_WAIT();
    }
    if (threadIdx.x == 0) {
        spin(job.before_ns);
    }
    __syncthreads();
    if (job.triggers) {
        PDL_LAUNCH_DEPENDENTS();
    }
    if (threadIdx.x == 0) {
        spin(job.after_ns);
    }
    __syncthreads();
    unsigned mixed = 0;
#pragma unroll
    for (int i = 0; i < Live; i++) {
        mixed = mixed * 33 + live[i];
    }
    if (mixed == 12345) {
        *job.output = mixed; /* never: the input is zero */
    }
    if (threadIdx.x == 0) {
        stamp stamp = {start, 0, 0, 0};
        asm volatile("mov.u32 %0, %%smid;" : "=r"(stamp.sm));
        stamp.end = device_clock();
        job.stamps[blockIdx.x] = stamp;
    }
}

template <int Live> static __global__ void without_shared(job job)
{
    run<Live>(job);
}

template <int Live, int Bytes> static __global__ void with_shared(job job)
{
    __shared__ volatile unsigned char bytes[Bytes];
    bytes[threadIdx.x] = static_cast<unsigned char>(job.before_ns);
    run<Live>(job);
}

/* Names all barriers that a block can have. */
static __global__ void with_all_barriers(job job)
{
    asm volatile("barrier.sync 15;" ::: "memory");
    run<1>(job);
}

typedef void (*stamped_kernel)(job job);

static const stamped_kernel kernels[] = {
    without_shared<1>,   without_shared<8>,   without_shared<24>,   without_shared<40>,
    without_shared<56>,  without_shared<80>,  without_shared<104>,  without_shared<136>,
    without_shared<168>, without_shared<216>, with_shared<1, 5000>, with_shared<64, 40000>,
};
static const size_t kernel_count = sizeof(kernels) / sizeof(kernels[0]);

/* ---- what the tests share ------------------------------------------------------------------- */

struct fixture {
    cudaStream_t stream;
    cudaStream_t other_stream;
    unsigned *input; /* zeros */
    unsigned *output;
    stamp *stamps[2];
    pdl_kernel *kernels[kernel_count];
    pdl_kernel *all_barriers;
    pdl_device_info device;
};

static fixture fix;
static const char *json_path;
static std::string json; /* members of the document */

static const unsigned most_blocks = 1u << 16;

static int set_up(void **)
{
    fix.device = PDL_DEVICE_INFO_INIT;
    assert_pdl(pdl_device_get(0, &fix.device));
    assert_cuda(cudaStreamCreateWithFlags(&fix.stream, cudaStreamNonBlocking));
    assert_cuda(cudaStreamCreateWithFlags(&fix.other_stream, cudaStreamNonBlocking));
    assert_cuda(cudaMalloc(&fix.input, 256 * sizeof(*fix.input)));
    assert_cuda(cudaMemset(fix.input, 0, 256 * sizeof(*fix.input)));
    assert_cuda(cudaMalloc(&fix.output, sizeof(*fix.output)));
    for (stamp *&stamps : fix.stamps) {
        assert_cuda(cudaMalloc(&stamps, most_blocks * sizeof(*stamps)));
    }
    for (size_t i = 0; i < kernel_count; i++) {
        cudaFuncAttributes attributes;
        assert_cuda(cudaFuncGetAttributes(&attributes, kernels[i]));
        assert_pdl(pdl_kernel_from_symbol(kernels[i], &fix.kernels[i]));
        assert_pdl(pdl_kernel_set_max_dynamic_shared_memory(
            fix.kernels[i], static_cast<uint32_t>(fix.device.shared_memory_per_block_optin) -
                                static_cast<uint32_t>(attributes.sharedSizeBytes)));
    }
    assert_pdl(pdl_kernel_from_symbol(with_all_barriers, &fix.all_barriers));
    return 0;
}

static int tear_down(void **)
{
    pdl_kernel_destroy(fix.all_barriers);
    for (pdl_kernel *kernel : fix.kernels) {
        pdl_kernel_destroy(kernel);
    }
    for (stamp *stamps : fix.stamps) {
        assert_cuda(cudaFree(stamps));
    }
    assert_cuda(cudaFree(fix.output));
    assert_cuda(cudaFree(fix.input));
    assert_cuda(cudaStreamDestroy(fix.other_stream));
    assert_cuda(cudaStreamDestroy(fix.stream));
    return 0;
}

static void set_carveout(size_t kernel, int percent)
{
    assert_cuda(cudaFuncSetAttribute(reinterpret_cast<const void *>(kernels[kernel]),
                                     cudaFuncAttributePreferredSharedMemoryCarveout, percent));
}

static pdl_launch_desc desc_of(unsigned blocks, unsigned threads, unsigned dynamic)
{
    return pdl_launch_desc_make(blocks, threads, dynamic, fix.stream, PDL_OVERLAP_AUTO);
}

__attribute__((format(printf, 1, 2))) static std::string text_of(const char *format, ...)
{
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    return text;
}

static const pdl_condition_report *condition_of(const pdl_overlap_report &report,
                                                pdl_condition condition)
{
    for (unsigned i = 0; i < report.condition_count; i++) {
        if (report.conditions[i].condition == static_cast<uint32_t>(condition)) {
            return &report.conditions[i];
        }
    }
    fail_msg("there is no condition %s", pdl_condition_name(condition));
    return nullptr;
}

/* ---- one kernel ----------------------------------------------------------------------------- */

struct count_of_configurations {
    unsigned agreed;
    unsigned disagreed;
    unsigned refused; /* no such launch: not compared */
};

static void compare_one(size_t kernel, unsigned threads, unsigned dynamic, int carveout,
                        count_of_configurations *count)
{
    pdl_overlap_report report = PDL_OVERLAP_REPORT_INIT;
    const pdl_launch_desc desc = desc_of(1, threads, dynamic);
    int driver = 0;
    if (pdl_overlap_query(fix.kernels[kernel], &desc, fix.kernels[0], &desc, 0, &report) !=
        PDL_SUCCESS) {
        count->refused++;
        return;
    }
    assert_cuda(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&driver, kernels[kernel],
                                                              static_cast<int>(threads), dynamic));
    if (report.primary_per_sm == static_cast<unsigned>(driver)) {
        count->agreed++;
        return;
    }
    count->disagreed++;
    if (count->disagreed <= 20) {
        pdl_kernel_info info = PDL_KERNEL_INFO_INIT;
        assert_pdl(pdl_kernel_get(fix.kernels[kernel], 0, &info));
        print_error(
            "%u threads, %d registers, %d + %u bytes, carve-out %d: %u, the driver says %d\n",
            threads, info.registers_per_thread, info.static_shared_memory, dynamic, carveout,
            report.primary_per_sm, driver);
    }
}

static void blocks_on_an_sm_are_counted_as_the_driver_counts_them(void **)
{
    static const unsigned threads[] = {32,  33,  63,  64,  95,  96,  127, 128, 129,  160, 191,
                                       192, 224, 255, 256, 257, 288, 320, 383, 384,  447, 511,
                                       512, 576, 640, 701, 768, 833, 896, 993, 1023, 1024};
    static const unsigned dynamics[] = {0,      1,      1000,   4096,   7168,   8191,
                                        16384,  33000,  49152,  65536,  100000, 113663,
                                        114688, 115712, 163840, 196000, 227328, 232448};
    static const int carveouts[] = {-1, 0, 10, 25, 50, 75, 100};
    count_of_configurations count = {};
    for (size_t kernel = 0; kernel < kernel_count; kernel++) {
        for (const int carveout : carveouts) {
            set_carveout(kernel, carveout);
            set_carveout(0, carveout);
            for (const unsigned block : threads) {
                for (const unsigned dynamic : dynamics) {
                    compare_one(kernel, block, dynamic, carveout, &count);
                }
            }
        }
        set_carveout(kernel, -1);
    }
    set_carveout(0, -1);
    print_message("occupancy: %u configurations agreed, %u disagreed, %u were no launches\n",
                  count.agreed, count.disagreed, count.refused);
    json += text_of("  \"occupancy\": {\"agreed\": %u, \"disagreed\": %u, \"refused\": %u},\n",
                    count.agreed, count.disagreed, count.refused);
    assert_true(count.agreed + count.disagreed >= 500);
    assert_int_equal(count.disagreed, 0);
}

/* The library is not told how many barriers a kernel takes. Where the driver counts them, the two
 * disagree, and that is what the query has to say. */
static void a_count_that_the_driver_does_not_share_is_unknown(void **)
{
    pdl_overlap_report report = PDL_OVERLAP_REPORT_INIT;
    const pdl_launch_desc desc = desc_of(1, 32, 0);
    int driver = 0;
    assert_cuda(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&driver, with_all_barriers, 32, 0));
    assert_pdl(pdl_overlap_query(fix.all_barriers, &desc, fix.kernels[0], &desc, 0, &report));
    print_message("16 barriers a block: the driver says %d blocks, without barriers it is %u\n",
                  driver, report.primary_per_sm);
    json += text_of("  \"barriers\": {\"driver\": %d, \"without\": %u},\n", driver,
                    report.primary_per_sm);
    const bool same = static_cast<unsigned>(driver) == report.primary_per_sm;
    assert_int_equal(condition_of(report, PDL_CONDITION_OCCUPANCY)->met,
                     same ? PDL_YES : PDL_UNKNOWN);
}

/* ---- two kernels ---------------------------------------------------------------------------- */

struct launch {
    size_t kernel;
    unsigned blocks;
    unsigned threads;
    unsigned dynamic;
    int carveout;
};

struct pair {
    const char *kind;
    launch first;
    launch second;
    bool triggers;
    bool overlap;
    bool same_stream;
    bool cooperative;
};

static const int runs_of_pair = 4; /* after all memory was L1, and after all was shared, in turn */
static const unsigned before_ns = 15000;
static const unsigned after_ns = 90000;
static const unsigned margin_ns = 25000; /* blocks of a wave start and end that close together */

struct observation {
    int early_runs
        [2];        /* runs in which a block of the secondary started early, by what was before */
    unsigned early; /* such blocks, in the last run */
    unsigned most_on_sm;   /* of the primary, at its end */
    unsigned beside_most;  /* of the secondary beside them, at most */
    unsigned beside_fewer; /* and on SMs with fewer */
};

/* Leaves the SMs' shared memory set to much or to little, as far as anyone can. */
static void set_sms(int carveout)
{
    set_carveout(0, carveout);
    const job job = {fix.stamps[0], fix.input, fix.output, 5000, 0, false, false};
    kernels[0]<<<static_cast<unsigned>(fix.device.multiprocessor_count), 128, 0, fix.stream>>>(job);
    assert_cuda(cudaGetLastError());
    assert_cuda(cudaStreamSynchronize(fix.stream));
}

static pdl_launch_desc desc_of_pair(const pair &pair, bool second)
{
    const launch &launch = second ? pair.second : pair.first;
    pdl_launch_desc desc = desc_of(launch.blocks, launch.threads, launch.dynamic);
    desc.overlap = second && pair.overlap ? PDL_OVERLAP_AUTO : PDL_OVERLAP_NONE;
    desc.stream = second && !pair.same_stream ? fix.other_stream : fix.stream;
    desc.cooperative = second && pair.cooperative ? 1 : 0;
    return desc;
}

static void launch_pair(const pair &pair)
{
    const pdl_launch_desc first = desc_of_pair(pair, false);
    const pdl_launch_desc second = desc_of_pair(pair, true);
    job first_job = {fix.stamps[0], fix.input, fix.output,   before_ns,
                     after_ns,      true,      pair.triggers};
    job second_job = {fix.stamps[1], fix.input, fix.output, 0, 0, true, false};
    if (!pair.same_stream) { /* else they would run at once anyhow */
        cudaEvent_t event;
        assert_cuda(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
        assert_pdl(pdl_launch(fix.kernels[pair.first.kernel], &first, PDL_ARGS(first_job)));
        assert_cuda(cudaEventRecord(event, fix.stream));
        assert_cuda(cudaStreamWaitEvent(fix.other_stream, event, 0));
        assert_cuda(cudaEventDestroy(event));
    } else {
        assert_pdl(pdl_launch(fix.kernels[pair.first.kernel], &first, PDL_ARGS(first_job)));
    }
    assert_pdl(pdl_launch(fix.kernels[pair.second.kernel], &second, PDL_ARGS(second_job)));
    assert_cuda(cudaStreamSynchronize(fix.stream));
    assert_cuda(cudaStreamSynchronize(fix.other_stream));
}

static std::vector<stamp> stamps_of(int which, unsigned blocks)
{
    std::vector<stamp> stamps(blocks);
    assert_cuda(cudaMemcpy(stamps.data(), fix.stamps[which], blocks * sizeof(stamp),
                           cudaMemcpyDeviceToHost));
    return stamps;
}

static void look(const pair &pair, int before, observation *seen)
{
    std::map<unsigned, unsigned> last; /* of the primary on an SM, at its end */
    std::map<unsigned, unsigned> beside;
    unsigned long long end = 0;
    const std::vector<stamp> first = stamps_of(0, pair.first.blocks);
    const std::vector<stamp> second = stamps_of(1, pair.second.blocks);
    for (const stamp &stamp : first) {
        end = std::max(end, stamp.end);
    }
    for (const stamp &stamp : first) {
        last[stamp.sm] += stamp.end + margin_ns > end ? 1 : 0;
    }
    *seen = {{seen->early_runs[0], seen->early_runs[1]}, 0, 0, 0, 0};
    for (const stamp &stamp : second) {
        if (stamp.start + margin_ns < end) {
            seen->early++;
            beside[stamp.sm]++;
        }
    }
    for (const auto &sm : last) {
        seen->most_on_sm = std::max(seen->most_on_sm, sm.second);
    }
    for (const auto &sm : beside) {
        unsigned &most =
            last[sm.first] == seen->most_on_sm ? seen->beside_most : seen->beside_fewer;
        most = std::max(most, sm.second);
    }
    seen->early_runs[before] += seen->early > 0 ? 1 : 0;
}

static observation observe(const pair &pair)
{
    observation seen = {};
    for (int run = 0; run < runs_of_pair + 1; run++) { /* the first loads the kernels */
        set_sms(run % 2 == 0 ? 100 : 0);
        set_carveout(pair.second.kernel, pair.second.carveout);
        set_carveout(pair.first.kernel, pair.first.carveout);
        launch_pair(pair);
        if (run > 0) {
            look(pair, run % 2, &seen);
        }
    }
    return seen;
}

/* What was said, against what was seen. */
enum class outcome { agreed, disagreed, open };

static outcome judge(const pdl_overlap_report &report, const observation &seen)
{
    const int early = seen.early_runs[0] + seen.early_runs[1];
    if (report.overlap == PDL_UNKNOWN) {
        return outcome::open;
    }
    const int expected = report.overlap == PDL_YES ? runs_of_pair : 0;
    return early == expected ? outcome::agreed : outcome::disagreed;
}

static const char *name_of(uint32_t known)
{
    return known == PDL_YES ? "yes" : known == PDL_NO ? "no" : "unknown";
}

static std::string json_of(const launch &launch)
{
    pdl_kernel_info info = PDL_KERNEL_INFO_INIT;
    assert_pdl(pdl_kernel_get(fix.kernels[launch.kernel], 0, &info));
    return text_of("{\"blocks\": %u, \"threads\": %u, \"registers\": %d, \"static\": %d, "
                   "\"dynamic\": %u, \"carveout\": %d}",
                   launch.blocks, launch.threads, info.registers_per_thread,
                   info.static_shared_memory, launch.dynamic, launch.carveout);
}

static std::string row_of(const launch &launch)
{
    pdl_kernel_info info = PDL_KERNEL_INFO_INIT;
    assert_pdl(pdl_kernel_get(fix.kernels[launch.kernel], 0, &info));
    return text_of(
        "%5u x %4u %3d r %6u B %4d%%", launch.blocks, launch.threads, info.registers_per_thread,
        static_cast<unsigned>(info.static_shared_memory) + launch.dynamic, launch.carveout);
}

struct tally {
    unsigned agreed, disagreed, open;
    unsigned room_agreed, room_disagreed; /* of pairs that overlapped as said */
    std::string rows;
};

static void compare_pair(const pair &pair, tally *tally)
{
    static const char *const outcomes[] = {"agreed", "DISAGREED", "open"};
    pdl_overlap_report report = PDL_OVERLAP_REPORT_INIT;
    const pdl_launch_desc first = desc_of_pair(pair, false);
    const pdl_launch_desc second = desc_of_pair(pair, true);
    set_carveout(pair.second.kernel, pair.second.carveout);
    set_carveout(pair.first.kernel, pair.first.carveout);
    assert_pdl(pdl_kernel_declare(fix.kernels[pair.first.kernel], PDL_YES,
                                  pair.triggers ? PDL_YES : PDL_NO));
    assert_pdl(pdl_overlap_query(fix.kernels[pair.first.kernel], &first,
                                 fix.kernels[pair.second.kernel], &second, 0, &report));
    const observation seen = observe(pair);
    const outcome outcome = judge(report, seen);
    tally->agreed += outcome == outcome::agreed;
    tally->disagreed += outcome == outcome::disagreed;
    tally->open += outcome == outcome::open;
    const bool room = report.fit_beside_most == seen.beside_most;
    if (outcome == outcome::agreed && report.overlap == PDL_YES) {
        tally->room_agreed += room;
        tally->room_disagreed += !room;
    }
    print_message(
        "%-9s %s | %s | says %-7s %2u beside %u, %5llu in all | %d+%d of %d runs, %2u beside %u, "
        "%5u in all: %s\n",
        pair.kind, row_of(pair.first).c_str(), row_of(pair.second).c_str(), name_of(report.overlap),
        report.fit_beside_most, report.most_on_sm,
        static_cast<unsigned long long>(report.fit_total), seen.early_runs[0], seen.early_runs[1],
        runs_of_pair, seen.beside_most, seen.most_on_sm, seen.early,
        outcomes[static_cast<int>(outcome)]);
    tally->rows +=
        text_of("%s    {\"kind\": \"%s\", \"primary\": %s, \"secondary\": %s, \"triggers\": %s,\n",
                tally->rows.empty() ? "" : ",\n", pair.kind, json_of(pair.first).c_str(),
                json_of(pair.second).c_str(), pair.triggers ? "true" : "false");
    tally->rows +=
        text_of("     \"said\": {\"overlap\": \"%s\", \"most_on_sm\": %u, \"fit_beside_most\": %u, "
                "\"fit_beside_fewest\": %u, \"fit_total\": %llu, \"first_out\": \"%s\"},\n",
                name_of(report.overlap), report.most_on_sm, report.fit_beside_most,
                report.fit_beside_fewest, static_cast<unsigned long long>(report.fit_total),
                pdl_condition_name(static_cast<pdl_condition>(report.first_out)));
    tally->rows +=
        text_of("     \"seen\": {\"runs\": %d, \"overlapped_after_shared\": %d, "
                "\"overlapped_after_l1\": %d, "
                "\"most_on_sm\": %u, \"beside_most\": %u, \"beside_fewer\": %u, \"early\": %u},\n",
                runs_of_pair, seen.early_runs[0], seen.early_runs[1], seen.most_on_sm,
                seen.beside_most, seen.beside_fewer, seen.early);
    tally->rows += text_of("     \"outcome\": \"%s\"}", outcomes[static_cast<int>(outcome)]);
}

/* ---- which pairs ---------------------------------------------------------------------------- */

/* The same numbers in every run. */
static unsigned draw(unsigned below)
{
    static unsigned long long state = 20240229;
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return static_cast<unsigned>(state >> 33) % below;
}

template <size_t Count> static unsigned one_of(const unsigned (&values)[Count])
{
    return values[draw(Count)];
}

/* A launch that the kernel and the device allow. */
static launch draw_launch(int carveout)
{
    static const unsigned threads[] = {32, 64, 96, 128, 192, 256, 384, 512, 768, 1024};
    static const unsigned dynamics[] = {0, 0, 0, 4096, 16384, 30000, 49152, 75000, 100000, 150000};
    for (;;) {
        launch launch = {draw(kernel_count), 1, one_of(threads), one_of(dynamics), carveout};
        pdl_launch_report report = PDL_LAUNCH_REPORT_INIT;
        const pdl_launch_desc desc = desc_of(1, launch.threads, launch.dynamic);
        if (pdl_launch_explain(fix.kernels[launch.kernel], &desc, &report) == PDL_SUCCESS) {
            return launch;
        }
    }
}

static unsigned per_sm(const launch &launch)
{
    int blocks = 0;
    set_carveout(launch.kernel, launch.carveout);
    assert_cuda(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
        &blocks, kernels[launch.kernel], static_cast<int>(launch.threads), launch.dynamic));
    return static_cast<unsigned>(blocks);
}

/* Different kernels, since the preference belongs to one; kernel 0 is what sets the SMs. */
static pair draw_pair(const char *kind, int first_carveout, int second_carveout)
{
    const unsigned sms = static_cast<unsigned>(fix.device.multiprocessor_count);
    pair pair = {kind, draw_launch(first_carveout), draw_launch(second_carveout), true, true, true,
                 false};
    while (pair.first.kernel == 0) {
        pair.first = draw_launch(first_carveout);
    }
    while (pair.second.kernel == 0 || pair.second.kernel == pair.first.kernel) {
        pair.second = draw_launch(second_carveout);
    }
    const unsigned full = sms * per_sm(pair.first);
    const unsigned grids[] = {sms / 2,  sms,           full,
                              full,     full / 2 + 1,  std::max(full - sms / 2, 1u),
                              2 * full, 2 * full + sms};
    pair.first.blocks = one_of(grids);
    pair.second.blocks = sms * 32; /* more than can ever run at a time */
    return pair;
}

/* A pair that overlaps, to be spoiled. */
static pair good_pair(const char *kind)
{
    const unsigned sms = static_cast<unsigned>(fix.device.multiprocessor_count);
    return {kind, {2, sms, 128, 4096, 100}, {3, sms, 128, 4096, 100}, true, true, true, false};
}

static std::vector<pair> spoiled_pairs()
{
    std::vector<pair> pairs(6, good_pair("good"));
    pairs[1].kind = "trigger";
    pairs[1].triggers = false;
    pairs[2].kind = "attribute";
    pairs[2].overlap = false;
    pairs[3].kind = "stream";
    pairs[3].same_stream = false;
    pairs[4].kind = "cooperat.";
    pairs[4].cooperative = true;
    pairs[5].kind = "room";
    pairs[5].first.dynamic = pairs[5].second.dynamic = 120000;
    return pairs;
}

static void what_is_said_of_a_pair_is_what_the_device_does(void **)
{
    static const int mixed[][2] = {{50, 100}, {100, 50}, {0, 100},  {100, 0},
                                   {25, 25},  {0, 0},    {-1, 100}, {100, -1}};
    tally tally = {};
    std::vector<pair> pairs = spoiled_pairs();
    for (int i = 0; i < 72; i++) {
        pairs.push_back(draw_pair("shared", 100, 100));
    }
    for (int i = 0; i < 32; i++) {
        pairs.push_back(draw_pair("default", -1, -1));
    }
    for (int i = 0; i < 32; i++) {
        pairs.push_back(draw_pair("mixed", mixed[i % 8][0], mixed[i % 8][1]));
    }
    for (const pair &pair : pairs) {
        compare_pair(pair, &tally);
    }
    print_message(
        "pairs: %u agreed, %u disagreed, %u said to be open; blocks beside the fullest SMs: %u "
        "agreed, %u disagreed\n",
        tally.agreed, tally.disagreed, tally.open, tally.room_agreed, tally.room_disagreed);
    json += text_of("  \"pairs\": {\"agreed\": %u, \"disagreed\": %u, \"open\": %u, "
                    "\"room_agreed\": %u, \"room_disagreed\": %u, \"rows\": [\n",
                    tally.agreed, tally.disagreed, tally.open, tally.room_agreed,
                    tally.room_disagreed) +
            tally.rows + "\n  ]}\n";
    assert_if_concurrent(tally.agreed >= 50);
    assert_if_concurrent(tally.disagreed == 0);
}

/* ---- the program ---------------------------------------------------------------------------- */

static bool write_json(void)
{
    FILE *file = fopen(json_path, "w");
    if (file == nullptr) {
        perror(json_path);
        return false;
    }
    fprintf(file, "{\n  \"device\": \"%s\",\n  \"driver\": %d,\n%s}\n", fix.device.name,
            fix.device.driver_version, json.c_str());
    return fclose(file) == 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_on_an_sm_are_counted_as_the_driver_counts_them),
        cmocka_unit_test(a_count_that_the_driver_does_not_share_is_unknown),
        cmocka_unit_test(what_is_said_of_a_pair_is_what_the_device_does),
    };
    if (argc == 3 && strcmp(argv[1], "--json") == 0) {
        json_path = argv[2];
    } else if (argc > 1) {
        fprintf(stderr, "usage: %s [--json FILE]\n", argv[0]);
        return 2;
    }
    const int unavailable = no_device();
    if (unavailable != 0) {
        return unavailable;
    }
    const int failed = cmocka_run_group_tests(tests, set_up, tear_down);
    if (json_path != nullptr && !write_json()) {
        return 1;
    }
    return failed;
}
