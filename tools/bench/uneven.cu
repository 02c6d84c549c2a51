/* SPDX-License-Identifier: MIT */
/* Rows of very different lengths (uneven_rows.cuh), each added up: by a thread, a warp or a block a row;
 * by threads that launch a grid for a long row; and by a kernel that sorts the rows by length, and one
 * kernel for each kind of row behind it, with and without overlap. */
#include <pdl/cdp.cuh>
#include <pdl/chain.h>
#include <pdl/cudart.h>

#include "measure.cuh"
#include "uneven_rows.cuh"

enum way { THREAD, WARP, BLOCK, FROM_DEVICE, SORTED, SORTED_OVERLAPPED, SORTED_CHAIN, WAYS };
static const char *const way_names[WAYS] = {"a thread a row",
                                            "a warp a row",
                                            "a block a row",
                                            "threads, a grid for each long row",
                                            "sorted, four kernels, <<<>>>",
                                            "sorted, four kernels, PDL_OVERLAP_AUTO",
                                            "sorted, a chain of one and three kernels"};
static const char *const way_keys[WAYS] = {
    "thread", "warp", "block", "from_device", "sorted", "sorted_overlapped", "sorted_chain"};
static const unsigned rows = 1u << 17;
static const int rounds = 21;

struct work {
    const host_rows host;
    device_buffer<unsigned> begin, values, sums;
    device_buffer<work_lists> lists;
    device_buffer<work_lists::item> items;
    device_buffer<pdl_cdp_log> log;
    pdl_kernel *kernels[4];
    pdl_chain *chain = nullptr;
    row_data data;
    unsigned blocks; /* of a kernel that takes work from a list */

    explicit work(unsigned multiprocessors)
        : host(rows), begin(host.begin), values(host.values), sums(rows), lists(1),
          items(2 * rows + host.values.size() / tile + rows),
          log(1), data{begin.get(), values.get(), rows}, blocks(8 * multiprocessors)
    {
        work_lists made = {};
        for (int kind = 0; kind < work_lists::KINDS; kind++) { /* tiles are the last, and most */
            made.items[kind] = items.get() + static_cast<size_t>(kind) * rows;
        }
        lists.set({made});
        CHECK(pdl_kernel_from_symbol(classify, &kernels[0]));
        CHECK(pdl_kernel_from_symbol(add_long, &kernels[1]));
        CHECK(pdl_kernel_from_symbol(add_middle, &kernels[2]));
        CHECK(pdl_kernel_from_symbol(add_short, &kernels[3]));
        CHECK(pdl_chain_create(nullptr, &chain));
        for (int i = 0; i < 4; i++) {
            const pdl_launch_desc link = desc(i, nullptr, PDL_OVERLAP_AUTO);
            CHECK(pdl_chain_add(chain, kernels[i], &link, PDL_ARGS(data, lists_, sums_), nullptr, 0,
                                nullptr));
            if (i > 1) { /* the three kinds wait for the sorting alone, and run beside each other */
                CHECK(pdl_chain_add_dependency(chain, static_cast<unsigned>(i), 0));
            }
        }
        CHECK(pdl_chain_build(chain));
    }
    ~work()
    {
        pdl_chain_destroy(chain);
        for (pdl_kernel *kernel : kernels) {
            pdl_kernel_destroy(kernel);
        }
    }

    pdl_launch_desc desc(int i, cudaStream_t stream, pdl_overlap overlap) const
    {
        return pdl_launch_desc_make(i == 0 ? rows / threads : blocks, threads, 0, stream, overlap);
    }

    void run(way how, cudaStream_t stream)
    {
        if (how == THREAD) {
            thread_a_row<<<rows / threads, threads, 0, stream>>>(data, sums.get());
        } else if (how == WARP) {
            warp_a_row<<<rows / (threads / 32), threads, 0, stream>>>(data, sums.get());
        } else if (how == BLOCK) {
            block_a_row<<<rows, threads, 0, stream>>>(data, sums.get());
        } else if (how == FROM_DEVICE) {
            launch_long_rows<<<rows / threads, threads, 0, stream>>>(data, sums.get(), log.get());
        } else if (how == SORTED_CHAIN) {
            CHECK(pdl_chain_launch(chain, stream));
        } else {
            for (int i = 0; i < 4; i++) {
                const pdl_launch_desc link =
                    desc(i, stream, how == SORTED ? PDL_OVERLAP_NONE : PDL_OVERLAP_AUTO);
                CHECK(pdl_launch(kernels[i], &link, PDL_ARGS(data, lists_, sums_)));
            }
        }
        CHECK(cudaGetLastError());
    }

  private:
    work_lists *lists_ = lists.get(); /* arguments of a launch are read from where they lie */
    unsigned *sums_ = sums.get();
};

/* Whether all rows are right after one run. */
static bool check(work &w, way how, cudaStream_t stream)
{
    int wrong = 0;
    w.sums.fill(0xff);
    w.run(how, stream);
    const std::vector<unsigned> sums = w.sums.host();
    for (unsigned row = 0; row < rows; row++) {
        wrong += sums[row] != w.host.sums[row];
    }
    if (wrong != 0) {
        std::printf("%s: %d of %u rows are wrong\n", way_names[how], wrong, rows);
    }
    return wrong == 0;
}

int main(int argc, char **argv)
{
    const char *json_path = "/dev/null";
    parse_options("bench_uneven", argc, argv, {json_option(&json_path)});
    const pdl_device_info device = require_device("bench_uneven");
    work w(static_cast<unsigned>(device.multiprocessor_count));
    size_t launches = 0, longest = 0;
    for (unsigned row = 0; row < rows; row++) {
        const unsigned length = w.host.begin[row + 1] - w.host.begin[row];
        launches += length > tile;
        longest = std::max<size_t>(longest, length);
    }
    pdl_error error = {};
    if (pdl_cdp_set_pending_limit(launches, &error) != PDL_SUCCESS) {
        std::fprintf(stderr, "bench_uneven: %s\n", error.message);
        return 1;
    }

    gated_stream gate;
    bool good = true;
    std::vector<row> table;
    std::vector<row *> all;
    for (int i = 0; i < WAYS; i++) {
        const way how = static_cast<way>(i);
        table.push_back({way_names[how], way_keys[how],
                         [&w, &gate, how] { return gate.run([&] { w.run(how, gate.stream); }); }});
    }
    for (row &r : table) {
        all.push_back(&r);
    }
    for (const int samples : {0, rounds}) { /* checked before and after */
        if (samples > 0) {
            measure(all, samples);
        }
        for (int how = 0; how < WAYS; how++) {
            good = check(w, static_cast<way>(how), gate.stream) && good;
        }
    }
    if (pdl_cdp_log_check(w.log.get(), &error) != PDL_SUCCESS) {
        std::printf("%s\n", error.message);
        good = false;
    }

    FILE *const json = open_json(json_path);
    std::printf("%s: %u rows with %zu elements, the longest with %zu; us, medians of %d runs; %zu "
                "launches from the device\n",
                device.name, rows, w.host.values.size(), longest, rounds, launches);
    std::fprintf(json, "{\"program\": \"bench_uneven\", \"device\": \"%s\", \"rounds\": %d",
                 device.name, rounds);
    print_rows(json, "a row", "rows", table);
    std::fprintf(json, "}\n");
    std::printf("all ways and the host agree to the bit: %s\n", good ? "yes" : "no");
    return finish(json, json_path, good);
}
