/* SPDX-License-Identifier: MIT */
/* One token through a decoder that several devices share: each has some of the heads and a part of the
 * feed-forward layer, and twice a layer the devices add up 4 KiB.
 *
 * All launch paths, with sums by NCCL and by a kernel over peer memory, beside the same without sums:
 * that is what communication costs. One process drives all devices (--devices), or each process has one
 * device: started by mpirun, or by hand with TENSOR_PARALLEL_RANK, _SIZE and _ID. Every step is checked
 * against float64, all launch paths and all devices against each other, to the bit. docs/parallel.md. */
#include "parallel_rank.cuh"

namespace parallel
{

static void print_census(FILE *json, const results &r, int kind, int how)
{
    const pdl_census &c = r.census[kind][how];
    if (c.nodes == 0) {
        return;
    }
    std::printf(
        "      %u nodes, %u kernels; edges: %u programmatic, %u full; full dependencies: %u\n%s",
        c.nodes, c.kernels, c.programmatic + c.programmatic_at_block_start, c.full, c.full_count,
        r.lost[kind][how].c_str());
    std::fprintf(json,
                 ", \"nodes\": %u, \"kernels\": %u, \"programmatic_edges\": %u, \"full_edges\": %u,"
                 " \"full_dependencies\": %u",
                 c.nodes, c.kernels, c.programmatic + c.programmatic_at_block_start, c.full,
                 c.full_count);
}

/* `one`: the same without other devices, in the same run; or NULL. */
static void print_times(FILE *json, const results &r, const results *one, int kind, int how)
{
    const std::vector<double> &us = r.us[kind][how];
    if (us.empty()) { /* ranks that share a device are not timed */
        return;
    }
    const double middle = median(us);
    std::printf(" %8.1f (%.1f to %.1f)", middle, quantile(us, 0.25), quantile(us, 0.75));
    std::fprintf(json, "\"us\": %.2f, \"p25\": %.2f, \"p75\": %.2f, ", middle, quantile(us, 0.25),
                 quantile(us, 0.75));
    if (kind != NO_SUM && r.ran[NO_SUM]) {
        const double share = 1 - median(r.us[NO_SUM][how]) / middle;
        std::printf("  sums %4.1f%%", 100 * share);
        std::fprintf(json, "\"sums_share\": %.4f, ", share);
    }
    if (one != nullptr && !one->us[NO_SUM][how].empty()) {
        const double scaling = median(one->us[NO_SUM][how]) / middle;
        std::printf("  %.2f times one device", scaling);
        std::fprintf(json, "\"times_one_device\": %.4f, ", scaling);
    }
}

static void report(FILE *json, const char *name, int size, const results &r, const results *one,
                   unsigned long long seed)
{
    std::printf(
        "%d rank%s, %s, seed %llu, batches of %d tokens; us per token, median (p25 to p75)\n", size,
        size == 1 ? "" : "s", name, seed, tokens_per_batch);
    std::fprintf(json, "%s\n {\"ranks\": %d, \"device\": \"%s\", \"seed\": %llu, \"nccl\": %d",
                 one != nullptr ? "," : "", size, name, seed, nccl_team::version());
    for (int kind = 0; kind < SUM_KINDS; kind++) {
        if (!r.ran[kind]) {
            continue;
        }
        std::printf("  %s\n", sum_names[kind]);
        std::fprintf(json, ",\n  \"%s\": {", sum_keys[kind]);
        const char *comma = "";
        for (int how = 0; how < WAYS; how++) {
            if (!r.has_way[kind][how]) {
                continue;
            }
            std::printf("    %-26s", way_names[how]);
            std::fprintf(json, "%s\n   \"%s\": {", comma, way_keys[how]);
            print_times(json, r, one, kind, how);
            std::printf("  overlapped %zu, at sums %zu\n", r.overlapped[kind][how][0],
                        r.overlapped[kind][how][1]);
            std::fprintf(json, "\"overlapped\": %zu, \"overlapped_at_sums\": %zu",
                         r.overlapped[kind][how][0], r.overlapped[kind][how][1]);
            print_census(json, r, kind, how);
            std::fprintf(json, "}");
            comma = ",";
        }
        for (int i = 0; i < SUM_SIZES && !r.alone_us[kind][i][0].empty(); i++) {
            const double plain = median(r.alone_us[kind][i][0]),
                         pdl = median(r.alone_us[kind][i][1]);
            std::printf("    one sum of %2d KiB: %.2f us in a graph, %.2f with PDL\n", sum_sizes[i],
                        plain, pdl);
            std::fprintf(json,
                         "%s\n   \"sum_%d_kib\": {\"graph_us\": %.3f, \"graph_pdl_us\": %.3f}",
                         comma, sum_sizes[i], plain, pdl);
            comma = ",";
        }
        std::fprintf(json, "}");
    }
    std::printf("  largest errors:");
    std::fprintf(json, ",\n  \"largest_relative_errors\": {");
    for (int i = 0; i < CHECKED; i++) {
        std::printf("%s %s %.1e", i == 0 ? "" : ",", checked_names[i], r.errors[i]);
        std::fprintf(json, "%s\"%s\": %.3e", i == 0 ? "" : ", ", checked_names[i], r.errors[i]);
    }
    std::printf("\n");
    std::fprintf(json, "}}");
}

static void usage(FILE *to)
{
    std::fprintf(to,
                 "usage: bench_tensor_parallel [option...]\n"
                 "  --devices N            1, 2, 4 or 8 devices in this process (1)\n"
                 "  --share N              N ranks on each device: only checks, no times (1)\n"
                 "  --sum KIND             only nccl, nccl_window, peer or peer_fenced\n"
                 "  --rounds N, --seed N   batches of each launch path (21); of the model (1)\n"
                 "  --checks N             tokens of each launch path that are compared (1)\n"
                 "  --limit SECONDS        for how long a rank may wait for the others (60)\n"
                 "  --json FILE            the figures\n"
                 "  --meet SECONDS         the ranks only meet; needs no device\n"
                 "  --without-peer-access  as if no device could access another's memory\n"
                 "  --without-memset       nothing in front of NCCL's kernels that do not wait\n"
                 "Processes: TENSOR_PARALLEL_RANK, _SIZE and _ID in the environment, or mpirun.\n");
}

static options parse(int argc, char **argv)
{
    options o;
    auto number = [&](const char *name, const char *text, double least, double most) {
        char *end;
        const double value = std::strtod(text, &end);
        if (*text == '\0' || *end != '\0' || !(value >= least && value <= most)) {
            std::fprintf(stderr,
                         "bench_tensor_parallel: %s takes a number from %g to %g, not '%s'\n", name,
                         least, most, text);
            std::exit(2);
        }
        return value;
    };
    for (int i = 1; i < argc; i++) {
        const std::string name = argv[i];
        const char *const value = i + 1 < argc ? argv[i + 1] : "";
        if (name == "--without-peer-access") {
            o.peer_access = false;
            continue;
        }
        if (name == "--without-memset") {
            o.memset_before = false;
            continue;
        }
        if (name == "--devices") {
            o.devices = static_cast<int>(number(argv[i], value, 1, team::most));
        } else if (name == "--share") {
            o.share = static_cast<int>(number(argv[i], value, 1, team::most));
        } else if (name == "--rounds") {
            o.rounds = static_cast<int>(number(argv[i], value, 1, 1e9));
        } else if (name == "--checks") {
            o.checks = static_cast<int>(number(argv[i], value, 1, 1e9));
        } else if (name == "--seed") {
            o.seed = static_cast<unsigned long long>(number(argv[i], value, 0, 1e9));
        } else if (name == "--limit") {
            o.limit = number(argv[i], value, 0.1, 3600);
        } else if (name == "--meet") {
            o.meet = number(argv[i], value, 0, 3600);
        } else if (name == "--json" && *value != '\0') {
            o.json = value;
        } else if (name == "--sum" &&
                   std::find_if(sum_keys + 1, sum_keys + SUM_KINDS, [&](const char *key) {
                       return std::strcmp(key, value) == 0;
                   }) != sum_keys + SUM_KINDS) {
            o.sum = value;
        } else {
            std::fprintf(stderr, "bench_tensor_parallel: %s\n",
                         name == "--help" ? "help" : argv[i]);
            usage(name == "--help" ? stdout : stderr);
            std::exit(name == "--help" ? 0 : 2);
        }
        i++;
    }
    return o;
}

static void check_size(int size)
{
    if (size != 1 && size != 2 && size != 4 && size != 8) {
        std::fprintf(stderr,
                     "bench_tensor_parallel: %d ranks: the model's 8 kv heads go to 1, 2, 4 or 8\n",
                     size);
        std::exit(2);
    }
}

/* The ranks only meet: to try how processes find each other, and what happens when one ends. */
static int meet(const options &o, const place &p)
{
    team ranks(p, o.limit);
    std::printf("rank %d of %d is here\n", p.rank, p.size);
    std::fflush(stdout);
    const auto begin = std::chrono::steady_clock::now();
    int sum = 0;
    for (double seconds = 0; seconds <= o.meet;) {
        sum = 0;
        for (const int rank : ranks.gather(p.rank, p.rank)) {
            sum += rank;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
        seconds = ranks.gather(
            p.rank,
            std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count())[0];
    }
    ranks.leave();
    std::printf("rank %d: the ranks add up to %d\n", p.rank, sum);
    return sum == p.size * (p.size - 1) / 2 ? 0 : 1;
}

static bool finished = false;

static int run(int argc, char **argv)
{
    const options o = parse(argc, argv);
    const place p = place::from_environment();
    const int size = p.size > 0 ? p.size : o.devices * o.share;
    check_size(size);
    if (p.rank >= size && p.size > 0) {
        die("rank %d of %d: ranks count from 0", p.rank, p.size);
    }
    if (p.size > 0 && (o.devices > 1 || o.share > 1)) {
        die("--devices and --share are for one process: here each of %d has one device", p.size);
    }
    if (o.meet >= 0) {
        if (p.size == 0) {
            die("--meet is for processes: TENSOR_PARALLEL_RANK and TENSOR_PARALLEL_SIZE are not "
                "set");
        }
        return meet(o, p);
    }
    setenv("NCCL_NVLS_ENABLE", "0", 0); /* no multicast unless the environment says so */
    /* Before the driver is started: loading code, and a stream's place in a queue of another one, must not wait for a sum
     * of a rank that shares the device. */
    setenv("CUDA_MODULE_LOADING", "EAGER", 0);
    setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
    require_device("bench_tensor_parallel");
    int count = 0;
    CHECK(cudaGetDeviceCount(&count));
    if (o.devices > count) {
        std::printf("bench_tensor_parallel: skipped: %d devices are needed, and there are %d\n",
                    o.devices, count);
        return 77;
    }
    /* A check that fails ends the process at once: the threads of other ranks still use the devices. */
    std::atexit([] {
        if (!finished) {
            std::fflush(nullptr);
            _exit(1);
        }
    });
    FILE *json = p.rank <= 0 ? std::fopen(o.json, "w") : std::fopen("/dev/null", "w");
    if (json == nullptr) {
        die("%s: %s", o.json, std::strerror(errno));
    }
    std::fprintf(json, "[");
    bool good = true;
    pdl_device_info info = PDL_DEVICE_INFO_INIT;
    CHECK(pdl_device_get(0, &info));
    if (p.size > 0) {
        results r;
        {
            team ranks(p, o.limit);
            const int device = p.rank % count;
            CHECK(cudaSetDevice(device));
            {
                rank_run run(o, ranks, p.rank, device, false, r);
                run.run();
            }
            ranks.leave();
        }
        if (p.rank == 0) {
            report(json, info.name, size, r, nullptr, o.seed);
        }
        good = r.good;
    } else {
        results of_one;
        for (int now : {1, size}) {
            if (now == 1 && (o.share > 1 || o.sum != nullptr) && size > 1) {
                continue;
            }
            std::vector<results> all(static_cast<size_t>(now));
            team ranks(now, o.limit);
            std::vector<std::thread> threads;
            for (int rank = 0; rank < now; rank++) {
                threads.emplace_back([&, rank] {
                    CHECK(cudaSetDevice(rank / o.share));
                    {
                        rank_run run(o, ranks, rank, rank / o.share, true,
                                     all[static_cast<size_t>(rank)]);
                        run.run();
                    }
                    ranks.leave();
                });
            }
            for (std::thread &thread : threads) {
                thread.join();
            }
            report(json, info.name, now, all[0], now > 1 && of_one.ran[NO_SUM] ? &of_one : nullptr,
                   o.seed);
            good = good && all[0].good;
            of_one = all[0];
            if (size == 1) {
                break;
            }
        }
    }
    std::fprintf(json, "]\n");
    good = std::fclose(json) == 0 && good;
    std::printf("%s\n", good ? "PASS" : "FAIL");
    finished = true;
    return good ? 0 : 1;
}

} // namespace parallel

int main(int argc, char **argv)
{
    return parallel::run(argc, argv);
}
