/* SPDX-License-Identifier: MIT */
/* pdl_overlap_query() against the driver's occupancy calculator, over many configurations of a
 * kernel, and against what two kernels do on the device: when each block of theirs started and
 * ended, and on which SM. */
#include "overlap_query_kernels.cuh"

#include <algorithm>
#include <map>
#include <string>

#include <pdl/overlap.h>

/* ---- what the tests share ------------------------------------------------------------------- */

static struct {
    cudaStream_t stream;
    cudaStream_t other_stream;
    unsigned *input; /* zeros */
    unsigned *output;
    stamp *stamps[2];
    pdl_kernel *kernels[kernel_count];
    pdl_device_info device;
} fix;

static const unsigned most_blocks = 1u << 16;

static void set_up(void)
{
    fix.device = PDL_DEVICE_INFO_INIT;
    assert_pdl(pdl_device_get(0, &fix.device));
    fix.stream = new_stream();
    fix.other_stream = new_stream();
    fix.input = device_memory<unsigned>(/* %smid may be beyond the number of SMs */
                                        2 * static_cast<size_t>(fix.device.multiprocessor_count) *
                                        line_of_sm);
    fix.output = device_memory<unsigned>(1);
    for (stamp *&stamps : fix.stamps) {
        stamps = device_memory<stamp>(most_blocks);
    }
    for (size_t i = 0; i < kernel_count; i++) {
        cudaFuncAttributes attributes;
        assert_cuda(cudaFuncGetAttributes(&attributes, kernels[i]));
        fix.kernels[i] = kernel_of(kernels[i]);
        assert_pdl(pdl_kernel_set_attribute(
            fix.kernels[i], PDL_KERNEL_MAX_DYNAMIC_SHARED_MEMORY,
            static_cast<uint32_t>(fix.device.shared_memory_per_block_optin) -
                static_cast<uint32_t>(attributes.sharedSizeBytes)));
    }
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

TEST(blocks_on_an_sm_are_counted_as_the_driver_counts_them)
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
    assert_true(count.agreed + count.disagreed >= 500);
    assert_int_equal(count.disagreed, 0);
}

/* The library is not told how many barriers a kernel takes. Where the driver counts them, the two
 * disagree, and that is what the query has to say. */
TEST(a_count_that_the_driver_does_not_share_is_unknown)
{
    pdl_overlap_report report = PDL_OVERLAP_REPORT_INIT;
    const pdl_launch_desc desc = desc_of(1, 32, 0);
    int driver = 0;
    assert_cuda(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&driver, with_all_barriers, 32, 0));
    assert_pdl(
        pdl_overlap_query(kernel_of(with_all_barriers), &desc, fix.kernels[0], &desc, 0, &report));
    print_message("16 barriers a block: the driver says %d blocks, without barriers it is %u\n",
                  driver, report.primary_per_sm);
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

/* Fewest and most that were seen. */
struct range {
    unsigned fewest, most;
    bool seen;
};

static void see(range *range, unsigned count)
{
    range->fewest = range->seen ? std::min(range->fewest, count) : count;
    range->most = range->seen ? std::max(range->most, count) : count;
    range->seen = true;
}

static bool is_within(const range &range, unsigned fewest, unsigned most)
{
    return !range.seen || (fewest <= range.fewest && range.most <= most);
}

/* A block of the secondary overlaps if it started while the primary's whole last wave ran on its
 * SM: before the first of those blocks ended. Those are the blocks that ended after the last
 * trigger, before which no block of the secondary starts. On an SM that has none of them it
 * overlaps if the primary had not ended. */
struct observation {
    int early_runs[2];   /* runs in which a block overlapped, by what was before */
    unsigned early;      /* such blocks, in the last run */
    unsigned in_tail;    /* others that started before the last end, in the last run */
    unsigned resident;   /* of the primary on an SM at one time, at most, in the last run */
    unsigned spread_ns;  /* from the first to the last end of the last wave, in the last run */
    range most_on_sm;    /* of the last wave, in each run */
    range beside_most;   /* of the secondary beside as many of the primary as were foretold, */
    range beside_fewest; /* on each SM in each run */
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

/* What happened on one SM. */
struct sm_view {
    unsigned last;     /* blocks of the last wave */
    unsigned overlaps; /* blocks of the secondary */
    unsigned long long first_end;
};

static unsigned resident_at_most(const std::vector<stamp> &stamps)
{
    unsigned most = 0;
    std::map<unsigned, std::vector<stamp>> of_sm;
    for (const stamp &stamp : stamps) {
        of_sm[stamp.sm].push_back(stamp);
    }
    for (const auto &sm : of_sm) {
        for (const stamp &one : sm.second) {
            const auto runs = [&one](const stamp &other) {
                return other.start <= one.start && one.start < other.end;
            };
            most = std::max(most, static_cast<unsigned>(
                                      std::count_if(sm.second.begin(), sm.second.end(), runs)));
        }
    }
    return most;
}

/* The last wave of each SM; returns when the last block of the primary ended. */
static unsigned long long find_last_wave(const std::vector<stamp> &first,
                                         std::map<unsigned, sm_view> *sms, unsigned *spread_ns)
{
    unsigned long long triggered = 0;
    unsigned long long first_end = ~0ull;
    unsigned long long end = 0;
    for (const stamp &stamp : first) {
        triggered = std::max(triggered, stamp.triggered);
        end = std::max(end, stamp.end);
    }
    for (const stamp &stamp : first) {
        if (stamp.end > triggered) {
            sm_view &sm = (*sms)[stamp.sm];
            sm.first_end = sm.last++ > 0 ? std::min(sm.first_end, stamp.end) : stamp.end;
            first_end = std::min(first_end, stamp.end);
        }
    }
    *spread_ns = static_cast<unsigned>(end - first_end);
    return end;
}

static void look(const pair &pair, const pdl_overlap_report &report, int before, observation *seen)
{
    std::map<unsigned, sm_view> sms;
    unsigned most = 0;
    const std::vector<stamp> first = stamps_of(0, pair.first.blocks);
    const unsigned long long end = find_last_wave(first, &sms, &seen->spread_ns);
    seen->early = seen->in_tail = 0;
    seen->resident = resident_at_most(first);
    for (const stamp &stamp : stamps_of(1, pair.second.blocks)) {
        sm_view &sm = sms[stamp.sm];
        const bool overlaps = stamp.start < (sm.last > 0 ? sm.first_end : end);
        sm.overlaps += overlaps;
        seen->early += overlaps;
        seen->in_tail += !overlaps && stamp.start < end;
    }
    for (const auto &sm : sms) {
        most = std::max(most, sm.second.last);
        if (sm.second.last == report.most_on_sm) {
            see(&seen->beside_most, sm.second.overlaps);
        } else if (sm.second.last == report.fewest_on_sm) {
            see(&seen->beside_fewest, sm.second.overlaps);
        }
    }
    see(&seen->most_on_sm, most);
    seen->early_runs[before] += seen->early > 0 ? 1 : 0;
}

static observation observe(const pair &pair, const pdl_overlap_report &report)
{
    observation seen = {};
    for (int run = 0; run < runs_of_pair + 1; run++) { /* the first loads the kernels */
        set_sms(run % 2 == 0 ? 100 : 0);
        set_carveout(pair.second.kernel, pair.second.carveout);
        set_carveout(pair.first.kernel, pair.first.carveout);
        launch_pair(pair);
        if (run > 0) {
            look(pair, report, run % 2, &seen);
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

/* The numbers of a pair that overlaps as it was said to. */
static bool has_room_as_said(const pdl_overlap_report &report, const observation &seen)
{
    return is_within(seen.beside_most, report.fit_beside_most, report.may_fit_beside_most) &&
           is_within(seen.beside_fewest, report.fit_beside_fewest, report.may_fit_beside_fewest);
}

static const char *name_of(uint32_t known)
{
    return known == PDL_YES ? "yes" : known == PDL_NO ? "no" : "unknown";
}

static std::string row_of(const launch &launch)
{
    pdl_kernel_info info = PDL_KERNEL_INFO_INIT;
    assert_pdl(pdl_kernel_get(fix.kernels[launch.kernel], 0, &info));
    char text[96];
    snprintf(text, sizeof(text), "%5u x %4u %3d r %6u B %4d%%", launch.blocks, launch.threads,
             info.registers_per_thread,
             static_cast<unsigned>(info.static_shared_memory) + launch.dynamic, launch.carveout);
    return text;
}

struct tally {
    unsigned agreed, disagreed, open;
    unsigned room_agreed, room_disagreed; /* of pairs that overlapped as said */
    /* Of those, primaries of one wave: how the last of several waves comes to lie is an assumption. */
    unsigned one_wave_disagreed;
    unsigned full, full_disagreed; /* primaries that fill the device, and those that had another
                                    * number of blocks on an SM than was said */
};

static uint64_t full_wave(const pdl_overlap_report &report)
{
    return static_cast<uint64_t>(report.sms) * report.primary_per_sm;
}

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
    const observation seen = observe(pair, report);
    const outcome outcome = judge(report, seen);
    const bool room = has_room_as_said(report, seen);
    tally->agreed += outcome == outcome::agreed;
    tally->disagreed += outcome == outcome::disagreed;
    tally->open += outcome == outcome::open;
    tally->full += report.primary_waves > 1 || report.last_wave == full_wave(report);
    tally->full_disagreed += (report.primary_waves > 1 || report.last_wave == full_wave(report)) &&
                             seen.resident != report.primary_per_sm;
    if (outcome == outcome::agreed && report.overlap == PDL_YES) {
        tally->room_agreed += room;
        tally->room_disagreed += !room;
        tally->one_wave_disagreed += !room && report.primary_waves == 1;
    }
    print_message(
        "%-9s %s | %s | says %-7s %u-%u beside %u, %u-%u beside %u | %d+%d of %d runs, %u-%u "
        "beside %u, %u-%u beside %u, %u early, %u in the tail of %u ns, %u of %u resident: %s%s\n",
        pair.kind, row_of(pair.first).c_str(), row_of(pair.second).c_str(), name_of(report.overlap),
        report.fit_beside_most, report.may_fit_beside_most, report.most_on_sm,
        report.fit_beside_fewest, report.may_fit_beside_fewest, report.fewest_on_sm,
        seen.early_runs[0], seen.early_runs[1], runs_of_pair, seen.beside_most.fewest,
        seen.beside_most.most, report.most_on_sm, seen.beside_fewest.fewest,
        seen.beside_fewest.most, report.fewest_on_sm, seen.early, seen.in_tail, seen.spread_ns,
        seen.resident, report.primary_per_sm, outcomes[static_cast<int>(outcome)],
        room || report.overlap == PDL_NO ? "" : ", other room than said");
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
    return {kind, {2, sms, 128, 4096, 100}, {3, sms * 8, 128, 4096, 100}, true, true, true, false};
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

TEST(what_is_said_of_a_pair_is_what_the_device_does)
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
    print_message("pairs: %u agreed, %u disagreed, %u said to be open; room of those that overlap: "
                  "%u agreed, %u disagreed; primaries that fill the device: %u, %u with other "
                  "blocks on an SM than said\n",
                  tally.agreed, tally.disagreed, tally.open, tally.room_agreed,
                  tally.room_disagreed, tally.full, tally.full_disagreed);
    assert_if_concurrent(tally.agreed >= 50);
    assert_if_concurrent(tally.disagreed == 0);
    assert_if_concurrent(tally.one_wave_disagreed == 0);
}

int main()
{
    return run_gpu_tests(set_up);
}
