/* SPDX-License-Identifier: MIT */
/* One token through a decoder of the 1B class that several devices share: each has some of the heads and a
 * part of the feed-forward layer, and twice a layer the devices add up 4 KiB.
 *
 * All launch paths, with sums by NCCL and by a kernel over peer memory, beside the same without sums:
 * that is what communication costs. Every step is checked against float64, all launch paths and all
 * devices against each other, to the bit. docs/parallel.md. */
#include <cstring>
#include <memory>

#include "decode_reference.cuh"
#include "decode_ways.cuh"
#include "measure.cuh"
#include "parallel_team.cuh"

static const char *const sum_names[SUM_KINDS] = {"no sums", "NCCL", "NCCL, registered buffers",
                                                 "peer memory", "peer memory, fenced"};
static const char *const sum_keys[SUM_KINDS] = {"none", "nccl", "nccl_window", "peer",
                                                "peer_fenced"};
static const int tokens_per_batch = 2; /* so that all launches of a batch fit in the launch queue */
static const int sums_in_row = 100;
static const int sum_sizes[] = {4, 16, 64}; /* KiB */

struct settings {
    int devices = 1, share = 1, rounds = 21, checks = 1;
    int sum = NO_SUM; /* the only one; or NO_SUM: all */
    const char *json = "/dev/null";
};

/* What a run has measured, of all ranks the slowest. */
struct results {
    std::vector<row> ways[SUM_KINDS]; /* none where that is not part of the run */
    std::vector<row> alone;           /* sums in a row: for one of them */
    step_errors errors = step_errors(CHECKED);
    bool good = true;
};

/* A token with all that it needs to be run, or sums alone. */
struct runnable {
    runnable(const decoder_model &m, int multiprocessors, bf16 *computed, const sums &adding)
        : steps(m, ATTENTION, multiprocessors, computed, nullptr, adding), runs(steps),
          counter(new overlap_counter(m, ATTENTION, multiprocessors, computed, adding))
    {
    }
    runnable(const sums &adding, bf16 *x, int values, int times)
        : steps(adding, x, x + 2 * most_words, values, times), runs(steps)
    {
    }

    decoder_steps steps;
    decoder_runs runs;
    std::unique_ptr<overlap_counter> counter;
};

/* One rank of a run: checks each launch path with each kind of sum, then measures them all. */
class rank_run
{
  public:
    rank_run(const settings &o, team &ranks, int rank, int multiprocessors, results &r)
        : o_(o), ranks_(ranks), rank_(rank), multiprocessors_(multiprocessors),
          peers_(ranks, rank, rank / o.share),
          model_(decoder_config{decoder_shapes[0], 512, rank, ranks.size}), r_(r)
    {
        for (int kind = 0; kind < SUM_KINDS; kind++) {
            wanted_[kind] = wants(static_cast<sum_kind>(kind));
            if (kind == SUM_NCCL && wanted_[kind]) {
                nccl_.reset(new nccl_team(ranks, rank, window_bytes()));
            }
        }
    }

    void run()
    {
        for (int kind = 0; kind < SUM_KINDS; kind++) {
            if (wanted_[kind]) {
                check(static_cast<sum_kind>(kind));
            }
        }
        if (o_.share == 1) { /* the times of ranks that share a device say nothing */
            measure_all();
        }
        if (peers_.failed()) {
            wrong("a part did not come within 2 s", "");
        }
        for (const int good : ranks_.gather(rank_, static_cast<int>(r_.good))) {
            r_.good = r_.good && good != 0;
        }
    }

  private:
    /* Whether the sums of that kind are part of the run; says why not. */
    bool wants(sum_kind kind) const
    {
        if (kind == NO_SUM) {
            return true;
        }
        /* Registered buffers need a communicator, too. One rank has sums only on request. */
        const bool asked = o_.sum == kind || (kind == SUM_NCCL && o_.sum == SUM_WINDOW);
        if (o_.sum != NO_SUM ? !asked : ranks_.size == 1) {
            return false;
        }
        const bool by_nccl = kind == SUM_NCCL || kind == SUM_WINDOW;
        std::string why = by_nccl ? nccl_team::missing() : peers_.missing;
        if (why.empty() && by_nccl && o_.share > 1 &&
            std::getenv("NCCL_MULTI_RANK_GPU_ENABLE") == nullptr) {
            why = "NCCL takes one rank per device";
        }
        if (why.empty() && kind == SUM_WINDOW && (nccl_ == nullptr || nccl_->window() == nullptr)) {
            why = "NCCL did not register the buffers";
        }
        if (!why.empty() && o_.sum != NO_SUM) {
            die("no sums by %s: %s", sum_names[kind], why.c_str());
        }
        if (!why.empty() && rank_ == 0) {
            std::printf("off: sums by %s: %s\n", sum_names[kind], why.c_str());
        }
        return why.empty();
    }

    size_t window_bytes() const
    {
        const size_t bytes = sizeof(bf16) * (model_.all_activations() + size_t{4} * most_words);
        return (bytes + (size_t{2} << 20) - 1) >> 21 << 21;
    }

    /* Where activations go, and behind them the vectors of sums alone. */
    bf16 *computed(sum_kind kind) const
    {
        return kind == SUM_WINDOW ? nccl_->window() : model_.activations.get();
    }
    bf16 *scratch(sum_kind kind) const
    {
        return kind == SUM_WINDOW ? nccl_->window() + model_.all_activations() : scratch_.get();
    }

    sums sums_of(sum_kind kind) const
    {
        sums s;
        s.kind = kind;
        s.nccl = nccl_.get();
        s.peer = peers_.args;
        s.between = nccl_waits() ? nullptr : peers_.between();
        return s;
    }

    void wrong(const char *what, const std::string &how)
    {
        std::printf("rank %d: %s%s\n", rank_, what, how.c_str());
        r_.good = false;
    }

    /* Runs each way, as often as asked, compares the results, and checks them. */
    void check(sum_kind kind)
    {
        tokens_.emplace_back(new runnable(model_, multiprocessors_, computed(kind), sums_of(kind)));
        runnable &token = *tokens_.back();
        if (!token.steps.fits()) {
            die("%d multiprocessors are too few for this model", multiprocessors_);
        }
        std::vector<bf16> first;
        const bool complete = kind != NO_SUM || ranks_.size == 1;
        for (int i = 0; i < DECODE_WAYS; i++) {
            const way how = static_cast<way>(i);
            if (o_.share > 1 && way_overlaps(how)) {
                continue; /* waiting kernels could fill a device that ranks share */
            }
            ranks_.barrier(); /* nobody waits for a device on which another rank captures */
            token.runs.prepare(how, gate_.stream);
            token.counter->runs.prepare(how, gate_.stream);
            int differing = 0;
            for (int n = 0; n < o_.checks; n++) {
                ranks_.barrier();
                model_.poison(computed(kind));
                ranks_.barrier();
                token.runs.run(how, gate_.stream);
                CHECK(cudaStreamSynchronize(gate_.stream));
                const std::vector<bf16> got = model_.results(computed(kind));
                if (first.empty()) {
                    first = got;
                }
                differing += complete && !same(got, first);
            }
            if (differing > 0) {
                wrong(sum_names[kind], std::string(": ") + way_names[how] +
                                           " differs from <<<>>> in " + std::to_string(differing) +
                                           " of " + std::to_string(o_.checks) + " tokens");
            }
            add_row(token, kind, how);
        }
        if (complete) {
            check_values(kind, first);
        }
    }

    static bool same(const std::vector<bf16> &a, const std::vector<bf16> &b)
    {
        return std::memcmp(a.data(), b.data(), a.size() * sizeof(bf16)) == 0;
    }

    /* With how many kernels started before the one before had ended, and the edges of the graph. */
    void add_row(runnable &token, sum_kind kind, way how)
    {
        size_t at_sums = 0;
        const size_t others = token.counter->count(
            [&] {
                ranks_.barrier(); /* nobody waits for a device behind another rank's gate */
                gate_.run([&] { token.counter->runs.run(how, gate_.stream); }, [] {},
                          [&] { ranks_.barrier(); });
            },
            &at_sums);
        row r = {way_names[how], way_keys[how],
                 timed(token.runs, how, tokens_per_batch, tokens_per_batch)};
        r.say("overlapped", others);
        r.say("overlapped_at_sums", at_sums);
        const pdl_census &c = token.runs.census[how];
        if (c.nodes > 0) {
            r.say("nodes", c.nodes);
            r.say("kernels", c.kernels);
            r.say("programmatic_edges", c.programmatic + c.programmatic_at_block_start);
            r.say("full_edges", c.full);
            r.say("full_dependencies", c.full_count);
        }
        r_.ways[kind].push_back(r);
    }

    /* Each step against float64, and the sums are the same on all devices. */
    void check_values(sum_kind kind, const std::vector<bf16> &got)
    {
        std::vector<bf16> parts, added;
        for (int layer = 0; layer < model_.shape.layers; layer++) {
            const bf16 *const y = &got[static_cast<size_t>(layer) * model_.layer_activations()];
            auto add = [&](std::vector<bf16> &to, size_t at) {
                to.insert(to.end(), y + at, y + at + model_.shape.hidden);
            };
            add(parts, model_.out_part_at());
            add(parts, model_.down_part_at());
            add(added, model_.middle_at());
            add(added, model_.result_at());
        }
        std::vector<bf16> of_first = ranks_.gather(rank_, added);
        of_first.resize(added.size());
        if (!same(of_first, added)) {
            wrong(sum_names[kind], ": not the sums of rank 0");
        }
        checked_token token = {true, false};
        if (kind != NO_SUM) {
            token.parts = ranks_.gather(rank_, parts);
        }
        const step_errors errors = check_token(model_, got, token);
        for (int i = 0; i < CHECKED; i++) {
            /* NCCL rounds after each addition. */
            const bool rounds_often = i == CHECK_SUMS && (kind == SUM_NCCL || kind == SUM_WINDOW);
            const double limit = error_limit * (rounds_often ? std::max(1, ranks_.size - 1) : 1);
            if (!(errors[i] <= limit)) {
                char text[100];
                std::snprintf(text, sizeof(text), ": wrong by too much: %s: %.1e", checked_names[i],
                              errors[i]);
                wrong(sum_names[kind], text);
            }
            for (const double error : ranks_.gather(rank_, errors[i])) {
                r_.errors[i] = worse(r_.errors[i], error);
            }
        }
    }

    /* Returns what takes a sample: so many runs, on the slowest device, divided by that. A sum in front of
     * what is timed makes the devices start together. */
    std::function<double()> timed(const decoder_runs &runs, way how, int times, int divisor)
    {
        return [this, &runs, how, times, divisor] {
            const double us = gate_.run(
                [&] {
                    for (int i = 0; i < times; i++) {
                        runs.run(how, gate_.stream);
                    }
                },
                [&] {
                    if (aligning_ != nullptr) {
                        aligning_->runs.run(PLAIN, gate_.stream);
                    }
                },
                [&] { ranks_.barrier(); });
            const std::vector<double> all = ranks_.gather(rank_, us);
            return *std::max_element(all.begin(), all.end()) / divisor;
        };
    }

    void measure_all()
    {
        const sum_kind aligning = peers_.missing.empty() ? SUM_PEER : SUM_NCCL;
        if (ranks_.size > 1 && (aligning == SUM_PEER || nccl_ != nullptr)) {
            aligning_.reset(
                new runnable(sums_of(aligning), scratch(aligning), model_.shape.hidden, 1));
        }
        std::vector<row *> rows;
        for (int kind = SUM_NCCL; kind < SUM_KINDS; kind++) {
            for (const int size : sum_sizes) {
                if (r_.ways[kind].empty()) {
                    continue;
                }
                tokens_.emplace_back(new runnable(sums_of(static_cast<sum_kind>(kind)),
                                                  scratch(static_cast<sum_kind>(kind)), size * 512,
                                                  sums_in_row));
                for (const way how : {PLAIN_GRAPH, RAW_GRAPH}) {
                    tokens_.back()->runs.prepare(how, gate_.stream);
                    const std::string kib = std::to_string(size);
                    r_.alone.push_back(
                        {std::string(sum_names[kind]) + ", " + kib + " KiB, " + way_keys[how],
                         std::string(sum_keys[kind]) + "_" + kib + "_kib_" + way_keys[how],
                         timed(tokens_.back()->runs, how, 1, sums_in_row)});
                }
            }
        }
        for (std::vector<row> &ways : r_.ways) {
            for (row &r : ways) {
                rows.push_back(&r);
            }
        }
        for (row &r : r_.alone) {
            rows.push_back(&r);
        }
        if (rank_ == 0) {
            std::printf("measuring with %d device%s\n", ranks_.size, ranks_.size == 1 ? "" : "s");
            std::fflush(stdout);
        }
        measure(rows, o_.rounds);
    }

    const settings &o_;
    team &ranks_;
    const int rank_, multiprocessors_;
    peers peers_;
    const decoder_model model_;
    const device_buffer<bf16> scratch_{size_t{4} * most_words};
    bool wanted_[SUM_KINDS] = {};
    std::unique_ptr<nccl_team> nccl_;
    gated_stream gate_;
    std::vector<std::unique_ptr<runnable>> tokens_;
    std::unique_ptr<runnable> aligning_;
    results &r_;
};

/* `one`: the same without other devices, in the same run; or NULL. */
static void report(FILE *json, const char *name, int size, results &r, const results *one)
{
    std::printf(
        "%d rank%s, %s, batches of %d tokens; us per token, median (p25 to p75), to the first\n",
        size, size == 1 ? "" : "s", name, tokens_per_batch);
    std::fprintf(json, "%s\n{\"ranks\": %d, \"device\": \"%s\", \"nccl\": %d",
                 one != nullptr ? "," : "", size, name, nccl_team::version());
    for (int kind = 0; kind < SUM_KINDS; kind++) {
        for (size_t how = 0; how < r.ways[kind].size(); how++) {
            row &now = r.ways[kind][how];
            if (!now.us.empty() && kind != NO_SUM) {
                now.say("sums_share", 1 - median(r.ways[NO_SUM][how].us) / median(now.us), 4);
            }
            if (!now.us.empty() && one != nullptr) {
                now.say("times_one_device", median(one->ways[NO_SUM][how].us) / median(now.us), 4);
            }
        }
        if (!r.ways[kind].empty()) {
            print_rows(json, sum_names[kind], sum_keys[kind], r.ways[kind]);
        }
    }
    if (!r.alone.empty()) {
        print_rows(json, "one sum, in a row of such", "sums", r.alone);
    }
    std::printf("largest errors:");
    std::fprintf(json, ",\n \"largest_relative_errors\": {");
    for (int i = 0; i < CHECKED; i++) {
        std::printf("%s %s %.1e", i == 0 ? "" : ",", checked_names[i], r.errors[i]);
        std::fprintf(json, "%s\"%s\": %.3e", i == 0 ? "" : ", ", checked_names[i], r.errors[i]);
    }
    std::printf("\n");
    std::fprintf(json, "}}");
}

/* A run on so many ranks; what rank 0 has measured. */
static results run_ranks(const settings &o, int size, int multiprocessors)
{
    std::vector<results> all(static_cast<size_t>(size));
    team ranks(size);
    std::vector<std::thread> threads;
    for (int rank = 0; rank < size; rank++) {
        threads.emplace_back([&, rank] {
            CHECK(cudaSetDevice(rank / o.share));
            rank_run run(o, ranks, rank, multiprocessors, all[static_cast<size_t>(rank)]);
            run.run();
        });
    }
    for (std::thread &thread : threads) {
        thread.join();
    }
    return all[0];
}

static bool finished = false;

int main(int argc, char **argv)
{
    settings o;
    const option sum = {"--sum", "KIND: only nccl, nccl_window, peer or peer_fenced",
                        "nccl, nccl_window, peer or peer_fenced", [&](const char *text) {
                            const auto found = std::find_if(
                                sum_keys + 1, sum_keys + SUM_KINDS,
                                [&](const char *key) { return std::strcmp(key, text) == 0; });
                            o.sum = static_cast<int>(found - sum_keys);
                            return o.sum < SUM_KINDS;
                        }};
    parse_options(
        "bench_tensor_parallel", argc, argv,
        {number_option("--devices", "N: 1, 2, 4 or 8 devices (1)", &o.devices, 1, max_ranks),
         number_option("--share", "N: so many ranks on each device: only checks, no times (1)",
                       &o.share, 1, max_ranks),
         sum, number_option("--rounds", "N: samples of each row (21)", &o.rounds, 1, 1000000),
         number_option("--checks", "N: tokens of each launch path that are compared (1)", &o.checks,
                       1, 1000000),
         json_option(&o.json)});
    const int size = o.devices * o.share;
    if (size != 1 && size != 2 && size != 4 && size != 8) {
        std::fprintf(stderr,
                     "bench_tensor_parallel: %d ranks: the model's 8 kv heads go to 1, 2, 4 or 8\n",
                     size);
        return 2;
    }
    setenv("NCCL_NVLS_ENABLE", "0", 0); /* no multicast unless the environment says so */
    /* Before the driver is started: loading code, and a stream's place in a queue of another one, must not
     * wait for a sum of a rank that shares the device. */
    setenv("CUDA_MODULE_LOADING", "EAGER", 0);
    setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
    const pdl_device_info info = require_device("bench_tensor_parallel");
    int count = 0;
    CHECK(cudaGetDeviceCount(&count));
    if (o.devices > count) {
        std::printf("bench_tensor_parallel: skipped: %d devices are needed, and there are %d\n",
                    o.devices, count);
        return 77;
    }
    for (int device = 1; device < o.devices; device++) {
        pdl_device_info other = PDL_DEVICE_INFO_INIT;
        CHECK(pdl_device_get(device, &other));
        if (other.compute_capability_major < 9 ||
            other.multiprocessor_count != info.multiprocessor_count) {
            die("device %d is a %s, which is not like device 0, a %s", device, other.name,
                info.name);
        }
    }
    /* A check that fails ends the process at once: the threads of other ranks still use the devices. */
    std::atexit([] {
        if (!finished) {
            std::fflush(nullptr);
            _exit(1);
        }
    });
    FILE *const json = open_json(o.json);
    std::fprintf(json, "[");
    bool good = true;
    results of_one;
    if (size == 1 || (o.share == 1 && o.sum == NO_SUM)) {
        of_one = run_ranks(o, 1, info.multiprocessor_count);
        report(json, info.name, 1, of_one, nullptr);
        good = of_one.good;
    }
    if (size > 1) {
        results all = run_ranks(o, size, info.multiprocessor_count);
        report(json, info.name, size, all, of_one.ways[NO_SUM].empty() ? nullptr : &of_one);
        good = good && all.good;
    }
    std::fprintf(json, "]\n");
    finished = true;
    return finish(json, o.json, good);
}
