/* SPDX-License-Identifier: MIT */
/* One rank of a run: checks each launch path with each kind of sum, then measures them all. */
#ifndef PDL_BENCH_PARALLEL_RANK_CUH
#define PDL_BENCH_PARALLEL_RANK_CUH

#include <cstring>
#include <memory>
#include <set>

#include "parallel_peers.cuh"
#include "parallel_reference.cuh"
#include "parallel_ways.cuh"
#include "timing.cuh"

namespace parallel
{

static const int tokens_per_batch = 2; /* so that all launches of a batch fit in the launch queue */
static const int sums_in_row = 100;
static const int sum_sizes[] = {4, 16, 64}; /* KiB */
enum { SUM_SIZES = sizeof(sum_sizes) / sizeof(sum_sizes[0]) };

struct options {
    int devices = 1, share = 1, rounds = 21, checks = 1;
    unsigned long long seed = 1;
    double limit = 60, meet = -1;
    const char *json = "/dev/null", *sum = nullptr;
    bool peer_access = true, memset_before = true;
};

/* What a run has measured, of all ranks the slowest. */
struct results {
    bool ran[SUM_KINDS] = {};
    bool has_way[SUM_KINDS][WAYS] = {};
    std::vector<double> us[SUM_KINDS][WAYS];
    std::vector<double> alone_us[SUM_KINDS][SUM_SIZES][2];
    size_t overlapped[SUM_KINDS][WAYS][2] = {}; /* other kernels, and those next to a sum */
    pdl_census census[SUM_KINDS][WAYS] = {};
    std::string lost[SUM_KINDS][WAYS];
    double errors[CHECKED] = {};
    bool good = true;
};

/* Holds a rank's stream until all ranks have queued their work. */
class gate
{
  public:
    gate(team &ranks, int rank) : ranks_(ranks), rank_(rank)
    {
        CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
        CHECK(cudaEventCreate(&begin_));
        CHECK(cudaEventCreate(&end_));
        CHECK(cudaHostAlloc(&open_, sizeof(*open_), cudaHostAllocMapped));
    }
    ~gate()
    {
        cudaFreeHost(open_);
        cudaEventDestroy(end_);
        cudaEventDestroy(begin_);
        cudaStreamDestroy(stream);
    }
    gate(const gate &) = delete;
    gate &operator=(const gate &) = delete;

    /* How long the work took on the slowest device, in microseconds. `align` makes the devices start
     * together; its time does not count. */
    template <typename Align, typename Work> double run(Align &&align, Work &&work)
    {
        float milliseconds = 0;
        *static_cast<volatile int *>(open_) = 0;
        gate_kernel<<<1, 1, 0, stream>>>(open_);
        align();
        CHECK(cudaEventRecord(begin_, stream));
        work();
        CHECK(cudaEventRecord(end_, stream));
        ranks_.barrier();
        *static_cast<volatile int *>(open_) = 1;
        CHECK(cudaStreamSynchronize(stream));
        CHECK(cudaEventElapsedTime(&milliseconds, begin_, end_));
        const std::vector<float> all = ranks_.gather(rank_, milliseconds);
        return 1e3 * static_cast<double>(*std::max_element(all.begin(), all.end()));
    }

    cudaStream_t stream = nullptr;

  private:
    team &ranks_;
    const int rank_;
    cudaEvent_t begin_ = nullptr, end_ = nullptr;
    int *open_ = nullptr;
};

/* All that a rank has computed, and its cache's new entries. */
struct token_results {
    std::vector<bf16> computed, keys, values;

    token_results(const shard &m, const bf16 *from) : computed(layers * m.layer_computed)
    {
        CHECK(cudaDeviceSynchronize());
        CHECK(cudaMemcpy(computed.data(), from, computed.size() * sizeof(bf16),
                         cudaMemcpyDeviceToHost));
        for (std::vector<bf16> *to : {&keys, &values}) {
            const size_t row = head_size * sizeof(bf16),
                         rows = layers * static_cast<size_t>(m.kv_heads);
            to->resize(rows * head_size);
            CHECK(cudaMemcpy2D(to->data(), row,
                               (to == &keys ? m.keys : m.values).get() + (context - 1) * head_size,
                               context * row, row, rows, cudaMemcpyDeviceToHost));
        }
    }

    bool operator==(const token_results &other) const
    {
        return same(computed, other.computed) && same(keys, other.keys) &&
               same(values, other.values);
    }

    static bool same(const std::vector<bf16> &a, const std::vector<bf16> &b)
    {
        return std::memcmp(a.data(), b.data(), a.size() * sizeof(bf16)) == 0;
    }
};

/* One rank of a run. */
class rank_run
{
  public:
    rank_run(const options &o, team &ranks, int rank, int device, bool one_process, results &r)
        : o_(o), ranks_(ranks), rank_(rank),
          peers_(ranks, rank, device, one_process, o.share > 1, o.peer_access),
          multiprocessors_(peers_.members[static_cast<size_t>(rank)].multiprocessors),
          model_(rank, ranks.size, o.seed, ranks.size > 1 || o.sum != nullptr), gate_(ranks, rank),
          stamps_(7 * layers), r_(r)
    {
        set_shared_memory();
        if (wants(SUM_NCCL)) {
            nccl_.reset(new nccl_team(ranks, rank, window_bytes()));
        }
    }

    void run()
    {
        for (int kind = 0; kind < SUM_KINDS; kind++) {
            if (wants(static_cast<sum_kind>(kind))) {
                check(static_cast<sum_kind>(kind));
            }
        }
        measure();
        if (peers_.failed()) {
            std::printf("rank %d: a part did not come within 2 s\n", rank_);
            r_.good = false;
        }
        for (const int good : ranks_.gather(rank_, static_cast<int>(r_.good))) {
            r_.good = r_.good && good != 0;
        }
    }

    /* Whether the sums of that kind are part of the run; says why not. */
    bool wants(sum_kind kind)
    {
        if (kind == NO_SUM) {
            return true;
        }
        const bool by_nccl = kind == SUM_NCCL || kind == SUM_WINDOW;
        /* Registered buffers need a communicator, too. One rank has sums only on request. */
        const bool asked = o_.sum != nullptr &&
                           (std::strcmp(o_.sum, sum_keys[kind]) == 0 ||
                            (kind == SUM_NCCL && std::strcmp(o_.sum, sum_keys[SUM_WINDOW]) == 0));
        if (o_.sum != nullptr ? !asked : ranks_.size == 1) {
            return false;
        }
        std::string why = by_nccl ? nccl_team::missing() : peers_.missing;
        if (why.empty() && by_nccl && o_.share > 1 &&
            std::getenv("NCCL_MULTI_RANK_GPU_ENABLE") == nullptr) {
            why = "NCCL takes one rank per device";
        }
        if (why.empty() && kind == SUM_WINDOW && nccl_->window() == nullptr) {
            why = "NCCL did not register the buffers";
        }
        if (!why.empty() && o_.sum != nullptr) {
            die("no sums by %s: %s", sum_names[kind], why.c_str());
        }
        if (!why.empty() && rank_ == 0 && said_.insert(kind).second) {
            std::printf("off: sums by %s: %s\n", sum_names[kind], why.c_str());
        }
        return why.empty();
    }

  private:
    /* Waiting kernels could fill a device that ranks share. */
    bool allowed(way how) const
    {
        return o_.share == 1 || !has_pdl(how);
    }

    size_t window_bytes() const
    {
        const size_t bytes =
            sizeof(bf16) * (layers * model_.layer_computed + 2 * size_t{2} * most_words);
        return (bytes + (size_t{2} << 20) - 1) >> 21 << 21;
    }

    /* Where the results go. */
    bf16 *computed(sum_kind kind) const
    {
        return kind == SUM_WINDOW ? nccl_->window() : model_.computed.get();
    }

    sums sums_of(sum_kind kind) const
    {
        sums s;
        s.kind = kind;
        s.nccl = nccl_.get();
        s.peer = peers_.args;
        s.between = o_.memset_before && !nccl_waits() ? peers_.between() : nullptr;
        return s;
    }

    void wrong(const char *format, const char *a, const char *b)
    {
        std::printf("rank %d: ", rank_);
        std::printf(format, a, b);
        r_.good = false;
    }

    /* Runs each way, as often as asked, compares the results, and checks them. */
    void check(sum_kind kind)
    {
        const size_t index = static_cast<size_t>(kind);
        std::unique_ptr<token> made(
            new token(model_, computed(kind), sums_of(kind), multiprocessors_, nullptr));
        token stamped(model_, computed(kind), sums_of(kind), multiprocessors_, stamps_.get());
        std::unique_ptr<token_results> first;
        const bool complete = kind != NO_SUM || model_.middle_at == model_.out_part_at;
        r_.ran[kind] = true;
        for (int i = 0; i < WAYS; i++) {
            const way how = static_cast<way>(i);
            ranks_.barrier(); /* nobody waits for a device on which another rank captures */
            r_.has_way[kind][how] = allowed(how);
            if (!allowed(how)) {
                continue;
            }
            made->prepare(how, gate_.stream);
            stamped.prepare(how, gate_.stream);
            int differing = 0;
            for (int n = 0; n < o_.checks; n++) {
                ranks_.barrier();
                CHECK(cudaMemset(computed(kind), 0xff,
                                 layers * model_.layer_computed * sizeof(bf16)));
                CHECK(cudaDeviceSynchronize());
                ranks_.barrier();
                made->run(how, gate_.stream);
                CHECK(cudaStreamSynchronize(gate_.stream));
                const token_results got(model_, computed(kind));
                if (first == nullptr) {
                    first.reset(new token_results(got));
                }
                differing += complete && !(got == *first);
            }
            if (differing > 0) {
                const std::string text = std::string(way_names[how]) + " differs from <<<>>> in " +
                                         std::to_string(differing) + " of " +
                                         std::to_string(o_.checks) + " tokens";
                wrong("%s: %s\n", sum_names[kind], text.c_str());
            }
            count_overlaps(stamped, kind, how);
            if (rank_ == 0) {
                r_.census[kind][how] = made->census[how];
                r_.lost[kind][how] = lost(*made, how);
            }
        }
        if (complete) {
            compare_ranks(kind, *first);
            check_values(kind, *first);
        }
        tokens_.resize(std::max(tokens_.size(), index + 1));
        tokens_[index] = std::move(made);
    }

    /* The sums are the same on all devices. */
    void compare_ranks(sum_kind kind, const token_results &got)
    {
        std::vector<bf16> sums;
        for (int layer = 0; layer < layers; layer++) {
            const bf16 *const y = &got.computed[static_cast<size_t>(layer) * model_.layer_computed];
            sums.insert(sums.end(), y + model_.middle_at, y + model_.middle_at + hidden);
            sums.insert(sums.end(), y + model_.result_at, y + model_.result_at + hidden);
        }
        const std::vector<bf16> all = ranks_.gather(rank_, sums);
        if (std::memcmp(all.data(), sums.data(), sums.size() * sizeof(bf16)) != 0) {
            wrong("%s: not the sums of rank 0%s\n", sum_names[kind], "");
        }
    }

    void check_values(sum_kind kind, const token_results &got)
    {
        std::vector<bf16> parts;
        for (int layer = 0; layer < layers; layer++) {
            const bf16 *const y = &got.computed[static_cast<size_t>(layer) * model_.layer_computed];
            parts.insert(parts.end(), y + model_.out_part_at, y + model_.out_part_at + hidden);
            parts.insert(parts.end(), y + model_.down_part_at, y + model_.down_part_at + hidden);
        }
        const unsigned threads =
            std::thread::hardware_concurrency() / static_cast<unsigned>(ranks_.size);
        const reference checked(model_, got.computed, ranks_.gather(rank_, parts), got.keys,
                                got.values, threads, ranks_);
        for (int i = 0; i < CHECKED; i++) {
            const bool rounds_often = i == CHECK_SUMS && kind != SUM_PEER && kind != SUM_FENCED;
            const double limit = error_limit * (rounds_often ? std::max(1, ranks_.size - 1) : 1);
            if (!(checked.errors[i] <= limit)) {
                char error[32];
                std::snprintf(error, sizeof(error), "%s: %.1e", checked_names[i],
                              checked.errors[i]);
                wrong("%s: wrong by too much: %s\n", sum_names[kind], error);
            }
            for (const double error : ranks_.gather(rank_, checked.errors[i])) {
                r_.errors[i] = std::max(r_.errors[i], error);
            }
        }
    }

    /* Counts the kernels that started before the one before had ended; NCCL's have no stamps. */
    void count_overlaps(const token &t, sum_kind kind, way how)
    {
        stamps_.set(std::vector<kernel_stamps>(7 * layers, kernel_stamps{~0ull, 0}));
        ranks_.barrier(); /* nobody waits for a device behind another rank's gate */
        gate_.run([] {}, [&] { t.run(how, gate_.stream); });
        const std::vector<kernel_stamps> ran = stamps_.host();
        for (size_t i = 1; i < t.list.size(); i++) {
            const bool sum = t.list[i].kind == STEP_SUM || t.list[i - 1].kind == STEP_SUM;
            r_.overlapped[kind][how][sum] += ran[i].first_start < ran[i - 1].last_end;
        }
    }

    static std::string lost(const token &t, way how)
    {
        std::string text;
        const pdl_census &c = t.census[how];
        for (uint32_t reason = 0; reason <= PDL_FULL_OTHER_NODE; reason++) {
            size_t count = 0;
            const char *why = nullptr;
            for (uint32_t i = 0; i < std::min(c.full_count, c.full_capacity); i++) {
                if (t.lost[how][i].reason == reason) {
                    why = t.lost[how][i].why;
                    count++;
                }
            }
            if (count > 0) {
                text += "        " + std::to_string(count) + ": " + why + "\n";
            }
        }
        return text;
    }

    /* A sum in front of what is timed. */
    void align()
    {
        if (alone_.empty() || o_.share > 1) {
            return;
        }
        alone_.front()->run(STREAM, gate_.stream);
    }

    void measure()
    {
        if (o_.share > 1) {
            return; /* there is nothing to learn from it */
        }
        const sum_kind aligning = peers_.missing.empty() ? SUM_PEER : SUM_NCCL;
        bf16 *const scratch = nccl_ != nullptr && nccl_->window() != nullptr
                                  ? nccl_->window() + layers * model_.layer_computed
                                  : scratch_.get();
        if (ranks_.size > 1 && (aligning == SUM_PEER || nccl_ != nullptr)) {
            alone_.emplace_back(new token(scratch_.get(), scratch_.get() + 2 * most_words, hidden,
                                          1, sums_of(aligning)));
        }
        struct job {
            const token *work;
            way how;
            int times;
            double divide;
            std::vector<double> *to;
        };
        std::vector<job> jobs;
        for (int kind = 0; kind < SUM_KINDS; kind++) {
            for (int i = 0; i < WAYS && r_.ran[kind]; i++) {
                if (r_.has_way[kind][i]) {
                    jobs.push_back({tokens_[static_cast<size_t>(kind)].get(), static_cast<way>(i),
                                    tokens_per_batch, tokens_per_batch, &r_.us[kind][i]});
                }
            }
            for (int size = 0; size < SUM_SIZES && r_.ran[kind] && kind != NO_SUM; size++) {
                bf16 *const x = kind == SUM_WINDOW ? scratch : scratch_.get();
                alone_.emplace_back(new token(x, x + 2 * most_words, sum_sizes[size] * 512,
                                              sums_in_row, sums_of(static_cast<sum_kind>(kind))));
                for (const way how : {GRAPH, GRAPH_PDL}) {
                    alone_.back()->prepare(how, gate_.stream);
                    jobs.push_back({alone_.back().get(), how, 1, sums_in_row,
                                    &r_.alone_us[kind][size][how == GRAPH_PDL]});
                }
            }
        }
        if (rank_ == 0) {
            std::printf("measuring with %d device%s\n", ranks_.size, ranks_.size == 1 ? "" : "s");
            std::fflush(stdout);
        }
        for (int round = -1; round < o_.rounds; round++) { /* each once, in a turning order */
            for (size_t j = 0; j < jobs.size(); j++) {
                const job &now = jobs[(j + static_cast<size_t>(round + 1)) % jobs.size()];
                const double us = gate_.run([&] { align(); },
                                            [&] {
                                                for (int i = 0; i < now.times; i++) {
                                                    now.work->run(now.how, gate_.stream);
                                                }
                                            });
                if (round >= 0) { /* the first loads what is not loaded */
                    now.to->push_back(us / now.divide);
                }
            }
        }
    }

    const options &o_;
    team &ranks_;
    const int rank_;
    peers peers_;
    const int multiprocessors_;
    const shard model_;
    const device_buffer<bf16> scratch_{size_t{4} * most_words};
    std::unique_ptr<nccl_team> nccl_;
    gate gate_;
    const device_buffer<kernel_stamps> stamps_;
    std::vector<std::unique_ptr<token>> tokens_, alone_;
    std::set<int> said_;
    results &r_;
};

} // namespace parallel

#endif /* PDL_BENCH_PARALLEL_RANK_CUH */
